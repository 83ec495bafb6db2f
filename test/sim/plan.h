/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_SIM_PLAN_H
#define TEST_SIM_PLAN_H

/**
 * @file
 * What a connection is asked for: requests of all operations, sizes and flags, a few of them wrong.
 *
 * Memory of an end: a page of words for the peer's atomics; an area that the peer's WRITEs overlap
 * in; pieces that are written once, and read back; pieces for the answers of its own READs; receive
 * buffers. Pieces have gaps between them that must stay as they are.
 */

#include <stdint.h>

#define PLAN_ATOMICS_LEN 256
#define PLAN_OVERLAP_LEN (48u << 10)
#define PLAN_GAP         16
#define PLAN_HUGE_LEN    (4u << 20)

struct qp;

/** How much a connection is asked for. */
struct plan_budget {
	uint32_t requests;
	uint32_t packets;
	uint32_t huge; /* bytes of one request that is huge; 0: none is */
};

/** Where pieces of an end's memory are taken from. */
struct plan_pieces {
	uint32_t at;
	uint32_t end;
};

/** Requests of one direction, until one of the budgets is used up; `ours` and `theirs` move on. */
void plan_requests(struct qp *qp, const struct plan_budget *budget, struct plan_pieces *ours,
		   struct plan_pieces *theirs);

/** The name of an enum bad, for people. */
const char *plan_bad_name(unsigned bad);

#endif /* TEST_SIM_PLAN_H */
