/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * AETH syndromes and encoded times, compared with the tables of the specification [IBA 9.7.5.1.1,
 * 9.7.5.2.8].
 */

#include "wire/syndrome.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void
rnr_timer_ns__is_the_table_of_the_specification(void **state)
{
	static const double ms[32] = {
		655.36, 0.01,  0.02,  0.03,  0.04,  0.06,   0.08,   0.12,   0.16,   0.24,   0.32,
		0.48,   0.64,  0.96,  1.28,  1.92,  2.56,   3.84,   5.12,   7.68,   10.24,  15.36,
		20.48,  30.72, 40.96, 61.44, 81.92, 122.88, 163.84, 245.76, 327.68, 491.52,
	};

	(void)state;
	for (uint8_t code = 0; code < 32; code++)
		assert_int_equal(uroce_rnr_timer_ns(code), (uint64_t)(ms[code] * 1e6 + 0.5));
}

static void
rnr_timer_ns__takes_the_low_five_bits(void **state)
{
	(void)state;
	assert_int_equal(uroce_rnr_timer_ns(32), 655360000);
	assert_int_equal(uroce_rnr_timer_ns(0xff), 491520000);
}

static void
ack_timeout_ns__doubles_with_each_code(void **state)
{
	(void)state;
	assert_int_equal(uroce_ack_timeout_ns(0), 0);
	assert_int_equal(uroce_ack_timeout_ns(1), 8192);
	assert_int_equal(uroce_ack_timeout_ns(14), 67108864);
	for (uint8_t code = 2; code < 32; code++)
		assert_true(uroce_ack_timeout_ns(code) == 2 * uroce_ack_timeout_ns(code - 1));
	assert_true(uroce_ack_timeout_ns(31) == UINT64_C(8796093022208));
	assert_int_equal(uroce_ack_timeout_ns(32), 0);
}

static void
syndrome__round_trips_every_byte(void **state)
{
	(void)state;
	for (int s = 0; s < 128; s++) {
		const uint8_t syndrome = (uint8_t)s;

		assert_int_equal(uroce_syndrome_make(uroce_syndrome_kind(syndrome),
						     uroce_syndrome_value(syndrome)),
				 syndrome);
	}
	assert_int_equal(uroce_syndrome_kind(0x80), UROCE_AETH_ACK);
}

static void
syndrome_make__is_as_the_specification_codes_it(void **state)
{
	(void)state;
	assert_int_equal(uroce_syndrome_make(UROCE_AETH_ACK, 0x1f), UROCE_SYNDROME_ACK);
	assert_int_equal(uroce_syndrome_make(UROCE_AETH_RNR, 12), 0x2c);
	assert_int_equal(uroce_syndrome_make(UROCE_AETH_NAK, UROCE_NAK_PSN_SEQ), 0x60);
	assert_int_equal(uroce_syndrome_make(UROCE_AETH_NAK, UROCE_NAK_INV_REQUEST), 0x61);
	assert_int_equal(uroce_syndrome_make(UROCE_AETH_NAK, UROCE_NAK_REM_ACCESS), 0x62);
	assert_int_equal(uroce_syndrome_make(UROCE_AETH_NAK, UROCE_NAK_REM_OP), 0x63);
	assert_int_equal(uroce_syndrome_make(UROCE_AETH_NAK, UROCE_NAK_INV_RD_REQUEST), 0x64);
	assert_int_equal(uroce_syndrome_make(UROCE_AETH_ACK, 0xe0), 0x00);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rnr_timer_ns__is_the_table_of_the_specification),
		cmocka_unit_test(rnr_timer_ns__takes_the_low_five_bits),
		cmocka_unit_test(ack_timeout_ns__doubles_with_each_code),
		cmocka_unit_test(syndrome__round_trips_every_byte),
		cmocka_unit_test(syndrome_make__is_as_the_specification_codes_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
