/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BADWIRE_FAULT_H
#define BADWIRE_FAULT_H

/**
 * @file
 * The faults that can be applied to a frame.
 */

#include <stdbool.h>
#include <stdint.h>

enum fault {
	FAULT_NONE,      /* the frame passes unchanged; rules cannot name this fault */
	FAULT_DROP,      /* the frame is dropped */
	FAULT_DUPLICATE, /* the frame is sent twice */
	FAULT_CORRUPT,   /* a bit behind the UDP header is flipped, so that the ICRC is invalid */
	FAULT_DELAY,     /* the frame is delayed; later frames do not wait */
	FAULT_REORDER,   /* the frame is sent behind later frames */
	/* the frame and all that match for some time are dropped; their verdict is drop */
	FAULT_BLACKOUT,
	FAULT_NB
};

struct fault_facts {
	const char *name; /* name in rules and verdicts */
	const char *unit; /* unit of the amount for messages; NULL: the fault has no amount */
	uint32_t max;     /* limit of the amount, which is at least 1 */
};

extern const struct fault_facts fault_table[FAULT_NB];

#endif /* BADWIRE_FAULT_H */
