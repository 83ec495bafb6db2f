/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Frames out. QPs with something to say stand in line; each is asked for a turn's worth of frames
 * and goes to the end of the line if it had that much. Headers are written by the transport straight
 * into the mbufs that were allocated beforehand; here the payload is gathered behind them, the CRC
 * being computed on the way. This is done in passes over a burst of frames: ask, gather, seal, let go.
 *
 * What the port does not take waits, in order, and goes first in the next round; meanwhile nothing
 * new is built, so back-pressure reaches the QPs. A port that takes nothing at all for STALL_NS, or
 * whose link is down, has nobody at its other end: then what waits is lost, and building goes on. For
 * a QP has to be asked so that its retry timer starts, or its requests are flushed.
 */

#include <string.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include "datapath/attach.h"
#include "datapath/group.h"
#include "datapath/guard.h"
#include "datapath/loan.h"
#include "datapath/round.h"
#include "datapath/stage.h"
#include "mem/copy.h"
#include "wire/icrc.h"

/* QPs ahead of the one that is asked, whose queue, and whose context are fetched. */
#define NEAR     2u
#define FAR      6u

#define STRAIGHT 4u /* frames that a post sends at most: more are a stream */

#define STALL_NS UINT64_C(20000000) /* more than a peer waits for its CPU, in most cases */

#define LENT_LOOK_NS                                                                               \
	UINT64_C(100000) /* from one look at a QP in ERR that has lent memory to the next */

static void
put_in_line(struct uroce_tx *tx, struct uroce_qpr *qpr)
{
	qpr->is_active = true;
	qpr->active_next = NULL;
	if (tx->active_tail)
		tx->active_tail->active_next = qpr;
	else
		tx->active_head = qpr;
	tx->active_tail = qpr;
	tx->nb_lined++;
}

void
uroce_tx_schedule(struct uroce_worker *worker, struct uroce_qpr *qpr)
{
	qpr->is_asked_all = true;
	if (!qpr->is_active)
		put_in_line(&worker->tx, qpr);
}

void
uroce_tx_schedule_answer(struct uroce_worker *worker, struct uroce_qpr *qpr)
{
	if (qpr->is_active)
		return;
	qpr->is_asked_all = false;
	put_in_line(&worker->tx, qpr);
}

static struct uroce_qpr *
pop_active(struct uroce_tx *tx)
{
	struct uroce_qpr *qpr = tx->active_head;

	tx->active_head = qpr->active_next;
	if (!tx->active_head)
		tx->active_tail = NULL;
	tx->nb_asked++;
	qpr->is_active = false;
	return qpr;
}

void
uroce_tx_unschedule(struct uroce_worker *worker, struct uroce_qpr *qpr)
{
	struct uroce_tx *tx = &worker->tx;
	struct uroce_qpr **link = &tx->active_head;
	struct uroce_qpr *before = NULL;

	if (!qpr->is_active)
		return;
	while (*link != qpr) {
		before = *link;
		link = &before->active_next;
	}
	*link = qpr->active_next;
	if (tx->active_tail == qpr)
		tx->active_tail = before;
	tx->nb_asked++;
	qpr->is_active = false;
}

void
uroce_tx_push(struct uroce_worker *worker, struct rte_mbuf *frame)
{
	struct uroce_tx *tx = &worker->tx;

	if (tx->nb_pending == UROCE_PENDING_MAX) {
		rte_pktmbuf_free(frame);
		return;
	}
	tx->roce_len[tx->nb_pending] = 0;
	tx->pending[tx->nb_pending++] = frame;
}

/*
 * Make an mbuf that came from the pool an empty frame. Whoever frees one leaves it a single segment with
 * one reference [rte_mbuf_raw_alloc]; that and the headroom are one store, and what is not asked for by a
 * flag of the frame, which is most of what rte_pktmbuf_reset() writes, nobody reads.
 */
static inline void
begin_frame(struct rte_mbuf *mbuf)
{
	static const struct {
		uint16_t data_off, refcnt, nb_segs, port;
	} rearm = { RTE_PKTMBUF_HEADROOM, 1, 1, RTE_MBUF_PORT_INVALID };

	static_assert(sizeof(rearm) == sizeof(uint64_t), "one store");
	memcpy(&mbuf->rearm_data, &rearm, sizeof(rearm));
	mbuf->ol_flags = 0;
	mbuf->packet_type = 0;
}

/* @return whether a turn's worth of mbufs is at hand */
static bool
refill(struct uroce_worker *worker)
{
	struct uroce_tx *tx = &worker->tx;

	while (tx->nb_spare < UROCE_BURST) {
		struct rte_mbuf **mbuf = &tx->spare[tx->nb_spare];

		if (rte_mempool_get_bulk(worker->pool, (void **)mbuf, UROCE_TURN) < 0)
			break;
		for (unsigned i = 0; i < UROCE_TURN; i++) {
			begin_frame(mbuf[i]);
			tx->spare_hdr[tx->nb_spare + i] = rte_pktmbuf_mtod(mbuf[i], uint8_t *);
		}
		tx->nb_spare += UROCE_TURN;
	}
	if (tx->nb_spare >= UROCE_TURN)
		return true;
	uroce_worker_count(worker, UROCE_COUNTER_NO_MBUF, 1);
	return false;
}

/* Bytes of payload up to which copying first and summing up later, a turn at a time, costs less. */
#define SMALL 128

/* A slice may be where it belongs already: see uroce_txd. */
static uint8_t *
gather(const struct uroce_txd *txd, uint8_t *at)
{
	for (unsigned i = 0; i < txd->nb_slices; i++) {
		if (txd->slice[i].addr != at)
			uroce_copy(at, txd->slice[i].addr, txd->slice[i].len);
		at += txd->slice[i].len;
	}
	return at;
}

/* The same, and the CRC of it on the way: each byte is fetched once. */
static uint8_t *
gather_summing(const struct uroce_txd *txd, uint8_t *at, uint32_t *icrc)
{
	for (unsigned i = 0; i < txd->nb_slices; i++) {
		*icrc = txd->slice[i].addr == at ? uroce_crc32(*icrc, at, txd->slice[i].len)
						 : uroce_crc32_copy(*icrc, at, txd->slice[i].addr,
								    txd->slice[i].len);
		at += txd->slice[i].len;
	}
	return at;
}

/* Where there are fewer zeros than bytes of an ICRC, that is stored over the others. */
static uint8_t *
pad(const struct uroce_txd *txd, uint8_t *at)
{
	memset(at, 0, UROCE_ICRC_LEN);
	return at + txd->pad_len;
}

static uint16_t
set_len(struct rte_mbuf *mbuf, const struct uroce_txd *txd)
{
	const uint32_t len = txd->hdr_len + txd->payload_len + txd->pad_len + UROCE_ICRC_LEN;

	mbuf->data_len = (uint16_t)len;
	mbuf->pkt_len = len;
	return (uint16_t)len;
}

/* Payload behind the header; what is large is finished, too. @return the length of the frame */
static uint16_t
place(const struct uroce_txd *txd, struct rte_mbuf *mbuf)
{
	uint8_t *end = txd->hdr + txd->hdr_len;
	const uint8_t *bth = txd->hdr + txd->bth_off;
	const uint16_t len = set_len(mbuf, txd);
	uint32_t icrc;

	if (txd->payload_len <= SMALL) {
		(void)pad(txd, gather(txd, end));
		return len;
	}
	icrc = uroce_icrc_rest(txd->icrc, bth, (size_t)(end - bth));
	end = gather_summing(txd, end, &icrc);
	if (txd->pad_len > 0)
		icrc = uroce_crc32(icrc, end, (size_t)(pad(txd, end) - end));
	uroce_icrc_store(end + txd->pad_len, icrc);
	return len;
}

/* The ICRC of what is small. */
static void
seal(const struct uroce_txd *txd)
{
	const uint8_t *bth = txd->hdr + txd->bth_off;
	const uint32_t covered = txd->hdr_len - txd->bth_off + txd->payload_len + txd->pad_len;
	uint8_t *end = txd->hdr + txd->bth_off + covered;

	if (txd->payload_len <= SMALL)
		uroce_icrc_store(end, uroce_icrc_rest(txd->icrc, bth, covered));
}

/* The mbufs for the frames [begin, end) of a pass; the transport writes headers into them. */
static void
lay_out(struct uroce_tx *tx, unsigned begin, unsigned end)
{
	for (unsigned i = begin; i < end; i++)
		tx->txd[i].hdr = tx->spare_hdr[tx->nb_spare - 1 - i];
}

/* Payload is fetched while other QPs are asked; of what is long, the hardware sees that it is. */
static void
fetch_payload(const struct uroce_txd *txd, unsigned nb)
{
	for (unsigned i = 0; i < nb; i++) {
		if (txd[i].nb_slices > 0)
			rte_prefetch0(txd[i].slice[0].addr);
	}
}

/*
 * Who comes after the QP at the head, and soon: what the transport will want of them is fetched in two
 * steps, since the second needs what the first brings.
 */
struct outlook {
	struct uroce_qpr *far;
	struct uroce_qpr *near;
};

/* Who only answers was fetched when the request came. */
static void
fetch_to_ask(const struct uroce_qpr *qpr)
{
	if (!qpr->is_asked_all)
		return;
	uroce_qpr_fetch(qpr);
	uroce_qpc_fetch_req(&qpr->qpc);
}

static struct outlook
look_out(const struct uroce_tx *tx)
{
	struct outlook out = { .far = tx->active_head->active_next };

	for (unsigned i = 1; i < FAR && out.far; i++) {
		fetch_to_ask(out.far);
		out.far = out.far->active_next;
		if (i + 1 == NEAR)
			out.near = out.far;
	}
	return out;
}

static void
look_further(struct outlook *out)
{
	if (out->near) {
		if (out->near->is_asked_all)
			uroce_qpc_fetch_queue(&out->near->qpc);
		out->near = out->near->active_next;
	}
	if (out->far) {
		fetch_to_ask(out->far);
		out->far = out->far->active_next;
	}
}

/* What a QP has to say. */
static void
ask(struct uroce_worker *worker, struct uroce_asked *asked, struct uroce_txd *txd)
{
	struct uroce_qpc *qpc = &asked->qpr->qpc;

	asked->is_plain = !asked->qpr->is_asked_all && uroce_qpc_is_plain(qpc);
	if (asked->is_plain)
		asked->nb = (uint8_t)uroce_qpc_answer(qpc, txd, asked->max, worker->now_ns);
	else
		asked->nb = (uint8_t)uroce_qpc_send(qpc, txd, asked->max, worker->now_ns);
}

/*
 * Ask QPs in turn, each once, for up to `limit` frames in all: headers only.
 * @param[out] nb_frames  how many they had
 * @return how many were asked
 */
static unsigned
ask_all(struct uroce_worker *worker, unsigned limit, unsigned *nb_frames)
{
	struct uroce_tx *tx = &worker->tx;
	struct outlook out = look_out(tx);
	unsigned nb_asked = 0, nb = 0, nb_laid_out = 0;

	while (tx->active_head && nb < limit && nb_asked < UROCE_BURST) {
		struct uroce_asked *asked = &tx->asked[nb_asked++];
		const unsigned max = RTE_MIN(UROCE_TURN, limit - nb);

		look_further(&out);
		if (nb_laid_out < nb + max)
			lay_out(tx, nb_laid_out, nb + max);
		nb_laid_out = RTE_MAX(nb_laid_out, nb + max);
		asked->qpr = pop_active(tx);
		asked->max = (uint8_t)max;
		ask(worker, asked, &tx->txd[nb]);
		fetch_payload(&tx->txd[nb], asked->nb);
		nb += asked->nb;
	}
	*nb_frames = nb;
	return nb_asked;
}

/* Payload behind the headers, or a loan. */
static void
place_or_lend(struct uroce_worker *worker, unsigned nb_asked, struct rte_mbuf **frames,
	      uint16_t *len)
{
	struct uroce_txd *txd = worker->tx.txd;

	for (unsigned i = 0; i < nb_asked; i++) {
		const struct uroce_asked *asked = &worker->tx.asked[i];

		for (unsigned j = 0; j < asked->nb; j++, txd++, frames++) {
			if (!uroce_loan_place(worker, asked->qpr, txd, *frames))
				(void)place(txd, *frames);
			*len++ = (uint16_t)(*frames)->pkt_len;
		}
	}
}

/* The frames of a pass become complete, and wait for the port. */
static void
finish(struct uroce_worker *worker, unsigned nb_asked, unsigned nb)
{
	struct uroce_tx *tx = &worker->tx;
	struct rte_mbuf **pending = &tx->pending[tx->nb_pending];
	uint16_t *len = &tx->roce_len[tx->nb_pending];

	for (unsigned i = 0; i < nb; i++)
		pending[i] = tx->spare[tx->nb_spare - 1 - i];
	if (worker->loans) {
		place_or_lend(worker, nb_asked, pending, len);
	} else {
		for (unsigned i = 0; i < nb; i++)
			len[i] = place(&tx->txd[i], pending[i]);
	}
	uroce_stage_lap(UROCE_STAGE_GATHER, nb);
	for (unsigned i = 0; i < nb; i++)
		seal(&tx->txd[i]);
	uroce_stage_lap(UROCE_STAGE_ICRC, nb);
	tx->nb_spare -= nb;
	tx->nb_pending += nb;
}

/* Those to groups are known by that from now on, and go to the members here, too. */
static void
let_go_datagrams(struct uroce_worker *worker, struct rte_mbuf **frames, unsigned nb)
{
	uint16_t *len = &worker->tx.roce_len[frames - worker->tx.pending];

	for (unsigned i = 0; i < nb; i++) {
		if (rte_is_multicast_ether_addr(
			    rte_pktmbuf_mtod(frames[i], const struct rte_ether_addr *)))
			len[i] |= UROCE_TX_TO_GROUP;
	}
	uroce_group_loop_back(worker, frames, nb);
}

/* The frames of a QP refer to its requests no more; if it had a whole turn's worth, it may have more. */
static void
let_go(struct uroce_worker *worker, const struct uroce_asked *asked, struct rte_mbuf **frames)
{
	struct uroce_qpr *qpr = asked->qpr;

	if (asked->is_plain && likely(uroce_qpc_is_plain(&qpr->qpc))) {
		uroce_worker_follow_up_requests(worker, qpr);
		return;
	}
	/* also after none: a request that could not be sent fails now */
	uroce_qpc_sent(&qpr->qpc, worker->now_ns);
	if (qpr->qpc.type == IBV_QPT_UD)
		let_go_datagrams(worker, frames, asked->nb);
	if (asked->nb == asked->max)
		uroce_tx_schedule(worker, qpr);
	uroce_worker_settle(worker, qpr);
	/* its requests are flushed when the port lets go of them, which nobody tells us */
	if (unlikely(qpr->qpc.state == IBV_QPS_ERR) && uroce_qpc_has_lent(&qpr->qpc))
		uroce_wheel_file(&worker->wheel, qpr, worker->now_ns + LENT_LOOK_NS);
}

/*
 * Build until `budget` frames wait or nobody has anything to say. In passes: what one needs of a QP is
 * on its way from memory while the others are asked.
 */
static void
build(struct uroce_worker *worker, unsigned budget)
{
	struct uroce_tx *tx = &worker->tx;

	while (tx->active_head && tx->nb_pending < budget && uroce_loop_has_room(&worker->loop) &&
	       refill(worker)) {
		const unsigned first = tx->nb_pending;
		const unsigned room = RTE_MIN(budget - first, tx->nb_spare);
		struct rte_mbuf **frames = &tx->pending[first];
		unsigned nb_frames;

		uroce_stage_lap(UROCE_STAGE_BUILD, 0);
		const unsigned nb_asked = ask_all(worker, RTE_MIN(room, UROCE_BURST), &nb_frames);

		uroce_stage_lap(UROCE_STAGE_HEADERS, nb_frames);
		finish(worker, nb_asked, nb_frames);
		for (unsigned i = 0; i < nb_asked; i++) {
			let_go(worker, &tx->asked[i], frames);
			frames += tx->asked[i].nb;
		}
		if (unlikely(uroce_loop_is_open(worker->dev)))
			uroce_loop_divert(worker, first);
	}
	uroce_stage_lap(UROCE_STAGE_BUILD, tx->nb_pending);
}

static void
remove_first(struct uroce_tx *tx, unsigned nb)
{
	tx->nb_pending -= nb;
	if (nb == 0 || tx->nb_pending == 0)
		return;
	memmove(tx->pending, tx->pending + nb, tx->nb_pending * sizeof(tx->pending[0]));
	memmove(tx->roce_len, tx->roce_len + nb, tx->nb_pending * sizeof(tx->roce_len[0]));
}

/* The first `nb` that wait have left. */
static void
count_left(struct uroce_worker *worker, unsigned nb)
{
	const uint16_t *len = worker->tx.roce_len;
	uint32_t nb_roce = 0, nb_groups = 0, nb_bytes = 0;

	worker->tx.nb_left += nb;
	for (unsigned i = 0; i < nb; i++) {
		nb_roce += len[i] != 0;
		nb_groups += len[i] / UROCE_TX_TO_GROUP;
		nb_bytes += len[i] % UROCE_TX_TO_GROUP;
	}
	uroce_worker_count(worker, UROCE_COUNTER_TX_FRAMES, nb);
	uroce_worker_count(worker, UROCE_COUNTER_PORT_XMIT_PACKETS, nb_roce);
	uroce_worker_count(worker, UROCE_COUNTER_PORT_XMIT_DATA, nb_bytes);
	if (nb_groups > 0)
		uroce_worker_count(worker, UROCE_COUNTER_MULTICAST_XMIT_PACKETS, nb_groups);
}

static uint16_t
offer(const struct uroce_worker *worker, struct rte_mbuf **frames, uint16_t nb)
{
	const struct uroce_port *port = worker->dev->port;

	if (likely(port->policy->burst == UROCE_BURST_ETHDEV))
		return rte_eth_tx_burst(port->id, worker->queue, frames, nb);
	if (port->policy->burst == UROCE_BURST_LANES)
		return uroce_attach_tx(port, worker->queue, frames, nb);
	if (port->policy->burst == UROCE_BURST_TX_ONLY)
		return rte_eth_tx_burst(port->id, worker->queue, frames, nb);
	return RTE_MIN(nb, uroce_guard_tx(port->id, worker->queue, frames, nb));
}

static unsigned
flush(struct uroce_worker *worker)
{
	struct uroce_tx *tx = &worker->tx;
	unsigned nb = 0;

	if (!atomic_load_explicit(&tx->is_stalled, memory_order_relaxed))
		tx->moved_ns = worker->now_ns;
	while (nb < tx->nb_pending) {
		const uint16_t offered = (uint16_t)RTE_MIN(tx->nb_pending - nb, UROCE_BURST);
		const uint16_t taken = offer(worker, &tx->pending[nb], offered);

		nb += taken;
		if (taken < offered)
			break;
	}
	if (nb > 0) {
		tx->moved_ns = worker->now_ns;
		count_left(worker, nb);
	}
	remove_first(tx, nb);
	atomic_store_explicit(&tx->is_stalled, tx->nb_pending > 0, memory_order_relaxed);
	uroce_worker_count(worker, UROCE_COUNTER_TX_FULL, tx->nb_pending > 0);
	uroce_stage_lap(UROCE_STAGE_TX_BURST, nb);
	return nb;
}

/* Nobody takes what waits. */
static void
discard(struct uroce_worker *worker)
{
	struct uroce_tx *tx = &worker->tx;
	unsigned nb_roce = 0;

	for (unsigned i = 0; i < tx->nb_pending; i++)
		nb_roce += tx->roce_len[i] != 0;
	uroce_worker_count(worker, UROCE_COUNTER_PORT_XMIT_DISCARDS, nb_roce);
	rte_pktmbuf_free_bulk(tx->pending, tx->nb_pending);
	tx->nb_pending = 0;
}

void
uroce_tx_drop(struct uroce_worker *worker)
{
	struct uroce_tx *tx = &worker->tx;

	discard(worker);
	atomic_store_explicit(&tx->is_stalled, false, memory_order_relaxed);
	rte_pktmbuf_free_bulk(tx->spare, tx->nb_spare);
	tx->nb_spare = 0;
}

/*
 * A port that is not there takes nothing, and one that may block is not called while its link is down:
 * what was to be sent is lost like any frame, and the retry timers see to it.
 */
static bool
is_lost(const struct uroce_port *port)
{
	return !uroce_port_is_ready(port) || (port->policy->may_block && !uroce_port_is_up(port));
}

/* Whether what the port does not take may move soon: between clients of uroced it does without a link, too. */
static bool
may_move(const struct uroce_worker *worker)
{
	const struct uroce_port *port = worker->dev->port;

	return (uroce_port_is_up(port) || port->policy->burst == UROCE_BURST_LANES) &&
	       worker->now_ns - worker->tx.moved_ns < STALL_NS;
}

unsigned
uroce_tx_run(struct uroce_worker *worker)
{
	struct uroce_tx *tx = &worker->tx;
	unsigned nb = 0;

	uroce_deferral_end(worker);
	if (is_lost(worker->dev->port)) {
		build(worker, UROCE_BURST);
		uroce_tx_drop(worker);
		return worker->loop.nb;
	}
	if (tx->nb_pending > 0)
		nb = flush(worker);
	if (tx->nb_pending > 0) {
		if (may_move(worker))
			return nb;
		discard(worker);
	}
	build(worker, UROCE_BURST);
	if (tx->nb_pending > 0)
		nb += flush(worker);
	return nb + worker->loop.nb;
}

bool
uroce_tx_is_lost(const struct uroce_worker *worker)
{
	return is_lost(worker->dev->port);
}

void
uroce_tx_post(struct uroce_worker *worker, struct uroce_qpr *qpr)
{
	struct uroce_tx *tx = &worker->tx;
	struct uroce_asked *asked = &tx->asked[0];

	if (tx->nb_spare < STRAIGHT && !refill(worker)) {
		uroce_tx_schedule(worker, qpr);
		return;
	}
	lay_out(tx, 0, STRAIGHT);
	*asked = (struct uroce_asked){ .qpr = qpr, .max = STRAIGHT };
	asked->nb = (uint8_t)uroce_qpc_send_ahead(&qpr->qpc, tx->txd, STRAIGHT, worker->now_ns);
	uroce_stage_lap(UROCE_STAGE_HEADERS, asked->nb);
	finish(worker, 1, asked->nb);
	/* a datagram to a group is looked at once more */
	if (qpr->qpc.type == IBV_QPT_UD)
		let_go(worker, asked, tx->pending);
	if (unlikely(uroce_loop_is_open(worker->dev)))
		uroce_loop_divert(worker, 0);
	uroce_stage_lap(UROCE_STAGE_BUILD, 0);
	if (tx->nb_pending > 0)
		(void)flush(worker);
	/* it is on its way: time for what the next one needs */
	if (qpr->qpc.type != IBV_QPT_UD)
		let_go(worker, asked, NULL);
	(void)refill(worker);
	uroce_stage_lap(UROCE_STAGE_BUILD, 0);
}

unsigned
uroce_tx_take(struct uroce_worker *worker, struct rte_mbuf **frames, unsigned max)
{
	struct uroce_tx *tx = &worker->tx;
	struct rte_mempool *loans = worker->loans;
	unsigned nb;

	/* who takes frames may keep them for as long as he likes */
	if (loans)
		uroce_loan_recall(worker);
	worker->loans = NULL;
	uroce_deferral_end(worker);
	build(worker, RTE_MIN(max, UROCE_PENDING_MAX));
	worker->loans = loans;
	nb = RTE_MIN(max, tx->nb_pending);
	memcpy(frames, tx->pending, nb * sizeof(frames[0]));
	count_left(worker, nb);
	remove_first(tx, nb);
	return nb;
}
