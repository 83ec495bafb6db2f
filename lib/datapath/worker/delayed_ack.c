/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Delayed ACKs: the conditions under which an ACK is delayed, and a table of the workers that have
 * a delayed ACK.
 *
 * A process may end before the program polls again. Then the delayed ACKs must still be sent, or
 * the peer would see its message fail. So the workers with a delayed ACK are registered in a table,
 * and a destructor of the library sends their ACKs. The table is not in the memory of the device,
 * because the device may be freed before the destructor runs.
 */

#include "datapath/worker/delayed_ack.h"

#include <stdatomic.h>
#include <unistd.h>

#include "datapath/worker/round.h"

/*
 * Number of polls in quick succession after which a program counts as spinning (polling in a loop).
 */
#define SOON_MIN 8
/* Number of messages in a row with a reply after which a program counts as replying. */
#define ANSWERED_MIN 16
/*
 * Two polls of a CQ count as polls in quick succession if the time between them, including the time
 * of a transmission, is less than SOON_NS. SOON_SYSCALL_NS is used instead for ports on which a
 * burst is a system call.
 */
#define SOON_NS         UINT64_C(10000)
#define SOON_SYSCALL_NS UINT64_C(40000)
/* Maximum time between two polls of a program that does little else. */
#define TIGHT_NS UINT64_C(3000)
/*
 * Number of additional polls before the reply of a program counts as missing, if the program has a
 * request outstanding.
 */
#define MORE_POLLS 4
/*
 * An ACK is delayed only if the round has received at most this number of frames. More frames
 * belong to a stream, whose sender needs the ACK for its window.
 */
#define FEW      2u
#define KEPT_MAX 8 /* maximum number of messages that one delayed ACK acknowledges */
/*
 * Maximum time for which an ACK is kept after the reply of the program. If the peer's next message
 * does not arrive within this time, the peer waits for the ACK. KEEP_SYSCALL_NS is used instead of
 * KEEP_NS for ports on which a burst is a system call.
 */
#define KEEP_NS         UINT64_C(10000)
#define KEEP_SYSCALL_NS UINT64_C(40000)
/*
 * Minimum and maximum number of messages between a failed trial and the next trial. A trial keeps
 * an ACK after the reply of the program until the peer's next message arrives, to find out whether
 * the peer waits for the ACK.
 */
#define GAP_MIN 64u
#define GAP_MAX 32768u

/*
 * The workers with delayed ACKs. A worker writes its entry twice for each delayed ACK, which may be
 * once for each message. So each entry has a cache line of its own.
 */
static struct {
	_Alignas(64) _Atomic(struct uroce_worker *) worker;
} deferring[UROCE_PORTS_MAX][UROCE_WORKERS_MAX];
/* ID of the process that registered workers with delayed ACKs; 0: no worker was registered. */
static _Atomic pid_t owner;

static void
register_worker(const struct uroce_worker *worker, struct uroce_worker *what)
{
	atomic_store_explicit(&deferring[worker->dev->port->id][worker->idx].worker, what,
			      memory_order_relaxed);
}

bool
uroce_delayed_ack_is_left(const struct uroce_worker *worker)
{
	return atomic_load_explicit(&deferring[worker->dev->port->id][worker->idx].worker,
				    memory_order_relaxed) != NULL;
}

struct uroce_worker *
uroce_delayed_ack_registered(unsigned port, unsigned idx)
{
	return atomic_load_explicit(&deferring[port][idx].worker, memory_order_relaxed);
}

bool
uroce_delayed_ack_is_own_process(void)
{
	return atomic_load_explicit(&owner, memory_order_relaxed) == getpid();
}

/* Whether the worker has nothing to send but a single ACK. */
static bool
is_only_ack(const struct uroce_worker *worker)
{
	const struct uroce_worker_qp *wqp = worker->tx.active_head;

	return wqp && !wqp->active_next && worker->tx.nb_pending == 0 &&
	       uroce_qpc_has_only_ack(&wqp->qpc);
}

/*
 * A trial keeps an ACK, after a reply of the program, until the peer's next message arrives. The
 * trial shows whether the peer sends this message without the ACK. Begin a trial if one is due;
 * otherwise count the messages until the next trial.
 */
static void
delay_further(struct uroce_worker *worker)
{
	struct uroce_delayed_ack *delayed_ack = &worker->delayed_ack;

	if (!is_only_ack(worker) || delayed_ack->nb_kept + 1 == KEPT_MAX)
		return;
	if (delayed_ack->nb_to_trial > 0) {
		delayed_ack->nb_to_trial--;
		return;
	}
	delayed_ack->is_kept = true;
	delayed_ack->kept_ns = worker->now_ns;
	delayed_ack->kept_msn = worker->tx.active_head->qpc.resp.msn;
}

/*
 * Find out whether the program has posted a request since the latest received message. Such a
 * request is taken for the reply to that message. Update the number of consecutive messages that
 * the program replied to.
 */
static void
check_answered(struct uroce_worker *worker)
{
	struct uroce_delayed_ack *delayed_ack = &worker->delayed_ack;
	const bool has_posted = worker->inline_tx.nb_posts > 0 ||
				atomic_load_explicit(&worker->doorbells, memory_order_relaxed);

	if (!has_posted && delayed_ack->nb_left > 0) {
		delayed_ack->nb_left--;
		return;
	}
	delayed_ack->is_open = false;
	delayed_ack->nb_answered = has_posted ? delayed_ack->nb_answered + 1 : 0;
	if (has_posted && delayed_ack->is_on)
		delay_further(worker);
}

bool
uroce_delayed_ack_is_urgent(struct uroce_worker *worker)
{
	struct uroce_delayed_ack *delayed_ack = &worker->delayed_ack;

	if (!delayed_ack->is_on || !delayed_ack->is_open || delayed_ack->nb_to_trial == 0)
		return false;
	delayed_ack->nb_to_trial--;
	return true;
}

static uint64_t
get_soon_ns(const struct uroce_worker *worker)
{
	return worker->dev->port->policy->is_burst_syscall ? SOON_SYSCALL_NS : SOON_NS;
}

void
uroce_delayed_ack_polled(struct uroce_worker *worker)
{
	const uint64_t last_ns = atomic_load_explicit(&worker->app_ns, memory_order_relaxed);
	const uint64_t age_ns = worker->now_ns - last_ns;

	worker->delayed_ack.nb_soon =
		age_ns < get_soon_ns(worker) ? worker->delayed_ack.nb_soon + 1 : 0;
	worker->delayed_ack.is_tight = age_ns < TIGHT_NS;
	if (worker->delayed_ack.is_open)
		check_answered(worker);
}

bool
uroce_delayed_ack_is_waiting(const struct uroce_worker *worker)
{
	return worker->delayed_ack.is_on &&
	       (worker->delayed_ack.is_open || worker->delayed_ack.is_kept);
}

bool
uroce_delayed_ack_is_spinning(const struct uroce_worker *worker)
{
	return worker->delayed_ack.is_tight && worker->delayed_ack.nb_soon >= SOON_MIN;
}

static uint64_t
get_keep_ns(const struct uroce_worker *worker)
{
	return worker->dev->port->policy->is_burst_syscall ? KEEP_SYSCALL_NS : KEEP_NS;
}

/* Record that a message has arrived to which the program may reply. */
static void
open_delay(struct uroce_worker *worker)
{
	worker->delayed_ack.is_open = true;
	worker->delayed_ack.nb_left =
		uroce_qpc_awaits_response(&worker->tx.active_head->qpc) ? MORE_POLLS : 0;
}

/* Whether an ACK that was delayed must wait further. The latest round received `nb` frames. */
static bool
is_delay_continued(struct uroce_worker *worker, unsigned nb)
{
	struct uroce_delayed_ack *delayed_ack = &worker->delayed_ack;

	if (!is_only_ack(worker))
		return false;
	if (!delayed_ack->is_kept)
		return delayed_ack->is_open;
	if (nb == 0 || worker->tx.active_head->qpc.resp.msn == delayed_ack->kept_msn) {
		if (worker->now_ns - delayed_ack->kept_ns < get_keep_ns(worker))
			return true;
		delayed_ack->trial_gap =
			RTE_MIN(RTE_MAX(delayed_ack->trial_gap * 2, GAP_MIN), GAP_MAX);
		delayed_ack->nb_to_trial = delayed_ack->trial_gap;
		return false;
	}
	delayed_ack->is_kept = false;
	delayed_ack->nb_kept++;
	delayed_ack->trial_gap /= 2;
	open_delay(worker);
	return nb <= FEW;
}

bool
uroce_delayed_ack_begin(struct uroce_worker *worker, unsigned nb)
{
	/*
	 * The ACK of a message that completes a receive request is not delayed: a program that sees
	 * the completion may inform the peer by other means, for example TCP, and the peer may then
	 * end the connection.
	 */
	if (worker->publishing.list.is_ack_pending || worker->publishing.is_waiting)
		return false;
	if (worker->delayed_ack.is_on)
		return is_delay_continued(worker, nb);
	if (nb == 0 || nb > FEW || worker->delayed_ack.nb_soon < SOON_MIN ||
	    !worker->dev->service || !is_only_ack(worker))
		return false;
	open_delay(worker);
	if (worker->delayed_ack.nb_answered < ANSWERED_MIN)
		return false;
	if (unlikely(atomic_load_explicit(&owner, memory_order_relaxed) == 0))
		atomic_store_explicit(&owner, getpid(), memory_order_relaxed);
	worker->delayed_ack.is_on = true;
	register_worker(worker, worker);
	return true;
}

void
uroce_delayed_ack_end(struct uroce_worker *worker)
{
	if (!worker->delayed_ack.is_on)
		return;
	worker->delayed_ack.is_on = false;
	worker->delayed_ack.is_kept = false;
	worker->delayed_ack.nb_kept = 0;
	register_worker(worker, NULL);
}
