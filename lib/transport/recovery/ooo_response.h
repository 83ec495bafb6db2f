/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_OOO_RESPONSE_H
#define UROCE_TRANSPORT_OOO_RESPONSE_H

/**
 * @file
 * Loss recovery of responses: the requester keeps responses that arrive ahead of a missing one, and
 * requests the missing ones again.
 */

#include "transport/context.h"
#include "transport/recovery/recovery_state.h"

/**
 * Process a response with data that is ahead of the missing response at una_psn (the oldest PSN
 * that is not acknowledged): place it, buffer it or drop it.
 */
enum uroce_verdict uroce_ooo_response_recv(struct uroce_qpc *qpc, const struct uroce_pkt *pkt,
					   uint64_t now_ns);

/** Count an implied NAK: a later response showed that an earlier one is missing. */
void uroce_ooo_response_count_implied(struct uroce_qpc *qpc);

/**
 * Record that the peer has executed every request before `psn`, while the response at the oldest
 * unacknowledged PSN (una_psn) is missing.
 */
void uroce_ooo_response_note_executed(struct uroce_qpc *qpc, uint32_t psn, uint64_t now_ns);

/**
 * Process a NAK (PSN sequence error) for a later request, while the response at the oldest
 * unacknowledged PSN (una_psn) is missing.
 * @return false: the requester has to go back N
 */
bool uroce_ooo_response_recv_nak(struct uroce_qpc *qpc, uint32_t psn);

/**
 * Learn from the arrival of the missing response at the oldest unacknowledged PSN (una_psn). Either
 * the response was late (reordering), or it is the response to a repeated request (loss).
 */
void uroce_ooo_response_note_arrival(struct uroce_qpc *qpc, const struct uroce_pkt *pkt,
				     uint64_t now_ns);

/**
 * Process the kept responses that are in order after una_psn (the oldest PSN that is not
 * acknowledged) has moved.
 */
void uroce_ooo_response_drain(struct uroce_qpc *qpc, uint64_t now_ns);

/** Begin to request the missing responses again, if the reordering timer has expired. */
void uroce_ooo_response_expire(struct uroce_qpc *qpc, uint64_t now_ns);

/**
 * Get the next request for missing responses that has to be sent now.
 * @return false: there is no such request
 */
bool uroce_ooo_response_next(struct uroce_qpc *qpc, struct uroce_retransmit *out, uint64_t now_ns);

/**
 * Count the PSNs from the send position on that need no retransmission, because their responses
 * have arrived, or the peer has executed them. The count ends with the request or the READ chunk at
 * the send position.
 */
uint32_t uroce_ooo_response_nb_present(const struct uroce_qpc *qpc,
				       const struct uroce_send_wqe *wqe);

/**
 * In the range of `nb` PSNs from `psn` on, count the PSNs up to the last one whose response is
 * missing.
 */
uint32_t uroce_ooo_response_nb_missing(const struct uroce_qpc *qpc, uint32_t psn, uint32_t nb);

#endif /* UROCE_TRANSPORT_OOO_RESPONSE_H */
