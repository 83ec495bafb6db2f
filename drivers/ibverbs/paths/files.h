/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_PATHS_FILES_H
#define UROCE_PATHS_FILES_H

/**
 * @file
 * Writes the files of the private tree: those that the kernel would have for the RDMA devices that
 * libibverbs.so.1 lists.
 */

#include <stdbool.h>

/**
 * Write the files of RDMA devices below `root`: sys/class/infiniband, sys/class/infiniband_verbs
 * and dev/infiniband.
 * @return false if there are no devices, or if an error was printed on stderr
 */
bool files_make(const char *root);

#endif /* UROCE_PATHS_FILES_H */
