/* SPDX-License-Identifier: BSD-3-Clause */

/* The functions by which a worker takes its list of doorbells and schedules the QPs. */

#include "datapath/worker/round.h"

static struct uroce_worker_qp *
reverse_list(struct uroce_worker_qp *list)
{
	struct uroce_worker_qp *reversed = NULL;

	while (list) {
		struct uroce_worker_qp *next =
			atomic_load_explicit(&list->doorbell_next, memory_order_relaxed);

		atomic_store_explicit(&list->doorbell_next, reversed, memory_order_relaxed);
		reversed = list;
		list = next;
	}
	return reversed;
}

/*
 * Whether the QP was posted to only once since the worker last took its doorbell. The call resets
 * this information.
 */
static bool
was_rung_once(struct uroce_worker_qp *wqp)
{
	if (!atomic_load_explicit(&wqp->is_rung_again, memory_order_relaxed))
		return true;
	atomic_store_explicit(&wqp->is_rung_again, false, memory_order_relaxed);
	return false;
}

/*
 * Take the doorbell of a QP. If the QP has migrated, its doorbell is forwarded to its new worker,
 * and the flag `is_rung` of the QP stays set.
 * @return number of posts to the QP: 0 if it has migrated, 1, or 2 for two or more
 */
static unsigned
take_doorbell(struct uroce_worker *worker, struct uroce_worker_qp *wqp)
{
	struct uroce_worker *owner = uroce_worker_qp_worker(wqp);
	unsigned nb_posts;

	if (unlikely(owner != worker)) {
		uroce_doorbell_push(owner, wqp);
		return 0;
	}
	if (unlikely(wqp->is_migrated))
		uroce_migrate_complete(worker, wqp);
	nb_posts = was_rung_once(wqp) ? 1 : 2;
	atomic_exchange(&wqp->is_rung, false);
	uroce_tx_schedule(worker, wqp);
	uroce_worker_qp_fetch(wqp);
	uroce_qpc_fetch_req(&wqp->qpc);
	return nb_posts;
}

unsigned
uroce_doorbell_take(struct uroce_worker *worker)
{
	struct uroce_worker_qp *wqp;
	unsigned nb_posts = 0;

	if (!atomic_load_explicit(&worker->doorbells, memory_order_relaxed))
		return 0;
	wqp = reverse_list(atomic_exchange(&worker->doorbells, NULL));
	while (wqp) {
		struct uroce_worker_qp *next =
			atomic_load_explicit(&wqp->doorbell_next, memory_order_relaxed);

		nb_posts += take_doorbell(worker, wqp);
		wqp = next;
	}
	return nb_posts;
}
