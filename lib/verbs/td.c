/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Thread domains. A program promises that one thread at a time uses the objects of a thread domain.
 * Verbs do not define how a device uses this promise. In uroce a post takes no lock if its QP is in
 * a thread domain (uroce_wq_begin()). CQs and SRQs keep their locks, because workers use them, too,
 * and the program's promise does not cover the threads of workers.
 */

#include <errno.h>
#include <stdlib.h>

#include "verbs/errno_ret.h"
#include "verbs/object.h"
#include "verbs/uroce.h"

struct ibv_td *
uroce_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *init_attr)
{
	struct uroce_vtd *td;

	if (context == NULL || init_attr == NULL || init_attr->comp_mask != 0) {
		errno = EINVAL;
		return NULL;
	}
	td = calloc(1, sizeof(*td));
	if (td == NULL)
		return NULL;
	td->ibv.context = context;
	uroce_users_add(context, &uroce_vcontext(context)->nb_users);
	return &td->ibv;
}

int
uroce_dealloc_td(struct ibv_td *ibv)
{
	struct uroce_vtd *const td = uroce_vtd(ibv);

	if (ibv == NULL)
		return uroce_fail(EINVAL);
	if (uroce_users_any(ibv->context, &td->nb_users))
		return uroce_fail(EBUSY);
	uroce_users_drop(ibv->context, &uroce_vcontext(ibv->context)->nb_users);
	free(td);
	return 0;
}
