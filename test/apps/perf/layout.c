/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The layouts of the buffers of uroce-perf. The slots of messages must not overlap, must be inside
 * their area, and must be the same on both sides.
 */

#include "check.h"
#include "layout.h"

#include <stdbool.h>

#define MTU 1024

static struct options
options_of(enum perf_op op, int qp_type, bool is_verify, uint64_t size)
{
	return (struct options){ .op = op,
				 .qp_type = qp_type,
				 .is_verify = is_verify,
				 .size = size,
				 .nb_qp = 3,
				 .tx_depth = 128,
				 .rx_depth = 512 };
}

static void
size_max__of_datagrams_is_the_mtu(void **state)
{
	struct options opt = options_of(PERF_SEND, IBV_QPT_UD, false, 65536);

	(void)state;
	assert_int_equal(layout_size_max(&opt, MTU), MTU);
	opt.is_all = true;
	assert_int_equal(layout_size_max(&opt, MTU), MTU);
	opt.is_all = false;
	opt.has_size = true;
	opt.size = 100;
	assert_int_equal(layout_size_max(&opt, MTU), 100);
}

static void
size_max__of_all_is_8_mib(void **state)
{
	struct options opt = options_of(PERF_WRITE, IBV_QPT_RC, false, 65536);

	(void)state;
	assert_int_equal(layout_size_max(&opt, MTU), 65536);
	opt.is_all = true;
	assert_int_equal(layout_size_max(&opt, MTU), 8 << 20);
}

static void
layout__verify_has_a_slot_for_each_outstanding_message(void **state)
{
	struct options opt = options_of(PERF_WRITE, IBV_QPT_RC, true, 4096);

	(void)state;
	assert_int_equal(layout_of(&opt, MTU, 4096).slots, 128);
	/*
	 * messages of 8 MiB: the slots of all QPs together take at most 64 MiB, but each QP has a
	 * slot
	 */
	assert_int_equal(layout_of(&opt, MTU, 8 << 20).slots, 2);
	opt.nb_qp = 64;
	assert_int_equal(layout_of(&opt, MTU, 8 << 20).slots, 1);
}

static void
layout__receives_bound_the_slots_of_send(void **state)
{
	struct options opt = options_of(PERF_SEND, IBV_QPT_RC, true, 64);

	(void)state;
	opt.rx_depth = 16;
	assert_int_equal(layout_of(&opt, MTU, 64).slots, 16);
}

static void
layout__a_working_set_is_shared_by_the_qps(void **state)
{
	struct options opt = options_of(PERF_WRITE, IBV_QPT_RC, false, 4096);

	(void)state;
	opt.working_set = 3 << 20;
	assert_int_equal(layout_of(&opt, MTU, 4096).slots, 256);
	assert_int_equal(layout_area_len(&opt, MTU), 1 << 20);
	opt.working_set = 8;
	assert_int_equal(layout_of(&opt, MTU, 4096).slots, 1);
}

static void
layout__without_verify_slots_fill_a_page(void **state)
{
	struct options opt = options_of(PERF_WRITE, IBV_QPT_RC, false, 64);

	(void)state;
	assert_int_equal(layout_of(&opt, MTU, 64).slots, 64);
	assert_int_equal(layout_of(&opt, MTU, 2).slots, 64);
	assert_int_equal(layout_of(&opt, MTU, 65536).slots, 1);
}

/*
 * With more than 1024 QPs, the slots of several QPs share a page: otherwise TLB misses would
 * dominate the result.
 */
static void
layout__of_many_qps_is_compact(void **state)
{
	struct options opt = options_of(PERF_WRITE, IBV_QPT_RC, false, 64);

	(void)state;
	opt.tx_depth = 4;
	opt.nb_qp = 1024;
	assert_false(layout_is_compact(&opt));
	assert_int_equal(layout_area_len(&opt, MTU), 4096);
	opt.nb_qp = 1025;
	assert_true(layout_is_compact(&opt));
	assert_int_equal(layout_of(&opt, MTU, 64).slots, 1);
	assert_int_equal(layout_area_len(&opt, MTU), 64);
}

static void
layout__receives_of_all_sizes_have_one_length(void **state)
{
	struct options opt = options_of(PERF_SEND, IBV_QPT_RC, false, 65536);

	(void)state;
	opt.is_all = true;
	assert_int_equal(layout_of(&opt, MTU, 2).recv_len, 8 << 20);
	assert_int_equal(layout_of(&opt, MTU, 2).stride, layout_of(&opt, MTU, 4096).stride);
}

/* Offsets in the buffer of the largest messages do not fit in 32 bits. */
static void
layout__of_the_largest_messages(void **state)
{
	struct options opt = options_of(PERF_WRITE, IBV_QPT_RC, true, PERF_SIZE_MAX);
	struct layout layout = layout_of(&opt, MTU, PERF_SIZE_MAX);
	size_t area_len = layout_area_len(&opt, MTU);

	(void)state;
	assert_int_equal(layout.slots, 1);
	assert_int_equal(area_len, (size_t)2 << 30);
	assert_int_equal(layout_in(&layout, area_len, 2, 0), (size_t)10 << 30);
}

static void
layout__datagrams_have_room_for_a_grh(void **state)
{
	struct options opt = options_of(PERF_SEND, IBV_QPT_UD, true, 1000);
	struct layout layout = layout_of(&opt, MTU, 1000);

	(void)state;
	assert_int_equal(layout.head, 40);
	assert_true(layout.stride >= 40 + 1000);
	assert_int_equal(layout.recv_len, 40 + 1000);
}

static void
layout__slots_stay_in_their_area(void **state)
{
	static const enum perf_op ops[] = { PERF_SEND, PERF_WRITE, PERF_READ, PERF_ATOMIC };

	(void)state;
	for (unsigned i = 0; i < 4 * 2; i++) {
		struct options opt = options_of(ops[i / 2], IBV_QPT_RC, i % 2, 65536);

		opt.is_all = ops[i / 2] != PERF_ATOMIC;
		opt.size = opt.is_all ? 65536 : 8;
		size_t area_len = layout_area_len(&opt, MTU);
		size_t size_max = layout_size_max(&opt, MTU);
		for (size_t size = opt.is_all ? 2 : 8; size <= size_max; size *= 2) {
			struct layout layout = layout_of(&opt, MTU, size);
			size_t last = layout_out(&layout, area_len, 1, layout.slots - 1);

			assert_true(layout.stride >= layout.head + size);
			assert_true(last + layout.stride <= layout_in(&layout, area_len, 1, 0));
			last = layout_in(&layout, area_len, 1, layout.slots - 1);
			assert_true(last + layout.stride <= layout_out(&layout, area_len, 2, 0));
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(size_max__of_datagrams_is_the_mtu),
		cmocka_unit_test(size_max__of_all_is_8_mib),
		cmocka_unit_test(layout__verify_has_a_slot_for_each_outstanding_message),
		cmocka_unit_test(layout__receives_bound_the_slots_of_send),
		cmocka_unit_test(layout__a_working_set_is_shared_by_the_qps),
		cmocka_unit_test(layout__without_verify_slots_fill_a_page),
		cmocka_unit_test(layout__of_many_qps_is_compact),
		cmocka_unit_test(layout__receives_of_all_sizes_have_one_length),
		cmocka_unit_test(layout__of_the_largest_messages),
		cmocka_unit_test(layout__datagrams_have_room_for_a_grh),
		cmocka_unit_test(layout__slots_stay_in_their_area),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
