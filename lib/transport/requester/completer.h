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
 * Reduce the number of READs and atomics in flight by one, because the response of an atomic or the
 * last response of a READ chunk was processed.
 */
void uroce_completer_end_rd(struct uroce_req *req);

/**
 * Complete local requests that were executed, as long as these are the oldest requests in the send
 * queue.
 */
void uroce_completer_retire_local(struct uroce_qpc *qpc, uint64_t now_ns);

/** In SQD, raise the event SQ_DRAINED if the last request that was begun has completed. */
void uroce_completer_check_drained(struct uroce_qpc *qpc);

#endif /* UROCE_TRANSPORT_COMPLETER_H */
