/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_REQUESTER_H
#define UROCE_TRANSPORT_REQUESTER_H

/**
 * @file
 * The requester of RC, XRC and UC: what is sent next, new requests and what recovery asks for.
 */

#include "transport/context.h"

/** RTR to RTS: number from attr.sq_psn on, fill the retry counters. */
void uroce_requester_start(struct uroce_qpc *qpc);

/** SQE to RTS: go on with what is posted next. */
void uroce_requester_resume(struct uroce_qpc *qpc);

/** Fill descriptors with requests, new ones or ones to be sent again. */
unsigned uroce_requester_send(struct uroce_qpc *qpc, struct uroce_txd *out, unsigned max,
			      uint64_t now_ns);

/** UC and UD: the requests whose last packet was sent complete; then a fault takes effect. */
void uroce_requester_sent(struct uroce_qpc *qpc, uint64_t now_ns);

/** A request that cannot be sent ends in its fault, if all before it have completed. */
void uroce_requester_fail_if_faulty(struct uroce_qpc *qpc, uint64_t now_ns);

#endif /* UROCE_TRANSPORT_REQUESTER_H */
