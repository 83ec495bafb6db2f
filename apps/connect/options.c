/* SPDX-License-Identifier: BSD-3-Clause */
/* Parses the command line of uroce-connect. */

#include "options.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "addr.h"

#define TIMEOUT_S     10
#define TIMEOUT_MAX_S 3600
#define MS_PER_S      1000

static const struct option long_options[] = {
	{ "uroce", required_argument, NULL, 'u' },
	{ "source", required_argument, NULL, 's' },
	{ "timeout", required_argument, NULL, 't' },
	{ "listen", no_argument, NULL, 'l' },
	{ "refuse", no_argument, NULL, 'r' },
	{ "datagram", no_argument, NULL, 'd' },
	{ NULL, 0, NULL, 0 },
};

const char options_usage[] =
	"uroce-connect [EAL options] -- --uroce=PORT[,key=value...] [options] ADDRESS:PORT\n\n"
	"  --uroce=PORT[,key=value...]  the device\n"
	"  --source=ADDRESS             connect from this address (default: by the route)\n"
	"  --timeout=SECONDS            time for the answer to a request (default: 10)\n"
	"  --datagram                   resolve, or offer, a datagram service\n"
	"  --listen                     listen at ADDRESS:PORT, and accept requests\n"
	"  --refuse                     with --listen: reject requests\n"
	"  -h, --help                   print this text and exit\n"
	"      --version                print the versions of uroce, DPDK and rdma-core, and "
	"exit\n";

__attribute__((format(printf, 1, 2))) static int
refuse(const char *format, ...)
{
	va_list args;

	fputs("uroce-connect: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return -1;
}

static int
set_timeout(struct options *opt, const char *text)
{
	char *end;
	const unsigned long seconds = strtoul(text, &end, 10);

	if (end == text || *end != '\0' || seconds < 1 || seconds > TIMEOUT_MAX_S)
		return refuse("--timeout=%s: not a time: allowed: 1 to %d seconds", text,
			      TIMEOUT_MAX_S);
	opt->timeout_ms = (int)seconds * MS_PER_S;
	return 0;
}

static int
set_source(struct options *opt, const char *text)
{
	opt->has_source = true;
	if (addr_parse_ip(text, &opt->source) == 0)
		return 0;
	return refuse("--source=%s: not an address: allowed: an IPv4 or IPv6 address", text);
}

static int
set_option(struct options *opt, int letter, char **argv)
{
	switch (letter) {
	case 'u':
		opt->spec = optarg;
		return 0;
	case 's':
		return set_source(opt, optarg);
	case 't':
		return set_timeout(opt, optarg);
	case 'l':
		opt->is_listener = true;
		return 0;
	case 'r':
		opt->is_refusing = true;
		return 0;
	case 'd':
		opt->is_datagram = true;
		return 0;
	case ':':
		return refuse("%s: needs a value; uroce-connect --help shows which",
			      argv[optind - 1]);
	}
	return refuse("%s: unknown option; uroce-connect --help lists the allowed ones",
		      argv[optind - 1]);
}

static int
set_operand(struct options *opt, int nb, char **operands)
{
	if (nb == 0)
		return refuse("no ADDRESS:PORT: allowed are 192.0.2.1:7471 and [2001:db8::1]:7471");
	if (nb > 1)
		return refuse("%s: a further word: allowed is one ADDRESS:PORT", operands[1]);
	if (addr_parse(operands[0], &opt->addr) == 0)
		return 0;
	return refuse("%s: not ADDRESS:PORT: allowed are 192.0.2.1:7471 and [2001:db8::1]:7471, "
		      "with a port from 1 to 65535",
		      operands[0]);
}

int
options_parse(struct options *opt, int argc, char **argv)
{
	int letter, ret = 0;

	*opt = (struct options){ .timeout_ms = TIMEOUT_S * MS_PER_S };
	optind = 0;
	while (ret == 0 && (letter = getopt_long(argc, argv, ":", long_options, NULL)) != -1)
		ret = set_option(opt, letter, argv);
	if (ret != 0)
		return ret;
	if (opt->spec == NULL)
		return refuse("no device: give --uroce=PORT[,key=value...]");
	if (opt->is_refusing && !opt->is_listener)
		return refuse("--refuse without --listen: allowed is --refuse of a listener");
	if (opt->has_source && opt->is_listener)
		return refuse("--source with --listen: the address of a listener is ADDRESS:PORT");
	return set_operand(opt, argc - optind, argv + optind);
}
