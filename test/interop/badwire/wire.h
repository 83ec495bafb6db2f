/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BADWIRE_WIRE_H
#define BADWIRE_WIRE_H

/**
 * @file
 * The wire between two ends: each frame that arrives at one end leaves by the other, unless a rule
 * applies a fault. Rules match valid RoCEv2 frames only; all others pass unchanged.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "capture.h"
#include "direction.h"
#include "end.h"
#include "hold.h"
#include "rule.h"
#include "tally.h"

/** One direction of the wire. */
struct pipe {
	struct end *from, *to;
	struct hold late;      /* frames that wait because of a delay */
	struct hold reordered; /* frames that wait for later frames */
	struct tally tally;
};

struct wire {
	/* A and B, indexed by the direction of the frames that arrive there */
	struct end end[DIRECTION_NB];
	struct pipe pipe[DIRECTION_NB];
	struct rules rules;
	struct capture capture;
};

/**
 * Open both ends.
 * @return false: `why` has the reason, and nothing is open
 */
bool wire_open(struct wire *wire, const char *const names[DIRECTION_NB], uint64_t seed,
	       struct reason *why);

/**
 * Send all waiting frames, and end the capture.
 * @return false: the capture is not complete
 */
bool wire_close(struct wire *wire, struct reason *why);

/** Forward the frames that have arrived, and waiting frames that are due. */
void wire_forward(struct wire *wire);

/** Time until a waiting frame is due: HOLD_NEVER for none, 0 for now. */
uint64_t wire_wait_ns(const struct wire *wire);

/** Print the counters of both directions and of the rules as JSON on one line. */
void wire_print(struct wire *wire, FILE *out);

#endif /* BADWIRE_WIRE_H */
