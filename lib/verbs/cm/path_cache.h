/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_CM_PATH_CACHE_H
#define UROCE_VERBS_CM_PATH_CACHE_H

/**
 * @file
 * Paths to the hosts with which connection management exchanges messages. Resolving an address
 * costs a look-up of the neighbour, or several system calls. So the MACs of resolved paths are kept
 * for some seconds, in a bounded cache. The key of an entry is what a resolution depends on: the
 * two GIDs. The flow label, the traffic class and the hop limit are those of each message.
 *
 * One thread at a time calls the functions of this file, which do not wait.
 */

#include <stdbool.h>
#include <stdint.h>

#include "cm/cm.h"
#include "cm/siphash.h"
#include "datapath/device/dev.h"
#include "verbs/cm/shares.h"
#include "wire/build.h"

#define UROCE_CM_PATH_SETS 128u
#define UROCE_CM_PATH_WAYS 4u

/**
 * Maximum number of addresses being resolved for messages that belong to no id. Other hosts cause
 * these messages, and may invent addresses. This maximum also bounds the requests for MACs that
 * other hosts cause: 64 in 100 ms.
 */
#define UROCE_CM_PATH_WIRE_MAX 64u

/** An entry of the cache of paths: two addresses whose path is resolved, or is being resolved. */
struct uroce_cm_path_entry {
	uint8_t local_gid[16];
	uint8_t remote_gid[16];
	uint64_t end_ns; /* time until which the entry is valid; 0: the entry is unused */
	bool is_resolved;
	uint8_t smac[6];
	uint8_t dmac[6];
	/*
	 * party (verbs/cm/shares.h) whose message has begun the resolution; the entry counts for
	 * this party until the address is resolved, or the entry ends
	 */
	uint16_t party;
	/* time of the next request for the MAC of the peer, see uroce_dev_try_resolve() */
	uint64_t request_ns;
};

struct uroce_cm_path_cache {
	struct uroce_dev *dev;
	/*
	 * key of the hash that selects the set of the four-way associative cache to which an entry
	 * belongs; the key is secret, so peers cannot choose addresses that all fall into one set
	 */
	struct uroce_siphash_key key;
	/* time of the next search for resolutions that have expired */
	uint64_t sweep_ns;
	/* number of addresses that are being resolved for each party (verbs/cm/shares.h) */
	struct uroce_cm_shares shares;
	struct uroce_path path; /* the path that uroce_cm_path_cache_find() has found last */
	struct uroce_cm_path_entry entry[UROCE_CM_PATH_SETS][UROCE_CM_PATH_WAYS];
};

/** Initialize an empty cache of paths. @return 0; -EIO: no random numbers */
int uroce_cm_path_cache_init(struct uroce_cm_path_cache *cache, struct uroce_dev *dev);

/**
 * Find the path of a message, or continue the resolution of its address.
 * @param[out] path  valid until the next call
 * @return 0; -EAGAIN: the address is being resolved, so the caller repeats the call after a
 *         millisecond; -ENOBUFS: the party of the message has too many addresses in resolution;
 *         another -errno: there is no path
 */
int uroce_cm_path_cache_find(struct uroce_cm_path_cache *cache, const struct uroce_cm_tx *tx,
			     uint64_t now_ns, const struct uroce_path **path);

#endif /* UROCE_VERBS_CM_PATH_CACHE_H */
