/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Receive and transmit over uroced's rings. Frames are copied from mbufs into the shared memory and
 * back, once in each direction. What uroced wrote is checked while it is copied. A received frame
 * is dropped if its ring slot does not contain the offset of the slot's own buffer, or if its
 * length is invalid.
 */

#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <rte_common.h>
#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include "datapath/uroced/mux_client.h"
#include "datapath/port/port.h"

#define PREFETCH_AHEAD 2 /* distance, in frames, between the prefetch and the copy of a frame */
/*
 * Minimum length in bytes of an Ethernet frame without FCS. Shorter frames are padded, except for
 * those that uroced sends over UDP sockets.
 */
#define MIN_FRAME_LEN 60u
/* Maximum time in ms to wait until uroced has taken the last frames of a device that is closed. */
#define DRAIN_MAX_MS 100u

static void
count_event(_Atomic uint64_t *counter)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1,
			      memory_order_relaxed);
}

/*
 * Get the index in a ring of the slot that is `i` slots behind this process's position in the ring.
 */
static uint32_t
get_slot_place(const struct uroce_spsc_end *end, uint32_t i)
{
	return (end->mine + i) & (end->nb_slots - 1);
}

void
uroce_mux_client_begin(struct uroce_mux_client *client)
{
	const struct uroce_shm *shm = &client->shm;

	for (uint32_t i = 0; i < client->nb_pairs; i++) {
		struct uroce_mux_client_pair *pair = &client->pair[i];

		pair->up = (struct uroce_spsc_end){ uroce_shm_up(shm, i), shm->plan.nb_slots, 0 };
		pair->down =
			(struct uroce_spsc_end){ uroce_shm_down(shm, i), shm->plan.nb_slots, 0 };
		pair->up_at = (uint32_t)uroce_shm_buffer(&shm->plan, i, false, 0);
		pair->down_at = (uint32_t)uroce_shm_buffer(&shm->plan, i, true, 0);
		for (uint32_t j = 0; j < shm->plan.nb_slots; j++) {
			const struct uroce_spsc_desc empty = { .offset = pair->down_at +
									 j * client->stride };

			uroce_spsc_put(&pair->down, j, empty);
		}
	}
}

void
uroce_mux_client_break(struct uroce_mux_client *client)
{
	if (!atomic_exchange(&client->is_broken, true))
		(void)eventfd_write(client->work_fd, 1);
}

/*
 * Reset a ring if the index that uroced writes is invalid: the ring becomes empty. The connection
 * is ended, so that uroced begins with new rings, because uroced's own view of the indexes may be
 * invalid as well.
 */
static void
reset_ring(struct uroce_mux_client *client, struct uroce_mux_client_pair *pair,
	   struct uroce_spsc_end *end)
{
	atomic_store_explicit(&end->ring->tail, end->mine, memory_order_relaxed);
	atomic_store_explicit(&end->ring->head, end->mine, memory_order_release);
	count_event(&pair->stats.wrong_heads);
	uroce_mux_client_break(client);
}

/* --- down -------------------------------------------------------------------------------------- */

/*
 * Copy the frame of a slot of the ring down (from uroced) into an mbuf.
 * @return whether the slot was valid
 */
static bool
take_frame(const struct uroce_mux_client *client, struct uroce_mux_client_pair *pair, uint32_t i,
	   struct rte_mbuf *mbuf)
{
	const struct uroce_spsc_desc frame = uroce_spsc_get(&pair->down, i);
	const uint32_t offset = pair->down_at + get_slot_place(&pair->down, i) * client->stride;

	if (unlikely(frame.offset != offset || frame.len < UROCE_SHM_FRAME_MIN ||
		     frame.len > client->shm.plan.frame_max)) {
		uroce_spsc_put(&pair->down, i, (struct uroce_spsc_desc){ .offset = offset });
		count_event(&pair->stats.wrong_slots);
		return false;
	}
	memcpy(rte_pktmbuf_mtod(mbuf, void *), client->shm.mem + offset, frame.len);
	mbuf->data_len = frame.len;
	mbuf->pkt_len = frame.len;
	return true;
}

static void
prefetch_frame(const struct uroce_mux_client *client, const struct uroce_mux_client_pair *pair,
	       uint32_t i)
{
	const uint8_t *at = client->shm.mem + pair->down_at +
			    (size_t)get_slot_place(&pair->down, i) * client->stride;

	rte_prefetch0(at);
	rte_prefetch0(at + RTE_CACHE_LINE_SIZE);
}

uint16_t
uroce_mux_client_rx(const struct uroce_port *port, uint16_t queue, struct rte_mbuf **frames,
		    uint16_t max)
{
	struct uroce_mux_client *client = port->mux_client;
	struct uroce_mux_client_pair *pair = &client->pair[queue];
	const int32_t nb_ready = uroce_spsc_ready(&pair->down);
	uint16_t nb_good = 0;

	if (nb_ready <= 0) {
		if (unlikely(nb_ready < 0))
			reset_ring(client, pair, &pair->down);
		return 0;
	}
	const uint16_t nb = (uint16_t)RTE_MIN(nb_ready, (int32_t)max);

	for (uint32_t i = 0; i < PREFETCH_AHEAD && i < nb; i++)
		prefetch_frame(client, pair, i);
	if (rte_pktmbuf_alloc_bulk(port->pool[queue], frames, nb) != 0) {
		count_event(&pair->stats.no_mbuf);
		return 0;
	}
	for (uint32_t i = 0; i < nb; i++) {
		if (i + PREFETCH_AHEAD < nb)
			prefetch_frame(client, pair, i + PREFETCH_AHEAD);
		nb_good += take_frame(client, pair, i, frames[nb_good]);
	}
	uroce_spsc_pop(&pair->down, nb);
	if (unlikely(nb_good < nb))
		rte_pktmbuf_free_bulk(&frames[nb_good], nb - nb_good);
	return nb_good;
}

/* --- up ---------------------------------------------------------------------------------------- */

/*
 * Copy a frame from an mbuf into a buffer of the shared memory.
 * @return length of the frame; 0: the frame is too long, and uroced drops its slot
 */
static uint16_t
put_frame(uint8_t *at, uint32_t room, uint32_t len_min, const struct rte_mbuf *mbuf)
{
	uint32_t len = 0;

	if (unlikely(mbuf->pkt_len > room))
		return 0;
	for (; mbuf; mbuf = mbuf->next) {
		memcpy(at + len, rte_pktmbuf_mtod(mbuf, const void *), mbuf->data_len);
		len += mbuf->data_len;
	}
	if (unlikely(len < len_min)) {
		memset(at + len, 0, len_min - len);
		len = len_min;
	}
	return (uint16_t)len;
}

static void
ring_mux_doorbell(const struct uroce_mux_client *client, struct uroce_mux_client_pair *pair)
{
	/*
	 * The write fails if the eventfd's counter is full. In that case uroced has been woken
	 * already.
	 */
	(void)eventfd_write(client->doorbell_fd, 1);
	count_event(&pair->stats.doorbells);
}

uint16_t
uroce_mux_client_tx(const struct uroce_port *port, uint16_t queue, struct rte_mbuf **frames,
		    uint16_t max)
{
	struct uroce_mux_client *client = port->mux_client;
	struct uroce_mux_client_pair *pair = &client->pair[queue];
	const uint32_t len_min = port->policy->is_udp ? 0 : MIN_FRAME_LEN;
	const int32_t room = uroce_spsc_room(&pair->up);

	if (unlikely(room <= 0)) {
		if (room < 0)
			reset_ring(client, pair, &pair->up);
		return 0;
	}
	const uint16_t nb = (uint16_t)RTE_MIN(room, (int32_t)max);

	for (uint32_t i = 0; i < nb; i++) {
		struct uroce_spsc_desc frame = {
			.offset = pair->up_at + get_slot_place(&pair->up, i) * client->stride
		};

		frame.len = put_frame(client->shm.mem + frame.offset, client->shm.plan.frame_max,
				      len_min, frames[i]);
		uroce_spsc_put(&pair->up, i, frame);
	}
	uroce_spsc_push(&pair->up, nb);
	if (uroce_spsc_must_wake(&pair->up))
		ring_mux_doorbell(client, pair);
	rte_pktmbuf_free_bulk(frames, nb);
	return nb;
}

static bool
is_attached(struct uroce_mux_client *client)
{
	pthread_mutex_lock(&client->lock);
	const bool is_attached = client->is_attached;

	pthread_mutex_unlock(&client->lock);
	return is_attached;
}

bool
uroce_mux_client_sync(const struct uroce_port *port, uint16_t queue)
{
	struct uroce_mux_client_pair *pair = &port->mux_client->pair[queue];
	const struct uroce_spsc_desc barrier = { .offset = UROCE_SPSC_BARRIER };

	if (!is_attached(port->mux_client) || uroce_spsc_room(&pair->up) <= 0 ||
	    (pair->is_late && !uroce_mux_client_has_passed(port, queue, pair->late_index)))
		return false;
	pair->is_late = false;
	uroce_spsc_put(&pair->up, 0, barrier);
	uroce_spsc_push(&pair->up, 1);
	if (uroce_spsc_must_wake(&pair->up))
		ring_mux_doorbell(port->mux_client, pair);
	return true;
}

void
uroce_mux_client_give_up(const struct uroce_port *port, uint16_t queue, uint32_t index)
{
	struct uroce_mux_client_pair *pair = &port->mux_client->pair[queue];

	pair->is_late = true;
	pair->late_index = index;
}

uint32_t
uroce_mux_client_sent(const struct uroce_port *port, uint16_t queue)
{
	return port->mux_client->pair[queue].up.mine;
}

bool
uroce_mux_client_has_passed(const struct uroce_port *port, uint16_t queue, uint32_t index)
{
	const struct uroce_spsc_end *up = &port->mux_client->pair[queue].up;
	/*
	 * Acquire R2 pairs with release A2 in uroce_spsc_pop(): uroced has read all slots before
	 * `tail`.
	 */
	const uint32_t tail = atomic_load_explicit(&up->ring->tail, memory_order_acquire);

	return (int32_t)(tail - index) >= 0;
}

/* Check whether uroced has taken all frames of all rings up (to uroced). */
static bool
has_passed_all(const struct uroce_mux_client *client)
{
	for (uint32_t i = 0; i < client->nb_pairs; i++) {
		const struct uroce_spsc_end *up = &client->pair[i].up;

		if (atomic_load_explicit(&up->ring->tail, memory_order_acquire) != up->mine)
			return false;
	}
	return true;
}

void
uroce_mux_client_drain(struct uroce_mux_client *client)
{
	for (unsigned i = 0; i < DRAIN_MAX_MS && is_attached(client) && !has_passed_all(client);
	     i++)
		(void)usleep(1000);
}

/* --- RX wake-up -------------------------------------------------------------------------------- */

void
uroce_mux_client_arm(struct uroce_mux_client *client, uint16_t queue)
{
	(void)uroce_spsc_may_sleep(&client->pair[queue].down);
}

void
uroce_mux_client_disarm(struct uroce_mux_client *client, uint16_t queue)
{
	uroce_spsc_awake(&client->pair[queue].down);
}
