/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ibv_advise_mr(3): the pages of on-demand (ODP) regions are made resident before packets use them.
 */

#include <errno.h>

#include "datapath/device/odp.h"
#include "verbs/errno_ret.h"
#include "verbs/handle.h"
#include "verbs/object.h"
#include "verbs/range.h"
#include "verbs/uroce.h"

static bool
is_advice(enum ibv_advise_mr_advice advice)
{
	return advice == IBV_ADVISE_MR_ADVICE_PREFETCH ||
	       advice == IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE ||
	       advice == IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT;
}

/*
 * Find the memory of a scatter/gather element in its on-demand region, and check that the program
 * may give the advice for this memory [advise_mr(3), return value].
 * @return 0, with `*addr` set to the element's first byte; or -errno
 */
static int
find_range(struct ibv_pd *pd, bool is_written, const struct ibv_sge *sge, const void **addr)
{
	struct uroce_dev *const dev = uroce_vcontext_dev(pd->context);
	struct uroce_mr_conf conf = { 0 };

	pthread_mutex_lock(&dev->lock);
	const int ret = uroce_mr_query(dev->mrs, sge->lkey, &conf);

	pthread_mutex_unlock(&dev->lock);
	if (ret != 0)
		return ret;
	if (conf.pdn != uroce_vpd(pd)->pdn)
		return -EPERM;
	if (conf.is_null || !(conf.access & IBV_ACCESS_ON_DEMAND))
		return -EINVAL;
	if (is_written && !(conf.access & IBV_ACCESS_LOCAL_WRITE))
		return -EPERM;
	const uint64_t offset = sge->addr - conf.iova;

	if (offset > conf.len || sge->length > conf.len - offset)
		return -EFAULT;
	*addr = (const void *)((uintptr_t)conf.addr + offset);
	return 0;
}

/*
 * Execute the advice for a range of memory. The advice PREFETCH_NO_FAULT makes no page resident,
 * and a worker accesses the memory through the page tables of the CPU. So there is nothing to
 * prepare for this advice, and the function only checks that the range is mapped.
 */
static int
apply_advice(enum ibv_advise_mr_advice advice, const void *addr, uint32_t len)
{
	if (advice == IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
		return uroce_range_is_mapped(addr, len) ? 0 : -EFAULT;
	return uroce_odp_page_in(addr, len, advice == IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE);
}

int
uroce_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
		struct ibv_sge *sg_list, uint32_t num_sge)
{
	const bool is_written = advice == IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE;
	const void *addr;
	int ret = uroce_vpd_check(pd);

	if (ret != 0)
		return uroce_errno_ret(ret);
	if ((flags & ~(uint32_t)IBV_ADVISE_MR_FLAG_FLUSH) || sg_list == NULL || num_sge == 0)
		return uroce_fail(EINVAL);
	if (!is_advice(advice))
		return uroce_fail(EOPNOTSUPP);
	for (uint32_t i = 0; i < num_sge && ret == 0; i++)
		ret = find_range(pd, is_written, &sg_list[i], &addr);
	for (uint32_t i = 0; i < num_sge && ret == 0; i++) {
		ret = find_range(pd, is_written, &sg_list[i], &addr);
		if (ret == 0)
			ret = apply_advice(advice, addr, sg_list[i].length);
	}
	return uroce_errno_ret(ret);
}
