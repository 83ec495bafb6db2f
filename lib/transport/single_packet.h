/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_SINGLE_PACKET_H
#define UROCE_TRANSPORT_SINGLE_PACKET_H

/**
 * @file
 * Many small messages at once.
 */

#include "transport/context.h"

/**
 * Of `nb` packets that came right behind `tmpl`, which was executed: execute as many from the first on
 * as are like it in all that was asked of it, SENDs or WRITEs of one packet that are expected and
 * find their memory.
 * @return how many; the next one is to be asked everything, and may still be right
 */
unsigned uroce_single_packet_recv(struct uroce_qpc *qpc, const struct uroce_pkt *tmpl,
				  const struct uroce_pkt *pkts, unsigned nb, uint64_t now_ns);

#endif /* UROCE_TRANSPORT_SINGLE_PACKET_H */
