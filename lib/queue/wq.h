/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_QUEUE_WQ_H
#define UROCE_QUEUE_WQ_H

/**
 * @file
 * Work queues: the send and the receive queue of a QP, as rings of work queue entries.
 *
 * A posted request is copied into its slot, scatter list or inline data included, so the caller's
 * structures are free on return. A send slot is given back when its request completes; a receive
 * slot when the message that used it has ended.
 *
 * Producer: the application's threads, one at a time under `lock`. Consumer: the worker that owns
 * the QP.
 */

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <infiniband/verbs.h>

#include "wire/lock.h"
#include "queue/ring.h"
#include "wire/build.h"

struct uroce_wq {
	_Alignas(64) struct uroce_ring ring;
	/*
	 * in the line of the worker's index: a post and an answer are seldom at the same time, and where
	 * there are many QPs it is one line less
	 */
	struct uroce_lock lock; /* serialises posts */
	uint32_t max_sge;       /* elements that fit a slot */
	uint32_t max_inline;    /* bytes that fit a slot; 0 for a receive queue */
	uint32_t opcodes;       /* set by the owner: bit i: enum ibv_wr_opcode i may be posted */
	bool is_all_signaled;   /* set by the owner: every send request completes with an entry */
	bool has_path;          /* send slots hold a path (UD) */
	bool is_xrc;            /* XRC initiator: set by the owner after uroce_sq_init() */
	bool is_lone;           /* set by the owner: one thread at a time posts, and sees to that */
};
static_assert(sizeof(struct uroce_wq) == 128, "a work queue is two cache lines, and its slots");

/** State of a send request, beside what was posted. */
enum uroce_wqe_flag {
	/* as posted: the same bits */
	UROCE_WQE_FENCE = IBV_SEND_FENCE,
	UROCE_WQE_SIGNALED = IBV_SEND_SIGNALED, /* completes with an entry even when it succeeds */
	UROCE_WQE_SOLICITED = IBV_SEND_SOLICITED,
	UROCE_WQE_INLINE = IBV_SEND_INLINE, /* data follows instead of a scatter list */
	UROCE_WQE_LOCAL = 1 << 4,     /* sends nothing: LOCAL_INV, BIND_MW, DRIVER1, or cancelled */
	UROCE_WQE_CANCELLED = 1 << 5, /* does nothing, and completes as what it was */
	UROCE_WQE_EXECUTED = 1 << 6,  /* the requester's, of a local one: once is enough */
	UROCE_WQE_SEND = 1 << 7, /* takes a receive request of the peer's: a SEND, not cancelled */
};

/**
 * Send work queue entry: one cache line, then [path], then scatter list or inline data. Where an opcode
 * has no operands the list begins in their place, so that one with a single element is all in that line.
 */
struct uroce_send_wqe {
	uint64_t wr_id;
	uint64_t remote_addr; /* RDMA, atomics and FLUSH; BIND_MW: where in the region */
	uint32_t rkey;        /* RDMA and atomics; BIND_MW: the new key */
	uint32_t len;         /* bytes of the message, <= 2^31 */
	uint32_t imm;         /* immediate data as posted (wire order), or the rkey to invalidate */
	uint32_t srqn;        /* XRC: of the peer's shared receive queue */
	uint32_t first_psn;   /* the requester's: PSN of its first packet */
	uint32_t nb_psn;      /* the requester's: PSNs it spans; 0 before it began */
	uint8_t opcode;       /* enum ibv_wr_opcode */
	uint8_t flags;        /* enum uroce_wqe_flag */
	uint8_t nb_sge;       /* 0 with UROCE_WQE_INLINE */
	uint8_t data_off;     /* where scatter list or inline data begin */
	uint8_t resv[4];
	union {
		struct {
			uint64_t compare_add; /* FLUSH: bytes of the range */
			uint64_t swap;        /* FLUSH: placement type, and level << 4 */
		} atomic;
		struct {
			uint32_t dest_qpn;
			uint32_t qkey; /* as posted; the high bit asks for the QP's own */
		} ud;
		struct {
			uint64_t len;
			uint32_t mr_key;
			uint32_t access; /* enum ibv_access_flags */
		} bind;
		struct ibv_sge sge; /* the first, where there are no operands */
	};
};
static_assert(sizeof(struct uroce_send_wqe) == 64, "a send WQE header is one cache line");

/** Bytes that a path takes in a send slot. */
#define UROCE_WQE_PATH_LEN 128
static_assert(sizeof(struct uroce_path) <= UROCE_WQE_PATH_LEN, "a path fits its part of the slot");

/** Receive work queue entry, followed by its scatter list. */
struct uroce_recv_wqe {
	uint64_t wr_id;
	uint32_t len; /* sum of the elements, capped at 2^32 - 1 */
	uint32_t nb_sge;
};
static_assert(sizeof(struct uroce_recv_wqe) == 16, "the scatter list of a receive WQE is aligned");

/** Bytes of a send slot. */
uint32_t uroce_send_wqe_stride(uint32_t max_sge, uint32_t max_inline, bool has_path);

/** Bytes of a receive slot. */
uint32_t uroce_recv_wqe_stride(uint32_t max_sge);

/** Make a send queue over `mem` (64-byte aligned, uroce_ring_memsize(max_wr, stride) bytes). */
void uroce_sq_init(struct uroce_wq *sq, void *mem, uint32_t max_wr, uint32_t max_sge,
		   uint32_t max_inline, bool has_path);

/** Make a receive queue over `mem`. */
void uroce_rq_init(struct uroce_wq *rq, void *mem, uint32_t max_wr, uint32_t max_sge);

/** Producer: keep the others out, where there may be some. */
static inline void
uroce_wq_begin(struct uroce_wq *wq)
{
	if (!wq->is_lone)
		uroce_lock_take(&wq->lock);
}

/** Let them in. It is the last that a post does with the queue: who has had the lock since may free it. */
static inline void
uroce_wq_end(struct uroce_wq *wq)
{
	if (!wq->is_lone)
		uroce_lock_release(&wq->lock);
}

/** Whether nothing is posted that has not been given back; a hint to all but the consumer. */
static inline bool
uroce_wq_is_empty(const struct uroce_wq *wq)
{
	return uroce_ring_head(&wq->ring) == uroce_ring_tail(&wq->ring);
}

/** UD: the path of a send entry. */
static inline struct uroce_path *
uroce_send_wqe_path(struct uroce_send_wqe *wqe)
{
	return (struct uroce_path *)(wqe + 1);
}

/** Scatter list or inline data. */
static inline void *
uroce_send_wqe_data(struct uroce_send_wqe *wqe)
{
	return (uint8_t *)wqe + wqe->data_off;
}

static inline struct ibv_sge *
uroce_recv_wqe_sge(struct uroce_recv_wqe *wqe)
{
	return (struct ibv_sge *)(wqe + 1);
}

/**
 * Post one send request: checks, fills the next free slot, does not publish.
 * Between uroce_wq_begin() and uroce_wq_end(); the caller publishes a chain with one uroce_ring_push(&sq->ring, n).
 *
 * @param nth   how many slots of this chain are filled already and not yet published
 * @param path  UD: where it goes; else NULL
 * @param all_signaled  the QP signals every request
 * @return 0; -ENOMEM queue full; -EINVAL too many elements, or no list of them, inline too long, message longer than
 *	2^31, an opcode that a send queue of this kind does not have, or a bind whose new key is not
 *	one of the window's
 */
int uroce_sq_fill(struct uroce_wq *sq, uint32_t nth, const struct ibv_send_wr *wr,
		  const struct uroce_path *path, bool all_signaled);

/** Whether a receive request has no more elements than its queue takes, and a list if it has any. */
static inline bool
uroce_recv_is_allowed(const struct ibv_recv_wr *wr, uint32_t max_sge)
{
	const uint32_t nb_sge = (uint32_t)wr->num_sge; /* a negative number is a large one here */

	return nb_sge <= max_sge && (nb_sge == 0 || wr->sg_list != NULL);
}

/** Fill a receive slot, whose list has room for the request's. */
void uroce_recv_wqe_fill(struct uroce_recv_wqe *wqe, const struct ibv_recv_wr *wr);

/** Post one receive request: as uroce_sq_fill(). @return 0, -ENOMEM, -EINVAL too many elements, or no list of them. */
int uroce_rq_fill(struct uroce_wq *rq, uint32_t nth, const struct ibv_recv_wr *wr);

#endif /* UROCE_QUEUE_WQ_H */
