/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_COMPLETER_H
#define UROCE_TRANSPORT_COMPLETER_H

/**
 * @file
 * The completer: it moves the requester's window, completes requests, and places the data of
 * responses.
 */

#include "transport/context.h"

/**
 * Acknowledge all PSNs before `psn`, which is in [una_psn, max_psn].
 * @return false: una_psn stops at a READ or atomic whose response is missing
 */
bool uroce_completer_advance(struct uroce_qpc *qpc, uint32_t psn, uint64_t now_ns);

/** Process a response with data that has the PSN una_psn, and so is in order. */
enum uroce_verdict uroce_completer_take(struct uroce_qpc *qpc, const struct uroce_pkt *pkt,
					uint64_t now_ns);

/**
 * Check a READ response against the oldest request, and place its payload.
 * @return UROCE_VERDICT_RESPONSE: the payload was placed; with any other verdict the QP has gone to
 *	ERR
 */
enum uroce_verdict uroce_completer_place(struct uroce_qpc *qpc, const struct uroce_pkt *pkt,
					 uint64_t now_ns);

/**
 * Reduce the number of READs and atomics in flight by `nb`, because the responses of as many
 * atomics, or the last responses of as many READ chunks (parts of READs, each with a READ request
 * of its own), were processed.
 */
void uroce_completer_end_rd(struct uroce_req *req, uint32_t nb);

/**
 * Complete the oldest `nb` requests, because their last responses were processed, and then the
 * local requests (requests without packets) directly behind them.
 */
void uroce_completer_retire_answered(struct uroce_qpc *qpc, uint32_t nb, uint64_t now_ns);

/**
 * Complete local requests (requests without packets) that were executed, as long as these are the
 * oldest requests in the send queue.
 */
void uroce_completer_retire_local(struct uroce_qpc *qpc, uint64_t now_ns);

/** In SQD, raise the event SQ_DRAINED if the last request that was begun has completed. */
void uroce_completer_check_drained(struct uroce_qpc *qpc);

#endif /* UROCE_TRANSPORT_COMPLETER_H */
