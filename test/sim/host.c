/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Runs the rounds of a host. A host may build frames faster than its link transmits them. If a
 * frame would wait for longer than TX_AHEAD_NS, the host stops sending until the wait is down to
 * TX_AHEAD_NS.
 */

#include "host.h"

#include <assert.h>
#include <errno.h>

#include "mcast.h"
#include "oracle.h"
#include "shared.h"
#include "signed.h"
#include "transport/mcast.h"

#define BURST_MAX 64
#define RUN_MAX   64

/* Time that frames may wait for the transmitter before the host stops sending. */
#define TX_AHEAD_NS 4000

void
host_wake(struct world *world, struct host *host, uint64_t at_ns)
{
	if (host->is_dead)
		return;
	if (at_ns < host->awake_ns)
		at_ns = host->awake_ns;
	if (at_ns < host->last_ns + host->gap_ns)
		at_ns = host->last_ns + host->gap_ns;
	if (at_ns < world->now_ns)
		at_ns = world->now_ns;
	if (at_ns >= host->round_ns)
		return;
	host->round_ns = at_ns;
	heap_push(&world->heap, at_ns, EVENT_ROUND, host->idx, NULL);
}

/*
 * The low bits of a QPN are the index of the QP in host->qps. The other bits are counted up, so
 * that a QPN is not reused soon.
 */
void
host_add_qp(struct host *host, struct qp *qp)
{
	uint32_t slot = 0;

	while (host->qps[slot])
		slot++;
	assert(slot < QPS_MAX);
	qp->qpn = (host->next_qpn++ << 8 | slot) & 0xffffff;
	host->qps[slot] = qp;
	if (slot >= host->nb_qps)
		host->nb_qps = slot + 1;
}

void
host_remove_qp(struct host *host, struct qp *qp)
{
	host->qps[qp->qpn & 0xff] = NULL;
}

void
host_receive(struct world *world, struct host *host, struct frame *frame)
{
	if (host->is_dead || (host->nb_rx >= host->rx_room && world->now_ns < world->calm_ns)) {
		world->tally.faults[FAULT_OVERFLOW] += !host->is_dead;
		frame_give(&world->frames, frame);
		return;
	}
	frame->next = NULL;
	if (host->rx_last)
		host->rx_last->next = frame;
	else
		host->rx_first = frame;
	host->rx_last = frame;
	host->nb_rx++;
	host_wake(world, host, world->now_ns);
}

enum uroce_verdict
host_hand_over(struct world *world, struct qp *qp, struct uroce_pkt *pkt)
{
	struct oracle_view view;

	oracle_before_recv(qp, pkt, &view);
	const enum uroce_verdict verdict = uroce_qpc_recv(&qp->qpc, pkt, world->now_ns);

	trace_states(world, qp);
	oracle_after_recv(qp, pkt, &view, verdict);
	return verdict;
}

/*
 * Parse a frame, verify its ICRC and find its QP. A multicast datagram is delivered to all members
 * here, and `qp` is set to NULL.
 * @return UROCE_VERDICT_REQUEST, _RESPONSE or _DATAGRAM, or why no QP receives the frame
 */
static enum uroce_verdict
look_up(struct world *world, struct host *host, struct frame *frame, struct uroce_pkt *pkt,
	struct qp **qp)
{
	const enum uroce_verdict verdict = uroce_parse(frame->bytes, frame->len, pkt);

	*qp = NULL;
	if (verdict > UROCE_VERDICT_DATAGRAM)
		return verdict;
	if (!uroce_pkt_check_icrc(pkt))
		return UROCE_VERDICT_BAD_ICRC;
	if (frame->is_spoilt && frame_is_covered(frame, frame->spoilt_at)) {
		world_complain(world, "a frame with byte %u spoilt was taken for good",
			       frame->spoilt_at);
		return verdict;
	}
	pkt->owner = frame;
	if (pkt->dest_qpn == UROCE_MCAST_QPN)
		return group_deliver(world, host, pkt);
	*qp = host->qps[pkt->dest_qpn & 0xff];
	if (!*qp || (*qp)->qpn != pkt->dest_qpn) {
		*qp = NULL;
		return UROCE_VERDICT_NO_QP;
	}
	return verdict;
}

enum uroce_verdict
host_deliver(struct world *world, struct host *host, struct frame *frame)
{
	struct uroce_pkt pkt;
	struct qp *qp;
	const enum uroce_verdict verdict = look_up(world, host, frame, &pkt, &qp);

	return qp ? host_hand_over(world, qp, &pkt) : verdict;
}

/*
 * Adjacent frames for one QP, which the QP receives in one call. A QP that may lose messages
 * receives its frames one by one, because the oracle needs the frame to know which message
 * completed.
 */
struct run {
	struct qp *qp;
	unsigned nb;
	struct uroce_pkt pkts[RUN_MAX];
};

static void
give_up(struct world *world, const struct uroce_pkt *pkt, enum uroce_verdict verdict)
{
	if (verdict != UROCE_VERDICT_OOO_BUFFERED)
		frame_give(&world->frames, pkt->owner);
}

/*
 * Deliver the frames of `run`. The transport returns after a frame that its reorder buffer keeps;
 * the remaining frames are passed in a further call.
 */
static void
hand_over_all(struct world *world, struct run *run)
{
	struct oracle_view views[RUN_MAX];
	uint8_t verdicts[RUN_MAX];
	struct qp *qp = run->qp;

	for (unsigned i = 0; i < run->nb; i++)
		oracle_note_recv(qp, &run->pkts[i], &views[i]);
	for (unsigned at = 0, nb; at < run->nb; at += nb) {
		nb = uroce_qpc_recv_burst(&qp->qpc, &run->pkts[at], run->nb - at, verdicts,
					  world->now_ns);
		trace_states(world, qp);
		oracle_after_run(qp, &run->pkts[at], &views[at], verdicts, nb);
		for (unsigned i = 0; i < nb; i++)
			give_up(world, &run->pkts[at + i], (enum uroce_verdict)verdicts[i]);
	}
	world->tally.in_runs += run->nb;
}

static void
hand_over_run(struct world *world, struct run *run)
{
	if (run->nb == 1)
		give_up(world, run->pkts, host_hand_over(world, run->qp, run->pkts));
	else if (run->nb > 1)
		hand_over_all(world, run);
	run->nb = 0;
}

static void
receive(struct world *world, struct host *host)
{
	struct frame *frame = host->rx_first;
	struct run run = { .nb = 0 };

	host->rx_first = NULL;
	host->rx_last = NULL;
	host->nb_rx = 0;
	while (frame) {
		struct frame *next = frame->next;
		struct uroce_pkt pkt;
		struct qp *qp;

		look_up(world, host, frame, &pkt, &qp);
		if (!qp)
			frame_give(&world->frames, frame);
		if (run.qp != qp || run.nb == host->run_max || (qp && qp->is_lenient))
			hand_over_run(world, &run);
		if (qp) {
			run.qp = qp;
			run.pkts[run.nb++] = pkt;
		}
		frame = next;
	}
	hand_over_run(world, &run);
}

void
host_add_hold(struct world *world, struct host *host, uint32_t nb_gaps, uint32_t nb_frames)
{
	host->reorder_buffer = uroce_reorder_buffer_init(
		world_alloc(world, uroce_reorder_buffer_memsize(nb_gaps, nb_frames)), nb_gaps,
		nb_frames);
}

/* Free the frames that the reorder buffer has released. */
static void
reap(struct world *world, struct host *host)
{
	void *frame;

	while (host->reorder_buffer && uroce_reorder_buffer_reap(host->reorder_buffer, &frame, 1))
		frame_give(&world->frames, frame);
}

static void
expire(struct world *world, struct qp *qp)
{
	if (uroce_qpc_deadline(&qp->qpc) > world->now_ns)
		return;
	const uint64_t nb_timeouts = qp->qpc.stats.timeouts;

	uroce_qpc_expire(&qp->qpc, world->now_ns);
	trace_note(world, qp->host->idx, "%s",
		   qp->qpc.stats.timeouts != nb_timeouts ? "TIMEOUT" : "TIMER");
	trace_states(world, qp);
	if (uroce_qpc_deadline(&qp->qpc) <= world->now_ns)
		world_complain(world, "qp 0x%x: a timer that expired is due again at once",
			       qp->qpn);
	oracle_check(qp);
}

static uint64_t
after(const struct world *world, uint64_t now_ns, uint32_t pace_ns)
{
	return pace_ns ? now_ns + rng_below((struct rng *)&world->rng, 2 * pace_ns) + 1 : now_ns;
}

/*
 * Move a QP to ERR if its peer has failed and no other QP can proceed, because the shared queue is
 * empty and a half-received message of the peer occupies one of its requests for ever. A real
 * application learns of the peer's failure in another way.
 */
static void
end_if_orphan(struct qp *qp)
{
	const struct qp *peer = qp->peer;
	const bool is_peer_dead =
		peer->is_gone || peer->qpc.state == IBV_QPS_ERR || peer->qpc.state == IBV_QPS_RESET;

	if (is_peer_dead && qp->qpc.resp.recv && uroce_srq_is_empty(qp->qpc.srq))
		qp_modify(qp, IBV_QPS_ERR);
}

/*
 * Post as the application of a QP: receive requests first, then send requests.
 * @return the time at which the application wants to post again
 */
static uint64_t
post(struct world *world, struct qp *qp)
{
	uint64_t next_ns = UROCE_NEVER;

	/* verbs accept no receive requests before INIT, and no send requests before RTS */
	if (qp->is_silent || qp->qpc.state < IBV_QPS_INIT)
		return UROCE_NEVER;
	signed_go_on(qp);
	if (qp->shared && qp->recv_ns > world->now_ns) {
		next_ns = qp->recv_ns;
	} else if (qp->shared) {
		shared_post(qp->shared);
		if (qp->srqs[1])
			shared_post(qp->srqs[1]);
		end_if_orphan(qp);
		qp->recv_ns = after(world, world->now_ns, qp->recv_pace_ns);
	}
	while (!qp->shared && qp->nb_recv_posted < qp->nb_recv_planned &&
	       qp->nb_recv_posted - qp->nb_recv_done < qp->conf.nb_bufs) {
		if (qp->recv_ns > world->now_ns) {
			next_ns = qp->recv_ns;
			break;
		}
		if (qp_post_recv(qp))
			break;
		qp->recv_ns = after(world, world->now_ns, qp->recv_pace_ns);
	}
	while (qp->nb_posted < qp->nb_planned && qp->qpc.state >= IBV_QPS_RTS) {
		if (qp->post_ns > world->now_ns) {
			next_ns = qp->post_ns < next_ns ? qp->post_ns : next_ns;
			break;
		}
		const int ret = qp_post(qp);

		if (ret && ret != -ENOMEM)
			world_complain(world, "qp 0x%x: request %u is refused: %d", qp->qpn,
				       qp->nb_posted, ret);
		if (ret)
			break;
		qp->post_ns = after(world, world->now_ns, qp->pace_ns);
	}
	return next_ns;
}

/*
 * Send a burst of one QP.
 * @return whether the QP may have more to send now
 */
static bool
send_burst(struct world *world, struct qp *qp)
{
	struct frame *frames[BURST_MAX];
	struct uroce_txd txd[BURST_MAX];
	const unsigned burst = qp->host->burst;

	if (!uroce_qpc_has_work(&qp->qpc)) {
		oracle_idle(qp);
		return false;
	}
	for (unsigned i = 0; i < burst; i++) {
		frames[i] = frame_take(&world->frames);
		txd[i].hdr = frames[i]->bytes;
	}
	qp->asked_state = qp->qpc.state;
	const unsigned nb = uroce_qpc_send(&qp->qpc, txd, burst, world->now_ns);

	trace_states(world, qp);
	oracle_check(qp);
	for (unsigned i = 0; i < nb; i++) {
		frame_build(frames[i], &txd[i]);
		frames[i]->from = qp->host->idx;
		frames[i]->to = qp->peer->host->idx;
		frames[i]->is_to_group = qp->is_to_group;
		oracle_sent(qp, frames[i]);
		link_send(world, frames[i]);
	}
	for (unsigned i = burst; i > nb; i--)
		frame_give(&world->frames, frames[i - 1]);
	if (nb) {
		uroce_qpc_sent(&qp->qpc, world->now_ns);
		oracle_check(qp);
	}
	return nb == burst;
}

/* Whether the application has a request to post, and the send queue has room for the request. */
static bool
can_post(const struct world *world, struct qp *qp)
{
	return !qp->is_silent && qp->nb_posted < qp->nb_planned && qp->post_ns <= world->now_ns &&
	       qp->qpc.state >= IBV_QPS_RTS && uroce_ring_has_room(&qp->sq.ring, 0);
}

/*
 * Send a burst of each QP in turn.
 * @return the time at which the host has to send again
 */
static uint64_t
send(struct world *world, struct host *host)
{
	uint64_t next_ns = UROCE_NEVER;

	for (uint32_t i = 0; i < host->nb_qps; i++) {
		struct qp *qp = host->qps[(host->turn + i) % host->nb_qps];

		if (!qp)
			continue;
		if (host->link.up_free_ns > world->now_ns + TX_AHEAD_NS) {
			host->turn += i;
			host->busy_ns = world->now_ns;
			return host->link.up_free_ns - TX_AHEAD_NS;
		}
		if (send_burst(world, qp) || can_post(world, qp) || signed_can_go_on(qp))
			next_ns = world->now_ns;
		signed_check(qp);
	}
	host->turn++;
	return next_ns;
}

void
host_round(struct world *world, struct host *host)
{
	uint64_t next_ns = UROCE_NEVER;

	if (host->round_ns != world->now_ns || host->is_dead)
		return;
	/* the host was stalled after this round was scheduled, so the round is not executed now */
	if (world->now_ns < host->awake_ns) {
		host->round_ns = UROCE_NEVER;
		host_wake(world, host, host->awake_ns);
		return;
	}
	host->last_ns = world->now_ns;
	receive(world, host);
	for (uint32_t i = 0; i < host->nb_qps; i++) {
		if (host->qps[i])
			expire(world, host->qps[i]);
	}
	for (uint32_t i = 0; i < host->nb_qps; i++) {
		if (!host->qps[i])
			continue;
		const uint64_t at_ns = post(world, host->qps[i]);

		next_ns = at_ns < next_ns ? at_ns : next_ns;
	}
	const uint64_t send_ns = send(world, host);

	next_ns = send_ns < next_ns ? send_ns : next_ns;
	for (uint32_t i = 0; i < host->nb_qps; i++) {
		if (!host->qps[i])
			continue;
		const uint64_t at_ns = uroce_qpc_deadline(&host->qps[i]->qpc);

		next_ns = at_ns < next_ns ? at_ns : next_ns;
	}
	reap(world, host);
	host->round_ns = UROCE_NEVER;
	if (next_ns != UROCE_NEVER)
		host_wake(world, host, next_ns);
}

static void
drop_all(struct world *world, struct host *host)
{
	while (host->rx_first) {
		struct frame *frame = host->rx_first;

		host->rx_first = frame->next;
		frame_give(&world->frames, frame);
	}
	host->rx_last = NULL;
	host->nb_rx = 0;
}

void
host_die(struct world *world, struct host *host)
{
	host->is_dead = true;
	drop_all(world, host);
	for (uint32_t i = 0; i < host->nb_qps; i++) {
		struct qp *qp = host->qps[i];

		if (!qp)
			continue;
		group_leave(qp);
		host_remove_qp(host, qp);
		uroce_qpc_fini(&qp->qpc);
		oracle_gone(qp);
	}
	reap(world, host);
}

void
host_return(struct world *world, struct host *host)
{
	(void)world;
	host->is_dead = false;
	host->shared = NULL;
	host->xrc[0] = host->xrc[1] = NULL;
	host->round_ns = UROCE_NEVER;
}
