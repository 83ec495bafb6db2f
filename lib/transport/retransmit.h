/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_RETRANSMIT_H
#define UROCE_TRANSPORT_RETRANSMIT_H

/**
 * @file
 * A packet that was sent before is built once more. The position of the requester stays where it is.
 */

#include "transport/context.h"
#include "transport/recovery_state.h"

/**
 * Build a packet that was sent before. The position stays where it is, but where the packet cannot be built: then it
 * goes back to una_psn.
 * @return whether it was built
 */
bool uroce_retransmit_put(struct uroce_qpc *qpc, const struct uroce_retransmit *what,
			  struct uroce_txd *txd);

#endif /* UROCE_TRANSPORT_RETRANSMIT_H */
