/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_GID_H
#define UROCE_DATAPATH_GID_H

/**
 * @file
 * The addresses of a device, as its GID table.
 *
 * Where they are those of the kernel's interface they change with it. There are two tables: the one that is
 * not published is changed and published, then everybody else leaves the round in which the older one may have
 * been found.
 */

#include <string.h>

#include "datapath/dev.h"

/**
 * Make a table: of a configuration, a MAC, and the kernel's interface that the port shares (0: none).
 * @return 0, or -EINVAL after one logged line: there is no address
 */
int uroce_gid_make(const struct uroce_dev_conf *conf, const uint8_t mac[6], unsigned if_index,
		   struct uroce_gid_table *gids);

/**
 * Fill a device's table from configuration, MAC and port.
 * @return 0, or -EINVAL after one logged line: there is no address
 */
int uroce_gid_fill(struct uroce_dev *dev);

/** Whether every address is the kernel's, so that we have nobody to answer for. */
bool uroce_gid_all_kernels(const struct uroce_dev *dev);

/** Whether there is no address at an index. */
static inline bool
uroce_gid_is_empty(const struct uroce_gid_table *gids, unsigned idx)
{
	uint64_t words[2];

	if (idx >= gids->nb)
		return true;
	memcpy(words, gids->addr[idx].ip, sizeof(words));
	return (words[0] | words[1]) == 0;
}

/** The table as it is now. Not from inside a round. */
void uroce_gid_copy(struct uroce_dev *dev, struct uroce_gid_table *gids);

/** The index of an address, or -1. */
int uroce_gid_find(const struct uroce_gid_table *gids, const uint8_t ip[16]);

/**
 * The first worker, in its round: where the addresses are the interface's, look whether they have changed.
 * An address keeps its index as long as it is there; a new one takes the first that is free.
 */
void uroce_gid_follow(struct uroce_worker *worker);

#endif /* UROCE_DATAPATH_GID_H */
