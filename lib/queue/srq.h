/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_QUEUE_SRQ_H
#define UROCE_QUEUE_SRQ_H

/**
 * @file
 * Shared receive queues [IBA 10.2.9]: receive requests for any of the QPs that use the queue.
 *
 * A QP takes the oldest request with the first packet of a message, and releases the slot when the
 * message has ended. Messages of different QPs end in any order, so the slots do not form a ring.
 * Each slot is in one of two lists, posted or free, or belongs to a QP. A resize does not move the
 * slots that belong to QPs.
 *
 * Producers are threads of the application, consumers are workers. Both take `lock`, for a chain
 * or for one request, and do not block while they have it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <infiniband/verbs.h>

#include "queue/cq.h"
#include "base/lock.h"
#include "queue/wq.h"

/** Properties of a queue. */
struct uroce_srq_conf {
	uint32_t max_wr;     /* most requests, including those that QPs have taken; 1 .. 2^31 */
	uint32_t max_sge;    /* most elements of a request */
	uint32_t pdn;        /* protection domain of the requests' keys */
	uint32_t xrcd;       /* XRC: number of the XRC domain; 0: not XRC */
	struct uroce_cq *cq; /* XRC: CQ of the queue's completions; else NULL */
	void *cookie;        /* the owner's cookie, for events */
};

struct uroce_srq {
	/* read-only after init */
	uint32_t max_sge;
	uint32_t stride;
	uint32_t pdn;
	uint32_t xrcd;
	uint32_t srqn; /* XRC: number of the queue, set by uroce_srq_table_add() */
	struct uroce_cq *cq;
	void *cookie;
	/* fields that the lock protects */
	_Alignas(64) struct uroce_lock lock;
	uint32_t free_idx;  /* first free slot; UROCE_SRQ_NONE: none */
	uint32_t first_idx; /* oldest posted slot; UROCE_SRQ_NONE: none */
	uint32_t last_idx;  /* newest posted slot; UROCE_SRQ_NONE: none */
	uint32_t nb_posted;
	uint32_t nb_taken; /* number of requests that QPs have taken */
	uint32_t max_wr;
	uint8_t *slots;
	uint32_t *next; /* for each slot, the next slot in its list */
	/* first slot that a resize reserved for a request in the old memory; UROCE_SRQ_NONE:
	 * none */
	uint32_t stale_idx;
	/* the event is raised when fewer requests than this are posted; 0: not armed */
	uint32_t limit;
	bool is_limit_due; /* the limit event is pending; cleared by uroce_srq_take_limit() */
	/* pending events (enum uroce_srq_event); cleared by uroce_srq_take_events() */
	uint8_t events;
};

/** XRC: events that a completion in the queue's CQ has caused. */
enum uroce_srq_event {
	UROCE_SRQ_CQ_EVENT = 1 << 0, /* a completion came for which the CQ's consumer was armed */
	UROCE_SRQ_CQ_OVERRUN = 1 << 1,
};

#define UROCE_SRQ_NONE UINT32_MAX

/** Bytes for `max_wr` requests of `max_sge` elements. */
size_t uroce_srq_memsize(uint32_t max_wr, uint32_t max_sge);

/** Initialise an empty queue over `mem` (64-byte aligned, owned by the caller). */
void uroce_srq_init(struct uroce_srq *srq, void *mem, const struct uroce_srq_conf *conf);

/**
 * Post one request. The caller has `lock`.
 * @return 0; -ENOMEM: full; -EINVAL: too many elements, or no list of them
 */
int uroce_srq_post(struct uroce_srq *srq, const struct ibv_recv_wr *wr);

/**
 * Move to new memory (64-byte aligned, uroce_srq_memsize()) of another size. Posted requests stay
 * posted, in order. QPs may still use requests in the old memory: the caller keeps it until
 * uroce_srq_has_stale() returns false.
 * @return 0; -EINVAL: more requests are posted or taken than the new size holds; nothing changed
 */
int uroce_srq_resize(struct uroce_srq *srq, void *mem, uint32_t max_wr);

/** Whether QPs have requests in the old memory of a resize. */
bool uroce_srq_has_stale(struct uroce_srq *srq);

/**
 * Consumer: take the oldest request for a QP. The QP owns it until its slot is released.
 * @param[out] is_limit  set to true when fewer requests than the limit are posted: raise the event,
 *	with uroce_srq_take_limit(). The limit is then no longer armed. Otherwise `is_limit` does
 *	not change.
 * @return NULL: no request is posted
 */
struct uroce_recv_wqe *uroce_srq_take(struct uroce_srq *srq, bool *is_limit);

/** Consumer: release the slot of a request that was completed. */
void uroce_srq_give(struct uroce_srq *srq, struct uroce_recv_wqe *wqe);

/** Consumer: put an unused request back. It is the oldest posted request again. */
void uroce_srq_put_back(struct uroce_srq *srq, struct uroce_recv_wqe *wqe);

/**
 * Arm the limit: an event is raised once when fewer than `limit` requests are posted; 0 disarms.
 * @return whether fewer are posted already: raise the event now; the limit is not armed
 */
bool uroce_srq_arm(struct uroce_srq *srq, uint32_t limit);

/**
 * Whether fewer requests than the limit were posted since the last call. If so, the caller raises
 * the event.
 */
bool uroce_srq_take_limit(struct uroce_srq *srq);

/** XRC: record an event of the queue's CQ. Called by a producer of that CQ. */
void uroce_srq_raise(struct uroce_srq *srq, enum uroce_srq_event what);

/** XRC: read and clear the pending events; 0: none. The caller notifies the owner. */
uint8_t uroce_srq_take_events(struct uroce_srq *srq);

/** The armed limit; 0: none. */
uint32_t uroce_srq_limit(struct uroce_srq *srq);

/** Whether no request is posted; a hint. */
static inline bool
uroce_srq_is_empty(const struct uroce_srq *srq)
{
	return __atomic_load_n(&srq->nb_posted, __ATOMIC_RELAXED) == 0;
}

#endif /* UROCE_QUEUE_SRQ_H */
