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
	FAULT_DELAY,     /* the frame is sent after a time; later frames do not wait for it */
	FAULT_REORDER,   /* the frame is sent after a number of later frames */
	/*
	 * the frame, and all frames that the rule matches for some time, are dropped (verdict:
	 * drop)
	 */
	FAULT_BLACKOUT,
	FAULT_NB
};

struct fault_facts {
	const char *name; /* name of the fault in rules and verdicts */
	/* unit of the amount, for error messages; NULL: the fault has no amount */
	const char *unit;
	uint32_t max; /* maximum amount; the minimum is 1 */
};

extern const struct fault_facts fault_table[FAULT_NB];

#endif /* BADWIRE_FAULT_H */
