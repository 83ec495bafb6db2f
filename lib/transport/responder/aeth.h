/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_AETH_H
#define UROCE_TRANSPORT_AETH_H

/**
 * @file
 * The pending AETH of the responder, which is one ACK or NAK. A newer NAK replaces an older one.
 */

#include "transport/context.h"

/**
 * Schedule an ACK to the peer. If a NAK is pending, the NAK is kept, because it makes the ACK
 * unnecessary.
 */
static inline void
uroce_aeth_schedule_ack(struct uroce_resp *resp)
{
	if (resp->has_aeth)
		return;
	resp->has_aeth = true;
	resp->syndrome = UROCE_SYNDROME_ACK;
}

/** Schedule a NAK to the peer, with this syndrome and PSN. */
static inline void
uroce_aeth_schedule_nak(struct uroce_resp *resp, uint8_t syndrome, uint32_t psn)
{
	resp->has_aeth = true;
	resp->syndrome = syndrome;
	resp->aeth_psn = psn;
}

#endif /* UROCE_TRANSPORT_AETH_H */
