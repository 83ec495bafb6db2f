/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_RECV_H
#define UROCE_TRANSPORT_RECV_H

/**
 * @file
 * Where receive requests come from: the QP's queue or a shared one.
 */

#include "transport/context.h"

/** uroce_recv_current() of a shared queue; NULL: there is none, or nothing is posted to it. */
struct uroce_recv_wqe *uroce_recv_shared(struct uroce_qpc *qpc);

/** The receive request that the message being received uses; NULL: none is posted. */
static inline struct uroce_recv_wqe *
uroce_recv_current(struct uroce_qpc *qpc)
{
	if (qpc->srq || !qpc->rq)
		return uroce_recv_shared(qpc);
	const struct uroce_ring *rq = &qpc->rq->ring;
	const uint32_t tail = uroce_ring_tail(rq);

	return uroce_ring_head(rq) == tail ? NULL
					   : (struct uroce_recv_wqe *)uroce_ring_at(rq, tail);
}

/** The same, when that was asked before and there is one. */
static inline struct uroce_recv_wqe *
uroce_recv_taken(const struct uroce_qpc *qpc)
{
	if (qpc->srq)
		return qpc->resp.recv;
	return (struct uroce_recv_wqe *)uroce_ring_at(&qpc->rq->ring,
						      uroce_ring_tail(&qpc->rq->ring));
}

/** The slot of the shared queue's request is free. */
void uroce_recv_give(struct uroce_qpc *qpc);

/** It was completed: its slot is free. */
static inline void
uroce_recv_pop(struct uroce_qpc *qpc)
{
	if (qpc->srq)
		uroce_recv_give(qpc);
	else
		uroce_ring_pop(&qpc->rq->ring, 1);
}

/** It was not used: others may. */
void uroce_recv_put_back(struct uroce_qpc *qpc);

/** The protection domain of its keys. */
static inline uint32_t
uroce_recv_pdn(const struct uroce_qpc *qpc)
{
	return qpc->srq ? qpc->srq->pdn : qpc->pdn;
}

#endif /* UROCE_TRANSPORT_RECV_H */
