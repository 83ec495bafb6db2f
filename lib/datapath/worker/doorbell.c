/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Doorbells: an intrusive list of QPs, and a flag of each QP (is_rung). Any thread pushes a QP to
 * the list; the worker takes the whole list at once. A QP is in the list at most once. So the list
 * is never full, and a post cannot fail because of it.
 *
 * A post fills the queue before it sets the flag. The worker clears the flag before it reads the
 * queue. Both change the flag by exchanges, so one of them comes first, and the later one sees all
 * that the other thread did before. So either the worker sees the post, or the poster finds the
 * flag clear and pushes the QP again. A plain store of the flag is not enough
 * [test/models/litmus/doorbell.litmus].
 */

#include "datapath/worker/round.h"
#include "datapath/worker/service.h"

void
uroce_doorbell_push(struct uroce_worker *worker, struct uroce_worker_qp *wqp)
{
	struct uroce_worker_qp *head =
		atomic_load_explicit(&worker->doorbells, memory_order_relaxed);

	do {
		atomic_store_explicit(&wqp->doorbell_next, head, memory_order_relaxed);
	} while (!atomic_compare_exchange_weak(&worker->doorbells, &head, wqp));
}

void
uroce_worker_ring_doorbell(struct uroce_worker *worker, struct uroce_worker_qp *wqp)
{
	if (atomic_exchange(&wqp->is_rung, true)) {
		atomic_store_explicit(&wqp->is_rung_again, true, memory_order_relaxed);
		return;
	}
	uroce_doorbell_push(worker, wqp);
	if (worker->dev->service)
		uroce_service_wake_for_doorbell(worker->dev->service, worker);
}

void
uroce_worker_leave(struct uroce_worker *worker)
{
	if (!worker->dev->service)
		return;
	atomic_store_explicit(&worker->app_ns, 0, memory_order_relaxed);
	uroce_service_wake(worker->dev->service);
}
