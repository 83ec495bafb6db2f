/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_RANGE_H
#define UROCE_VERBS_RANGE_H

/**
 * @file
 * Checks of a range of this process's memory.
 */

#include <stdbool.h>
#include <stddef.h>

/**
 * Whether the process may read all of `[addr, addr + len)`, or write it if `is_written`. If so,
 * the call has made the pages resident, except in three cases: a large range that is only read,
 * memory of a device, and Linux before 5.14. The range must not wrap.
 */
bool uroce_range_is_good(const void *addr, size_t len, bool is_written);

/** Whether all of `[addr, addr + len)` is mapped, with any rights. No page is made resident. */
bool uroce_range_is_mapped(const void *addr, size_t len);

#endif /* UROCE_VERBS_RANGE_H */
