/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_MEM_ODP_H
#define UROCE_MEM_ODP_H

/**
 * @file
 * Memory that need not be there before it is used: regions with IBV_ACCESS_ON_DEMAND.
 *
 * Of other regions it is known since their registration that they are mapped. Of these it is asked each
 * time, before a packet's payload is read or written: a function that the table's owner brings makes the
 * pages ready, or says that there are none, and then the request is refused as one outside of a region is.
 */

#include <stdbool.h>
#include <stdint.h>

struct uroce_mr_table;

/**
 * Most bytes that are made ready at a time, so that a request for all of a large region does not keep
 * a worker busy. No packet, and no run of packets, has more.
 */
#define UROCE_ODP_MAX (1u << 20)

/**
 * Have `[addr, addr + len)` ready to be read, or written too. On any thread.
 * @return 0, or -errno: it is not all there, or not with that right
 */
typedef int (*uroce_page_in_fn)(const void *addr, uint64_t len, bool is_written);

/** Bring the function, before there is such a region; without it nothing of one resolves. */
void uroce_mr_table_set_page_in(struct uroce_mr_table *table, uroce_page_in_fn page_in);

#endif /* UROCE_MEM_ODP_H */
