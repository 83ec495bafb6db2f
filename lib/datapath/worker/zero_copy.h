/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_ZERO_COPY_H
#define UROCE_DATAPATH_ZERO_COPY_H

/**
 * @file
 * Zero-copy transmit: a frame refers to the payload in the application's memory, instead of a copy.
 *
 * Zero-copy transmit is used only if the port's policy allows it (uroce_port.can_zero_copy). It
 * applies to the first transmission of a SEND or WRITE of a reliable service. Such a request
 * completes when the peer has acknowledged it, and so after the port has read the payload.
 * Retransmissions are copied: the peer may have received the first transmission, and the
 * application may then change the payload.
 *
 * A zero-copy frame is a chain of three mbufs: headers in an mbuf of the worker's pool, the payload
 * as an external buffer, padding and ICRC in another mbuf. The region and the QP count their TX
 * references until the port frees the chain. These operations wait until the count is zero:
 * deregistration, the completions of a failed QP, reset and destruction.
 */

#include "datapath/worker/round.h"

/**
 * Create the pool of zero-copy records of a worker.
 * @return the pool; NULL: no memory
 */
struct rte_mempool *uroce_zero_copy_pool_create(const struct uroce_worker *worker);

/**
 * Append the payload to the frame in `mbuf`, which contains the headers, without a copy.
 * @return false: the payload must be copied, and nothing was changed
 */
bool uroce_zero_copy_attach(struct uroce_worker *worker, struct uroce_worker_qp *wqp,
			    const struct uroce_txd *txd, struct rte_mbuf *mbuf);

/**
 * Drop those pending frames of a worker that refer to the application's memory. The function runs
 * in the context of the worker.
 */
void uroce_zero_copy_reclaim(struct uroce_worker *worker);

#endif /* UROCE_DATAPATH_ZERO_COPY_H */
