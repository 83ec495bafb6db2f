/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_WHEEL_H
#define UROCE_DATAPATH_WHEEL_H

/**
 * @file
 * The timers of a worker's QPs: a hashed timing wheel, one timer a QP.
 *
 * Time is cut into ticks of 2^10 ns, so that a QP that is paced goes on when it may; a QP is filed in the slot of the tick in which its deadline
 * has passed. Filing, refiling and taking out are O(1). A deadline that moves later, as every
 * acknowledgement moves it, is not refiled: the QP stays where it is, comes up early, and whoever
 * takes it up asks for the true deadline and files it again. One that lies beyond the wheel's
 * horizon is filed at the horizon, and comes up early likewise.
 *
 * One thread at a time. Time is a parameter.
 */

#include <stdint.h>

#include "datapath/worker.h"

#define UROCE_WHEEL_SHIFT 10    /* a tick is 1 us */
#define UROCE_WHEEL_SLOTS 16384 /* the horizon is 16.8 ms */

struct uroce_wheel {
	uint64_t cursor;    /* the tick to be looked at next; all before it are done */
	uint64_t now_tick;  /* of the take that is under way, or was last */
	uint64_t next_tick; /* nothing is filed before; UROCE_NEVER: nothing is filed */
	uint32_t nb_filed;
	uint64_t has_some[UROCE_WHEEL_SLOTS / 4096]; /* bit i: occupied[i] is not 0 */
	uint64_t occupied[UROCE_WHEEL_SLOTS / 64];   /* bit i: slot i is not empty */
	struct uroce_worker_qp *slot[UROCE_WHEEL_SLOTS];
};

void uroce_wheel_init(struct uroce_wheel *wheel, uint64_t now_ns);

/** Mark a QP as not filed; before its first use. */
void uroce_wheel_init_qp(struct uroce_worker_qp *wqp);

/**
 * See to it that the QP comes up by `deadline_ns`, or a tick later; UROCE_NEVER is ignored. If it
 * is filed for earlier it stays there.
 */
void uroce_wheel_file(struct uroce_wheel *wheel, struct uroce_worker_qp *wqp, uint64_t deadline_ns);

/** Take the QP out, if it is in. */
void uroce_wheel_remove(struct uroce_wheel *wheel, struct uroce_worker_qp *wqp);

/** Take out the next QP that is filed for now or before; NULL: none is left. */
struct uroce_worker_qp *uroce_wheel_take(struct uroce_wheel *wheel, uint64_t now_ns);

/** When the next QP may come up; UROCE_NEVER: the wheel is empty. */
uint64_t uroce_wheel_next_ns(const struct uroce_wheel *wheel);

#endif /* UROCE_DATAPATH_WHEEL_H */
