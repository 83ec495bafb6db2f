/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A worker: which thread may drive it, and its round, a list of the stages of the data path. The
 * stages are implemented in the files that round.h lists.
 */

#include "datapath/worker.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <rte_errno.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_ring.h>

#include "datapath/clock.h"
#include "datapath/gid.h"
#include "datapath/mcast_group.h"
#include "datapath/hugemem.h"
#include "datapath/link.h"
#include "datapath/zero_copy.h"
#include "datapath/log.h"
#include "datapath/round.h"
#include "datapath/service.h"
#include "datapath/stage.h"

/* Interval of the link checks. The port may also report link changes by events. */
#define LINK_CHECK_NS UINT64_C(100000000)

/*
 * Threshold of QPs in the timing wheel. Below it, QPs without an armed timer stay filed: they
 * expire without effect, while they are still in the cache. Above it each such expiry would cost a
 * cache miss, and so these QPs are removed.
 */
#define FEW_TIMERS 256u

/*
 * Interval of the link checks while the link of a port with a peer in shared memory is down. Such a
 * port does not report that its link is up again.
 */
#define LINK_WAIT_NS UINT64_C(1000000)

/* Number of receive attempts in a round, for a program that spins in poll_cq. */
#define RX_POLLS 8

/*
 * If the application has not driven a worker for this time, a thread that polls another worker
 * drives it in addition.
 */
#define ABANDONED_NS UINT64_C(20000)

/*
 * Threads that EAL does not know are registered when they drive a worker first, so that mempool
 * caches work for them. They are unregistered when they end. When EAL has no more lcore numbers,
 * threads drive without one.
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

/* --- after a call into a QP -------------------------------------------------------------------- */

static const struct {
	uint32_t bit; /* enum uroce_qpc_event */
	enum ibv_event_type type;
} qp_events[] = {
	{ UROCE_QPC_REQ_ERR, IBV_EVENT_QP_REQ_ERR },
	{ UROCE_QPC_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR },
	{ UROCE_QPC_COMM_EST, IBV_EVENT_COMM_EST },
	{ UROCE_QPC_SQ_DRAINED, IBV_EVENT_SQ_DRAINED },
	{ UROCE_QPC_LAST_WQE, IBV_EVENT_QP_LAST_WQE_REACHED },
};

void
uroce_worker_raise_srq_event(struct uroce_dev *dev, const struct uroce_worker_srq *wsrq,
			     uint8_t events)
{
	if (events & UROCE_SRQ_CQ_OVERRUN)
		uroce_event_push(dev->events, IBV_EVENT_CQ_ERR, wsrq->srq.cq);
}

/*
 * Raise the CQ events of an XRC target QP. Its completions are in the CQs of the shared receive
 * queues that the peer named.
 */
static void
raise_srq_events(struct uroce_worker *worker, const struct uroce_worker_qp *wqp)
{
	const struct uroce_srq *srq;
	uint8_t events;

	while ((srq = uroce_qpc_event_srq(&wqp->qpc, &events)))
		uroce_worker_raise_srq_event(worker->dev, (const struct uroce_worker_srq *)srq,
					     events);
}

static void
push_events(struct uroce_worker *worker, const struct uroce_worker_qp *wqp, uint32_t events)
{
	struct uroce_event_queue *queue = worker->dev->events;
	struct uroce_srq *srq;

	if (events & UROCE_QPC_SEND_CQ_OVERRUN)
		uroce_event_push(queue, IBV_EVENT_CQ_ERR, wqp->qpc.send_cq);
	if (events & UROCE_QPC_RECV_CQ_OVERRUN && !wqp->qpc.srqs)
		uroce_event_push(queue, IBV_EVENT_CQ_ERR, wqp->qpc.recv_cq);
	while ((events & UROCE_QPC_SRQ_LIMIT) && (srq = uroce_qpc_limited_srq(&wqp->qpc)))
		uroce_event_push(queue, IBV_EVENT_SRQ_LIMIT_REACHED, srq->cookie);
	for (unsigned i = 0; i < RTE_DIM(qp_events); i++) {
		if (events & qp_events[i].bit)
			uroce_event_push(queue, qp_events[i].type, wqp->event_cookie);
	}
}

static void
fail_qp(struct uroce_worker *worker, struct uroce_worker_qp *wqp)
{
	uroce_event_push(worker->dev->events, IBV_EVENT_QP_FATAL, wqp->event_cookie);
	uroce_qpc_fail(&wqp->qpc, worker->now_ns);
	uroce_tx_schedule(worker, wqp);
}

/* A QP whose completions are lost enters ERR [IBA 11.6.3.1]. */
static void
fail_overrun(struct uroce_worker *worker, struct uroce_worker_qp *wqp, uint32_t events)
{
	const uint32_t overrun = UROCE_QPC_SEND_CQ_OVERRUN | UROCE_QPC_RECV_CQ_OVERRUN;

	if (!(events & overrun) || wqp->qpc.state == IBV_QPS_ERR || wqp->qpc.state == IBV_QPS_RESET)
		return;
	fail_qp(worker, wqp);
}

/*
 * Events that report that all requests have completed. A program that polls after such an event
 * must find all completions.
 */
#define LAST_EVENTS (UROCE_QPC_SQ_DRAINED | UROCE_QPC_LAST_WQE)

static void
take_events(struct uroce_worker *worker, struct uroce_worker_qp *wqp)
{
	const uint32_t events = wqp->qpc.events;

	wqp->qpc.events = 0;
	if (events & LAST_EVENTS)
		uroce_publish_now(worker);
	if (events & UROCE_QPC_RECV_CQ_OVERRUN && wqp->qpc.srqs)
		raise_srq_events(worker, wqp);
	push_events(worker, wqp, events);
	if (unlikely(events & UROCE_ALERT_EVENTS))
		uroce_alert_raise(&worker->alerts, &wqp->qpc, events, &worker->stats.counters,
				  worker->now_ns);
	fail_overrun(worker, wqp, events);
}

void
uroce_worker_settle(struct uroce_worker *worker, struct uroce_worker_qp *wqp)
{
	if (wqp->qpc.events)
		take_events(worker, wqp);
	const uint64_t deadline_ns = uroce_qpc_deadline(&wqp->qpc);

	if (deadline_ns == UROCE_NEVER && worker->wheel.nb_filed > FEW_TIMERS)
		uroce_wheel_remove(&worker->wheel, wqp);
	else
		uroce_wheel_file(&worker->wheel, wqp, deadline_ns);
}

void
uroce_worker_fail(struct uroce_worker *worker, struct uroce_worker_qp *wqp)
{
	if (wqp->qpc.state == IBV_QPS_ERR || wqp->qpc.state == IBV_QPS_RESET)
		uroce_event_push(worker->dev->events, IBV_EVENT_QP_FATAL, wqp->event_cookie);
	else
		fail_qp(worker, wqp);
	uroce_worker_settle(worker, wqp);
}

void
uroce_worker_follow_up(struct uroce_worker *worker, struct uroce_worker_qp *wqp)
{
	/*
	 * The QP may be scheduled for responses alone, and have requests now. In ERR the QP may
	 * have receive requests to flush.
	 */
	if (!(wqp->is_active && wqp->may_have_requests) &&
	    (uroce_qpc_has_work(&wqp->qpc) || wqp->qpc.state == IBV_QPS_ERR))
		uroce_tx_schedule(worker, wqp);
	uroce_worker_settle(worker, wqp);
}

void
uroce_worker_follow_up_requests(struct uroce_worker *worker, struct uroce_worker_qp *wqp)
{
	const struct uroce_qpc *qpc = &wqp->qpc;

	if (unlikely(!uroce_qpc_is_fast_path(qpc))) {
		uroce_worker_follow_up(worker, wqp);
		return;
	}
	if (qpc->resp.has_aeth || qpc->resp.pending)
		uroce_tx_schedule_response(worker, wqp);
	if (qpc->events)
		take_events(worker, wqp);
	uroce_wheel_file(&worker->wheel, wqp, uroce_qpc_response_deadline(qpc));
}

/* --- the round --------------------------------------------------------------------------------- */

/* The round number is odd from here (G1) to the end of the round (G2): see uroce_dev_grace(). */
void
uroce_worker_begin_round(struct uroce_worker *worker)
{
	const uint64_t round = atomic_load_explicit(&worker->round, memory_order_relaxed);

	/*
	 * G2: another thread may wait for the end of the earlier round, and see this number first.
	 * So this store must release, too.
	 */
	atomic_store_explicit(&worker->round, round + 1, memory_order_release);
	atomic_thread_fence(memory_order_seq_cst); /* G1: before any table is read */
	worker->now_ns = uroce_clock_ns();
	uroce_worker_count(worker, UROCE_COUNTER_ROUNDS, 1);
}

void
uroce_worker_end_round(struct uroce_worker *worker)
{
	const uint64_t round = atomic_load_explicit(&worker->round, memory_order_relaxed);

	uroce_publish(worker);
	/* G2: end of the round. */
	atomic_store_explicit(&worker->round, round + 1, memory_order_release);
}

void
uroce_worker_wait_round(const struct uroce_worker *worker)
{
	const uint64_t seen = atomic_load_explicit(&worker->round, memory_order_acquire);

	if (seen % 2 == 0)
		return;
	/* G2: wait until the round has ended. */
	while (atomic_load_explicit(&worker->round, memory_order_acquire) == seen)
		sched_yield();
}

static unsigned
run_timers(struct uroce_worker *worker)
{
	const uint64_t now_ns = worker->now_ns;
	struct uroce_worker_qp *wqp;
	unsigned nb = 0;

	while ((wqp = uroce_wheel_take(&worker->wheel, now_ns))) {
		const uint64_t deadline_ns = uroce_qpc_deadline(&wqp->qpc);

		/* A QP in ERR may have requests to flush. */
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

void
uroce_worker_wait_for_others(const struct uroce_worker *worker)
{
	atomic_thread_fence(memory_order_seq_cst); /* G1: before the rounds are read */
	for (unsigned i = 0; i < worker->dev->nb_workers; i++) {
		if (worker->dev->worker[i] != worker)
			uroce_worker_wait_round(worker->dev->worker[i]);
	}
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

/* Whether the round has nothing to do but to wait for frames. */
static bool
is_round_idle(const struct uroce_worker *worker)
{
	return (!worker->tx.active_head || uroce_delayed_ack_is_waiting(worker)) &&
	       worker->tx.nb_pending == 0 &&
	       !atomic_load_explicit(&worker->doorbells, memory_order_relaxed) &&
	       !atomic_load_explicit(&worker->cmds, memory_order_relaxed);
}

/*
 * Receive frames. For a program that spins in poll_cq, the port is polled several times in a round.
 * The begin of a round costs more than a poll of the port. So a frame waits half a poll on average,
 * instead of half a round.
 */
static unsigned
receive_frames(struct uroce_worker *worker, bool is_apps)
{
	unsigned nb = uroce_rx_run(worker);

	if (nb > 0 || !is_apps || worker->dev->port->policy->may_block ||
	    !uroce_delayed_ack_is_spinning(worker))
		return nb;
	for (unsigned i = 1; i < RX_POLLS && nb == 0 && is_round_idle(worker); i++)
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
	/* Frames behind those in the reorder buffer would have to wait there as well. */
	if (!uroce_reorder_buffer_has_ready(worker->reorder_buffer))
		nb = receive_frames(worker, is_apps);
	nb_rung = uroce_doorbell_take(worker);
	if (is_apps)
		uroce_inline_tx_polled(worker, nb_rung);
	uroce_stage_lap(UROCE_STAGE_DOORBELLS, 0);
	/*
	 * The program's message has arrived. The rest of the work is left to one of the next
	 * rounds.
	 */
	if (has_tx && is_apps && uroce_delayed_ack_begin(worker, nb))
		return finish_round(worker, nb);
	if (has_tx)
		nb += uroce_tx_run(worker);
	uroce_publish(worker);
	/*
	 * A command may destroy a QP whose last message the program has just seen. The ACK of that
	 * message has left before.
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

/*
 * A port without a link is always allowed: the driver is not called, and QPs must be polled for
 * their requests to be flushed.
 */
bool
uroce_worker_may_transmit(const struct uroce_worker *worker)
{
	const struct uroce_port *port = worker->dev->port;

	return !port->policy->may_block || !worker->dev->service || !uroce_port_is_up(port) ||
	       !atomic_load_explicit(&worker->tx.is_stalled, memory_order_relaxed);
}

/*
 * Wake the service thread if it sleeps until a wake-up. It does not see the timers that this round
 * sets.
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
 * Drive another worker that no thread polls. The peer's frames may arrive on the queue of such a
 * worker. Without this they would wait for the service thread. Each idle round of the application
 * drives one of the other workers in turn.
 */
static void
drive_another(struct uroce_worker *worker)
{
	const struct uroce_dev *dev = worker->dev;
	struct uroce_worker *other;
	uint64_t app_ns;

	worker->helped = (worker->helped + 1) % dev->nb_workers;
	other = dev->worker[worker->helped];
	app_ns = atomic_load_explicit(&other->app_ns, memory_order_relaxed);
	if (other == worker ||
	    (!atomic_load_explicit(&other->is_abandoned, memory_order_relaxed) &&
	     worker->now_ns < app_ns + ABANDONED_NS) ||
	    !uroce_lock_try(&other->lock))
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
 * Process all forwarded frames. The number is bounded, because other workers may add frames at the
 * same time.
 */
static void
take_forwarded(struct uroce_worker *worker)
{
	for (unsigned i = 0; i < UROCE_HOPS / UROCE_BURST; i++) {
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

uint64_t
uroce_worker_now_ns(const struct uroce_worker *worker)
{
	return worker->now_ns;
}

struct uroce_rd_pool *
uroce_worker_rd_pool(const struct uroce_worker *worker)
{
	return worker->rd_pool;
}

struct uroce_reorder_buffer *
uroce_worker_reorder_buffer(const struct uroce_worker *worker)
{
	return worker->reorder_buffer;
}

struct uroce_counters *
uroce_worker_counters(struct uroce_worker *worker)
{
	return &worker->stats.counters;
}

struct uroce_cq_list *
uroce_worker_unpublished(struct uroce_worker *worker)
{
	return &worker->publishing.list;
}

const struct uroce_worker_stats *
uroce_worker_stats(const struct uroce_worker *worker)
{
	return &worker->stats;
}

uint64_t
uroce_worker_next_ns(const struct uroce_worker *worker)
{
	return worker->tx.active_head || worker->loopback.nb > 0 || uroce_publish_is_pending(worker)
		       ? 0
		       : uroce_wheel_next_ns(&worker->wheel);
}

/*
 * Whether other workers have forwarded frames to this worker. rte_ring_empty() is for producers and
 * consumers of the ring only. Here other threads may use the ring at the same time.
 */
static bool
has_forwarded(const struct uroce_worker *worker)
{
	const struct rte_ring *ring = worker->forwarded;

	return ring && __atomic_load_n(&ring->prod.tail, __ATOMIC_RELAXED) !=
			       __atomic_load_n(&ring->cons.tail, __ATOMIC_RELAXED);
}

bool
uroce_worker_is_at_rest(const struct uroce_worker *worker)
{
	return is_round_idle(worker) && !worker->tx.active_head && worker->loopback.nb == 0 &&
	       worker->migrating.nb == 0 && !uroce_publish_is_pending(worker) &&
	       !uroce_reorder_buffer_has_ready(worker->reorder_buffer) && !has_forwarded(worker);
}

/* --- lifetime ---------------------------------------------------------------------------------- */

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

static struct rte_ring *
make_forward_ring(const struct uroce_worker *worker)
{
	char name[RTE_RING_NAMESIZE];
	struct rte_ring *ring;

	snprintf(name, sizeof(name), "uroce_hops_%u_%u", worker->dev->port->id, worker->idx);
	ring = rte_ring_create(name, UROCE_HOPS, worker->dev->port->socket_id, RING_F_SC_DEQ);
	if (!ring)
		ring = rte_ring_create(name, UROCE_HOPS, SOCKET_ID_ANY, RING_F_SC_DEQ);
	if (!ring)
		UROCE_LOG(ERR, mem, "no ring between workers: %s", rte_strerror(rte_errno));
	return ring;
}

static struct uroce_rd_pool *
make_rd_pool(const struct uroce_dev *dev)
{
	const uint32_t nb_blocks = RTE_MIN(dev->conf.max_qp, UROCE_RD_BLOCKS);
	void *mem = uroce_hugemem_alloc(uroce_rd_pool_memsize(nb_blocks), dev->port->socket_id);

	return mem ? uroce_rd_pool_init(mem, nb_blocks) : NULL;
}

static struct uroce_reorder_buffer *
make_reorder_buffer(const struct uroce_dev *dev)
{
	const uint32_t nb_gaps = RTE_MIN(dev->conf.max_qp, UROCE_REORDER_BUFFER_GAPS);
	void *mem = uroce_hugemem_alloc(
		uroce_reorder_buffer_memsize(nb_gaps, UROCE_REORDER_BUFFER_FRAMES),
		dev->port->socket_id);

	return mem ? uroce_reorder_buffer_init(mem, nb_gaps, UROCE_REORDER_BUFFER_FRAMES) : NULL;
}

struct uroce_worker *
uroce_worker_create(struct uroce_dev *dev, unsigned idx)
{
	struct uroce_worker *worker = uroce_hugemem_alloc(sizeof(*worker), dev->port->socket_id);

	if (!worker)
		return NULL;
	worker->dev = dev;
	worker->idx = idx;
	worker->queue = (uint16_t)idx;
	worker->is_first = idx == 0;
	worker->lcore_id = LCORE_ID_ANY;
	worker->pool = dev->port->pool[idx];
	worker->now_ns = uroce_clock_ns();
	uroce_wheel_init(&worker->wheel, worker->now_ns);
	worker->rd_pool = make_rd_pool(dev);
	worker->reorder_buffer = make_reorder_buffer(dev);
	if (dev->conf.nb_workers > 1)
		worker->forwarded = make_forward_ring(worker);
	if (dev->port->can_zero_copy)
		worker->zero_copy_pool = uroce_zero_copy_pool_create(worker);
	if (!worker->rd_pool || !worker->reorder_buffer ||
	    (dev->conf.nb_workers > 1 && !worker->forwarded) ||
	    (dev->port->can_zero_copy && !worker->zero_copy_pool)) {
		uroce_worker_destroy(worker);
		return NULL;
	}
	return worker;
}

void
uroce_worker_destroy(struct uroce_worker *worker)
{
	struct rte_mbuf *mbuf;

	if (!worker)
		return;
	uroce_delayed_ack_end(worker);
	uroce_tx_drop(worker);
	uroce_loopback_drop(worker);
	uroce_rx_free(worker);
	uroce_migrate_drop(worker);
	while (worker->forwarded && rte_ring_dequeue(worker->forwarded, (void **)&mbuf) == 0) {
		if (!uroce_migrate_is_request(mbuf))
			rte_pktmbuf_free(mbuf);
	}
	rte_ring_free(worker->forwarded);
	rte_mempool_free(worker->zero_copy_pool);
	if (worker->reorder_buffer)
		uroce_reorder_mbuf_reap(worker);
	uroce_hugemem_free(worker->reorder_buffer);
	uroce_hugemem_free(worker->rd_pool);
	uroce_hugemem_free(worker);
}

void
uroce_worker_forget(struct uroce_worker *worker, struct uroce_worker_qp *wqp)
{
	(void)uroce_doorbell_take(worker);
	uroce_tx_unschedule(worker, wqp);
	uroce_wheel_remove(&worker->wheel, wqp);
	uroce_qpc_fini(&wqp->qpc);
}
