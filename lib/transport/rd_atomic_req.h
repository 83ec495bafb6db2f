/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_RD_ATOMIC_REQ_H
#define UROCE_TRANSPORT_RD_ATOMIC_REQ_H

/**
 * @file
 * Many short READs and atomics at once, and their responses.
 */

#include "transport/context.h"

/**
 * Fill descriptors with the READs of one packet and the atomics that are next, as many as nothing
 * but the window and their number bounds.
 * @return how many; what is next may still be one
 */
unsigned uroce_rd_atomic_put_requests(struct uroce_qpc *qpc, struct uroce_txd *out, unsigned max);

/**
 * Of `nb` packets that came right behind `tmpl`, which was taken: take as many from the first on as are
 * the answers to the fetches that are oldest.
 * @return how many; the next one is to be asked everything, and may still be right
 */
unsigned uroce_rd_atomic_recv_responses(struct uroce_qpc *qpc, const struct uroce_pkt *tmpl,
					const struct uroce_pkt *pkts, unsigned nb, uint64_t now_ns);

#endif /* UROCE_TRANSPORT_RD_ATOMIC_REQ_H */
