/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * CRC-32. Every kernel that this processor can run, and the kernel that the library chooses, are
 * compared with the scalar kernel. The scalar kernel is compared with an implementation in this
 * test. The lengths and alignments are those just below and above each block size.
 */

#include "base/crc32.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "wire/frame.h"
#include "base/crc32_kernel.h"

#define LEN_MAX    700
#define ALIGNMENTS 64
#define CANARY     0xa5

static const size_t long_lens[] = { 767,  768,  769,  1023, 1024, 1025,  2047,  2048,
				    2049, 4095, 4096, 4097, 8191, 10000, 16384, 65535 };
#define NB_LONG_LENS (sizeof(long_lens) / sizeof(long_lens[0]))
#define LONG_MAX     65535

struct kernel {
	const char *name;
	uint32_t (*sum)(uint32_t state, const void *data, size_t len);
	uint32_t (*copy)(uint32_t state, void *dst, const void *src, size_t len);
	uint32_t (*masked)(uint32_t state, const void *data, size_t len, const uint8_t *mask);
};

static const struct kernel chosen = { "chosen", uroce_crc32, uroce_crc32_copy, uroce_crc32_masked };
static const struct kernel isal = { "isal", uroce_crc32_isal, uroce_crc32_isal_copy,
				    uroce_crc32_isal_masked };
#if UROCE_CRC32_HAS_X86
static const struct kernel clmul = { "clmul", uroce_crc32_clmul, uroce_crc32_clmul_copy,
				     uroce_crc32_clmul_masked };
static const struct kernel vclmul = { "vclmul", uroce_crc32_vclmul, uroce_crc32_vclmul_copy,
				      uroce_crc32_vclmul_masked };
#endif

#if UROCE_CRC32_HAS_ARM64
static const struct kernel arm64 = { "arm64", uroce_crc32_arm64, uroce_crc32_arm64_copy,
				     uroce_crc32_arm64_masked };
#endif

/* The kernels that this processor can run, terminated by NULL. */
static const struct kernel *kernels[5] = { &chosen, &isal };

static int
find_kernels(void **state)
{
	(void)state;
#if UROCE_CRC32_HAS_X86
	size_t nb = 2;

	if (uroce_crc32_can_clmul())
		kernels[nb++] = &clmul;
	if (uroce_crc32_can_vclmul())
		kernels[nb++] = &vclmul;
#elif UROCE_CRC32_HAS_ARM64
	kernels[2] = &arm64;
#endif
	for (size_t i = 0; kernels[i]; i++)
		printf("# kernel: %s\n", kernels[i]->name);
	return 0;
}

/* Fill memory with bytes that have no regular pattern. */
static void
fill(uint8_t *data, size_t len)
{
	uint32_t x = 0x12345678;

	for (size_t i = 0; i < len; i++) {
		x = x * 1664525 + 1013904223;
		data[i] = (uint8_t)(x >> 24);
	}
}

/*
 * Copy bytes to a buffer of exactly their length, so that a sanitizer detects any access behind the
 * end.
 */
static uint8_t *
exact_copy(const uint8_t *data, size_t len)
{
	uint8_t *copy = malloc(len > 0 ? len : 1);

	assert_non_null(copy);
	memcpy(copy, data, len);
	return copy;
}

static void
crc32_scalar__check_value_of_the_catalogues(void **state)
{
	(void)state;
	assert_int_equal(uroce_crc32_scalar(0, "123456789", 9), 0xcbf43926);
	assert_int_equal(frame_crc32(0, (const uint8_t *)"123456789", 9), 0xcbf43926);
	assert_int_equal(uroce_crc32_scalar(0, "", 0), 0);
}

static void
crc32__no_bytes_leave_the_state(void **state)
{
	uint8_t byte = 0;

	(void)state;
	for (size_t k = 0; kernels[k]; k++) {
		assert_int_equal(kernels[k]->sum(0x01020304, &byte, 0), 0x01020304);
		assert_int_equal(kernels[k]->copy(0x01020304, &byte, &byte, 0), 0x01020304);
	}
}

static void
crc32__all_lengths(void **state)
{
	uint8_t data[LEN_MAX];

	(void)state;
	fill(data, sizeof(data));
	for (size_t len = 0; len <= LEN_MAX; len++) {
		const uint32_t expected = uroce_crc32_scalar(0xdeadbeef, data, len);
		uint8_t *exact = exact_copy(data, len);

		for (size_t k = 0; kernels[k]; k++)
			assert_int_equal(kernels[k]->sum(0xdeadbeef, exact, len), expected);
		free(exact);
	}
}

static void
crc32__all_alignments(void **state)
{
	static const size_t lens[] = { 1, 3, 7, 8, 12, 15, 16, 28, 36, 48, 63, 64, 100, 200, 300 };
	uint8_t data[ALIGNMENTS + LEN_MAX];

	(void)state;
	fill(data, sizeof(data));
	for (size_t at = 0; at < ALIGNMENTS; at++) {
		for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
			const uint32_t expected = uroce_crc32_scalar(0, data + at, lens[i]);

			for (size_t k = 0; kernels[k]; k++)
				assert_int_equal(kernels[k]->sum(0, data + at, lens[i]), expected);
		}
	}
}

static void
crc32__long_data(void **state)
{
	uint8_t *data = malloc(LONG_MAX + 1);

	(void)state;
	assert_non_null(data);
	fill(data, LONG_MAX + 1);
	for (size_t i = 0; i < NB_LONG_LENS; i++) {
		const uint32_t expected = uroce_crc32_scalar(7, data + 1, long_lens[i]);

		for (size_t k = 0; kernels[k]; k++)
			assert_int_equal(kernels[k]->sum(7, data + 1, long_lens[i]), expected);
	}
	free(data);
}

static void
crc32__chains_at_every_cut(void **state)
{
	uint8_t data[300];
	uint32_t whole;

	(void)state;
	fill(data, sizeof(data));
	whole = frame_crc32(0, data, sizeof(data));
	for (size_t cut = 0; cut <= sizeof(data); cut++) {
		for (size_t k = 0; kernels[k]; k++) {
			const uint32_t first = kernels[k]->sum(0, data, cut);

			assert_int_equal(kernels[k]->sum(first, data + cut, sizeof(data) - cut),
					 whole);
		}
	}
}

/*
 * Each bit of the initial state must affect the result, also if the state is longer than the data.
 */
static void
crc32__every_bit_of_the_state(void **state)
{
	uint8_t data[20];

	(void)state;
	fill(data, sizeof(data));
	for (size_t len = 0; len <= sizeof(data); len++) {
		for (int bit = 0; bit < 32; bit++) {
			const uint32_t before = UINT32_C(1) << bit;
			const uint32_t expected = uroce_crc32_scalar(before, data, len);

			for (size_t k = 0; kernels[k]; k++)
				assert_int_equal(kernels[k]->sum(before, data, len), expected);
		}
	}
}

/*
 * Copy `len` bytes to `dst + at` with a kernel. Check the sum, the copied bytes, and that the bytes
 * around them are unchanged.
 */
static void
expect_copy(const struct kernel *kernel, const uint8_t *src, uint8_t *dst, size_t at, size_t len)
{
	memset(dst, CANARY, at + len + ALIGNMENTS);
	assert_int_equal(kernel->copy(99, dst + at, src, len), uroce_crc32_scalar(99, src, len));
	assert_memory_equal(dst + at, src, len);
	for (size_t i = 0; i < at; i++)
		assert_int_equal(dst[i], CANARY);
	for (size_t i = at + len; i < at + len + ALIGNMENTS; i++)
		assert_int_equal(dst[i], CANARY);
}

static void
crc32_copy__all_lengths(void **state)
{
	uint8_t src[LEN_MAX + ALIGNMENTS], dst[LEN_MAX + 2 * ALIGNMENTS];

	(void)state;
	fill(src, sizeof(src));
	for (size_t len = 0; len <= LEN_MAX; len++) {
		for (size_t k = 0; kernels[k]; k++)
			expect_copy(kernels[k], src + len % 13, dst, len % ALIGNMENTS, len);
	}
}

static void
crc32_copy__long_data(void **state)
{
	uint8_t *src = malloc(LONG_MAX + 3), *dst = malloc(LONG_MAX + 3 + ALIGNMENTS);

	(void)state;
	assert_non_null(src);
	assert_non_null(dst);
	fill(src, LONG_MAX + 3);
	for (size_t i = 0; i < NB_LONG_LENS; i++) {
		for (size_t k = 0; kernels[k]; k++)
			expect_copy(kernels[k], src + 3, dst, 2, long_lens[i]);
	}
	free(src);
	free(dst);
}

static void
crc32_copy__touches_no_byte_outside(void **state)
{
	uint8_t data[LEN_MAX];

	(void)state;
	fill(data, sizeof(data));
	for (size_t len = 0; len <= LEN_MAX; len++) {
		for (size_t k = 0; kernels[k]; k++) {
			uint8_t *src = exact_copy(data, len);
			uint8_t *dst = malloc(len > 0 ? len : 1);

			assert_non_null(dst);
			kernels[k]->copy(0, dst, src, len);
			assert_memory_equal(dst, data, len);
			free(src);
			free(dst);
		}
	}
}

static void
crc32_masked__ors_the_mask_into_the_first_bytes(void **state)
{
	uint8_t mask[UROCE_CRC32_MASK_LEN], data[LEN_MAX], masked[LEN_MAX];

	(void)state;
	fill(data, sizeof(data));
	for (size_t len = 16; len <= LEN_MAX; len++) {
		uint8_t *exact = exact_copy(data, len);
		uint32_t expected;

		/* a different mask for each length; its last len % 16 bytes are 0 */
		memset(mask, 0, sizeof(mask));
		for (size_t i = 0; i < sizeof(mask) && i < len - len % 16; i++)
			mask[i] = (uint8_t)(data[i + len % 7] & data[3 * i]);
		memcpy(masked, data, len);
		for (size_t i = 0; i < sizeof(mask) && i < len; i++)
			masked[i] |= mask[i];
		expected = uroce_crc32_scalar(5, masked, len);
		for (size_t k = 0; kernels[k]; k++)
			assert_int_equal(kernels[k]->masked(5, exact, len, mask), expected);
		free(exact);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(crc32_scalar__check_value_of_the_catalogues),
		cmocka_unit_test(crc32__no_bytes_leave_the_state),
		cmocka_unit_test(crc32__all_lengths),
		cmocka_unit_test(crc32__all_alignments),
		cmocka_unit_test(crc32__long_data),
		cmocka_unit_test(crc32__chains_at_every_cut),
		cmocka_unit_test(crc32__every_bit_of_the_state),
		cmocka_unit_test(crc32_copy__all_lengths),
		cmocka_unit_test(crc32_copy__long_data),
		cmocka_unit_test(crc32_copy__touches_no_byte_outside),
		cmocka_unit_test(crc32_masked__ors_the_mask_into_the_first_bytes),
	};

	return cmocka_run_group_tests(tests, find_kernels, NULL);
}
