/* SPDX-License-Identifier: BSD-3-Clause */

/* The ring: exact limits of its capacity, indexes that wrap at 2^32, and two threads. */

#include "queue/ring.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

/* Set both indexes of an empty ring to `idx`. */
static void
start_at(struct uroce_ring *ring, uint32_t idx)
{
	atomic_store(&ring->head, idx);
	atomic_store(&ring->tail, idx);
	ring->tail_seen = idx;
}

static void
make_ring(struct uroce_ring *ring, uint32_t limit, uint32_t stride)
{
	void *mem = NULL;

	assert_int_equal(posix_memalign(&mem, 64, uroce_ring_memsize(limit, stride)), 0);
	uroce_ring_init(ring, mem, limit, stride);
}

static void
push_number(struct uroce_ring *ring, uint32_t number)
{
	*(uint32_t *)uroce_ring_free_slot(ring, 0) = number;
	uroce_ring_push(ring, 1);
}

static uint32_t
pop_number(struct uroce_ring *ring)
{
	const uint32_t number = *(uint32_t *)uroce_ring_at(ring, uroce_ring_tail(ring));

	uroce_ring_pop(ring, 1);
	return number;
}

static uint32_t
nb_queued(const struct uroce_ring *ring)
{
	return uroce_ring_head(ring) - uroce_ring_tail(ring);
}

static void
ring_slots__next_power_of_two(void **state)
{
	static const uint32_t rows[][2] = {
		{ 1, 1 },
		{ 2, 2 },
		{ 3, 4 },
		{ 4, 4 },
		{ 5, 8 },
		{ 100, 128 },
		{ 128, 128 },
		{ 129, 256 },
		{ (1u << 30) + 1, 1u << 31 },
		{ (1u << 31) - 1, 1u << 31 },
		{ 1u << 31, 1u << 31 },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(uroce_ring_slots(rows[i][0]), rows[i][1]);
}

static void
ring_memsize__is_slots_times_stride(void **state)
{
	(void)state;
	assert_int_equal(uroce_ring_memsize(1, 64), 64);
	assert_int_equal(uroce_ring_memsize(100, 48), 128 * 48);
	assert_int_equal(uroce_ring_memsize(1u << 31, 64), UINT64_C(1) << 37);
}

static void
ring_init__is_empty(void **state)
{
	struct uroce_ring ring;

	(void)state;
	make_ring(&ring, 3, 16);
	assert_int_equal(nb_queued(&ring), 0);
	assert_int_equal(uroce_ring_room(&ring), 3);
	assert_ptr_equal(uroce_ring_free_slot(&ring, 0), ring.slots);
	assert_ptr_equal(uroce_ring_free_slot(&ring, 2), ring.slots + 32);
	assert_ptr_equal(uroce_ring_at(&ring, 5), ring.slots + 16);
	free(ring.slots);
}

static void
ring_push__limit_is_exact(void **state)
{
	static const uint32_t limits[] = { 1, 2, 3, 4, 5, 100 };

	(void)state;
	for (unsigned i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		struct uroce_ring ring;

		make_ring(&ring, limits[i], 4);
		for (uint32_t n = 0; n < limits[i]; n++) {
			assert_int_equal(uroce_ring_room(&ring), limits[i] - n);
			assert_true(uroce_ring_has_room(&ring, 0));
			push_number(&ring, n);
		}
		assert_int_equal(uroce_ring_room(&ring), 0);
		assert_false(uroce_ring_has_room(&ring, 0));
		assert_int_equal(pop_number(&ring), 0);
		assert_int_equal(uroce_ring_room(&ring), 1);
		assert_true(uroce_ring_has_room(&ring, 0));
		assert_false(uroce_ring_has_room(&ring, 1));
		free(ring.slots);
	}
}

/* uroce_ring_has_room() reads the current tail if the cached tail says that there is no room. */
static void
ring_has_room__looks_again_before_it_says_no(void **state)
{
	struct uroce_ring ring;

	(void)state;
	make_ring(&ring, 4, 4);
	for (uint32_t i = 0; i < 3; i++)
		push_number(&ring, i);
	uroce_ring_pop(&ring, 2);
	assert_int_equal(ring.tail_seen, 0);
	assert_true(uroce_ring_has_room(&ring, 0));
	assert_int_equal(ring.tail_seen, 0);
	assert_true(uroce_ring_has_room(&ring, 2));
	assert_int_equal(ring.tail_seen, 2);
	assert_false(uroce_ring_has_room(&ring, 3));
	free(ring.slots);
}

static void
ring_push__several_at_once(void **state)
{
	struct uroce_ring ring;

	(void)state;
	make_ring(&ring, 8, 4);
	for (uint32_t i = 0; i < 5; i++)
		*(uint32_t *)uroce_ring_free_slot(&ring, i) = 10 + i;
	assert_int_equal(nb_queued(&ring), 0);
	uroce_ring_push(&ring, 5);
	assert_int_equal(nb_queued(&ring), 5);
	*(uint32_t *)uroce_ring_free_slot(&ring, 0) = 15;
	uroce_ring_push_ordered(&ring, 1);
	assert_int_equal(uroce_ring_head_ordered(&ring) - uroce_ring_tail(&ring), 6);
	for (uint32_t i = 0; i < 6; i++)
		assert_int_equal(pop_number(&ring), 10 + i);
	free(ring.slots);
}

static void
ring_push__indices_wrap_at_2_to_the_32(void **state)
{
	static const uint32_t limits[] = { 1, 3, 4, 7 };

	(void)state;
	for (unsigned i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		const uint32_t limit = limits[i];
		struct uroce_ring ring;
		uint32_t in = 0, out = 0;

		make_ring(&ring, limit, 4);
		start_at(&ring, UINT32_MAX - 5);
		while (out < 20) {
			while (uroce_ring_has_room(&ring, 0))
				push_number(&ring, in++);
			assert_int_equal(nb_queued(&ring), limit);
			assert_int_equal(uroce_ring_room(&ring), 0);
			assert_int_equal(pop_number(&ring), out++);
			assert_int_equal(uroce_ring_room(&ring), 1);
		}
		assert_in_range(uroce_ring_tail(&ring), 0, 20);
		free(ring.slots);
	}
}

static void
ring_reset__forgets_all(void **state)
{
	struct uroce_ring ring;

	(void)state;
	make_ring(&ring, 2, 4);
	push_number(&ring, 1);
	push_number(&ring, 2);
	pop_number(&ring);
	uroce_ring_reset(&ring);
	assert_int_equal(nb_queued(&ring), 0);
	assert_int_equal(uroce_ring_head(&ring), 0);
	assert_int_equal(uroce_ring_room(&ring), 2);
	push_number(&ring, 9);
	assert_int_equal(pop_number(&ring), 9);
	free(ring.slots);
}

/*
 * Number of words in a slot. A slot is so wide that a consumer that reads too early would see a
 * partly written entry.
 */
#define NB_ENTRIES 200000
#define WORDS      8

static void *
produce(void *arg)
{
	struct uroce_ring *ring = arg;

	for (uint32_t i = 0; i < NB_ENTRIES;) {
		const uint32_t batch = i % 5 + 1;
		uint32_t n = 0;

		while (n < batch && i + n < NB_ENTRIES && uroce_ring_has_room(ring, n)) {
			uint32_t *slot = uroce_ring_free_slot(ring, n);

			for (unsigned w = 0; w < WORDS; w++)
				slot[w] = i + n;
			n++;
		}
		if (n == 0)
			sched_yield();
		else
			uroce_ring_push(ring, n);
		i += n;
	}
	return NULL;
}

static unsigned
nb_wrong_words(const uint32_t *slot, uint32_t expected)
{
	unsigned nb_wrong = 0;

	for (unsigned w = 0; w < WORDS; w++)
		nb_wrong += slot[w] != expected;
	return nb_wrong;
}

static void
ring_push__between_two_threads(void **state)
{
	struct uroce_ring ring;
	pthread_t producer;
	unsigned nb_wrong = 0;

	(void)state;
	make_ring(&ring, 50, WORDS * 4);
	start_at(&ring, UINT32_MAX - NB_ENTRIES / 2);
	assert_int_equal(pthread_create(&producer, NULL, produce, &ring), 0);
	for (uint32_t i = 0; i < NB_ENTRIES;) {
		const uint32_t n = nb_queued(&ring);

		assert_in_range(n, 0, 50);
		for (uint32_t j = 0; j < n; j++)
			nb_wrong += nb_wrong_words(uroce_ring_at(&ring, uroce_ring_tail(&ring) + j),
						   i + j);
		if (n == 0)
			sched_yield();
		uroce_ring_pop(&ring, n);
		i += n;
	}
	pthread_join(producer, NULL);
	assert_int_equal(nb_wrong, 0);
	assert_int_equal(nb_queued(&ring), 0);
	free(ring.slots);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ring_slots__next_power_of_two),
		cmocka_unit_test(ring_memsize__is_slots_times_stride),
		cmocka_unit_test(ring_init__is_empty),
		cmocka_unit_test(ring_push__limit_is_exact),
		cmocka_unit_test(ring_has_room__looks_again_before_it_says_no),
		cmocka_unit_test(ring_push__several_at_once),
		cmocka_unit_test(ring_push__indices_wrap_at_2_to_the_32),
		cmocka_unit_test(ring_reset__forgets_all),
		cmocka_unit_test(ring_push__between_two_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
