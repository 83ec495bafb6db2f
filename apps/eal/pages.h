/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APPS_EAL_PAGES_H
#define APPS_EAL_PAGES_H

/**
 * @file
 * Ordinary memory in the place of hugepages that are gone when EAL maps them.
 *
 * EAL looks how many are free and maps them later, one by one, at its start and whenever its heap grows. Another program
 * may take them meanwhile. rte_eal_init() that fails for that cannot be repeated in a process, nor can a heap that has
 * no page left. So the call that maps a page does not fail: what is no hugepage is ordinary memory.
 */

#include <stddef.h>

/**
 * From now on EAL may have so many bytes of ordinary memory for hugepages, if addresses for devices are virtual ones.
 * They are taken as they are used.
 * @mt  Before EAL starts.
 */
void pages_allow(size_t len);

#endif /* APPS_EAL_PAGES_H */
