/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Commands: calls that another thread makes in the context of a worker.
 *
 * The caller puts a command into the worker's mailbox. The next thread that holds the worker's lock
 * empties the mailbox. In most cases that thread is the caller itself, at once. Where a dedicated
 * lcore keeps the lock, the lcore runs the command in its next round.
 */

#include <sched.h>
#include <rte_pause.h>

#include "datapath/uroced/mux_client.h"
#include "datapath/clock.h"
#include "datapath/worker/at_rest.h"
#include "datapath/worker/round.h"
#include "datapath/worker/service.h"

/*
 * Number of checks for the result of a command before the caller yields its CPU, which the worker
 * may need.
 */
#define SPINS 1000

/*
 * Maximum number of bursts that a worker receives before it runs a command with
 * `must_receive_first` set, for example one that resets a QP. So many bursts are more than the RX
 * ring of a port holds.
 */
#define ARRIVED_BURSTS 64u

/*
 * Maximum time to wait until the daemon uroced has passed a barrier, a descriptor without a frame
 * that follows all frames for this process. A working uroced passes a barrier within a few of its
 * rounds.
 */
#define BARRIER_MAX_NS UINT64_C(500000000)

static void
push_cmd(struct uroce_worker *worker, struct uroce_cmd *cmd)
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
run_cmd(struct uroce_worker *worker, struct uroce_cmd *cmd)
{
	if (cmd->about && cmd->about->is_migrated)
		uroce_migrate_complete(worker, cmd->about);
	cmd->ret = cmd->call(cmd->arg);
	if (cmd->wqp)
		uroce_worker_follow_up(worker, cmd->wqp);
	/*
	 * Publish completions before the command counts as done. After that the thread that made
	 * the command may poll for a completion of the command, or free the memory of the CQ.
	 */
	uroce_publish_now(worker);
	/*
	 * Release D1 pairs with acquire D1 in call_and_wait(): the caller sees the result of the
	 * call. The caller returns when it sees is_done. The command is on the caller's stack, and
	 * so is invalid from then on.
	 */
	atomic_store_explicit(&cmd->is_done, true, memory_order_release);
}

/* Receive all frames that the port has, and transmit the responses to them. */
static void
receive_arrived(struct uroce_worker *worker)
{
	for (unsigned i = 0; i < ARRIVED_BURSTS; i++) {
		const unsigned nb = uroce_reorder_buffer_has_ready(worker->reorder_buffer)
					    ? 0
					    : uroce_rx_run(worker);

		if (worker->tx.active_head && uroce_worker_may_transmit(worker))
			(void)uroce_tx_run(worker);
		if (nb == 0 && worker->loopback.nb == 0)
			return;
	}
}

/*
 * Receive the frames that the daemon uroced still has for this process. uroced passes a barrier
 * after it has forwarded all earlier frames to this process. Until then the worker goes on
 * receiving and responding.
 */
static void
receive_passed(struct uroce_worker *worker)
{
	const struct uroce_port *port = worker->dev->port;
	const uint64_t end_ns = worker->now_ns + BARRIER_MAX_NS;
	uint32_t mark;

	if (port->policy->burst != UROCE_BURST_MUX || !uroce_mux_client_sync(port, worker->queue))
		return;
	mark = uroce_mux_client_sent(port, worker->queue);
	while (!uroce_mux_client_has_passed(port, worker->queue, mark) &&
	       uroce_clock_ns() < end_ns) {
		sched_yield(); /* uroced may need this CPU, so the CPU is yielded */
		/* Timers of packets that are sent in this loop must start at the present time. */
		worker->now_ns = uroce_clock_ns();
		receive_arrived(worker);
	}
	if (!uroce_mux_client_has_passed(port, worker->queue, mark))
		uroce_mux_client_give_up(port, worker->queue, mark);
	receive_arrived(worker);
}

/*
 * Before a command makes a QP start or stop receiving packets, receive the frames that have
 * arrived, and send the responses. These frames belong to the state of the QP before the command.
 * If the device has the key drive=none, nothing is received, because only the embedder uses the
 * port's queues, and its thread may be inside a burst.
 */
static void
settle_connection(struct uroce_worker *worker)
{
	if (worker->dev->conf.drive == UROCE_DRIVE_NONE)
		return;
	receive_arrived(worker);
	receive_passed(worker);
}

static bool
is_cmd_final(const struct uroce_cmd *cmd)
{
	while (cmd && !cmd->must_receive_first)
		cmd = cmd->next;
	return cmd;
}

void
uroce_cmd_take(struct uroce_worker *worker)
{
	struct uroce_cmd *cmd;

	if (!atomic_load_explicit(&worker->cmds, memory_order_relaxed))
		return;
	cmd = take_in_order(worker);
	if (is_cmd_final(cmd))
		settle_connection(worker);
	/* A delayed ACK is sent before the command, which may destroy or change the QP. */
	else if (worker->delayed_ack.is_on)
		(void)uroce_tx_run(worker);
	while (cmd) {
		struct uroce_cmd *next = cmd->next;
		struct uroce_worker *owner =
			cmd->about ? uroce_worker_qp_worker(cmd->about) : worker;

		if (owner == worker)
			run_cmd(worker, cmd);
		else
			push_cmd(owner, cmd);
		cmd = next;
	}
}

/*
 * Run the pending commands in the calling thread, if the worker's lock is free. The commands run
 * inside a round. A delayed ACK and the frames that wait with it are sent before the commands,
 * because a command may withdraw the memory to which these frames refer.
 * @return whether the commands ran, and left nothing to do for the service thread: no frame and no
 *	timer
 */
static bool
try_cmds_here(struct uroce_worker *worker)
{
	bool is_at_rest;

	if (!uroce_lock_try(&worker->lock))
		return false;
	uroce_worker_begin_round(worker);
	uroce_cmd_take(worker);
	uroce_reorder_mbuf_reap(worker);
	uroce_worker_end_round(worker);
	is_at_rest = uroce_worker_is_at_rest(worker) && uroce_worker_next_ns(worker) == UROCE_NEVER;
	uroce_lock_release(&worker->lock);
	return is_at_rest;
}

/*
 * Whether a command leaves something to do for the service thread, so that the service thread must
 * be woken. Most commands about a QP leave the worker at rest. If they woke the service thread, it
 * would take the CPU from a program that connects many QPs.
 *
 * A command that makes a QP start or stop receiving also wakes a service thread that sleeps until a
 * wake-up. Such a command first receives all frames of the port, and some of them may be for another
 * worker. A memif peer that has connected again has new rings, for which no wake-up is armed.
 */
static bool
leaves_work(const struct uroce_cmd *cmd, const struct uroce_worker *worker, bool is_at_rest)
{
	if (!cmd->about || !is_at_rest)
		return true;
	return cmd->must_receive_first &&
	       atomic_load_explicit(&worker->is_unattended, memory_order_relaxed);
}

/*
 * Push a command to a worker, and wait until the command has run. If the QP of the command migrates
 * meanwhile, the old worker passes the command to the new worker, and the calling thread waits for
 * the new worker.
 */
static int
call_and_wait(struct uroce_worker *worker, struct uroce_cmd *cmd)
{
	unsigned spins = 0;
	bool is_at_rest;

	push_cmd(worker, cmd);
	for (;;) {
		is_at_rest = try_cmds_here(worker);
		/*
		 * acquire D1 pairs with release D1 in run_cmd(): the result of the call is visible
		 */
		if (atomic_load_explicit(&cmd->is_done, memory_order_acquire))
			break;
		if (cmd->about)
			worker = uroce_worker_qp_worker(cmd->about);
		rte_pause();
		if (++spins >= SPINS) {
			sched_yield();
			spins = 0;
		}
	}
	if (worker->dev->service && leaves_work(cmd, worker, is_at_rest))
		uroce_service_wake_for_work(worker->dev->service, worker);
	return cmd->ret;
}

int
uroce_worker_call(struct uroce_worker *worker, struct uroce_worker_qp *wqp, int (*call)(void *arg),
		  void *arg)
{
	struct uroce_cmd cmd = { .about = wqp, .wqp = wqp, .call = call, .arg = arg };

	return call_and_wait(worker, &cmd);
}

static int
run_empty_cmd(void *arg)
{
	(void)arg;
	return 0;
}

/*
 * Make all workers except the QP's owner process the frames that they have received. Any worker may
 * have received frames of the QP, and forwards them to the owner.
 */
static void
gather_forwarded(struct uroce_dev *dev, const struct uroce_worker *owner)
{
	for (unsigned i = 0; dev->nb_workers > 1 && i < dev->nb_workers; i++) {
		struct uroce_cmd cmd = { .call = run_empty_cmd, .must_receive_first = true };

		if (dev->worker[i] != owner)
			(void)call_and_wait(dev->worker[i], &cmd);
	}
}

int
uroce_worker_qp_quiesce(struct uroce_worker_qp *wqp, int (*call)(void *arg), void *arg)
{
	struct uroce_worker *worker = uroce_worker_qp_worker(wqp);
	struct uroce_cmd cmd = {
		.about = wqp, .wqp = wqp, .call = call, .arg = arg, .must_receive_first = true
	};

	gather_forwarded(worker->dev, worker);
	return call_and_wait(worker, &cmd);
}

int
uroce_worker_qp_query(struct uroce_worker_qp *wqp, int (*call)(void *arg), void *arg)
{
	struct uroce_cmd cmd = { .about = wqp, .call = call, .arg = arg };

	return call_and_wait(uroce_worker_qp_worker(wqp), &cmd);
}
