/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_SINGLE_PACKET_H
#define UROCE_TRANSPORT_SINGLE_PACKET_H

/**
 * @file
 * Fast path of many small messages.
 */

#include "transport/context.h"

/**
 * Execute the packets that directly follow `tmpl`, a packet that was executed. A packet is executed
 * here if it is a SEND or WRITE of one packet and next in order. It must equal `tmpl` in all that
 * is checked of packets, and its memory must be accessible. The call stops at the first other
 * packet.
 * @return how many of the `nb` packets; the next packet needs all checks, and may still be valid
 */
unsigned uroce_single_packet_recv(struct uroce_qpc *qpc, const struct uroce_pkt *tmpl,
				  const struct uroce_pkt *pkts, unsigned nb, uint64_t now_ns);

#endif /* UROCE_TRANSPORT_SINGLE_PACKET_H */
