/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_UD_H
#define UROCE_TRANSPORT_UD_H

/**
 * @file
 * Datagrams (UD): both directions.
 */

#include "transport/context.h"

/** Fill up to `max` descriptors with datagrams. @return how many */
unsigned uroce_ud_send(struct uroce_qpc *qpc, struct uroce_txd *out, unsigned max, uint64_t now_ns);
enum uroce_verdict uroce_ud_recv(struct uroce_qpc *qpc, const struct uroce_pkt *pkt,
				 uint64_t now_ns);

#endif /* UROCE_TRANSPORT_UD_H */
