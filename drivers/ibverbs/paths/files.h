/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_PATHS_FILES_H
#define UROCE_PATHS_FILES_H

/**
 * @file
 * What the kernel's files would say of the devices that libibverbs.so.1 shows.
 */

#include <stdbool.h>

/**
 * Write them below a directory: its sys/class/infiniband, sys/class/infiniband_verbs and dev/infiniband.
 * @return false: there are no devices, or a line on stderr says why not
 */
bool files_make(const char *root);

#endif /* UROCE_PATHS_FILES_H */
