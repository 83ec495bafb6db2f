/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_SIM_PLAN_H
#define TEST_SIM_PLAN_H

/**
 * @file
 * The requests of a connection: all operations, sizes and flags, some of them wrong on purpose.
 *
 * The memory of an end of a connection has these parts. Between pieces there are gaps, which must
 * not change.
 *
 * - a page of words for the peer's atomics
 * - an area in which the peer's WRITEs may overlap
 * - pieces that one WRITE of the peer writes, and that may be read back
 * - pieces for the responses to the end's own READs
 * - receive buffers
 */

#include <stdint.h>

#define PLAN_ATOMICS_LEN 256
#define PLAN_OVERLAP_LEN (48u << 10)
#define PLAN_GAP         16
#define PLAN_HUGE_LEN    (4u << 20)

struct qp;

/** Limits of the requests of a connection. */
struct plan_budget {
	uint32_t requests;
	uint32_t packets;
	uint32_t huge; /* length in bytes of one very large request; 0: no such request */
};

/** The part of an end's memory from which pieces are allocated. */
struct plan_pieces {
	uint32_t at;
	uint32_t end;
};

/**
 * Plan requests of `qp` until a limit of the budget is reached.
 * @param ours    memory of `qp` for the responses to READs and atomics; the used part is removed
 * @param theirs  memory of the peer for WRITEs; the used part is removed
 */
void plan_requests(struct qp *qp, const struct plan_budget *budget, struct plan_pieces *ours,
		   struct plan_pieces *theirs);

/** The printable name of a value of enum bad. */
const char *plan_bad_name(unsigned bad);

#endif /* TEST_SIM_PLAN_H */
