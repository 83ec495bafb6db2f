/* SPDX-License-Identifier: BSD-3-Clause */

/* The table of QP numbers: which numbers a lookup finds, and how numbers are allocated. */

#include "rig.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "datapath/device/qpn.h"

static struct uroce_qpn_table *
make(uint32_t max_qp)
{
	const size_t len = uroce_qpn_table_memsize(max_qp);
	void *mem = calloc(1, len + 64);

	assert_non_null(mem);
	return uroce_qpn_table_init(mem, max_qp);
}

static void
qpn_alloc__numbers_are_in_range_and_distinct(void **state)
{
	enum { NB = 5000 };
	struct uroce_qpn_table *table = make(NB);
	static uint8_t seen[1 << 24];
	uint32_t qpn;

	(void)state;
	memset(seen, 0, sizeof(seen));
	for (int i = 0; i < NB; i++) {
		assert_int_equal(uroce_qpn_alloc(table, &qpn), 0);
		assert_in_range(qpn, UROCE_QPN_MIN, UROCE_QPN_MAX);
		assert_int_equal(seen[qpn]++, 0);
	}
	free(table);
}

static void
qpn_alloc__is_bounded_and_freed_numbers_make_room(void **state)
{
	struct uroce_qpn_table *table = make(3);
	uint32_t qpn[3], more;

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(uroce_qpn_alloc(table, &qpn[i]), 0);
	assert_int_equal(uroce_qpn_alloc(table, &more), -ENOMEM);
	uroce_qpn_free(table, qpn[1]);
	assert_int_equal(uroce_qpn_alloc(table, &more), 0);
	assert_int_equal(uroce_qpn_alloc(table, &more), -ENOMEM);
	free(table);
}

static void
qpn_alloc__one_is_enough_for_the_smallest_table(void **state)
{
	struct uroce_qpn_table *table = make(1);
	uint32_t qpn;

	(void)state;
	assert_int_equal(uroce_qpn_alloc(table, &qpn), 0);
	free(table);
}

/*
 * QP number 1 has a reserved slot in the table, so it can be allocated when all other slots are
 * used.
 */
static void
qpn_alloc_gsi__is_possible_once_beside_all_others(void **state)
{
	for (uint32_t max_qp = 1; max_qp <= 64; max_qp++) {
		struct uroce_qpn_table *table = make(max_qp);
		uint32_t qpn, more;

		for (uint32_t i = 0; i < max_qp; i++) {
			assert_int_equal(uroce_qpn_alloc(table, &qpn), 0);
			assert_int_not_equal(qpn & table->mask, UROCE_QPN_GSI & table->mask);
		}
		assert_int_equal(uroce_qpn_alloc_gsi(table), 0);
		assert_int_equal(uroce_qpn_alloc_gsi(table), -EBUSY);
		assert_int_equal(uroce_qpn_alloc(table, &more), -ENOMEM);
		uroce_qpn_free(table, UROCE_QPN_GSI);
		assert_int_equal(uroce_qpn_alloc(table, &more), -ENOMEM);
		assert_int_equal(uroce_qpn_alloc_gsi(table), 0);
		free(table);
	}
	(void)state;
}

/*
 * QP numbers must be random, so that an attacker cannot guess them. If a counter made them,
 * consecutive numbers would differ by one.
 */
static void
qpn_alloc__numbers_are_not_a_sequence(void **state)
{
	struct uroce_qpn_table *table = make(64);
	uint32_t before, qpn, nb_near = 0;

	(void)state;
	assert_int_equal(uroce_qpn_alloc(table, &before), 0);
	for (int i = 1; i < 64; i++) {
		assert_int_equal(uroce_qpn_alloc(table, &qpn), 0);
		nb_near += qpn - before < 256 || before - qpn < 256;
		before = qpn;
	}
	assert_true(nb_near < 8);
	free(table);
}

/*
 * All numbers of the leased blocks can be allocated, and no other numbers. Numbers with the same
 * low bits share a slot of the table, so only one of these numbers can be in use at a time.
 */
static void
qpn_alloc_of__blocks_are_used_up(void **state)
{
	static const uint32_t block[] = { 3, 700, 3 + 512, 0, 65535 };
	/* The table has 2048 slots: the numbers of block 3 + 512 share the slots of block 3. */
	struct uroce_qpn_table *table = make(1024);
	uint32_t qpn, nb = 0, nb_of[5] = { 0 };

	(void)state;
	assert_int_equal(uroce_qpn_alloc_of(table, block, 0, 256, true, &qpn), -ENOSPC);
	while (uroce_qpn_alloc_of(table, block, 3, 256, true, &qpn) == 0) {
		for (unsigned i = 0; i < 3; i++)
			nb_of[i] += qpn / 256 == block[i];
		nb++;
	}
	assert_int_equal(nb, 512);
	assert_int_equal(nb_of[1], 256);
	assert_int_equal(nb_of[0] + nb_of[2], 256);
	assert_int_equal(uroce_qpn_alloc_of(table, block, 3, 256, true, &qpn), -ENOSPC);
	assert_int_equal(uroce_qpn_alloc_of(table, block, 3, 256, false, &qpn), -ENOSPC);
	/* the numbers 0, 1 and 0xffffff are reserved, even if their blocks are leased */
	for (nb = 0; uroce_qpn_alloc_of(table, block + 3, 2, 256, true, &qpn) == 0; nb++)
		assert_in_range(qpn, UROCE_QPN_MIN, UROCE_QPN_MAX);
	assert_int_equal(nb, 2 * 256 - 3);
	free(table);
}

static void
qpn_alloc_of__is_bounded_and_not_a_sequence(void **state)
{
	static const uint32_t block[] = { 9, 10, 11, 12 };
	struct uroce_qpn_table *table = make(512);
	uint32_t before = 0, qpn, nb_next = 0;

	(void)state;
	for (int i = 0; i < 512; i++) {
		assert_int_equal(uroce_qpn_alloc_of(table, block, 4, 256, true, &qpn), 0);
		nb_next += qpn == before + 1;
		before = qpn;
	}
	assert_true(nb_next < 16);
	assert_int_equal(uroce_qpn_alloc_of(table, block, 4, 256, true, &qpn), -ENOMEM);
	free(table);
}

/*
 * The UROCE_QPN_QUARANTINE numbers that were freed last must not be allocated, because frames for
 * the QPs that had them may still be in flight.
 */
static void
qpn_alloc_of__numbers_rest_before_they_come_again(void **state)
{
	static const uint32_t block[] = { 9 };
	struct uroce_qpn_table *table = make(512);
	uint32_t before[UROCE_QPN_QUARANTINE] = { 0 };

	(void)state;
	for (uint32_t i = 0; i < 20000; i++) {
		uint32_t qpn;

		assert_int_equal(uroce_qpn_alloc_of(table, block, 1, 256, true, &qpn), 0);
		for (unsigned j = 0; j < UROCE_QPN_QUARANTINE; j++)
			assert_int_not_equal(qpn, before[j]);
		before[i % UROCE_QPN_QUARANTINE] = qpn;
		uroce_qpn_free(table, qpn);
	}
	free(table);
}

static void
qpn_lookup__finds_from_publish_to_withdraw(void **state)
{
	struct uroce_qpn_table *table = make(16);
	static struct uroce_worker_qp wqp;
	uint32_t qpn;

	(void)state;
	assert_int_equal(uroce_qpn_alloc(table, &qpn), 0);
	wqp.qpc.qpn = qpn;
	assert_null(uroce_qpn_lookup(table, qpn));
	uroce_qpn_publish(table, &wqp);
	assert_ptr_equal(uroce_qpn_lookup(table, qpn), &wqp);
	uroce_qpn_withdraw(table, qpn);
	assert_null(uroce_qpn_lookup(table, qpn));
	uroce_qpn_free(table, qpn);
	free(table);
}

/*
 * The low bits of a QP number select a slot of the table. A lookup compares the whole number, so it
 * must not find a number that differs in one bit.
 */
static void
qpn_lookup__compares_the_whole_number(void **state)
{
	struct uroce_qpn_table *table = make(16);
	static struct uroce_worker_qp wqp;
	uint32_t qpn;

	(void)state;
	assert_int_equal(uroce_qpn_alloc(table, &qpn), 0);
	wqp.qpc.qpn = qpn;
	uroce_qpn_publish(table, &wqp);
	for (unsigned bit = 0; bit < 24; bit++)
		assert_null(uroce_qpn_lookup(table, qpn ^ UINT32_C(1) << bit));
	free(table);
}

/*
 * An idle connected QP may use at most 1 KiB: the QP context and the record of the worker. The
 * limit does not include the verbs object and the rings. The test prints the sizes of these for
 * queues of 128 requests with one scatter-gather element each.
 */
static void
worker_qp__an_idle_qp_costs_1_kib_at_most(void **state)
{
	const uint32_t nb_wr = 128;
	const size_t rings = uroce_ring_memsize(nb_wr, uroce_send_wqe_stride(1, 64, false)) +
			     uroce_ring_memsize(nb_wr, uroce_recv_wqe_stride(1));

	(void)state;
	print_message("# idle QP: %zu bytes, %zu of them the transport context\n"
		      "# beside it: struct ibv_qp_ex %zu bytes, two queues %zu, their rings %zu\n",
		      sizeof(struct uroce_worker_qp), sizeof(struct uroce_qpc),
		      sizeof(struct ibv_qp_ex), 2 * sizeof(struct uroce_wq), rings);
	assert_true(sizeof(struct uroce_worker_qp) <= 1024);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(qpn_alloc__numbers_are_in_range_and_distinct),
		cmocka_unit_test(qpn_alloc__is_bounded_and_freed_numbers_make_room),
		cmocka_unit_test(qpn_alloc__one_is_enough_for_the_smallest_table),
		cmocka_unit_test(qpn_alloc_gsi__is_possible_once_beside_all_others),
		cmocka_unit_test(qpn_alloc__numbers_are_not_a_sequence),
		cmocka_unit_test(qpn_alloc_of__blocks_are_used_up),
		cmocka_unit_test(qpn_alloc_of__is_bounded_and_not_a_sequence),
		cmocka_unit_test(qpn_alloc_of__numbers_rest_before_they_come_again),
		cmocka_unit_test(qpn_lookup__finds_from_publish_to_withdraw),
		cmocka_unit_test(qpn_lookup__compares_the_whole_number),
		cmocka_unit_test(worker_qp__an_idle_qp_costs_1_kib_at_most),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
