/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory regions. Workers use the program's own addresses, and the memory is not pinned. So the
 * memory must be mapped, and writable if it is to be written, as long as the region is registered.
 * An RDMA NIC detects missing memory when it pins the memory. uroce asks the kernel once, at
 * registration, whether the memory is mapped and has the needed rights. For an on-demand region
 * uroce asks whenever a packet accesses the region, and not at registration.
 */

#include <errno.h>

#include "datapath/device/odp.h"
#include "datapath/log.h"
#include "verbs/handle.h"
#include "verbs/range.h"
#include "verbs/region.h"
#include "verbs/uroce.h"
#include "verbs/uroce_dv.h"

#define ACCESS_SUPPORTED                                                                           \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED |                   \
	 IBV_ACCESS_ON_DEMAND | IBV_ACCESS_HUGETLB | UROCE_DV_ACCESS_FLUSH_GLOBAL |                \
	 IBV_ACCESS_OPTIONAL_RANGE)
#define ACCESS_KNOWN (ACCESS_SUPPORTED | UROCE_DV_ACCESS_FLUSH_PERSISTENT)

static int
check_mr_access(unsigned access)
{
	if (access & ~(unsigned)ACCESS_KNOWN) {
		UROCE_LOG_LIMITED(WARNING, mem, "reg_mr: access 0x%x: 0x%x are unknown flags",
				  access, access & ~(unsigned)ACCESS_KNOWN);
		return -EINVAL;
	}
	if (access & ~(unsigned)ACCESS_SUPPORTED) {
		UROCE_LOG_LIMITED(INFO, mem, "reg_mr: access 0x%x: 0x%x is not supported", access,
				  access & ~(unsigned)ACCESS_SUPPORTED);
		return -EOPNOTSUPP;
	}
	if (!uroce_region_is_owners(access)) {
		UROCE_LOG_LIMITED(WARNING, mem,
				  "reg_mr: access 0x%x: remote WRITEs and atomics need "
				  "IBV_ACCESS_LOCAL_WRITE, too",
				  access);
		return -EINVAL;
	}
	if ((access & IBV_ACCESS_ON_DEMAND) && !uroce_odp_is_possible()) {
		UROCE_LOG_LIMITED(
			INFO, mem,
			"reg_mr: on-demand paging is not possible in this process: allowed "
			"is registration without IBV_ACCESS_ON_DEMAND");
		return -EOPNOTSUPP;
	}
	return 0;
}

/*
 * Whether the arguments of a registration mean the whole address space [reg_mr(3), implicit ODP].
 */
static bool
is_implicit(const void *addr, size_t len, unsigned access)
{
	return addr == NULL && len == SIZE_MAX && (access & IBV_ACCESS_ON_DEMAND);
}

static int
check_range(const void *addr, size_t len, unsigned access)
{
	if (is_implicit(addr, len, access))
		return 0;
	if (len > UROCE_MAX_MR_LEN || (uintptr_t)addr + len < (uintptr_t)addr) {
		UROCE_LOG_LIMITED(WARNING, mem, "reg_mr: %zu bytes at %p: longer than the memory",
				  len, addr);
		return -EINVAL;
	}
	/*
	 * an empty range has no page to check, and pages of an on-demand region are checked later
	 */
	if (len == 0 || (access & IBV_ACCESS_ON_DEMAND))
		return 0;
	if (uroce_range_is_good(addr, len, access & IBV_ACCESS_LOCAL_WRITE))
		return 0;
	UROCE_LOG_LIMITED(
		WARNING, mem,
		"reg_mr: %zu bytes at %p: some of them are not mapped, or not %s: allowed is "
		"memory that the program itself can access so",
		len, addr, access & IBV_ACCESS_LOCAL_WRITE ? "writable" : "readable");
	return -EFAULT;
}

static struct ibv_mr *
refuse_mr(int err)
{
	errno = err;
	return NULL;
}

struct ibv_mr *
uroce_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, unsigned int access)
{
	int ret = uroce_vpd_check(pd);

	if (ret == 0)
		ret = check_mr_access(access);
	if (ret == 0)
		ret = check_range(addr, length, access);
	if (ret != 0)
		return refuse_mr(-ret);
	const struct uroce_region model = {
		.kind = UROCE_REGION_USER,
		.conf = {
			.addr = addr,
			.iova = access & IBV_ACCESS_ZERO_BASED ? 0 : iova,
			.len = length,
			.access = access & ~(unsigned)IBV_ACCESS_OPTIONAL_RANGE,
		},
	};

	return uroce_region_register(pd, &model, addr, length);
}

struct ibv_mr *
uroce_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, int access)
{
	return uroce_reg_mr_iova2(pd, addr, length, iova, (unsigned)access);
}

struct ibv_mr *
uroce_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	return uroce_reg_mr_iova2(pd, addr, length, (uintptr_t)addr, (unsigned)access);
}

struct ibv_mr *
uroce_alloc_null_mr(struct ibv_pd *pd)
{
	const struct uroce_region model = {
		.kind = UROCE_REGION_NULL,
		.conf = { .len = UINT64_MAX, .access = IBV_ACCESS_LOCAL_WRITE, .is_null = true },
	};

	const int ret = uroce_vpd_check(pd);

	if (ret != 0)
		return refuse_mr(-ret);
	return uroce_region_register(pd, &model, NULL, SIZE_MAX);
}

/* --- ibv_rereg_mr(3) ------------------------------------------------------------------------------- */

struct change {
	int flags;
	struct ibv_pd *pd;
	void *addr;
	size_t length;
	unsigned access;
};

static int
check_change(const struct ibv_mr *mr, const struct change *change)
{
	const int flags = change->flags;

	if (flags == 0 || (flags & ~IBV_REREG_MR_FLAGS_SUPPORTED) != 0)
		return -EINVAL;
	if ((flags & IBV_REREG_MR_CHANGE_TRANSLATION) &&
	    (change->addr == NULL || change->length == 0))
		return -EINVAL;
	if ((flags & IBV_REREG_MR_CHANGE_PD) &&
	    (change->pd == NULL || change->pd->context != mr->context))
		return -EINVAL;
	if ((flags & IBV_REREG_MR_CHANGE_PD) && uroce_vpd_check(change->pd) != 0)
		return -ENOENT;
	if (!(flags & IBV_REREG_MR_CHANGE_ACCESS))
		return change->access == 0 ? 0 : -EINVAL;
	return check_mr_access(change->access);
}

/*
 * Compute the properties of a region after a change. The region's first address, `iova`, stays
 * unless the memory or IBV_ACCESS_ZERO_BASED changes.
 */
static struct uroce_mr_conf
conf_after(const struct uroce_mr_conf *before, const struct change *change)
{
	struct uroce_mr_conf conf = *before;

	if (change->flags & IBV_REREG_MR_CHANGE_PD)
		conf.pdn = uroce_vpd(change->pd)->pdn;
	if (change->flags & IBV_REREG_MR_CHANGE_ACCESS)
		conf.access = change->access & ~(unsigned)IBV_ACCESS_OPTIONAL_RANGE;
	if (change->flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
		conf.addr = change->addr;
		conf.len = change->length;
	}
	if ((change->flags & IBV_REREG_MR_CHANGE_TRANSLATION) ||
	    ((conf.access ^ before->access) & IBV_ACCESS_ZERO_BASED))
		conf.iova = conf.access & IBV_ACCESS_ZERO_BASED ? 0 : (uintptr_t)conf.addr;
	return conf;
}

/* Change the memory region behind `mr`. The caller holds the region's lock. */
static int
change_region(struct ibv_mr *mr, struct uroce_region *region, const struct change *change)
{
	const struct uroce_mr_conf conf = conf_after(&region->conf, change);
	int ret;

	if (region->kind != UROCE_REGION_USER)
		return -EINVAL;
	ret = check_range(conf.addr, conf.len, conf.access);
	if (ret != 0)
		return ret;
	return uroce_region_replace(uroce_vcontext(mr->context)->device, region, &conf);
}

/*
 * Change the fields of `struct ibv_mr`, which the program sees. The caller holds the region's lock.
 */
static void
change_handle(struct ibv_mr *mr, const struct change *change)
{
	if (change->flags & IBV_REREG_MR_CHANGE_PD) {
		uroce_users_add(mr->context, &uroce_vpd(change->pd)->nb_users);
		uroce_users_drop(mr->context, &uroce_vpd(mr->pd)->nb_users);
		mr->pd = change->pd;
	}
	if (change->flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
		mr->addr = change->addr;
		mr->length = change->length;
	}
}

/*
 * All checks come before the first change. So a call that fails leaves the region unchanged, which
 * is the meaning of IBV_REREG_MR_ERR_INPUT. The call never returns the other codes of
 * ibv_rereg_mr(3), which mean that the region is lost.
 */
int
uroce_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t length,
	       int access)
{
	const struct change change = { flags, pd, addr, length, (unsigned)access };
	struct uroce_region *region;
	int ret = uroce_vmr_check(mr);

	if (ret == 0)
		ret = check_change(mr, &change);
	if (ret == 0) {
		region = uroce_vmr(mr)->region;
		pthread_mutex_lock(&region->lock);
		ret = change_region(mr, region, &change);
		if (ret == 0)
			change_handle(mr, &change);
		pthread_mutex_unlock(&region->lock);
	}
	if (ret == 0)
		return 0;
	errno = -ret;
	return IBV_REREG_MR_ERR_INPUT;
}
