/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * badwire: a wire between two network interfaces. By rules it drops, duplicates, corrupts, delays
 * and reorders RoCEv2 frames.
 *
 *	badwire [--seed N] [--pcap FILE] [--control SOCKET] A B
 *
 * Frames that arrive at interface A leave by B, and the reverse. Frames that are not RoCEv2 (UDP
 * port 4791, IPv4 or IPv6, with or without a VLAN tag) and frames that do not parse are never
 * changed, whatever the rules say. Without rules all frames pass unchanged.
 *
 * The program prints `badwire: A and B are joined, seed N` when it is ready. It gets commands from
 * its control socket (control.h), among them rules (rule.h). capture.h describes captures. With the
 * same seed, rules and frames, the verdicts are the same. The program sleeps while no frames
 * arrive.
 *
 * Both interfaces must have no addresses, or this host would respond, too. At the sender of a frame
 * the kernel may leave checksums or segmentation to a device that does not exist, so turn that off:
 * ethtool -K DEV tx off.
 *
 *	ip netns exec lab badwire --control /tmp/bw x0w t-b &
 *	echo 'rule a>b request drop 0.01' | nc -U -q1 /tmp/bw
 *
 * Exit status: 0 after quit, SIGTERM or SIGINT; 1 after a line with the error; 2 after a wrong
 * option.
 */

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "control.h"
#include "wire.h"

#define NS_PER_S 1000000000ull

static const char usage[] =
	"badwire [--seed N] [--pcap FILE] [--control SOCKET] A B\n"
	"\n"
	"Forwards every frame between the network interfaces A and B, and does to\n"
	"RoCEv2 frames what rules say. It says `badwire: A and B are joined, seed N`\n"
	"when it is ready.\n"
	"\n"
	"  --seed N          of all chance (default 1)\n"
	"  --pcap FILE       capture frames as they come; FILE.verdicts has a line for\n"
	"                    each of them, INDEX DIRECTION VERDICT: index from 1; verdict\n"
	"                    pass, drop, duplicate, corrupt, delay, reorder\n"
	"  --control SOCKET  take commands there (Unix, stream): a line each way\n"
	"  --help            this\n"
	"\n"
	"Commands, each answered by ok, or by error: and the reason:\n"
	"\n"
	"  rule DIRECTION OPCODES FAULT [AMOUNT] HOW\n"
	"      DIRECTION  a>b, b>a, both\n"
	"      OPCODES    all; request (SEND, WRITE, READ request, atomic ...); ack (ACK\n"
	"                 and NAK); response (READ response, ATOMIC ACK); or one by\n"
	"                 name: RC_SEND_ONLY, CNP ...; cm (any message of connection\n"
	"                 management); or one by name: cm:REQ, cm:DREP ...\n"
	"      FAULT      drop; duplicate; corrupt (a bit, so that the ICRC is wrong);\n"
	"                 delay US; reorder N (behind N later RoCEv2 frames of its\n"
	"                 direction, or after 50 ms); blackout MS (from that frame on,\n"
	"                 all that match are dropped)\n"
	"      HOW        a probability from 0 to 1; or script LIST: which of the\n"
	"                 matching frames since the rule was set, from 1: script 3,7,8\n"
	"      The first rule that strikes has the frame; all that match count it.\n"
	"  clear          remove all rules; frames that wait come when they would have\n"
	"  pcap FILE      begin a capture; one that was under way is ended\n"
	"  pcap off       end it: its files are whole\n"
	"  stats          JSON on one line: for \"a>b\" and \"b>a\" what came (frames, bytes,\n"
	"                 roce, malformed, bad_icrc, opcodes); what was done (dropped,\n"
	"                 duplicated, corrupted, delayed, reordered; let_go: of those, by\n"
	"                 the 50 ms); what went (sent; unsent: refused by the kernel);\n"
	"                 and what was lost otherwise: kernel_drops (came, but we were\n"
	"                 too slow), device_drops (sent, but dropped by the interface,\n"
	"                 as by a tap that nobody reads); for each rule matched, struck\n"
	"  quit           end\n"
	"\n"
	"Example: rule a>b request drop 0.01\n";

struct options {
	uint64_t seed;
	const char *pcap;    /* capture file to write; NULL: no capture */
	const char *control; /* path of the control socket; NULL: no control socket */
	const char *ends[DIRECTION_NB];
	bool is_help;
};

/* --- options of the command line --------------------------------------------------------------- */

static const struct option long_options[] = {
	{ "seed", required_argument, NULL, 's' },
	{ "pcap", required_argument, NULL, 'p' },
	{ "control", required_argument, NULL, 'c' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static bool
set_seed(struct options *opt, const char *text, struct reason *why)
{
	char *end;

	errno = 0;
	opt->seed = strtoull(text, &end, 0);
	if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0)
		return refuse(why, "--seed %s: no number: allowed are 0 to 2^64 - 1", text);
	return true;
}

static bool
set_option(struct options *opt, int letter, char **argv, struct reason *why)
{
	switch (letter) {
	case 's':
		return set_seed(opt, optarg, why);
	case 'p':
		opt->pcap = optarg;
		return true;
	case 'c':
		opt->control = optarg;
		return true;
	case 'h':
		opt->is_help = true;
		return true;
	case ':':
		return refuse(why, "%s: needs a value: badwire --help shows those that are allowed",
			      argv[optind - 1]);
	}
	return refuse(why, "%s: unknown option: badwire --help lists the allowed ones",
		      argv[optind - 1]);
}

static bool
read_options(struct options *opt, int argc, char **argv, struct reason *why)
{
	int letter;

	*opt = (struct options){ .seed = 1 };
	while ((letter = getopt_long(argc, argv, ":", long_options, NULL)) != -1)
		if (!set_option(opt, letter, argv, why))
			return false;
	if (opt->is_help)
		return true;
	if (argc - optind != DIRECTION_NB)
		return refuse(why, "%d interfaces named: allowed are two: badwire [OPTION...] A B",
			      argc - optind);
	opt->ends[0] = argv[optind];
	opt->ends[1] = argv[optind + 1];
	if (strcmp(opt->ends[0], opt->ends[1]) == 0)
		return refuse(why, "%s: named twice: allowed are two different interfaces",
			      opt->ends[0]);
	return true;
}

/* --- the loop of the program ------------------------------------------------------------------- */

enum {
	POLL_A,
	POLL_B,
	POLL_SIGNALS,
	POLL_LINKS,
	POLL_CONTROL,
	POLL_NB = POLL_CONTROL + CONTROL_FD_NB
};

static void
sleep_until_something(struct pollfd *fds, uint64_t wait_ns)
{
	const struct timespec wait = { .tv_sec = (time_t)(wait_ns / NS_PER_S),
				       .tv_nsec = (long)(wait_ns % NS_PER_S) };

	(void)ppoll(fds, POLL_NB, wait_ns == HOLD_NEVER ? NULL : &wait, NULL);
}

/* Open a descriptor that is readable when an interface was changed or removed. */
static int
listen_to_links(void)
{
	const struct sockaddr_nl at = { .nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK };
	const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_ROUTE);

	if (fd >= 0)
		(void)bind(fd, (const struct sockaddr *)&at, sizeof(at));
	return fd;
}

/* Discard the kernel's messages about interfaces, and check that both interfaces exist. */
static bool
look_at_links(const struct wire *wire, int links, struct reason *why)
{
	char byte;

	while (recv(links, &byte, sizeof(byte), 0) >= 0)
		;
	for (int i = 0; i < DIRECTION_NB; i++)
		if (!end_is_there(&wire->end[i]))
			return refuse(why, "%s: the interface is gone", wire->end[i].name);
	return true;
}

/*
 * Forward frames and execute commands until the program must end. Frames that arrived before a
 * command are forwarded before the command is executed.
 */
static bool
run(struct wire *wire, struct control *control, int signals, int links, struct reason *why)
{
	struct pollfd fds[POLL_NB];

	while (!control->is_over) {
		fds[POLL_A] = (struct pollfd){ .fd = wire->end[0].fd, .events = POLLIN };
		fds[POLL_B] = (struct pollfd){ .fd = wire->end[1].fd, .events = POLLIN };
		fds[POLL_SIGNALS] = (struct pollfd){ .fd = signals, .events = POLLIN };
		fds[POLL_LINKS] = (struct pollfd){ .fd = links, .events = POLLIN };
		control_poll(control, fds + POLL_CONTROL);
		sleep_until_something(fds, wire_wait_ns(wire));
		wire_forward(wire);
		if (fds[POLL_SIGNALS].revents)
			return true;
		if (fds[POLL_LINKS].revents && !look_at_links(wire, links, why))
			return false;
		control_serve(control, fds + POLL_CONTROL, wire);
	}
	return true;
}

/*
 * Set the timers of this process to their best resolution, and open a descriptor that is readable
 * when the process gets SIGTERM or SIGINT.
 */
static int
prepare(void)
{
	sigset_t ends;

	(void)prctl(PR_SET_TIMERSLACK, 1ul);
	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGINT);
	(void)sigprocmask(SIG_BLOCK, &ends, NULL);
	return signalfd(-1, &ends, SFD_CLOEXEC);
}

static bool
serve(struct wire *wire, const struct options *opt, struct reason *why)
{
	static struct control control;
	const int signals = prepare(), links = listen_to_links();
	bool is_well;

	if (opt->pcap && !capture_begin(&wire->capture, opt->pcap, why))
		return false;
	if (!control_open(&control, opt->control, why))
		return false;
	printf("badwire: %s and %s are joined, seed %" PRIu64 "\n", opt->ends[0], opt->ends[1],
	       opt->seed);
	fflush(stdout);
	is_well = run(wire, &control, signals, links, why);
	control_close(&control);
	return is_well;
}

int
main(int argc, char **argv)
{
	static struct wire wire;
	struct options opt;
	struct reason why;
	bool is_well;

	if (!read_options(&opt, argc, argv, &why)) {
		fprintf(stderr, "badwire: %s\n", why.text);
		return 2;
	}
	if (opt.is_help) {
		fputs(usage, stdout);
		return EXIT_SUCCESS;
	}
	is_well = wire_open(&wire, opt.ends, opt.seed, &why);
	if (is_well) {
		struct reason late;

		is_well = serve(&wire, &opt, &why);
		if (!wire_close(&wire, &late) && is_well) {
			is_well = false;
			why = late;
		}
	}
	if (!is_well)
		fprintf(stderr, "badwire: %s\n", why.text);
	return is_well ? EXIT_SUCCESS : EXIT_FAILURE;
}
