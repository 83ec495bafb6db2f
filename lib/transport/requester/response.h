/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_RESPONSE_H
#define UROCE_TRANSPORT_RESPONSE_H

/**
 * @file
 * The reception of ACKs, NAKs and responses with data by the requester.
 */

#include "transport/context.h"

/**
 * Process a response of the peer. The PSN of the response may be inside or outside the requester's
 * window.
 */
enum uroce_verdict uroce_response_recv(struct uroce_qpc *qpc, const struct uroce_pkt *pkt,
				       uint64_t now_ns);

#endif /* UROCE_TRANSPORT_RESPONSE_H */
