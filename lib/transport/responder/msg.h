/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_MSG_H
#define UROCE_TRANSPORT_MSG_H

/**
 * @file
 * Reception of SENDs and WRITEs (RC and UC): their packets are checked, and the payload is placed.
 */

#include "transport/context.h"

/**
 * Execute the next packet in order of a SEND or WRITE. The packet is checked against its message,
 * and its payload is placed. The last packet completes the receive request.
 * @return UROCE_VERDICT_REQUEST, or the verdict with which the packet was refused
 */
enum uroce_verdict uroce_msg_recv(struct uroce_qpc *qpc, const struct uroce_pkt *pkt,
				  uint64_t now_ns);

/**
 * UC: process a packet of a SEND or WRITE. UC has no acknowledgements; if a packet of a message is
 * missing, the message is lost [IBA 9.8.2.2].
 */
enum uroce_verdict uroce_msg_recv_uc(struct uroce_qpc *qpc, const struct uroce_pkt *pkt,
				     uint64_t now_ns);

#endif /* UROCE_TRANSPORT_MSG_H */
