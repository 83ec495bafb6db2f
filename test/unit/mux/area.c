/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Areas: laid out without overlap, judged by every rule, and without a fault once they are mapped.
 */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "mux/area.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "mux/binding.h"

#define FRAME 4242u

static void
area__is_laid_out_without_overlap(void **state)
{
	struct uroce_area_plan plan;
	uint64_t end;

	(void)state;
	assert_true(uroce_area_lay_out(&plan, 3, 64, FRAME, 64));
	end = 0;
	for (uint32_t i = 0; i < 3; i++) {
		assert_true(plan.up[i] >= end && plan.up[i] % 64 == 0);
		end = plan.up[i] + uroce_lane_size(64);
		assert_true(plan.down[i] >= end && plan.down[i] % 64 == 0);
		end = plan.down[i] + uroce_lane_size(64);
	}
	assert_true(plan.bindings >= end && plan.bindings % 64 == 0);
	end = plan.bindings + 64 * sizeof(uint64_t);
	for (uint32_t i = 0; i < 6; i++) {
		for (uint32_t slot = 0; slot < 64; slot++) {
			const uint64_t at = uroce_area_buffer(&plan, i / 2, i & 1, slot);

			assert_true(at >= end);
			end = at + FRAME;
		}
	}
	assert_true(end <= plan.size);
}

static void
area__has_bounds(void **state)
{
	static const uint32_t rows[][4] = {
		{ 0, 64, FRAME, 64 },
		{ UROCE_AREA_PAIRS_MAX + 1, 64, FRAME, 64 },
		{ 1, 32, FRAME, 64 },
		{ 1, 96, FRAME, 64 },
		{ 1, 2 * UROCE_LANE_SLOTS_MAX, FRAME, 64 },
		{ 1, 64, UROCE_AREA_FRAME_MIN - 1, 64 },
		{ 1, 64, UROCE_AREA_FRAME_MAX + 1, 64 },
		{ 32, 16384, FRAME, 64 },
		{ 1, 64, FRAME, 0 },
		{ 1, 64, FRAME, 96 },
		{ 1, 64, FRAME, 2 * UROCE_BINDINGS_MAX },
	};
	struct uroce_area_plan plan;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_false(
			uroce_area_lay_out(&plan, rows[i][0], rows[i][1], rows[i][2], rows[i][3]));
}

static void
area__is_shared(void **state)
{
	struct uroce_area ours = { 0 }, theirs = { 0 };
	struct uroce_area_plan plan;
	int fd;

	(void)state;
	assert_true(uroce_area_lay_out(&plan, 1, 64, FRAME, 64));
	assert_int_equal(uroce_area_create(&ours, &plan, &fd), 0);
	assert_null(uroce_area_judge(&plan, fd, FRAME));
	assert_int_equal(uroce_area_map(&theirs, &plan, fd), 0);
	atomic_store(&uroce_area_up(&ours, 0)->head, 77);
	assert_int_equal(atomic_load(&uroce_area_up(&theirs, 0)->head), 77);
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_int_equal(ftruncate(fd, (off_t)plan.size * 2), -1);
	uroce_area_unmap(&ours);
	uroce_area_unmap(&theirs);
	uroce_area_unmap(&theirs);
	(void)close(fd);
}

/* What a client says of a QP is found by its number, and by no other of the slot. */
static void
binding__is_of_one_number(void **state)
{
	const struct uroce_binding binding = { 0xabcdef, 0x123456, UROCE_BINDING_REMOTE };
	struct uroce_area area = { 0 };
	struct uroce_area_plan plan;
	struct uroce_binding got;
	int fd;

	(void)state;
	assert_true(uroce_area_lay_out(&plan, 1, 64, FRAME, 128));
	assert_int_equal(uroce_area_create(&area, &plan, &fd), 0);
	assert_int_equal(uroce_binding_get(&area, 0xabcdef).qpn, 0);
	uroce_binding_set(&area, &binding);
	got = uroce_binding_get(&area, 0xabcdef);
	assert_int_equal(got.qpn, 0xabcdef);
	assert_int_equal(got.dest_qpn, 0x123456);
	assert_int_equal(got.where, UROCE_BINDING_REMOTE);
	assert_int_equal(uroce_binding_get(&area, 0xabcdef ^ 128).qpn, 0xabcdef);
	assert_int_equal(uroce_binding_get(&area, 0xabcdef ^ 1).qpn, 0);
	uroce_binding_clear(&area, 0xabcdef);
	assert_int_equal(uroce_binding_get(&area, 0xabcdef).where, UROCE_BINDING_NONE);
	uroce_area_unmap(&area);
	(void)close(fd);
}

/* Once it is taken its pages stay, whoever has mapped it, and nobody can map it any more. */
static void
area__that_is_taken_keeps_its_pages(void **state)
{
	const int punch = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
	struct uroce_area ours = { 0 }, theirs = { 0 }, third = { 0 };
	struct uroce_area_plan plan;
	int fd;

	(void)state;
	assert_true(uroce_area_lay_out(&plan, 1, 64, FRAME, 64));
	assert_int_equal(uroce_area_create(&ours, &plan, &fd), 0);
	assert_int_equal(uroce_area_map(&theirs, &plan, fd), 0);
	assert_false(uroce_area_is_taken(fd));
	assert_null(uroce_area_take(&plan, fd));
	assert_true(uroce_area_is_taken(fd));
	assert_int_equal(fallocate(fd, punch, 0, (off_t)plan.size), -1);
	assert_int_equal(madvise(ours.mem, plan.size, MADV_REMOVE), -1);
	assert_int_equal(uroce_area_map(&third, &plan, fd), -EPERM);
	assert_non_null(uroce_area_judge(&plan, fd, FRAME));
	atomic_store(&uroce_area_up(&ours, 0)->head, 77);
	assert_int_equal(atomic_load(&uroce_area_up(&theirs, 0)->head), 77);
	uroce_area_unmap(&ours);
	uroce_area_unmap(&theirs);
	(void)close(fd);
}

static void
area__with_a_hole_is_not_taken(void **state)
{
	const int punch = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
	struct uroce_area area = { 0 };
	struct uroce_area_plan plan;
	int fd;

	(void)state;
	assert_true(uroce_area_lay_out(&plan, 1, 64, FRAME, 64));
	for (off_t at = 0; at < (off_t)plan.size; at += (off_t)plan.size - 4096) {
		assert_int_equal(uroce_area_create(&area, &plan, &fd), 0);
		assert_int_equal(fallocate(fd, punch, at, 4096), 0);
		assert_non_null(uroce_area_take(&plan, fd));
		uroce_area_unmap(&area);
		(void)close(fd);
	}
}

/* What waits in the lanes of a pair, of any of its slots, is there afterwards, in memory of the new file. */
static void
area__is_renewed_pair_by_pair(void **state)
{
	const struct uroce_binding binding = { 0xabcdef, 0x123456, UROCE_BINDING_LOCAL };
	struct uroce_area area = { 0 }, fresh = { 0 }, theirs = { 0 };
	struct uroce_lane_end up, down, end;
	struct uroce_area_plan plan;
	int fd, fresh_fd;

	(void)state;
	assert_true(uroce_area_lay_out(&plan, 2, 64, FRAME, 64));
	assert_int_equal(uroce_area_create(&area, &plan, &fd), 0);
	assert_int_equal(uroce_area_create(&fresh, &plan, &fresh_fd), 0);
	for (uint32_t pair = 0; pair < 2; pair++) {
		up = (struct uroce_lane_end){ uroce_area_up(&area, pair), 64, 100 };
		down = (struct uroce_lane_end){ uroce_area_down(&area, pair), 64, 60 };
		atomic_store(&up.lane->tail, pair == 0 ? 98 : 200); /* the second one cannot be */
		atomic_store(&up.lane->head, 100);
		atomic_store(&down.lane->tail, 60);
		atomic_store(&down.lane->head, 70);
		atomic_store(&down.lane->sleeps, 1);
		for (uint32_t slot = 0; slot < 64; slot++) {
			atomic_store(&up.lane->slot[slot], slot);
			atomic_store(&down.lane->slot[slot], 1000 + slot);
			area.mem[uroce_area_buffer(&plan, pair, false, slot)] = (uint8_t)slot;
			area.mem[uroce_area_buffer(&plan, pair, true, slot) + FRAME - 1] =
				(uint8_t)(64 + slot);
		}
		assert_int_equal(uroce_area_renew_pair(&area, &fresh, pair, &up, &down), 0);
	}
	uroce_binding_set(&area, &binding);
	assert_int_equal(uroce_area_renew_bindings(&area, &fresh), 0);
	assert_int_equal(uroce_area_map(&theirs, &plan, fresh_fd), 0);
	assert_int_equal(uroce_binding_get(&theirs, binding.qpn).dest_qpn, binding.dest_qpn);
	uroce_binding_clear(&area, binding.qpn);
	assert_int_equal(uroce_binding_get(&theirs, binding.qpn).qpn, 0);
	for (uint32_t pair = 0; pair < 2; pair++) {
		end = (struct uroce_lane_end){ uroce_area_up(&theirs, pair), 64, 0 };
		end.mine = atomic_load(&end.lane->tail);
		assert_int_equal(uroce_lane_ready(&end), pair == 0 ? 2 : 0);
		assert_int_equal(atomic_load(&end.lane->head), 100);
		assert_int_equal(atomic_load(&end.lane->slot[99 % 64]), 99 % 64);
		if (pair == 0)
			assert_int_equal(theirs.mem[uroce_area_buffer(&plan, 0, false, 99 % 64)],
					 99 % 64);
		end = (struct uroce_lane_end){ uroce_area_down(&theirs, pair), 64, 60 };
		assert_int_equal(uroce_lane_ready(&end), 10);
		assert_int_equal(atomic_load(&end.lane->sleeps), 1);
		for (uint32_t i = 60; i < 70; i++)
			assert_int_equal(theirs.mem[uroce_area_buffer(&plan, pair, true, i % 64) +
						    FRAME - 1],
					 64 + i % 64);
		/* and it is what the client has at the addresses that it had */
		atomic_store(&uroce_area_up(&area, pair)->head, 123);
		assert_int_equal(atomic_load(&uroce_area_up(&theirs, pair)->head), 123);
	}
	uroce_area_unmap(&area);
	uroce_area_unmap(&theirs);
	(void)close(fd);
	(void)close(fresh_fd);
}

/* What judge() says of a good plan after `spoil`, and of a file of `seals` that is so much shorter. */
static const char *
judge(void (*spoil)(struct uroce_area_plan *), unsigned seals, int64_t missing)
{
	struct uroce_area_plan plan;
	const int fd = memfd_create("uroce-test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	const char *wrong;

	assert_true(fd >= 0);
	assert_true(uroce_area_lay_out(&plan, 2, 64, FRAME, 64));
	assert_int_equal(ftruncate(fd, (off_t)plan.size - missing), 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	if (spoil)
		spoil(&plan);
	wrong = uroce_area_judge(&plan, fd, FRAME);
	(void)close(fd);
	return wrong;
}

static void
no_pairs(struct uroce_area_plan *plan)
{
	plan->nb_pairs = 0;
}

static void
many_pairs(struct uroce_area_plan *plan)
{
	plan->nb_pairs = UINT32_MAX;
}

static void
odd_slots(struct uroce_area_plan *plan)
{
	plan->nb_slots = 65;
}

static void
short_frames(struct uroce_area_plan *plan)
{
	plan->frame_max = FRAME - 1;
}

static void
large(struct uroce_area_plan *plan)
{
	plan->size = UROCE_AREA_SIZE_MAX + 4096;
}

static void
odd_size(struct uroce_area_plan *plan)
{
	plan->size--;
}

static void
lane_behind_the_end(struct uroce_area_plan *plan)
{
	plan->up[1] = plan->size - 64;
}

static void
lane_far_away(struct uroce_area_plan *plan)
{
	plan->down[0] = UINT64_MAX - 63;
}

static void
odd_lane(struct uroce_area_plan *plan)
{
	plan->up[0] = 8;
}

static void
one_lane_twice(struct uroce_area_plan *plan)
{
	plan->up[0] = plan->down[1] + 64;
}

static void
many_bindings(struct uroce_area_plan *plan)
{
	plan->nb_bindings = 2 * UROCE_BINDINGS_MAX;
}

static void
odd_bindings(struct uroce_area_plan *plan)
{
	plan->bindings += 8;
}

static void
bindings_behind_the_end(struct uroce_area_plan *plan)
{
	plan->bindings = plan->size - 64;
}

static void
bindings_far_away(struct uroce_area_plan *plan)
{
	plan->bindings = UINT64_MAX - 63;
}

static void
area__is_judged(void **state)
{
	static void (*const spoils[])(struct uroce_area_plan *) = {
		no_pairs,
		many_pairs,
		odd_slots,
		short_frames,
		large,
		odd_size,
		lane_behind_the_end,
		lane_far_away,
		odd_lane,
		one_lane_twice,
		many_bindings,
		odd_bindings,
		bindings_behind_the_end,
		bindings_far_away,
	};
	const unsigned seals = F_SEAL_SHRINK | F_SEAL_GROW;

	(void)state;
	assert_null(judge(NULL, seals, 0));
	for (size_t i = 0; i < sizeof(spoils) / sizeof(spoils[0]); i++)
		assert_non_null(judge(spoils[i], seals, 0));
	assert_non_null(judge(NULL, F_SEAL_GROW, 0));
	assert_non_null(judge(NULL, F_SEAL_SHRINK, 0));
	assert_non_null(judge(NULL, seals | F_SEAL_SEAL, 0));
	assert_non_null(judge(NULL, seals | F_SEAL_WRITE, 0));
	assert_non_null(judge(NULL, seals | F_SEAL_FUTURE_WRITE, 0));
	assert_non_null(judge(NULL, seals, 1));
	assert_non_null(judge(NULL, seals, -1));
}

static void
area__is_a_file_of_tmpfs(void **state)
{
	struct uroce_area_plan plan;
	char path[] = "/tmp/uroce-test-area-XXXXXX";
	int ends[2], fd;

	(void)state;
	assert_true(uroce_area_lay_out(&plan, 1, 64, FRAME, 64));
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(posix_fallocate(fd, 0, (off_t)plan.size), 0);
	assert_non_null(uroce_area_judge(&plan, fd, FRAME));
	(void)close(fd);
	(void)unlink(path);
	assert_int_equal(pipe(ends), 0);
	assert_non_null(uroce_area_judge(&plan, ends[0], FRAME));
	(void)close(ends[0]);
	(void)close(ends[1]);
}

static void
area__bounds_what_slots_name(void **state)
{
	struct uroce_area area = { 0 };
	struct uroce_area_plan plan;
	uint32_t size;

	(void)state;
	assert_true(uroce_area_lay_out(&plan, 1, 64, FRAME, 64));
	area.plan = plan;
	size = (uint32_t)plan.size;
	assert_true(uroce_area_has(&area, (struct uroce_lane_frame){ size - FRAME, FRAME }));
	assert_false(uroce_area_has(&area, (struct uroce_lane_frame){ size - FRAME + 1, FRAME }));
	assert_false(uroce_area_has(&area, (struct uroce_lane_frame){ UINT32_MAX, 64 }));
	assert_false(uroce_area_has(&area, (struct uroce_lane_frame){ 0, FRAME + 1 }));
	assert_false(uroce_area_has(&area, (struct uroce_lane_frame){ 0, 0 }));
	assert_false(
		uroce_area_has(&area, (struct uroce_lane_frame){ 0, UROCE_AREA_FRAME_MIN - 1 }));
	assert_true(uroce_area_has_buffer(&area, (struct uroce_lane_frame){ size - FRAME, 0 }));
	assert_false(
		uroce_area_has_buffer(&area, (struct uroce_lane_frame){ size - FRAME + 1, 0 }));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(area__is_laid_out_without_overlap),
		cmocka_unit_test(area__has_bounds),
		cmocka_unit_test(area__is_shared),
		cmocka_unit_test(binding__is_of_one_number),
		cmocka_unit_test(area__that_is_taken_keeps_its_pages),
		cmocka_unit_test(area__with_a_hole_is_not_taken),
		cmocka_unit_test(area__is_renewed_pair_by_pair),
		cmocka_unit_test(area__is_judged),
		cmocka_unit_test(area__is_a_file_of_tmpfs),
		cmocka_unit_test(area__bounds_what_slots_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
