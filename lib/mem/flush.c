/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Write-back of cache lines, for a FLUSH that makes data persistent. The file uses an instruction
 * that every CPU of the architecture has.
 */

#include "mem/flush.h"

#include <stdatomic.h>
#include <stddef.h>

#define LINE_LEN 64

static void
write_back_line(const uint8_t *line)
{
#if defined(__x86_64__)
	__builtin_ia32_clflush(line);
#elif defined(__aarch64__)
	__asm__ __volatile__("dc cvac, %0" : : "r"(line) : "memory");
#else
	(void)line;
#endif
}

/* Wait until the lines are written back. On Arm a memory fence does not wait for that. */
static void
await_write_back(void)
{
#if defined(__aarch64__)
	__asm__ __volatile__("dsb ish" : : : "memory");
#endif
}

void
uroce_mem_flush(const void *addr, uint64_t len, bool is_persistent)
{
	const uint8_t *line = (const uint8_t *)((uintptr_t)addr & ~(uintptr_t)(LINE_LEN - 1));
	const uint8_t *end = (const uint8_t *)addr + len;

	if (is_persistent && len > 0) {
		for (; line < end; line += LINE_LEN)
			write_back_line(line);
		await_write_back();
	}
	atomic_thread_fence(memory_order_seq_cst);
}
