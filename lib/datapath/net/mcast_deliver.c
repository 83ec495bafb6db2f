/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Delivery of frames to the members of multicast groups. A frame is one mbuf for all workers that
 * have members of its group. Each of these workers holds a reference, and none of them writes to
 * the frame.
 */

#include "datapath/net/mcast_group.h"

#include <rte_ether.h>
#include <rte_ring.h>

#include "datapath/device/dev.h"
#include "datapath/worker/round.h"
#include "wire/parse.h"

bool
uroce_mcast_group_has(const struct uroce_dev *dev, const struct uroce_pkt *pkt)
{
	uint8_t gid[16];

	if (pkt->dest_qpn != UROCE_MCAST_QPN)
		return false;
	uroce_pkt_dgid(pkt, gid);
	return uroce_gid_is_multicast(gid) && uroce_mcast_count(dev->mcast, gid) > 0;
}

/*
 * Forward a frame to other workers of the device.
 * @param workers  the workers that get the frame: bit i stands for worker i
 * @return number of workers that have a reference to the frame now
 */
static unsigned
forward_to_workers(struct uroce_worker *worker, uint32_t workers, struct rte_mbuf *mbuf)
{
	unsigned nb = 0;

	for (; workers != 0; workers &= workers - 1) {
		struct uroce_worker *other = worker->dev->worker[__builtin_ctz(workers)];

		rte_mbuf_refcnt_update(mbuf, 1);
		if (rte_ring_enqueue(other->forwarded, mbuf) == 0) {
			nb++;
			continue;
		}
		rte_mbuf_refcnt_update(mbuf, -1);
		uroce_count(&worker->stats.verdict[UROCE_VERDICT_OVERRUN], 1);
		uroce_count(&worker->stats.rx_shared, 1);
	}
	return nb;
}

enum uroce_verdict
uroce_mcast_group_deliver(struct uroce_worker *worker, const struct uroce_pkt *pkt,
			  struct rte_mbuf *mbuf, bool is_first)
{
	/* The verdict stays FORWARDED if no QP of this worker is a member of the group. */
	enum uroce_verdict verdict = UROCE_VERDICT_FORWARDED;
	struct uroce_mcast_walk walk;
	struct uroce_worker_qp *wqp;
	uint32_t others = 0;
	uint8_t gid[16];
	unsigned nb_forwarded;

	uroce_pkt_dgid(pkt, gid);
	uroce_mcast_walk_begin(&walk, worker->dev->mcast, gid);
	while ((wqp = uroce_mcast_walk_next(&walk))) {
		if (wqp->worker != worker) {
			others |= UINT32_C(1) << wqp->worker->idx;
			continue;
		}
		const enum uroce_verdict one = uroce_qpc_recv(&wqp->qpc, pkt, worker->now_ns);

		uroce_worker_follow_up(worker, wqp);
		if (verdict != UROCE_VERDICT_DATAGRAM)
			verdict = one;
	}
	nb_forwarded = is_first ? forward_to_workers(worker, others, mbuf) : 0;
	if (verdict != UROCE_VERDICT_FORWARDED) {
		uroce_count(&worker->stats.verdict[UROCE_VERDICT_FORWARDED], nb_forwarded);
		uroce_count(&worker->stats.rx_shared, nb_forwarded);
		return verdict;
	}
	if (nb_forwarded == 0)
		return UROCE_VERDICT_NO_QP;
	/*
	 * Only other workers keep references to the frame, so this worker frees its own reference.
	 * The caller counts one of the FORWARDED verdicts.
	 */
	rte_pktmbuf_free(mbuf);
	uroce_count(&worker->stats.verdict[UROCE_VERDICT_FORWARDED], nb_forwarded - 1);
	uroce_count(&worker->stats.rx_shared, nb_forwarded - 1);
	return UROCE_VERDICT_FORWARDED;
}

/*
 * Deliver a copy of a multicast frame, which will be sent, to the member QPs on this device. The
 * frame itself cannot be delivered, because it will belong to the port, or to the DPDK application,
 * when it is sent.
 */
static void
loop_back_frame(struct uroce_worker *worker, struct rte_mbuf *frame)
{
	struct rte_mbuf *copy;
	struct uroce_pkt pkt;
	enum uroce_verdict verdict;

	if (uroce_parse(rte_pktmbuf_mtod(frame, const uint8_t *), frame->data_len, &pkt) >
		    UROCE_VERDICT_DATAGRAM ||
	    !uroce_mcast_group_has(worker->dev, &pkt))
		return;
	copy = rte_pktmbuf_copy(frame, worker->pool, 0, UINT32_MAX);
	if (!copy)
		return; /* without an mbuf the copy is lost, which UD allows for each datagram */
	(void)uroce_parse(rte_pktmbuf_mtod(copy, const uint8_t *), copy->data_len, &pkt);
	verdict = uroce_mcast_group_deliver(worker, &pkt, copy, true);
	uroce_count(&worker->stats.verdict[verdict], 1);
	if (verdict != UROCE_VERDICT_FORWARDED)
		rte_pktmbuf_free(copy);
}

void
uroce_mcast_group_loop_back(struct uroce_worker *worker, struct rte_mbuf **frames, unsigned nb)
{
	if (atomic_load_explicit(&worker->dev->nb_groups, memory_order_relaxed) == 0)
		return;
	for (unsigned i = 0; i < nb; i++) {
		if (rte_is_multicast_ether_addr(
			    rte_pktmbuf_mtod(frames[i], const struct rte_ether_addr *)))
			loop_back_frame(worker, frames[i]);
	}
}
