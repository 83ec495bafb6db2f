/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_RD_ATOMIC_RESP_H
#define UROCE_TRANSPORT_RD_ATOMIC_RESP_H

/**
 * @file
 * Responses to many short READs and atomics at once.
 */

#include "transport/context.h"

/** The slot of the oldest of the resources that have something to send; there is one. */
static inline uint32_t
uroce_rd_atomic_oldest(const struct uroce_resp *resp)
{
	/* slots are a ring that is filled in PSN order */
	const uint32_t first = resp->res_head % UROCE_RD_ATOMIC_MAX;
	const uint64_t twice = (uint64_t)resp->pending << UROCE_RD_ATOMIC_MAX | resp->pending;

	return (first + (uint32_t)__builtin_ctzll(twice >> first)) % UROCE_RD_ATOMIC_MAX;
}

/** The oldest resource that has something to send. */
static inline struct uroce_rd_res *
uroce_rd_atomic_oldest_res(struct uroce_resp *resp)
{
	return &resp->res[uroce_rd_atomic_oldest(resp)];
}

/** A resource has nothing to send any more. */
static inline void
uroce_rd_atomic_end(struct uroce_resp *resp, const struct uroce_rd_res *res)
{
	resp->pending &= ~(1u << (res - resp->res));
}

/** An atomic is executed. @return the value before */
uint64_t uroce_rd_atomic_execute(uint64_t *at, const struct uroce_atomiceth *eth, bool is_swap);

/** The same as uroce_single_packet_recv(), for READs of one packet and atomics. */
unsigned uroce_rd_atomic_recv_requests(struct uroce_qpc *qpc, const struct uroce_pkt *tmpl,
				       const struct uroce_pkt *pkts, unsigned nb);

/** The answer of an atomic. */
void uroce_rd_atomic_put_ack(struct uroce_qpc *qpc, const struct uroce_rd_res *res,
			     struct uroce_txd *txd);

/**
 * Fill descriptors with the answers that are next, as long as each is all of one, and its memory is
 * there. At least one is pending.
 * @return how many; what is next may still be one
 */
unsigned uroce_rd_atomic_put_responses(struct uroce_qpc *qpc, struct uroce_txd *out, unsigned max);

#endif /* UROCE_TRANSPORT_RD_ATOMIC_RESP_H */
