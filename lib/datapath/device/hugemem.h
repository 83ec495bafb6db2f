/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_HUGEMEM_H
#define UROCE_DATAPATH_HUGEMEM_H

/**
 * @file
 * Memory for the data path, from EAL's heap: hugepages of the right NUMA node. Under --no-huge the
 * memory comes from an external heap named "uroce", which this library adds to EAL. The external
 * heap grows beyond EAL's memory, and uses transparent hugepages where the kernel provides them.
 * Further NUMA nodes have heaps "uroce_1" and so on.
 */

#include <stddef.h>

/**
 * Allocate zeroed memory, aligned to a cache line.
 * @param socket_id  preferred NUMA node, or -1 for any; another node is used if the preferred node
 *   has no memory
 * @return the memory; NULL after one logged line if there is no memory
 */
void *uroce_hugemem_alloc(size_t len, int socket_id);

/**
 * Allocate memory as uroce_hugemem_alloc() does. If EAL's heap has no room, the memory comes from
 * the library's own heap, which grows. The library's own heap is used also where EAL uses
 * hugepages. The function is for objects, such as the entries of a CQ, that a device guarantees
 * whatever the size of EAL's memory.
 */
void *uroce_hugemem_alloc_beyond(size_t len, int socket_id);

/** Free memory of uroce_hugemem_alloc() or uroce_hugemem_alloc_beyond(). `mem` may be NULL. */
void uroce_hugemem_free(void *mem);

#endif /* UROCE_DATAPATH_HUGEMEM_H */
