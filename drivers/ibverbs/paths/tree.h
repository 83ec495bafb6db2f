/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_PATHS_TREE_H
#define UROCE_PATHS_TREE_H

/**
 * @file
 * The private tree of files that stands for what the kernel would have of its RDMA devices.
 *
 * The first call on such a path makes it: a directory under $XDG_RUNTIME_DIR or /tmp, its name in UROCE_TREE, so that
 * children have the same. It goes with the process that made it; what a killed process left, the next maker removes.
 */

#include <stdbool.h>
#include <string.h>

/** Room for the path of a file in the tree: what does not fit cannot be there. */
#define TREE_PATH_MAX 512

/** The event channel of librdmacm: a FIFO. */
#define TREE_CHANNEL "/dev/infiniband/rdma_cm"

/**
 * Where a path leads that is the tree's.
 *
 * @mt  Safe. Once the tree is there, safe in a signal handler.
 * @return `there`, or `path` itself: there are no devices, or this is what makes the tree
 */
const char *tree_path(const char *path, char there[TREE_PATH_MAX]);

/** The path by which a program knows a file, in place: without the tree's own in front. NULL is passed on. */
char *tree_hide(char *path);

/** Where any path leads. */
static inline const char *
tree_redirect(const char *path, char there[TREE_PATH_MAX])
{
	static const char sys[] = "/sys/class/infiniband", dev[] = "/dev/infiniband";

	if (path == NULL ||
	    (strncmp(path, sys, sizeof(sys) - 1) != 0 && strncmp(path, dev, sizeof(dev) - 1) != 0))
		return path;
	return tree_path(path, there);
}

#endif /* UROCE_PATHS_TREE_H */
