/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lifetime of a memory region. A region is published in the device's table of regions. When it
 * ends, it is withdrawn from the table, and is freed after two waits: until no worker uses it, and
 * until the port has released all zero-copy frames that refer to it.
 */

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "verbs/errno_ret.h"
#include "verbs/handle.h"
#include "verbs/region.h"
#include "verbs/uroce.h"

static struct uroce_vdevice *
get_context_device(const struct ibv_context *context)
{
	return uroce_vcontext((struct ibv_context *)context)->device;
}

static int
publish_region(struct uroce_dev *dev, const struct uroce_mr_conf *conf, uint32_t *key)
{
	pthread_mutex_lock(&dev->lock);
	const int ret = uroce_mr_add(dev->mrs, conf, key);

	pthread_mutex_unlock(&dev->lock);
	return ret;
}

static void
link_in(struct uroce_vdevice *device, struct uroce_region *region)
{
	pthread_mutex_lock(&device->lock);
	region->is_registered = true;
	region->nb_handles = 1;
	region->next = device->regions;
	if (region->next != NULL)
		region->next->prev = region;
	device->regions = region;
	pthread_mutex_unlock(&device->lock);
}

static void
unlink_from(struct uroce_vdevice *device, struct uroce_region *region)
{
	pthread_mutex_lock(&device->lock);
	region->is_registered = false;
	if (region->next != NULL)
		region->next->prev = region->prev;
	if (region->prev != NULL)
		region->prev->next = region->next;
	else
		device->regions = region->next;
	pthread_mutex_unlock(&device->lock);
}

static struct uroce_region *
copy_region(const struct uroce_region *model, uint32_t pdn)
{
	struct uroce_region *const region = malloc(sizeof(*region));

	if (region == NULL)
		return NULL;
	*region = *model;
	region->conf.pdn = pdn;
	region->prev = NULL;
	pthread_mutex_init(&region->lock, NULL);
	return region;
}

static void
free_region(struct uroce_region *region)
{
	pthread_mutex_destroy(&region->lock);
	free(region);
}

/* Make a handle of a memory region: the `struct ibv_mr` to which a program holds a pointer. */
static struct uroce_vmr *
make_mr_handle(struct ibv_pd *pd, struct uroce_region *region, void *addr, size_t length)
{
	struct uroce_vmr *const mr = calloc(1, sizeof(*mr));

	if (mr == NULL)
		return NULL;
	mr->region = region;
	mr->ibv = (struct ibv_mr){
		.context = pd->context,
		.pd = pd,
		.addr = addr,
		.length = length,
		.handle = region->key,
		.lkey = region->key,
		.rkey = region->kind != UROCE_REGION_NULL ? region->key : 0,
	};
	uroce_vmr_begin(mr);
	uroce_users_add(pd->context, &uroce_vpd(pd)->nb_users);
	return mr;
}

/*
 * End the registration of a memory region, which withdraws its key and releases its memory.
 * The structs ibv_mr that registration and import made are not freed.
 * @return 0; -EBUSY: windows are bound to the region
 */
static int end_region(struct uroce_vdevice *device, struct uroce_region *region);

/*
 * Drop one handle (`struct ibv_mr`) of a region. Dropping the last handle frees a region that is
 * not registered any more. With `is_end` it also ends the registration, because after that no
 * program could deregister the region. If windows are bound to the region, its registration stays.
 */
static void
drop_handle(struct uroce_vdevice *device, struct uroce_region *region, bool is_end)
{
	pthread_mutex_lock(&device->lock);
	const bool is_last = --region->nb_handles == 0;
	bool is_over = is_last && !region->is_registered;

	region->is_ending = is_last && is_end && region->is_registered;
	const bool is_ending = region->is_ending;

	pthread_mutex_unlock(&device->lock);
	if (is_ending && end_region(device, region) == 0) {
		is_over = true;
	} else if (is_ending) {
		pthread_mutex_lock(&device->lock);
		region->is_ending = false;
		pthread_mutex_unlock(&device->lock);
	}
	if (is_over)
		free_region(region);
}

static void
free_mr_handle(struct uroce_vmr *mr, bool is_end)
{
	drop_handle(get_context_device(mr->ibv.context), mr->region, is_end);
	uroce_users_drop(mr->ibv.context, &uroce_vpd(mr->ibv.pd)->nb_users);
	uroce_vmr_end(mr);
	free(mr);
}

struct ibv_mr *
uroce_region_register(struct ibv_pd *pd, const struct uroce_region *model, void *addr,
		      size_t length)
{
	struct uroce_vdevice *const device = get_context_device(pd->context);
	struct uroce_region *const region = copy_region(model, uroce_vpd(pd)->pdn);
	struct uroce_vmr *mr;
	int ret;

	if (region == NULL)
		return NULL;
	mr = make_mr_handle(pd, region, addr, length);
	if (mr == NULL) {
		free_region(region);
		return NULL;
	}
	ret = publish_region(device->dev, &region->conf, &region->key);
	if (ret != 0) {
		region->nb_handles = 1;
		region->is_registered = false;
		free_mr_handle(mr, false);
		errno = -ret;
		return NULL;
	}
	mr->ibv.handle = region->key;
	mr->ibv.lkey = region->key;
	mr->ibv.rkey = region->kind != UROCE_REGION_NULL ? region->key : 0;
	uroce_vmr_begin(mr);
	link_in(device, region);
	return &mr->ibv;
}

static int
withdraw_region(struct uroce_dev *dev, uint32_t key)
{
	pthread_mutex_lock(&dev->lock);
	const int ret = uroce_mr_invalidate(dev->mrs, key);

	pthread_mutex_unlock(&dev->lock);
	if (ret != 0)
		return ret;
	/*
	 * wait until no worker uses the region: a worker that found the key before the withdrawal
	 * may still copy from or to the region, or start a zero-copy transmission from it
	 */
	uroce_dev_grace(dev);
	uroce_dev_reclaim_mr(dev, key);
	return 0;
}

int
uroce_region_replace(struct uroce_vdevice *device, struct uroce_region *region,
		     const struct uroce_mr_conf *conf)
{
	struct uroce_dev *const dev = device->dev;
	const int ret = withdraw_region(dev, region->key);

	if (ret != 0)
		return ret;
	pthread_mutex_lock(&dev->lock);
	uroce_mr_replace(dev->mrs, region->key, conf);
	pthread_mutex_unlock(&dev->lock);
	pthread_mutex_lock(&device->lock);
	region->conf = *conf;
	pthread_mutex_unlock(&device->lock);
	return 0;
}

/*
 * Release the device memory or the mapping of a region. No packet refers to this memory any more.
 */
static void
release_memory(struct uroce_region *region)
{
	if (region->dm != NULL)
		uroce_users_drop(region->dm->ibv.context, &region->dm->nb_users);
	if (region->map != NULL)
		munmap(region->map, region->map_len);
}

static int
end_region(struct uroce_vdevice *device, struct uroce_region *region)
{
	const int ret = withdraw_region(device->dev, region->key);

	if (ret != 0)
		return ret;
	pthread_mutex_lock(&device->dev->lock);
	uroce_mr_free(device->dev->mrs, region->key);
	pthread_mutex_unlock(&device->dev->lock);
	unlink_from(device, region);
	release_memory(region);
	return 0;
}

static bool
is_registered(struct uroce_vdevice *device, const struct uroce_region *region)
{
	pthread_mutex_lock(&device->lock);
	const bool is_there = region->is_registered;

	pthread_mutex_unlock(&device->lock);
	return is_there;
}

int
uroce_dereg_mr(struct ibv_mr *ibv)
{
	struct uroce_vdevice *device;
	int ret = uroce_vmr_check(ibv);

	if (ret != 0)
		return uroce_errno_ret(ret);
	device = get_context_device(ibv->context);
	if (!is_registered(device, uroce_vmr(ibv)->region))
		return uroce_fail(EINVAL);
	ret = end_region(device, uroce_vmr(ibv)->region);
	if (ret != 0)
		return uroce_errno_ret(ret);
	free_mr_handle(uroce_vmr(ibv), false);
	return 0;
}

/*
 * Find a registered region by its key, and count another handle (`struct ibv_mr`) of the region.
 * @return the region; NULL: domain `pdn` has no registered region with this key
 */
static struct uroce_region *
share_region(struct uroce_vdevice *device, uint32_t key, uint32_t pdn, size_t *len)
{
	struct uroce_region *region;

	pthread_mutex_lock(&device->lock);
	region = device->regions;
	while (region != NULL &&
	       (region->key != key || region->conf.pdn != pdn || region->is_ending))
		region = region->next;
	if (region != NULL) {
		region->nb_handles++;
		*len = (size_t)region->conf.len;
	}
	pthread_mutex_unlock(&device->lock);
	return region;
}

struct ibv_mr *
uroce_import_mr(struct ibv_pd *pd, uint32_t mr_handle)
{
	struct uroce_region *region;
	struct uroce_vmr *mr;
	size_t len;
	const int ret = uroce_vpd_check(pd);

	if (ret != 0) {
		errno = -ret;
		return NULL;
	}
	region = share_region(get_context_device(pd->context), mr_handle, uroce_vpd(pd)->pdn, &len);
	if (region == NULL) {
		errno = ENOENT;
		return NULL;
	}
	mr = make_mr_handle(pd, region, NULL, len);
	if (mr == NULL) {
		drop_handle(get_context_device(pd->context), region, true);
		return NULL;
	}
	return &mr->ibv;
}

void
uroce_unimport_mr(struct ibv_mr *ibv)
{
	if (ibv != NULL)
		free_mr_handle(uroce_vmr(ibv), true);
}
