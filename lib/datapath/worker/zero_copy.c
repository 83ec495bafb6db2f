/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Zero-copy transmit. A zero-copy frame is a chain of mbufs (zero_copy.h). Any thread may free the
 * last reference to a chain. This ends the TX reference, with which the region and the QP count the
 * frame. A clone of an mbuf may outlive the mbuf. So the record of the TX reference is not part of
 * the mbuf, but an object of its own pool.
 */

#include "datapath/worker/zero_copy.h"

#include <stdio.h>
#include <rte_errno.h>

#include "datapath/log.h"
#include "datapath/worker/publish.h"
#include "wire/icrc.h"

/* Minimum length in bytes of zero-copy payload. Shorter payload is copied in less time. */
#define LEN_MIN 1024

/* Number of records of zero-copy payloads: enough for the pending frames and for a TX ring. */
#define NB_EXT_BUFS 2047
#define NB_CACHED   256

struct ext_buf {
	struct rte_mbuf_ext_shared_info shared;
	struct rte_mempool *pool;
	struct uroce_worker_qp *wqp;
	_Atomic uint32_t *region;
};

struct rte_mempool *
uroce_zero_copy_pool_create(const struct uroce_worker *worker)
{
	char name[RTE_MEMPOOL_NAMESIZE];
	struct rte_mempool *pool;

	snprintf(name, sizeof(name), "uroce_zc_%u_%u", worker->dev->port->id, worker->idx);
	pool = rte_mempool_create(name, NB_EXT_BUFS, sizeof(struct ext_buf), NB_CACHED, 0, NULL,
				  NULL, NULL, NULL, worker->dev->port->socket_id, 0);
	if (!pool)
		pool = rte_mempool_create(name, NB_EXT_BUFS, sizeof(struct ext_buf), NB_CACHED, 0,
					  NULL, NULL, NULL, NULL, SOCKET_ID_ANY, 0);
	if (!pool)
		UROCE_LOG(ERR, mem, "no memory for zero-copy transmit: %s",
			  rte_strerror(rte_errno));
	return pool;
}

/*
 * Release the memory of a payload that the port no longer needs. After the decrement of the QP's
 * `nb_tx_refs` nothing may be touched: the QP and the pool may be freed then.
 */
static void
free_ext_buf(void *addr, void *arg)
{
	struct ext_buf *ext_buf = arg;
	_Atomic uint32_t *region = ext_buf->region;
	struct uroce_worker_qp *wqp = ext_buf->wqp;

	(void)addr;
	rte_mempool_put(ext_buf->pool, ext_buf);
	uroce_mr_put_tx_ref(region);
	/*
	 * Release R6 pairs with acquire A6 in uroce_qpc_has_tx_refs(): the last access to the
	 * payload comes before the decrement.
	 */
	atomic_fetch_sub_explicit(&wqp->qpc.nb_tx_refs, 1, memory_order_release);
}

static struct ext_buf *
alloc_ext_buf(struct uroce_worker *worker, struct uroce_worker_qp *wqp, uint32_t key)
{
	struct ext_buf *ext_buf;

	if (rte_mempool_get(worker->zero_copy_pool, (void **)&ext_buf) < 0)
		return NULL;
	ext_buf->region = uroce_mr_get_tx_ref(worker->dev->mrs, key);
	if (!ext_buf->region) {
		rte_mempool_put(worker->zero_copy_pool, ext_buf);
		return NULL;
	}
	ext_buf->pool = worker->zero_copy_pool;
	ext_buf->wqp = wqp;
	ext_buf->shared.free_cb = free_ext_buf;
	ext_buf->shared.fcb_opaque = ext_buf;
	rte_mbuf_ext_refcnt_set(&ext_buf->shared, 1);
	atomic_fetch_add_explicit(&wqp->qpc.nb_tx_refs, 1, memory_order_relaxed);
	return ext_buf;
}

static bool
is_worth_zero_copy(const struct uroce_dev *dev, const struct uroce_worker_qp *wqp,
		   const struct uroce_txd *txd)
{
	return txd->payload_len >= LEN_MIN && txd->nb_slices == 1 && txd->slice[0].key &&
	       uroce_qpc_is_reliable(&wqp->qpc) && !uroce_loopback_is_likely(dev, txd->hdr);
}

/*
 * Write the padding and the ICRC of a frame.
 * @return length of padding and ICRC
 */
static uint16_t
put_pad_and_icrc(const struct uroce_txd *txd, uint8_t *at)
{
	const uint8_t *bth = txd->hdr + txd->bth_off;
	uint32_t icrc = uroce_icrc_rest(txd->icrc, bth, (size_t)(txd->hdr_len - txd->bth_off));

	icrc = uroce_crc32(icrc, txd->slice[0].addr, txd->payload_len);
	for (unsigned i = 0; i < txd->pad_len; i++)
		at[i] = 0;
	icrc = uroce_crc32(icrc, at, txd->pad_len);
	uroce_icrc_store(at + txd->pad_len, icrc);
	return (uint16_t)(txd->pad_len + UROCE_ICRC_LEN);
}

static void
chain_mbufs(const struct uroce_txd *txd, struct ext_buf *ext_buf, struct rte_mbuf *mbuf,
	    struct rte_mbuf *const more[2])
{
	const struct uroce_slice *slice = &txd->slice[0];

	rte_pktmbuf_attach_extbuf(more[0], (void *)(uintptr_t)slice->addr, RTE_BAD_IOVA,
				  (uint16_t)slice->len, &ext_buf->shared);
	more[0]->data_len = (uint16_t)slice->len;
	more[0]->next = more[1];
	more[1]->data_len = put_pad_and_icrc(txd, rte_pktmbuf_mtod(more[1], uint8_t *));
	mbuf->data_len = txd->hdr_len;
	mbuf->pkt_len = (uint32_t)txd->hdr_len + slice->len + more[1]->data_len;
	mbuf->nb_segs = 3;
	mbuf->next = more[0];
}

bool
uroce_zero_copy_attach(struct uroce_worker *worker, struct uroce_worker_qp *wqp,
		       const struct uroce_txd *txd, struct rte_mbuf *mbuf)
{
	struct rte_mbuf *more[2];
	struct ext_buf *ext_buf;

	if (!is_worth_zero_copy(worker->dev, wqp, txd) ||
	    rte_pktmbuf_alloc_bulk(worker->pool, more, 2) < 0)
		return false;
	ext_buf = alloc_ext_buf(worker, wqp, txd->slice[0].key);
	if (!ext_buf) {
		rte_pktmbuf_free_bulk(more, 2);
		return false;
	}
	chain_mbufs(txd, ext_buf, mbuf, more);
	uroce_worker_count(worker, UROCE_COUNTER_TX_ZERO_COPY, 1);
	return true;
}

/* --- reclaim ----------------------------------------------------------------------------------- */

static bool
has_ext_buf(const struct rte_mbuf *frame)
{
	return frame->next && RTE_MBUF_HAS_EXTBUF(frame->next);
}

void
uroce_zero_copy_reclaim(struct uroce_worker *worker)
{
	struct uroce_tx *tx = &worker->tx;
	unsigned nb_kept = 0;

	for (unsigned i = 0; i < tx->nb_pending; i++) {
		if (has_ext_buf(tx->pending[i])) {
			uroce_publish_drop(worker, nb_kept);
			uroce_worker_count(worker, UROCE_COUNTER_PORT_XMIT_DISCARDS, 1);
			rte_pktmbuf_free(tx->pending[i]);
		} else {
			tx->roce_len[nb_kept] = tx->roce_len[i];
			tx->pending[nb_kept++] = tx->pending[i];
		}
	}
	tx->nb_pending = nb_kept;
}
