/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Big-endian integers: the most significant byte comes first.
 */

#include "base/be.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static const uint8_t bytes[] = { 0x81, 0x92, 0xa3, 0xb4, 0xc5, 0xd6, 0xe7, 0xf8 };

static void
be_get__most_significant_byte_first(void **state)
{
	be16 v16;
	be24 v24;
	be32 v32;
	be64 v64;

	(void)state;
	memcpy(&v16, bytes, sizeof(v16));
	memcpy(&v24, bytes, sizeof(v24));
	memcpy(&v32, bytes, sizeof(v32));
	memcpy(&v64, bytes, sizeof(v64));
	assert_int_equal(be16_get(v16), 0x8192);
	assert_int_equal(be24_get(v24), 0x8192a3);
	assert_int_equal(be32_get(v32), 0x8192a3b4);
	assert_true(be64_get(v64) == UINT64_C(0x8192a3b4c5d6e7f8));
}

static void
be_make__most_significant_byte_first(void **state)
{
	const be16 v16 = be16_make(0x8192);
	const be24 v24 = be24_make(0x8192a3);
	const be32 v32 = be32_make(0x8192a3b4);
	const be64 v64 = be64_make(UINT64_C(0x8192a3b4c5d6e7f8));

	(void)state;
	assert_memory_equal(&v16, bytes, 2);
	assert_memory_equal(&v24, bytes, 3);
	assert_memory_equal(&v32, bytes, 4);
	assert_memory_equal(&v64, bytes, 8);
}

static void
be24_make__drops_the_upper_byte(void **state)
{
	(void)state;
	assert_int_equal(be24_get(be24_make(0xffabcdef)), 0xabcdef);
}

static void
be_types__need_no_alignment(void **state)
{
	(void)state;
	assert_int_equal(_Alignof(be16), 1);
	assert_int_equal(_Alignof(be64), 1);
	assert_int_equal(sizeof(be24), 3);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(be_get__most_significant_byte_first),
		cmocka_unit_test(be_make__most_significant_byte_first),
		cmocka_unit_test(be24_make__drops_the_upper_byte),
		cmocka_unit_test(be_types__need_no_alignment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
