/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_RD_ATOMIC_REQ_H
#define UROCE_TRANSPORT_RD_ATOMIC_REQ_H

/**
 * @file
 * Fast path of the requester for responses to many short READs and atomics.
 */

#include "transport/context.h"

/**
 * Process the packets that directly follow `tmpl`, a response that was accepted. The call stops at
 * the first packet that is not the response to the next READ of one packet or atomic.
 * @return the number of packets that were processed; the next packet may still be valid and needs
 *	all checks
 */
unsigned uroce_rd_atomic_recv_responses(struct uroce_qpc *qpc, const struct uroce_pkt *tmpl,
					const struct uroce_pkt *pkts, unsigned nb, uint64_t now_ns);

#endif /* UROCE_TRANSPORT_RD_ATOMIC_REQ_H */
