/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_MEM_ODP_H
#define UROCE_MEM_ODP_H

/**
 * @file
 * On-demand paging: regions with IBV_ACCESS_ON_DEMAND, whose memory need not be present before its
 * use.
 *
 * Regions without this flag are mapped from their registration on. An on-demand region is checked
 * each time, before the payload of a packet is read or written. The owner of the table of memory
 * regions provides a function that makes the pages present, or reports that there are none. If
 * there are none, the request is refused, as a request outside of a region is.
 */

#include <stdbool.h>
#include <stdint.h>

struct uroce_mr_table;

/**
 * Maximum number of bytes of an on-demand region that are made present at a time. It is limited, so
 * that a request for all of a large region does not keep a worker busy. No packet, and no sequence
 * of packets handled in one call, has more bytes.
 */
#define UROCE_ODP_MAX (1u << 20)

/**
 * Type of a function that makes `[addr, addr + len)` present and readable, and also writable if
 * `is_written` is set. Any thread may call the function.
 * @return 0, or -errno: a part of the range is missing, or lacks the required right
 */
typedef int (*uroce_page_in_fn)(const void *addr, uint64_t len, bool is_written);

/**
 * Set the function that makes the pages of on-demand regions present. It must be set before the
 * first on-demand region is registered; without this function the keys of on-demand regions are
 * refused.
 */
void uroce_mr_table_set_page_in(struct uroce_mr_table *table, uroce_page_in_fn page_in);

#endif /* UROCE_MEM_ODP_H */
