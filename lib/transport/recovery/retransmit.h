/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_RETRANSMIT_H
#define UROCE_TRANSPORT_RETRANSMIT_H

/**
 * @file
 * Retransmission of a single packet, without a change of the send position.
 */

#include "transport/context.h"
#include "transport/recovery/recovery_state.h"

/**
 * Build a packet that was sent before. The send position does not change, unless the packet cannot
 * be built: then the send position goes back to una_psn, the oldest PSN that is not acknowledged.
 * @return whether the packet was built
 */
bool uroce_retransmit_put(struct uroce_qpc *qpc, const struct uroce_retransmit *what,
			  struct uroce_txd *txd);

#endif /* UROCE_TRANSPORT_RETRANSMIT_H */
