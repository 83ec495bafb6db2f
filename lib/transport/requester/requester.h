/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_REQUESTER_H
#define UROCE_TRANSPORT_REQUESTER_H

/**
 * @file
 * The requester of RC, XRC and UC: it chooses between new requests and packets that loss recovery
 * has to retransmit.
 */

#include "transport/context.h"

/**
 * Start the requester when the QP goes from RTR to RTS: PSNs begin at attr.sq_psn, and the retry
 * counters get their initial values.
 */
void uroce_requester_start(struct uroce_qpc *qpc);

/**
 * Resume the requester when the QP goes from SQE to RTS: the requester continues with the next
 * request in the send queue.
 */
void uroce_requester_resume(struct uroce_qpc *qpc);

/**
 * Fill up to `max` descriptors with retransmitted and new request packets.
 * @return the number of descriptors that were filled
 */
unsigned uroce_requester_send(struct uroce_qpc *qpc, struct uroce_txd *out, unsigned max,
			      uint64_t now_ns);

/**
 * UC and UD: complete the requests whose last packet was sent. After that, the next request fails
 * if it cannot be sent.
 */
void uroce_requester_sent(struct uroce_qpc *qpc, uint64_t now_ns);

/** Fail a request that cannot be sent, once all requests before it have completed. */
void uroce_requester_fail_if_faulty(struct uroce_qpc *qpc, uint64_t now_ns);

#endif /* UROCE_TRANSPORT_REQUESTER_H */
