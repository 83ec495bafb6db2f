/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Creation and destruction of a worker, and removal of a QP from all lists of its worker.
 */

#include <stdio.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_ring.h>

#include "datapath/clock.h"
#include "datapath/device/hugemem.h"
#include "datapath/log.h"
#include "datapath/worker/round.h"
#include "datapath/worker/zero_copy.h"

static struct rte_ring *
make_forward_ring(const struct uroce_worker *worker)
{
	char name[RTE_RING_NAMESIZE];
	struct rte_ring *ring;

	snprintf(name, sizeof(name), "uroce_hops_%u_%u", worker->dev->port->id, worker->idx);
	ring = rte_ring_create(name, UROCE_FORWARD_RING_LEN, worker->dev->port->socket_id,
			       RING_F_SC_DEQ);
	if (!ring)
		ring = rte_ring_create(name, UROCE_FORWARD_RING_LEN, SOCKET_ID_ANY, RING_F_SC_DEQ);
	if (!ring)
		UROCE_LOG(ERR, mem, "no ring between workers: %s", rte_strerror(rte_errno));
	return ring;
}

static struct uroce_rd_pool *
make_rd_pool(const struct uroce_dev *dev)
{
	const uint32_t nb_blocks = RTE_MIN(dev->conf.max_qp, UROCE_RD_BLOCKS);
	void *mem = uroce_hugemem_alloc(uroce_rd_pool_memsize(nb_blocks), dev->port->socket_id);

	return mem ? uroce_rd_pool_init(mem, nb_blocks) : NULL;
}

static struct uroce_reorder_buffer *
make_reorder_buffer(const struct uroce_dev *dev)
{
	const uint32_t nb_gaps = RTE_MIN(dev->conf.max_qp, UROCE_REORDER_BUFFER_GAPS);
	void *mem = uroce_hugemem_alloc(
		uroce_reorder_buffer_memsize(nb_gaps, UROCE_REORDER_BUFFER_FRAMES),
		dev->port->socket_id);

	return mem ? uroce_reorder_buffer_init(mem, nb_gaps, UROCE_REORDER_BUFFER_FRAMES) : NULL;
}

struct uroce_worker *
uroce_worker_create(struct uroce_dev *dev, unsigned idx)
{
	struct uroce_worker *worker = uroce_hugemem_alloc(sizeof(*worker), dev->port->socket_id);

	if (!worker)
		return NULL;
	worker->dev = dev;
	worker->idx = idx;
	worker->queue = (uint16_t)idx;
	worker->is_first = idx == 0;
	worker->lcore_id = LCORE_ID_ANY;
	worker->pool = dev->port->pool[idx];
	worker->now_ns = uroce_clock_ns();
	uroce_wheel_init(&worker->wheel, worker->now_ns);
	worker->rd_pool = make_rd_pool(dev);
	worker->reorder_buffer = make_reorder_buffer(dev);
	if (dev->conf.nb_workers > 1)
		worker->forwarded = make_forward_ring(worker);
	if (dev->port->can_zero_copy)
		worker->zero_copy_pool = uroce_zero_copy_pool_create(worker);
	if (!worker->rd_pool || !worker->reorder_buffer ||
	    (dev->conf.nb_workers > 1 && !worker->forwarded) ||
	    (dev->port->can_zero_copy && !worker->zero_copy_pool)) {
		uroce_worker_destroy(worker);
		return NULL;
	}
	return worker;
}

void
uroce_worker_destroy(struct uroce_worker *worker)
{
	struct rte_mbuf *mbuf;

	if (!worker)
		return;
	uroce_delayed_ack_end(worker);
	uroce_tx_drop(worker);
	uroce_loopback_drop(worker);
	uroce_rx_free(worker);
	uroce_migrate_drop(worker);
	while (worker->forwarded && rte_ring_dequeue(worker->forwarded, (void **)&mbuf) == 0) {
		if (!uroce_migrate_is_request(mbuf))
			rte_pktmbuf_free(mbuf);
	}
	rte_ring_free(worker->forwarded);
	rte_mempool_free(worker->zero_copy_pool);
	if (worker->reorder_buffer)
		uroce_reorder_mbuf_reap(worker);
	uroce_hugemem_free(worker->reorder_buffer);
	uroce_hugemem_free(worker->rd_pool);
	uroce_hugemem_free(worker);
}

void
uroce_worker_forget(struct uroce_worker *worker, struct uroce_worker_qp *wqp)
{
	(void)uroce_doorbell_take(worker);
	uroce_tx_unschedule(worker, wqp);
	uroce_wheel_remove(&worker->wheel, wqp);
	uroce_qpc_fini(&wqp->qpc);
}
