/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_RESPONSE_H
#define UROCE_TRANSPORT_RESPONSE_H

/**
 * @file
 * Responses to the requester: each goes to where it says something.
 */

#include "transport/context.h"

/** A response of the peer, which may be anywhere in the window or outside of it. */
enum uroce_verdict uroce_response_recv(struct uroce_qpc *qpc, const struct uroce_pkt *pkt,
				       uint64_t now_ns);

#endif /* UROCE_TRANSPORT_RESPONSE_H */
