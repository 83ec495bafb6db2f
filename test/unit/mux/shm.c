/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Shared memory: the parts of a layout do not overlap, each rule for a layout is checked, and
 * mapped memory causes no fault.
 */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "mux/shm.h"

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
shm__is_laid_out_without_overlap(void **state)
{
	struct uroce_shm_layout plan;
	uint64_t end;

	(void)state;
	assert_true(uroce_shm_lay_out(&plan, 3, 64, FRAME, 64));
	end = 0;
	for (uint32_t i = 0; i < 3; i++) {
		assert_true(plan.up[i] >= end && plan.up[i] % 64 == 0);
		end = plan.up[i] + uroce_spsc_size(64);
		assert_true(plan.down[i] >= end && plan.down[i] % 64 == 0);
		end = plan.down[i] + uroce_spsc_size(64);
	}
	assert_true(plan.bindings >= end && plan.bindings % 64 == 0);
	end = plan.bindings + 64 * sizeof(uint64_t);
	for (uint32_t i = 0; i < 6; i++) {
		for (uint32_t slot = 0; slot < 64; slot++) {
			const uint64_t at = uroce_shm_buffer(&plan, i / 2, i & 1, slot);

			assert_true(at >= end);
			end = at + FRAME;
		}
	}
	assert_true(end <= plan.size);
}

static void
shm__has_bounds(void **state)
{
	static const uint32_t rows[][4] = {
		{ 0, 64, FRAME, 64 },
		{ UROCE_SHM_PAIRS_MAX + 1, 64, FRAME, 64 },
		{ 1, 32, FRAME, 64 },
		{ 1, 96, FRAME, 64 },
		{ 1, 2 * UROCE_SPSC_SLOTS_MAX, FRAME, 64 },
		{ 1, 64, UROCE_SHM_FRAME_MIN - 1, 64 },
		{ 1, 64, UROCE_SHM_FRAME_MAX + 1, 64 },
		{ 32, 16384, FRAME, 64 },
		{ 1, 64, FRAME, 0 },
		{ 1, 64, FRAME, 96 },
		{ 1, 64, FRAME, 2 * UROCE_BINDINGS_MAX },
	};
	struct uroce_shm_layout plan;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_false(
			uroce_shm_lay_out(&plan, rows[i][0], rows[i][1], rows[i][2], rows[i][3]));
}

static void
shm__is_shared(void **state)
{
	struct uroce_shm ours = { 0 }, theirs = { 0 };
	struct uroce_shm_layout plan;
	int fd;

	(void)state;
	assert_true(uroce_shm_lay_out(&plan, 1, 64, FRAME, 64));
	assert_int_equal(uroce_shm_create(&ours, &plan, &fd), 0);
	assert_null(uroce_shm_check(&plan, fd, FRAME));
	assert_int_equal(uroce_shm_map(&theirs, &plan, fd), 0);
	atomic_store(&uroce_shm_up(&ours, 0)->head, 77);
	assert_int_equal(atomic_load(&uroce_shm_up(&theirs, 0)->head), 77);
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_int_equal(ftruncate(fd, (off_t)plan.size * 2), -1);
	uroce_shm_unmap(&ours);
	uroce_shm_unmap(&theirs);
	uroce_shm_unmap(&theirs);
	(void)close(fd);
}

/*
 * The binding of a QP is found by its whole QP number. Another number that uses the same slot does
 * not find it.
 */
static void
binding__is_of_one_number(void **state)
{
	const struct uroce_binding binding = { 0xabcdef, 0x123456, UROCE_BINDING_REMOTE };
	struct uroce_shm shm = { 0 };
	struct uroce_shm_layout plan;
	struct uroce_binding got;
	int fd;

	(void)state;
	assert_true(uroce_shm_lay_out(&plan, 1, 64, FRAME, 128));
	assert_int_equal(uroce_shm_create(&shm, &plan, &fd), 0);
	assert_int_equal(uroce_binding_get(&shm, 0xabcdef).qpn, 0);
	uroce_binding_set(&shm, &binding);
	got = uroce_binding_get(&shm, 0xabcdef);
	assert_int_equal(got.qpn, 0xabcdef);
	assert_int_equal(got.dest_qpn, 0x123456);
	assert_int_equal(got.where, UROCE_BINDING_REMOTE);
	assert_int_equal(uroce_binding_get(&shm, 0xabcdef ^ 128).qpn, 0xabcdef);
	assert_int_equal(uroce_binding_get(&shm, 0xabcdef ^ 1).qpn, 0);
	uroce_binding_clear(&shm, 0xabcdef);
	assert_int_equal(uroce_binding_get(&shm, 0xabcdef).where, UROCE_BINDING_NONE);
	uroce_shm_unmap(&shm);
	(void)close(fd);
}

/*
 * After uroced has sealed the file, the client, which has mapped it, cannot remove its pages, and
 * no further process can map the file.
 */
static void
shm__that_is_taken_keeps_its_pages(void **state)
{
	const int punch = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
	struct uroce_shm ours = { 0 }, theirs = { 0 }, third = { 0 };
	struct uroce_shm_layout plan;
	int fd;

	(void)state;
	if (getenv("UROCE_EMULATED")) {
		print_message("# qemu-user does not seal files\n");
		skip();
	}
	assert_true(uroce_shm_lay_out(&plan, 1, 64, FRAME, 64));
	assert_int_equal(uroce_shm_create(&ours, &plan, &fd), 0);
	assert_int_equal(uroce_shm_map(&theirs, &plan, fd), 0);
	assert_false(uroce_shm_is_sealed(fd));
	assert_null(uroce_shm_seal(&plan, fd));
	assert_true(uroce_shm_is_sealed(fd));
	assert_int_equal(fallocate(fd, punch, 0, (off_t)plan.size), -1);
	assert_int_equal(madvise(ours.mem, plan.size, MADV_REMOVE), -1);
	assert_int_equal(uroce_shm_map(&third, &plan, fd), -EPERM);
	assert_non_null(uroce_shm_check(&plan, fd, FRAME));
	atomic_store(&uroce_shm_up(&ours, 0)->head, 77);
	assert_int_equal(atomic_load(&uroce_shm_up(&theirs, 0)->head), 77);
	uroce_shm_unmap(&ours);
	uroce_shm_unmap(&theirs);
	(void)close(fd);
}

static void
shm__with_a_hole_is_not_taken(void **state)
{
	const int punch = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
	struct uroce_shm shm = { 0 };
	struct uroce_shm_layout plan;
	int fd;

	(void)state;
	assert_true(uroce_shm_lay_out(&plan, 1, 64, FRAME, 64));
	for (off_t at = 0; at < (off_t)plan.size; at += (off_t)plan.size - 4096) {
		assert_int_equal(uroce_shm_create(&shm, &plan, &fd), 0);
		assert_int_equal(fallocate(fd, punch, at, 4096), 0);
		assert_non_null(uroce_shm_seal(&plan, fd));
		uroce_shm_unmap(&shm);
		(void)close(fd);
	}
}

/*
 * Moving a pair of rings to a new file does not change the content of the rings, whichever slots
 * are in use.
 */
static void
shm__is_renewed_pair_by_pair(void **state)
{
	const struct uroce_binding binding = { 0xabcdef, 0x123456, UROCE_BINDING_LOCAL };
	struct uroce_shm shm = { 0 }, fresh = { 0 }, theirs = { 0 };
	struct uroce_spsc_end up, down, end;
	struct uroce_shm_layout plan;
	int fd, fresh_fd;

	(void)state;
	assert_true(uroce_shm_lay_out(&plan, 2, 64, FRAME, 64));
	assert_int_equal(uroce_shm_create(&shm, &plan, &fd), 0);
	assert_int_equal(uroce_shm_create(&fresh, &plan, &fresh_fd), 0);
	for (uint32_t pair = 0; pair < 2; pair++) {
		up = (struct uroce_spsc_end){ uroce_shm_up(&shm, pair), 64, 100 };
		down = (struct uroce_spsc_end){ uroce_shm_down(&shm, pair), 64, 60 };
		/* in the second pair the tail is invalid: it is ahead of the head */
		atomic_store(&up.ring->tail, pair == 0 ? 98 : 200);
		atomic_store(&up.ring->head, 100);
		atomic_store(&down.ring->tail, 60);
		atomic_store(&down.ring->head, 70);
		atomic_store(&down.ring->sleeps, 1);
		for (uint32_t slot = 0; slot < 64; slot++) {
			atomic_store(&up.ring->slot[slot], slot);
			atomic_store(&down.ring->slot[slot], 1000 + slot);
			shm.mem[uroce_shm_buffer(&plan, pair, false, slot)] = (uint8_t)slot;
			shm.mem[uroce_shm_buffer(&plan, pair, true, slot) + FRAME - 1] =
				(uint8_t)(64 + slot);
		}
		assert_int_equal(uroce_shm_renew_pair(&shm, &fresh, pair, &up, &down), 0);
	}
	uroce_binding_set(&shm, &binding);
	assert_int_equal(uroce_shm_renew_bindings(&shm, &fresh), 0);
	assert_int_equal(uroce_shm_map(&theirs, &plan, fresh_fd), 0);
	assert_int_equal(uroce_binding_get(&theirs, binding.qpn).dest_qpn, binding.dest_qpn);
	uroce_binding_clear(&shm, binding.qpn);
	assert_int_equal(uroce_binding_get(&theirs, binding.qpn).qpn, 0);
	for (uint32_t pair = 0; pair < 2; pair++) {
		end = (struct uroce_spsc_end){ uroce_shm_up(&theirs, pair), 64, 0 };
		end.mine = atomic_load(&end.ring->tail);
		assert_int_equal(uroce_spsc_ready(&end), pair == 0 ? 2 : 0);
		assert_int_equal(atomic_load(&end.ring->head), 100);
		assert_int_equal(atomic_load(&end.ring->slot[99 % 64]), 99 % 64);
		if (pair == 0)
			assert_int_equal(theirs.mem[uroce_shm_buffer(&plan, 0, false, 99 % 64)],
					 99 % 64);
		end = (struct uroce_spsc_end){ uroce_shm_down(&theirs, pair), 64, 60 };
		assert_int_equal(uroce_spsc_ready(&end), 10);
		assert_int_equal(atomic_load(&end.ring->sleeps), 1);
		for (uint32_t i = 60; i < 70; i++)
			assert_int_equal(
				theirs.mem[uroce_shm_buffer(&plan, pair, true, i % 64) + FRAME - 1],
				64 + i % 64);
		/* the client's mapping of this pair now shows the new file at the old address */
		atomic_store(&uroce_shm_up(&shm, pair)->head, 123);
		assert_int_equal(atomic_load(&uroce_shm_up(&theirs, pair)->head), 123);
	}
	uroce_shm_unmap(&shm);
	uroce_shm_unmap(&theirs);
	(void)close(fd);
	(void)close(fresh_fd);
}

/*
 * Make a valid layout, change it with `spoil`, and check it against a file that has these seals and
 * is `missing` bytes too short.
 * @return the result of the check
 */
static const char *
check_layout(void (*spoil)(struct uroce_shm_layout *), unsigned seals, int64_t missing)
{
	struct uroce_shm_layout plan;
	const int fd = memfd_create("uroce-test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	const char *wrong;

	assert_true(fd >= 0);
	assert_true(uroce_shm_lay_out(&plan, 2, 64, FRAME, 64));
	assert_int_equal(ftruncate(fd, (off_t)plan.size - missing), 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	if (spoil)
		spoil(&plan);
	wrong = uroce_shm_check(&plan, fd, FRAME);
	(void)close(fd);
	return wrong;
}

static void
no_pairs(struct uroce_shm_layout *plan)
{
	plan->nb_pairs = 0;
}

static void
many_pairs(struct uroce_shm_layout *plan)
{
	plan->nb_pairs = UINT32_MAX;
}

static void
odd_slots(struct uroce_shm_layout *plan)
{
	plan->nb_slots = 65;
}

static void
short_frames(struct uroce_shm_layout *plan)
{
	plan->frame_max = FRAME - 1;
}

static void
large(struct uroce_shm_layout *plan)
{
	plan->size = UROCE_SHM_SIZE_MAX + 4096;
}

static void
odd_size(struct uroce_shm_layout *plan)
{
	plan->size--;
}

static void
ring_behind_the_end(struct uroce_shm_layout *plan)
{
	plan->up[1] = plan->size - 64;
}

static void
ring_far_away(struct uroce_shm_layout *plan)
{
	plan->down[0] = UINT64_MAX - 63;
}

static void
odd_ring(struct uroce_shm_layout *plan)
{
	plan->up[0] = 8;
}

static void
one_ring_twice(struct uroce_shm_layout *plan)
{
	plan->up[0] = plan->down[1] + 64;
}

static void
many_bindings(struct uroce_shm_layout *plan)
{
	plan->nb_bindings = 2 * UROCE_BINDINGS_MAX;
}

static void
odd_bindings(struct uroce_shm_layout *plan)
{
	plan->bindings += 8;
}

static void
bindings_behind_the_end(struct uroce_shm_layout *plan)
{
	plan->bindings = plan->size - 64;
}

static void
bindings_far_away(struct uroce_shm_layout *plan)
{
	plan->bindings = UINT64_MAX - 63;
}

static void
shm__is_judged(void **state)
{
	static void (*const spoils[])(struct uroce_shm_layout *) = {
		no_pairs,
		many_pairs,
		odd_slots,
		short_frames,
		large,
		odd_size,
		ring_behind_the_end,
		ring_far_away,
		odd_ring,
		one_ring_twice,
		many_bindings,
		odd_bindings,
		bindings_behind_the_end,
		bindings_far_away,
	};
	const unsigned seals = F_SEAL_SHRINK | F_SEAL_GROW;

	(void)state;
	assert_null(check_layout(NULL, seals, 0));
	for (size_t i = 0; i < sizeof(spoils) / sizeof(spoils[0]); i++)
		assert_non_null(check_layout(spoils[i], seals, 0));
	assert_non_null(check_layout(NULL, F_SEAL_GROW, 0));
	assert_non_null(check_layout(NULL, F_SEAL_SHRINK, 0));
	assert_non_null(check_layout(NULL, seals | F_SEAL_SEAL, 0));
	assert_non_null(check_layout(NULL, seals | F_SEAL_WRITE, 0));
	assert_non_null(check_layout(NULL, seals | F_SEAL_FUTURE_WRITE, 0));
	assert_non_null(check_layout(NULL, seals, 1));
	assert_non_null(check_layout(NULL, seals, -1));
}

static void
shm__is_a_file_of_tmpfs(void **state)
{
	struct uroce_shm_layout plan;
	char path[] = "/tmp/uroce-test-area-XXXXXX";
	int ends[2], fd;

	(void)state;
	assert_true(uroce_shm_lay_out(&plan, 1, 64, FRAME, 64));
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(posix_fallocate(fd, 0, (off_t)plan.size), 0);
	assert_non_null(uroce_shm_check(&plan, fd, FRAME));
	(void)close(fd);
	(void)unlink(path);
	assert_int_equal(pipe(ends), 0);
	assert_non_null(uroce_shm_check(&plan, ends[0], FRAME));
	(void)close(ends[0]);
	(void)close(ends[1]);
}

static void
shm__bounds_what_slots_name(void **state)
{
	struct uroce_shm shm = { 0 };
	struct uroce_shm_layout plan;
	uint32_t size;

	(void)state;
	assert_true(uroce_shm_lay_out(&plan, 1, 64, FRAME, 64));
	shm.plan = plan;
	size = (uint32_t)plan.size;
	assert_true(uroce_shm_has(&shm, (struct uroce_spsc_desc){ size - FRAME, FRAME }));
	assert_false(uroce_shm_has(&shm, (struct uroce_spsc_desc){ size - FRAME + 1, FRAME }));
	assert_false(uroce_shm_has(&shm, (struct uroce_spsc_desc){ UINT32_MAX, 64 }));
	assert_false(uroce_shm_has(&shm, (struct uroce_spsc_desc){ 0, FRAME + 1 }));
	assert_false(uroce_shm_has(&shm, (struct uroce_spsc_desc){ 0, 0 }));
	assert_false(uroce_shm_has(&shm, (struct uroce_spsc_desc){ 0, UROCE_SHM_FRAME_MIN - 1 }));
	assert_true(uroce_shm_has_buffer(&shm, (struct uroce_spsc_desc){ size - FRAME, 0 }));
	assert_false(uroce_shm_has_buffer(&shm, (struct uroce_spsc_desc){ size - FRAME + 1, 0 }));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shm__is_laid_out_without_overlap),
		cmocka_unit_test(shm__has_bounds),
		cmocka_unit_test(shm__is_shared),
		cmocka_unit_test(binding__is_of_one_number),
		cmocka_unit_test(shm__that_is_taken_keeps_its_pages),
		cmocka_unit_test(shm__with_a_hole_is_not_taken),
		cmocka_unit_test(shm__is_renewed_pair_by_pair),
		cmocka_unit_test(shm__is_judged),
		cmocka_unit_test(shm__is_a_file_of_tmpfs),
		cmocka_unit_test(shm__bounds_what_slots_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
