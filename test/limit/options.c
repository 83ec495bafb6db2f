/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The options as a table: a letter, the member of struct limit_options, and the allowed range. A
 * number outside of its range is refused with a message that gives the range.
 */

#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct number_option {
	char letter;
	size_t off; /* offset of the member, a uint32_t, in struct limit_options */
	uint32_t min;
	uint32_t max;
	const char *what;
};

#define AT(field) offsetof(struct limit_options, field)

static const struct number_option number_options[] = {
	{ 's', AT(size), 1, 1 << 20, "payload bytes of a message" },
	{ 'm', AT(mtu), 256, 4096, "most payload bytes of a frame, a power of two" },
	{ 'r', AT(region), 64, 1 << 30, "bytes of the payload's region" },
	{ 'n', AT(nb_frames), 1, UINT32_MAX, "frames after which to end" },
	{ 'q', AT(ring), 32, 16384, "descriptors of a queue" },
	{ 'b', AT(burst), 1, LIMIT_BURST_MAX, "frames in a burst" },
	{ 'w', AT(window), 1, 65536, "most frames without an answer" },
	{ 'a', AT(ack_every), 1, 65536, "frames for one answer" },
};

static const char *const side_names[] = {
	[LIMIT_BLAST] = "blast",
	[LIMIT_SINK] = "sink",
	[LIMIT_PING] = "ping",
	[LIMIT_PONG] = "pong",
};

static const char usage[] =
	"usage: limit [EAL options] -- blast|sink|ping|pong [options]\n"
	"The most that a port and a core carry: frames of the shape of RDMA WRITEs, without a\n"
	"protocol. One process is the sink, which measures; the other blasts. Or one is pong, and "
	"ping\n"
	"measures how long a frame takes there and back.\n"
	"  -s N   payload bytes of a message (8)          -m N   most of them in a frame (4096)\n"
	"  -D S   seconds to measure (5)                  -W S   seconds before that (0.3)\n"
	"  -n N   end after so many frames instead        -r N   bytes of the region (4096 or -s)\n"
	"  -q N   descriptors of a queue (1024)           -b N   frames in a burst (32)\n"
	"  -w N   most frames without an answer (1024)    -a N   frames for one answer (32)\n"
	"  --json the result as a JSON object\n";

static int
refuse(const char *what, const char *value, const char *allowed)
{
	fprintf(stderr, "limit: %s: %s; allowed: %s\n", what, value, allowed);
	return -EINVAL;
}

static int
parse_number(const struct number_option *row, const char *text, struct limit_options *opt)
{
	char *end;
	const unsigned long value = strtoul(text, &end, 0);

	if (*text < '0' || *text > '9' || *end != '\0' || value < row->min || value > row->max) {
		char allowed[80];

		snprintf(allowed, sizeof(allowed), "%u to %u (%s)", row->min, row->max, row->what);
		return refuse((char[]){ '-', row->letter, '\0' }, text, allowed);
	}
	*(uint32_t *)((char *)opt + row->off) = (uint32_t)value;
	return 0;
}

static int
parse_seconds(char letter, const char *text, double *seconds)
{
	char *end;
	const double value = strtod(text, &end);

	if (end == text || *end != '\0' || !(value >= 0.01 && value <= 86400))
		return refuse((char[]){ '-', letter, '\0' }, text, "0.01 to 86400 seconds");
	*seconds = value;
	return 0;
}

static int
parse_side(const char *text, struct limit_options *opt)
{
	for (unsigned i = 0; i < sizeof(side_names) / sizeof(side_names[0]); i++) {
		if (strcmp(text, side_names[i]) == 0) {
			opt->side = (enum limit_side)i;
			return 0;
		}
	}
	return refuse("what to do", text, "blast, sink, ping, pong");
}

static int
check_ping(const struct limit_options *opt)
{
	if ((opt->side == LIMIT_PING || opt->side == LIMIT_PONG) && opt->size > opt->mtu)
		return refuse("-s", "a ping is one frame", "up to what -m says");
	return 0;
}

static int
parse_option(int letter, const char *text, struct limit_options *opt)
{
	if (letter == 'J') {
		opt->is_json = true;
		return 0;
	}
	if (letter == 'D')
		return parse_seconds('D', text, &opt->seconds);
	if (letter == 'W')
		return parse_seconds('W', text, &opt->warmup);
	for (unsigned i = 0; i < sizeof(number_options) / sizeof(number_options[0]); i++) {
		if (number_options[i].letter == letter)
			return parse_number(&number_options[i], text, opt);
	}
	return refuse("unknown option", optopt ? (char[]){ '-', (char)optopt, '\0' } : "?",
		      "what --help lists");
}

int
limit_options_parse(int argc, char **argv, struct limit_options *opt)
{
	static const struct option long_options[] = {
		{ "json", no_argument, NULL, 'J' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int letter;

	*opt = (struct limit_options){
		.size = 8,
		.mtu = 4096,
		.seconds = 5,
		.warmup = 0.3,
		.ring = 1024,
		.burst = 32,
		.window = 1024,
		.ack_every = 32,
	};
	opterr = 0;
	optind = 1;
	while ((letter = getopt_long(argc, argv, "s:m:D:W:n:r:q:b:w:a:h", long_options, NULL)) !=
	       -1) {
		if (letter == 'h') {
			fputs(usage, stdout);
			return 1;
		}
		if (parse_option(letter, optarg, opt) != 0)
			return -EINVAL;
	}
	if (optind != argc - 1)
		return refuse("what to do", optind < argc ? argv[optind + 1] : "not said",
			      "one of blast, sink, ping, pong");
	if (opt->mtu & (opt->mtu - 1))
		return refuse("-m", "not a power of two", "256, 512, 1024, 2048, 4096");
	if (opt->region < opt->size)
		opt->region = opt->size > 4096 ? opt->size : 4096;
	if (opt->window < opt->ack_every)
		opt->ack_every = opt->window;
	return parse_side(argv[optind], opt) == 0 ? check_ping(opt) : -EINVAL;
}
