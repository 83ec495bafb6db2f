/* SPDX-License-Identifier: BSD-3-Clause */
/* Public calls for the addresses of an id: bind, resolve, listen. */

#include <errno.h>

#include "verbs/cm/cm_bind.h"
#include "verbs/cm/cm_device.h"
#include "verbs/cm/cm_event.h"
#include "verbs/cm/cm_log.h"
#include "verbs/cm/cm_path.h"
#include "verbs/cm/cm_resolve.h"
#include "verbs/cm/cm_route.h"
#include "verbs/cm/cm_take.h"
#include "verbs/cm/sockaddr.h"
#include "verbs/cm/wakeup.h"
#include "verbs/uroce_cm.h"

#define BACKLOG_MAX 1024

static int
bind_id(struct uroce_vcm_id *id, const struct sockaddr *sa)
{
	struct uroce_cm_addr addr;
	uint32_t scope;
	int ret = uroce_vcm_sockaddr_parse(sa, &addr, &scope);

	if (ret != 0)
		return ret;
	/* an id is bound only once; a multicast address is not the address of a host */
	if (id->state != UROCE_VCM_IDLE)
		return -EINVAL;
	return uroce_vcm_addr_is_group(&addr) ? -EADDRNOTAVAIL : uroce_vcm_bind(id, &addr, scope);
}

int
uroce_cm_bind_addr(struct rdma_cm_id *cm, struct sockaddr *addr)
{
	int ret;

	if (cm == NULL || addr == NULL)
		return uroce_vcm_ret(-EINVAL);
	uroce_vcm_take_forget(uroce_vcm_id(cm));
	pthread_mutex_lock(&uroce_vcm_lock);
	ret = bind_id(uroce_vcm_id(cm), addr);
	pthread_mutex_unlock(&uroce_vcm_lock);
	return uroce_vcm_ret(ret);
}

/*
 * Get the address to which an id is bound.
 * @return NULL: the id is not bound, or is bound to the wildcard
 */
static const struct uroce_cm_addr *
source_of(const struct uroce_vcm_id *id, struct uroce_cm_addr *src)
{
	uint32_t scope;

	if (id->state != UROCE_VCM_BOUND ||
	    uroce_vcm_sockaddr_parse(&id->cm.route.addr.src_addr, src, &scope) != 0 ||
	    uroce_vcm_addr_is_any(src))
		return NULL;
	return src;
}

/* Whether an id that is not bound, or is bound to a wildcard, may use the IP version of `dst`. */
static bool
is_same_family(const struct uroce_vcm_id *id, const struct uroce_cm_addr *dst)
{
	const int family = id->cm.route.addr.src_addr.sa_family;

	if (family == 0 || dst->ip_version == 6)
		return family != AF_INET;
	return family == AF_INET || !id->is_v6only;
}

static int
begin_resolution(struct uroce_vcm_id *id, const struct sockaddr *src_sa,
		 const struct sockaddr *dst_sa, int timeout_ms)
{
	struct uroce_cm_addr dst, memory;
	const struct uroce_cm_addr *src;
	struct uroce_vcm_route route;
	uint32_t scope;
	int ret = uroce_vcm_sockaddr_parse(dst_sa, &dst, &scope);

	if (ret != 0)
		return ret;
	if (timeout_ms <= 0 || uroce_vcm_addr_is_any(&dst) ||
	    (id->state != UROCE_VCM_IDLE && id->state != UROCE_VCM_BOUND))
		return -EINVAL;
	/* as in Linux, an id that is bound keeps its address, and `src_sa` is ignored */
	if (id->state == UROCE_VCM_IDLE && src_sa != NULL && src_sa->sa_family != 0)
		ret = bind_id(id, src_sa);
	if (ret != 0)
		return ret;
	src = source_of(id, &memory);
	if (src != NULL ? src->ip_version != dst.ip_version : !is_same_family(id, &dst))
		return -EINVAL;
	ret = uroce_vcm_route_choose(&dst, scope, id->device, src, &route);
	if (ret == 0)
		uroce_vcm_resolve_begin(id, &route, scope, timeout_ms);
	else if (ret == -ENETUNREACH || ret == -EHOSTUNREACH)
		uroce_vcm_raise(id, RDMA_CM_EVENT_ADDR_ERROR, ret);
	else
		return ret;
	return 0;
}

int
uroce_cm_resolve_addr(struct rdma_cm_id *cm, struct sockaddr *src_addr, struct sockaddr *dst_addr,
		      int timeout_ms)
{
	struct uroce_vcm_id *const id = uroce_vcm_id(cm);
	int ret;

	if (cm == NULL || dst_addr == NULL)
		return uroce_vcm_ret(-EINVAL);
	uroce_vcm_take_forget(id);
	pthread_mutex_lock(&uroce_vcm_lock);
	ret = begin_resolution(id, src_addr, dst_addr, timeout_ms);
	pthread_mutex_unlock(&uroce_vcm_lock);
	if (ret == 0) {
		uroce_vcm_wakeup_notify(NULL);
		ret = uroce_vcm_take_end(id);
	}
	return uroce_vcm_ret(ret);
}

static int
resolve_path(struct uroce_vcm_id *id)
{
	if (id->state != UROCE_VCM_ADDR_RESOLVED)
		return -EINVAL;
	uroce_vcm_path_fill(id);
	id->state = UROCE_VCM_ROUTE_RESOLVED;
	uroce_vcm_raise(id, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	return 0;
}

int
uroce_cm_resolve_route(struct rdma_cm_id *cm, int timeout_ms)
{
	struct uroce_vcm_id *const id = uroce_vcm_id(cm);
	int ret;

	if (cm == NULL || timeout_ms <= 0)
		return uroce_vcm_ret(-EINVAL);
	uroce_vcm_take_forget(id);
	pthread_mutex_lock(&uroce_vcm_lock);
	ret = resolve_path(id);
	pthread_mutex_unlock(&uroce_vcm_lock);
	return uroce_vcm_ret(ret != 0 ? ret : uroce_vcm_take_end(id));
}

static int
listen_at_ends(struct uroce_vcm_id *id)
{
	int ret = 0;

	for (struct uroce_vcm_end *end = id->ends; end != NULL && ret == 0; end = end->next)
		ret = end->device->manager->ops->listen(end->device->manager, end->number, 0);
	return ret;
}

static int
begin_listening(struct uroce_vcm_id *id, int backlog)
{
	const struct uroce_cm_addr any = { .ip_version = 4 };
	int ret = 0;

	if (id->state == UROCE_VCM_IDLE)
		ret = uroce_vcm_bind(id, &any, 0);
	if (ret != 0)
		return ret;
	if (id->state != UROCE_VCM_BOUND)
		return -EINVAL;
	id->backlog = backlog > 0 && backlog < BACKLOG_MAX ? (unsigned)backlog : BACKLOG_MAX;
	ret = listen_at_ends(id);
	if (ret != 0)
		return ret;
	id->state = UROCE_VCM_LISTEN;
	uroce_vcm_log_listen(id);
	return 0;
}

int
uroce_cm_listen(struct rdma_cm_id *cm, int backlog)
{
	int ret;

	if (cm == NULL)
		return uroce_vcm_ret(-EINVAL);
	uroce_vcm_take_forget(uroce_vcm_id(cm));
	pthread_mutex_lock(&uroce_vcm_lock);
	ret = begin_listening(uroce_vcm_id(cm), backlog);
	pthread_mutex_unlock(&uroce_vcm_lock);
	return uroce_vcm_ret(ret);
}

__be16
uroce_cm_get_src_port(struct rdma_cm_id *id)
{
	return id != NULL ? uroce_vcm_sockaddr_port(&id->route.addr.src_addr) : 0;
}

__be16
uroce_cm_get_dst_port(struct rdma_cm_id *id)
{
	return id != NULL ? uroce_vcm_sockaddr_port(&id->route.addr.dst_addr) : 0;
}
