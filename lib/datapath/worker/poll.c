/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The round of a worker: the stages of the data path in their order. The file also has the
 * functions of the threads that drive a worker: threads of the application, a dedicated lcore, the
 * service thread, and the loop of an embedder.
 */

#include "datapath/worker/worker.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>
#include <rte_errno.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_ring.h>

#include "datapath/clock.h"
#include "datapath/net/gid.h"
#include "datapath/port/link.h"
#include "datapath/log.h"
#include "datapath/net/mcast_group.h"
#include "datapath/worker/at_rest.h"
#include "datapath/worker/round.h"
#include "datapath/worker/service.h"
#include "datapath/stage.h"

/* Interval of the link checks. The port may also report link changes by events. */
#define LINK_CHECK_NS UINT64_C(100000000)

/*
 * Interval of the link checks while the link of a port with a peer in shared memory is down. Such a
 * port does not report that its link is up again.
 */
#define LINK_WAIT_NS UINT64_C(1000000)

/*
 * Maximum number of times that a round polls the port for frames, if the program spins in poll_cq.
 */
#define RX_POLLS 8

/*
 * If the application has not driven a worker for this time, a thread that polls another worker
 * drives this worker in addition.
 */
#define ABANDONED_NS UINT64_C(20000)

/* --- the stages --- */

static unsigned
run_timers(struct uroce_worker *worker)
{
	const uint64_t now_ns = worker->now_ns;
	struct uroce_worker_qp *wqp;
	unsigned nb = 0;

	while ((wqp = uroce_wheel_take(&worker->wheel, now_ns))) {
		const uint64_t deadline_ns = uroce_qpc_deadline(&wqp->qpc);

		/*
		 * The timer of a QP in ERR expires even before the deadline, because the QP may
		 * have requests to flush.
		 */
		if (deadline_ns > now_ns && wqp->qpc.state != IBV_QPS_ERR) {
			uroce_wheel_file(&worker->wheel, wqp, deadline_ns);
			continue;
		}
		uroce_qpc_expire(&wqp->qpc, now_ns);
		nb++;
		uroce_worker_follow_up(worker, wqp);
	}
	return nb;
}

static void
watch_link(struct uroce_worker *worker)
{
	struct uroce_port *port = worker->dev->port;

	if (!worker->is_first || worker->now_ns < worker->link_check_ns)
		return;
	uroce_link_check(port);
	uroce_gid_follow(worker);
	uroce_mcast_group_report(worker);
	worker->link_check_ns =
		worker->now_ns +
		(port->policy->has_peer && !uroce_port_is_up(port) ? LINK_WAIT_NS : LINK_CHECK_NS);
	if (worker->now_ns < worker->lost_check_ns)
		return;
	worker->lost_check_ns = worker->now_ns + LINK_CHECK_NS;
	if (!uroce_link_is_lost(port, worker->now_ns))
		return;
	atomic_store(&port->is_ready, false);
	uroce_worker_wait_for_others(worker);
	uroce_link_restart(port, worker->now_ns);
}

/*
 * Receive frames. For a program that spins in poll_cq, the port is polled several times in a round.
 * To begin a round costs more than to poll the port. So a frame waits half a poll on average,
 * instead of half a round. On a port on which a burst is a system call, the burst costs more than
 * the round. So such a port is polled once in a round.
 */
static unsigned
receive_frames(struct uroce_worker *worker, bool is_apps)
{
	unsigned nb = uroce_rx_run(worker);

	if (nb > 0 || !is_apps || worker->dev->port->policy->is_burst_syscall ||
	    !uroce_delayed_ack_is_spinning(worker))
		return nb;
	for (unsigned i = 1; i < RX_POLLS && nb == 0 && uroce_worker_is_round_idle(worker); i++)
		nb = uroce_rx_run(worker);
	return nb;
}

static unsigned
finish_round(struct uroce_worker *worker, unsigned nb)
{
	uroce_worker_end_round(worker);
	uroce_stage_lap(UROCE_STAGE_ROUND, 0);
	return nb;
}

static unsigned
run_round(struct uroce_worker *worker, bool has_tx, bool is_apps)
{
	unsigned nb = 0, nb_rung, nb_expired;

	uroce_worker_begin_round(worker);
	if (is_apps)
		uroce_delayed_ack_polled(worker);
	uroce_stage_lap(UROCE_STAGE_ROUND, 0);
	/* No frames are received while frames in the reorder buffer are ready for execution. */
	if (!uroce_reorder_buffer_has_ready(worker->reorder_buffer))
		nb = receive_frames(worker, is_apps);
	nb_rung = uroce_doorbell_take(worker);
	if (is_apps)
		uroce_inline_tx_polled(worker, nb_rung);
	uroce_stage_lap(UROCE_STAGE_DOORBELLS, 0);
	/*
	 * If an ACK is delayed, the round ends before transmission, commands and timers, so that
	 * the program gets its message early. The next rounds do this work.
	 */
	if (has_tx && is_apps && uroce_delayed_ack_begin(worker, nb))
		return finish_round(worker, nb);
	if (has_tx)
		nb += uroce_tx_run(worker);
	uroce_publish(worker);
	/*
	 * Commands run after the transmission. A command may destroy a QP whose last message the
	 * program has just seen, and the ACK of this message must leave before the command runs.
	 */
	uroce_cmd_take(worker);
	nb_expired = run_timers(worker);
	uroce_stage_lap(UROCE_STAGE_TIMERS, nb_expired);
	uroce_reorder_mbuf_reap(worker);
	watch_link(worker);
	uroce_stage_lap(UROCE_STAGE_LINK, 0);
	uroce_worker_count(worker, UROCE_COUNTER_IDLE_ROUNDS, nb + nb_expired == 0);
	return finish_round(worker, nb);
}

unsigned
uroce_worker_round(struct uroce_worker *worker)
{
	return run_round(worker, true, false);
}

/* --- threads of the application --- */

/*
 * A thread that EAL does not know is registered when it first drives a worker, so that mempool
 * caches work for it. It is unregistered when it ends. When EAL has no more lcore numbers, threads
 * drive workers without an lcore number.
 */
static pthread_once_t exit_key_once = PTHREAD_ONCE_INIT;
static pthread_key_t exit_key;
static _Thread_local bool is_known_thread;

static void
unregister_thread(void *registered)
{
	(void)registered;
	rte_thread_unregister();
}

static void
make_exit_key(void)
{
	(void)pthread_key_create(&exit_key, unregister_thread);
}

static void
register_thread(void)
{
	is_known_thread = true;
	if (rte_lcore_id() != LCORE_ID_ANY)
		return;
	pthread_once(&exit_key_once, make_exit_key);
	if (rte_thread_register() == 0)
		(void)pthread_setspecific(exit_key, &is_known_thread);
}

/*
 * If the service thread sleeps until a wake-up, wake it. Otherwise the service thread would not see
 * the timers that the round of the calling thread sets.
 */
static void
wake_service(struct uroce_worker *worker)
{
	if (likely(!atomic_load_explicit(&worker->is_unattended, memory_order_relaxed)))
		return;
	atomic_store_explicit(&worker->is_unattended, false, memory_order_relaxed);
	uroce_service_wake(worker->dev->service);
}

/*
 * Whether a thread of the application polls another worker. If so, the other worker is not looked
 * at again before it can be abandoned, because each look takes a cache line from that thread.
 */
static bool
is_attended(struct uroce_worker *worker, const struct uroce_worker *other)
{
	uint64_t *attended_ns = &worker->attended_ns[worker->helped];

	if (worker->now_ns < *attended_ns)
		return true;
	if (atomic_load_explicit(&other->is_abandoned, memory_order_relaxed))
		return false;
	*attended_ns = atomic_load_explicit(&other->app_ns, memory_order_relaxed) + ABANDONED_NS;
	return worker->now_ns < *attended_ns;
}

/*
 * Drive another worker, if no thread polls it. The peer's frames may arrive on the queue of such a
 * worker. Without this function these frames would wait for the service thread. Each idle round of
 * the application considers one of the other workers in turn.
 */
static void
drive_another(struct uroce_worker *worker)
{
	const struct uroce_dev *dev = worker->dev;
	struct uroce_worker *other;

	worker->helped = (worker->helped + 1) % dev->nb_workers;
	other = dev->worker[worker->helped];
	if (other == worker || is_attended(worker, other) || !uroce_lock_try(&other->lock))
		return;
	wake_service(other);
	(void)run_round(other, uroce_worker_may_transmit(other), false);
	atomic_store_explicit(&other->is_abandoned, true, memory_order_relaxed);
	atomic_store_explicit(&other->app_ns, other->now_ns, memory_order_relaxed);
	uroce_lock_release(&other->lock);
}

static void
help_others(struct uroce_worker *worker, unsigned nb)
{
	atomic_store_explicit(&worker->is_abandoned, false, memory_order_relaxed);
	if (nb == 0)
		drive_another(worker);
}

unsigned
uroce_worker_poll(struct uroce_worker *worker)
{
	unsigned nb;

	if (unlikely(worker == NULL)) {
		errno = EINVAL;
		return 0;
	}
	uroce_stage_lap(UROCE_STAGE_APP, 0);
	if (unlikely(!is_known_thread))
		register_thread();
	if (!uroce_lock_try(&worker->lock)) {
		atomic_store_explicit(&worker->app_ns, uroce_clock_ns(), memory_order_relaxed);
		return 0;
	}
	wake_service(worker);
	nb = run_round(worker, uroce_worker_may_transmit(worker), true);
	atomic_store_explicit(&worker->app_ns, worker->now_ns, memory_order_relaxed);
	if (worker->forwarded && worker->dev->conf.drive == UROCE_DRIVE_APP)
		help_others(worker, nb);
	uroce_lock_release(&worker->lock);
	return nb;
}

/* --- the loop of an embedder --- */

unsigned
uroce_worker_input(struct uroce_worker *worker, struct rte_mbuf **frames, unsigned nb,
		   struct rte_mbuf **rest)
{
	unsigned nb_rest = 0;

	uroce_stage_lap(UROCE_STAGE_APP, 0);
	uroce_lock_take(&worker->lock);
	uroce_worker_begin_round(worker);
	while (nb > 0) {
		const unsigned burst = RTE_MIN(nb, UROCE_BURST);

		nb_rest += uroce_rx_input(worker, frames, burst, rest + nb_rest);
		uroce_reorder_mbuf_reap(worker);
		frames += burst;
		nb -= burst;
	}
	uroce_worker_end_round(worker);
	uroce_lock_release(&worker->lock);
	return nb_rest;
}

/*
 * Process all forwarded frames. The number of bursts is limited, because other workers may add
 * frames at the same time.
 */
static void
take_forwarded(struct uroce_worker *worker)
{
	for (unsigned i = 0; i < UROCE_FORWARD_RING_LEN / UROCE_BURST; i++) {
		if (uroce_rx_forwarded(worker) < UROCE_BURST)
			return;
	}
}

unsigned
uroce_worker_output(struct uroce_worker *worker, struct rte_mbuf **frames, unsigned max)
{
	unsigned nb;

	uroce_stage_lap(UROCE_STAGE_APP, 0);
	uroce_lock_take(&worker->lock);
	uroce_worker_begin_round(worker);
	take_forwarded(worker);
	(void)uroce_rx_loopback(worker);
	(void)uroce_doorbell_take(worker);
	(void)run_timers(worker);
	nb = uroce_tx_take(worker, frames, max);
	uroce_cmd_take(worker);
	uroce_reorder_mbuf_reap(worker);
	watch_link(worker);
	uroce_worker_end_round(worker);
	uroce_lock_release(&worker->lock);
	return nb;
}

/* --- the service thread and dedicated lcores --- */

static int
drive_for_ever(void *arg)
{
	struct uroce_worker *worker = arg;

	uroce_lock_take(&worker->lock);
	while (!atomic_load_explicit(&worker->is_stopping, memory_order_relaxed))
		(void)run_round(worker, true, false);
	uroce_lock_release(&worker->lock);
	return 0;
}

int
uroce_worker_launch(struct uroce_worker *worker, unsigned lcore_id)
{
	const int ret = rte_eal_remote_launch(drive_for_ever, worker, lcore_id);

	if (ret < 0) {
		UROCE_LOG(ERR, dev, "lcore %u cannot drive worker %u: %s", lcore_id, worker->idx,
			  rte_strerror(-ret));
		return ret;
	}
	worker->lcore_id = lcore_id;
	UROCE_LOG(INFO, dev, "%s: lcore %u drives worker %u", worker->dev->conf.port, lcore_id,
		  worker->idx);
	return 0;
}

void
uroce_worker_stop(struct uroce_worker *worker)
{
	if (worker->lcore_id == LCORE_ID_ANY)
		return;
	atomic_store(&worker->is_stopping, true);
	(void)rte_eal_wait_lcore(worker->lcore_id);
	worker->lcore_id = LCORE_ID_ANY;
}

/* --- delayed ACKs at the end of the process --- */

static void
flush_delayed(struct uroce_worker *worker)
{
	if (!uroce_lock_try(&worker->lock))
		return; /* the thread that has the lock sends the ACK */
	uroce_worker_begin_round(worker);
	(void)uroce_tx_run(worker);
	uroce_worker_end_round(worker);
	uroce_lock_release(&worker->lock);
}

void
uroce_delayed_ack_flush_all(void)
{
	for (unsigned i = 0; i < UROCE_PORTS_MAX; i++) {
		for (unsigned j = 0; j < UROCE_WORKERS_MAX; j++) {
			struct uroce_worker *worker = uroce_delayed_ack_registered(i, j);

			if (worker)
				flush_delayed(worker);
		}
	}
}

/*
 * At the end of the process, send the delayed ACKs. A child of fork() sends none: it has a copy of
 * the table of workers with delayed ACKs, but must not use the ports.
 */
__attribute__((destructor)) static void
flush_at_exit(void)
{
	if (uroce_delayed_ack_is_own_process())
		uroce_delayed_ack_flush_all();
}
