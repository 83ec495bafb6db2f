/* SPDX-License-Identifier: BSD-3-Clause */
/* Queries of the GID table of a port: of one entry, or of all entries. */

#include <errno.h>
#include <string.h>

#include "datapath/net/gid.h"
#include "verbs/errno_ret.h"
#include "verbs/object.h"
#include "verbs/uroce.h"

int
uroce_query_gid(struct ibv_context *context, uint8_t port_num, int index, union ibv_gid *gid)
{
	struct uroce_gid_table gids;

	if (context == NULL || gid == NULL || port_num != 1 || index < 0 ||
	    index >= UROCE_GIDS_MAX) {
		errno = EINVAL;
		return -1;
	}
	uroce_gid_copy(uroce_vcontext_dev(context), &gids);
	memcpy(gid->raw, gids.addr[index].ip, sizeof(gid->raw));
	return 0;
}

static void
fill_entry(const struct uroce_dev *dev, const struct uroce_gid_table *gids, unsigned index,
	   struct ibv_gid_entry *entry)
{
	*entry = (struct ibv_gid_entry){
		.gid_index = index,
		.port_num = 1,
		.gid_type = IBV_GID_TYPE_ROCE_V2,
		.ndev_ifindex = uroce_gid_if_index(dev),
	};
	memcpy(entry->gid.raw, gids->addr[index].ip, sizeof(entry->gid.raw));
}

int
uroce_query_gid_ex(struct ibv_context *context, uint32_t port_num, uint32_t gid_index,
		   struct ibv_gid_entry *entry, uint32_t flags)
{
	struct uroce_gid_table gids;
	struct uroce_dev *dev;

	if (context == NULL || entry == NULL || flags != 0 || port_num != 1 ||
	    gid_index >= UROCE_GIDS_MAX)
		return uroce_fail(EINVAL);
	dev = uroce_vcontext_dev(context);
	uroce_gid_copy(dev, &gids);
	if (uroce_gid_is_empty(&gids, gid_index))
		return uroce_fail(ENODATA);
	fill_entry(dev, &gids, gid_index, entry);
	return 0;
}

ssize_t
uroce_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries,
		      size_t max_entries, uint32_t flags)
{
	struct uroce_gid_table gids;
	struct uroce_dev *dev;
	size_t nb = 0;

	if (context == NULL || entries == NULL || flags != 0)
		return -uroce_fail(EINVAL);
	dev = uroce_vcontext_dev(context);
	uroce_gid_copy(dev, &gids);
	for (unsigned i = 0; i < gids.nb; i++)
		nb += !uroce_gid_is_empty(&gids, i);
	if (max_entries == 0 || max_entries < nb)
		return -uroce_fail(EINVAL);
	for (unsigned i = 0; i < gids.nb; i++)
		if (!uroce_gid_is_empty(&gids, i))
			fill_entry(dev, &gids, i, entries++);
	return (ssize_t)nb;
}
