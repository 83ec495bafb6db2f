/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_REGION_H
#define UROCE_VERBS_REGION_H

/**
 * @file
 * A memory region behind the `struct ibv_mr` that programs hold: one when it is registered, more when it
 * is imported. The region goes when the first of them is deregistered, the structs one by one.
 */

#include <pthread.h>
#include <stdbool.h>
#include <infiniband/verbs.h>

#include "mem/mr.h"
#include "verbs/object.h"

enum uroce_region_kind {
	UROCE_REGION_USER, /* the program's memory */
	UROCE_REGION_NULL,
	UROCE_REGION_DM,     /* device memory */
	UROCE_REGION_DMABUF, /* a dma-buf that we mapped */
};

struct uroce_region {
	struct uroce_mr_conf conf; /* under `lock` */
	uint32_t key;
	enum uroce_region_kind kind;
	struct uroce_vdm *dm; /* whose memory it is, which counts it as its user; else NULL */
	void *map;            /* what is unmapped in the end; NULL: nothing */
	size_t map_len;
	pthread_mutex_t lock; /* one changes the region at a time */
	/* under the lock of the virtual device */
	unsigned nb_handles;
	bool is_registered;
	bool is_ending;                   /* its last handle was given up: there will be no other */
	struct uroce_region *prev, *next; /* of the device's registered ones */
};

/** Whether the owner may write what the peer may write [IBA 10.6.3.1]. */
static inline bool
uroce_region_is_owners(unsigned access)
{
	const unsigned change = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;

	return !(access & change) || (access & IBV_ACCESS_LOCAL_WRITE);
}

/**
 * Register.
 * @param model  `conf` but for its domain, `kind`, and what goes with it (`dm`, `map`), which is the
 *		region's on success
 * @param addr, length  what the program is told
 * @return NULL with errno: ENOMEM, EINVAL `iova` wraps
 */
struct ibv_mr *uroce_region_register(struct ibv_pd *pd, const struct uroce_region *model,
				     void *addr, size_t length);

/**
 * Make a region another one under its key; requests that name it meanwhile are refused. The caller holds
 * `lock` and has checked `conf`.
 * @return 0; -EBUSY windows are bound; -EINVAL it was deregistered; nothing has changed
 */
int uroce_region_replace(struct uroce_vdevice *device, struct uroce_region *region,
			 const struct uroce_mr_conf *conf);

#endif /* UROCE_VERBS_REGION_H */
