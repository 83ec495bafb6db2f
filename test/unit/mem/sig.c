/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Block signatures: guards are compared with published check values; tags of T10-DIF, check masks,
 * and the report of a bad block.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "mem/sig.h"

static const char digits[] = "123456789";

static struct uroce_sig_domain
domain_of(enum uroce_sig_kind kind, uint64_t seed)
{
	return (struct uroce_sig_domain){
		.kind = (uint8_t)kind,
		.seed = seed,
		.app_tag = 0xabcd,
		.ref_tag = 0x01234567,
		.block_len = 512,
		.len = uroce_sig_len(kind),
	};
}

/*
 * Compute the signature of `len` bytes as block number `nth`. The first `first` bytes are added in
 * one call, the others in a second call.
 */
static void
sign(const struct uroce_sig_domain *domain, const void *data, uint32_t len, uint32_t first,
     uint64_t nth, uint8_t sig[UROCE_SIG_LEN_MAX])
{
	uint64_t state = uroce_sig_begin(domain);

	state = uroce_sig_add(domain, state, data, first);
	state = uroce_sig_add(domain, state, (const uint8_t *)data + first, len - first);
	uroce_sig_end(domain, state, nth, sig);
}

/* The guards of the string "123456789" [Catalogue of parametrised CRC algorithms: check values]. */
static void
fault_guard__of_nine_digits(void **state)
{
	static const struct {
		enum uroce_sig_kind kind;
		uint64_t seed;
		uint8_t sig[8];
	} rows[] = {
		{ UROCE_SIG_T10_CRC, 0, { 0xd0, 0xdb, 0xab, 0xcd, 0x01, 0x23, 0x45, 0x67 } },
		{ UROCE_SIG_CRC32, UINT32_MAX, { 0x26, 0x39, 0xf4, 0xcb } },
		{ UROCE_SIG_CRC32C, UINT32_MAX, { 0x83, 0x92, 0x06, 0xe3 } },
		{ UROCE_SIG_CRC64, UINT64_MAX, { 0x88, 0x98, 0x79, 0x0a, 0x86, 0x14, 0x8b, 0xae } },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct uroce_sig_domain domain = domain_of(rows[i].kind, rows[i].seed);

		for (uint32_t first = 0; first <= 9; first++) {
			uint8_t sig[UROCE_SIG_LEN_MAX] = { 0 };

			sign(&domain, digits, 9, first, 0, sig);
			assert_memory_equal(sig, rows[i].sig, sizeof(sig));
		}
	}
}

/* The ones' complement sum of these bytes is ddf2 [RFC 1071, section 3]. */
static void
fault_guard__checksum(void **state)
{
	static const uint8_t data[] = { 0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7 };
	const struct uroce_sig_domain domain = domain_of(UROCE_SIG_T10_CSUM, 0);
	uint8_t sig[UROCE_SIG_LEN_MAX];

	(void)state;
	for (uint32_t first = 0; first <= sizeof(data); first++) {
		sign(&domain, data, sizeof(data), first, 0, sig);
		assert_int_equal(sig[0] << 8 | sig[1], 0xffff - 0xddf2);
	}
}

static void
fault_guard__begins_as_the_seed(void **state)
{
	static const uint8_t zeros[512];
	static const enum uroce_sig_kind crcs[] = { UROCE_SIG_T10_CRC, UROCE_SIG_CRC32,
						    UROCE_SIG_CRC32C, UROCE_SIG_CRC64 };

	(void)state;
	for (unsigned i = 0; i < sizeof(crcs) / sizeof(crcs[0]); i++) {
		struct uroce_sig_domain domain = domain_of(crcs[i], 0);
		uint8_t sig[UROCE_SIG_LEN_MAX] = { 1, 1, 1, 1, 1, 1, 1, 1 };

		/* with seed 0 the guard of zeros is 0 for each CRC */
		sign(&domain, zeros, 512, 100, 0, sig);
		assert_int_equal(sig[0], 0);
		assert_int_equal(sig[1], 0);
		domain.seed = crcs[i] == UROCE_SIG_T10_CRC ? UINT16_MAX
			      : domain.len == 4            ? UINT32_MAX
							   : UINT64_MAX;
		sign(&domain, zeros, 512, 100, 0, sig);
		assert_true(sig[0] != 0 || sig[1] != 0);
	}
}

static void
end__reference_tag_goes_up_if_it_is_to(void **state)
{
	struct uroce_sig_domain domain = domain_of(UROCE_SIG_T10_CRC, 0);
	uint8_t sig[UROCE_SIG_LEN_MAX];

	(void)state;
	sign(&domain, digits, 9, 0, 5, sig);
	assert_memory_equal(sig + 4, "\x01\x23\x45\x67", 4);
	domain.flags = UROCE_SIG_REF_REMAP;
	sign(&domain, digits, 9, 0, 5, sig);
	assert_memory_equal(sig + 4, "\x01\x23\x45\x6c", 4);
	domain.ref_tag = UINT32_MAX;
	sign(&domain, digits, 9, 0, 2, sig);
	assert_memory_equal(sig + 2, "\xab\xcd\x00\x00\x00\x01", 6);
}

/*
 * Bit i of a check mask stands for byte i of the signature as a number
 * [mlx5dv_wr_set_mkey_sig_block(3), check_mask].
 */
static void
check__each_bit_of_the_mask_is_a_byte(void **state)
{
	static const struct {
		enum uroce_sig_kind kind;
		unsigned low; /* lowest bit of the mask that stands for a byte of this signature */
		bool is_big_endian;
	} rows[] = {
		{ UROCE_SIG_T10_CRC, 0, true }, { UROCE_SIG_T10_CSUM, 0, true },
		{ UROCE_SIG_CRC32, 4, false },  { UROCE_SIG_CRC32C, 4, false },
		{ UROCE_SIG_CRC64, 0, false },
	};
	struct uroce_sig_error error;

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct uroce_sig_domain domain = domain_of(rows[i].kind, 0);
		uint8_t wanted[UROCE_SIG_LEN_MAX], found[UROCE_SIG_LEN_MAX];

		sign(&domain, digits, 9, 0, 0, wanted);
		for (unsigned bit = rows[i].low; bit < 8; bit++) {
			const unsigned byte = bit - rows[i].low;

			memcpy(found, wanted, sizeof(found));
			found[rows[i].is_big_endian ? 7 - byte : byte] ^= 0x10;
			assert_true(uroce_sig_check(&domain, found, wanted, (uint8_t) ~(1u << bit),
						    &error));
			assert_false(uroce_sig_check(&domain, found, wanted, (uint8_t)(1u << bit),
						     &error));
			uroce_sig_copy(&domain, found, wanted, (uint8_t)(1u << bit));
			assert_memory_equal(found, wanted, domain.len);
		}
		found[0] ^= 1;
		uroce_sig_copy(&domain, found, wanted, 0);
		assert_int_equal(found[0], wanted[0] ^ 1);
	}
}

/*
 * The parts of a signature are checked in the order guard, application tag, reference tag
 * [mlx5dv_mkey_check(3)].
 */
static void
check__tells_the_first_part_that_is_bad(void **state)
{
	const struct uroce_sig_domain domain = domain_of(UROCE_SIG_T10_CRC, 0);
	uint8_t wanted[UROCE_SIG_LEN_MAX], found[UROCE_SIG_LEN_MAX];
	struct uroce_sig_error error;

	(void)state;
	sign(&domain, digits, 9, 0, 0, wanted);
	memcpy(found, wanted, sizeof(found));
	assert_true(uroce_sig_check(&domain, found, wanted, 0xff, &error));
	found[7] = 0x68;
	assert_false(uroce_sig_check(&domain, found, wanted, 0xff, &error));
	assert_int_equal(error.fault, UROCE_SIG_BAD_REF_TAG);
	assert_int_equal(error.actual, 0x01234567);
	assert_int_equal(error.expected, 0x01234568);
	found[2] = 0x00;
	assert_false(uroce_sig_check(&domain, found, wanted, 0xff, &error));
	assert_int_equal(error.fault, UROCE_SIG_BAD_APP_TAG);
	assert_int_equal(error.actual, 0xabcd);
	assert_int_equal(error.expected, 0x00cd);
	found[1] = 0xdc;
	assert_false(uroce_sig_check(&domain, found, wanted, 0xff, &error));
	assert_int_equal(error.fault, UROCE_SIG_BAD_GUARD);
	assert_int_equal(error.actual, 0xd0db);
	assert_int_equal(error.expected, 0xd0dc);
}

static void
check__of_a_crc_tells_all_of_it(void **state)
{
	const struct uroce_sig_domain domain = domain_of(UROCE_SIG_CRC64, UINT64_MAX);
	uint8_t wanted[UROCE_SIG_LEN_MAX], found[UROCE_SIG_LEN_MAX] = { 0 };
	struct uroce_sig_error error;

	(void)state;
	sign(&domain, digits, 9, 0, 0, wanted);
	assert_false(uroce_sig_check(&domain, found, wanted, 0xff, &error));
	assert_int_equal(error.fault, UROCE_SIG_BAD_GUARD);
	assert_true(error.actual == UINT64_C(0xae8b14860a799888));
	assert_int_equal(error.expected, 0);
}

/*
 * Escape values in the tags of T10-DIF disable only the check of the guard
 * [mlx5dv_wr_set_mkey_sig_block(3), flags].
 */
static void
check__escapes_the_guard_alone(void **state)
{
	struct uroce_sig_domain domain = domain_of(UROCE_SIG_T10_CRC, 0);
	uint8_t wanted[UROCE_SIG_LEN_MAX];
	uint8_t by_app[] = { 0, 0, 0xff, 0xff, 0x01, 0x23, 0x45, 0x67 };
	uint8_t by_both[] = { 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
	struct uroce_sig_error error;

	(void)state;
	sign(&domain, digits, 9, 0, 0, wanted);
	assert_false(uroce_sig_check(&domain, by_both, wanted, 0xc0, &error));
	domain.flags = UROCE_SIG_APP_REF_ESCAPE;
	assert_false(uroce_sig_check(&domain, by_app, wanted, 0xc0, &error));
	assert_true(uroce_sig_check(&domain, by_both, wanted, 0xc0, &error));
	domain.flags = UROCE_SIG_APP_ESCAPE;
	assert_true(uroce_sig_check(&domain, by_app, wanted, 0xc0, &error));
	assert_true(uroce_sig_check(&domain, by_both, wanted, 0xc0, &error));
	assert_false(uroce_sig_check(&domain, by_app, wanted, 0xf0, &error));
	assert_int_equal(error.fault, UROCE_SIG_BAD_APP_TAG);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fault_guard__of_nine_digits),
		cmocka_unit_test(fault_guard__checksum),
		cmocka_unit_test(fault_guard__begins_as_the_seed),
		cmocka_unit_test(end__reference_tag_goes_up_if_it_is_to),
		cmocka_unit_test(check__each_bit_of_the_mask_is_a_byte),
		cmocka_unit_test(check__tells_the_first_part_that_is_bad),
		cmocka_unit_test(check__of_a_crc_tells_all_of_it),
		cmocka_unit_test(check__escapes_the_guard_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
