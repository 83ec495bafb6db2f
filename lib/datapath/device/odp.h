/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_ODP_H
#define UROCE_DATAPATH_ODP_H

/**
 * @file
 * On-demand paging: a system call makes pages present, where an RDMA device would raise a page
 * fault. The call takes about 0.3 us for a page that is present.
 */

#include <stdbool.h>
#include <stdint.h>

/**
 * Whether the kernel can make pages present on demand (Linux 5.14). On other kernels there are no
 * on-demand regions.
 */
bool uroce_odp_is_possible(void);

/**
 * Make the pages of `[addr, addr + len)` present for reading, or also for writing.
 * @return 0; -EFAULT: not all of the range is mapped with the requested access right; -ENOMEM: no
 *   memory
 */
int uroce_odp_page_in(const void *addr, uint64_t len, bool is_written);

#endif /* UROCE_DATAPATH_ODP_H */
