/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_PERF_MGT_H
#define UROCE_DATAPATH_PERF_MGT_H

/**
 * @file
 * The request by which a host finds out whether RoCEv2 frames reach a device: Get(ClassPortInfo) of
 * the performance management class, a MAD to QP 1 [IBA 13.4.8.1, 16.1]. uroce-doctor sends this
 * request. Every port of InfiniBand and of RoCE answers the request. For a device without this
 * class, the kernel's RDMA core answers with the status "unsupported".
 *
 * uroce has none of the class's attributes except ClassPortInfo. The device answers by itself, with
 * or without a QP 1. The frame of the request becomes the frame of the response. The response is as
 * long as the request, so a forged source address gains an attacker nothing.
 *
 * Anybody can send such requests, also with the addresses of hosts that do not exist. On the port
 * `udp` the kernel keeps the responses to such hosts in the send buffer of the socket, for 3 s. So
 * the rate of the responses is limited.
 *
 * The only state is the token bucket that the caller passes. Any thread may call the functions of
 * this header. Each thread passes a token bucket of its own.
 */

#include <stdbool.h>

#include "base/token_bucket.h"
#include "wire/parse.h"

/**
 * Maximum number of responses in a burst, and the time in nanoseconds after which one more response
 * is allowed. In 3 s these are 107 responses. Each takes 1280 bytes of a socket's send buffer, so
 * together they take a third of the 416 KiB that Linux grants by default.
 */
#define UROCE_PERF_MGT_BURST       32u
#define UROCE_PERF_MGT_INTERVAL_NS UINT64_C(40000000)

/**
 * Whether a response to Get(ClassPortInfo) may be sent now. If so, the response is counted against
 * the limit.
 * @param bucket  the bucket that limits the responses of a worker, or of uroced
 */
static inline bool
uroce_perf_mgt_may_reply(struct uroce_token_bucket *bucket, uint64_t now_ns)
{
	return uroce_token_bucket_take(bucket, UROCE_PERF_MGT_BURST, UROCE_PERF_MGT_INTERVAL_NS,
				       now_ns);
}

/**
 * Whether a frame is a Get(ClassPortInfo) of the performance management class, and allowed: a
 * datagram with the Q_Key of QP 1 and a default P_Key. The ICRC is not checked.
 * @param pkt  packet for QP 1 that uroce_parse() has accepted
 */
bool uroce_perf_mgt_is_get(const struct uroce_pkt *pkt);

/**
 * Turn the frame of a Get(ClassPortInfo) into the frame of the response, in place. The length of
 * the frame does not change.
 * @param pkt  packet that uroce_perf_mgt_is_get() has accepted; its frame is writable, and ends
 *   with the ICRC, except for Ethernet padding
 */
void uroce_perf_mgt_reply(const struct uroce_pkt *pkt);

#endif /* UROCE_DATAPATH_PERF_MGT_H */
