/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_REQUESTS_H
#define PERF_REQUESTS_H

/**
 * @file
 * The work requests of a test. Message `idx` of a batch goes from and to slot idx % slots on both
 * sides. What differs from QP to QP is filled in when a request is posted, the rest is made
 * once for each size.
 */

#include <stdbool.h>
#include <stdint.h>
#include <infiniband/verbs.h>

#include "layout.h"

#define RECV_BATCH 16u

struct session;

/** What one QP has done in this batch, and what a post needs of it: a line, where there are many. */
struct lane {
	_Alignas(64) uint64_t posted; /* sends */
	uint64_t completed;           /* of these */
	uint64_t received;            /* messages */
	uint32_t slot;                /* of the next send */
	uint32_t unsignaled;          /* sends since the last that asked for a completion */
	struct ibv_qp *qp;
	uint64_t peer_vaddr;
	uint32_t peer_rkey;
	uint32_t recv_slot; /* of the receive that is posted next */
};

struct requests {
	struct session *session;
	struct layout layout;
	struct lane *lane;        /* one for each QP */
	uint64_t first;           /* number of this batch's first message */
	struct ibv_send_wr *send; /* post_list of them, posted again and again, by any QP */
	struct ibv_sge *send_sge;
	struct ibv_recv_wr recv[RECV_BATCH];
	struct ibv_sge recv_sge[RECV_BATCH];
};

/** Make the requests for a size. @return 0, or -1: no memory; requests_free() either way */
int requests_init(struct requests *requests, struct session *session, uint64_t size);
void requests_free(struct requests *requests);

/** Begin a batch whose messages are numbered from `first`. */
void requests_begin(struct requests *requests, uint64_t first);

/** The number under which a message of a QP is filled and checked. */
uint64_t requests_number(const struct requests *requests, unsigned qp_idx, uint64_t message);

/** A slot of this side's areas; `in` with its head. */
uint8_t *requests_out(const struct requests *requests, unsigned qp_idx, uint64_t slot);
uint8_t *requests_in(const struct requests *requests, unsigned qp_idx, uint64_t slot);

/**
 * Post the next `nb` (at most post_list) sends of a QP.
 * @param signal_every  a completion is asked for every so many; the same throughout a batch
 * @param last	       and for this one (an index in the batch)
 * @return 0, or -1 after a line on stderr
 */
int requests_post_send(struct requests *requests, unsigned qp_idx, unsigned nb,
		       uint64_t signal_every, uint64_t last);

/** Post receives until `wanted` of them wait. @return 0, or -1 after a line on stderr */
int requests_post_recv(struct requests *requests, unsigned qp_idx, uint64_t wanted);

/** Slot in which the `ahead`-th receive that will be posted next is. */
uint64_t requests_next_recv_slot(const struct requests *requests, unsigned qp_idx, uint64_t ahead);

/** Receives of a QP that wait. */
uint64_t requests_nb_recv(const struct requests *requests, unsigned qp_idx);

/*
 * A wr_id says all that a completion needs to find its place again:
 *
 *	bit 63: is a receive | bits 32..62: QP | bits 0..31: index of a send, slot of a receive
 *
 * Each is asked for each completion, and what that costs is measured, too.
 */
#define REQUESTS_RECV_BIT (UINT64_C(1) << 63)
#define REQUESTS_QP_SHIFT 32
#define REQUESTS_QP_MASK  0x7fffffffu

/** What a completion is of. */
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

/** Of a send: the low bits of its index; of a receive: its slot. */
static inline uint32_t
requests_idx(const struct ibv_wc *wc)
{
	return (uint32_t)wc->wr_id;
}

/** "RDMA WRITE" */
const char *requests_name(const struct requests *requests);

#endif /* PERF_REQUESTS_H */
