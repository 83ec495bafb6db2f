/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APPS_EAL_RUNTIME_H
#define APPS_EAL_RUNTIME_H

/**
 * @file
 * The folder below which EAL has its sockets, in dpdk/PREFIX: $RUNTIME_DIRECTORY, else for root /var/run, for others
 * $XDG_RUNTIME_DIR. EAL's last choice is /tmp, where dpdk/ belongs to the first user who comes. So each user who has
 * none of the former has a folder here: RUNTIME_OWN and the number of the user, of mode 0700.
 */

#include <stdbool.h>

#define RUNTIME_OWN "/tmp/uroce-runtime-"

/**
 * The folder that EAL is to use: what $RUNTIME_DIRECTORY says, or one whose dpdk/ belongs to this user alone. It is
 * made if it is not there. One line on stderr tells of a folder of the user's name that is another's, and is not used.
 *
 * @mt  One thread.
 * @return NULL: none can be made
 */
const char *runtime_folder(void);

#endif /* APPS_EAL_RUNTIME_H */
