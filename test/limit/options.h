/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIMIT_OPTIONS_H
#define LIMIT_OPTIONS_H

/**
 * @file
 * The options of `limit`, which follow EAL's arguments in the command line.
 */

#include <stdbool.h>
#include <stdint.h>

/** The role of this process in the test. */
enum limit_side {
	LIMIT_BLAST,
	LIMIT_SINK,
	LIMIT_PING,
	LIMIT_PONG,
};

struct limit_options {
	enum limit_side side;
	uint32_t size; /* -s: bytes of payload of a message, 1 to 2^20 */
	/* -m: maximum bytes of payload of a frame, 256 to 4096 in powers of two */
	uint32_t mtu;
	uint32_t region; /* -r: length of the memory for payload, in bytes */
	double seconds;  /* -D: duration of the measurement, in seconds */
	double warmup;   /* -W: time before the measurement, in seconds */
	/* -n: number of frames after which the test ends; 0: the test ends after `seconds` */
	uint32_t nb_frames;
	unsigned ring;      /* -q: number of descriptors of each queue of the port */
	unsigned burst;     /* -b: maximum number of frames of a burst */
	unsigned window;    /* -w: maximum number of frames without a response */
	unsigned ack_every; /* -a: number of frames after which the sink sends a response */
	bool is_json;       /* --json: print the result as JSON */
};

/** Maximum number of frames in a burst. */
#define LIMIT_BURST_MAX 256

/**
 * Parse the command line.
 * @return 0; -EINVAL: refused, with a line on stderr; 1: help was requested and printed
 */
int limit_options_parse(int argc, char **argv, struct limit_options *opt);

#endif /* LIMIT_OPTIONS_H */
