/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * When a post sends by itself. The service thread leaves a worker alone that the application drove a
 * moment ago, and is woken by doorbells of one that it left; so the shortcut is for programs that drive, and
 * does not count as driving: whoever sleeps after it is served as if it had rung.
 */

#include "datapath/shortcut.h"

#include <rte_lcore.h>

#include "datapath/clock.h"
#include "datapath/round.h"
#include "datapath/stage.h"

#define SINGLE_MIN 16 /* rounds that make a program one that posts singly */
#define DRIVEN_NS                                                                                  \
	UINT64_C(100000) /* since the application drove last: less than the service waits */

static void
set_open(struct uroce_worker *worker, bool is_open)
{
	if (atomic_load_explicit(&worker->has_shortcut, memory_order_relaxed) != is_open)
		atomic_store_explicit(&worker->has_shortcut, is_open, memory_order_relaxed);
}

void
uroce_shortcut_polled(struct uroce_worker *worker, unsigned nb_rung)
{
	struct uroce_shortcut *shortcut = &worker->shortcut;
	const unsigned nb_posts = shortcut->nb_posts + nb_rung;

	if (nb_posts == 0)
		return;
	shortcut->nb_posts = 0;
	shortcut->nb_single = nb_posts == 1 ? shortcut->nb_single + 1 : 0;
	set_open(worker, shortcut->nb_single >= SINGLE_MIN);
}

/* Whether nothing is before this post, and the application is at it. */
static bool
is_free(const struct uroce_worker *worker)
{
	const uint64_t app_ns = atomic_load_explicit(&worker->app_ns, memory_order_relaxed);

	return worker->shortcut.nb_posts == 0 && worker->tx.nb_pending == 0 &&
	       uroce_loop_has_room(&worker->loop) &&
	       (!worker->tx.active_head || worker->deferral.is_on) &&
	       !atomic_load_explicit(&worker->bells, memory_order_relaxed) &&
	       worker->now_ns - app_ns < DRIVEN_NS && !uroce_tx_is_lost(worker) &&
	       uroce_worker_may_transmit(worker);
}

/* Where a burst is a system call, or the peer waits for more than the answer, there is one for all. */
static void
transmit(struct uroce_worker *worker, struct uroce_qpr *qpr)
{
	if (!worker->dev->port->policy->may_block && !uroce_deferral_is_urgent(worker)) {
		uroce_tx_post(worker, qpr);
		return;
	}
	uroce_tx_schedule(worker, qpr);
	(void)uroce_tx_run(worker);
}

bool
uroce_worker_send(struct uroce_worker *worker, struct uroce_qpr *qpr)
{
	bool is_sent;

	if (!atomic_load_explicit(&worker->has_shortcut, memory_order_relaxed) ||
	    rte_lcore_id() == LCORE_ID_ANY || !uroce_lock_try(&worker->lock))
		return false;
	uroce_worker_begin_round(worker);
	/* it may have moved meanwhile, or have come just now */
	is_sent = uroce_qpr_worker(qpr) == worker && !qpr->is_new && is_free(worker);
	uroce_stage_lap(UROCE_STAGE_ROUND, 0);
	if (is_sent) {
		worker->shortcut.nb_posts++;
		transmit(worker, qpr);
	}
	uroce_worker_end_round(worker);
	uroce_lock_release(&worker->lock);
	return is_sent;
}
