/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_AETH_H
#define UROCE_TRANSPORT_AETH_H

/**
 * @file
 * The acknowledgements of the responder. It acknowledges the requests before epsn and the messages
 * that the MSN counts. At most one ACK or NAK is pending; a NAK replaces a pending ACK or an older
 * NAK.
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

/**
 * Advance epsn by `nb_psn` PSNs and the MSN by `nb_messages` messages, because requests were
 * executed.
 * @param has_ack_req  whether one of the requests has the bit AckReq set
 */
static inline void
uroce_aeth_advance(struct uroce_resp *resp, uint32_t nb_psn, uint32_t nb_messages, bool has_ack_req)
{
	resp->epsn = uroce_psn_add(resp->epsn, nb_psn);
	resp->msn = uroce_psn_add(resp->msn, nb_messages);
	if (has_ack_req)
		uroce_aeth_schedule_ack(resp);
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
