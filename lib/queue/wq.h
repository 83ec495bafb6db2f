/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_QUEUE_WQ_H
#define UROCE_QUEUE_WQ_H

/**
 * @file
 * Work queues: the send and the receive queue of a QP, as rings of work queue entries.
 *
 * A posted request is copied into its slot, with its scatter list or inline data, so the caller
 * may reuse its structures on return. A send slot is released when its request completes. A
 * receive slot is released when the message that used it has ended.
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
	/* These fields share the cache line of the worker's index. A post and a response seldom
	 * coincide, and with many QPs one cache line less is used. */
	struct uroce_lock lock; /* serialises posts */
	uint32_t max_sge;       /* most scatter/gather elements of a slot */
	uint32_t max_inline;    /* most bytes of inline data of a slot; 0 for a receive queue */
	/* set by the owner: bit i means that opcode i of enum ibv_wr_opcode may be posted */
	uint32_t opcodes;
	/*
	 * The owner of the queue sets this field: every send request gets a completion entry, as
	 * with sq_sig_all.
	 */
	bool is_all_signaled;
	bool has_path; /* send slots have a path (UD) */
	/*
	 * The queue is the send queue of an XRC initiator. The owner of the queue sets this field
	 * after uroce_sq_init().
	 */
	bool is_xrc;
	/* set by the owner: the application posts from one thread at a time, so no lock is
	 * needed */
	bool is_lone;
};
static_assert(sizeof(struct uroce_wq) == 128, "a work queue is two cache lines, and its slots");

/** Flags of a send entry: those that were posted, and its state. */
enum uroce_wqe_flag {
	/* flags that the program posted, with their values in verbs */
	UROCE_WQE_FENCE = IBV_SEND_FENCE,
	UROCE_WQE_SIGNALED = IBV_SEND_SIGNALED, /* a completion entry is written even on success */
	UROCE_WQE_SOLICITED = IBV_SEND_SOLICITED,
	UROCE_WQE_INLINE = IBV_SEND_INLINE, /* inline data in place of a scatter list */
	/* the request sends no packet: LOCAL_INV, BIND_MW, DRIVER1, or a cancelled request */
	UROCE_WQE_LOCAL = 1 << 4,
	/* the request has no effect, and completes with the opcode that was posted */
	UROCE_WQE_CANCELLED = 1 << 5,
	/* set by the requester: the local operation was executed, and must not be repeated */
	UROCE_WQE_EXECUTED = 1 << 6,
	/* the request consumes a receive request of the peer: a SEND that is not cancelled */
	UROCE_WQE_SEND = 1 << 7,
};

/**
 * Send work queue entry: one cache line, then [path], then scatter list or inline data. If the
 * opcode has no operands, the list begins at the place of the operands. So an entry with a single
 * element is one cache line.
 */
struct uroce_send_wqe {
	uint64_t wr_id;
	/* RDMA, atomics, FLUSH: address in the peer's memory; BIND_MW: address in the region */
	uint64_t remote_addr;
	/* RDMA, atomics, FLUSH: key of the peer's memory; BIND_MW: the window's new key */
	uint32_t rkey;
	uint32_t len;       /* bytes of the message, <= 2^31 */
	uint32_t imm;       /* immediate data as posted (wire order), or the rkey to invalidate */
	uint32_t srqn;      /* XRC: number of the peer's shared receive queue */
	uint32_t first_psn; /* written by the requester: PSN of the first packet */
	/* written by the requester: number of PSNs of the request; 0 before its first packet */
	uint32_t nb_psn;
	uint8_t opcode;   /* enum ibv_wr_opcode */
	uint8_t flags;    /* enum uroce_wqe_flag */
	uint8_t nb_sge;   /* number of elements of the scatter list; 0 with UROCE_WQE_INLINE */
	uint8_t data_off; /* offset of scatter list or inline data in the entry */
	uint8_t resv[4];
	union {
		struct {
			uint64_t compare_add; /* of a FLUSH: length of the range in bytes */
			/* of a FLUSH: the placement type, or-ed with the selectivity level << 4 */
			uint64_t swap;
		} atomic;
		struct {
			uint32_t dest_qpn;
			/* Q_Key as posted; the high bit selects the QP's own Q_Key */
			uint32_t qkey;
		} ud;
		struct {
			uint64_t len;
			uint32_t mr_key;
			uint32_t access; /* enum ibv_access_flags */
		} bind;
		struct ibv_sge sge; /* first element, if the opcode has no operands */
	};
};
static_assert(sizeof(struct uroce_send_wqe) == 64, "a send WQE header is one cache line");

/** Bytes of a path in a send slot. */
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

/**
 * Initialise a send queue over `mem` (64-byte aligned, uroce_ring_memsize(max_wr, stride) bytes).
 */
void uroce_sq_init(struct uroce_wq *sq, void *mem, uint32_t max_wr, uint32_t max_sge,
		   uint32_t max_inline, bool has_path);

/** Initialise a receive queue over `mem`. */
void uroce_rq_init(struct uroce_wq *rq, void *mem, uint32_t max_wr, uint32_t max_sge);

/** Producer: lock the queue, unless only one thread posts. */
static inline void
uroce_wq_begin(struct uroce_wq *wq)
{
	if (!wq->is_lone)
		uroce_lock_take(&wq->lock);
}

/**
 * Producer: unlock the queue. A post must not access the queue after this call, since the next
 * thread with the lock may free the queue.
 */
static inline void
uroce_wq_end(struct uroce_wq *wq)
{
	if (!wq->is_lone)
		uroce_lock_release(&wq->lock);
}

/** Whether all posted requests have been released. A hint to all threads but the consumer's. */
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

/** The scatter list or inline data of a send entry. */
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
 * Check one send request and copy it into the next free slot, without publishing it. Called
 * between uroce_wq_begin() and uroce_wq_end(). The caller publishes a chain with one
 * uroce_ring_push(&sq->ring, n).
 *
 * @param nth  number of slots of this chain that are filled and not yet published
 * @param path  UD: path of the datagram; else NULL
 * @param all_signaled  the QP signals every request
 * @return 0; -ENOMEM: queue full; -EINVAL: too many elements, or no list of them; inline data too
 *	long; message longer than 2^31; an opcode that this kind of send queue does not have; or
 *	a bind whose new key is not one of the window's
 */
int uroce_sq_fill(struct uroce_wq *sq, uint32_t nth, const struct ibv_send_wr *wr,
		  const struct uroce_path *path, bool all_signaled);

/**
 * Whether a receive request has no more elements than `max_sge`, and a list if it has any element.
 */
static inline bool
uroce_recv_is_allowed(const struct ibv_recv_wr *wr, uint32_t max_sge)
{
	/* as an unsigned number, a negative `num_sge` is too large */
	const uint32_t nb_sge = (uint32_t)wr->num_sge;

	return nb_sge <= max_sge && (nb_sge == 0 || wr->sg_list != NULL);
}

/** Fill a receive slot. The slot's list must have room for the request's elements. */
void uroce_recv_wqe_fill(struct uroce_recv_wqe *wqe, const struct ibv_recv_wr *wr);

/**
 * Check one receive request and copy it into the next free slot, as uroce_sq_fill() does.
 * @return 0, -ENOMEM, or -EINVAL: too many elements, or no list of them
 */
int uroce_rq_fill(struct uroce_wq *rq, uint32_t nth, const struct ibv_recv_wr *wr);

#endif /* UROCE_QUEUE_WQ_H */
