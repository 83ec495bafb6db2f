/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_RESP_H
#define UROCE_TRANSPORT_RESP_H

/**
 * @file
 * The responder of RC and XRC QPs: it receives requests of the peer, and sends responses.
 */

#include "transport/context.h"

void uroce_resp_reset(struct uroce_qpc *qpc);

enum uroce_verdict uroce_resp_recv(struct uroce_qpc *qpc, const struct uroce_pkt *pkt,
				   uint64_t now_ns);

/**
 * Fill up to `max` descriptors, in PSN order, with READ responses, atomic acknowledgements and an
 * ACK or NAK.
 * @return the number of descriptors that were filled
 */
unsigned uroce_resp_send(struct uroce_qpc *qpc, struct uroce_txd *out, unsigned max,
			 uint64_t now_ns);

#endif /* UROCE_TRANSPORT_RESP_H */
