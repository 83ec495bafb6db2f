/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_SIM_SIGNED_H
#define TEST_SIM_SIGNED_H

/**
 * @file
 * Connections whose data has block signatures: their SENDs, WRITEs and READs go through mkeys at one end,
 * the other, or both, and now and then a block is damaged. Checked is, beside what goes for everyone:
 *
 *	- each packet that leaves is what the signatures make of memory, the first time and again
 *	- data, signatures, and nothing else, are where the layout of the mkey that they arrive at has
 *	  them, when their packet counts as executed, and not before
 *	- the first bad block is told once, with its type, offset and values, by the mkeys that have to find
 *	  it, and by no other
 *	- a QP with pipelining that finds one in its own request's data stops, in SQD, behind that request: no
 *	  other begins; no QP stops without
 */

#include "plan.h"
#include "qp.h"

struct uroce_pkt;

/** Whether the world of a seed has such a connection. */
bool signed_is_in(uint64_t seed);

/** Make both ends receive through mkeys, or not; after that requests are planned. */
void signed_begin(struct qp *a, struct qp *b);

/** Requests of one direction. */
void signed_plan(struct qp *qp, uint32_t nb, struct plan_pieces *ours, struct plan_pieces *theirs);

/** A packet of a request leaves, perhaps for the first time. */
void signed_sent(struct qp *qp, const struct request *req, const struct uroce_pkt *pkt,
		 uint32_t idx);

/** An answer to a READ counts as here. */
void signed_settled(struct qp *qp, const struct request *req, uint32_t idx);

/** A request was completed with success. */
void signed_done(struct qp *qp, struct request *req);

/** A message is in receive buffer `nth`. */
void signed_received(struct qp *qp, const struct request *req, uint32_t nth);

/** The receive request of that buffer failed. */
void signed_recv_failed(struct qp *qp, uint32_t nth);

/** Its round is over: it stopped if it had to. */
void signed_check(struct qp *qp);

/** Whether its application may go on after a stop: it has heard that all is drained. */
bool signed_can_go_on(const struct qp *qp);

/** Where it stopped it may go on: it cancels what waits, or does not, and leaves SQD. */
void signed_go_on(struct qp *qp);

/** Nothing happens any more: nothing is left to tell. */
void signed_end(struct qp *qp);

#endif /* TEST_SIM_SIGNED_H */
