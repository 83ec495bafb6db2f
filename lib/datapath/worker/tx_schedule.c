/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The list of a worker's active QPs: those that may have something to send, in the order of their
 * turns.
 */

#include "datapath/worker/round.h"

static void
append_active(struct uroce_tx *tx, struct uroce_worker_qp *wqp)
{
	wqp->is_active = true;
	wqp->active_next = NULL;
	if (tx->active_tail)
		tx->active_tail->active_next = wqp;
	else
		tx->active_head = wqp;
	tx->active_tail = wqp;
	tx->nb_scheduled++;
}

void
uroce_tx_schedule(struct uroce_worker *worker, struct uroce_worker_qp *wqp)
{
	wqp->may_have_requests = true;
	if (!wqp->is_active)
		append_active(&worker->tx, wqp);
}

void
uroce_tx_schedule_response(struct uroce_worker *worker, struct uroce_worker_qp *wqp)
{
	if (wqp->is_active)
		return;
	wqp->may_have_requests = false;
	append_active(&worker->tx, wqp);
}

void
uroce_tx_unschedule(struct uroce_worker *worker, struct uroce_worker_qp *wqp)
{
	struct uroce_tx *tx = &worker->tx;
	struct uroce_worker_qp **link = &tx->active_head;
	struct uroce_worker_qp *before = NULL;

	if (!wqp->is_active)
		return;
	while (*link != wqp) {
		before = *link;
		link = &before->active_next;
	}
	*link = wqp->active_next;
	if (tx->active_tail == wqp)
		tx->active_tail = before;
	tx->nb_polled_qps++;
	wqp->is_active = false;
}
