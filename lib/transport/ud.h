/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_UD_H
#define UROCE_TRANSPORT_UD_H

/**
 * @file
 * Sending and receiving of datagrams by UD QPs.
 */

#include "transport/context.h"

/**
 * Fill up to `max` descriptors with datagrams.
 * @return the number of descriptors that were filled
 */
unsigned uroce_ud_send(struct uroce_qpc *qpc, struct uroce_txd *out, unsigned max, uint64_t now_ns);
enum uroce_verdict uroce_ud_recv(struct uroce_qpc *qpc, const struct uroce_pkt *pkt,
				 uint64_t now_ns);

#endif /* UROCE_TRANSPORT_UD_H */
