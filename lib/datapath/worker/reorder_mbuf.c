/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Mbufs of frames that the transport keeps in the reorder buffer, because they arrived ahead of a
 * PSN gap.
 *
 * The worker's own pool has UROCE_REORDER_BUFFER_FRAMES additional mbufs. So mbufs of this pool are
 * kept as they are, and the receive queue never runs short. A frame from any other pool is copied,
 * because the owner of that pool depends on its mbufs. If no mbuf of the worker's pool is free, or
 * the frame does not fit into one, the frame's own mbuf is kept. Frames from other pools were
 * forwarded by another worker, passed in by an embedder, or received from a port that passes on the
 * mbufs of the sender.
 */

#include <string.h>
#include <rte_mbuf.h>

#include "datapath/worker/round.h"

static bool
is_of_our_pool(const struct uroce_worker *worker, const struct rte_mbuf *mbuf)
{
	return mbuf->pool == worker->pool && RTE_MBUF_DIRECT(mbuf);
}

/*
 * Copy a frame into an mbuf of the worker's pool.
 * @return the copy; NULL: no mbuf is free, or the frame does not fit into one
 */
static struct rte_mbuf *
copy_frame(struct uroce_worker *worker, const struct rte_mbuf *mbuf)
{
	struct rte_mbuf *ours = rte_pktmbuf_alloc(worker->pool);

	if (!ours)
		return NULL;
	if (mbuf->data_len > rte_pktmbuf_tailroom(ours)) {
		rte_pktmbuf_free(ours);
		return NULL;
	}
	memcpy(rte_pktmbuf_mtod(ours, void *), rte_pktmbuf_mtod(mbuf, const void *),
	       mbuf->data_len);
	ours->data_len = mbuf->data_len;
	ours->pkt_len = mbuf->data_len;
	return ours;
}

bool
uroce_reorder_mbuf_keep(struct uroce_worker *worker, struct rte_mbuf *mbuf)
{
	struct rte_mbuf *ours = is_of_our_pool(worker, mbuf) ? NULL : copy_frame(worker, mbuf);

	if (!ours)
		return true;
	uroce_reorder_buffer_relocate(worker->reorder_buffer, mbuf,
				      rte_pktmbuf_mtod(ours, const uint8_t *), ours);
	uroce_worker_count(worker, UROCE_COUNTER_RX_COPIED, 1);
	return false;
}

void
uroce_reorder_mbuf_reap(struct uroce_worker *worker)
{
	void *owners[UROCE_BURST];
	unsigned nb;

	while ((nb = uroce_reorder_buffer_reap(worker->reorder_buffer, owners, UROCE_BURST)) > 0)
		rte_pktmbuf_free_bulk((struct rte_mbuf **)owners, nb);
}
