/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_REGION_H
#define UROCE_VERBS_REGION_H

/**
 * @file
 * A memory region behind the `struct ibv_mr` that programs hold. Registering a region makes the
 * first such struct, and each import makes another. Deregistering the region through one of these
 * structs ends the region. Each struct is freed separately.
 */

#include <pthread.h>
#include <stdbool.h>
#include <infiniband/verbs.h>

#include "mem/mr.h"
#include "verbs/object.h"

enum uroce_region_kind {
	UROCE_REGION_USER, /* the region is memory of the program */
	UROCE_REGION_NULL,
	UROCE_REGION_DM,     /* the region is device memory */
	UROCE_REGION_DMABUF, /* the region is a dma-buf that is mapped into the process */
};

struct uroce_region {
	/*
	 * properties of the region; changed under both `lock` and the device's lock, read under
	 * one of them
	 */
	struct uroce_mr_conf conf;
	uint32_t key;
	enum uroce_region_kind kind;
	/* device memory that the region uses, if its kind is UROCE_REGION_DM; otherwise NULL */
	struct uroce_vdm *dm;
	/* mapping that is unmapped when the region ends; NULL: the region has no mapping */
	void *map;
	size_t map_len;
	pthread_mutex_t lock; /* lock that a thread holds while it changes the region */
	/* The lock of struct uroce_vdevice guards all fields below. */
	unsigned nb_handles;
	bool is_registered;
	/*
	 * the last handle (`struct ibv_mr`) of the region was dropped, so no handle can be added
	 * any more
	 */
	bool is_ending;
	/* neighbours in the device's list of registered regions */
	struct uroce_region *prev, *next;
};

/**
 * Whether access flags give the owner the right to write where the peer may write. Remote write
 * and remote atomic access require local write access [IBA 10.6.3.1].
 */
static inline bool
uroce_region_is_owners(unsigned access)
{
	const unsigned change = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;

	return !(access & change) || (access & IBV_ACCESS_LOCAL_WRITE);
}

/**
 * Register a memory region in the protection domain of `pd`.
 * @param model  has `kind`, `conf` without the domain, and `dm` or `map` if the kind uses it; on
 *         success these belong to the region
 * @param addr, length  values for the fields of `struct ibv_mr`
 * @return the region's first handle, or NULL with errno: ENOMEM; EINVAL: `iova` wraps
 */
struct ibv_mr *uroce_region_register(struct ibv_pd *pd, const struct uroce_region *model,
				     void *addr, size_t length);

/**
 * Give a registered region other properties. The key of the region stays. Requests that name the
 * key during this call are refused. The caller holds `lock` and has checked `conf`. A call that
 * fails changes nothing.
 * @return 0; -EBUSY: windows are bound to the region; -EINVAL: the region was deregistered
 */
int uroce_region_replace(struct uroce_vdevice *device, struct uroce_region *region,
			 const struct uroce_mr_conf *conf);

#endif /* UROCE_VERBS_REGION_H */
