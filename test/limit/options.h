/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIMIT_OPTIONS_H
#define LIMIT_OPTIONS_H

/**
 * @file
 * The command line of `limit`, behind EAL's part.
 */

#include <stdbool.h>
#include <stdint.h>

/** The side that this process plays. */
enum limit_side {
	LIMIT_BLAST,
	LIMIT_SINK,
	LIMIT_PING,
	LIMIT_PONG,
};

struct limit_options {
	enum limit_side side;
	uint32_t size;      /* -s: payload bytes of a message, 1 .. 2^20 */
	uint32_t mtu;       /* -m: maximum payload bytes of a frame, 256 .. 4096 in powers of two */
	uint32_t region;    /* -r: bytes of the region for payload */
	double seconds;     /* -D: duration of the measurement */
	double warmup;      /* -W: time before the measurement */
	uint32_t nb_frames; /* -n: end after so many frames instead; 0: by time */
	unsigned ring;      /* -q: descriptors of each queue */
	unsigned burst;     /* -b: frames in a burst */
	unsigned window;    /* -w: maximum frames without a response */
	unsigned ack_every; /* -a: frames for one response of the sink */
	bool is_json;       /* --json: print JSON */
};

/** Maximum number of frames in a burst. */
#define LIMIT_BURST_MAX 256

/**
 * Parse the command line.
 * @return 0, -EINVAL after one line on stderr, or 1 when help was requested and printed
 */
int limit_options_parse(int argc, char **argv, struct limit_options *opt);

#endif /* LIMIT_OPTIONS_H */
