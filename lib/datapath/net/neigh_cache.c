/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The neighbour cache is set-associative. A set has few entries, so a linear search of the set is
 * fast enough. A new entry replaces an entry of its set: see is_evicted_before().
 */

#include "datapath/net/neigh_cache.h"

#include <string.h>

static struct uroce_neigh_entry *
set_of(struct uroce_neigh_cache *cache, const uint8_t ip[16])
{
	uint64_t word[2];
	uint64_t hash;

	memcpy(word, ip, sizeof(word));
	hash = (word[0] ^ cache->seed) * UINT64_C(0x9e3779b97f4a7c15);
	hash = (hash ^ hash >> 32 ^ word[1]) * UINT64_C(0xbf58476d1ce4e5b9);
	return cache->entry[(hash >> 40) % UROCE_NEIGH_SETS];
}

struct uroce_neigh_entry *
uroce_neigh_cache_find(struct uroce_neigh_cache *cache, const uint8_t ip[16])
{
	struct uroce_neigh_entry *set = set_of(cache, ip);

	for (unsigned i = 0; i < UROCE_NEIGH_WAYS; i++) {
		if (set[i].is_used && memcmp(set[i].ip, ip, 16) == 0)
			return &set[i];
	}
	return NULL;
}

/*
 * Whether entry `a` is replaced before entry `b`: unused entries are replaced first, then
 * unsolicited ones before requested ones, and then older ones before newer ones.
 */
static bool
is_evicted_before(const struct uroce_neigh_entry *a, const struct uroce_neigh_entry *b)
{
	if (a->is_used != b->is_used)
		return !a->is_used;
	if (a->is_asked != b->is_asked)
		return !a->is_asked;
	return a->seen_ns < b->seen_ns;
}

struct uroce_neigh_entry *
uroce_neigh_cache_add(struct uroce_neigh_cache *cache, const uint8_t ip[16], bool is_asked,
		      uint64_t now_ns)
{
	struct uroce_neigh_entry *set = set_of(cache, ip);
	struct uroce_neigh_entry *entry = uroce_neigh_cache_find(cache, ip);

	if (entry) {
		entry->is_asked |= is_asked;
		return entry;
	}
	entry = &set[0];
	for (unsigned i = 1; i < UROCE_NEIGH_WAYS; i++) {
		if (is_evicted_before(&set[i], entry))
			entry = &set[i];
	}
	if (entry->is_used && entry->is_asked && !is_asked)
		return NULL;
	*entry = (struct uroce_neigh_entry){
		.is_used = true,
		.is_asked = is_asked,
		.seen_ns = now_ns,
	};
	memcpy(entry->ip, ip, 16);
	return entry;
}
