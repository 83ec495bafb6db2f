/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Doorbells: an intrusive list of QPs with a flag. Any thread pushes, the worker takes the whole
 * list at once. A QP is in it at most once, so it is never full and a post cannot fail on it.
 *
 * The flag is cleared before the queue is looked at (both sequentially consistent, against the
 * post, which fills the queue before it sets the flag): so either we see what was posted, or the
 * poster sees the flag clear and pushes again.
 */

#include "datapath/clock.h"
#include "datapath/round.h"
#include "datapath/service.h"

static void
push(struct uroce_worker *worker, struct uroce_qpr *qpr)
{
	struct uroce_qpr *head = atomic_load_explicit(&worker->bells, memory_order_relaxed);

	do {
		atomic_store_explicit(&qpr->bell_next, head, memory_order_relaxed);
	} while (!atomic_compare_exchange_weak(&worker->bells, &head, qpr));
}

void
uroce_worker_ring(struct uroce_worker *worker, struct uroce_qpr *qpr)
{
	if (atomic_exchange(&qpr->is_rung, true)) {
		atomic_store_explicit(&qpr->is_rung_again, true, memory_order_relaxed);
		return;
	}
	push(worker, qpr);
	if (worker->dev->service)
		uroce_service_nudge(worker->dev->service, worker);
}

void
uroce_worker_leave(struct uroce_worker *worker)
{
	if (!worker->dev->service)
		return;
	atomic_store_explicit(&worker->app_ns, 0, memory_order_relaxed);
	uroce_service_wake(worker->dev->service);
}

static struct uroce_qpr *
reverse(struct uroce_qpr *list)
{
	struct uroce_qpr *reversed = NULL;

	while (list) {
		struct uroce_qpr *next =
			atomic_load_explicit(&list->bell_next, memory_order_relaxed);

		atomic_store_explicit(&list->bell_next, reversed, memory_order_relaxed);
		reversed = list;
		list = next;
	}
	return reversed;
}

/* Whether the QP was posted to once only; forgotten with the question. */
static bool
was_rung_once(struct uroce_qpr *qpr)
{
	if (!atomic_load_explicit(&qpr->is_rung_again, memory_order_relaxed))
		return true;
	atomic_store_explicit(&qpr->is_rung_again, false, memory_order_relaxed);
	return false;
}

/*
 * A QP that has moved since is rung where it lives now, and stays rung meanwhile.
 * @return posts to it: 0, 1, or 2 for more
 */
static unsigned
take(struct uroce_worker *worker, struct uroce_qpr *qpr)
{
	struct uroce_worker *owner = uroce_qpr_worker(qpr);
	unsigned nb_posts;

	if (unlikely(owner != worker)) {
		push(owner, qpr);
		return 0;
	}
	if (unlikely(qpr->is_new))
		uroce_move_land(worker, qpr);
	nb_posts = was_rung_once(qpr) ? 1 : 2;
	atomic_exchange(&qpr->is_rung, false);
	uroce_tx_schedule(worker, qpr);
	uroce_qpr_fetch(qpr);
	uroce_qpc_fetch_req(&qpr->qpc);
	return nb_posts;
}

unsigned
uroce_bell_take(struct uroce_worker *worker)
{
	struct uroce_qpr *qpr;
	unsigned nb_posts = 0;

	if (!atomic_load_explicit(&worker->bells, memory_order_relaxed))
		return 0;
	qpr = reverse(atomic_exchange(&worker->bells, NULL));
	while (qpr) {
		struct uroce_qpr *next =
			atomic_load_explicit(&qpr->bell_next, memory_order_relaxed);

		nb_posts += take(worker, qpr);
		qpr = next;
	}
	return nb_posts;
}
