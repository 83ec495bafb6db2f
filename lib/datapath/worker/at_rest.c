/* SPDX-License-Identifier: BSD-3-Clause */

/* The implementation of at_rest.h. */

#include "datapath/worker/at_rest.h"

uint64_t
uroce_worker_next_ns(const struct uroce_worker *worker)
{
	return worker->tx.active_head || worker->loopback.nb > 0 || uroce_publish_is_pending(worker)
		       ? 0
		       : uroce_wheel_next_ns(&worker->wheel);
}

/*
 * Whether other workers have forwarded frames to this worker. rte_ring_empty() is for producers and
 * consumers of the ring only. Here the positions of the ring are read by atomic loads, because
 * other threads may use the ring at the same time.
 */
static bool
has_forwarded(const struct uroce_worker *worker)
{
	const struct rte_ring *ring = worker->forwarded;

	return ring && __atomic_load_n(&ring->prod.tail, __ATOMIC_RELAXED) !=
			       __atomic_load_n(&ring->cons.tail, __ATOMIC_RELAXED);
}

bool
uroce_worker_is_at_rest(const struct uroce_worker *worker)
{
	return uroce_worker_is_round_idle(worker) && !worker->tx.active_head &&
	       worker->loopback.nb == 0 && worker->migrating.nb == 0 &&
	       !uroce_publish_is_pending(worker) &&
	       !uroce_reorder_buffer_has_ready(worker->reorder_buffer) && !has_forwarded(worker);
}
