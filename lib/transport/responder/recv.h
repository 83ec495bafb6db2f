/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_RECV_H
#define UROCE_TRANSPORT_RECV_H

/**
 * @file
 * Functions that take receive requests from the QP's own receive queue or from an SRQ.
 *
 * A QP that has a receive queue has no SRQ (struct uroce_qpc_conf). So these functions test the
 * field `rq` first: it is in a cache line that each receive completion uses, and `srq` is in a line
 * that is otherwise used rarely.
 */

#include "transport/context.h"

/**
 * Get the receive request of the present message from the SRQ. The request is taken from the SRQ if
 * the message has none yet.
 * @return NULL: the QP has no SRQ, or the SRQ is empty
 */
struct uroce_recv_wqe *uroce_recv_shared(struct uroce_qpc *qpc);

/**
 * Get the receive request that the message being received uses.
 * @return NULL: no receive request is posted
 */
static inline struct uroce_recv_wqe *
uroce_recv_current(struct uroce_qpc *qpc)
{
	if (!qpc->rq)
		return uroce_recv_shared(qpc);
	const struct uroce_ring *rq = &qpc->rq->ring;
	const uint32_t tail = uroce_ring_tail(rq);

	return uroce_ring_head(rq) == tail ? NULL
					   : (struct uroce_recv_wqe *)uroce_ring_at(rq, tail);
}

/**
 * Get the receive request that the message being received uses. uroce_recv_current() must have
 * returned this request before.
 */
static inline struct uroce_recv_wqe *
uroce_recv_taken(const struct uroce_qpc *qpc)
{
	if (!qpc->rq)
		return qpc->resp.recv;
	return (struct uroce_recv_wqe *)uroce_ring_at(&qpc->rq->ring,
						      uroce_ring_tail(&qpc->rq->ring));
}

/** Free the slot of the SRQ's receive request that this QP has taken and that has completed. */
void uroce_recv_give(struct uroce_qpc *qpc);

/** Free the slot of the receive request of a message, after the request has completed. */
static inline void
uroce_recv_pop(struct uroce_qpc *qpc)
{
	if (qpc->rq)
		uroce_ring_pop(&qpc->rq->ring, 1);
	else
		uroce_recv_give(qpc);
}

/**
 * Return the receive request that this QP has taken to the SRQ, unused. The next message of any QP
 * may use the request.
 */
void uroce_recv_put_back(struct uroce_qpc *qpc);

/** Get the protection domain to which the lkeys in a receive request belong. */
static inline uint32_t
uroce_recv_pdn(const struct uroce_qpc *qpc)
{
	return !qpc->rq && qpc->srq ? qpc->srq->pdn : qpc->pdn;
}

#endif /* UROCE_TRANSPORT_RECV_H */
