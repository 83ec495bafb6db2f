/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The conditions of inline transmit.
 *
 * The service thread does not drive a worker that the application drove a moment ago. Inline
 * transmit is for programs that drive their worker. But an inline transmit does not count as
 * driving: a program that sleeps after an inline transmit is served by the service thread as after
 * a doorbell.
 */

#include "datapath/worker/inline_tx.h"

#include <rte_lcore.h>

#include "datapath/clock.h"
#include "datapath/worker/round.h"
#include "datapath/stage.h"

/* Number of consecutive rounds with one post each after which inline transmit is enabled. */
#define SINGLE_MIN 16
/*
 * Inline transmit is possible for this time after the application drove the worker. It is less than
 * TAKE_OVER_NS, after which the service thread drives the worker.
 */
#define DRIVEN_NS UINT64_C(100000)

static void
set_inline_tx(struct uroce_worker *worker, bool is_open)
{
	if (atomic_load_explicit(&worker->has_inline_tx, memory_order_relaxed) != is_open)
		atomic_store_explicit(&worker->has_inline_tx, is_open, memory_order_relaxed);
}

void
uroce_inline_tx_polled(struct uroce_worker *worker, unsigned nb_rung)
{
	struct uroce_inline_tx *inline_tx = &worker->inline_tx;
	const unsigned nb_posts = inline_tx->nb_posts + nb_rung;

	if (nb_posts == 0)
		return;
	inline_tx->nb_posts = 0;
	inline_tx->nb_single = nb_posts == 1 ? inline_tx->nb_single + 1 : 0;
	set_inline_tx(worker, inline_tx->nb_single >= SINGLE_MIN);
}

/*
 * Whether a post may be transmitted inline: nothing is to be sent before it, and the application
 * drives the worker. A service thread that sleeps until a wake-up does not see a timer that an
 * inline transmit sets. So a post rings a doorbell then, which wakes the service thread.
 */
static bool
can_send_inline(const struct uroce_worker *worker)
{
	const uint64_t app_ns = atomic_load_explicit(&worker->app_ns, memory_order_relaxed);

	return worker->inline_tx.nb_posts == 0 && worker->tx.nb_pending == 0 &&
	       uroce_loopback_has_room(&worker->loopback) &&
	       (!worker->tx.active_head || worker->delayed_ack.is_on) &&
	       !atomic_load_explicit(&worker->doorbells, memory_order_relaxed) &&
	       !atomic_load_explicit(&worker->is_unattended, memory_order_relaxed) &&
	       worker->now_ns - app_ns < DRIVEN_NS && !uroce_tx_is_lost(worker) &&
	       uroce_worker_may_transmit(worker);
}

/*
 * Transmit a post. All pending frames are sent in the same burst if the peer is known to wait for a
 * delayed ACK.
 */
static void
transmit_post(struct uroce_worker *worker, struct uroce_worker_qp *wqp)
{
	if (!uroce_delayed_ack_is_urgent(worker)) {
		uroce_tx_post(worker, wqp);
		return;
	}
	uroce_tx_schedule(worker, wqp);
	(void)uroce_tx_run(worker);
}

bool
uroce_worker_send(struct uroce_worker *worker, struct uroce_worker_qp *wqp)
{
	bool is_sent;

	if (!atomic_load_explicit(&worker->has_inline_tx, memory_order_relaxed) ||
	    rte_lcore_id() == LCORE_ID_ANY || !uroce_lock_try(&worker->lock))
		return false;
	uroce_worker_begin_round(worker);
	/*
	 * Do not transmit for a QP that has migrated to another worker, or has just migrated to
	 * this one.
	 */
	is_sent = uroce_worker_qp_worker(wqp) == worker && !wqp->is_migrated &&
		  can_send_inline(worker);
	uroce_stage_lap(UROCE_STAGE_ROUND, 0);
	if (is_sent) {
		worker->inline_tx.nb_posts++;
		transmit_post(worker, wqp);
	}
	uroce_worker_end_round(worker);
	uroce_lock_release(&worker->lock);
	return is_sent;
}
