/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Device memory (ibv_alloc_dm(3)). A block of device memory is hugepage memory of EAL on the port's
 * NUMA node, because uroce has no memory on a NIC. All blocks of a device together are limited to
 * UROCE_MAX_DM bytes. So the reported max_dm_size is true, and hugepages remain for the data path.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "datapath/device/hugemem.h"
#include "verbs/errno_ret.h"
#include "verbs/handle.h"
#include "verbs/region.h"
#include "verbs/uroce.h"

#define LOG_ALIGN_MAX  30
#define LOG_ALIGN_FREE 6

#define ACCESS_SUPPORTED                                                                           \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED |                   \
	 IBV_ACCESS_HUGETLB | IBV_ACCESS_OPTIONAL_RANGE)

/*
 * Reserve `len` bytes of the device's UROCE_MAX_DM bytes.
 * @return false: fewer than `len` bytes are left
 */
static bool
reserve_dm(struct uroce_vdevice *device, size_t len)
{
	pthread_mutex_lock(&device->lock);
	const bool has_room = len <= UROCE_MAX_DM - device->dm_len;

	if (has_room)
		device->dm_len += len;
	pthread_mutex_unlock(&device->lock);
	return has_room;
}

static void
give_back(struct uroce_vdevice *device, size_t len)
{
	pthread_mutex_lock(&device->lock);
	device->dm_len -= len;
	pthread_mutex_unlock(&device->lock);
}

/*
 * Compute the bytes to allocate for a block of `len` bytes of device memory. Hugepage memory is
 * aligned to a cache line. For a larger alignment the block is longer by that alignment.
 */
static size_t
get_dm_footprint(size_t len, uint32_t log_align)
{
	return len + (log_align > LOG_ALIGN_FREE ? (size_t)1 << log_align : 0);
}

static int
fill_block(struct uroce_vdm *dm, size_t len, uint32_t log_align, int socket_id)
{
	const size_t align = (size_t)1 << log_align;

	dm->len = len;
	dm->taken = get_dm_footprint(len, log_align);
	dm->block = uroce_hugemem_alloc(dm->taken, socket_id);
	dm->mem = (uint8_t *)(((uintptr_t)dm->block + align - 1) & ~(uintptr_t)(align - 1));
	return dm->block != NULL ? 0 : -ENOMEM;
}

static int
check_attr(const struct ibv_context *context, const struct ibv_alloc_dm_attr *attr)
{
	if (context == NULL || attr == NULL || attr->comp_mask != 0 || attr->length == 0 ||
	    attr->log_align_req > LOG_ALIGN_MAX)
		return -EINVAL;
	return attr->length <= UROCE_MAX_DM ? 0 : -ENOMEM;
}

static int
make_dm(struct uroce_vdevice *device, const struct ibv_alloc_dm_attr *attr, struct uroce_vdm **out)
{
	struct uroce_vdm *dm;
	const size_t len = get_dm_footprint(attr->length, attr->log_align_req);
	int ret = -ENOMEM;

	if (!reserve_dm(device, len))
		return -ENOMEM;
	dm = calloc(1, sizeof(*dm));
	if (dm != NULL)
		ret = fill_block(dm, attr->length, attr->log_align_req,
				 uroce_dev_socket_id(device->dev));
	if (ret != 0) {
		free(dm);
		give_back(device, len);
		return ret;
	}
	*out = dm;
	return 0;
}

struct ibv_dm *
uroce_alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr)
{
	struct uroce_vdm *dm = NULL;
	int ret = check_attr(context, attr);

	if (ret == 0)
		ret = uroce_vcontext_start(context);
	if (ret == 0)
		ret = make_dm(uroce_vcontext(context)->device, attr, &dm);
	if (ret != 0) {
		errno = -ret;
		return NULL;
	}
	dm->ibv.context = context;
	dm->ibv.memcpy_to_dm = uroce_memcpy_to_dm;
	dm->ibv.memcpy_from_dm = uroce_memcpy_from_dm;
	uroce_vdm_begin(dm);
	uroce_users_add(context, &uroce_vcontext(context)->nb_users);
	return &dm->ibv;
}

int
uroce_free_dm(struct ibv_dm *ibv)
{
	struct uroce_vdm *const dm = uroce_vdm(ibv);
	const int ret = uroce_vdm_check(ibv);
	struct ibv_context *context;

	if (ret != 0)
		return uroce_errno_ret(ret);
	context = ibv->context;
	if (uroce_users_any(context, &dm->nb_users))
		return uroce_fail(EBUSY);
	give_back(uroce_vcontext(context)->device, dm->taken);
	uroce_hugemem_free(dm->block);
	uroce_vdm_end(dm);
	free(dm);
	uroce_users_drop(context, &uroce_vcontext(context)->nb_users);
	return 0;
}

static bool
is_inside(const struct uroce_vdm *dm, uint64_t offset, size_t len)
{
	return offset <= dm->len && len <= dm->len - offset;
}

/*
 * Check the arguments of a copy from or to device memory, which is copied in words of 4 bytes. So
 * offset and length must be multiples of 4.
 */
static int
check_copy(const struct uroce_vdm *dm, const void *host_addr, uint64_t offset, size_t len)
{
	if (dm == NULL || host_addr == NULL || offset % 4 != 0 || len % 4 != 0)
		return -EINVAL;
	return is_inside(dm, offset, len) ? 0 : -EFAULT;
}

int
uroce_memcpy_to_dm(struct ibv_dm *ibv, uint64_t dm_offset, const void *host_addr, size_t length)
{
	struct uroce_vdm *const dm = uroce_vdm(ibv);
	const int ret = check_copy(dm, host_addr, dm_offset, length);

	if (ret != 0)
		return uroce_errno_ret(ret);
	memcpy(dm->mem + dm_offset, host_addr, length);
	return 0;
}

int
uroce_memcpy_from_dm(void *host_addr, struct ibv_dm *ibv, uint64_t dm_offset, size_t length)
{
	const struct uroce_vdm *const dm = uroce_vdm(ibv);
	const int ret = check_copy(dm, host_addr, dm_offset, length);

	if (ret != 0)
		return uroce_errno_ret(ret);
	memcpy(host_addr, dm->mem + dm_offset, length);
	return 0;
}

static bool
is_dm_access_allowed(unsigned access)
{
	if (!(access & IBV_ACCESS_ZERO_BASED) || (access & ~(unsigned)ACCESS_SUPPORTED))
		return false;
	return uroce_region_is_owners(access);
}

struct ibv_mr *
uroce_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *ibv, uint64_t dm_offset, size_t length,
		unsigned int access)
{
	struct uroce_vdm *const dm = uroce_vdm(ibv);
	struct ibv_mr *mr;
	int ret = uroce_vpd_check(pd);

	if (ret == 0)
		ret = uroce_vdm_check(ibv);
	if (ret != 0) {
		errno = -ret;
		return NULL;
	}
	if (ibv->context != pd->context || !is_inside(dm, dm_offset, length) ||
	    !is_dm_access_allowed(access)) {
		errno = EINVAL;
		return NULL;
	}
	const struct uroce_region model = {
		.kind = UROCE_REGION_DM,
		.dm = dm,
		.conf = {
			.addr = dm->mem + dm_offset,
			.len = length,
			.access = access & ~(unsigned)IBV_ACCESS_OPTIONAL_RANGE,
		},
	};

	uroce_users_add(pd->context, &dm->nb_users);
	mr = uroce_region_register(pd, &model, NULL, length);
	if (mr == NULL)
		uroce_users_drop(pd->context, &dm->nb_users);
	return mr;
}
