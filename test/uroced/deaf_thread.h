/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_UROCED_DEAF_THREAD_H
#define TEST_UROCED_DEAF_THREAD_H

/**
 * @file
 * Skips tests of the sandbox under the thread sanitizer.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/**
 * Check whether uroced has a thread of the thread sanitizer. Such a thread blocks all signals, so
 * it keeps its capabilities, and uroced does not start with its sandbox.
 */
static inline bool
has_deaf_thread(void)
{
#if defined(__SANITIZE_THREAD__)
	return true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
	return true;
#endif
#endif
	return false;
}

/** Skip the test if a thread of the thread sanitizer keeps uroced from entering its sandbox. */
static inline void
skip_if_deaf(void)
{
	if (!has_deaf_thread())
		return;
	print_message(
		"# the thread sanitizer's own thread takes no signal: it cannot be confined\n");
	skip();
}

#endif /* TEST_UROCED_DEAF_THREAD_H */
