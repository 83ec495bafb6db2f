/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_PATHS_TREE_H
#define UROCE_PATHS_TREE_H

/**
 * @file
 * The private tree of files, which replaces the files that the kernel has for RDMA devices.
 *
 * The first call on a path of an RDMA device creates the tree: a directory under $XDG_RUNTIME_DIR
 * or /tmp. The environment variable UROCE_TREE has its name, so that child processes use the same
 * tree. The tree is removed when the process that created it exits. A tree that a killed process
 * left is removed when another process creates a tree.
 */

#include <stdbool.h>
#include <string.h>

/**
 * Maximum size of the path of a file in the private tree, including the NUL. A longer path is not
 * redirected into the tree.
 */
#define TREE_PATH_MAX 512

/**
 * Path of the event channel of librdmacm, a character device of the kernel. In the private tree
 * this path is a link to a character device.
 */
#define TREE_CHANNEL "/dev/infiniband/rdma_cm"

/**
 * Redirect a path of an RDMA device into the private tree.
 *
 * @mt Safe. If the tree exists, the call is also safe in a signal handler.
 * @return `there` with the path in the tree; or `path` if there are no devices, or if the caller is
 *         the code that creates the tree
 */
const char *tree_path(const char *path, char there[TREE_PATH_MAX]);

/**
 * Convert the path of a file in the private tree to the path that programs use: remove the
 * directory of the tree from the start of the path, in place.
 * @return `path`, which may be NULL
 */
char *tree_hide(char *path);

/**
 * Redirect a path into the private tree if it is a path of an RDMA device. Any other path is
 * returned unchanged.
 */
static inline const char *
tree_redirect(const char *path, char there[TREE_PATH_MAX])
{
	static const char sys[] = "/sys/class/infiniband", dev[] = "/dev/infiniband";
	static const char channel[] = "/sys/class/misc/rdma_cm";

	if (path == NULL ||
	    (strncmp(path, sys, sizeof(sys) - 1) != 0 && strncmp(path, dev, sizeof(dev) - 1) != 0 &&
	     strncmp(path, channel, sizeof(channel) - 1) != 0))
		return path;
	return tree_path(path, there);
}

#endif /* UROCE_PATHS_TREE_H */
