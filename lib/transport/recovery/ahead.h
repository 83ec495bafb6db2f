/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_AHEAD_H
#define UROCE_TRANSPORT_AHEAD_H

/**
 * @file
 * The window of the responder: how far ahead of the expected PSN (epsn) a request may be. Requests
 * beyond the window are dropped.
 */

#include "transport/requester/position.h"

/**
 * Maximum number of PSNs that a packet may be ahead of the expected PSN (epsn), while it is not
 * known how many PSNs the peer has outstanding. The number covers usual reordering and the
 * responses of one READ chunk.
 */
#define UROCE_OOO_WINDOW_MIN (UROCE_READ_CHUNK_PSNS + 64)

/** Widen the window for out-of-order requests, because the peer had `nb_psn` PSNs outstanding. */
static inline void
uroce_ahead_note(struct uroce_qpc *qpc, uint32_t nb_psn)
{
	nb_psn = 2 * uroce_min(nb_psn, UROCE_PSN_GAP_SPAN / 2);
	if (qpc->ooo_window_psns < nb_psn)
		qpc->ooo_window_psns = (uint16_t)nb_psn;
}

/**
 * Widen the window for out-of-order requests, because a READ with `nb_psn` responses was executed.
 * The peer may have this number of PSNs outstanding.
 */
static inline void
uroce_ahead_note_read(struct uroce_qpc *qpc, uint32_t nb_psn)
{
	if (nb_psn > UROCE_READ_CHUNK_PSNS)
		uroce_ahead_note(qpc, nb_psn);
}

/**
 * Whether a packet is within the responder's window, if its PSN is `ahead` PSNs ahead of the
 * expected PSN (epsn).
 */
static inline bool
uroce_ahead_is_in_window(const struct uroce_qpc *qpc, uint32_t ahead)
{
	const struct uroce_psn_gap *gap = qpc->resp.gap;
	const uint64_t here = gap ? 2 * ((uint64_t)gap->nb + gap->nb_reads) : 0;

	return ahead < UROCE_PSN_GAP_SPAN &&
	       ahead < UROCE_OOO_WINDOW_MIN +
			       (here < qpc->ooo_window_psns ? qpc->ooo_window_psns : here);
}

#endif /* UROCE_TRANSPORT_AHEAD_H */
