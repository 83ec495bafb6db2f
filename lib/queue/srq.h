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
 * Producers are threads of the application, consumers are workers. Both take `lock`, for a chain of
 * requests or for one request, and do not block while they have it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <infiniband/verbs.h>

#include "queue/cq.h"
#include "base/lock.h"
#include "queue/wq.h"

/** Properties of a shared receive queue. */
struct uroce_srq_conf {
	/*
	 * maximum number of requests in the queue, including those that QPs have taken; 1 .. 2^31
	 */
	uint32_t max_wr;
	uint32_t max_sge; /* maximum number of scatter/gather elements of a request */
	uint32_t pdn;     /* number of the protection domain that the keys in requests belong to */
	/* number of the XRC domain of the queue; 0: the queue is not of type XRC */
	uint32_t xrcd;
	/* CQ that gets the queue's completions, for type XRC; otherwise NULL */
	struct uroce_cq *cq;
	void *cookie; /* value by which the owner finds the queue of an event */
};

struct uroce_srq {
	/* The fields from `max_sge` to `cookie` are read-only after init. */
	uint32_t max_sge;
	uint32_t stride;
	uint32_t pdn;
	uint32_t xrcd;
	uint32_t srqn; /* number of an XRC shared receive queue, which uroce_srq_table_add() sets */
	struct uroce_cq *cq;
	void *cookie;
	/* `lock` protects the fields of the shared receive queue from `free_idx` to `events`. */
	_Alignas(64) struct uroce_lock lock;
	uint32_t free_idx; /* number of the first free slot; UROCE_SRQ_NONE: no slot is free */
	/* number of the slot with the oldest posted request; UROCE_SRQ_NONE if none is posted */
	uint32_t first_idx;
	/* number of the slot with the newest posted request; UROCE_SRQ_NONE if none is posted */
	uint32_t last_idx;
	uint32_t nb_posted;
	uint32_t nb_taken; /* number of requests that QPs have taken and not yet released */
	uint32_t max_wr;
	uint8_t *slots;
	/* number of the slot that follows each slot in its list (free or posted) */
	uint32_t *next;
	/*
	 * number of the first slot in the list of slots that a resize reserved for requests in the
	 * old memory; UROCE_SRQ_NONE: the list is empty
	 */
	uint32_t stale_idx;
	/*
	 * the limit event is raised when fewer requests than this number are posted; 0 if no limit
	 * is armed
	 */
	uint32_t limit;
	/* the limit event of the queue is pending; uroce_srq_take_limit() clears this field */
	bool is_limit_due;
	/* pending events (enum uroce_srq_event); uroce_srq_take_events() clears this field */
	uint8_t events;
};

/** Events of the CQ of a shared receive queue of type XRC, which a completion has caused. */
enum uroce_srq_event {
	/* an entry was added to the CQ of the queue, and the CQ was armed for it */
	UROCE_SRQ_CQ_EVENT = 1 << 0,
	UROCE_SRQ_CQ_OVERRUN = 1 << 1,
};

#define UROCE_SRQ_NONE UINT32_MAX

/** Number of bytes that a shared receive queue of `max_wr` requests of `max_sge` elements takes. */
size_t uroce_srq_memsize(uint32_t max_wr, uint32_t max_sge);

/**
 * Initialise an empty shared receive queue over `mem` (64-byte aligned, uroce_srq_memsize() bytes,
 * owned by the caller).
 */
void uroce_srq_init(struct uroce_srq *srq, void *mem, const struct uroce_srq_conf *conf);

/**
 * Post one request to a shared receive queue. The caller holds `lock`.
 * @return 0; -ENOMEM: the queue is full; -EINVAL: the request has too many elements, or its
 *	`sg_list` is NULL although it has elements
 */
int uroce_srq_post(struct uroce_srq *srq, const struct ibv_recv_wr *wr);

/**
 * Move a shared receive queue to new memory of another size (64-byte aligned, uroce_srq_memsize()
 * bytes). Posted requests stay posted, in order. QPs may still use requests in the old memory, so
 * the caller keeps the old memory until uroce_srq_has_stale() returns false.
 * @return 0; -EINVAL: more requests are posted or taken than the new size allows; nothing changed
 */
int uroce_srq_resize(struct uroce_srq *srq, void *mem, uint32_t max_wr);

/** Whether QPs still use requests in the memory that a shared receive queue had before a resize. */
bool uroce_srq_has_stale(struct uroce_srq *srq);

/**
 * Consumer: take the oldest request of a shared receive queue for a QP. The QP owns the request
 * until its slot is released.
 * @param[out] is_limit  set to true if fewer requests than the limit are posted now; otherwise not
 *	changed. If it is set, the limit is disarmed, and the caller raises the limit event by
 *	uroce_srq_take_limit().
 * @return the request; NULL: no request is posted
 */
struct uroce_recv_wqe *uroce_srq_take(struct uroce_srq *srq, bool *is_limit);

/** Consumer: release the slot of a request that a QP has completed. */
void uroce_srq_give(struct uroce_srq *srq, struct uroce_recv_wqe *wqe);

/**
 * Consumer: put a request back that a QP has taken and not used. The request becomes the oldest
 * posted one again.
 */
void uroce_srq_put_back(struct uroce_srq *srq, struct uroce_recv_wqe *wqe);

/**
 * Arm the limit of a shared receive queue: an event is raised once when fewer than `limit` requests
 * are posted; 0 disarms.
 * @return whether fewer requests than `limit` are posted already; then the caller raises the event
 *	at once, and the limit is not armed
 */
bool uroce_srq_arm(struct uroce_srq *srq, uint32_t limit);

/**
 * Whether the limit event of a shared receive queue is pending: the number of posted requests has
 * fallen below the limit since the last call. The call clears the pending event, and the caller
 * raises the event.
 */
bool uroce_srq_take_limit(struct uroce_srq *srq);

/**
 * For shared receive queues of type XRC: record an event of the queue's CQ. A producer of that CQ
 * makes this call.
 */
void uroce_srq_raise(struct uroce_srq *srq, enum uroce_srq_event what);

/**
 * For shared receive queues of type XRC: read and clear the pending events (enum uroce_srq_event);
 * 0 if there are none. The caller reports them to the owner of the queue.
 */
uint8_t uroce_srq_take_events(struct uroce_srq *srq);

/** Get the limit of a shared receive queue; 0 if no limit is armed. */
uint32_t uroce_srq_limit(struct uroce_srq *srq);

/**
 * Whether no request is posted to a shared receive queue. The result is a hint, because other
 * threads may post requests.
 */
static inline bool
uroce_srq_is_empty(const struct uroce_srq *srq)
{
	return __atomic_load_n(&srq->nb_posted, __ATOMIC_RELAXED) == 0;
}

#endif /* UROCE_QUEUE_SRQ_H */
