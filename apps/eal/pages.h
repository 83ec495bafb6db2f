/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APPS_EAL_PAGES_H
#define APPS_EAL_PAGES_H

/**
 * @file
 * Replaces a hugepage by ordinary memory if no hugepage is free when EAL maps it.
 *
 * EAL first counts the free hugepages, and maps them one by one later, at its start and whenever
 * its heap grows. Another program may take the pages in between. A process cannot repeat
 * rte_eal_init() after that failure, and a heap without pages cannot grow. So the call that maps a
 * page does not fail: it maps ordinary memory if no hugepage is left.
 */

#include <stddef.h>

/**
 * Let ordinary memory of up to `len` bytes replace hugepages from now on. The replacement needs
 * virtual addresses as IOVAs. Memory is allocated only when a hugepage cannot be mapped.
 * @mt  Call this before EAL starts.
 */
void pages_allow(size_t len);

#endif /* APPS_EAL_PAGES_H */
