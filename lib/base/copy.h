/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_BASE_COPY_H
#define UROCE_BASE_COPY_H

/**
 * @file
 * Copying of payload. Most small messages have one or two machine words of payload. For these, the
 * call of memcpy() costs more than the copy itself.
 */

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/** Copy `len` bytes as memcpy() does. Source and destination must not overlap. */
static inline void
uroce_copy(void *dst, const void *src, size_t len)
{
	uint64_t first, last;

	if (len < sizeof(first) || len > 2 * sizeof(first)) {
		memcpy(dst, src, len);
		return;
	}
	memcpy(&first, src, sizeof(first));
	memcpy(&last, (const uint8_t *)src + len - sizeof(last), sizeof(last));
	memcpy(dst, &first, sizeof(first));
	memcpy((uint8_t *)dst + len - sizeof(last), &last, sizeof(last));
}

/**
 * Make all memory that this thread has written visible to other CPUs before the memory that it
 * writes next.
 *
 * A program may wait for a WRITE by reading its memory, without a completion. When it sees the
 * first or the last bytes of a message, it must see all earlier messages, and all earlier packets
 * of the message. CPUs of x86 show all writes in order, and this function is no instruction there.
 * CPUs of Arm do not.
 */
static inline void
uroce_copy_fence(void)
{
	atomic_thread_fence(memory_order_release);
}

#endif /* UROCE_BASE_COPY_H */
