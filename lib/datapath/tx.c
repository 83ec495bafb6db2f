/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Frames out. QPs with something to say stand in line; each is asked for a turn's worth of frames
 * and goes to the end of the line if it had that much. Headers are written by the transport straight
 * into the mbufs that were allocated beforehand; here the payload is gathered behind them, the CRC
 * being computed on the way.
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

#include "datapath/group.h"
#include "datapath/guard.h"
#include "datapath/round.h"
#include "datapath/stage.h"
#include "mem/copy.h"
#include "wire/icrc.h"

#define STALL_NS UINT64_C(20000000) /* more than a peer waits for its CPU, in most cases */

void
uroce_tx_schedule(struct uroce_worker *worker, struct uroce_qpr *qpr)
{
	struct uroce_tx *tx = &worker->tx;

	if (qpr->is_active)
		return;
	qpr->is_active = true;
	qpr->active_next = NULL;
	if (tx->active_tail)
		tx->active_tail->active_next = qpr;
	else
		tx->active_head = qpr;
	tx->active_tail = qpr;
}

static struct uroce_qpr *
pop_active(struct uroce_tx *tx)
{
	struct uroce_qpr *qpr = tx->active_head;

	tx->active_head = qpr->active_next;
	if (!tx->active_head)
		tx->active_tail = NULL;
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
	qpr->is_active = false;
}

void
uroce_tx_push(struct uroce_worker *worker, struct rte_mbuf *frame)
{
	struct uroce_tx *tx = &worker->tx;

	if (tx->nb_pending < UROCE_PENDING_MAX)
		tx->pending[tx->nb_pending++] = frame;
	else
		rte_pktmbuf_free(frame);
}

/* @return whether a turn's worth of mbufs is at hand */
static bool
refill(struct uroce_worker *worker)
{
	struct uroce_tx *tx = &worker->tx;

	if (tx->nb_spare >= UROCE_TURN)
		return true;
	if (rte_pktmbuf_alloc_bulk(worker->pool, &tx->spare[tx->nb_spare], UROCE_TURN) < 0) {
		worker->stats.no_mbuf++;
		return false;
	}
	tx->nb_spare += UROCE_TURN;
	return true;
}

/* Bytes of payload up to which copying first and summing up later, a turn at a time, costs less. */
#define SMALL 128

static uint8_t *
gather(const struct uroce_txd *txd, uint8_t *at)
{
	for (unsigned i = 0; i < txd->nb_slices; i++) {
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
		*icrc = uroce_crc32_copy(*icrc, at, txd->slice[i].addr, txd->slice[i].len);
		at += txd->slice[i].len;
	}
	return at;
}

static uint8_t *
pad(const struct uroce_txd *txd, uint8_t *at)
{
	for (unsigned i = 0; i < txd->pad_len; i++)
		*at++ = 0;
	return at;
}

static void
set_len(struct rte_mbuf *mbuf, const struct uroce_txd *txd)
{
	const uint32_t len = txd->hdr_len + txd->payload_len + txd->pad_len + UROCE_ICRC_LEN;

	mbuf->data_len = (uint16_t)len;
	mbuf->pkt_len = len;
}

/* Payload behind the header; what is large is finished, too. */
static void
place(const struct uroce_txd *txd, struct rte_mbuf *mbuf)
{
	uint8_t *end = txd->hdr + txd->hdr_len;
	const uint8_t *bth = txd->hdr + txd->bth_off;
	uint32_t icrc;

	set_len(mbuf, txd);
	if (txd->payload_len <= SMALL) {
		(void)pad(txd, gather(txd, end));
		return;
	}
	icrc = uroce_icrc_rest(txd->icrc, bth, (size_t)(end - bth));
	end = gather_summing(txd, end, &icrc);
	icrc = uroce_crc32(icrc, end, (size_t)(pad(txd, end) - end));
	uroce_icrc_store(end + txd->pad_len, icrc);
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

/* Ask one QP for up to `max` frames. @return how many it had */
static unsigned
ask(struct uroce_worker *worker, struct uroce_qpr *qpr, unsigned max)
{
	struct uroce_tx *tx = &worker->tx;
	struct rte_mbuf **mbuf = &tx->spare[tx->nb_spare - max];
	const uint64_t cnps_sent = qpr->qpc.stats.cnps_sent;
	unsigned nb;

	for (unsigned i = 0; i < max; i++)
		tx->txd[i].hdr = rte_pktmbuf_mtod(mbuf[i], uint8_t *);
	uroce_stage_lap(UROCE_STAGE_BUILD, 0);
	nb = uroce_qpc_send(&qpr->qpc, tx->txd, max, worker->now_ns);
	uroce_stage_lap(UROCE_STAGE_HEADERS, nb);
	worker->stats.tx_cnps += qpr->qpc.stats.cnps_sent - cnps_sent;
	for (unsigned i = 0; i < nb; i++) {
		place(&tx->txd[i], mbuf[i]);
		tx->pending[tx->nb_pending++] = mbuf[i];
	}
	uroce_stage_lap(UROCE_STAGE_GATHER, nb);
	for (unsigned i = 0; i < nb; i++)
		seal(&tx->txd[i]);
	uroce_stage_lap(UROCE_STAGE_ICRC, nb);
	/* the unused ones close the gap */
	memmove(mbuf, mbuf + nb, (max - nb) * sizeof(*mbuf));
	tx->nb_spare -= nb;
	/* also after none: a request that could not be sent fails now */
	uroce_qpc_sent(&qpr->qpc, worker->now_ns);
	if (qpr->qpc.type == IBV_QPT_UD)
		uroce_group_loop_back(worker, &tx->pending[tx->nb_pending - nb], nb);
	return nb;
}

/* Build until `budget` frames wait or nobody has anything to say. */
static void
build(struct uroce_worker *worker, unsigned budget)
{
	struct uroce_tx *tx = &worker->tx;

	while (tx->active_head && tx->nb_pending < budget && refill(worker)) {
		const unsigned max = RTE_MIN(UROCE_TURN, budget - tx->nb_pending);
		struct uroce_qpr *qpr = pop_active(tx);

		if (ask(worker, qpr, max) == max)
			uroce_tx_schedule(worker, qpr);
		uroce_worker_settle(worker, qpr);
	}
	uroce_stage_lap(UROCE_STAGE_BUILD, tx->nb_pending);
}

static void
remove_first(struct uroce_tx *tx, unsigned nb)
{
	tx->nb_pending -= nb;
	if (nb > 0 && tx->nb_pending > 0)
		memmove(tx->pending, tx->pending + nb, tx->nb_pending * sizeof(tx->pending[0]));
}

static uint16_t
offer(const struct uroce_worker *worker, struct rte_mbuf **frames, uint16_t nb)
{
	const struct uroce_port *port = worker->dev->port;

	if (!port->policy->has_peer)
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
	if (nb > 0)
		tx->moved_ns = worker->now_ns;
	remove_first(tx, nb);
	atomic_store_explicit(&tx->is_stalled, tx->nb_pending > 0, memory_order_relaxed);
	worker->stats.tx_full += tx->nb_pending > 0;
	worker->stats.tx_frames += nb;
	uroce_stage_lap(UROCE_STAGE_TX_BURST, nb);
	return nb;
}

void
uroce_tx_drop(struct uroce_worker *worker)
{
	struct uroce_tx *tx = &worker->tx;

	rte_pktmbuf_free_bulk(tx->pending, tx->nb_pending);
	tx->nb_pending = 0;
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

unsigned
uroce_tx_run(struct uroce_worker *worker)
{
	struct uroce_tx *tx = &worker->tx;
	unsigned nb = 0;

	if (is_lost(worker->dev->port)) {
		build(worker, UROCE_BURST);
		uroce_tx_drop(worker);
		return 0;
	}
	if (tx->nb_pending > 0)
		nb = flush(worker);
	if (tx->nb_pending > 0) {
		if (uroce_port_is_up(worker->dev->port) && worker->now_ns - tx->moved_ns < STALL_NS)
			return nb;
		rte_pktmbuf_free_bulk(tx->pending, tx->nb_pending);
		tx->nb_pending = 0;
	}
	build(worker, UROCE_BURST);
	if (tx->nb_pending > 0)
		nb += flush(worker);
	return nb;
}

unsigned
uroce_tx_take(struct uroce_worker *worker, struct rte_mbuf **frames, unsigned max)
{
	struct uroce_tx *tx = &worker->tx;
	unsigned nb;

	build(worker, RTE_MIN(max, UROCE_PENDING_MAX));
	nb = RTE_MIN(max, tx->nb_pending);
	memcpy(frames, tx->pending, nb * sizeof(frames[0]));
	remove_first(tx, nb);
	worker->stats.tx_frames += nb;
	return nb;
}
