/* SPDX-License-Identifier: BSD-3-Clause */

/* The search for an address in a GID table. */

#include "datapath/net/gid_table.h"

int
uroce_gid_find(const struct uroce_gid_table *gids, const uint8_t ip[16])
{
	for (unsigned i = 0; i < gids->nb; i++) {
		if (!uroce_gid_is_empty(gids, i) && memcmp(gids->addr[i].ip, ip, 16) == 0)
			return (int)i;
	}
	return -1;
}
