/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_ZERO_COPY_H
#define UROCE_DATAPATH_ZERO_COPY_H

/**
 * @file
 * Loans: payload that a port sends from where the application has it, instead of from a copy.
 *
 * Only where the port's policy allows it (struct uroce_port.can_lend), and only the first transmission
 * of a SEND or WRITE of a service that acknowledges: its request completes when the peer has it, and so
 * after the port has read it. What is sent again is copied, for the peer may have had the first one.
 *
 * A frame with a loan is a chain: headers in an mbuf of the worker's pool, the payload as an external
 * buffer, pad and ICRC in another mbuf. The region and the QP count what they lent until the port
 * frees the chain; deregistration, the completions of a failed QP, reset and destruction wait for zero.
 */

#include "datapath/round.h"

/** The loans that a worker may have out; NULL: no memory. */
struct rte_mempool *uroce_zero_copy_pool_create(const struct uroce_worker *worker);

/**
 * Make `mbuf`, in which the headers are, a complete frame with lent payload.
 * @return false: the payload is to be copied, and nothing was changed
 */
bool uroce_zero_copy_attach(struct uroce_worker *worker, struct uroce_worker_qp *wqp,
			    const struct uroce_txd *txd, struct rte_mbuf *mbuf);

/** Drop what is built and not yet taken by the port, if there are loans in it. By the worker. */
void uroce_zero_copy_reclaim(struct uroce_worker *worker);

#endif /* UROCE_DATAPATH_ZERO_COPY_H */
