/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_SIM_TRACE_H
#define TEST_SIM_TRACE_H

/**
 * @file
 * The events of a run, as lines of a ladder diagram and as a hash over every sent frame.
 *
 *	0us A>B WRITE_FIRST psn 0
 *	0us A>B WRITE_LAST psn 1 A LOST
 *	67.108us A TIMEOUT
 *
 * With `has_states` also the transitions of three states of a QP are printed: of the recovery of
 * its requests, of the responses to its requests, and of the reception of the peer's requests.
 * These lines are not in the hash:
 *
 *	4us A qp 0x11 requests OPEN -> FAST_RETX
 *	9us A qp 0x11 responses GAP -> LOST
 *	9us B qp 0x12 reception IN_ORDER -> NAK_SENT
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct frame;
struct qp;
struct world;

#include "link.h"

struct trace {
	uint64_t hash;
	FILE *out; /* file to which lines are printed; NULL: no lines are printed */
	bool has_states;
};

/** Record a frame that a host transmits, and its fault. */
void trace_frame(struct world *world, const struct frame *frame, enum fault fault);

/** Record a frame that the switch drops because its queue is full. */
void trace_drop(struct world *world, const struct frame *frame);

/**
 * Record another event at host `who`. The hash contains its time, the host and the first letter of
 * `format`.
 */
void trace_note(struct world *world, unsigned who, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/**
 * Print the recovery states that have changed since the last call. To be called after each call of
 * the transport.
 */
void trace_states(struct world *world, struct qp *qp);

#endif /* TEST_SIM_TRACE_H */
