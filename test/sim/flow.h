/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_SIM_FLOW_H
#define TEST_SIM_FLOW_H

/**
 * @file
 * The packets of a flow, for the oracle. A flow is the requests of one QP. Its packets are numbered
 * from 0, and packet 0 has the QP's first PSN.
 */

#include "qp.h"
#include "wire/psn.h"

#define FLOW_NO_PACKET UINT32_MAX

/** The path MTU of a QP in bytes. */
static inline uint32_t
flow_mtu(const struct qp *qp)
{
	return 128u << qp->conf.mtu;
}

/**
 * @return the number of the packet with a PSN; FLOW_NO_PACKET: the PSN is before the first packet
 */
static inline uint32_t
flow_packet(const struct qp *flow, uint32_t psn)
{
	const int32_t diff = uroce_psn_diff(psn, flow->conf.psn);

	return diff < 0 ? FLOW_NO_PACKET : (uint32_t)diff;
}

/** Number of payload bytes in packet `idx` of the request. */
static inline uint32_t
flow_payload(const struct qp *flow, const struct request *req, uint32_t idx)
{
	const uint32_t at = (idx - req->first) * flow_mtu(flow);

	return req->len - at < flow_mtu(flow) ? req->len - at : flow_mtu(flow);
}

/**
 * Whether the oracle can follow the acknowledgements of a QP: its transport service is reliable,
 * and no frames are forged.
 */
static inline bool
flow_is_connected(const struct qp *qp)
{
	return qp_is_reliable(qp) && !qp->is_forged;
}

#endif /* TEST_SIM_FLOW_H */
