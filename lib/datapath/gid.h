/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_GID_H
#define UROCE_DATAPATH_GID_H

/**
 * @file
 * The addresses of a device, as its GID table.
 */

#include "datapath/dev.h"

/**
 * Fill `gid`, `nb_gid` and `kernel_gids` from configuration, MAC and port.
 * @return 0, or -EINVAL after one logged line: there is no address
 */
int uroce_gid_fill(struct uroce_dev *dev);

/** Whether every address is the kernel's, so that we have nobody to answer for. */
bool uroce_gid_all_kernels(const struct uroce_dev *dev);

#endif /* UROCE_DATAPATH_GID_H */
