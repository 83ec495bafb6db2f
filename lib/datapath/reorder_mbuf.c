/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Frames that stay: the transport may not execute them yet, because they arrived ahead of a hole.
 *
 * The worker's own pool has as many mbufs more as may be kept (UROCE_REORDER_BUFFER_FRAMES), so that frames of it
 * stay where they are and none is missing on receive. A frame of any other pool is copied: one that
 * hopped here from another worker's queue, that a port handed over from its sender's pool, or that an
 * embedder fed in. Whoever owns that pool counts on what is in it.
 */

#include <string.h>
#include <rte_mbuf.h>

#include "datapath/round.h"

static bool
is_of_our_pool(const struct uroce_worker *worker, const struct rte_mbuf *mbuf)
{
	return mbuf->pool == worker->pool && RTE_MBUF_DIRECT(mbuf);
}

/* @return NULL: no mbuf left, or none as large */
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
