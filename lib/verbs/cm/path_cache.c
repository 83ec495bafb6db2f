/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A cache of paths, which is four-way associative. When a set is full, a new entry replaces a
 * resolved path, because a look-up can find this path again. If all addresses of the set are being
 * resolved, the new entry replaces an entry of another party that has more such entries. A party is
 * whoever causes messages: an account of users of this host, or all other hosts together
 * (verbs/cm/shares.h). So two things do not block the messages of other parties: a flood of
 * messages from invented hosts, and a user who connects to many hosts that are down. A new entry
 * never replaces an entry of its own party, so that each party causes a bounded number of requests
 * for MACs.
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

/* Time for which an entry of the path cache is kept while its address is being resolved. */
#define RESOLUTION_NS UINT64_C(100000000)

/* Time between two searches for entries whose resolution has expired. */
#define SWEEP_NS UINT64_C(10000000)

/*
 * Minimum hop limit of a path. The hop limit of a received request may be lower, but the path of
 * the reply may be longer than the path of the request.
 */
#define HOP_LIMIT_MIN 64

int
uroce_cm_path_cache_init(struct uroce_cm_path_cache *cache, struct uroce_dev *dev)
{
	memset(cache, 0, sizeof(*cache));
	cache->dev = dev;
	return getrandom(&cache->key, sizeof(cache->key), 0) == sizeof(cache->key) ? 0 : -EIO;
}

/* --- entries of the cache ----------------------------------------------------------------------- */

static bool
is_resolving(const struct uroce_cm_path_entry *entry)
{
	return entry->end_ns != 0 && !entry->is_resolved;
}

static bool
is_of(const struct uroce_cm_path_entry *entry, const struct uroce_cm_av *av)
{
	return memcmp(entry->local_gid, av->local_gid, sizeof(av->local_gid)) == 0 &&
	       memcmp(entry->remote_gid, av->remote_gid, sizeof(av->remote_gid)) == 0;
}

static struct uroce_cm_path_entry *
set_of(struct uroce_cm_path_cache *cache, const struct uroce_cm_av *av)
{
	uint64_t words[4];

	memcpy(&words[0], av->local_gid, sizeof(av->local_gid));
	memcpy(&words[2], av->remote_gid, sizeof(av->remote_gid));
	return cache->entry[uroce_siphash(&cache->key, words, 4) % UROCE_CM_PATH_SETS];
}

static void
end_entry(struct uroce_cm_path_cache *cache, struct uroce_cm_path_entry *entry)
{
	if (is_resolving(entry))
		cache->shares.nb_of[entry->party]--;
	entry->end_ns = 0;
}

static void
begin_entry(struct uroce_cm_path_cache *cache, struct uroce_cm_path_entry *entry,
	    const struct uroce_cm_tx *tx, uint64_t now_ns)
{
	end_entry(cache, entry);
	*entry = (struct uroce_cm_path_entry){
		.end_ns = now_ns + RESOLUTION_NS,
		.party = (uint16_t)uroce_cm_shares_party(tx),
	};
	memcpy(entry->local_gid, tx->av.local_gid, sizeof(entry->local_gid));
	memcpy(entry->remote_gid, tx->av.remote_gid, sizeof(entry->remote_gid));
	cache->shares.nb_of[entry->party]++;
}

/*
 * End the resolutions of addresses that have expired, so that they do not count for their parties
 * (verbs/cm/shares.h).
 */
static void
sweep(struct uroce_cm_path_cache *cache, uint64_t now_ns)
{
	struct uroce_cm_path_entry *const first = &cache->entry[0][0];

	if (now_ns < cache->sweep_ns)
		return;
	for (unsigned i = 0; i < UROCE_CM_PATH_SETS * UROCE_CM_PATH_WAYS; i++)
		if (is_resolving(&first[i]) && first[i].end_ns <= now_ns)
			end_entry(cache, &first[i]);
	cache->sweep_ns = now_ns + SWEEP_NS;
}

/* --- replacement of entries ---------------------------------------------------------------------- */

/*
 * Whether entry `a` of a full set is replaced before entry `b`. Entries that are resolved or unused
 * are replaced first, the oldest one before the others. If both entries are being resolved,
 * uroce_cm_shares_is_before() decides.
 */
static bool
is_replaced_before(const struct uroce_cm_path_cache *cache, const struct uroce_cm_path_entry *a,
		   const struct uroce_cm_path_entry *b)
{
	if (is_resolving(a) != is_resolving(b))
		return is_resolving(b);
	if (!is_resolving(a))
		return a->end_ns < b->end_ns;
	return uroce_cm_shares_is_before(&cache->shares, a->party, a->end_ns, b->party, b->end_ns);
}

static bool
may_begin(const struct uroce_cm_path_cache *cache, const struct uroce_cm_path_entry *replaced,
	  unsigned party)
{
	if (party == UROCE_CM_PARTY_WIRE && cache->shares.nb_of[party] >= UROCE_CM_PATH_WIRE_MAX)
		return false;
	return !is_resolving(replaced) ||
	       uroce_cm_shares_yields(&cache->shares, replaced->party, party);
}

/*
 * Find the entry of the path cache for the two hosts of a message, or make one.
 * @return the entry; NULL: all entries of the set are being resolved, and none may be replaced
 */
static struct uroce_cm_path_entry *
get_entry(struct uroce_cm_path_cache *cache, const struct uroce_cm_tx *tx, uint64_t now_ns)
{
	struct uroce_cm_path_entry *const set = set_of(cache, &tx->av);
	struct uroce_cm_path_entry *replaced = &set[0];

	for (unsigned i = 0; i < UROCE_CM_PATH_WAYS; i++) {
		if (set[i].end_ns <= now_ns)
			end_entry(cache, &set[i]);
		else if (is_of(&set[i], &tx->av))
			return &set[i];
		if (is_replaced_before(cache, &set[i], replaced))
			replaced = &set[i];
	}
	if (!may_begin(cache, replaced, uroce_cm_shares_party(tx)))
		return NULL;
	begin_entry(cache, replaced, tx, now_ns);
	return replaced;
}

/* --- resolution of addresses --------------------------------------------------------------------- */

static int
resolve_entry(struct uroce_cm_path_cache *cache, struct uroce_cm_path_entry *entry)
{
	struct ibv_ah_attr attr = {
		.is_global = 1,
		.port_num = 1,
		.grh = { .hop_limit = HOP_LIMIT_MIN },
	};
	struct uroce_gid_table gids;
	struct uroce_path path;
	int idx, ret;

	uroce_gid_copy(cache->dev, &gids);
	idx = uroce_gid_find(&gids, entry->local_gid);
	if (idx < 0)
		return -EADDRNOTAVAIL;
	attr.grh.sgid_index = (uint8_t)idx;
	memcpy(attr.grh.dgid.raw, entry->remote_gid, sizeof(attr.grh.dgid.raw));
	ret = uroce_dev_try_resolve(cache->dev, &attr, 0, &entry->request_ns, &path);
	if (ret == 0) {
		const struct uroce_eth *const eth = (const struct uroce_eth *)path.hdr;

		memcpy(entry->smac, eth->src, sizeof(entry->smac));
		memcpy(entry->dmac, eth->dst, sizeof(entry->dmac));
	}
	return ret;
}

/*
 * Get the UDP source port of a message: it depends on the message's flow label, or, without one, on
 * the destination.
 */
static uint16_t
sport_of(const struct uroce_cm_av *av)
{
	struct ibv_ah_attr attr = { .grh = { .flow_label = av->flow_label } };

	memcpy(attr.grh.dgid.raw, av->remote_gid, sizeof(attr.grh.dgid.raw));
	return uroce_sport(&attr, 0, 0);
}

static void
make_path(struct uroce_cm_path_cache *cache, const struct uroce_cm_path_entry *entry,
	  const struct uroce_cm_av *av)
{
	struct uroce_path_conf conf = {
		.flow_label = av->flow_label,
		.udp_sport = sport_of(av),
		.vlan_tci = cache->dev->conf.vlan_tci,
		.tclass = av->traffic_class,
		.hop_limit = av->hop_limit < HOP_LIMIT_MIN ? HOP_LIMIT_MIN : av->hop_limit,
		.has_vlan = cache->dev->conf.has_vlan,
	};

	memcpy(conf.smac, entry->smac, sizeof(conf.smac));
	memcpy(conf.dmac, entry->dmac, sizeof(conf.dmac));
	memcpy(conf.sip, entry->local_gid, sizeof(conf.sip));
	memcpy(conf.dip, entry->remote_gid, sizeof(conf.dip));
	uroce_path_init(&cache->path, &conf);
}

int
uroce_cm_path_cache_find(struct uroce_cm_path_cache *cache, const struct uroce_cm_tx *tx,
			 uint64_t now_ns, const struct uroce_path **path)
{
	struct uroce_cm_path_entry *entry;

	sweep(cache, now_ns);
	entry = get_entry(cache, tx, now_ns);
	if (entry == NULL)
		return -ENOBUFS;
	if (!entry->is_resolved) {
		const int ret = resolve_entry(cache, entry);

		if (ret == -EAGAIN)
			return ret;
		end_entry(cache, entry);
		if (ret != 0)
			return ret;
		entry->is_resolved = true;
		entry->end_ns = now_ns + FRESH_NS;
	}
	make_path(cache, entry, &tx->av);
	*path = &cache->path;
	return 0;
}
