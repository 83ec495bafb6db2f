/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_OOO_REQUEST_H
#define UROCE_TRANSPORT_OOO_REQUEST_H

/**
 * @file
 * Processing of requests that arrive behind a PSN gap: they are placed in memory, buffered or
 * dropped.
 */

#include "transport/context.h"

/**
 * Process a request ahead of the expected PSN (epsn): place it, buffer it or drop it. Send or
 * schedule the NAK that reports the PSN gap.
 */
enum uroce_verdict uroce_ooo_request_recv(struct uroce_qpc *qpc, const struct uroce_pkt *pkt,
					  uint64_t now_ns);

/**
 * Whether no PSN gap is open, and the cause of the last gap is known. Then the next request in
 * order needs no work for retransmission or reordering.
 */
static inline bool
uroce_ooo_request_is_idle(const struct uroce_resp *resp)
{
	return resp->ooo_state == UROCE_OOO_REQUEST_IN_ORDER && !resp->is_fill_doubtful;
}

/**
 * Whether the responder may execute the next requests in order as a burst: nothing is left to do
 * for retransmission or reordering, and the QP is no XRC target. Each request to an XRC target
 * contains the number of an SRQ.
 */
static inline bool
uroce_ooo_request_is_fast_path(const struct uroce_qpc *qpc)
{
	return uroce_qpc_is_reliable(qpc) && qpc->type != IBV_QPT_XRC_RECV &&
	       uroce_ooo_request_is_idle(&qpc->resp);
}

/** Execute the expected request, and then the requests that were buffered behind it. */
enum uroce_verdict uroce_ooo_request_fill_gap(struct uroce_qpc *qpc, const struct uroce_pkt *pkt,
					      uint64_t now_ns);

/**
 * Learn from the PSN of a request, new or duplicate, whether the last PSN gap was loss or
 * reordering. The function is called while this is not known (resp.is_fill_doubtful).
 */
void uroce_ooo_request_classify_fill(struct uroce_qpc *qpc, uint32_t psn);

/**
 * If nak_deadline has passed, schedule a NAK for an open PSN gap, or execute more of the requests
 * that were kept behind a filled gap.
 */
void uroce_ooo_request_expire(struct uroce_qpc *qpc, uint64_t now_ns);

#endif /* UROCE_TRANSPORT_OOO_REQUEST_H */
