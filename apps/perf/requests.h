/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_REQUESTS_H
#define PERF_REQUESTS_H

/**
 * @file
 * The work requests of a test. Send request `idx` of a batch uses slot idx % slots; WRITE and READ
 * use this slot on both sides. Receive requests use the slots in turn, also across batches. Fields
 * that differ between QPs are set when a request is posted; all others once for each size.
 */

#include <stdbool.h>
#include <stdint.h>
#include <infiniband/verbs.h>

#include "layout.h"

#define RECV_BATCH 16u

struct session;

/**
 * What one QP has done in this batch, and the data that a post needs: one cache line, because there
 * may be many QPs.
 */
struct stream {
	_Alignas(64) uint64_t posted; /* number of send requests posted */
	uint64_t completed;           /* number of send requests completed */
	uint64_t received;            /* number of messages received */
	uint32_t slot;                /* slot of the next send request */
	uint32_t unsignaled;          /* send requests since the last signaled one */
	struct ibv_qp *qp;
	uint64_t peer_vaddr;
	uint32_t peer_rkey;
	uint32_t recv_slot; /* slot of the next receive request */
};

struct requests {
	struct session *session;
	struct layout layout;
	struct stream *stream; /* one entry for each QP */
	uint64_t first;        /* number of the first message of this batch */
	/*
	 * Arrays of `post_list` send requests and their elements, which all QPs share: each post
	 * uses them.
	 */
	struct ibv_send_wr *send;
	struct ibv_sge *send_sge;
	struct ibv_recv_wr recv[RECV_BATCH];
	struct ibv_sge recv_sge[RECV_BATCH];
};

/**
 * Prepare the requests for a message size. The caller calls requests_free() also after an error.
 * @return 0, or -1: no memory
 */
int requests_init(struct requests *requests, struct session *session, uint64_t size);
void requests_free(struct requests *requests);

/** Begin a batch whose messages are numbered from `first`. */
void requests_begin(struct requests *requests, uint64_t first);

/** The number from which the content of message `message` of a QP is computed and checked. */
uint64_t requests_number(const struct requests *requests, unsigned qp_idx, uint64_t message);

/**
 * The address of a slot in this side's `out` or `in` area. A slot of `in` begins with the GRH area
 * of UD.
 */
uint8_t *requests_out(const struct requests *requests, unsigned qp_idx, uint64_t slot);
uint8_t *requests_in(const struct requests *requests, unsigned qp_idx, uint64_t slot);

/**
 * Post the next `nb` send requests of a QP, at most post_list.
 * @param signal_every  one of so many requests is signaled; constant throughout a batch
 * @param last          index in the batch of a further request that is signaled
 * @return 0, or -1 after a line on stderr
 */
int requests_post_send(struct requests *requests, unsigned qp_idx, unsigned nb,
		       uint64_t signal_every, uint64_t last);

/**
 * Post receive requests until `wanted` of them are pending.
 * @return 0, or -1 after a line on stderr
 */
int requests_post_recv(struct requests *requests, unsigned qp_idx, uint64_t wanted);

/**
 * Slot of a receive request to be posted: with `ahead` 0 of the next one, with 1 of the one after
 * it.
 */
uint64_t requests_next_recv_slot(const struct requests *requests, unsigned qp_idx, uint64_t ahead);

/** The number of pending receive requests of a QP. */
uint64_t requests_nb_recv(const struct requests *requests, unsigned qp_idx);

/*
 * A wr_id identifies the request of a completion:
 *
 *	bit 63: is a receive | bits 32..62: QP | bits 0..31: index of a send, slot of a receive
 *
 * The functions below run for each completion, and the measured time includes them.
 */
#define REQUESTS_RECV_BIT (UINT64_C(1) << 63)
#define REQUESTS_QP_SHIFT 32
#define REQUESTS_QP_MASK  0x7fffffffu

/**
 * requests_is_recv(): whether a completion is that of a receive request; requests_qp_idx(): the
 * index of its QP.
 */
static inline bool
requests_is_recv(const struct ibv_wc *wc)
{
	return wc->wr_id & REQUESTS_RECV_BIT;
}

static inline unsigned
requests_qp_idx(const struct ibv_wc *wc)
{
	return wc->wr_id >> REQUESTS_QP_SHIFT & REQUESTS_QP_MASK;
}

/**
 * The low 32 bits of the wr_id: for a send request those of its index, for a receive request its
 * slot.
 */
static inline uint32_t
requests_idx(const struct ibv_wc *wc)
{
	return (uint32_t)wc->wr_id;
}

/** The name of the operation, such as "RDMA WRITE". */
const char *requests_name(const struct requests *requests);

#endif /* PERF_REQUESTS_H */
