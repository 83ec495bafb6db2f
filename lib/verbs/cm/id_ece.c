/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ECE options of programs that own their QP. The library carries the options in REQ and REP, and
 * does not interpret them.
 */

#include <errno.h>

#include "verbs/cm/cm_device.h"
#include "verbs/uroce_cm.h"

static int
check_ece_id(const struct uroce_vcm_id *id, const struct ibv_ece *ece)
{
	return id == NULL || ece == NULL || id->cm.qp != NULL ? -EINVAL : 0;
}

int
uroce_cm_set_local_ece(struct rdma_cm_id *cm, struct ibv_ece *ece)
{
	int ret = check_ece_id(uroce_vcm_id(cm), ece);

	if (ret == 0 && ece->vendor_id == 0)
		ret = -EINVAL;
	if (ret != 0)
		return uroce_vcm_ret(ret);
	pthread_mutex_lock(&uroce_vcm_lock);
	uroce_vcm_id(cm)->local_ece = *ece;
	pthread_mutex_unlock(&uroce_vcm_lock);
	return 0;
}

int
uroce_cm_get_remote_ece(struct rdma_cm_id *cm, struct ibv_ece *ece)
{
	struct uroce_cm_info info;
	int ret = check_ece_id(uroce_vcm_id(cm), ece);

	if (ret == 0) {
		pthread_mutex_lock(&uroce_vcm_lock);
		ret = uroce_vcm_end_query(uroce_vcm_id(cm), &info);
		pthread_mutex_unlock(&uroce_vcm_lock);
	}
	if (ret == 0)
		*ece = (struct ibv_ece){
			.vendor_id = info.ece_vendor_id,
			.options = info.ece_options,
		};
	return uroce_vcm_ret(ret);
}
