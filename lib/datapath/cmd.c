/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Calls made as the worker. The call is put in the worker's mailbox, and whoever gets the worker's
 * lock next empties the mailbox: mostly the caller itself, at once; where a dedicated lcore keeps
 * the lock, that lcore in its next round.
 */

#include <sched.h>
#include <rte_pause.h>

#include "datapath/round.h"
#include "datapath/service.h"

#define SPINS 1000 /* before the caller yields: it may share its CPU with the worker */

static void
push(struct uroce_worker *worker, struct uroce_cmd *cmd)
{
	cmd->next = atomic_load_explicit(&worker->cmds, memory_order_relaxed);
	while (!atomic_compare_exchange_weak(&worker->cmds, &cmd->next, cmd))
		;
}

static struct uroce_cmd *
take_in_order(struct uroce_worker *worker)
{
	struct uroce_cmd *list = atomic_exchange(&worker->cmds, NULL);
	struct uroce_cmd *ordered = NULL;

	while (list) {
		struct uroce_cmd *next = list->next;

		list->next = ordered;
		ordered = list;
		list = next;
	}
	return ordered;
}

static void
make(struct uroce_worker *worker, struct uroce_cmd *cmd)
{
	if (cmd->about && cmd->about->is_new)
		uroce_move_land(worker, cmd->about);
	cmd->ret = cmd->call(cmd->arg);
	if (cmd->qpr)
		uroce_worker_follow_up(worker, cmd->qpr);
	/* The caller's stack is gone once it sees this. */
	atomic_store_explicit(&cmd->is_done, true, memory_order_release); /* D1 */
}

void
uroce_cmd_take(struct uroce_worker *worker)
{
	struct uroce_cmd *cmd;

	if (!atomic_load_explicit(&worker->cmds, memory_order_relaxed))
		return;
	/* a QP that ends or changes must not take an acknowledgement with it */
	if (worker->deferral.is_on)
		(void)uroce_tx_run(worker);
	cmd = take_in_order(worker);
	while (cmd) {
		struct uroce_cmd *next = cmd->next;
		struct uroce_worker *owner = cmd->about ? uroce_qpr_worker(cmd->about) : worker;

		if (owner == worker)
			make(worker, cmd);
		else
			push(owner, cmd);
		cmd = next;
	}
}

/* A round like any other: what was left to be sent is sent first, from memory that may be withdrawn. */
static void
try_ourselves(struct uroce_worker *worker)
{
	if (!uroce_lock_try(&worker->lock))
		return;
	uroce_worker_begin_round(worker);
	uroce_cmd_take(worker);
	uroce_held_reap(worker);
	uroce_worker_end_round(worker);
	uroce_lock_release(&worker->lock);
}

/* A QP may move meanwhile: then its call is passed on, and this looks there. */
static int
call_and_wait(struct uroce_worker *worker, struct uroce_cmd *cmd)
{
	unsigned spins = 0;

	push(worker, cmd);
	for (;;) {
		try_ourselves(worker);
		if (atomic_load_explicit(&cmd->is_done, memory_order_acquire)) /* D1 */
			break;
		if (cmd->about)
			worker = uroce_qpr_worker(cmd->about);
		rte_pause();
		if (++spins >= SPINS) {
			sched_yield();
			spins = 0;
		}
	}
	if (worker->dev->service)
		uroce_service_summon(worker->dev->service, worker);
	return cmd->ret;
}

int
uroce_worker_call(struct uroce_worker *worker, struct uroce_qpr *qpr, int (*call)(void *arg),
		  void *arg)
{
	struct uroce_cmd cmd = { .about = qpr, .qpr = qpr, .call = call, .arg = arg };

	return call_and_wait(worker, &cmd);
}

int
uroce_qpr_ask(struct uroce_qpr *qpr, int (*call)(void *arg), void *arg)
{
	struct uroce_cmd cmd = { .about = qpr, .call = call, .arg = arg };

	return call_and_wait(uroce_qpr_worker(qpr), &cmd);
}
