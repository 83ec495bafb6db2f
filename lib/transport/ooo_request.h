/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_OOO_REQUEST_H
#define UROCE_TRANSPORT_OOO_REQUEST_H

/**
 * @file
 * Requests that arrive ahead of a PSN gap.
 */

#include "transport/context.h"

/** A request ahead of epsn: place it, hold it or drop it; see to it that the hole is reported. */
enum uroce_verdict uroce_ooo_request_recv(struct uroce_qpc *qpc, const struct uroce_pkt *pkt,
					  uint64_t now_ns);

/** A repetition of the packet that opened the last hole: it has to be what that was. */
void uroce_ooo_request_compare(struct uroce_qpc *qpc, const struct uroce_pkt *pkt);

/** Whether nothing is ahead of epsn and no hole was seen: the expected request is executed, and that is all. */
static inline bool
uroce_ooo_request_is_idle(const struct uroce_resp *resp)
{
	return !resp->gap && !resp->reorder_window.since_ns && !resp->has_dropped &&
	       resp->nak_deadline == UROCE_NEVER;
}

/** The expected request: execute it, and what was held behind it. */
enum uroce_verdict uroce_ooo_request_fill_gap(struct uroce_qpc *qpc, const struct uroce_pkt *pkt,
					      uint64_t now_ns);

/**
 * The request `psn` arrived, one that we had or not: that may tell what filled the last hole. To be
 * called while that is doubtful.
 */
void uroce_ooo_request_classify_fill(struct uroce_qpc *qpc, uint32_t psn);

/** The time of a NAK may have come, or of more that was held. */
void uroce_ooo_request_expire(struct uroce_qpc *qpc, uint64_t now_ns);

#endif /* UROCE_TRANSPORT_OOO_REQUEST_H */
