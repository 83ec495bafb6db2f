/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APPS_EAL_RUNTIME_H
#define APPS_EAL_RUNTIME_H

/**
 * @file
 * The folder below which EAL creates its sockets, in dpdk/PREFIX. EAL uses $RUNTIME_DIRECTORY if it
 * is set. Otherwise EAL uses /var/run for root, and $XDG_RUNTIME_DIR for other users. The last
 * choice of EAL is /tmp, where dpdk/ belongs to the first user who creates it. So where EAL would
 * choose /tmp, runtime_folder() chooses a folder of the user's own: its name is RUNTIME_OWN
 * followed by the number of the user, and its mode is 0700.
 */

#include <stdbool.h>

#define RUNTIME_OWN "/tmp/uroce-runtime-"

/**
 * Get the folder that EAL is to use. It is $RUNTIME_DIRECTORY if that is set, else a folder whose
 * subfolder dpdk/ belongs to this user alone. The folder is created if it does not exist. If a
 * folder of that name belongs to another user, it is not used, and one line on stderr reports this.
 *
 * @mt  One thread.
 * @return NULL if no folder can be created
 */
const char *runtime_folder(void);

#endif /* APPS_EAL_RUNTIME_H */
