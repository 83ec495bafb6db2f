/* SPDX-License-Identifier: BSD-3-Clause */

/* The pool of what waits behind holes: what is kept, found, moved and given back. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "transport/hold.h"
#include "wire/psn.h"

#define NB_GAPS   2
#define NB_FRAMES 3

static void *mem;
static struct uroce_hold *hold;
static uint8_t frames[NB_FRAMES + 1][64];

static int
make_pool(void **state)
{
	const size_t len = (uroce_hold_memsize(NB_GAPS, NB_FRAMES) + 63) & ~(size_t)63;

	(void)state;
	mem = aligned_alloc(64, len);
	memset(mem, 0xa5, len);
	hold = uroce_hold_init(mem, NB_GAPS, NB_FRAMES);
	return 0;
}

static int
free_pool(void **state)
{
	(void)state;
	free(mem);
	return 0;
}

static struct uroce_pkt
packet(unsigned i, uint32_t psn)
{
	return (struct uroce_pkt){
		.frame = frames[i],
		.ip = frames[i] + 14,
		.bth = (const struct uroce_bth *)(frames[i] + 42),
		.ext = frames[i] + 54,
		.payload = frames[i] + 58,
		.psn = psn,
		.owner = frames[i],
	};
}

static void
hold__keeps_as_many_as_there_is_room_for(void **state)
{
	struct uroce_gap *gap = uroce_hold_take_gap(hold);
	struct uroce_pkt pkt;

	(void)state;
	for (unsigned i = 0; i < NB_FRAMES; i++) {
		pkt = packet(i, i);
		assert_true(uroce_hold_keep(hold, gap, &pkt));
	}
	pkt = packet(NB_FRAMES, NB_FRAMES);
	assert_false(uroce_hold_keep(hold, gap, &pkt));
	assert_int_equal(uroce_hold_count(hold), NB_FRAMES);
	assert_int_equal(gap->nb, NB_FRAMES);
}

static void
hold__gaps_run_out_and_come_back(void **state)
{
	struct uroce_gap *gaps[NB_GAPS];

	(void)state;
	for (unsigned i = 0; i < NB_GAPS; i++) {
		gaps[i] = uroce_hold_take_gap(hold);
		assert_non_null(gaps[i]);
	}
	assert_null(uroce_hold_take_gap(hold));
	uroce_hold_give_gap(hold, gaps[0], 0);
	assert_ptr_equal(uroce_hold_take_gap(hold), gaps[0]);
	assert_int_equal(uroce_hold_count_gaps(hold), NB_GAPS);
}

static void
hold__a_gap_that_is_given_back_frees_its_frames_alone(void **state)
{
	struct uroce_gap *gap = uroce_hold_take_gap(hold), *other = uroce_hold_take_gap(hold);
	const struct uroce_pkt mine[2] = { packet(0, UROCE_PSN_MASK), packet(1, 1) };
	const struct uroce_pkt theirs = packet(2, 1);
	void *owners[NB_FRAMES];

	(void)state;
	assert_true(uroce_hold_keep(hold, gap, &mine[0]));
	assert_true(uroce_hold_keep(hold, gap, &mine[1]));
	assert_true(uroce_hold_keep(hold, other, &theirs));
	/* across the wrap */
	uroce_hold_give_gap(hold, gap, UROCE_PSN_MASK - 1);
	assert_int_equal(uroce_hold_count(hold), 1);
	assert_int_equal(uroce_hold_reap(hold, owners, NB_FRAMES), 2);
	assert_true((owners[0] == frames[0] && owners[1] == frames[1]) ||
		    (owners[0] == frames[1] && owners[1] == frames[0]));
	assert_int_equal(uroce_hold_reap(hold, owners, NB_FRAMES), 0);
	assert_non_null(uroce_hold_find(hold, other, 1));
}

static void
hold__a_place_on_the_death_row_is_free_when_it_was_reaped(void **state)
{
	struct uroce_gap *gap = uroce_hold_take_gap(hold);
	struct uroce_pkt pkt;
	void *owner;

	(void)state;
	for (unsigned i = 0; i < NB_FRAMES; i++) {
		pkt = packet(i, i);
		assert_true(uroce_hold_keep(hold, gap, &pkt));
	}
	uroce_hold_drop(hold, gap, 1);
	assert_null(uroce_hold_find(hold, gap, 1));
	pkt = packet(NB_FRAMES, NB_FRAMES);
	assert_false(uroce_hold_keep(hold, gap, &pkt));
	assert_int_equal(uroce_hold_reap(hold, &owner, 1), 1);
	assert_ptr_equal(owner, frames[1]);
	assert_true(uroce_hold_keep(hold, gap, &pkt));
}

static void
hold_move__the_packet_leads_into_the_new_frame(void **state)
{
	struct uroce_gap *gap = uroce_hold_take_gap(hold);
	const struct uroce_pkt first = packet(0, 7), second = packet(1, 8);
	const struct uroce_pkt moved = packet(3, 8);
	const struct uroce_pkt *found;
	void *owner;

	(void)state;
	assert_true(uroce_hold_keep(hold, gap, &first));
	assert_true(uroce_hold_keep(hold, gap, &second));
	uroce_hold_move(hold, second.owner, frames[3], frames[3]);
	found = uroce_hold_find(hold, gap, 8);
	assert_ptr_equal(found->frame, moved.frame);
	assert_ptr_equal(found->ip, moved.ip);
	assert_ptr_equal(found->bth, moved.bth);
	assert_ptr_equal(found->ext, moved.ext);
	assert_ptr_equal(found->payload, moved.payload);
	assert_ptr_equal(uroce_hold_find(hold, gap, 7)->frame, frames[0]);
	uroce_hold_drop(hold, gap, 8);
	assert_int_equal(uroce_hold_reap(hold, &owner, 1), 1);
	assert_ptr_equal(owner, frames[3]);
}

#define pool_test(f) cmocka_unit_test_setup_teardown(f, make_pool, free_pool)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		pool_test(hold__keeps_as_many_as_there_is_room_for),
		pool_test(hold__gaps_run_out_and_come_back),
		pool_test(hold__a_gap_that_is_given_back_frees_its_frames_alone),
		pool_test(hold__a_place_on_the_death_row_is_free_when_it_was_reaped),
		pool_test(hold_move__the_packet_leads_into_the_new_frame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
