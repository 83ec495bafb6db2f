/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_RANGE_H
#define UROCE_VERBS_RANGE_H

/**
 * @file
 * What the kernel knows of a range of this process's memory.
 */

#include <stdbool.h>
#include <stddef.h>

/**
 * Whether all of `[addr, addr + len)` may be read, or written if that is asked for; then its pages are
 * ready, too, unless it is large and only to be read. The range does not wrap.
 */
bool uroce_range_is_good(const void *addr, size_t len, bool is_written);

/** Whether it is mapped, whatever may be done with it; no page is made ready. */
bool uroce_range_is_mapped(const void *addr, size_t len);

#endif /* UROCE_VERBS_RANGE_H */
