/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_WHEEL_H
#define UROCE_DATAPATH_WHEEL_H

/**
 * @file
 * The timers of a worker's QPs: a hashed timing wheel, one timer for each QP.
 *
 * Time is divided into ticks of 2^10 ns, short enough for the pacer. A QP is filed in the slot of
 * the first tick after its deadline. To file, to move and to remove a QP takes constant time. A QP
 * whose deadline becomes later, as with every ACK, is not filed again. The QP stays in its slot and
 * expires early. The caller then reads the true deadline and files the QP again. A QP with a
 * deadline beyond the wheel's horizon is filed at the horizon, and expires early in the same way.
 *
 * A wheel is used by one thread at a time. The caller passes the time to each function.
 */

#include <stdint.h>

#include "datapath/worker/worker.h"

#define UROCE_WHEEL_SHIFT 10    /* length of a tick: 2^10 ns, about 1 us */
#define UROCE_WHEEL_SLOTS 16384 /* number of slots, one for each tick: the horizon is 16.8 ms */

struct uroce_wheel {
	uint64_t cursor;    /* next tick to be processed; all earlier ticks are done */
	uint64_t now_tick;  /* tick of the time that the latest uroce_wheel_take() got */
	uint64_t next_tick; /* no QP is filed before this tick; UROCE_NEVER: no QP is filed */
	uint32_t nb_filed;
	/* Bit i is set if word i of `occupied` is not 0. */
	uint64_t has_some[UROCE_WHEEL_SLOTS / 4096];
	uint64_t occupied[UROCE_WHEEL_SLOTS / 64]; /* bit i is set if slot i is not empty */
	struct uroce_worker_qp *slot[UROCE_WHEEL_SLOTS];
};

void uroce_wheel_init(struct uroce_wheel *wheel, uint64_t now_ns);

/** Mark a QP as not filed, before its first use. */
void uroce_wheel_init_qp(struct uroce_worker_qp *wqp);

/**
 * File a QP so that it expires at `deadline_ns`, or a tick later. If `deadline_ns` is UROCE_NEVER,
 * the call does nothing. A QP that is already filed for an earlier time stays there.
 */
void uroce_wheel_file(struct uroce_wheel *wheel, struct uroce_worker_qp *wqp, uint64_t deadline_ns);

/** Remove a QP from the wheel, if the QP is filed. */
void uroce_wheel_remove(struct uroce_wheel *wheel, struct uroce_worker_qp *wqp);

/**
 * Remove the next QP whose tick has come.
 * @return the QP; NULL: the tick of no QP has come
 */
struct uroce_worker_qp *uroce_wheel_take(struct uroce_wheel *wheel, uint64_t now_ns);

/** The earliest time at which a QP may expire; UROCE_NEVER: the wheel is empty. */
uint64_t uroce_wheel_next_ns(const struct uroce_wheel *wheel);

#endif /* UROCE_DATAPATH_WHEEL_H */
