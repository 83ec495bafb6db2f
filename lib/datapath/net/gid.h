/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_GID_H
#define UROCE_DATAPATH_GID_H

/**
 * @file
 * The GID table of a device: its addresses.
 *
 * If the addresses are those of a kernel interface or of uroced, the table follows their changes.
 * There are two tables. A change writes the unpublished table, publishes it, and then waits until
 * all workers have left the rounds in which they may use the older table.
 */

#include "datapath/device/dev.h"

/**
 * Fill a GID table from a configuration, a MAC, and the kernel interface that the port shares.
 * @param if_index  index of the kernel interface; 0: the port shares no kernel interface
 * @return 0, or -EINVAL after one logged line: there is no address
 */
int uroce_gid_make(const struct uroce_dev_conf *conf, const uint8_t mac[6], unsigned if_index,
		   struct uroce_gid_table *gids);

/**
 * Fill a device's GID table from its configuration, its MAC and its port.
 * @return 0, or -EINVAL after one logged line: there is no address
 */
int uroce_gid_fill(struct uroce_dev *dev);

/** Get the index of the kernel interface that a device's port shares; 0: the port shares none. */
unsigned uroce_gid_if_index(const struct uroce_dev *dev);

/**
 * Whether every address of the device belongs to the kernel, so that the device must not reply to
 * ARP, ND and pings.
 */
bool uroce_gid_all_kernels(const struct uroce_dev *dev);

/**
 * Copy the current GID table of a device. The calling thread must not be inside a round of a
 * worker.
 */
void uroce_gid_copy(struct uroce_dev *dev, struct uroce_gid_table *gids);

/**
 * Check whether the addresses of the kernel interface or of uroced have changed, and update the GID
 * table of the device. An address keeps its index while it exists; a new address takes the first
 * free index. The first worker of the device calls this function inside its round.
 */
void uroce_gid_follow(struct uroce_worker *worker);

#endif /* UROCE_DATAPATH_GID_H */
