/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_GID_TABLE_H
#define UROCE_DATAPATH_GID_TABLE_H

/**
 * @file
 * A GID table as workers read it. The functions of gid.h fill and update the GID tables of a
 * device.
 */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "datapath/device/conf.h"

/** Number of entries of a GID table; unused entries are zero. */
#define UROCE_GIDS_MAX 16

/**
 * The addresses of a device. An entry that is zero is unused, because its address was removed;
 * later entries keep their index.
 */
struct uroce_gid_table {
	/* The addresses by GID index; datapath/net/gid.c explains their order. */
	struct uroce_addr addr[UROCE_GIDS_MAX];
	unsigned nb; /* one more than the index of the last used entry */
	/*
	 * Bit i is set if addr[i] belongs to the kernel, which replies to ARP, ND and pings for it.
	 */
	uint32_t kernels;
};

/** Whether the entry of a GID table at an index has no address. */
static inline bool
uroce_gid_is_empty(const struct uroce_gid_table *gids, unsigned idx)
{
	uint64_t words[2];

	if (idx >= gids->nb)
		return true;
	memcpy(words, gids->addr[idx].ip, sizeof(words));
	return (words[0] | words[1]) == 0;
}

/** Find the index of an address in a GID table; -1: the address is not in the table. */
int uroce_gid_find(const struct uroce_gid_table *gids, const uint8_t ip[16]);

#endif /* UROCE_DATAPATH_GID_TABLE_H */
