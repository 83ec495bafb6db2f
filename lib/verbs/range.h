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
 * Whether all of `[addr, addr + len)` is mapped, and may be written if that is asked for; then its pages
 * are ready, too. The range does not wrap.
 */
bool uroce_range_is_good(const void *addr, size_t len, bool is_written);

#endif /* UROCE_VERBS_RANGE_H */
