/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Address handles: an address vector, resolved once to a path that each datagram copies.
 */

#include <errno.h>
#include <stdlib.h>

#include "verbs/object.h"
#include "verbs/sport.h"
#include "verbs/uroce.h"

struct ibv_ah *
uroce_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct uroce_vah *ah;
	int ret;

	if (pd == NULL || attr == NULL) {
		errno = EINVAL;
		return NULL;
	}
	ah = calloc(1, sizeof(*ah));
	if (ah == NULL)
		return NULL;
	ret = uroce_dev_resolve(uroce_vcontext_dev(pd->context), attr, uroce_sport(attr, 0, 0),
				&ah->path);
	if (ret != 0) {
		free(ah);
		errno = -ret;
		return NULL;
	}
	ah->ibv.context = pd->context;
	ah->ibv.pd = pd;
	uroce_users_add(pd->context, &uroce_vpd(pd)->nb_users);
	return &ah->ibv;
}

int
uroce_destroy_ah(struct ibv_ah *ibv)
{
	if (ibv == NULL)
		return EINVAL;
	uroce_users_drop(ibv->context, &uroce_vpd(ibv->pd)->nb_users);
	free(uroce_vah(ibv));
	return 0;
}
