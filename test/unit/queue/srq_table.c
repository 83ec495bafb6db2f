/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The table of XRC shared receive queues and their numbers.
 */

#include "queue/srq_table.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#define NB_SRQ 3

static struct uroce_srq_table *table;
static struct uroce_srq srq[NB_SRQ + 1];

static int
setup(void **state)
{
	(void)state;
	table = uroce_srq_table_init(malloc(uroce_srq_table_memsize(NB_SRQ)), NB_SRQ);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	free(table);
	return 0;
}

static void
srq_table_add__each_is_found_by_its_number(void **state)
{
	(void)state;
	for (unsigned i = 0; i < NB_SRQ; i++)
		assert_int_equal(uroce_srq_table_add(table, &srq[i]), 0);
	for (unsigned i = 0; i < NB_SRQ; i++)
		assert_ptr_equal(uroce_srq_table_find(table, srq[i].srqn), &srq[i]);
	assert_int_equal(uroce_srq_table_add(table, &srq[NB_SRQ]), -ENOMEM);
}

static void
srq_table_find__numbers_that_are_nobodys(void **state)
{
	(void)state;
	assert_int_equal(uroce_srq_table_add(table, &srq[0]), 0);
	assert_null(uroce_srq_table_find(table, 0));
	assert_null(uroce_srq_table_find(table, NB_SRQ));
	assert_null(uroce_srq_table_find(table, NB_SRQ + 1));
	assert_null(uroce_srq_table_find(table, 0xffffff));
}

static void
srq_table_remove__number_comes_back_last(void **state)
{
	(void)state;
	assert_int_equal(uroce_srq_table_add(table, &srq[0]), 0);
	const uint32_t srqn = srq[0].srqn;

	uroce_srq_table_remove(table, &srq[0]);
	assert_null(uroce_srq_table_find(table, srqn));
	assert_int_equal(uroce_srq_table_add(table, &srq[1]), 0);
	assert_int_not_equal(srq[1].srqn, srqn);
	assert_int_equal(uroce_srq_table_add(table, &srq[2]), 0);
	assert_int_equal(uroce_srq_table_add(table, &srq[3]), 0);
	assert_int_equal(srq[3].srqn, srqn);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(srq_table_add__each_is_found_by_its_number),
		TEST(srq_table_find__numbers_that_are_nobodys),
		TEST(srq_table_remove__number_comes_back_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
