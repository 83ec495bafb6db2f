/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Protection domains: a number that QPs, regions and address handles share. Numbers are the
 * device's, so a key of one context does not work in another.
 */

#include <errno.h>
#include <stdlib.h>

#include "verbs/object.h"
#include "verbs/uroce.h"

static uint32_t
next_pdn(struct uroce_vdevice *device)
{
	pthread_mutex_lock(&device->lock);
	const uint32_t pdn = ++device->next_pdn;

	pthread_mutex_unlock(&device->lock);
	return pdn;
}

struct ibv_pd *
uroce_alloc_pd(struct ibv_context *context)
{
	struct uroce_vpd *pd;

	if (context == NULL) {
		errno = EINVAL;
		return NULL;
	}
	pd = calloc(1, sizeof(*pd));
	if (pd == NULL)
		return NULL;
	pd->pdn = next_pdn(uroce_vcontext(context)->device);
	pd->ibv.context = context;
	pd->ibv.handle = pd->pdn;
	uroce_users_add(context, &uroce_vcontext(context)->nb_users);
	return &pd->ibv;
}

int
uroce_dealloc_pd(struct ibv_pd *ibv)
{
	struct uroce_vpd *const pd = uroce_vpd(ibv);

	if (ibv == NULL)
		return EINVAL;
	if (uroce_users_any(ibv->context, &pd->nb_users))
		return EBUSY;
	uroce_users_drop(ibv->context, &uroce_vcontext(ibv->context)->nb_users);
	free(pd);
	return 0;
}
