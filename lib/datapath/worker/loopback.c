/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Selection of the frames that are looped back.
 *
 * A path to an address of the device has the device's own MAC as its next hop. Frames of few other
 * paths have this destination MAC. So the MAC is compared first. A frame with this MAC is parsed,
 * to find its destination. Its ICRC is verified when it is received, because a looped frame
 * deserves no more trust than a frame from the port.
 */

#include "datapath/worker/loopback.h"

#include <assert.h>

#include "datapath/net/gid_table.h"
#include "datapath/device/qpn.h"
#include "datapath/worker/round.h"
#include "transport/mcast.h"

void
uroce_loopback_note(struct uroce_dev *dev, const uint8_t mac[6])
{
	/*
	 * Relaxed order is enough: a thread that sends by this path has received the path in a
	 * command or with a request, and so sees this store as well.
	 */
	if (memcmp(mac, dev->mac, sizeof(dev->mac)) == 0)
		atomic_store_explicit(&dev->has_loopback, true, memory_order_relaxed);
}

static bool
is_for_own_qp(const struct uroce_dev *dev, const struct rte_mbuf *frame)
{
	const uint8_t *hdr = rte_pktmbuf_mtod(frame, const uint8_t *);
	struct uroce_pkt pkt;
	uint8_t gid[16];

	if (!uroce_loopback_is_likely(dev, hdr) ||
	    uroce_parse(hdr, frame->data_len, &pkt) > UROCE_VERDICT_DATAGRAM)
		return false;
	uroce_pkt_dgid(&pkt, gid);
	return uroce_gid_find(atomic_load_explicit(&dev->gids, memory_order_acquire), gid) >= 0 &&
	       uroce_qpn_lookup(dev->qpns, pkt.dest_qpn);
}

void
uroce_loopback_divert(struct uroce_worker *worker, unsigned first)
{
	struct uroce_loopback *loop = &worker->loopback;
	struct uroce_tx *tx = &worker->tx;
	unsigned nb_kept = first;

	for (unsigned i = first; i < tx->nb_pending; i++) {
		struct rte_mbuf *frame = tx->pending[i];

		if (is_for_own_qp(worker->dev, frame)) {
			assert(loop->nb < UROCE_LOOPBACK_MAX);
			loop->frame[loop->nb++] = frame;
		} else {
			tx->roce_len[nb_kept] = tx->roce_len[i];
			tx->pending[nb_kept++] = frame;
		}
	}
	tx->nb_pending = nb_kept;
}

void
uroce_loopback_drop(struct uroce_worker *worker)
{
	rte_pktmbuf_free_bulk(worker->loopback.frame, worker->loopback.nb);
	worker->loopback.nb = 0;
}
