/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Frames in, in passes over a burst, so that each pass runs in the instruction cache and the loads
 * of the next one are under way meanwhile:
 *
 *	1  parse, and see whether the address is ours
 *	2  fetch the contexts of the QPs
 *	3  verify the ICRC: it reads the whole frame, which is then in the cache for the copy
 *	4  look the QPs up, and fetch what their queues hold next
 *	5  act: hand the frame to its QP, or to the worker that owns it (migration.c); answer what is not RoCE
 *
 * A burst of large frames is more than the nearest cache holds: it is taken in groups.
 */

#include <string.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include "datapath/mux_client.h"
#include "datapath/gid.h"
#include "datapath/mcast_group.h"
#include "datapath/fault_guard.h"
#include "datapath/neigh.h"
#include "datapath/qpn.h"
#include "datapath/round.h"
#include "datapath/stage.h"
#include "wire/build.h"

/* Bytes of frames that are taken through the passes at a time: a third of a small first-level cache. */
#define GROUP_BYTES (16 * 1024)

/* "Go on": no verdict yet. */
#define UNDECIDED UROCE_VERDICT_NB

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

/* What we send to ourselves does not leave: such a frame was forged, or comes back from a group that we sent it to. */
static bool
is_from_us(const struct uroce_dev *dev, const struct uroce_pkt *pkt)
{
	return is_our_ip(dev, pkt->is_ipv6,
			 pkt->is_ipv6 ? ((const struct uroce_ipv6 *)pkt->ip)->src
				      : ((const struct uroce_ipv4 *)pkt->ip)->src);
}

/* Tag 0 is a priority without a network [802.1Q]. */
static bool
is_our_vlan(const struct uroce_dev *dev, const struct uroce_pkt *pkt)
{
	return (pkt->vlan_tci & 0xfff) == (dev->conf.has_vlan ? dev->conf.vlan_tci & 0xfff : 0);
}

/* @return whether the frame now is one segment */
static bool
linearise_frame(struct uroce_worker *worker, struct rte_mbuf *mbuf)
{
	if (likely(mbuf->nb_segs == 1))
		return true;
	uroce_worker_count(worker, UROCE_COUNTER_RX_LINEARISED, 1);
	return rte_pktmbuf_linearize(mbuf) == 0;
}

/* What to say of a frame before it is verified, and what is in it. */
static uint8_t
parse_frame(struct uroce_worker *worker, struct rte_mbuf *mbuf, struct uroce_pkt *pkt)
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

/* Most frames are like the one before, and what is said of that holds for them. */
static void
parse_all(struct uroce_worker *worker, struct rte_mbuf **frames, unsigned nb)
{
	struct uroce_rx *rx = &worker->rx;
	/* the last one that is different and for us */
	const struct uroce_pkt *tmpl =
		nb == 1 && rx->has_single && (rx->is_single_from_wire || !rx->is_from_wire)
			? &rx->single
			: NULL;

	for (unsigned i = 0; i < nb; i++) {
		struct rte_mbuf *mbuf = frames[i];
		struct uroce_pkt *pkt = &rx->pkt[i];

		if (i + 4 < nb)
			rte_prefetch0(rte_pktmbuf_mtod(frames[i + 4], const void *));
		if (!linearise_frame(worker, mbuf)) {
			rx->verdict[i] = UROCE_VERDICT_TRUNCATED;
			continue;
		}
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

static void
verify_all(struct uroce_rx *rx, unsigned nb)
{
	for (unsigned i = 0; i < nb; i++) {
		if (rx->verdict[i] == UNDECIDED && !uroce_pkt_check_icrc(&rx->pkt[i]))
			rx->verdict[i] = UROCE_VERDICT_BAD_ICRC;
	}
}

/* Whether a request takes a receive request, or it might. */
static bool
takes_recv(const struct uroce_pkt *pkt)
{
	return pkt->op->flags & UROCE_OPF_IMM || pkt->op->operation == UROCE_OPERATION_SEND;
}

/*
 * Contexts are fetched while the frames are verified. Nothing is believed by that: a frame that is not
 * true costs the fetching.
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
 * What the context leads to: of a WRITE the memory, which mostly has the same address here as with the
 * peer. Whether the peer may write there, and where that is, is found out later.
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

/* No QP, and undecided: the frame is for the members of a group. */
static void
look_up_all(struct uroce_worker *worker, unsigned nb)
{
	struct uroce_rx *rx = &worker->rx;
	const struct uroce_worker_qp *last = NULL;

	for (unsigned i = 0; i < nb; i++) {
		struct uroce_worker_qp *wqp;

		if (rx->verdict[i] != UNDECIDED)
			continue;
		wqp = uroce_qpn_lookup(worker->dev->qpns, rx->pkt[i].dest_qpn);
		rx->wqp[i] = wqp;
		if (!wqp && !uroce_mcast_group_has(worker->dev, &rx->pkt[i]))
			rx->verdict[i] = UROCE_VERDICT_NO_QP;
		/* what another worker's leads to is changing, and is not wanted here */
		if (!wqp || wqp == last || uroce_worker_qp_worker(wqp) != worker)
			continue;
		last = wqp;
		prefetch_for(wqp, &rx->pkt[i]);
	}
}

/* Neighbours and ping, where we answer for the address. @return whether the frame was taken */
static bool
reply_non_roce(struct uroce_worker *worker, struct rte_mbuf *mbuf)
{
	uint32_t len = mbuf->data_len;

	if (!worker->dev->neigh || mbuf->nb_segs != 1)
		return false;
	if (uroce_neigh_input(worker->dev->neigh, rte_pktmbuf_mtod(mbuf, uint8_t *), &len,
			      len + rte_pktmbuf_tailroom(mbuf),
			      worker->now_ns) != UROCE_NEIGH_REPLY)
		return false;
	mbuf->data_len = (uint16_t)len;
	mbuf->pkt_len = len;
	mbuf->ol_flags = 0;
	uroce_tx_push(worker, mbuf);
	return true;
}

/* What an embedder may want back: frames of which we cannot say that they are RoCE for us. */
static bool
is_foreign(enum uroce_verdict verdict)
{
	return verdict == UROCE_VERDICT_NOT_ROCE || verdict == UROCE_VERDICT_TRUNCATED ||
	       verdict == UROCE_VERDICT_BAD_IP || verdict == UROCE_VERDICT_WRONG_PEER;
}

/* Where frames come from. */
enum source {
	PORT,
	LOOPED_BACK, /* from ourselves: to be verified, as those are */
	FORWARDED,   /* from another worker, which has verified them */
	MIGRATED,    /* the same, of this one */
};

/* Whether nobody has seen them yet. */
static bool
is_direct(enum source source)
{
	return source == PORT || source == LOOPED_BACK;
}

/* Where frames end up: a burst has one of these. */
struct outcome {
	struct rte_mbuf *done[UROCE_BURST];
	unsigned nb_done;
	struct rte_mbuf **rest; /* NULL: there is no rest */
	unsigned nb_rest;
	uint64_t nb_bytes;          /* of all frames */
	unsigned nb_foreign;        /* of them, those that are not RoCE for us */
	uint64_t foreign_bytes;     /* of these */
	unsigned nb_groups;         /* frames to groups that have members */
	struct uroce_worker *owner; /* of the QPs that `forwarded` are for */
	struct rte_mbuf *forwarded[UROCE_BURST];
	unsigned nb_forwarded;
};

/* To the worker that owns their QPs, which parses them again. */
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

/* A frame for a QP that lives elsewhere, or whose frames before it are parked. */
static void
pass_to_owner(struct uroce_worker *worker, struct uroce_worker_qp *wqp, unsigned at,
	      struct rte_mbuf *mbuf, enum source source, struct outcome *out)
{
	const uint32_t qpn = worker->rx.pkt[at].dest_qpn;
	struct uroce_worker *owner = uroce_worker_qp_worker(wqp);

	if (is_direct(source) && unlikely(uroce_migrate_is_expected(worker, wqp, qpn))) {
		forward_frames(worker, out); /* they are older */
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

/* A frame that no QP of ours took. */
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
	if (verdict == UROCE_VERDICT_NOT_ROCE && reply_non_roce(worker, mbuf))
		return;
	if (out->rest && !is_ours)
		out->rest[out->nb_rest++] = mbuf;
	else
		out->done[out->nb_done++] = mbuf;
}

/* Frame `at`, which is not for a QP of ours. */
static void
act_on_other(struct uroce_worker *worker, struct rte_mbuf *mbuf, unsigned at, enum source source,
	     struct outcome *out)
{
	struct uroce_rx *rx = &worker->rx;
	const enum uroce_verdict door = rx->verdict[at];
	enum uroce_verdict verdict = door;

	if (door == UNDECIDED && rx->wqp[at]) {
		pass_to_owner(worker, rx->wqp[at], at, mbuf, source, out);
		return;
	}
	if (door == UNDECIDED) {
		out->nb_groups++;
		verdict =
			uroce_mcast_group_deliver(worker, &rx->pkt[at], mbuf, source != FORWARDED);
	}
	dispose_frame(worker, mbuf, verdict, !is_foreign(door), out);
}

/* Whether frame `at` is for a QP of ours; NULL: no. */
static struct uroce_worker_qp *
find_own_qp(const struct uroce_worker *worker, unsigned at)
{
	const struct uroce_rx *rx = &worker->rx;

	if (rx->verdict[at] != UNDECIDED || !rx->wqp[at] ||
	    uroce_worker_qp_worker(rx->wqp[at]) != worker)
		return NULL;
	return rx->wqp[at];
}

/* Of a run: mostly one verdict, many times. */
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
 * The frames from `at` on, before `end`, that are for this QP, as many as it takes.
 * @param[in,out] flags  those of their opcodes that all have in common
 * @return how many
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
	/* a held frame is the last of its run */
	const bool is_kept = rx->verdict[at + nb - 1] == UROCE_VERDICT_OOO_BUFFERED &&
			     uroce_reorder_mbuf_keep(worker, frames[at + nb - 1]);

	memcpy(&out->done[out->nb_done], &frames[at], (nb - is_kept) * sizeof(*frames));
	out->nb_done += nb - is_kept;
	return nb;
}

/* What frames have to be followed by that have these flags in common. */
static void
schedule_follow_up(struct uroce_worker *worker, struct uroce_worker_qp *wqp, unsigned flags)
{
	if (flags & UROCE_OPF_REQUEST)
		uroce_worker_follow_up_requests(worker, wqp);
	else
		uroce_worker_follow_up(worker, wqp);
}

/* Where there are several workers. @return whether frame `at` has to wait for some that are parked */
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
	struct uroce_worker_qp *last = NULL; /* called, not yet settled */
	unsigned flags = UINT8_MAX;          /* common to what it was called for */

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

/* Frames whose bytes, which are added, stay in the nearest cache from one pass to the next; at least one. */
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

/* What the port brought. */
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
	struct outcome out; /* not zeroed: its lists are long */

	out.rest = rest;
	out.nb_done = 0;
	out.nb_rest = 0;
	out.nb_bytes = 0;
	out.nb_foreign = 0;
	out.foreign_bytes = 0;
	out.nb_groups = 0;
	out.owner = NULL;
	out.nb_forwarded = 0;
	/* what uroced passes on may be from another of its clients, who have our address; it has judged that itself */
	worker->rx.is_from_wire = source == PORT && !worker->dev->port->mux_client;

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
	/* a program may wait for what was in it */
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

void
uroce_rx_migrated(struct uroce_worker *worker, struct rte_mbuf **frames, unsigned nb)
{
	(void)input_frames(worker, frames, nb, NULL, MIGRATED);
}

/* Entries from `at` on that are frames, up to the next question for a QP. */
static unsigned
count_before_request(void *const *entries, unsigned nb)
{
	unsigned n = 0;

	while (n < nb && !uroce_migrate_is_request(entries[n]))
		n++;
	return n;
}

/* They were verified where they were received. */
unsigned
uroce_rx_forwarded(struct uroce_worker *worker)
{
	void **entries = (void **)worker->rx.mbuf;
	unsigned nb, nb_frames = 0;

	if (!worker->forwarded)
		return 0;
	if (worker->migrating.nb > 0)
		uroce_migrate_dequeue(worker);
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
