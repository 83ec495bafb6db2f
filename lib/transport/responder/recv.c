/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A message uses the oldest receive request of the QP's own queue, or one from an SRQ. A receive
 * request is taken from an SRQ when the first packet of a message needs it. The QP keeps the
 * receive request until the message has ended.
 */
#include "transport/responder/recv.h"

#include "transport/qpc.h"

struct uroce_recv_wqe *
uroce_recv_shared(struct uroce_qpc *qpc)
{
	bool is_limit = false;

	if (!qpc->srq)
		return NULL;
	if (qpc->resp.recv)
		return qpc->resp.recv;
	qpc->resp.recv = uroce_srq_take(qpc->srq, &is_limit);
	if (is_limit)
		qpc->events |= UROCE_QPC_SRQ_LIMIT;
	return qpc->resp.recv;
}

void
uroce_recv_give(struct uroce_qpc *qpc)
{
	uroce_srq_give(qpc->srq, qpc->resp.recv);
	qpc->resp.recv = NULL;
}

void
uroce_recv_put_back(struct uroce_qpc *qpc)
{
	if (!qpc->resp.recv)
		return;
	uroce_srq_put_back(qpc->srq, qpc->resp.recv);
	qpc->resp.recv = NULL;
}

struct uroce_srq *
uroce_qpc_limited_srq(const struct uroce_qpc *qpc)
{
	if (!qpc->srqs)
		return qpc->srq && uroce_srq_take_limit(qpc->srq) ? qpc->srq : NULL;
	for (uint32_t srqn = 1; srqn <= qpc->srqs->nb_slots; srqn++) {
		struct uroce_srq *srq = uroce_srq_table_find(qpc->srqs, srqn);

		if (srq && srq->xrcd == qpc->xrcd && uroce_srq_take_limit(srq))
			return srq;
	}
	return NULL;
}

struct uroce_srq *
uroce_qpc_event_srq(const struct uroce_qpc *qpc, uint8_t *events)
{
	for (uint32_t srqn = 1; srqn <= qpc->srqs->nb_slots; srqn++) {
		struct uroce_srq *srq = uroce_srq_table_find(qpc->srqs, srqn);

		if (!srq || srq->xrcd != qpc->xrcd)
			continue;
		*events = uroce_srq_take_events(srq);
		if (*events)
			return srq;
	}
	return NULL;
}

void
uroce_qpc_forget_srq(struct uroce_qpc *qpc, const struct uroce_srq *srq)
{
	if (qpc->srq != srq)
		return;
	uroce_recv_put_back(qpc);
	qpc->resp.operation = UROCE_OPERATION_NONE;
	qpc->srq = NULL;
	qpc->pdn = 0;
}
