/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The functions of a worker that all stages use: begin and end of a round, waiting for rounds of
 * other workers, and what follows a call into a QP.
 */

#include "datapath/worker/worker.h"

#include <sched.h>

#include "datapath/clock.h"
#include "datapath/worker/failure.h"
#include "datapath/worker/round.h"

/*
 * Threshold of the number of QPs in the timing wheel. Below it, QPs without an armed timer stay
 * filed: they expire without effect, while they are still in the cache. Above it each such expiry
 * would cost a cache miss, and so these QPs are removed.
 */
#define FEW_TIMERS 256u

/* --- after a call into a QP -------------------------------------------------------------------- */

static const struct {
	uint32_t bit; /* event of the transport, one bit of enum uroce_qpc_event */
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

/* Move a QP to ERR if its completions were lost because a CQ is overrun [IBA 11.6.3.1]. */
static void
fail_overrun(struct uroce_worker *worker, struct uroce_worker_qp *wqp, uint32_t events)
{
	const uint32_t overrun = UROCE_QPC_SEND_CQ_OVERRUN | UROCE_QPC_RECV_CQ_OVERRUN;

	if (!(events & overrun) || wqp->qpc.state == IBV_QPS_ERR || wqp->qpc.state == IBV_QPS_RESET)
		return;
	fail_qp(worker, wqp);
}

/*
 * Events before which all completions are published. These events report that all requests have
 * completed, or that a CQ is overrun. A program that polls after such an event must find all
 * completions and the overrun.
 */
#define PUBLISHED_EVENTS                                                                           \
	(UROCE_QPC_SQ_DRAINED | UROCE_QPC_LAST_WQE | UROCE_QPC_SEND_CQ_OVERRUN |                   \
	 UROCE_QPC_RECV_CQ_OVERRUN)

static void
take_events(struct uroce_worker *worker, struct uroce_worker_qp *wqp)
{
	const uint32_t events = wqp->qpc.events;

	wqp->qpc.events = 0;
	if (events & PUBLISHED_EVENTS)
		uroce_publish_now(worker);
	if (events & UROCE_QPC_RECV_CQ_OVERRUN && wqp->qpc.srqs)
		raise_srq_events(worker, wqp);
	push_events(worker, wqp, events);
	if (unlikely(events & UROCE_ALERT_EVENTS))
		uroce_alert_raise(&worker->alerts, &wqp->qpc, events, &worker->stats.counters,
				  worker->now_ns);
	if (unlikely(events & UROCE_QPC_FAILED))
		uroce_failure_log(&wqp->qpc);
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
	 * Schedule the QP, unless it is scheduled for requests already. A QP that is scheduled for
	 * responses only may have requests now, and a QP in ERR may have receive requests to flush.
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

/*
 * Make the round number odd. The number stays odd until the end of the round, so that
 * uroce_dev_grace() can wait for this end.
 */
void
uroce_worker_begin_round(struct uroce_worker *worker)
{
	const uint64_t round = atomic_load_explicit(&worker->round, memory_order_relaxed);

	/*
	 * A thread that waits for the end of the earlier round may miss the even number and see
	 * this odd number first. So the store of the odd number is also a release (G2). Release G2
	 * pairs with acquire G2 in uroce_worker_wait_round().
	 */
	atomic_store_explicit(&worker->round, round + 1, memory_order_release);
	/*
	 * Fence G1 orders the store of the odd number before all reads of shared tables in the
	 * round. It pairs with the fences G1 in uroce_worker_wait_for_others() and
	 * uroce_dev_grace().
	 */
	atomic_thread_fence(memory_order_seq_cst);
	worker->now_ns = uroce_clock_ns();
	uroce_worker_count(worker, UROCE_COUNTER_ROUNDS, 1);
}

void
uroce_worker_end_round(struct uroce_worker *worker)
{
	const uint64_t round = atomic_load_explicit(&worker->round, memory_order_relaxed);

	uroce_publish(worker);
	/*
	 * The even number ends the round. Release G2 pairs with acquire G2 in
	 * uroce_worker_wait_round(): all accesses of the round come before the number.
	 */
	atomic_store_explicit(&worker->round, round + 1, memory_order_release);
}

void
uroce_worker_wait_round(const struct uroce_worker *worker)
{
	const uint64_t seen = atomic_load_explicit(&worker->round, memory_order_acquire);

	if (seen % 2 == 0)
		return;
	/*
	 * Wait until the round number changes, because the round has ended. Acquire G2 pairs with
	 * releases G2 in uroce_worker_begin_round() and uroce_worker_end_round().
	 */
	while (atomic_load_explicit(&worker->round, memory_order_acquire) == seen)
		sched_yield();
}

void
uroce_worker_wait_for_others(const struct uroce_worker *worker)
{
	/*
	 * Fence G1 orders changes that this thread made before this call before its reads of the
	 * round numbers. It pairs with fence G1 in uroce_worker_begin_round().
	 */
	atomic_thread_fence(memory_order_seq_cst);
	for (unsigned i = 0; i < worker->dev->nb_workers; i++) {
		if (worker->dev->worker[i] != worker)
			uroce_worker_wait_round(worker->dev->worker[i]);
	}
}

void
uroce_dev_grace(struct uroce_dev *dev)
{
	/*
	 * Fence G1 pairs with fence G1 in uroce_worker_begin_round(): a round that begins from here
	 * on sees that the caller has withdrawn its object.
	 */
	atomic_thread_fence(memory_order_seq_cst);
	for (unsigned i = 0; i < dev->nb_workers; i++)
		uroce_worker_wait_round(dev->worker[i]);
}

/*
 * Whether a thread of the application may transmit. Transmission to a port without a link is always
 * allowed: the driver is not called, and QPs must be polled for their requests to be flushed.
 */
bool
uroce_worker_may_transmit(const struct uroce_worker *worker)
{
	const struct uroce_port *port = worker->dev->port;

	return !port->policy->may_block || !worker->dev->service || !uroce_port_is_up(port) ||
	       !atomic_load_explicit(&worker->tx.is_stalled, memory_order_relaxed);
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
