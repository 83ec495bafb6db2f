/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_AETH_H
#define UROCE_TRANSPORT_AETH_H

/**
 * @file
 * The one ACK or NAK that the responder owes: the newest replaces those before it.
 */

#include "transport/context.h"

/** An ACK becomes due. A NAK that waits already goes first and makes it unnecessary. */
static inline void
uroce_aeth_schedule_ack(struct uroce_resp *resp)
{
	if (resp->has_aeth)
		return;
	resp->has_aeth = true;
	resp->syndrome = UROCE_SYNDROME_ACK;
}

/** A NAK is due, and after it silence until epsn arrives. */
static inline void
uroce_aeth_schedule_nak(struct uroce_resp *resp, uint8_t syndrome, uint32_t psn)
{
	resp->has_aeth = true;
	resp->syndrome = syndrome;
	resp->aeth_psn = psn;
	resp->is_nak_sent = true;
}

#endif /* UROCE_TRANSPORT_AETH_H */
