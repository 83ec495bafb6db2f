/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_IBVERBS_SYSFS_H
#define UROCE_IBVERBS_SYSFS_H

/**
 * @file
 * Calls of libibverbs that find sysfs, in which the kernel describes its devices, and that read a
 * file of sysfs.
 */

#include <stddef.h>

/** Get the path of sysfs: the environment variable SYSFS_PATH, or /sys. @mt Safe. */
const char *ibv_get_sysfs_path(void);

/**
 * Read a sysfs file of one line, without the newline at its end. If the file fills `buf`, no NUL is
 * appended.
 * @return the number of bytes, or -1 with errno
 */
int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size);

#endif /* UROCE_IBVERBS_SYSFS_H */
