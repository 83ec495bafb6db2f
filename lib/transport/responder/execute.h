/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_EXECUTE_H
#define UROCE_TRANSPORT_EXECUTE_H

/**
 * @file
 * Execution of the expected request of the peer, which is the request with the PSN epsn.
 */

#include "transport/context.h"

/**
 * Execute the expected request, which has the PSN epsn.
 * @return UROCE_VERDICT_REQUEST, or the verdict with which the request was refused
 */
enum uroce_verdict uroce_execute_expected(struct uroce_qpc *qpc, const struct uroce_pkt *pkt,
					  uint64_t now_ns);

/**
 * Execute the expected request, which has the PSN epsn, after it has waited in the reorder buffer.
 * If an error would put the QP into ERR, the function only returns the verdict, and the caller
 * decides what to do.
 * @return UROCE_VERDICT_REQUEST, or the verdict with which the request was refused
 */
enum uroce_verdict uroce_execute_held(struct uroce_qpc *qpc, const struct uroce_pkt *pkt,
				      uint64_t now_ns);

/** Whether the peer may read the memory that a READ request names. */
bool uroce_execute_may_read(const struct uroce_qpc *qpc, const struct uroce_pkt *pkt);

/**
 * Refuse the expected request, which has the PSN epsn: schedule a NAK, and put the QP into ERR if
 * the error is fatal.
 * @return the parameter `verdict`
 */
enum uroce_verdict uroce_execute_refuse(struct uroce_qpc *qpc, enum uroce_verdict verdict,
					uint64_t now_ns);

#endif /* UROCE_TRANSPORT_EXECUTE_H */
