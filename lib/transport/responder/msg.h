/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_MSG_H
#define UROCE_TRANSPORT_MSG_H

/**
 * @file
 * Messages being received (RC and UC): checks, and placement of the payload.
 */

#include "transport/context.h"

/**
 * Execute the next packet in order of a SEND or WRITE. The packet is checked against its message,
 * and its payload is placed. The last packet completes the receive request.
 * @return UROCE_VERDICT_REQUEST, or why the packet was refused; a refused packet changes nothing
 */
enum uroce_verdict uroce_msg_recv(struct uroce_qpc *qpc, const struct uroce_pkt *pkt,
				  uint64_t now_ns);

/**
 * UC: process a packet of a SEND or WRITE. There are no acknowledgements; a PSN gap loses the
 * message in which it lies [IBA 9.8.2.2].
 */
enum uroce_verdict uroce_msg_recv_uc(struct uroce_qpc *qpc, const struct uroce_pkt *pkt,
				     uint64_t now_ns);

#endif /* UROCE_TRANSPORT_MSG_H */
