/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Protection domains. A domain is a number that QPs, regions and address handles have in common.
 * Numbers are unique in the process, so that the keys of one context, or of one device, do not work
 * in another.
 *
 * Several PDs may be one domain, which means that they have the same number. A parent domain is a
 * second PD of the domain that it extends, and an imported PD is a second PD of its original's
 * domain. Each PD counts the objects that were made with it, and is freed separately. Numbers are
 * not reused, so a domain ends with the last of its PDs.
 */

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "verbs/errno_ret.h"
#include "verbs/handle.h"
#include "verbs/object.h"
#include "verbs/uroce.h"

static _Atomic uint32_t last_pdn;

static struct ibv_pd *
refuse_pd(int err)
{
	errno = err;
	return NULL;
}

/* Make a PD with protection domain number `pdn`, or with a new number if `pdn` is 0. */
static struct uroce_vpd *
make_pd(struct ibv_context *context, uint32_t pdn)
{
	struct uroce_vdevice *const device = uroce_vcontext(context)->device;
	struct uroce_vpd *const pd = calloc(1, sizeof(*pd));

	if (pd == NULL)
		return NULL;
	if (uroce_vdevice_count(device, &device->nb_pds, UROCE_MAX_PDS) != 0) {
		free(pd);
		errno = ENOMEM;
		return NULL;
	}
	/*
	 * the fields of the PD are set before the PD is added to the list, where other threads can
	 * find it
	 */
	pd->pdn = pdn != 0 ? pdn : atomic_fetch_add(&last_pdn, 1) + 1;
	pd->ibv.context = context;
	pd->ibv.handle = pd->pdn;
	uroce_vpd_begin(pd);
	pthread_mutex_lock(&device->lock);
	pd->next = device->pds;
	pd->link = &device->pds;
	if (pd->next != NULL)
		pd->next->link = &pd->next;
	device->pds = pd;
	pthread_mutex_unlock(&device->lock);
	uroce_users_add(context, &uroce_vcontext(context)->nb_users);
	return pd;
}

static void
free_pd(struct uroce_vpd *pd)
{
	struct ibv_context *const context = pd->ibv.context;
	struct uroce_vdevice *const device = uroce_vcontext(context)->device;

	pthread_mutex_lock(&device->lock);
	*pd->link = pd->next;
	if (pd->next != NULL)
		pd->next->link = pd->link;
	device->nb_pds--;
	pthread_mutex_unlock(&device->lock);
	if (pd->base != NULL)
		uroce_users_drop(context, &pd->base->nb_users);
	if (pd->td != NULL)
		uroce_users_drop(context, &pd->td->nb_users);
	uroce_users_drop(context, &uroce_vcontext(context)->nb_users);
	uroce_vpd_end(pd);
	free(pd);
}

struct ibv_pd *
uroce_alloc_pd(struct ibv_context *context)
{
	struct uroce_vpd *pd;

	const int ret = context != NULL ? uroce_vcontext_start(context) : -EINVAL;

	if (ret != 0)
		return refuse_pd(-ret);
	pd = make_pd(context, 0);
	return pd != NULL ? &pd->ibv : NULL;
}

int
uroce_dealloc_pd(struct ibv_pd *ibv)
{
	struct uroce_vpd *const pd = uroce_vpd(ibv);
	const int ret = uroce_vpd_check(ibv);

	if (ret != 0)
		return uroce_errno_ret(ret);
	if (uroce_users_any(ibv->context, &pd->nb_users))
		return uroce_fail(EBUSY);
	free_pd(pd);
	return 0;
}

/*
 * Check the arguments of ibv_alloc_parent_domain().
 * @return 0, or a positive errno
 */
static int
check_parent(const struct ibv_context *context, const struct ibv_parent_domain_init_attr *attr)
{
	const uint32_t known =
		IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;

	if (context == NULL || attr == NULL || attr->pd == NULL || (attr->comp_mask & ~known) ||
	    attr->pd->context != context || (attr->td != NULL && attr->td->context != context))
		return EINVAL;
	if (uroce_vpd_check(attr->pd) != 0)
		return ENOENT;
	/*
	 * The program's allocators (IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS) are accepted, but never
	 * called: the memory of queues is allocated from EAL's heap, on the NUMA node of the port
	 * (hugemem.h).
	 */
	return 0;
}

struct ibv_pd *
uroce_alloc_parent_domain(struct ibv_context *context, struct ibv_parent_domain_init_attr *attr)
{
	const int ret = check_parent(context, attr);
	struct uroce_vpd *pd;

	if (ret != 0)
		return refuse_pd(ret);
	pd = make_pd(context, uroce_vpd(attr->pd)->pdn);
	if (pd == NULL)
		return NULL;
	pd->base = uroce_vpd(attr->pd);
	uroce_users_add(context, &pd->base->nb_users);
	if (attr->td != NULL) {
		pd->td = uroce_vtd(attr->td);
		uroce_users_add(context, &pd->td->nb_users);
	}
	return &pd->ibv;
}

/*
 * Whether the protection domain `pdn` has a PD in `context`, or in a context with the same command
 * descriptor.
 */
static bool
has_pd(const struct uroce_vcontext *context, uint32_t pdn)
{
	struct uroce_vdevice *const device = context->device;
	bool is_found = false;

	pthread_mutex_lock(&device->lock);
	for (const struct uroce_vpd *pd = device->pds; pd != NULL && !is_found; pd = pd->next)
		is_found = pd->pdn == pdn &&
			   uroce_vcontext_is_same(uroce_vcontext(pd->ibv.context), context);
	pthread_mutex_unlock(&device->lock);
	return is_found;
}

struct ibv_pd *
uroce_import_pd(struct ibv_context *context, uint32_t pd_handle)
{
	struct uroce_vpd *pd;

	if (context == NULL || pd_handle == 0 || !has_pd(uroce_vcontext(context), pd_handle))
		return refuse_pd(EINVAL);
	pd = make_pd(context, pd_handle);
	return pd != NULL ? &pd->ibv : NULL;
}

void
uroce_unimport_pd(struct ibv_pd *pd)
{
	(void)uroce_dealloc_pd(pd);
}
