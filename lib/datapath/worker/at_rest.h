/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_AT_REST_H
#define UROCE_DATAPATH_AT_REST_H

/**
 * @file
 * What a worker has left to do after a round. Every function must be called by the thread that
 * holds the worker's lock.
 */

#include "datapath/worker/round.h"

/** Whether the round has nothing to do except to wait for frames. */
static inline bool
uroce_worker_is_round_idle(const struct uroce_worker *worker)
{
	return (!worker->tx.active_head || uroce_delayed_ack_is_waiting(worker)) &&
	       worker->tx.nb_pending == 0 &&
	       !atomic_load_explicit(&worker->doorbells, memory_order_relaxed) &&
	       !atomic_load_explicit(&worker->cmds, memory_order_relaxed);
}

/**
 * Get the latest time at which the worker must be driven again. UROCE_NEVER: the worker must be
 * driven only when something arrives.
 */
uint64_t uroce_worker_next_ns(const struct uroce_worker *worker);

/**
 * Whether the worker has nothing to do before uroce_worker_next_ns(), unless a frame, a doorbell or
 * a command arrives.
 */
bool uroce_worker_is_at_rest(const struct uroce_worker *worker);

#endif /* UROCE_DATAPATH_AT_REST_H */
