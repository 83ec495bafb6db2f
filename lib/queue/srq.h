/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_QUEUE_SRQ_H
#define UROCE_QUEUE_SRQ_H

/**
 * @file
 * Shared receive queues [IBA 10.2.9]: receive requests for any of the QPs that use the queue.
 *
 * A QP takes the oldest request with the first packet of a message, and gives its slot back when the
 * message has ended. Messages of different QPs end in any order, so slots are not a ring: they are in
 * one of two lists, posted or free, or belong to a QP. What belongs to a QP stays where it is when the queue
 * gets other memory.
 *
 * Producers are application threads, consumers are workers; both take `lock`, for a chain or for a
 * request, and hold it across nothing that waits.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <infiniband/verbs.h>

#include "queue/cq.h"
#include "wire/lock.h"
#include "queue/wq.h"

/** What a queue is made of. */
struct uroce_srq_conf {
	uint32_t max_wr;     /* requests, those in QPs' hands included; 1 .. 2^31 */
	uint32_t max_sge;    /* elements of each */
	uint32_t pdn;        /* the domain of their keys */
	uint32_t xrcd;       /* XRC: its domain; 0: not XRC */
	struct uroce_cq *cq; /* XRC: where its completions go; else NULL */
	void *cookie;        /* its owner's, for events */
};

struct uroce_srq {
	/* read-only after init */
	uint32_t max_sge;
	uint32_t stride;
	uint32_t pdn;
	uint32_t xrcd;
	uint32_t srqn; /* XRC: set when it is added to the table (srq_table.h) */
	struct uroce_cq *cq;
	void *cookie;
	/* under the lock */
	_Alignas(64) struct uroce_lock lock;
	uint32_t free_idx;  /* lists, by slot number; UROCE_SRQ_NONE: empty */
	uint32_t first_idx; /* posted, oldest */
	uint32_t last_idx;  /* posted, newest */
	uint32_t nb_posted;
	uint32_t nb_taken; /* in QPs' hands */
	uint32_t max_wr;
	uint8_t *slots;
	uint32_t *next; /* of a slot in its list */
	uint32_t
		stale_idx; /* kept for requests in QPs' hands that are in memory of before a resize */
	uint32_t limit;    /* tell when fewer are posted; 0: not armed */
	bool is_limit_due; /* it fell below, and nobody has taken that yet */
	uint8_t events;    /* enum uroce_srq_event, the same */
};

/** XRC: what a completion in the queue's CQ has led to. */
enum uroce_srq_event {
	UROCE_SRQ_CQ_EVENT = 1 << 0, /* the CQ's consumer asked to be told */
	UROCE_SRQ_CQ_OVERRUN = 1 << 1,
};

#define UROCE_SRQ_NONE UINT32_MAX

/** Bytes for `max_wr` requests of `max_sge` elements. */
size_t uroce_srq_memsize(uint32_t max_wr, uint32_t max_sge);

/** Make an empty queue over `mem` (64-byte aligned, caller's). */
void uroce_srq_init(struct uroce_srq *srq, void *mem, const struct uroce_srq_conf *conf);

/**
 * Post one request. The caller holds `lock`.
 * @return 0, -ENOMEM: full; -EINVAL: too many elements
 */
int uroce_srq_post(struct uroce_srq *srq, const struct ibv_recv_wr *wr);

/**
 * Move to new memory (64-byte aligned, uroce_srq_memsize()) of another size. What is posted stays, in order.
 * The old memory is the caller's again when uroce_srq_has_stale() says no: until then QPs have requests in it.
 * @return 0, or -EINVAL: more requests are posted or in QPs' hands than the new size; nothing changed
 */
int uroce_srq_resize(struct uroce_srq *srq, void *mem, uint32_t max_wr);

/** Whether QPs have requests that are in memory of before a resize. */
bool uroce_srq_has_stale(struct uroce_srq *srq);

/**
 * Consumer: the oldest request, which is the QP's until it gives the slot back.
 * @param[out] is_limit  set when the queue fell below its limit, which is no longer armed: raise the
 *	event, with uroce_srq_take_limit(); else left alone
 * @return NULL: none is posted
 */
struct uroce_recv_wqe *uroce_srq_take(struct uroce_srq *srq, bool *is_limit);

/** Consumer: the request was completed. */
void uroce_srq_give(struct uroce_srq *srq, struct uroce_recv_wqe *wqe);

/** Consumer: the request was not used after all; it is the oldest again. */
void uroce_srq_put_back(struct uroce_srq *srq, struct uroce_recv_wqe *wqe);

/**
 * Ask to be told when fewer than `limit` requests are posted, once; 0: not at all.
 * @return whether that is so already: raise the event, nothing is armed
 */
bool uroce_srq_arm(struct uroce_srq *srq, uint32_t limit);

/** Whether the queue fell below its limit since the last time. The event is the caller's to raise. */
bool uroce_srq_take_limit(struct uroce_srq *srq);

/** XRC, producer of its CQ: this happened. */
void uroce_srq_raise(struct uroce_srq *srq, enum uroce_srq_event what);

/** XRC: what happened since the last time; 0: nothing. The caller tells whom it concerns. */
uint8_t uroce_srq_take_events(struct uroce_srq *srq);

/** What is armed; 0: nothing. */
uint32_t uroce_srq_limit(struct uroce_srq *srq);

/** Whether nothing is posted; a hint. */
static inline bool
uroce_srq_is_empty(const struct uroce_srq *srq)
{
	return __atomic_load_n(&srq->nb_posted, __ATOMIC_RELAXED) == 0;
}

#endif /* UROCE_QUEUE_SRQ_H */
