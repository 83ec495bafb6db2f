/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * When an acknowledgement waits, and who is remembered for it. A process may end before the program
 * polls again; its peer must not take that for a message that never came. So the workers that have
 * left one stand in a table, which is looked through when the library goes away. It is not in the
 * device's memory: that may have gone before.
 */

#include "datapath/deferral.h"

#include <stdatomic.h>
#include <unistd.h>

#include "datapath/round.h"

#define SOON_MIN     8               /* polls that make a program one that spins */
#define ANSWERED_MIN 16              /* messages that make it one that answers */
#define SOON_NS      UINT64_C(10000) /* from one of them to the next: a poll may transmit */
#define TIGHT_NS     UINT64_C(3000)  /* the same, of one that does little else */
#define MORE_POLLS   4               /* for one that waits for a completion before it answers */
#define FEW          2u /* frames at a time: more are a stream, whose sender needs its window */
#define KEPT_MAX     8  /* messages that one acknowledgement is for */
#define KEEP_NS                                                                                    \
	UINT64_C(10000) /* behind an answer: what a peer that does not wait for it stays below */
#define GAP_MIN 64u     /* messages from a trial that failed to the next */
#define GAP_MAX 32768u

static _Atomic(struct uroce_worker *) deferring[UROCE_PORTS_MAX][UROCE_WORKERS_MAX];
static _Atomic pid_t owner; /* whose workers they are; 0: there were none */

static void
remember(const struct uroce_worker *worker, struct uroce_worker *what)
{
	atomic_store_explicit(&deferring[worker->dev->port->id][worker->idx], what,
			      memory_order_relaxed);
}

/* Whether an acknowledgement is all that is to be sent. */
static bool
is_only_ack(const struct uroce_worker *worker)
{
	const struct uroce_qpr *qpr = worker->tx.active_head;

	return qpr && !qpr->active_next && worker->tx.nb_pending == 0 &&
	       uroce_qpc_owes_only_ack(&qpr->qpc);
}

/* It was answered: the acknowledgement may wait for the next message, if that does not wait for it. */
static void
keep(struct uroce_worker *worker)
{
	struct uroce_deferral *deferral = &worker->deferral;

	if (!is_only_ack(worker) || deferral->nb_kept + 1 == KEPT_MAX)
		return;
	if (deferral->nb_to_trial > 0) {
		deferral->nb_to_trial--;
		return;
	}
	deferral->is_kept = true;
	deferral->kept_ns = worker->now_ns;
	deferral->kept_msn = worker->tx.active_head->qpc.resp.msn;
}

/* Has the program answered? */
static void
judge(struct uroce_worker *worker)
{
	struct uroce_deferral *deferral = &worker->deferral;
	const bool has_posted = worker->shortcut.nb_posts > 0 ||
				atomic_load_explicit(&worker->bells, memory_order_relaxed);

	if (!has_posted && deferral->nb_left > 0) {
		deferral->nb_left--;
		return;
	}
	deferral->is_open = false;
	deferral->nb_answered = has_posted ? deferral->nb_answered + 1 : 0;
	if (has_posted && deferral->is_on)
		keep(worker);
}

bool
uroce_deferral_is_urgent(struct uroce_worker *worker)
{
	struct uroce_deferral *deferral = &worker->deferral;

	if (!deferral->is_on || !deferral->is_open || deferral->nb_to_trial == 0)
		return false;
	deferral->nb_to_trial--;
	return true;
}

void
uroce_deferral_polled(struct uroce_worker *worker)
{
	const uint64_t last_ns = atomic_load_explicit(&worker->app_ns, memory_order_relaxed);
	const uint64_t age_ns = worker->now_ns - last_ns;

	worker->deferral.nb_soon = age_ns < SOON_NS ? worker->deferral.nb_soon + 1 : 0;
	worker->deferral.is_tight = age_ns < TIGHT_NS;
	if (worker->deferral.is_open)
		judge(worker);
}

bool
uroce_deferral_is_waiting(const struct uroce_worker *worker)
{
	return worker->deferral.is_on && (worker->deferral.is_open || worker->deferral.is_kept);
}

bool
uroce_deferral_is_spinning(const struct uroce_worker *worker)
{
	return worker->deferral.is_tight && worker->deferral.nb_soon >= SOON_MIN;
}

/* A message has come that the program may answer. */
static void
open(struct uroce_worker *worker)
{
	worker->deferral.is_open = true;
	worker->deferral.nb_left =
		uroce_qpc_is_unanswered(&worker->tx.active_head->qpc) ? MORE_POLLS : 0;
}

/* Whether what was left goes on waiting. */
static bool
go_on(struct uroce_worker *worker, unsigned nb)
{
	struct uroce_deferral *deferral = &worker->deferral;

	if (!is_only_ack(worker))
		return false;
	if (!deferral->is_kept)
		return deferral->is_open;
	if (nb == 0 || worker->tx.active_head->qpc.resp.msn == deferral->kept_msn) {
		if (worker->now_ns - deferral->kept_ns < KEEP_NS)
			return true;
		deferral->trial_gap = RTE_MIN(RTE_MAX(deferral->trial_gap * 2, GAP_MIN), GAP_MAX);
		deferral->nb_to_trial = deferral->trial_gap;
		return false;
	}
	deferral->is_kept = false;
	deferral->nb_kept++;
	deferral->trial_gap /= 2;
	open(worker);
	return nb <= FEW;
}

bool
uroce_deferral_begin(struct uroce_worker *worker, unsigned nb)
{
	/* a program that sees its message may say so by other means, and its peer may end the connection then */
	if (worker->publishing.list.is_ack_owed || worker->publishing.is_waiting)
		return false;
	if (worker->deferral.is_on)
		return go_on(worker, nb);
	if (nb == 0 || nb > FEW || worker->deferral.nb_soon < SOON_MIN || !worker->dev->service ||
	    !is_only_ack(worker))
		return false;
	open(worker);
	if (worker->deferral.nb_answered < ANSWERED_MIN)
		return false;
	if (unlikely(atomic_load_explicit(&owner, memory_order_relaxed) == 0))
		atomic_store_explicit(&owner, getpid(), memory_order_relaxed);
	worker->deferral.is_on = true;
	remember(worker, worker);
	return true;
}

void
uroce_deferral_end(struct uroce_worker *worker)
{
	if (!worker->deferral.is_on)
		return;
	worker->deferral.is_on = false;
	worker->deferral.is_kept = false;
	worker->deferral.nb_kept = 0;
	remember(worker, NULL);
}

static void
send_left(struct uroce_worker *worker)
{
	if (!uroce_lock_try(&worker->lock))
		return; /* whoever has it sends */
	uroce_worker_begin_round(worker);
	(void)uroce_tx_run(worker);
	uroce_worker_end_round(worker);
	uroce_lock_release(&worker->lock);
}

void
uroce_deferral_send_all(void)
{
	for (unsigned i = 0; i < UROCE_PORTS_MAX; i++) {
		for (unsigned j = 0; j < UROCE_WORKERS_MAX; j++) {
			struct uroce_worker *worker =
				atomic_load_explicit(&deferring[i][j], memory_order_relaxed);

			if (worker)
				send_left(worker);
		}
	}
}

/* A child that was forked has a copy of the table, and none of the ports. */
__attribute__((destructor)) static void
end_process(void)
{
	if (atomic_load_explicit(&owner, memory_order_relaxed) == getpid())
		uroce_deferral_send_all();
}
