/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_COMPLETER_H
#define UROCE_TRANSPORT_COMPLETER_H

/**
 * @file
 * The completer: moves the window, completes requests, and places the data of responses.
 */

#include "transport/context.h"

/**
 * Acknowledge everything before `psn`, which is in [una_psn, max_psn].
 * @return false: una_psn stays at a READ or atomic, whose response is missing
 */
bool uroce_completer_advance(struct uroce_qpc *qpc, uint32_t psn, uint64_t now_ns);

/** Process a response with data at una_psn, which is in order. */
enum uroce_verdict uroce_completer_take(struct uroce_qpc *qpc, const struct uroce_pkt *pkt,
					uint64_t now_ns);

/**
 * Check a READ response against the oldest request, and place its payload.
 * @return UROCE_VERDICT_RESPONSE; with any other verdict the QP is in ERR
 */
enum uroce_verdict uroce_completer_place(struct uroce_qpc *qpc, const struct uroce_pkt *pkt,
					 uint64_t now_ns);

/**
 * Count `nb` READs and atomics less in flight: their responses, or the last responses of READ
 * chunks, were processed.
 */
void uroce_completer_end_rd(struct uroce_req *req, uint32_t nb);

/** Complete the oldest `nb` requests, whose last responses were processed, and local ones behind. */
void uroce_completer_retire_answered(struct uroce_qpc *qpc, uint32_t nb, uint64_t now_ns);

/** Complete local requests that were executed, as long as these are the oldest. */
void uroce_completer_retire_local(struct uroce_qpc *qpc, uint64_t now_ns);

/** Raise the event SQ_DRAINED, in SQD, when the last request that was begun has completed. */
void uroce_completer_check_drained(struct uroce_qpc *qpc);

#endif /* UROCE_TRANSPORT_COMPLETER_H */
