/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A cache of paths, which is four-way associative. When a set is full, a new entry replaces a
 * resolved path, but not an address that is being resolved. So a flood of messages from invented
 * hosts cannot end the resolutions of other addresses, and causes a bounded number of requests for
 * MACs.
 */

#include "verbs/cm/path_cache.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "datapath/net/gid.h"
#include "verbs/sport.h"

/*
 * Time for which a resolved path is used. If a neighbour changes its MAC in this time, messages to
 * the neighbour are lost until the time is over.
 */
#define FRESH_NS UINT64_C(2000000000)

/* Time for which an address that is being resolved keeps its entry. */
#define RESOLUTION_NS UINT64_C(100000000)

/*
 * Minimum hop limit of a path. The hop limit of a received request may be lower, but the way of the
 * reply may be longer than that of the request.
 */
#define HOP_LIMIT_MIN 64

int
uroce_cm_path_cache_init(struct uroce_cm_path_cache *cache, struct uroce_dev *dev)
{
	memset(cache, 0, sizeof(*cache));
	cache->dev = dev;
	return getrandom(&cache->key, sizeof(cache->key), 0) == sizeof(cache->key) ? 0 : -EIO;
}

static bool
is_same_av(const struct uroce_cm_av *a, const struct uroce_cm_av *b)
{
	return memcmp(a->local_gid, b->local_gid, sizeof(a->local_gid)) == 0 &&
	       memcmp(a->remote_gid, b->remote_gid, sizeof(a->remote_gid)) == 0 &&
	       a->flow_label == b->flow_label && a->traffic_class == b->traffic_class &&
	       a->hop_limit == b->hop_limit;
}

static struct uroce_cm_path_entry *
set_of(struct uroce_cm_path_cache *cache, const struct uroce_cm_av *av)
{
	uint64_t words[5] = { av->flow_label };

	memcpy(&words[1], av->local_gid, sizeof(av->local_gid));
	memcpy(&words[3], av->remote_gid, sizeof(av->remote_gid));
	return cache->entry[uroce_siphash(&cache->key, words, 5) % UROCE_CM_PATH_SETS];
}

/*
 * Find the entry of an address vector, or make one. A new entry replaces an unused or expired
 * entry, or else the resolved path that expires first.
 * @return the entry; NULL: all entries of the set are in resolution
 */
static struct uroce_cm_path_entry *
get_entry(struct uroce_cm_path_cache *cache, const struct uroce_cm_av *av, uint64_t now_ns)
{
	struct uroce_cm_path_entry *const set = set_of(cache, av);
	struct uroce_cm_path_entry *oldest = NULL;

	for (unsigned i = 0; i < UROCE_CM_PATH_WAYS; i++) {
		if (set[i].end_ns > now_ns && is_same_av(&set[i].av, av))
			return &set[i];
		if (set[i].end_ns > now_ns && !set[i].is_resolved)
			continue;
		if (oldest == NULL || set[i].end_ns < oldest->end_ns)
			oldest = &set[i];
	}
	if (oldest != NULL)
		*oldest = (struct uroce_cm_path_entry){
			.av = *av,
			.end_ns = now_ns + RESOLUTION_NS,
		};
	return oldest;
}

static int
resolve_entry(struct uroce_dev *dev, struct uroce_cm_path_entry *entry)
{
	const struct uroce_cm_av *const av = &entry->av;
	struct ibv_ah_attr attr = {
		.is_global = 1,
		.port_num = 1,
		.grh = {
			.flow_label = av->flow_label,
			.traffic_class = av->traffic_class,
			.hop_limit = av->hop_limit < HOP_LIMIT_MIN ? HOP_LIMIT_MIN : av->hop_limit,
		},
	};
	struct uroce_gid_table gids;
	int idx;

	uroce_gid_copy(dev, &gids);
	idx = uroce_gid_find(&gids, av->local_gid);
	if (idx < 0)
		return -EADDRNOTAVAIL;
	attr.grh.sgid_index = (uint8_t)idx;
	memcpy(attr.grh.dgid.raw, av->remote_gid, sizeof(attr.grh.dgid.raw));
	return uroce_dev_try_resolve(dev, &attr, uroce_sport(&attr, 0, 0), &entry->request_ns,
				     &entry->path);
}

int
uroce_cm_path_cache_find(struct uroce_cm_path_cache *cache, const struct uroce_cm_av *av,
			 uint64_t now_ns, const struct uroce_path **path)
{
	struct uroce_cm_path_entry *const entry = get_entry(cache, av, now_ns);

	if (entry == NULL)
		return -ENOBUFS;
	if (!entry->is_resolved) {
		const int ret = resolve_entry(cache->dev, entry);

		if (ret != 0 && ret != -EAGAIN)
			entry->end_ns = 0;
		if (ret != 0)
			return ret;
		entry->is_resolved = true;
		entry->end_ns = now_ns + FRESH_NS;
	}
	*path = &entry->path;
	return 0;
}
