/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Shared receive queues. Each slot that is not in use by a QP is in one of two lists: the free
 * slots or the posted requests. The lists are linked by slot number, and the links are in an array
 * of their own. So only the threads that fill or use a slot access the bytes of the slot.
 *
 * A QP that has taken a request reads it without the lock, so a resize cannot move the request. The
 * resize reserves a slot of the new array for each request that a QP has taken. When the QP
 * releases the request, the reserved slot becomes free. When the QP puts the request back, the
 * request is copied into the reserved slot.
 */

#include "queue/srq.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

static size_t
links_len(uint32_t max_wr)
{
	return ((size_t)max_wr * sizeof(uint32_t) + 63) / 64 * 64;
}

size_t
uroce_srq_memsize(uint32_t max_wr, uint32_t max_sge)
{
	return links_len(max_wr) + (size_t)max_wr * uroce_recv_wqe_stride(max_sge);
}

/*
 * Link the slots [from, to) of a shared receive queue into one list.
 * @return the number of the first slot of the list
 */
static uint32_t
link_slots(uint32_t *next, uint32_t from, uint32_t to)
{
	if (from == to)
		return UROCE_SRQ_NONE;
	for (uint32_t i = from; i < to; i++)
		next[i] = i + 1 < to ? i + 1 : UROCE_SRQ_NONE;
	return from;
}

void
uroce_srq_init(struct uroce_srq *srq, void *mem, const struct uroce_srq_conf *conf)
{
	assert((uintptr_t)mem % 64 == 0 && conf->max_wr >= 1);
	*srq = (struct uroce_srq){
		.max_sge = conf->max_sge,
		.stride = uroce_recv_wqe_stride(conf->max_sge),
		.pdn = conf->pdn,
		.xrcd = conf->xrcd,
		.cq = conf->cq,
		.cookie = conf->cookie,
		.max_wr = conf->max_wr,
		.slots = (uint8_t *)mem + links_len(conf->max_wr),
		.next = mem,
		.free_idx = link_slots(mem, 0, conf->max_wr),
		.first_idx = UROCE_SRQ_NONE,
		.last_idx = UROCE_SRQ_NONE,
		.stale_idx = UROCE_SRQ_NONE,
	};
}

static struct uroce_recv_wqe *
slot_at(const struct uroce_srq *srq, uint32_t idx)
{
	return (struct uroce_recv_wqe *)(srq->slots + (size_t)idx * srq->stride);
}

/*
 * Take a request back from a QP into the shared receive queue. A request in memory that the queue
 * had before a resize is copied into a slot that the resize reserved. The caller holds the queue's
 * lock.
 * @return the slot of the request
 */
static uint32_t
take_back(struct uroce_srq *srq, const struct uroce_recv_wqe *wqe)
{
	const uintptr_t off = (uintptr_t)wqe - (uintptr_t)srq->slots;
	const uint32_t idx = srq->stale_idx;

	srq->nb_taken--;
	if (off < (uintptr_t)srq->max_wr * srq->stride)
		return (uint32_t)(off / srq->stride);
	assert(idx != UROCE_SRQ_NONE);
	srq->stale_idx = srq->next[idx];
	memcpy(slot_at(srq, idx), wqe, srq->stride);
	return idx;
}

/*
 * Set the number of posted requests of a shared receive queue. The store is atomic, because
 * uroce_srq_is_empty() reads the number without the lock.
 */
static void
set_nb_posted(struct uroce_srq *srq, uint32_t nb)
{
	__atomic_store_n(&srq->nb_posted, nb, __ATOMIC_RELAXED);
}

int
uroce_srq_post(struct uroce_srq *srq, const struct ibv_recv_wr *wr)
{
	const uint32_t idx = srq->free_idx;

	if (idx == UROCE_SRQ_NONE)
		return -ENOMEM;
	if (!uroce_recv_is_allowed(wr, srq->max_sge))
		return -EINVAL;
	srq->free_idx = srq->next[idx];
	uroce_recv_wqe_fill(slot_at(srq, idx), wr);
	srq->next[idx] = UROCE_SRQ_NONE;
	if (srq->last_idx == UROCE_SRQ_NONE)
		srq->first_idx = idx;
	else
		srq->next[srq->last_idx] = idx;
	srq->last_idx = idx;
	set_nb_posted(srq, srq->nb_posted + 1);
	return 0;
}

/* Take the oldest posted request of an SRQ for a QP. The caller holds the SRQ's lock. */
static struct uroce_recv_wqe *
take_oldest_wqe(struct uroce_srq *srq, bool *is_limit)
{
	const uint32_t idx = srq->first_idx;

	if (idx == UROCE_SRQ_NONE)
		return NULL;
	srq->first_idx = srq->next[idx];
	if (srq->first_idx == UROCE_SRQ_NONE)
		srq->last_idx = UROCE_SRQ_NONE;
	set_nb_posted(srq, srq->nb_posted - 1);
	srq->nb_taken++;
	if (srq->nb_posted < srq->limit) {
		srq->limit = 0;
		srq->is_limit_due = true;
		*is_limit = true;
	}
	return slot_at(srq, idx);
}

struct uroce_recv_wqe *
uroce_srq_take(struct uroce_srq *srq, bool *is_limit)
{
	uroce_lock_take(&srq->lock);
	struct uroce_recv_wqe *wqe = take_oldest_wqe(srq, is_limit);

	uroce_lock_release(&srq->lock);
	return wqe;
}

void
uroce_srq_give(struct uroce_srq *srq, struct uroce_recv_wqe *wqe)
{
	uroce_lock_take(&srq->lock);
	const uint32_t idx = take_back(srq, wqe);

	srq->next[idx] = srq->free_idx;
	srq->free_idx = idx;
	uroce_lock_release(&srq->lock);
}

void
uroce_srq_put_back(struct uroce_srq *srq, struct uroce_recv_wqe *wqe)
{
	uroce_lock_take(&srq->lock);
	const uint32_t idx = take_back(srq, wqe);

	srq->next[idx] = srq->first_idx;
	srq->first_idx = idx;
	if (srq->last_idx == UROCE_SRQ_NONE)
		srq->last_idx = idx;
	set_nb_posted(srq, srq->nb_posted + 1);
	uroce_lock_release(&srq->lock);
}

/*
 * Move a shared receive queue to new memory: first the posted requests in order, then reserved
 * slots for the requests that QPs have taken. The caller holds the queue's lock.
 */
static void
move_slots(struct uroce_srq *srq, void *mem, uint32_t max_wr)
{
	uint8_t *const slots = (uint8_t *)mem + links_len(max_wr);
	const uint32_t nb_posted = srq->nb_posted, nb_used = nb_posted + srq->nb_taken;
	uint32_t nb = 0;

	for (uint32_t idx = srq->first_idx; idx != UROCE_SRQ_NONE; idx = srq->next[idx])
		memcpy(slots + (size_t)nb++ * srq->stride, slot_at(srq, idx), srq->stride);
	assert(nb == nb_posted);
	srq->max_wr = max_wr;
	srq->slots = slots;
	srq->next = mem;
	srq->first_idx = link_slots(mem, 0, nb_posted);
	srq->last_idx = nb_posted ? nb_posted - 1 : UROCE_SRQ_NONE;
	srq->stale_idx = link_slots(mem, nb_posted, nb_used);
	srq->free_idx = link_slots(mem, nb_used, max_wr);
}

int
uroce_srq_resize(struct uroce_srq *srq, void *mem, uint32_t max_wr)
{
	assert((uintptr_t)mem % 64 == 0 && max_wr >= 1);
	uroce_lock_take(&srq->lock);
	const bool has_room = srq->nb_posted + srq->nb_taken <= max_wr;

	if (has_room)
		move_slots(srq, mem, max_wr);
	uroce_lock_release(&srq->lock);
	return has_room ? 0 : -EINVAL;
}

bool
uroce_srq_has_stale(struct uroce_srq *srq)
{
	uroce_lock_take(&srq->lock);
	const bool is_stale = srq->stale_idx != UROCE_SRQ_NONE;

	uroce_lock_release(&srq->lock);
	return is_stale;
}

bool
uroce_srq_arm(struct uroce_srq *srq, uint32_t limit)
{
	uroce_lock_take(&srq->lock);
	const bool is_below = srq->nb_posted < limit;

	srq->limit = is_below ? 0 : limit;
	uroce_lock_release(&srq->lock);
	return is_below;
}

bool
uroce_srq_take_limit(struct uroce_srq *srq)
{
	uroce_lock_take(&srq->lock);
	const bool is_due = srq->is_limit_due;

	srq->is_limit_due = false;
	uroce_lock_release(&srq->lock);
	return is_due;
}

void
uroce_srq_raise(struct uroce_srq *srq, enum uroce_srq_event what)
{
	uroce_lock_take(&srq->lock);
	srq->events |= (uint8_t)what;
	uroce_lock_release(&srq->lock);
}

uint8_t
uroce_srq_take_events(struct uroce_srq *srq)
{
	uroce_lock_take(&srq->lock);
	const uint8_t events = srq->events;

	srq->events = 0;
	uroce_lock_release(&srq->lock);
	return events;
}

uint32_t
uroce_srq_limit(struct uroce_srq *srq)
{
	uroce_lock_take(&srq->lock);
	const uint32_t limit = srq->limit;

	uroce_lock_release(&srq->lock);
	return limit;
}
