/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_ODP_H
#define UROCE_DATAPATH_ODP_H

/**
 * @file
 * Asking the kernel for pages: what a device does by a page fault is a system call here, of some 0.3 us
 * for a page that is there.
 */

#include <stdbool.h>
#include <stdint.h>

/** Whether this kernel can be asked (Linux 5.14); without it there are no regions on demand. */
bool uroce_odp_is_possible(void);

/**
 * Have `[addr, addr + len)` ready to be read, or written too.
 * @return 0; -EFAULT: not all of it is mapped with that right; -ENOMEM: there is no memory for it
 */
int uroce_odp_page_in(const void *addr, uint64_t len, bool is_written);

#endif /* UROCE_DATAPATH_ODP_H */
