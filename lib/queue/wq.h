/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_QUEUE_WQ_H
#define UROCE_QUEUE_WQ_H

/**
 * @file
 * Work queues: the send and the receive queue of a QP, as rings of work queue entries.
 *
 * A posted request is copied into its slot, with its scatter list or inline data, so the caller may
 * reuse its structures on return. A slot of a send queue is released when its request completes. A
 * slot of a receive queue is released when the message that used it has ended.
 *
 * Producer: the application's threads, one at a time under `lock`. Consumer: the worker that owns
 * the QP.
 */

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <infiniband/verbs.h>

#include "base/lock.h"
#include "queue/ring.h"
#include "wire/build.h"

struct uroce_wq {
	_Alignas(64) struct uroce_ring ring;
	/*
	 * The fields from `lock` on share a cache line with `ring.tail`, the index that the worker
	 * writes. This saves one cache line for each queue. A post and a response seldom access the
	 * line at the same time.
	 */
	struct uroce_lock lock; /* lock of the queue, which serialises posts */
	uint32_t max_sge;       /* maximum number of scatter/gather elements of a request */
	/* maximum number of bytes of inline data of a request; 0 for a receive queue */
	uint32_t max_inline;
	/*
	 * bit i means that opcode i of enum ibv_wr_opcode may be posted to the queue, whose owner
	 * sets this field
	 */
	uint32_t opcodes;
	/*
	 * Every send request gets a completion entry, as with sq_sig_all. The owner of the queue
	 * sets this field.
	 */
	bool is_all_signaled;
	/*
	 * the slots of the queue contain the path of a datagram, because it is the send queue of a
	 * UD QP
	 */
	bool has_path;
	/*
	 * The queue is the send queue of an XRC initiator. The owner of the queue sets this field
	 * after uroce_sq_init().
	 */
	bool is_xrc;
	/* The application posts from one thread at a time, so no lock is needed. The owner of the
	 * queue sets this field. */
	bool is_single_threaded;
};
static_assert(sizeof(struct uroce_wq) == 128, "a work queue is two cache lines, and its slots");

/**
 * Flags of an entry of a send queue: flags that the program posted, and flags that the library
 * sets.
 */
enum uroce_wqe_flag {
	/*
	 * The flags FENCE, SIGNALED, SOLICITED and INLINE are those that the program posted, with
	 * their values in verbs.
	 */
	UROCE_WQE_FENCE = IBV_SEND_FENCE,
	/* the request gets a completion entry even if it succeeds */
	UROCE_WQE_SIGNALED = IBV_SEND_SIGNALED,
	UROCE_WQE_SOLICITED = IBV_SEND_SOLICITED,
	/* the entry has inline data in place of a scatter list */
	UROCE_WQE_INLINE = IBV_SEND_INLINE,
	/*
	 * the request sends no packet, because it is LOCAL_INV, BIND_MW, DRIVER1 or was cancelled
	 */
	UROCE_WQE_LOCAL = 1 << 4,
	/*
	 * the request was cancelled: it has no effect, and completes with the opcode that was
	 * posted
	 */
	UROCE_WQE_CANCELLED = 1 << 5,
	/*
	 * the operation of a request that sends no packet was executed and must not be repeated;
	 * the requester sets this flag
	 */
	UROCE_WQE_EXECUTED = 1 << 6,
	/*
	 * the request consumes a receive request of the peer, because it is a SEND that was not
	 * cancelled
	 */
	UROCE_WQE_SEND = 1 << 7,
};

/**
 * Entry of a send queue. It is one cache line, followed by the path of the datagram (UD only) and
 * by the scatter list or inline data. If the opcode has no operands, the list begins in the union
 * at the end of this struct. So an entry with a single scatter/gather element takes one cache line.
 */
struct uroce_send_wqe {
	uint64_t wr_id;
	/*
	 * for RDMA, atomics and FLUSH: address in the peer's memory; for BIND_MW: address of the
	 * window in the memory region
	 */
	uint64_t remote_addr;
	/*
	 * for RDMA, atomics and FLUSH: key of the peer's memory; for BIND_MW: the window's new key
	 */
	uint32_t rkey;
	uint32_t len;       /* length of the message in bytes, at most 2^31 */
	uint32_t imm;       /* immediate data as posted (wire order), or the rkey to invalidate */
	uint32_t srqn;      /* number of the peer's shared receive queue, if the service is XRC */
	uint32_t first_psn; /* PSN of the first packet of the request, written by the requester */
	/*
	 * number of PSNs of the request, written by the requester; 0 before the first packet is
	 * sent
	 */
	uint32_t nb_psn;
	uint8_t opcode;   /* opcode of the request (enum ibv_wr_opcode) */
	uint8_t flags;    /* flags of the request (enum uroce_wqe_flag, or-ed) */
	uint8_t nb_sge;   /* number of elements of the scatter list; 0 with UROCE_WQE_INLINE */
	uint8_t data_off; /* offset of the scatter list or inline data in the entry, in bytes */
	uint8_t resv[4];
	union {
		struct {
			/* operand of an atomic; in a FLUSH, the length of the range in bytes */
			uint64_t compare_add;
			/*
			 * operand of CMP_SWAP; in a FLUSH, the placement type, or-ed with the
			 * selectivity level << 4
			 */
			uint64_t swap;
		} atomic;
		struct {
			uint32_t dest_qpn;
			/*
			 * Q_Key that was posted with a datagram; if its high bit is set, the QP's
			 * own Q_Key is sent
			 */
			uint32_t qkey;
		} ud;
		struct {
			uint64_t len;
			uint32_t mr_key;
			/*
			 * access rights of the window that the request binds (enum
			 * ibv_access_flags)
			 */
			uint32_t access;
		} bind;
		/* first element of the scatter list, if the opcode has no operands */
		struct ibv_sge sge;
	};
};
static_assert(sizeof(struct uroce_send_wqe) == 64, "a send WQE header is one cache line");

/** Number of bytes that the path of a datagram takes in a slot of a send queue. */
#define UROCE_WQE_PATH_LEN 128
static_assert(sizeof(struct uroce_path) <= UROCE_WQE_PATH_LEN, "a path fits its part of the slot");

/** Entry of a receive queue, followed by the scatter list of the request. */
struct uroce_recv_wqe {
	uint64_t wr_id;
	uint32_t len; /* sum of the lengths of the scatter/gather elements, at most 2^32 - 1 */
	uint32_t nb_sge;
};
static_assert(sizeof(struct uroce_recv_wqe) == 16, "the scatter list of a receive WQE is aligned");

/** Number of bytes of a slot of a send queue. */
uint32_t uroce_send_wqe_stride(uint32_t max_sge, uint32_t max_inline, bool has_path);

/** Number of bytes of a slot of a receive queue. */
uint32_t uroce_recv_wqe_stride(uint32_t max_sge);

/**
 * Initialise a send queue over `mem` (64-byte aligned, uroce_ring_memsize(max_wr, stride) bytes).
 */
void uroce_sq_init(struct uroce_wq *sq, void *mem, uint32_t max_wr, uint32_t max_sge,
		   uint32_t max_inline, bool has_path);

/** Initialise a receive queue over `mem`, as uroce_sq_init() does for a send queue. */
void uroce_rq_init(struct uroce_wq *rq, void *mem, uint32_t max_wr, uint32_t max_sge);

/** Producer: lock the work queue, unless the application posts from one thread at a time. */
static inline void
uroce_wq_begin(struct uroce_wq *wq)
{
	if (!wq->is_single_threaded)
		uroce_lock_take(&wq->lock);
}

/**
 * Producer: unlock the work queue. A post must not access the queue after this call, since the next
 * thread with the lock may free the queue.
 */
static inline void
uroce_wq_end(struct uroce_wq *wq)
{
	if (!wq->is_single_threaded)
		uroce_lock_release(&wq->lock);
}

/**
 * Whether all posted requests of a work queue have been released. To threads other than the
 * consumer the result is a hint.
 */
static inline bool
uroce_wq_is_empty(const struct uroce_wq *wq)
{
	return uroce_ring_head(&wq->ring) == uroce_ring_tail(&wq->ring);
}

/** Get the path of the datagram in an entry of a UD QP's send queue. */
static inline struct uroce_path *
uroce_send_wqe_path(struct uroce_send_wqe *wqe)
{
	return (struct uroce_path *)(wqe + 1);
}

/** Get the scatter list or inline data of an entry of a send queue. */
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
 * Check one send request and copy it into the next free slot, without publishing the slot. The
 * caller makes this call between uroce_wq_begin() and uroce_wq_end(), and publishes a chain of
 * requests with one uroce_ring_push(&sq->ring, n).
 * @param nth  number of slots that are filled and not yet published; slot `nth` is filled next
 * @param path  path of the datagram, for a UD QP; otherwise NULL
 * @param all_signaled  every request of the QP gets a completion entry
 * @return 0; -ENOMEM: the queue is full; -EINVAL: the request has too many elements, or its
 *	`sg_list` is NULL although it has elements; its inline data is too long; its message is
 *	longer than 2^31 bytes; its opcode may not be posted to this queue; or it is a bind whose
 *	new key does not belong to the window
 */
int uroce_sq_fill(struct uroce_wq *sq, uint32_t nth, const struct ibv_send_wr *wr,
		  const struct uroce_path *path, bool all_signaled);

/**
 * Whether a receive request may be posted: it has at most `max_sge` elements, and its `sg_list` is
 * not NULL if it has elements.
 */
static inline bool
uroce_recv_is_allowed(const struct ibv_recv_wr *wr, uint32_t max_sge)
{
	/* as an unsigned number, a negative `num_sge` is above every `max_sge` */
	const uint32_t nb_sge = (uint32_t)wr->num_sge;

	return nb_sge <= max_sge && (nb_sge == 0 || wr->sg_list != NULL);
}

/**
 * Copy a receive request into a slot of a receive queue. The slot must have room for the request's
 * elements.
 */
void uroce_recv_wqe_fill(struct uroce_recv_wqe *wqe, const struct ibv_recv_wr *wr);

/**
 * Check one receive request and copy it into the next free slot, as uroce_sq_fill() does for a send
 * request.
 * @return 0; -ENOMEM: the queue is full; -EINVAL: the request has too many elements, or its
 *	`sg_list` is NULL although it has elements
 */
int uroce_rq_fill(struct uroce_wq *rq, uint32_t nth, const struct ibv_recv_wr *wr);

#endif /* UROCE_QUEUE_WQ_H */
