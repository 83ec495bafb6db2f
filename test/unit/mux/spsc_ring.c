/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * SPSC rings: full and empty rings, indexes that wrap at 2^32, values that a hostile process
 * writes, two threads, and sleeping consumers.
 */

#include "mux/spsc_ring.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define NB_SLOTS 64u

struct pair {
	struct uroce_spsc_ring *ring;
	struct uroce_spsc_end producer, consumer;
};

static void
make_at(struct pair *pair, uint32_t idx)
{
	void *mem = NULL;

	assert_int_equal(posix_memalign(&mem, 64, uroce_spsc_size(NB_SLOTS)), 0);
	memset(mem, 0, uroce_spsc_size(NB_SLOTS));
	pair->ring = mem;
	atomic_store(&pair->ring->head, idx);
	atomic_store(&pair->ring->tail, idx);
	pair->producer = pair->consumer =
		(struct uroce_spsc_end){ .ring = mem, .nb_slots = NB_SLOTS, .mine = idx };
}

static void
push_number(struct pair *pair, uint32_t number)
{
	uroce_spsc_put(&pair->producer, 0,
		       (struct uroce_spsc_desc){ number, (uint16_t)(number * 3) });
	uroce_spsc_push(&pair->producer, 1);
}

static uint32_t
pop_number(struct pair *pair)
{
	const struct uroce_spsc_desc frame = uroce_spsc_get(&pair->consumer, 0);

	uroce_spsc_pop(&pair->consumer, 1);
	assert_int_equal(frame.len, (uint16_t)(frame.offset * 3));
	return frame.offset;
}

static void
spsc_ring__is_full_and_empty_exactly(void **state)
{
	static const uint32_t from[] = { 0, 1, UINT32_MAX - NB_SLOTS / 2, UINT32_MAX };

	(void)state;
	for (size_t i = 0; i < sizeof(from) / sizeof(from[0]); i++) {
		struct pair pair;

		make_at(&pair, from[i]);
		for (uint32_t n = 0; n < NB_SLOTS; n++) {
			assert_int_equal(uroce_spsc_room(&pair.producer), NB_SLOTS - n);
			assert_int_equal(uroce_spsc_ready(&pair.consumer), n);
			push_number(&pair, n);
		}
		assert_int_equal(uroce_spsc_room(&pair.producer), 0);
		for (uint32_t n = 0; n < NB_SLOTS; n++)
			assert_int_equal(pop_number(&pair), n);
		assert_int_equal(uroce_spsc_ready(&pair.consumer), 0);
		assert_int_equal(uroce_spsc_room(&pair.producer), NB_SLOTS);
		free(pair.ring);
	}
}

static void
spsc_ring__tells_indexes_that_cannot_be(void **state)
{
	static const uint32_t off[] = { NB_SLOTS + 1, UINT32_MAX, 1u << 31 };
	struct pair pair;

	(void)state;
	make_at(&pair, 7);
	for (size_t i = 0; i < sizeof(off) / sizeof(off[0]); i++) {
		atomic_store(&pair.ring->head, 7 + off[i]);
		assert_int_equal(uroce_spsc_ready(&pair.consumer), -1);
		atomic_store(&pair.ring->tail, 7 - off[i]);
		assert_int_equal(uroce_spsc_room(&pair.producer), -1);
	}
	atomic_store(&pair.ring->head, 7 + NB_SLOTS);
	assert_int_equal(uroce_spsc_ready(&pair.consumer), NB_SLOTS);
	free(pair.ring);
}

/*
 * Number of wake-ups: the consumer sleeps whenever the ring allows it, and the producer increments
 * `doorbell` when it must wake the consumer.
 */
static atomic_uint doorbell;

static void
fall_asleep(struct pair *pair)
{
	if (!uroce_spsc_may_sleep(&pair->consumer)) {
		uroce_spsc_awake(&pair->consumer);
		return;
	}
	while (atomic_load(&doorbell) == 0)
		sched_yield();
	atomic_store(&doorbell, 0);
}

#define NB_FRAMES 200000u

static void *
consume(void *arg)
{
	struct pair *pair = arg;

	for (uint32_t n = 0; n < NB_FRAMES;) {
		const int32_t nb = uroce_spsc_ready(&pair->consumer);

		if (nb == 0)
			fall_asleep(pair);
		for (int32_t i = 0; i < nb; i++)
			assert_int_equal(pop_number(pair), n++);
	}
	return NULL;
}

static void
spsc_ring__loses_neither_frames_nor_doorbells(void **state)
{
	struct pair pair;
	pthread_t thread;

	(void)state;
	make_at(&pair, UINT32_MAX - 1000);
	atomic_store(&doorbell, 0);
	assert_int_equal(pthread_create(&thread, NULL, consume, &pair), 0);
	for (uint32_t n = 0; n < NB_FRAMES;) {
		if (uroce_spsc_room(&pair.producer) == 0) {
			sched_yield();
			continue;
		}
		push_number(&pair, n++);
		if (uroce_spsc_must_wake(&pair.producer))
			atomic_store(&doorbell, 1);
	}
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(uroce_spsc_room(&pair.producer), NB_SLOTS);
	free(pair.ring);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spsc_ring__is_full_and_empty_exactly),
		cmocka_unit_test(spsc_ring__tells_indexes_that_cannot_be),
		cmocka_unit_test(spsc_ring__loses_neither_frames_nor_doorbells),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
