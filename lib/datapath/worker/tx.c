/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Transmit stage: polls the active QPs for frames, and passes the frames to the port.
 *
 * QPs that may have something to send are in a list. Each QP in turn is polled for a quantum of
 * frames. A QP that had a whole quantum is appended to the list again. The transport writes headers
 * directly into mbufs that were allocated before. This file gathers the payload behind the headers,
 * and computes the ICRC on the way. The work is done in passes over a burst of frames: poll the
 * QPs, gather payload, store ICRCs, release the QPs.
 *
 * Frames that the port does not take stay pending, in order, and are offered first in the next
 * round. Meanwhile no new frames are built, so the back-pressure reaches the QPs. If the port takes
 * nothing at all for STALL_NS, or if its link is down, the port counts as a port without a peer.
 * Then the pending frames are dropped, and new frames are built: a QP must be polled to start its
 * retry timer and to flush its requests.
 *
 * The functions are in one file of more than 500 lines, so the compiler can inline the functions
 * that build a frame.
 */

#include <string.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include "datapath/uroced/mux_client.h"
#include "datapath/net/mcast_group.h"
#include "datapath/port/fault_guard.h"
#include "datapath/udp/udp_port.h"
#include "datapath/worker/zero_copy.h"
#include "datapath/worker/round.h"
#include "datapath/stage.h"
#include "base/copy.h"
#include "wire/icrc.h"

/*
 * Number of QPs by which a prefetch is ahead of the QP that is polled: NEAR for the work queue of a
 * QP, FAR for its context.
 */
#define NEAR 2u
#define FAR  6u

/* maximum number of frames of an inline transmit; more frames count as a stream */
#define INLINE_MAX 4u

/*
 * If a port takes no frames for this time, it counts as a port without a peer. A peer process
 * behind a virtual port seldom waits longer for a CPU.
 */
#define STALL_NS UINT64_C(20000000)

/* Interval between checks whether the port still holds zero-copy frames of a QP in ERR. */
#define TX_REF_CHECK_NS UINT64_C(100000)

static struct uroce_worker_qp *
pop_active(struct uroce_tx *tx)
{
	struct uroce_worker_qp *wqp = tx->active_head;

	tx->active_head = wqp->active_next;
	if (!tx->active_head)
		tx->active_tail = NULL;
	tx->nb_polled_qps++;
	wqp->is_active = false;
	return wqp;
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
 * Initialize an mbuf from the pool as an empty frame. A freed mbuf is a single segment with one
 * reference [rte_mbuf_raw_alloc]. The data offset, the reference count, the number of segments and
 * the port are written in one store. Most of the other fields that rte_pktmbuf_reset() writes are
 * only read if a flag of the frame is set.
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

/*
 * Allocate spare mbufs.
 * @return whether there are enough spare mbufs for a quantum of frames
 */
static bool
refill_mbufs(struct uroce_worker *worker)
{
	struct uroce_tx *tx = &worker->tx;

	while (tx->nb_spare < UROCE_BURST) {
		struct rte_mbuf **mbuf = &tx->spare[tx->nb_spare];

		if (rte_mempool_get_bulk(worker->pool, (void **)mbuf, UROCE_TX_QUANTUM) < 0)
			break;
		for (unsigned i = 0; i < UROCE_TX_QUANTUM; i++) {
			begin_frame(mbuf[i]);
			tx->spare_hdr[tx->nb_spare + i] = rte_pktmbuf_mtod(mbuf[i], uint8_t *);
		}
		tx->nb_spare += UROCE_TX_QUANTUM;
	}
	if (tx->nb_spare >= UROCE_TX_QUANTUM)
		return true;
	uroce_worker_count(worker, UROCE_COUNTER_NO_MBUF, 1);
	return false;
}

/*
 * Maximum length in bytes of a small payload. A small payload is only copied, and the ICRC is
 * computed in a later pass over the burst. This is faster than to do both in one pass.
 */
#define SMALL 128

/*
 * Copy the slices of the payload behind the headers of the frame. A payload that an mkey describes
 * was already written behind the headers (uroce_txd.hdr).
 */
static uint8_t *
gather_payload(const struct uroce_txd *txd, uint8_t *at)
{
	for (unsigned i = 0; i < txd->nb_slices; i++) {
		if (txd->slice[i].addr != at)
			uroce_copy(at, txd->slice[i].addr, txd->slice[i].len);
		at += txd->slice[i].len;
	}
	return at;
}

/*
 * Do what gather_payload() does, and compute the CRC of the payload in the same pass. So each byte
 * is fetched once.
 */
static uint8_t *
gather_and_sum(const struct uroce_txd *txd, uint8_t *at, uint32_t *icrc)
{
	for (unsigned i = 0; i < txd->nb_slices; i++) {
		*icrc = txd->slice[i].addr == at ? uroce_crc32(*icrc, at, txd->slice[i].len)
						 : uroce_crc32_copy(*icrc, at, txd->slice[i].addr,
								    txd->slice[i].len);
		at += txd->slice[i].len;
	}
	return at;
}

/*
 * Write the padding: four zero bytes, of which only `pad_len` are padding. The ICRC is stored over
 * the other bytes later.
 * @return the end of the padding
 */
static uint8_t *
put_pad(const struct uroce_txd *txd, uint8_t *at)
{
	memset(at, 0, UROCE_ICRC_LEN);
	return at + txd->pad_len;
}

static uint16_t
set_frame_len(struct rte_mbuf *mbuf, const struct uroce_txd *txd)
{
	const uint32_t len = txd->hdr_len + txd->payload_len + txd->pad_len + UROCE_ICRC_LEN;

	mbuf->data_len = (uint16_t)len;
	mbuf->pkt_len = len;
	return (uint16_t)len;
}

/*
 * Gather the payload of a frame behind its headers. If the payload is longer than SMALL, also
 * compute and store the ICRC.
 * @return length of the frame
 */
static uint16_t
place_payload(const struct uroce_txd *txd, struct rte_mbuf *mbuf)
{
	uint8_t *end = txd->hdr + txd->hdr_len;
	const uint8_t *bth = txd->hdr + txd->bth_off;
	const uint16_t len = set_frame_len(mbuf, txd);
	uint32_t icrc;

	if (txd->payload_len <= SMALL) {
		(void)put_pad(txd, gather_payload(txd, end));
		return len;
	}
	icrc = uroce_icrc_rest(txd->icrc, bth, (size_t)(end - bth));
	end = gather_and_sum(txd, end, &icrc);
	if (txd->pad_len > 0)
		icrc = uroce_crc32(icrc, end, (size_t)(put_pad(txd, end) - end));
	uroce_icrc_store(end + txd->pad_len, icrc);
	return len;
}

/* Compute and store the ICRC of a frame, if its payload is not longer than SMALL. */
static void
store_icrc(const struct uroce_txd *txd)
{
	const uint8_t *bth = txd->hdr + txd->bth_off;
	const uint32_t covered = txd->hdr_len - txd->bth_off + txd->payload_len + txd->pad_len;
	uint8_t *end = txd->hdr + txd->bth_off + covered;

	if (txd->payload_len <= SMALL)
		uroce_icrc_store(end, uroce_icrc_rest(txd->icrc, bth, covered));
}

/*
 * Assign spare mbufs to the frames [begin, end) of a transmit pass. The transport writes their
 * headers into these mbufs.
 */
static void
lay_out_headers(struct uroce_tx *tx, unsigned begin, unsigned end)
{
	for (unsigned i = begin; i < end; i++)
		tx->txd[i].hdr = tx->spare_hdr[tx->nb_spare - 1 - i];
}

/*
 * Prefetch the first slice of each payload, while other QPs are polled. For long payload the
 * hardware prefetcher does the rest.
 */
static void
fetch_payload(const struct uroce_txd *txd, unsigned nb)
{
	for (unsigned i = 0; i < nb; i++) {
		if (txd[i].nb_slices > 0)
			rte_prefetch0(txd[i].slice[0].addr);
	}
}

/*
 * The QPs that will be polled for frames soon. Their data is prefetched in two steps, because the
 * address of a QP's work queue is in the context of the QP.
 */
struct prefetch {
	struct uroce_worker_qp *far;
	struct uroce_worker_qp *near;
};

/*
 * Prefetch the context of a QP. The context of a QP that has only responses to send was prefetched
 * when the request arrived.
 */
static void
prefetch_qp(const struct uroce_worker_qp *wqp)
{
	if (!wqp->may_have_requests)
		return;
	uroce_worker_qp_fetch(wqp);
	uroce_qpc_fetch_req(&wqp->qpc);
}

static struct prefetch
begin_prefetch(const struct uroce_tx *tx)
{
	struct prefetch out = { .far = tx->active_head->active_next };

	for (unsigned i = 1; i < FAR && out.far; i++) {
		prefetch_qp(out.far);
		out.far = out.far->active_next;
		if (i + 1 == NEAR)
			out.near = out.far;
	}
	return out;
}

static void
advance_prefetch(struct prefetch *out)
{
	if (out->near) {
		if (out->near->may_have_requests)
			uroce_qpc_fetch_queue(&out->near->qpc);
		out->near = out->near->active_next;
	}
	if (out->far) {
		prefetch_qp(out->far);
		out->far = out->far->active_next;
	}
}

/* Poll a QP for frames: the transport writes the headers and the descriptors of the frames. */
static void
poll_qp(struct uroce_worker *worker, struct uroce_polled_qp *polled, struct uroce_txd *txd)
{
	struct uroce_qpc *qpc = &polled->wqp->qpc;

	polled->is_fast_path = !polled->wqp->may_have_requests && uroce_qpc_is_fast_path(qpc);
	if (polled->is_fast_path)
		polled->nb =
			(uint8_t)uroce_qpc_send_responses(qpc, txd, polled->max, worker->now_ns);
	else
		polled->nb = (uint8_t)uroce_qpc_send(qpc, txd, polled->max, worker->now_ns);
}

/*
 * Poll active QPs in turn, each once, for up to `limit` frames in all. Only the headers are
 * written.
 * @param[out] nb_frames  number of frames that the QPs had
 * @return number of QPs polled
 */
static unsigned
poll_qps(struct uroce_worker *worker, unsigned limit, unsigned *nb_frames)
{
	struct uroce_tx *tx = &worker->tx;
	struct prefetch out = begin_prefetch(tx);
	unsigned nb_polled = 0, nb = 0, nb_laid_out = 0;

	while (tx->active_head && nb < limit && nb_polled < UROCE_BURST) {
		struct uroce_polled_qp *polled = &tx->polled[nb_polled++];
		const unsigned max = RTE_MIN(UROCE_TX_QUANTUM, limit - nb);

		advance_prefetch(&out);
		if (nb_laid_out < nb + max)
			lay_out_headers(tx, nb_laid_out, nb + max);
		nb_laid_out = RTE_MAX(nb_laid_out, nb + max);
		polled->wqp = pop_active(tx);
		polled->max = (uint8_t)max;
		poll_qp(worker, polled, &tx->txd[nb]);
		fetch_payload(&tx->txd[nb], polled->nb);
		nb += polled->nb;
	}
	*nb_frames = nb;
	return nb_polled;
}

/* Gather the payload of each frame behind its headers, or attach it without a copy. */
static void
place_or_attach(struct uroce_worker *worker, unsigned nb_polled, struct rte_mbuf **frames,
		uint16_t *len)
{
	struct uroce_txd *txd = worker->tx.txd;

	for (unsigned i = 0; i < nb_polled; i++) {
		const struct uroce_polled_qp *polled = &worker->tx.polled[i];

		for (unsigned j = 0; j < polled->nb; j++, txd++, frames++) {
			if (!uroce_zero_copy_attach(worker, polled->wqp, txd, *frames))
				(void)place_payload(txd, *frames);
			*len++ = (uint16_t)(*frames)->pkt_len;
		}
	}
}

/* Complete the frames of a transmit pass, and append them to the pending frames. */
static void
finish_frames(struct uroce_worker *worker, unsigned nb_polled, unsigned nb)
{
	struct uroce_tx *tx = &worker->tx;
	struct rte_mbuf **pending = &tx->pending[tx->nb_pending];
	uint16_t *len = &tx->roce_len[tx->nb_pending];

	for (unsigned i = 0; i < nb; i++)
		pending[i] = tx->spare[tx->nb_spare - 1 - i];
	if (worker->zero_copy_pool) {
		place_or_attach(worker, nb_polled, pending, len);
	} else {
		for (unsigned i = 0; i < nb; i++)
			len[i] = place_payload(&tx->txd[i], pending[i]);
	}
	uroce_stage_lap(UROCE_STAGE_GATHER, nb);
	for (unsigned i = 0; i < nb; i++)
		store_icrc(&tx->txd[i]);
	uroce_stage_lap(UROCE_STAGE_ICRC, nb);
	tx->nb_spare -= nb;
	tx->nb_pending += nb;
}

/*
 * Set UROCE_TX_TO_GROUP in the lengths of datagrams to multicast groups, and deliver these
 * datagrams to the groups' members on this device as well.
 */
static void
release_datagrams(struct uroce_worker *worker, struct rte_mbuf **frames, unsigned nb)
{
	uint16_t *len = &worker->tx.roce_len[frames - worker->tx.pending];

	for (unsigned i = 0; i < nb; i++) {
		if (rte_is_multicast_ether_addr(
			    rte_pktmbuf_mtod(frames[i], const struct rte_ether_addr *)))
			len[i] |= UROCE_TX_TO_GROUP;
	}
	uroce_mcast_group_loop_back(worker, frames, nb);
}

/*
 * Release the QP after its frames have been built, because the frames do not refer to the QP's
 * requests any more. If the QP had a whole quantum of frames, it may have more, and is scheduled
 * again.
 */
static void
release_frames(struct uroce_worker *worker, const struct uroce_polled_qp *polled,
	       struct rte_mbuf **frames)
{
	struct uroce_worker_qp *wqp = polled->wqp;

	if (polled->is_fast_path && likely(uroce_qpc_is_fast_path(&wqp->qpc))) {
		uroce_worker_follow_up_requests(worker, wqp);
		return;
	}
	/*
	 * uroce_qpc_sent() is called even if the QP had no frames, because a request that cannot be
	 * sent fails in this call.
	 */
	uroce_qpc_sent(&wqp->qpc, worker->now_ns);
	if (wqp->qpc.type == IBV_QPT_UD)
		release_datagrams(worker, frames, polled->nb);
	if (polled->nb == polled->max)
		uroce_tx_schedule(worker, wqp);
	uroce_worker_settle(worker, wqp);
	/*
	 * The requests of a QP in ERR are flushed when the port has released their memory. The port
	 * does not notify of the release, so a timer checks for it.
	 */
	if (unlikely(wqp->qpc.state == IBV_QPS_ERR) && uroce_qpc_has_tx_refs(&wqp->qpc))
		uroce_wheel_file(&worker->wheel, wqp, worker->now_ns + TX_REF_CHECK_NS);
}

/*
 * Build frames until `budget` frames are pending or no QP has anything to send. The passes over a
 * burst of frames let the prefetches of one QP proceed while other QPs are polled.
 */
static void
build_frames(struct uroce_worker *worker, unsigned budget)
{
	struct uroce_tx *tx = &worker->tx;

	while (tx->active_head && tx->nb_pending < budget &&
	       uroce_loopback_has_room(&worker->loopback) && refill_mbufs(worker)) {
		const unsigned first = tx->nb_pending;
		const unsigned room = RTE_MIN(budget - first, tx->nb_spare);
		struct rte_mbuf **frames = &tx->pending[first];
		unsigned nb_frames;

		uroce_stage_lap(UROCE_STAGE_BUILD, 0);
		const unsigned nb_polled = poll_qps(worker, RTE_MIN(room, UROCE_BURST), &nb_frames);

		uroce_stage_lap(UROCE_STAGE_HEADERS, nb_frames);
		finish_frames(worker, nb_polled, nb_frames);
		for (unsigned i = 0; i < nb_polled; i++) {
			release_frames(worker, &tx->polled[i], frames);
			frames += tx->polled[i].nb;
		}
		if (unlikely(uroce_loopback_is_open(worker->dev)))
			uroce_loopback_divert(worker, first);
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

/* Count the first `nb` pending frames as transmitted. */
static void
count_sent(struct uroce_worker *worker, unsigned nb)
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

/* Transmit on UDP sockets. A frame that the kernel refuses counts as transmitted and discarded. */
static uint16_t
offer_to_sockets(struct uroce_worker *worker, struct rte_mbuf **frames, uint16_t nb)
{
	unsigned nb_lost;
	const uint16_t taken =
		uroce_udp_port_tx(worker->dev->port, worker->queue, frames, nb, &nb_lost);

	uroce_worker_count(worker, UROCE_COUNTER_PORT_XMIT_DISCARDS, nb_lost);
	return taken;
}

static uint16_t
offer_frames(struct uroce_worker *worker, struct rte_mbuf **frames, uint16_t nb)
{
	const struct uroce_port *port = worker->dev->port;

	if (likely(port->policy->burst == UROCE_BURST_ETHDEV))
		return rte_eth_tx_burst(port->id, worker->queue, frames, nb);
	if (port->policy->burst == UROCE_BURST_MUX)
		return uroce_mux_client_tx(port, worker->queue, frames, nb);
	if (port->policy->burst == UROCE_BURST_UDP)
		return offer_to_sockets(worker, frames, nb);
	if (port->policy->burst == UROCE_BURST_TX_ONLY)
		return rte_eth_tx_burst(port->id, worker->queue, frames, nb);
	return RTE_MIN(nb, uroce_fault_guard_tx(port->id, worker->queue, frames, nb));
}

static unsigned
flush_pending(struct uroce_worker *worker)
{
	struct uroce_tx *tx = &worker->tx;
	unsigned nb = 0;

	if (!atomic_load_explicit(&tx->is_stalled, memory_order_relaxed))
		tx->moved_ns = worker->now_ns;
	while (nb < tx->nb_pending) {
		const uint16_t offered = (uint16_t)RTE_MIN(tx->nb_pending - nb, UROCE_BURST);
		const uint16_t taken = offer_frames(worker, &tx->pending[nb], offered);

		nb += taken;
		if (taken < offered)
			break;
	}
	if (nb > 0) {
		tx->moved_ns = worker->now_ns;
		count_sent(worker, nb);
	}
	remove_first(tx, nb);
	atomic_store_explicit(&tx->is_stalled, tx->nb_pending > 0, memory_order_relaxed);
	uroce_worker_count(worker, UROCE_COUNTER_TX_FULL, tx->nb_pending > 0);
	uroce_stage_lap(UROCE_STAGE_TX_BURST, nb);
	return nb;
}

/* Drop the pending frames, because the port accepts no frames. */
static void
discard_pending(struct uroce_worker *worker)
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

	discard_pending(worker);
	atomic_store_explicit(&tx->is_stalled, false, memory_order_relaxed);
	rte_pktmbuf_free_bulk(tx->spare, tx->nb_spare);
	tx->nb_spare = 0;
}

/*
 * Whether frames to the port are lost. A port that is not ready takes nothing. A port that may
 * block is not called while its link is down. Such frames are dropped like frames lost on the
 * network, and retry timers recover from that.
 */
static bool
is_port_lost(const struct uroce_port *port)
{
	return !uroce_port_is_ready(port) || (port->policy->may_block && !uroce_port_is_up(port));
}

/*
 * Whether the port may soon take more frames. Between clients of uroced, frames move even while the
 * link is down.
 */
static bool
may_drain(const struct uroce_worker *worker)
{
	const struct uroce_port *port = worker->dev->port;

	return (uroce_port_is_up(port) || port->policy->burst == UROCE_BURST_MUX) &&
	       worker->now_ns - worker->tx.moved_ns < STALL_NS;
}

unsigned
uroce_tx_run(struct uroce_worker *worker)
{
	struct uroce_tx *tx = &worker->tx;
	unsigned nb = 0;

	uroce_delayed_ack_end(worker);
	if (is_port_lost(worker->dev->port)) {
		build_frames(worker, UROCE_BURST);
		uroce_tx_drop(worker);
		return worker->loopback.nb;
	}
	if (tx->nb_pending > 0)
		nb = flush_pending(worker);
	if (tx->nb_pending > 0) {
		if (may_drain(worker))
			return nb;
		discard_pending(worker);
	}
	build_frames(worker, UROCE_BURST);
	if (tx->nb_pending > 0)
		nb += flush_pending(worker);
	return nb + worker->loopback.nb;
}

bool
uroce_tx_is_lost(const struct uroce_worker *worker)
{
	return is_port_lost(worker->dev->port);
}

void
uroce_tx_post(struct uroce_worker *worker, struct uroce_worker_qp *wqp)
{
	struct uroce_tx *tx = &worker->tx;
	struct uroce_polled_qp *polled = &tx->polled[0];

	if (tx->nb_spare < INLINE_MAX && !refill_mbufs(worker)) {
		uroce_tx_schedule(worker, wqp);
		return;
	}
	lay_out_headers(tx, 0, INLINE_MAX);
	*polled = (struct uroce_polled_qp){ .wqp = wqp, .max = INLINE_MAX };
	polled->nb =
		(uint8_t)uroce_qpc_send_requests(&wqp->qpc, tx->txd, INLINE_MAX, worker->now_ns);
	uroce_stage_lap(UROCE_STAGE_HEADERS, polled->nb);
	finish_frames(worker, 1, polled->nb);
	/* datagrams to multicast groups must get UROCE_TX_TO_GROUP while they are pending */
	if (wqp->qpc.type == IBV_QPT_UD)
		release_frames(worker, polled, tx->pending);
	if (unlikely(uroce_loopback_is_open(worker->dev)))
		uroce_loopback_divert(worker, 0);
	uroce_stage_lap(UROCE_STAGE_BUILD, 0);
	if (tx->nb_pending > 0)
		(void)flush_pending(worker);
	/*
	 * The frames were offered to the port, so release the QP, and allocate the mbufs that the
	 * next post needs.
	 */
	if (wqp->qpc.type != IBV_QPT_UD)
		release_frames(worker, polled, NULL);
	(void)refill_mbufs(worker);
	uroce_stage_lap(UROCE_STAGE_BUILD, 0);
}

unsigned
uroce_tx_take(struct uroce_worker *worker, struct rte_mbuf **frames, unsigned max)
{
	struct uroce_tx *tx = &worker->tx;
	struct rte_mempool *zero_copy_pool = worker->zero_copy_pool;
	unsigned nb;

	/*
	 * An embedder may keep the frames for any time. So they must not refer to memory of the
	 * application.
	 */
	if (zero_copy_pool)
		uroce_zero_copy_reclaim(worker);
	worker->zero_copy_pool = NULL;
	uroce_delayed_ack_end(worker);
	build_frames(worker, RTE_MIN(max, UROCE_PENDING_MAX));
	worker->zero_copy_pool = zero_copy_pool;
	nb = RTE_MIN(max, tx->nb_pending);
	memcpy(frames, tx->pending, nb * sizeof(frames[0]));
	count_sent(worker, nb);
	remove_first(tx, nb);
	return nb;
}
