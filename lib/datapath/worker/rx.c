/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Receive stage, in passes over a burst. Each pass runs within the instruction cache, and starts
 * the memory loads of the next pass:
 *
 *	1  parse, and check the destination address
 *	2  prefetch the contexts of the QPs
 *	3  verify the ICRC, which brings the whole frame into the cache for the later copy
 *	4  look up the QPs, and prefetch the next entries of their queues
 *	5  execute: pass the frame to its QP, or forward it to the worker that owns the QP
 *	   (migration.c); reply to frames that are not RoCE
 *
 * A burst of large frames exceeds the first-level cache. So a burst is processed in groups of
 * frames.
 *
 * The functions are in one file of more than 500 lines, so the compiler can inline the passes into
 * the function that processes a burst.
 */

#include <string.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include "datapath/uroced/mux_client.h"
#include "datapath/net/gid_table.h"
#include "datapath/net/mcast_group.h"
#include "datapath/port/fault_guard.h"
#include "datapath/net/perf_mgt.h"
#include "datapath/udp/udp_port.h"
#include "datapath/device/qpn.h"
#include "datapath/worker/own_reply.h"
#include "datapath/worker/round.h"
#include "datapath/stage.h"
#include "wire/build.h"

/*
 * Maximum number of bytes of a group of received frames; a single frame may be longer. The frames
 * of a group are parsed, verified, looked up and executed before the next group begins, so that
 * they stay in the first-level cache. The limit is a third of a cache of 48 KiB.
 */
#define GROUP_BYTES (16 * 1024)

/* The mark of a frame that has no verdict yet; the next pass processes the frame. */
#define UNDECIDED UROCE_VERDICT_NB

/* The mark of a Get(ClassPortInfo) to QP 1 (perf_mgt.h), which the device answers by itself. */
#define ANSWERED (UROCE_VERDICT_NB + 1)

static bool
is_our_ip(const struct uroce_dev *dev, bool is_ipv6, const uint8_t *ip)
{
	const struct uroce_gid_table *const gids =
		atomic_load_explicit(&dev->gids, memory_order_acquire);

	for (unsigned i = 0; i < gids->nb; i++) {
		const uint8_t *gid = gids->addr[i].ip;

		if (is_ipv6 ? memcmp(gid, ip, 16) == 0 && !uroce_gid_is_empty(gids, i)
			    : memcmp(gid + 12, ip, 4) == 0 && uroce_ip_is_v4(gid))
			return true;
	}
	return false;
}

static bool
is_to_us(const struct uroce_dev *dev, const struct uroce_pkt *pkt)
{
	return is_our_ip(dev, pkt->is_ipv6,
			 pkt->is_ipv6 ? ((const struct uroce_ipv6 *)pkt->ip)->dst
				      : ((const struct uroce_ipv4 *)pkt->ip)->dst);
}

/*
 * Whether the source address of a received frame is one of this device. Frames to this device
 * itself never reach the wire. So a received frame with such a source is either forged, or a
 * multicast datagram of this device that the network returns.
 */
static bool
is_from_us(const struct uroce_dev *dev, const struct uroce_pkt *pkt)
{
	return is_our_ip(dev, pkt->is_ipv6,
			 pkt->is_ipv6 ? ((const struct uroce_ipv6 *)pkt->ip)->src
				      : ((const struct uroce_ipv4 *)pkt->ip)->src);
}

/*
 * Whether the frame belongs to the VLAN of this device. Tag 0 carries a priority without a VLAN
 * [802.1Q].
 */
static bool
is_our_vlan(const struct uroce_dev *dev, const struct uroce_pkt *pkt)
{
	return (pkt->vlan_tci & 0xfff) == (dev->conf.has_vlan ? dev->conf.vlan_tci & 0xfff : 0);
}

/*
 * Copy a chained frame into one mbuf of the worker's pool, in place of the chain.
 * @return whether the frame is one segment now
 */
static bool
replace_by_copy(const struct uroce_worker *worker, struct rte_mbuf **frame)
{
	struct rte_mbuf *copy;

	if ((*frame)->pkt_len > worker->dev->port->frame_limit)
		return false;
	copy = rte_pktmbuf_copy(*frame, worker->pool, 0, UINT32_MAX);
	if (!copy)
		return false;
	rte_pktmbuf_free(*frame);
	*frame = copy;
	return copy->nb_segs == 1;
}

/*
 * Make a frame contiguous: in its first mbuf if that mbuf has room for the frame, otherwise in an
 * mbuf of the worker's pool.
 * @return whether the frame is one segment now
 */
static bool
linearise_frame(struct uroce_worker *worker, struct rte_mbuf **frame)
{
	if (likely((*frame)->nb_segs == 1))
		return true;
	uroce_worker_count(worker, UROCE_COUNTER_RX_LINEARISED, 1);
	return rte_pktmbuf_linearize(*frame) == 0 || replace_by_copy(worker, frame);
}

/*
 * Parse a frame.
 * @return UNDECIDED if the frame may be for this device, otherwise its final verdict
 */
static uint8_t
parse_frame(struct uroce_worker *worker, const struct rte_mbuf *mbuf, struct uroce_pkt *pkt)
{
	const uint8_t verdict =
		uroce_parse(rte_pktmbuf_mtod(mbuf, const uint8_t *), mbuf->data_len, pkt);

	if (verdict > UROCE_VERDICT_DATAGRAM)
		return verdict;
	uroce_qpn_fetch(worker->dev->qpns, pkt->dest_qpn);
	if (!(is_to_us(worker->dev, pkt) || uroce_mcast_group_has(worker->dev, pkt)) ||
	    !is_our_vlan(worker->dev, pkt))
		return UROCE_VERDICT_WRONG_PEER;
	if (worker->rx.is_from_wire && is_from_us(worker->dev, pkt)) {
		uroce_worker_count(worker, UROCE_COUNTER_RX_OUR_SOURCE, 1);
		return UROCE_VERDICT_WRONG_PEER;
	}
	return UNDECIDED;
}

/*
 * Parse all frames of a group. Most frames have the same headers as the previous one. Such a frame
 * is only compared with a template, which takes less time.
 */
static void
parse_all(struct uroce_worker *worker, struct rte_mbuf **frames, unsigned nb)
{
	struct uroce_rx *rx = &worker->rx;
	/*
	 * The template is the latest frame that was parsed without a template and is for this
	 * device.
	 */
	const struct uroce_pkt *tmpl =
		nb == 1 && rx->has_single && (rx->is_single_from_wire || !rx->is_from_wire)
			? &rx->single
			: NULL;

	for (unsigned i = 0; i < nb; i++) {
		const struct rte_mbuf *mbuf;
		struct uroce_pkt *pkt = &rx->pkt[i];

		if (i + 4 < nb)
			rte_prefetch0(rte_pktmbuf_mtod(frames[i + 4], const void *));
		if (!linearise_frame(worker, &frames[i])) {
			rx->verdict[i] = UROCE_VERDICT_TRUNCATED;
			continue;
		}
		mbuf = frames[i];
		if (tmpl && uroce_parse_by_template(rte_pktmbuf_mtod(mbuf, const uint8_t *),
						    mbuf->data_len, tmpl, pkt)) {
			rx->verdict[i] = UNDECIDED;
			continue;
		}
		rx->verdict[i] = parse_frame(worker, mbuf, pkt);
		if (rx->verdict[i] == UNDECIDED)
			tmpl = pkt;
	}
	if (nb == 1 && tmpl == &rx->pkt[0]) {
		uroce_parse_make_template(tmpl, rx->single_hdr, &rx->single);
		rx->has_single = true;
		rx->is_single_from_wire = rx->is_from_wire;
	}
}

static bool
is_icrc_right(const struct uroce_rx *rx, const struct uroce_pkt *pkt)
{
	return likely(!rx->is_ident_unknown) ? uroce_pkt_check_icrc(pkt)
					     : uroce_pkt_check_icrc_any_ident(pkt);
}

static void
verify_all(struct uroce_rx *rx, unsigned nb)
{
	for (unsigned i = 0; i < nb; i++) {
		if (rx->verdict[i] == UNDECIDED && !is_icrc_right(rx, &rx->pkt[i]))
			rx->verdict[i] = UROCE_VERDICT_BAD_ICRC;
	}
}

/* Whether a request packet consumes a receive request, or may do so. */
static bool
takes_recv(const struct uroce_pkt *pkt)
{
	return pkt->op->flags & UROCE_OPF_IMM || pkt->op->operation == UROCE_OPERATION_SEND;
}

/*
 * Prefetch the contexts of the QPs while the ICRCs of the frames are verified. A frame that is not
 * verified yet causes a prefetch and nothing else.
 */
static void
fetch_contexts(const struct uroce_worker *worker, unsigned nb)
{
	const struct uroce_rx *rx = &worker->rx;
	const struct uroce_worker_qp *last = NULL;

	for (unsigned i = 0; i < nb; i++) {
		const struct uroce_worker_qp *wqp;

		if (rx->verdict[i] != UNDECIDED)
			continue;
		wqp = uroce_qpn_peek(worker->dev->qpns, rx->pkt[i].dest_qpn);
		if (wqp && wqp != last) {
			uroce_worker_qp_fetch(wqp);
			if (rx->pkt[i].op->flags & UROCE_OPF_RESPONSE)
				uroce_qpc_fetch_req(&wqp->qpc);
			else
				uroce_qpc_fetch_resp(&wqp->qpc, takes_recv(&rx->pkt[i]));
		}
		last = wqp;
	}
}

/*
 * Prefetch the memory that a packet will use next: for a response the send queue, for a packet that
 * takes a receive request this request, and for another WRITE the destination of its payload. The
 * address in the RETH is used as an address of this process, which is usually right. A prefetch of
 * a wrong address does no harm. The rkey is checked later.
 */
static void
prefetch_for(const struct uroce_worker_qp *wqp, const struct uroce_pkt *pkt)
{
	if (pkt->op->flags & UROCE_OPF_RESPONSE)
		uroce_qpc_fetch_queue(&wqp->qpc);
	else if (takes_recv(pkt))
		uroce_qpc_fetch_recv(&wqp->qpc);
	else if (pkt->op->ext_mask & 1 << UROCE_EXT_RETH)
		__builtin_prefetch((const void *)(uintptr_t)be64_get(uroce_pkt_reth(pkt)->va), 1);
}

/*
 * Look up the QPs of a group of frames. A frame that is still UNDECIDED and has no QP is for the
 * members of a multicast group.
 */
static void
look_up_all(struct uroce_worker *worker, unsigned nb)
{
	struct uroce_rx *rx = &worker->rx;
	const struct uroce_worker_qp *last = NULL;

	for (unsigned i = 0; i < nb; i++) {
		struct uroce_worker_qp *wqp;

		if (rx->verdict[i] != UNDECIDED)
			continue;
		if (unlikely(rx->pkt[i].dest_qpn == UROCE_QPN_GSI) &&
		    uroce_perf_mgt_is_get(&rx->pkt[i]) && is_to_us(worker->dev, &rx->pkt[i])) {
			rx->verdict[i] = uroce_perf_mgt_may_reply(&rx->replies, worker->now_ns)
						 ? ANSWERED
						 : UROCE_VERDICT_LIMITED;
			continue;
		}
		wqp = uroce_qpn_lookup(worker->dev->qpns, rx->pkt[i].dest_qpn);
		rx->wqp[i] = wqp;
		if (!wqp && !uroce_mcast_group_has(worker->dev, &rx->pkt[i]))
			rx->verdict[i] = UROCE_VERDICT_NO_QP;
		/*
		 * nothing is prefetched for a QP of another worker, because that worker changes the
		 * data
		 */
		if (!wqp || wqp == last || uroce_worker_qp_worker(wqp) != worker)
			continue;
		last = wqp;
		prefetch_for(wqp, &rx->pkt[i]);
	}
}

/*
 * Whether an embedder gets a frame with this verdict back, because the frame may not be RoCE for
 * this device.
 */
static bool
is_foreign(enum uroce_verdict verdict)
{
	return verdict == UROCE_VERDICT_NOT_ROCE || verdict == UROCE_VERDICT_TRUNCATED ||
	       verdict == UROCE_VERDICT_BAD_IP || verdict == UROCE_VERDICT_WRONG_PEER;
}

/* The sources from which a worker gets frames that it processes. */
enum source {
	PORT,
	/* frames from this device to itself; their ICRC must be verified */
	LOOPED_BACK,
	FORWARDED, /* frames from another worker, which has verified their ICRC */
	/*
	 * Frames that waited in this worker for their migrating QP; their ICRC has been verified.
	 */
	MIGRATED,
};

/*
 * Whether frames from `source` have not been processed by any worker yet: frames that the port
 * received or that were looped back. Their ICRC must be verified.
 */
static bool
is_direct(enum source source)
{
	return source == PORT || source == LOOPED_BACK;
}

/* The lists into which a worker sorts the frames of a burst. */
struct outcome {
	struct rte_mbuf *done[UROCE_BURST];
	unsigned nb_done;
	/* Frames for the embedder; NULL: there is no embedder, and such frames are freed. */
	struct rte_mbuf **rest;
	unsigned nb_rest;
	uint64_t nb_bytes;   /* number of bytes of all frames of the burst */
	unsigned nb_foreign; /* number of frames that are not RoCE for this device */
	/* Number of bytes of the frames that are not RoCE for this device. */
	uint64_t foreign_bytes;
	/* Number of frames to multicast groups that have members on this device. */
	unsigned nb_groups;
	struct uroce_worker *owner; /* worker to which the frames in `forwarded` go */
	struct rte_mbuf *forwarded[UROCE_BURST];
	unsigned nb_forwarded;
};

/*
 * Forward the frames that `out` has collected to the worker that owns their QPs. That worker parses
 * the frames again.
 */
static void
forward_frames(struct uroce_worker *worker, struct outcome *out)
{
	const unsigned nb = out->nb_forwarded;
	unsigned nb_sent;

	if (nb == 0)
		return;
	nb_sent = rte_ring_enqueue_burst(out->owner->forwarded, (void **)out->forwarded, nb, NULL);
	uroce_count(&worker->stats.verdict[UROCE_VERDICT_FORWARDED], nb_sent);
	uroce_count(&worker->stats.verdict[UROCE_VERDICT_OVERRUN], nb - nb_sent);
	rte_pktmbuf_free_bulk(out->forwarded + nb_sent, nb - nb_sent);
	out->nb_forwarded = 0;
}

/*
 * Handle a frame for a QP of another worker, or for a QP whose earlier frames wait for its
 * migration: queue or forward the frame.
 */
static void
pass_to_owner(struct uroce_worker *worker, struct uroce_worker_qp *wqp, unsigned at,
	      struct rte_mbuf *mbuf, enum source source, struct outcome *out)
{
	const uint32_t qpn = worker->rx.pkt[at].dest_qpn;
	struct uroce_worker *owner = uroce_worker_qp_worker(wqp);

	if (is_direct(source) && unlikely(uroce_migrate_is_expected(worker, wqp, qpn))) {
		/*
		 * the collected frames are forwarded first, because they arrived before this frame
		 */
		forward_frames(worker, out);
		if (uroce_migrate_queue(worker, wqp, qpn, mbuf))
			return;
		uroce_count(&worker->stats.verdict[UROCE_VERDICT_OVERRUN], 1);
		out->done[out->nb_done++] = mbuf;
		return;
	}
	if (owner != out->owner)
		forward_frames(worker, out);
	out->owner = owner;
	mbuf->hash.usr = worker->idx;
	out->forwarded[out->nb_forwarded++] = mbuf;
}

/* Handle a frame that no QP of this worker receives. */
static void
dispose_frame(struct uroce_worker *worker, struct rte_mbuf *mbuf, enum uroce_verdict verdict,
	      bool is_ours, struct outcome *out)
{
	uroce_count(&worker->stats.verdict[verdict], 1);
	if (verdict == UROCE_VERDICT_FORWARDED)
		return;
	if (!is_ours) {
		out->nb_foreign++;
		out->foreign_bytes += mbuf->pkt_len;
	}
	if (verdict == UROCE_VERDICT_NOT_ROCE && uroce_own_reply_to_non_roce(worker, mbuf))
		return;
	if (out->rest && !is_ours)
		out->rest[out->nb_rest++] = mbuf;
	else
		out->done[out->nb_done++] = mbuf;
}

/* Process the frame with index `at`, which is not for a QP of this worker. */
static void
act_on_other(struct uroce_worker *worker, struct rte_mbuf *mbuf, unsigned at, enum source source,
	     struct outcome *out)
{
	struct uroce_rx *rx = &worker->rx;
	const enum uroce_verdict parse_verdict = rx->verdict[at];
	enum uroce_verdict verdict = parse_verdict;

	if (rx->verdict[at] == ANSWERED) {
		uroce_own_reply_class_port_info(worker, mbuf, &rx->pkt[at]);
		return;
	}
	if (parse_verdict == UNDECIDED && rx->wqp[at]) {
		pass_to_owner(worker, rx->wqp[at], at, mbuf, source, out);
		return;
	}
	if (parse_verdict == UNDECIDED) {
		out->nb_groups++;
		verdict =
			uroce_mcast_group_deliver(worker, &rx->pkt[at], mbuf, source != FORWARDED);
	}
	dispose_frame(worker, mbuf, verdict, !is_foreign(parse_verdict), out);
}

/*
 * Find the QP of the frame with index `at`, if this worker owns the QP.
 * @return the QP; NULL: the frame is for no QP of this worker
 */
static struct uroce_worker_qp *
find_own_qp(const struct uroce_worker *worker, unsigned at)
{
	const struct uroce_rx *rx = &worker->rx;

	if (rx->verdict[at] != UNDECIDED || !rx->wqp[at] ||
	    uroce_worker_qp_worker(rx->wqp[at]) != worker)
		return NULL;
	return rx->wqp[at];
}

/*
 * Count the verdicts of consecutive frames. Most of the time the verdicts are equal, and then they
 * are counted in one step.
 */
static void
count_verdicts(struct uroce_worker *worker, const uint8_t *verdicts, unsigned nb)
{
	for (unsigned i = 0, n; i < nb; i += n) {
		for (n = 1; i + n < nb && verdicts[i + n] == verdicts[i];)
			n++;
		uroce_count(&worker->stats.verdict[verdicts[i]], n);
	}
}

/*
 * Pass consecutive frames of one QP to the QP, from index `at` to at most `end`.
 * @param[in,out] flags  opcode flags that all frames of the QP have in common
 * @return number of frames that the QP took
 */
static unsigned
act_on_run(struct uroce_worker *worker, struct uroce_worker_qp *wqp, struct rte_mbuf **frames,
	   unsigned at, unsigned end, struct outcome *out, unsigned *flags)
{
	struct uroce_rx *rx = &worker->rx;
	unsigned to = at, nb, nb_marked = 0;

	do {
		rx->pkt[to].owner = frames[to];
		*flags &= rx->pkt[to].op->flags;
		nb_marked += (rx->pkt[to].tclass & UROCE_ECN_MASK) == UROCE_ECN_CE;
		to++;
	} while (to < end && find_own_qp(worker, to) == wqp);
	nb = uroce_qpc_recv_burst(&wqp->qpc, &rx->pkt[at], to - at, &rx->verdict[at],
				  worker->now_ns);
	count_verdicts(worker, &rx->verdict[at], nb);
	if (unlikely(nb_marked > 0))
		uroce_worker_count(worker, UROCE_COUNTER_NP_ECN_MARKED_ROCE_PACKETS, nb_marked);
	/* Only the last frame that the QP took can be a frame that the transport keeps. */
	const bool is_kept = rx->verdict[at + nb - 1] == UROCE_VERDICT_OOO_BUFFERED &&
			     uroce_reorder_mbuf_keep(worker, frames[at + nb - 1]);

	memcpy(&out->done[out->nb_done], &frames[at], (nb - is_kept) * sizeof(*frames));
	out->nb_done += nb - is_kept;
	return nb;
}

/*
 * Schedule the QP after the QP has received frames.
 * @param flags  opcode flags that all these frames have in common
 */
static void
schedule_follow_up(struct uroce_worker *worker, struct uroce_worker_qp *wqp, unsigned flags)
{
	if (flags & UROCE_OPF_REQUEST)
		uroce_worker_follow_up_requests(worker, wqp);
	else
		uroce_worker_follow_up(worker, wqp);
}

/*
 * Whether the frame with index `at` must wait behind earlier frames that wait for the QP's
 * migration. The function is used only with several workers.
 */
static bool
must_wait_for_migration(struct uroce_worker *worker, struct uroce_worker_qp *wqp, unsigned at,
			enum source source)
{
	if (is_direct(source) && worker->migrating.nb > 0 &&
	    uroce_migrate_is_expected(worker, wqp, worker->rx.pkt[at].dest_qpn))
		return true;
	if (unlikely(wqp->is_migrated))
		uroce_migrate_complete(worker, wqp);
	return false;
}

static void
note_arrival(struct uroce_worker *worker, struct uroce_worker_qp *wqp, const struct rte_mbuf *mbuf,
	     unsigned nb, enum source source)
{
	if (source == FORWARDED)
		uroce_migrate_count(wqp, worker, mbuf->hash.usr, nb);
	else
		uroce_migrate_stay(wqp);
}

static void
act_all(struct uroce_worker *worker, struct rte_mbuf **frames, unsigned nb, enum source source,
	struct outcome *out)
{
	/* QP that received frames and has not been scheduled yet; NULL: there is no such QP */
	struct uroce_worker_qp *last = NULL;
	/* opcode flags that all frames received by the QP `last` have in common */
	unsigned flags = UINT8_MAX;

	for (unsigned at = 0, n; at < nb; at += n) {
		struct uroce_worker_qp *wqp = find_own_qp(worker, at);

		n = 1;
		if (!wqp) {
			act_on_other(worker, frames[at], at, source, out);
			continue;
		}
		if (worker->forwarded && must_wait_for_migration(worker, wqp, at, source)) {
			pass_to_owner(worker, wqp, at, frames[at], source, out);
			continue;
		}
		if (last && last != wqp) {
			schedule_follow_up(worker, last, flags);
			flags = UINT8_MAX;
		}
		n = act_on_run(worker, wqp, frames, at, nb, out, &flags);
		if (worker->forwarded)
			note_arrival(worker, wqp, frames[at], n, source);
		last = wqp;
	}
	if (last)
		schedule_follow_up(worker, last, flags);
}

/*
 * Get the number of received frames that form the next group. The bytes of a group stay in the
 * first-level cache between the passes of the receive stage. A group has at least one frame.
 * @param[in,out] nb_bytes  is increased by the bytes of these frames
 */
static unsigned
group_len(struct rte_mbuf **frames, unsigned nb, uint64_t *nb_bytes)
{
	uint32_t bytes = frames[0]->pkt_len;
	unsigned n = 1;

	while (n < nb && bytes + frames[n]->pkt_len <= GROUP_BYTES)
		bytes += frames[n++]->pkt_len;
	*nb_bytes += bytes;
	return n;
}

/* Count the frames of a burst that the port received. */
static void
count_received(struct uroce_worker *worker, unsigned nb, const struct outcome *out)
{
	uroce_worker_count(worker, UROCE_COUNTER_RX_FRAMES, nb);
	uroce_worker_count(worker, UROCE_COUNTER_PORT_RCV_PACKETS, nb - out->nb_foreign);
	uroce_worker_count(worker, UROCE_COUNTER_PORT_RCV_DATA, out->nb_bytes - out->foreign_bytes);
	if (out->nb_groups > 0)
		uroce_worker_count(worker, UROCE_COUNTER_MULTICAST_RCV_PACKETS, out->nb_groups);
}

static unsigned
input_frames(struct uroce_worker *worker, struct rte_mbuf **frames, unsigned nb,
	     struct rte_mbuf **rest, enum source source)
{
	/* the struct is not initialized to zeros, because its arrays are long */
	struct outcome out;

	out.rest = rest;
	out.nb_done = 0;
	out.nb_rest = 0;
	out.nb_bytes = 0;
	out.nb_foreign = 0;
	out.foreign_bytes = 0;
	out.nb_groups = 0;
	out.owner = NULL;
	out.nb_forwarded = 0;
	/*
	 * The check for forged source addresses is off for frames from the daemon uroced. Other
	 * clients of uroced share this device's addresses, and uroced makes this check itself.
	 */
	worker->rx.is_from_wire = source == PORT && !worker->dev->port->mux_client;
	worker->rx.is_ident_unknown = source == PORT && worker->dev->port->policy->is_ident_unknown;

	for (unsigned at = 0, n; at < nb; at += n) {
		n = group_len(frames + at, nb - at, &out.nb_bytes);
		parse_all(worker, frames + at, n);
		uroce_stage_lap(UROCE_STAGE_PARSE, n);
		fetch_contexts(worker, n);
		if (is_direct(source))
			verify_all(&worker->rx, n);
		uroce_stage_lap(UROCE_STAGE_VERIFY, n);
		look_up_all(worker, n);
		uroce_stage_lap(UROCE_STAGE_LOOK_UP, n);
		act_all(worker, frames + at, n, source, &out);
		uroce_stage_lap(UROCE_STAGE_ACT, n);
	}
	forward_frames(worker, &out);
	uroce_publish_await_ack(worker);
	if (source == PORT)
		count_received(worker, nb, &out);
	/*
	 * The frame of a burst of one frame is freed later, because the program may wait for its
	 * message.
	 */
	if (is_direct(source) && !rest && out.nb_done == 1 && !worker->rx.done)
		worker->rx.done = out.done[0];
	else
		rte_pktmbuf_free_bulk(out.done, out.nb_done);
	uroce_stage_lap(UROCE_STAGE_FREE, out.nb_done);
	return out.nb_rest;
}

unsigned
uroce_rx_input(struct uroce_worker *worker, struct rte_mbuf **frames, unsigned nb,
	       struct rte_mbuf **rest)
{
	return input_frames(worker, frames, nb, rest, PORT);
}

/* Process the frames that waited in this worker for QPs which have migrated to it meanwhile. */
static void
input_migrated(struct uroce_worker *worker)
{
	struct rte_mbuf *frames[UROCE_MIGRATING_MAX];
	const unsigned nb = uroce_migrate_dequeue(worker, frames);

	for (unsigned i = 0; i < nb; i += UROCE_BURST)
		(void)input_frames(worker, frames + i, RTE_MIN(nb - i, UROCE_BURST), NULL,
				   MIGRATED);
}

/* The number of frames in `entries` before the next entry that requests the migration of a QP. */
static unsigned
count_before_request(void *const *entries, unsigned nb)
{
	unsigned n = 0;

	while (n < nb && !uroce_migrate_is_request(entries[n]))
		n++;
	return n;
}

/* Process frames that other workers forwarded. These workers have verified the ICRCs. */
unsigned
uroce_rx_forwarded(struct uroce_worker *worker)
{
	void **entries = (void **)worker->rx.mbuf;
	unsigned nb, nb_frames = 0;

	if (!worker->forwarded)
		return 0;
	if (worker->migrating.nb > 0)
		input_migrated(worker);
	nb = rte_ring_sc_dequeue_burst(worker->forwarded, entries, UROCE_BURST, NULL);
	for (unsigned at = 0, n; at < nb; at += n + 1) {
		n = count_before_request(entries + at, nb - at);
		if (n > 0)
			(void)input_frames(worker, worker->rx.mbuf + at, n, NULL, FORWARDED);
		if (at + n < nb)
			uroce_migrate_grant(worker, entries[at + n]);
		nb_frames += n;
	}
	uroce_worker_count(worker, UROCE_COUNTER_FORWARDED_PKTS, nb_frames);
	return nb_frames;
}

void
uroce_rx_free(struct uroce_worker *worker)
{
	if (!worker->rx.done)
		return;
	rte_pktmbuf_free(worker->rx.done);
	worker->rx.done = NULL;
}

unsigned
uroce_rx_loopback(struct uroce_worker *worker)
{
	struct uroce_loopback *loop = &worker->loopback;
	const unsigned nb = loop->nb;

	if (nb == 0)
		return 0;
	for (unsigned at = 0; at < nb; at += UROCE_BURST)
		(void)input_frames(worker, loop->frame + at, RTE_MIN(nb - at, UROCE_BURST), NULL,
				   LOOPED_BACK);
	loop->nb = 0;
	uroce_worker_count(worker, UROCE_COUNTER_LOOPBACK_PKTS, nb);
	return nb;
}

static uint16_t
receive_burst(const struct uroce_port *port, uint16_t queue, struct rte_mbuf **frames)
{
	if (likely(port->policy->burst == UROCE_BURST_ETHDEV))
		return rte_eth_rx_burst(port->id, queue, frames, UROCE_BURST);
	if (port->policy->burst == UROCE_BURST_MUX)
		return uroce_mux_client_rx(port, queue, frames, UROCE_BURST);
	if (port->policy->burst == UROCE_BURST_UDP)
		return uroce_udp_port_rx(port, queue, frames, UROCE_BURST);
	if (port->policy->burst == UROCE_BURST_TX_ONLY)
		return 0;
	return uroce_fault_guard_rx(port->id, queue, frames, UROCE_BURST);
}

unsigned
uroce_rx_run(struct uroce_worker *worker)
{
	const struct uroce_port *port = worker->dev->port;
	struct rte_mbuf **frames = worker->rx.mbuf;
	unsigned nb_inside = uroce_rx_forwarded(worker);
	unsigned nb;

	uroce_rx_free(worker);
	nb_inside += uroce_rx_loopback(worker);
	if (!uroce_port_is_ready(port))
		return nb_inside;
	nb = receive_burst(port, worker->queue, frames);
	uroce_stage_lap(nb > 0 ? UROCE_STAGE_RX_BURST : UROCE_STAGE_RX_EMPTY, nb);
	if (nb > 0)
		(void)uroce_rx_input(worker, frames, nb, NULL);
	return nb_inside + nb;
}
