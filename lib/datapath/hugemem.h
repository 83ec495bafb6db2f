/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_HUGEMEM_H
#define UROCE_DATAPATH_HUGEMEM_H

/**
 * @file
 * Memory for what the data path touches: from EAL's heap, that is hugepages on the right NUMA node.
 * Under --no-huge from a heap of EAL's that is ours, named "uroce": it grows beyond what EAL was given,
 * and lies in transparent hugepages where the kernel has them. Further NUMA nodes have theirs, "uroce_1" and so on.
 */

#include <stddef.h>

/**
 * Zeroed memory, aligned to a cache line.
 * @param socket_id  NUMA node to take it from; another one, or any (-1), is used when that has none
 * @return NULL after one logged line when there is none
 */
void *uroce_hugemem_alloc(size_t len, int socket_id);

/**
 * The same of what a device promises to have whatever EAL was given (the entries of a CQ): what EAL has no room for
 * is from a heap of ours that grows, also beside hugepages.
 */
void *uroce_hugemem_alloc_beyond(size_t len, int socket_id);

/** Give it back. NULL is allowed. */
void uroce_hugemem_free(void *mem);

#endif /* UROCE_DATAPATH_HUGEMEM_H */
