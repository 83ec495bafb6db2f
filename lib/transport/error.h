/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_ERROR_H
#define UROCE_TRANSPORT_ERROR_H

/**
 * @file
 * The functions that make a send or receive request fail and put the QP into ERR or SQE.
 */

#include "transport/context.h"

/**
 * Put the QP into ERR: stop its timers and flush its send and receive queue. Responses and
 * acknowledgements that are pending are still sent.
 */
void uroce_error_enter(struct uroce_qpc *qpc, uint64_t now_ns);

/**
 * Fail the oldest send request with `status`. The QP goes to ERR (UC and UD: SQE), and the other
 * requests are flushed. All of them complete when no port transmits from their memory any more.
 */
void uroce_error_fail_request(struct uroce_qpc *qpc, enum ibv_wc_status status, uint32_t vendor_err,
			      uint64_t now_ns);

/** Complete the oldest receive request with the error `status`, and put the QP into ERR. */
void uroce_error_fail_receive(struct uroce_qpc *qpc, enum ibv_wc_status status,
			      enum uroce_verdict verdict, uint64_t now_ns);

/** Put the QP into ERR, because a request of the peer was refused with `verdict`. */
void uroce_error_refuse_request(struct uroce_qpc *qpc, enum uroce_verdict verdict, uint64_t now_ns);

/** Count a request of the peer that was refused, if there is a counter for the verdict. */
void uroce_error_count_refusal(const struct uroce_qpc *qpc, enum uroce_verdict verdict);

/**
 * Fail the oldest send request, because the peer has sent an invalid response.
 * @return the verdict of this response
 */
enum uroce_verdict uroce_error_bad_response(struct uroce_qpc *qpc, uint64_t now_ns);

#endif /* UROCE_TRANSPORT_ERROR_H */
