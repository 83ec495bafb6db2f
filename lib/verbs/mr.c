/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory regions. Nothing is pinned: the worker uses the program's own addresses. So a region must
 * be mapped, and writable if it is to be written, when it is registered, and stay so: what an RDMA
 * NIC would find out by pinning is asked of the kernel here, once.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "verbs/object.h"
#include "verbs/uroce.h"
#include "verbs/uroce_dv.h"

#define ACCESS_SUPPORTED                                                                           \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND | IBV_ACCESS_HUGETLB |                      \
	 UROCE_DV_ACCESS_FLUSH_GLOBAL | IBV_ACCESS_OPTIONAL_RANGE)
#define ACCESS_KNOWN                                                                               \
	(ACCESS_SUPPORTED | IBV_ACCESS_ZERO_BASED | IBV_ACCESS_ON_DEMAND |                         \
	 UROCE_DV_ACCESS_FLUSH_PERSISTENT)

/* What the peer may write, the owner may write too [IBA 10.6.3.1]. */
#define ACCESS_REMOTE_CHANGE (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)

static int
check_access(unsigned access)
{
	if (access & ~(unsigned)ACCESS_KNOWN)
		return -EINVAL;
	if (access & ~(unsigned)ACCESS_SUPPORTED)
		return -EOPNOTSUPP;
	if ((access & ACCESS_REMOTE_CHANGE) && !(access & IBV_ACCESS_LOCAL_WRITE))
		return -EINVAL;
	return 0;
}

/* Whether every page of the range is mapped; `first` and `len` are of whole pages. */
static bool
is_mapped(uintptr_t first, size_t len)
{
	unsigned char resident[4096]; /* of no interest */
	const size_t step = sizeof(resident) * (size_t)sysconf(_SC_PAGESIZE);

	for (size_t done = 0; done < len; done += step) {
		const size_t part = len - done < step ? len - done : step;

		if (mincore((void *)(first + done), part, resident) != 0)
			return false;
	}
	return true;
}

/*
 * Whether the range may be written, by the kernel's list of mappings, which is sorted; a process
 * with a thousand of them waits for a millisecond. Where there is no /proc the answer is yes: the
 * program knows its memory.
 */
static bool
is_listed_writable(uintptr_t first, size_t len)
{
	const uintptr_t end = first + len;
	uintptr_t from, to;
	char line[512], perms[5];
	FILE *const maps = fopen("/proc/self/maps", "re");

	if (maps == NULL)
		return true;
	while (first < end && fgets(line, sizeof(line), maps) != NULL) {
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s", &from, &to, perms) != 3)
			continue; /* the tail of a long path */
		if (to <= first)
			continue;
		if (from > first || perms[1] != 'w')
			break;
		first = to;
	}
	fclose(maps);
	return first >= end;
}

/*
 * Whether the range may be written. The kernel is asked to have its pages ready for it, as it must
 * for a NIC that pins them: that finds out, and later no worker stops for a page fault. Memory of a
 * device, and a kernel older than 5.14, refuse the question itself.
 */
static bool
is_writable(uintptr_t first, size_t len)
{
	if (madvise((void *)first, len, MADV_POPULATE_WRITE) == 0)
		return true;
	return errno == EINVAL && is_mapped(first, len) && is_listed_writable(first, len);
}

static int
check_range(const void *addr, size_t len, unsigned access)
{
	const uintptr_t page_mask = (uintptr_t)sysconf(_SC_PAGESIZE) - 1;
	const uintptr_t first = (uintptr_t)addr & ~page_mask;
	const uintptr_t end = ((uintptr_t)addr + len + page_mask) & ~page_mask;

	if (len == 0 || len > UROCE_MAX_MR_LEN || end < first)
		return -EINVAL;
	const bool is_good = access & IBV_ACCESS_LOCAL_WRITE ? is_writable(first, end - first)
							     : is_mapped(first, end - first);

	return is_good ? 0 : -EFAULT;
}

static int
add_region(struct uroce_dev *dev, const struct uroce_mr_conf *conf, uint32_t *key)
{
	pthread_mutex_lock(&dev->lock);
	const int ret = uroce_mr_add(dev->mrs, conf, key);

	pthread_mutex_unlock(&dev->lock);
	return ret;
}

static struct ibv_mr *
refuse(int err)
{
	errno = err;
	return NULL;
}

struct ibv_mr *
uroce_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, int access)
{
	struct uroce_vmr *mr;
	uint32_t key;
	int ret;

	if (pd == NULL)
		return refuse(EINVAL);
	ret = check_access((unsigned)access);
	if (ret == 0)
		ret = check_range(addr, length, (unsigned)access);
	if (ret != 0)
		return refuse(-ret);
	mr = calloc(1, sizeof(*mr));
	if (mr == NULL)
		return NULL;
	const struct uroce_mr_conf conf = {
		.addr = addr,
		.iova = iova,
		.len = length,
		.pdn = uroce_vpd(pd)->pdn,
		.access = (uint32_t)access & ~(uint32_t)IBV_ACCESS_OPTIONAL_RANGE,
	};

	ret = add_region(uroce_vcontext_dev(pd->context), &conf, &key);
	if (ret != 0) {
		free(mr);
		return refuse(-ret);
	}
	mr->ibv = (struct ibv_mr){
		.context = pd->context,
		.pd = pd,
		.addr = addr,
		.length = length,
		.handle = key,
		.lkey = key,
		.rkey = key,
	};
	uroce_users_add(pd->context, &uroce_vpd(pd)->nb_users);
	return &mr->ibv;
}

struct ibv_mr *
uroce_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	return uroce_reg_mr_iova(pd, addr, length, (uintptr_t)addr, access);
}

int
uroce_dereg_mr(struct ibv_mr *ibv)
{
	struct uroce_dev *dev;
	int ret;

	if (ibv == NULL)
		return EINVAL;
	dev = uroce_vcontext_dev(ibv->context);
	pthread_mutex_lock(&dev->lock);
	ret = uroce_mr_invalidate(dev->mrs, ibv->lkey);
	pthread_mutex_unlock(&dev->lock);
	if (ret != 0)
		return -ret;
	/* A round that began before may still be copying, or lending to the port. */
	uroce_dev_grace(dev);
	uroce_dev_recall_mr(dev, ibv->lkey);
	pthread_mutex_lock(&dev->lock);
	uroce_mr_free(dev->mrs, ibv->lkey);
	pthread_mutex_unlock(&dev->lock);

	uroce_users_drop(ibv->context, &uroce_vpd(ibv->pd)->nb_users);
	free(uroce_vmr(ibv));
	return 0;
}
