/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Frames over lanes: from mbufs into the area, and back, a copy each. What uroced wrote is looked at as it is
 * copied: a slot that names anything but the buffer that we put there, or a length that no frame has, costs
 * the frame.
 */

#include <string.h>
#include <sys/eventfd.h>
#include <rte_common.h>
#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include "datapath/attach.h"
#include "datapath/port.h"

#define AHEAD         2   /* frames that are fetched ahead of the one that is copied */
#define MIN_FRAME_LEN 60u /* without FCS; what is shorter is filled up */

static void
count(_Atomic uint64_t *counter)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1,
			      memory_order_relaxed);
}

/* The place of a lane's i-th slot that is next. */
static uint32_t
place_of(const struct uroce_lane_end *end, uint32_t i)
{
	return (end->mine + i) & (end->nb_slots - 1);
}

void
uroce_attach_begin(struct uroce_attach *attach)
{
	const struct uroce_area *area = &attach->area;

	for (uint32_t i = 0; i < attach->nb_pairs; i++) {
		struct uroce_attach_pair *pair = &attach->pair[i];

		pair->up =
			(struct uroce_lane_end){ uroce_area_up(area, i), area->plan.nb_slots, 0 };
		pair->down =
			(struct uroce_lane_end){ uroce_area_down(area, i), area->plan.nb_slots, 0 };
		pair->up_at = (uint32_t)uroce_area_buffer(&area->plan, i, false, 0);
		pair->down_at = (uint32_t)uroce_area_buffer(&area->plan, i, true, 0);
		for (uint32_t j = 0; j < area->plan.nb_slots; j++) {
			const struct uroce_lane_frame empty = { .offset = pair->down_at +
									  j * attach->stride };

			uroce_lane_put(&pair->down, j, empty);
		}
	}
}

/*
 * The other end's index cannot be: the lane is made one that is empty, and uroced has to begin anew with it.
 * Of its other index the same may be true.
 */
static void
mend(struct uroce_attach *attach, struct uroce_attach_pair *pair, struct uroce_lane_end *end)
{
	atomic_store_explicit(&end->lane->tail, end->mine, memory_order_relaxed);
	atomic_store_explicit(&end->lane->head, end->mine, memory_order_release);
	count(&pair->stats.wrong_heads);
	uroce_attach_break(attach);
}

/* --- down -------------------------------------------------------------------------------------- */

/* @return whether the slot is good, and its frame in the mbuf */
static bool
take(const struct uroce_attach *attach, struct uroce_attach_pair *pair, uint32_t i,
     struct rte_mbuf *mbuf)
{
	const struct uroce_lane_frame frame = uroce_lane_get(&pair->down, i);
	const uint32_t offset = pair->down_at + place_of(&pair->down, i) * attach->stride;

	if (unlikely(frame.offset != offset || frame.len < UROCE_AREA_FRAME_MIN ||
		     frame.len > attach->area.plan.frame_max)) {
		uroce_lane_put(&pair->down, i, (struct uroce_lane_frame){ .offset = offset });
		count(&pair->stats.wrong_slots);
		return false;
	}
	memcpy(rte_pktmbuf_mtod(mbuf, void *), attach->area.mem + offset, frame.len);
	mbuf->data_len = frame.len;
	mbuf->pkt_len = frame.len;
	return true;
}

static void
fetch(const struct uroce_attach *attach, const struct uroce_attach_pair *pair, uint32_t i)
{
	const uint8_t *at = attach->area.mem + pair->down_at +
			    (size_t)place_of(&pair->down, i) * attach->stride;

	rte_prefetch0(at);
	rte_prefetch0(at + RTE_CACHE_LINE_SIZE);
}

uint16_t
uroce_attach_rx(const struct uroce_port *port, uint16_t queue, struct rte_mbuf **frames,
		uint16_t max)
{
	struct uroce_attach *attach = port->attach;
	struct uroce_attach_pair *pair = &attach->pair[queue];
	const int32_t nb_ready = uroce_lane_ready(&pair->down);
	uint16_t nb_good = 0;

	if (nb_ready <= 0) {
		if (unlikely(nb_ready < 0))
			mend(attach, pair, &pair->down);
		return 0;
	}
	const uint16_t nb = (uint16_t)RTE_MIN(nb_ready, (int32_t)max);

	for (uint32_t i = 0; i < AHEAD && i < nb; i++)
		fetch(attach, pair, i);
	if (rte_pktmbuf_alloc_bulk(port->pool[queue], frames, nb) != 0) {
		count(&pair->stats.no_mbuf);
		return 0;
	}
	for (uint32_t i = 0; i < nb; i++) {
		if (i + AHEAD < nb)
			fetch(attach, pair, i + AHEAD);
		nb_good += take(attach, pair, i, frames[nb_good]);
	}
	uroce_lane_pop(&pair->down, nb);
	if (unlikely(nb_good < nb))
		rte_pktmbuf_free_bulk(&frames[nb_good], nb - nb_good);
	return nb_good;
}

/* --- up ---------------------------------------------------------------------------------------- */

/* One that is too long is none: its slot says so, and uroced drops it. */
static uint16_t
put(uint8_t *at, uint32_t room, const struct rte_mbuf *mbuf)
{
	uint32_t len = 0;

	if (unlikely(mbuf->pkt_len > room))
		return 0;
	for (; mbuf; mbuf = mbuf->next) {
		memcpy(at + len, rte_pktmbuf_mtod(mbuf, const void *), mbuf->data_len);
		len += mbuf->data_len;
	}
	if (unlikely(len < MIN_FRAME_LEN)) {
		memset(at + len, 0, MIN_FRAME_LEN - len);
		len = MIN_FRAME_LEN;
	}
	return (uint16_t)len;
}

static void
ring(const struct uroce_attach *attach, struct uroce_attach_pair *pair)
{
	/* full, it has been rung often enough */
	(void)eventfd_write(attach->bell_fd, 1);
	count(&pair->stats.bells);
}

uint16_t
uroce_attach_tx(const struct uroce_port *port, uint16_t queue, struct rte_mbuf **frames,
		uint16_t max)
{
	struct uroce_attach *attach = port->attach;
	struct uroce_attach_pair *pair = &attach->pair[queue];
	const int32_t room = uroce_lane_room(&pair->up);

	if (unlikely(room <= 0)) {
		if (room < 0)
			mend(attach, pair, &pair->up);
		return 0;
	}
	const uint16_t nb = (uint16_t)RTE_MIN(room, (int32_t)max);

	for (uint32_t i = 0; i < nb; i++) {
		struct uroce_lane_frame frame = { .offset = pair->up_at + place_of(&pair->up, i) *
										  attach->stride };

		frame.len = put(attach->area.mem + frame.offset, attach->area.plan.frame_max,
				frames[i]);
		uroce_lane_put(&pair->up, i, frame);
	}
	uroce_lane_push(&pair->up, nb);
	if (uroce_lane_must_wake(&pair->up))
		ring(attach, pair);
	rte_pktmbuf_free_bulk(frames, nb);
	return nb;
}

static bool
is_attached(struct uroce_attach *attach)
{
	pthread_mutex_lock(&attach->lock);
	const bool is_attached = attach->is_attached;

	pthread_mutex_unlock(&attach->lock);
	return is_attached;
}

bool
uroce_attach_sync(const struct uroce_port *port, uint16_t queue)
{
	struct uroce_attach_pair *pair = &port->attach->pair[queue];
	const struct uroce_lane_frame barrier = { .offset = UROCE_LANE_BARRIER };

	if (!is_attached(port->attach) || uroce_lane_room(&pair->up) <= 0 ||
	    (pair->is_late && !uroce_attach_has_passed(port, queue, pair->late_index)))
		return false;
	pair->is_late = false;
	uroce_lane_put(&pair->up, 0, barrier);
	uroce_lane_push(&pair->up, 1);
	if (uroce_lane_must_wake(&pair->up))
		ring(port->attach, pair);
	return true;
}

void
uroce_attach_give_up(const struct uroce_port *port, uint16_t queue, uint32_t index)
{
	struct uroce_attach_pair *pair = &port->attach->pair[queue];

	pair->is_late = true;
	pair->late_index = index;
}

uint32_t
uroce_attach_sent(const struct uroce_port *port, uint16_t queue)
{
	return port->attach->pair[queue].up.mine;
}

bool
uroce_attach_has_passed(const struct uroce_port *port, uint16_t queue, uint32_t index)
{
	const struct uroce_lane_end *up = &port->attach->pair[queue].up;
	const uint32_t tail = atomic_load_explicit(&up->lane->tail, memory_order_acquire); /* R2 */

	return (int32_t)(tail - index) >= 0;
}

/* --- sleep ------------------------------------------------------------------------------------- */

void
uroce_attach_arm(struct uroce_attach *attach, uint16_t queue)
{
	(void)uroce_lane_may_sleep(&attach->pair[queue].down);
}

void
uroce_attach_disarm(struct uroce_attach *attach, uint16_t queue)
{
	uroce_lane_awake(&attach->pair[queue].down);
}
