/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_SINGLE_PACKET_H
#define UROCE_TRANSPORT_SINGLE_PACKET_H

/**
 * @file
 * Fast path of the responder for many small messages.
 */

#include "transport/context.h"

/**
 * Execute the packets that directly follow `tmpl`, a packet that was executed. A packet is executed
 * by this function if it is next in order, and is a SEND, WRITE or READ of one packet or an atomic.
 * Its peer, P_Key and opcode must be those of `tmpl`, and its memory must be accessible. The call
 * stops at the first packet that does not meet these conditions.
 * @return the number of packets that were executed; the next packet may still be valid and needs
 *	all checks
 */
unsigned uroce_single_packet_recv(struct uroce_qpc *qpc, const struct uroce_pkt *tmpl,
				  const struct uroce_pkt *pkts, unsigned nb, uint64_t now_ns);

#endif /* UROCE_TRANSPORT_SINGLE_PACKET_H */
