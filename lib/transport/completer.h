/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_COMPLETER_H
#define UROCE_TRANSPORT_COMPLETER_H

/**
 * @file
 * Requests complete: the window moves, and the data of responses is placed.
 */

#include "transport/context.h"

/**
 * Acknowledge everything before `psn`, which is in [una_psn, max_psn].
 * @return false: a READ or atomic is in the way, and una_psn is where it waits
 */
bool uroce_completer_advance(struct uroce_qpc *qpc, uint32_t psn, uint64_t now_ns);

/** The response at una_psn, in order. */
enum uroce_verdict uroce_completer_take(struct uroce_qpc *qpc, const struct uroce_pkt *pkt,
					uint64_t now_ns);

/**
 * Check a READ response against its request, the oldest, and place its payload.
 * @return UROCE_VERDICT_RESPONSE; else the QP is in ERR
 */
enum uroce_verdict uroce_completer_place(struct uroce_qpc *qpc, const struct uroce_pkt *pkt,
					 uint64_t now_ns);

/** The last response of a chunk, or an atomic's, was taken. */
void uroce_completer_end_rd(struct uroce_req *req);

/** Local requests that were executed complete, as far as no other is before them. */
void uroce_completer_retire_local(struct uroce_qpc *qpc, uint64_t now_ns);

/** SQD: tell when the last request that was begun has completed. */
void uroce_completer_check_drained(struct uroce_qpc *qpc);

#endif /* UROCE_TRANSPORT_COMPLETER_H */
