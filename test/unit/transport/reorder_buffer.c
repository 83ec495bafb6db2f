/* SPDX-License-Identifier: BSD-3-Clause */

/* The reorder buffer: which frames it keeps, finds, moves to another gap and releases. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "transport/recovery/reorder_buffer.h"
#include "wire/psn.h"

#define NB_GAPS   2
#define NB_FRAMES 3

static void *mem;
static struct uroce_reorder_buffer *reorder_buffer;
static uint8_t frames[NB_FRAMES + 1][64];

static int
make_pool(void **state)
{
	const size_t len = (uroce_reorder_buffer_memsize(NB_GAPS, NB_FRAMES) + 63) & ~(size_t)63;

	(void)state;
	mem = aligned_alloc(64, len);
	memset(mem, 0xa5, len);
	reorder_buffer = uroce_reorder_buffer_init(mem, NB_GAPS, NB_FRAMES);
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
reorder_buffer__keeps_as_many_as_there_is_room_for(void **state)
{
	struct uroce_psn_gap *gap = uroce_reorder_buffer_alloc_gap(reorder_buffer);
	struct uroce_pkt pkt;

	(void)state;
	for (unsigned i = 0; i < NB_FRAMES; i++) {
		pkt = packet(i, i);
		assert_true(uroce_reorder_buffer_insert(reorder_buffer, gap, &pkt));
	}
	pkt = packet(NB_FRAMES, NB_FRAMES);
	assert_false(uroce_reorder_buffer_insert(reorder_buffer, gap, &pkt));
	assert_int_equal(uroce_reorder_buffer_count(reorder_buffer), NB_FRAMES);
	assert_int_equal(gap->nb, NB_FRAMES);
}

static void
reorder_buffer__gaps_run_out_and_come_back(void **state)
{
	struct uroce_psn_gap *gaps[NB_GAPS];

	(void)state;
	for (unsigned i = 0; i < NB_GAPS; i++) {
		gaps[i] = uroce_reorder_buffer_alloc_gap(reorder_buffer);
		assert_non_null(gaps[i]);
	}
	assert_null(uroce_reorder_buffer_alloc_gap(reorder_buffer));
	uroce_reorder_buffer_free_gap(reorder_buffer, gaps[0], 0);
	assert_ptr_equal(uroce_reorder_buffer_alloc_gap(reorder_buffer), gaps[0]);
	assert_int_equal(uroce_reorder_buffer_count_gaps(reorder_buffer), NB_GAPS);
}

static void
reorder_buffer__a_gap_that_is_given_back_frees_its_frames_alone(void **state)
{
	struct uroce_psn_gap *gap = uroce_reorder_buffer_alloc_gap(reorder_buffer),
			     *other = uroce_reorder_buffer_alloc_gap(reorder_buffer);
	const struct uroce_pkt mine[2] = { packet(0, UROCE_PSN_MASK), packet(1, 1) };
	const struct uroce_pkt theirs = packet(2, 1);
	void *owners[NB_FRAMES];

	(void)state;
	assert_true(uroce_reorder_buffer_insert(reorder_buffer, gap, &mine[0]));
	assert_true(uroce_reorder_buffer_insert(reorder_buffer, gap, &mine[1]));
	assert_true(uroce_reorder_buffer_insert(reorder_buffer, other, &theirs));
	/* free the frames of a gap whose PSNs are on both sides of the wrap at 2^24 */
	uroce_reorder_buffer_free_gap(reorder_buffer, gap, UROCE_PSN_MASK - 1);
	assert_int_equal(uroce_reorder_buffer_count(reorder_buffer), 1);
	assert_int_equal(uroce_reorder_buffer_reap(reorder_buffer, owners, NB_FRAMES), 2);
	assert_true((owners[0] == frames[0] && owners[1] == frames[1]) ||
		    (owners[0] == frames[1] && owners[1] == frames[0]));
	assert_int_equal(uroce_reorder_buffer_reap(reorder_buffer, owners, NB_FRAMES), 0);
	assert_non_null(uroce_reorder_buffer_find(reorder_buffer, other, 1));
}

static void
reorder_buffer__a_place_on_the_death_row_is_free_when_it_was_reaped(void **state)
{
	struct uroce_psn_gap *gap = uroce_reorder_buffer_alloc_gap(reorder_buffer);
	struct uroce_pkt pkt;
	void *owner;

	(void)state;
	for (unsigned i = 0; i < NB_FRAMES; i++) {
		pkt = packet(i, i);
		assert_true(uroce_reorder_buffer_insert(reorder_buffer, gap, &pkt));
	}
	uroce_reorder_buffer_drop(reorder_buffer, gap, 1);
	assert_null(uroce_reorder_buffer_find(reorder_buffer, gap, 1));
	pkt = packet(NB_FRAMES, NB_FRAMES);
	assert_false(uroce_reorder_buffer_insert(reorder_buffer, gap, &pkt));
	assert_int_equal(uroce_reorder_buffer_reap(reorder_buffer, &owner, 1), 1);
	assert_ptr_equal(owner, frames[1]);
	assert_true(uroce_reorder_buffer_insert(reorder_buffer, gap, &pkt));
}

static void
reorder_buffer_relocate__the_packet_leads_into_the_new_frame(void **state)
{
	struct uroce_psn_gap *gap = uroce_reorder_buffer_alloc_gap(reorder_buffer);
	const struct uroce_pkt first = packet(0, 7), second = packet(1, 8);
	const struct uroce_pkt moved = packet(3, 8);
	const struct uroce_pkt *found;
	void *owner;

	(void)state;
	assert_true(uroce_reorder_buffer_insert(reorder_buffer, gap, &first));
	assert_true(uroce_reorder_buffer_insert(reorder_buffer, gap, &second));
	uroce_reorder_buffer_relocate(reorder_buffer, second.owner, frames[3], frames[3]);
	found = uroce_reorder_buffer_find(reorder_buffer, gap, 8);
	assert_ptr_equal(found->frame, moved.frame);
	assert_ptr_equal(found->ip, moved.ip);
	assert_ptr_equal(found->bth, moved.bth);
	assert_ptr_equal(found->ext, moved.ext);
	assert_ptr_equal(found->payload, moved.payload);
	assert_ptr_equal(uroce_reorder_buffer_find(reorder_buffer, gap, 7)->frame, frames[0]);
	uroce_reorder_buffer_drop(reorder_buffer, gap, 8);
	assert_int_equal(uroce_reorder_buffer_reap(reorder_buffer, &owner, 1), 1);
	assert_ptr_equal(owner, frames[3]);
}

#define pool_test(f) cmocka_unit_test_setup_teardown(f, make_pool, free_pool)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		pool_test(reorder_buffer__keeps_as_many_as_there_is_room_for),
		pool_test(reorder_buffer__gaps_run_out_and_come_back),
		pool_test(reorder_buffer__a_gap_that_is_given_back_frees_its_frames_alone),
		pool_test(reorder_buffer__a_place_on_the_death_row_is_free_when_it_was_reaped),
		pool_test(reorder_buffer_relocate__the_packet_leads_into_the_new_frame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
