/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_RD_ATOMIC_RESP_H
#define UROCE_TRANSPORT_RD_ATOMIC_RESP_H

/**
 * @file
 * Fast path of the responder for many short READs and atomics, and functions for the ring of
 * resources, which are the responder's records of READs and atomics.
 */

#include "transport/context.h"
#include "transport/responder/aeth.h"

/**
 * Get the index in `res` of the oldest resource (record of a READ or atomic) that has responses to
 * send. There must be at least one.
 */
static inline uint32_t
uroce_rd_atomic_oldest(const struct uroce_resp *resp)
{
	/*
	 * the search begins at the slot that will be filled next: it is the oldest slot, because
	 * the slots are a ring that is filled in PSN order
	 */
	const uint32_t first = resp->res_head % UROCE_RD_ATOMIC_MAX;
	const uint64_t twice = (uint64_t)resp->pending << UROCE_RD_ATOMIC_MAX | resp->pending;

	return (first + (uint32_t)__builtin_ctzll(twice >> first)) % UROCE_RD_ATOMIC_MAX;
}

/**
 * Get the oldest resource (record of a READ or atomic) that has responses to send. There must be at
 * least one.
 */
static inline struct uroce_rd_res *
uroce_rd_atomic_oldest_res(struct uroce_resp *resp)
{
	return &resp->res[uroce_rd_atomic_oldest(resp)];
}

/**
 * Advance epsn past a READ or atomic that was executed, and schedule its responses. The caller has
 * filled in its resource `res`.
 * @param res  the slot that follows the newest one in the ring
 * @param nb_psn  number of responses
 */
static inline void
uroce_rd_atomic_begin(struct uroce_resp *resp, struct uroce_rd_res *res, uint32_t nb_psn)
{
	res->psn = resp->epsn;
	res->end = nb_psn;
	uroce_aeth_advance(resp, nb_psn, 1, false);
	res->msn = resp->msn;
	resp->pending |= 1u << resp->res_head % UROCE_RD_ATOMIC_MAX;
	resp->res_head++;
	/* a pending ACK is dropped, because the responses acknowledge everything before them */
	if (resp->syndrome == UROCE_SYNDROME_ACK)
		resp->has_aeth = false;
}

/** Record that a resource (record of a READ or atomic) has no more responses to send. */
static inline void
uroce_rd_atomic_end(struct uroce_resp *resp, const struct uroce_rd_res *res)
{
	resp->pending &= ~(1u << (res - resp->res));
}

/**
 * Execute an atomic on the 8 bytes at `at`.
 * @return the original value of the 8 bytes
 */
uint64_t uroce_rd_atomic_execute(uint64_t *at, const struct uroce_atomiceth *eth, bool is_swap);

/**
 * Execute the READs of one packet or the atomics that directly follow `tmpl`, an executed request
 * of the same kind. The call stops at the first packet that needs the general path.
 * @return the number of packets that were executed
 */
unsigned uroce_rd_atomic_recv_requests(struct uroce_qpc *qpc, const struct uroce_pkt *tmpl,
				       const struct uroce_pkt *pkts, unsigned nb);

/** Build the response of an atomic. */
void uroce_rd_atomic_put_ack(struct uroce_qpc *qpc, const struct uroce_rd_res *res,
			     struct uroce_txd *txd);

/**
 * Fill up to `max` descriptors with the next READ responses and atomic acknowledgements, as long as
 * each is a single packet and its memory is accessible. At least one response must be pending.
 * @return the number of descriptors that were filled; the next response may still be a single
 *	packet
 */
unsigned uroce_rd_atomic_put_responses(struct uroce_qpc *qpc, struct uroce_txd *out, unsigned max);

#endif /* UROCE_TRANSPORT_RD_ATOMIC_RESP_H */
