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
 * With `has_states` also the transitions of a QP's states: of its requests, of the responses to
 * them, and of the reception of the peer's requests. These are not in the hash:
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
	FILE *out; /* where lines are printed; NULL: no lines */
	bool has_states;
};

/** A host transmits a frame. */
void trace_frame(struct world *world, const struct frame *frame, enum fault fault);

/** A frame was dropped because there was no room for it. */
void trace_drop(struct world *world, const struct frame *frame);

/** Any other event at host `who`, which is part of the hash, too. */
void trace_note(struct world *world, unsigned who, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/** To be called after a call into the transport: prints the recovery states that have changed. */
void trace_states(struct world *world, struct qp *qp);

#endif /* TEST_SIM_TRACE_H */
