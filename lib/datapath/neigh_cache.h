/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_NEIGH_CACHE_H
#define UROCE_DATAPATH_NEIGH_CACHE_H

/**
 * @file
 * The cache of neighbours: from IP to MAC, four-way associative, bounded.
 */

#include <stdbool.h>
#include <stdint.h>

#define UROCE_NEIGH_SETS 128
#define UROCE_NEIGH_WAYS 4

struct uroce_neigh_entry {
	uint8_t ip[16];
	uint8_t mac[6];
	bool is_used;
	bool is_asked;    /* by us: not pushed out by what came unasked */
	bool is_known;    /* mac is valid */
	uint64_t seen_ns; /* last answer; before the first, when it was asked */
};

struct uroce_neigh_cache {
	uint64_t seed; /* random: nobody outside can tell who shares a set */
	struct uroce_neigh_entry entry[UROCE_NEIGH_SETS][UROCE_NEIGH_WAYS];
};

/** The entry of an address; NULL: none. */
struct uroce_neigh_entry *uroce_neigh_cache_find(struct uroce_neigh_cache *cache,
						 const uint8_t ip[16]);

/**
 * The entry of an address, made if there is none, at the cost of the oldest of its set.
 * @return NULL: everything in the set was asked for, and this was not
 */
struct uroce_neigh_entry *uroce_neigh_cache_add(struct uroce_neigh_cache *cache,
						const uint8_t ip[16], bool is_asked,
						uint64_t now_ns);

#endif /* UROCE_DATAPATH_NEIGH_CACHE_H */
