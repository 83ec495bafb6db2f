/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BADWIRE_WIRE_H
#define BADWIRE_WIRE_H

/**
 * @file
 * The wire between two ends. Each frame that arrives at one end leaves by the other end, unless a
 * rule applies a fault to it. Rules match valid RoCEv2 frames only. All other frames pass
 * unchanged.
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

/** A direction of the wire: its two ends, and the frames that wait. */
struct pipe {
	struct end *from, *to;
	struct hold late;      /* frames that wait because of FAULT_DELAY */
	struct hold reordered; /* frames that wait because of FAULT_REORDER */
	struct tally tally;
};

struct wire {
	/* the ends A and B; the index is the direction of the frames that the end receives */
	struct end end[DIRECTION_NB];
	struct pipe pipe[DIRECTION_NB];
	struct rules rules;
	struct capture capture;
};

/**
 * Open the raw sockets of both ends.
 * @return false: `why` has the reason, and nothing is open
 */
bool wire_open(struct wire *wire, const char *const names[DIRECTION_NB], uint64_t seed,
	       struct reason *why);

/**
 * Send all waiting frames, close the ends, and end the capture.
 * @return false: the files of the capture are not complete
 */
bool wire_close(struct wire *wire, struct reason *why);

/** Forward the frames that have arrived, and waiting frames that are due. */
void wire_forward(struct wire *wire);

/** Time until the next waiting frame is due; 0: a frame is due; HOLD_NEVER: no frame waits. */
uint64_t wire_wait_ns(const struct wire *wire);

/** Print the counters of both directions and of the rules as JSON on one line. */
void wire_print(struct wire *wire, FILE *out);

#endif /* BADWIRE_WIRE_H */
