/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Cost of the ICRC: the time of every CRC-32 kernel that this processor can run, and of the calls
 * that use the kernels, in nanoseconds per call. Each figure is the median of many rounds of
 * independent calls. The choices in lib/base/crc32.c are based on these figures. To be run on an
 * idle machine, pinned to a CPU:
 *
 *	taskset -c 1 build/test/bench-crc32
 */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "wire/build.h"
#include "base/crc32.h"
#include "base/crc32_kernel.h"
#include "wire/icrc.h"

#define NB_ROUNDS 2001
#define NB_CALLS  64 /* number of calls in a round */
#define LEN_MAX   4096
/*
 * Offsets of the source and of the destination from a cache line: in frames, data is not aligned.
 */
#define SRC_OFF 4
#define DST_OFF 58

static uint8_t src[LEN_MAX + 64] __attribute__((aligned(64)));
static uint8_t dst[NB_CALLS][256] __attribute__((aligned(64)));
static uint8_t large_dst[8][LEN_MAX + 64] __attribute__((aligned(64)));
static struct uroce_path path;
static uint32_t sink;

typedef uint32_t (*sum_fn)(uint32_t state, const void *data, size_t len);
typedef uint32_t (*copy_fn)(uint32_t state, void *dst, const void *src, size_t len);

static const struct kernel {
	const char *name;
	sum_fn sum;
	copy_fn copy;
} kernels[] = {
	{ "isal", uroce_crc32_isal, uroce_crc32_isal_copy },
#if UROCE_CRC32_HAS_X86
	{ "clmul", uroce_crc32_clmul, uroce_crc32_clmul_copy },
	{ "vclmul", uroce_crc32_vclmul, uroce_crc32_vclmul_copy },
#elif UROCE_CRC32_HAS_ARM64
	{ "arm64", uroce_crc32_arm64, uroce_crc32_arm64_copy },
#endif
};
#define NB_KERNELS (sizeof(kernels) / sizeof(kernels[0]))

static bool
can_run(const struct kernel *kernel)
{
#if UROCE_CRC32_HAS_X86
	if (kernel->sum == uroce_crc32_clmul)
		return uroce_crc32_can_clmul();
	if (kernel->sum == uroce_crc32_vclmul)
		return uroce_crc32_can_vclmul();
#elif UROCE_CRC32_HAS_ARM64
	if (kernel->sum == uroce_crc32_arm64)
		return true;
#endif
	return kernel->sum == uroce_crc32_isal;
}

static uint64_t
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int
compare(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/*
 * Measure the time of `call` in nanoseconds: the median of the rounds. `call` may use `i`, the
 * index of the call in its round.
 */
#define MEASURE(call)                                                                              \
	({                                                                                         \
		static uint64_t ns[NB_ROUNDS];                                                     \
		for (int round = 0; round < NB_ROUNDS; round++) {                                  \
			const uint64_t begin = now_ns();                                           \
			for (uint32_t i = 0; i < NB_CALLS; i++) {                                  \
				call;                                                              \
			}                                                                          \
			ns[round] = now_ns() - begin;                                              \
		}                                                                                  \
		qsort(ns, NB_ROUNDS, sizeof(ns[0]), compare);                                      \
		(double)ns[NB_ROUNDS / 2] / NB_CALLS;                                              \
	})

static void
measure_kernels(size_t len)
{
	printf("%6zu", len);
	for (size_t k = 0; k < NB_KERNELS; k++) {
		if (!can_run(&kernels[k]))
			continue;
		printf("  %6.1f %6.1f", MEASURE(sink += kernels[k].sum(i, src + SRC_OFF, len)),
		       MEASURE(sink +=
			       kernels[k].copy(i, large_dst[i % 8] + DST_OFF, src + SRC_OFF, len)));
	}
	printf("\n");
}

/* Write the headers and the payload of a WRITE of 8 bytes. The caller stores the ICRC. */
static struct uroce_bth *
put_write(uint8_t *frame, uint32_t psn, uint32_t *icrc)
{
	struct uroce_bth *bth = uroce_path_put(&path, frame, 12 + 16 + 8 + 4, icrc);

	uroce_bth_put(bth, 0x0a, 0, 0xffff, 17, psn);
	memcpy(bth + 1, src + psn, 16 + 8);
	return bth;
}

static void
put_write_at_once(uint8_t *frame, uint32_t psn)
{
	uint32_t icrc;
	uint8_t *bth = (uint8_t *)put_write(frame, psn, &icrc);

	uroce_icrc_store(bth + 36, uroce_icrc_rest(icrc, bth, 36));
}

/* Write frame `i`, and store the ICRC of a frame that was written half a round earlier. */
static void
put_write_in_passes(uint32_t i)
{
	uint8_t *before = dst[(i + NB_CALLS / 2) % NB_CALLS] + path.bth_off;
	uint32_t icrc;

	put_write(dst[i], i, &icrc);
	uroce_icrc_store(before + 36, uroce_icrc_rest(icrc, before, 36));
}

static void
measure_frames(void)
{
	struct uroce_pkt pkt;

	put_write_at_once(dst[0], 1);
	printf("8-byte WRITE, IPv4\n");
	printf("%8.1f  build, ICRC at once\n", MEASURE(put_write_at_once(dst[i], i)));
	printf("%8.1f  build, ICRC in a later pass\n", MEASURE(put_write_in_passes(i)));
	put_write_at_once(dst[0], 1);
	printf("%8.1f  parse\n", MEASURE(sink += uroce_parse(dst[0], 82, &pkt)));
	printf("%8.1f  check the ICRC\n", MEASURE(sink += uroce_pkt_check_icrc(&pkt)));
}

int
main(void)
{
	static const size_t lens[] = { 8, 12, 16, 36, 64, 72, 128, 256, 512, 1024, 2048, 4096 };
	const struct uroce_path_conf conf = {
		.sip = { [10] = 0xff, 0xff, 192, 0, 2, 1 },
		.dip = { [10] = 0xff, 0xff, 192, 0, 2, 2 },
		.udp_sport = 0xc000,
	};

	for (size_t i = 0; i < sizeof(src); i++)
		src[i] = (uint8_t)(i * 37);
	uroce_path_init(&path, &conf);
	printf("ns per call\n bytes");
	for (size_t k = 0; k < NB_KERNELS; k++) {
		if (can_run(&kernels[k]))
			printf("  %6s  +copy", kernels[k].name);
	}
	printf("\n");
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++)
		measure_kernels(lens[i]);
	measure_frames();
	return 0;
}
