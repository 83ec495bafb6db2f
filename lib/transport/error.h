/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_ERROR_H
#define UROCE_TRANSPORT_ERROR_H

/**
 * @file
 * How a QP ends: a request or a receive request fails, and the QP goes to ERR.
 */

#include "transport/context.h"

/** To ERR: timers off, both queues flushed. What the responder still owes is sent. */
void uroce_error_enter(struct uroce_qpc *qpc, uint64_t now_ns);

/**
 * The oldest request ends in `status`, the QP in ERR (UC: SQE), the rest is flushed: all of them when no
 * port refers to their memory any more.
 */
void uroce_error_fail_request(struct uroce_qpc *qpc, enum ibv_wc_status status, uint32_t vendor_err,
			      uint64_t now_ns);

/** The oldest receive request ends in an error, the QP in ERR. */
void uroce_error_fail_receive(struct uroce_qpc *qpc, enum ibv_wc_status status,
			      enum uroce_verdict verdict, uint64_t now_ns);

/** Count a request that was refused, if that is counted. */
void uroce_error_count_refusal(const struct uroce_qpc *qpc, enum uroce_verdict verdict);

/** A response is none that the peer may send: the oldest request fails. @return the verdict of the response */
enum uroce_verdict uroce_error_bad_response(struct uroce_qpc *qpc, uint64_t now_ns);

#endif /* UROCE_TRANSPORT_ERROR_H */
