/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_RETRANSMIT_H
#define UROCE_TRANSPORT_RETRANSMIT_H

/**
 * @file
 * Builds a packet that was sent before once more. The send position stays where it is.
 */

#include "transport/context.h"
#include "transport/recovery/recovery_state.h"

/**
 * Build a packet that was sent before. The send position stays where it is. Only if the packet
 * cannot be built, the send position goes back to una_psn.
 * @return whether the packet was built
 */
bool uroce_retransmit_put(struct uroce_qpc *qpc, const struct uroce_retransmit *what,
			  struct uroce_txd *txd);

#endif /* UROCE_TRANSPORT_RETRANSMIT_H */
