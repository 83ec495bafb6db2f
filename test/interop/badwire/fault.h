/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BADWIRE_FAULT_H
#define BADWIRE_FAULT_H

/**
 * @file
 * What can be done to a frame, as a table.
 */

#include <stdbool.h>
#include <stdint.h>

enum fault {
	FAULT_NONE,      /* it passes as it came; no rule can name it */
	FAULT_DROP,      /* it does not come */
	FAULT_DUPLICATE, /* it comes twice */
	FAULT_CORRUPT,   /* a bit behind the UDP header is the other one: the ICRC is wrong */
	FAULT_DELAY,     /* it comes later; those behind it do not wait */
	FAULT_REORDER,   /* it comes behind frames that came after it */
	FAULT_BLACKOUT,  /* it and all that match for a while do not come; judged as drops */
	FAULT_NB
};

struct fault_facts {
	const char *name; /* in rules and verdicts */
	const char *unit; /* of the amount, for people; NULL: the fault has no amount */
	uint32_t max;     /* of the amount, which is at least 1 */
};

extern const struct fault_facts fault_table[FAULT_NB];

#endif /* BADWIRE_FAULT_H */
