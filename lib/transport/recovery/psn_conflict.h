/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_PSN_CONFLICT_H
#define UROCE_TRANSPORT_PSN_CONFLICT_H

/**
 * @file
 * PSN conflicts of the responder: two different requests with the same PSN, of which at most one is
 * the peer's.
 */

#include "transport/context.h"

/**
 * Compare a request ahead of the expected PSN (epsn) with the request that was kept for the same
 * PSN. If the two differ, the conflict is counted, and both requests are discarded.
 * @return UROCE_VERDICT_DUPLICATE: the two are equal; UROCE_VERDICT_PSN_GAP: the two differ
 */
enum uroce_verdict uroce_psn_conflict_check(struct uroce_qpc *qpc, const struct uroce_pkt *pkt);

/**
 * Discard the kept request with this PSN. If the request is the first packet of a WRITE, later
 * packets may have been placed at the address that this packet contains. In this case all kept
 * requests are discarded.
 */
void uroce_psn_conflict_discard(struct uroce_qpc *qpc, uint32_t psn);

/**
 * Remember the hash of a request. uroce_psn_conflict_compare() compares later requests with the
 * same PSN to this hash.
 */
void uroce_psn_conflict_remember(struct uroce_qpc *qpc, const struct uroce_pkt *pkt);

/**
 * Compare a duplicate request with the request of the same PSN that opened the last PSN gap. If the
 * two differ, the conflict is counted.
 */
void uroce_psn_conflict_compare(struct uroce_qpc *qpc, const struct uroce_pkt *pkt);

#endif /* UROCE_TRANSPORT_PSN_CONFLICT_H */
