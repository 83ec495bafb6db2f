/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_SIM_SIGNED_H
#define TEST_SIM_SIGNED_H

/**
 * @file
 * Connections whose data has block signatures. Their SENDs, WRITEs and READs use mkeys at one or
 * both ends, and at random a block is damaged. Beside the rules of oracle.h, these rules are
 * checked:
 *
 * - Each packet contains the bytes that the mkey of the source makes of memory, also when the
 *   packet is retransmitted.
 * - Data and signatures are where the layout of the destination's mkey has them, and nothing else
 *   changes. This holds when the packet counts as executed, and not before.
 * - The first bad block is reported once, with its type, offset and values, by the mkeys that check
 *   the block and by no other mkey.
 * - A QP with signature pipelining that finds a bad block in the data of its own request stops in
 *   SQD behind that request and begins no other request. No QP stops without a bad block.
 */

#include "plan.h"
#include "qp.h"

struct uroce_pkt;

/** Whether the world with this seed has a connection with block signatures. */
bool signed_is_in(uint64_t seed);

/**
 * Draw the format of the signatures on the wire, and which ends have mkeys for their receive
 * buffers. To be called before requests are planned.
 */
void signed_begin(struct qp *a, struct qp *b);

/**
 * Plan up to `nb` requests of `qp`.
 * @param ours    memory of `qp` that no request uses; the used part is removed
 * @param theirs  memory of the peer that no request uses; the used part is removed
 */
void signed_plan(struct qp *qp, uint32_t nb, struct plan_pieces *ours, struct plan_pieces *theirs);

/** To be called when a packet of a request is sent, also when it is retransmitted. */
void signed_sent(struct qp *qp, const struct request *req, const struct uroce_pkt *pkt,
		 uint32_t idx);

/** To be called when the requester counts a READ response as received. */
void signed_settled(struct qp *qp, const struct request *req, uint32_t idx);

/** To be called when a request completed with success. */
void signed_done(struct qp *qp, struct request *req);

/** To be called when a message was received completely into receive buffer `nth`. */
void signed_received(struct qp *qp, const struct request *req, uint32_t nth);

/** To be called when the receive request of buffer `nth` failed. */
void signed_recv_failed(struct qp *qp, uint32_t nth);

/**
 * To be called after a round of the QP: checks that the QP is in SQD if it found a bad block, and
 * only then.
 */
void signed_check(struct qp *qp);

/**
 * Whether the application of a QP that stopped because of a bad block may continue: the event
 * SQ_DRAINED has occurred.
 */
bool signed_can_go_on(const struct qp *qp);

/**
 * Continue after a stop because of a bad block: cancel some of the pending requests, or none, and
 * leave SQD.
 */
void signed_go_on(struct qp *qp);

/**
 * At the end of a run: check that the mkeys of the QP have no errors, except for expected errors
 * that were not reported.
 */
void signed_end(struct qp *qp);

#endif /* TEST_SIM_SIGNED_H */
