/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_CM_PATH_CACHE_H
#define UROCE_VERBS_CM_PATH_CACHE_H

/**
 * @file
 * Paths to the hosts with which connection management exchanges messages. Resolving an address
 * costs a look-up of the neighbour, or several system calls. So resolved paths are kept for some
 * seconds, in a bounded cache.
 *
 * One thread at a time calls the functions of this file, which do not wait.
 */

#include <stdbool.h>
#include <stdint.h>

#include "cm/cm.h"
#include "cm/siphash.h"
#include "datapath/device/dev.h"
#include "wire/build.h"

#define UROCE_CM_PATH_SETS 128u
#define UROCE_CM_PATH_WAYS 4u

/** An entry of the cache: an address vector that is resolved to a path, or is being resolved. */
struct uroce_cm_path_entry {
	struct uroce_cm_av av;
	/*
	 * time until which the entry is valid; an entry in resolution is not replaced earlier; 0:
	 * unused
	 */
	uint64_t end_ns;
	bool is_resolved;
	uint64_t request_ns; /* time of the next request for the MAC, see uroce_dev_try_resolve() */
	struct uroce_path path;
};

struct uroce_cm_path_cache {
	struct uroce_dev *dev;
	/* key of the hash that selects a set: peers cannot choose addresses of one set */
	struct uroce_siphash_key key;
	struct uroce_cm_path_entry entry[UROCE_CM_PATH_SETS][UROCE_CM_PATH_WAYS];
};

/** Initialize an empty cache. @return 0; -EIO: no random numbers */
int uroce_cm_path_cache_init(struct uroce_cm_path_cache *cache, struct uroce_dev *dev);

/**
 * Find the path for an address vector, or continue the resolution of the address.
 * @param[out] path  valid until the next call
 * @return 0; -EAGAIN: the address is being resolved, so the caller repeats the call after a
 *	millisecond; -ENOBUFS: too many addresses are being resolved; another -errno: there is no
 *	path
 */
int uroce_cm_path_cache_find(struct uroce_cm_path_cache *cache, const struct uroce_cm_av *av,
			     uint64_t now_ns, const struct uroce_path **path);

#endif /* UROCE_VERBS_CM_PATH_CACHE_H */
