/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_OOO_RESPONSE_H
#define UROCE_TRANSPORT_OOO_RESPONSE_H

/**
 * @file
 * Loss recovery of responses: what is kept ahead of a missing one, and what is asked for once more.
 */

#include "transport/context.h"
#include "transport/recovery_state.h"

/** A response with data, ahead of the answer at una_psn: place it, hold it or drop it. */
enum uroce_verdict uroce_ooo_response_recv(struct uroce_qpc *qpc, const struct uroce_pkt *pkt,
					   uint64_t now_ns);

/** A hole was found because an answer passed by it. */
void uroce_ooo_response_count_implied(struct uroce_qpc *qpc);

/** The peer has executed everything before `psn`, and the answer at una_psn is not here. */
void uroce_ooo_response_note_executed(struct uroce_qpc *qpc, uint32_t psn, uint64_t now_ns);

/** A NAK of a PSN sequence error, ahead of the answer at una_psn. @return false: go back N */
bool uroce_ooo_response_recv_nak(struct uroce_qpc *qpc, uint32_t psn);

/** The answer at una_psn arrived. */
void uroce_ooo_response_note_arrival(struct uroce_qpc *qpc, const struct uroce_pkt *pkt,
				     uint64_t now_ns);

/** una_psn has moved: take what is here in order. */
void uroce_ooo_response_drain(struct uroce_qpc *qpc, uint64_t now_ns);

/** The time to ask again may have come. */
void uroce_ooo_response_expire(struct uroce_qpc *qpc, uint64_t now_ns);

/** A request for what is missing, if that is due: it is sent now. @return false: there is none */
bool uroce_ooo_response_next(struct uroce_qpc *qpc, struct uroce_retransmit *out, uint64_t now_ns);

/** PSNs from the position on, all of one request or chunk, that need not be sent again. */
uint32_t uroce_ooo_response_nb_present(const struct uroce_qpc *qpc,
				       const struct uroce_send_wqe *wqe);

/** Of `nb` responses from `psn` on: how many there are up to the last that is missing. */
uint32_t uroce_ooo_response_nb_missing(const struct uroce_qpc *qpc, uint32_t psn, uint32_t nb);

#endif /* UROCE_TRANSPORT_OOO_RESPONSE_H */
