/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Address handles. Creating a handle resolves its address vector to a path, which contains the
 * peer's MAC address and the UDP source port. Each datagram request copies this path into its work
 * queue entry.
 */

#include <errno.h>
#include <stdlib.h>

#include "datapath/log.h"
#include "datapath/net/path_fault.h"
#include "datapath/sentence.h"
#include "verbs/errno_ret.h"
#include "verbs/handle.h"
#include "verbs/object.h"
#include "verbs/sport.h"
#include "verbs/uroce.h"

/* Log why the path of an address handle cannot be resolved. */
static void
log_no_path(struct ibv_pd *pd, const struct ibv_ah_attr *attr, int err)
{
	struct uroce_sentence sentence = { 0 };

	uroce_path_fault_describe(uroce_vcontext_dev(pd->context), attr, err, &sentence);
	UROCE_LOG_LIMITED(WARNING, qp, "address handle refused: %s", sentence.text);
}

/*
 * Create an address handle and resolve its path.
 * @return 0, or -errno
 */
static int
make_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr, struct uroce_vah **out)
{
	struct uroce_vah *const ah = calloc(1, sizeof(*ah));
	int ret;

	if (ah == NULL)
		return -ENOMEM;
	ret = uroce_dev_resolve(uroce_vcontext_dev(pd->context), attr, uroce_sport(attr, 0, 0),
				&ah->path);
	if (ret != 0) {
		log_no_path(pd, attr, ret);
		free(ah);
		return ret;
	}
	ah->ibv.context = pd->context;
	ah->ibv.pd = pd;
	uroce_vah_begin(ah);
	*out = ah;
	return 0;
}

struct ibv_ah *
uroce_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct uroce_vdevice *device;
	struct uroce_vah *ah = NULL;
	int ret = attr != NULL ? uroce_vpd_check(pd) : -EINVAL;

	if (ret != 0) {
		errno = -ret;
		return NULL;
	}
	device = uroce_vcontext(pd->context)->device;
	ret = uroce_vdevice_count(device, &device->nb_ahs, UROCE_MAX_AHS);
	if (ret == 0) {
		ret = make_ah(pd, attr, &ah);
		if (ret != 0)
			uroce_vdevice_uncount(device, &device->nb_ahs);
	}
	if (ret != 0) {
		errno = -ret;
		return NULL;
	}
	uroce_users_add(pd->context, &uroce_vpd(pd)->nb_users);
	return &ah->ibv;
}

int
uroce_destroy_ah(struct ibv_ah *ibv)
{
	const int ret = uroce_vah_check(ibv);
	struct uroce_vdevice *device;

	if (ret != 0)
		return uroce_errno_ret(ret);
	device = uroce_vcontext(ibv->context)->device;
	uroce_vdevice_uncount(device, &device->nb_ahs);
	uroce_users_drop(ibv->context, &uroce_vpd(ibv->pd)->nb_users);
	uroce_vah_end(uroce_vah(ibv));
	free(uroce_vah(ibv));
	return 0;
}
