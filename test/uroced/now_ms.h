/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TEST_UROCED_NOW_MS_H
#define TEST_UROCED_NOW_MS_H

#include <stdint.h>
#include <time.h>

/** The monotonic time in milliseconds. */
static inline uint64_t
now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

#endif /* TEST_UROCED_NOW_MS_H */
