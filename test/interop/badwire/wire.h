/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BADWIRE_WIRE_H
#define BADWIRE_WIRE_H

/**
 * @file
 * The wire between two ends: each frame that comes to one of them leaves by the other, unless a
 * rule says otherwise. A rule can match what is well-formed RoCEv2; everything else passes
 * unharmed.
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

/** One direction. */
struct lane {
	struct end *from, *to;
	struct hold late;      /* by a delay */
	struct hold reordered; /* until others have come */
	struct tally tally;
};

struct wire {
	struct end end[DIRECTION_NB]; /* A, B: those from which the directions come */
	struct lane lane[DIRECTION_NB];
	struct rules rules;
	struct capture capture;
};

/** @return false: `why` says it, and nothing is open */
bool wire_open(struct wire *wire, const char *const names[DIRECTION_NB], uint64_t seed,
	       struct reason *why);

/** Let go of all frames that are held, end the capture. @return false: the capture is not whole */
bool wire_close(struct wire *wire, struct reason *why);

/** Forward what has come, and what is due. */
void wire_forward(struct wire *wire);

/** How long until a frame is due: HOLD_NEVER for none, 0 for now. */
uint64_t wire_wait_ns(const struct wire *wire);

/** The counters of both directions and of the rules, as JSON, on one line. */
void wire_print(struct wire *wire, FILE *out);

#endif /* BADWIRE_WIRE_H */
