/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_SIM_TRACE_H
#define TEST_SIM_TRACE_H

/**
 * @file
 * What happened, as the lines of a ladder diagram and as a hash that runs over every frame sent.
 *
 *	0us A>B WRITE_FIRST psn 0
 *	0us A>B WRITE_LAST psn 1 A LOST
 *	67.108us A TIMEOUT
 *
 * With `has_states` also what the recovery of a QP goes through, which is not in the hash:
 *
 *	4us A qp 0x11 requests OPEN -> FAST_RETX
 *	9us A qp 0x11 responses GAP -> LOST
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
	FILE *out; /* NULL: no lines */
	bool has_states;
};

/** A host puts a frame on its cable. */
void trace_frame(struct world *world, const struct frame *frame, enum fault fault);

/** There was no room for a frame. */
void trace_drop(struct world *world, const struct frame *frame);

/** Something else happened at host `who`: it counts in the hash, too. */
void trace_note(struct world *world, unsigned who, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/** A call into the transport ended: the states of recovery may have changed. */
void trace_states(struct world *world, struct qp *qp);

#endif /* TEST_SIM_TRACE_H */
