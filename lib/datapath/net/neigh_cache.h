/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_NEIGH_CACHE_H
#define UROCE_DATAPATH_NEIGH_CACHE_H

/**
 * @file
 * The neighbour cache, which maps an IP address to a MAC. It is four-way associative and bounded.
 */

#include <stdbool.h>
#include <stdint.h>

#define UROCE_NEIGH_SETS 128
#define UROCE_NEIGH_WAYS 4

struct uroce_neigh_entry {
	uint8_t ip[16];
	uint8_t mac[6];
	bool is_used;
	/*
	 * this device has requested the MAC of `ip`, so an entry that it has not requested does not
	 * replace this one
	 */
	bool is_asked;
	bool is_known; /* the MAC of the neighbour is known, so `mac` is valid */
	/*
	 * Time in ns of the latest frame by which the neighbour has announced its MAC; before the
	 * first such frame, the time at which the entry was created.
	 */
	uint64_t seen_ns;
};

struct uroce_neigh_cache {
	/*
	 * Random seed of the hash, so that other hosts cannot predict which addresses share a set
	 * of the cache.
	 */
	uint64_t seed;
	struct uroce_neigh_entry entry[UROCE_NEIGH_SETS][UROCE_NEIGH_WAYS];
};

/** Find the entry of an IP address in the neighbour cache; NULL: the address has no entry. */
struct uroce_neigh_entry *uroce_neigh_cache_find(struct uroce_neigh_cache *cache,
						 const uint8_t ip[16]);

/**
 * Find or create the entry of an IP address in the neighbour cache. A new entry replaces an unused
 * entry of its set, else the oldest unsolicited entry, else the oldest entry.
 * @return the entry; NULL: all entries of the set were requested, and the new entry is unsolicited
 */
struct uroce_neigh_entry *uroce_neigh_cache_add(struct uroce_neigh_cache *cache,
						const uint8_t ip[16], bool is_asked,
						uint64_t now_ns);

#endif /* UROCE_DATAPATH_NEIGH_CACHE_H */
