/* SPDX-License-Identifier: BSD-3-Clause */
/* Translation of names of hosts and services to addresses, by getaddrinfo(3). */

#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/cm/id.h"
#include "verbs/cm/sockaddr.h"
#include "verbs/uroce_cm.h"

#define KNOWN_FLAGS (RAI_PASSIVE | RAI_NUMERICHOST | RAI_NOROUTE | RAI_FAMILY)

/*
 * Get the port space from the hints. If the hints name none, their QP type determines the port
 * space.
 */
static int
space_of_hints(const struct rdma_addrinfo *hints)
{
	if (hints == NULL)
		return RDMA_PS_TCP;
	if (hints->ai_port_space != 0)
		return hints->ai_port_space;
	return hints->ai_qp_type == IBV_QPT_UD ? RDMA_PS_UDP : RDMA_PS_TCP;
}

static int
type_of_hints(const struct rdma_addrinfo *hints, int ps)
{
	if (hints != NULL && hints->ai_qp_type != 0)
		return hints->ai_qp_type;
	return ps == RDMA_PS_UDP || ps == RDMA_PS_IPOIB ? IBV_QPT_UD : IBV_QPT_RC;
}

/* Copy an address into newly allocated memory. @return 0; -EAFNOSUPPORT; -ENOMEM */
static int
copy_sockaddr(const struct sockaddr *from, struct sockaddr **to, socklen_t *len)
{
	const socklen_t from_len = uroce_vcm_sockaddr_len(from->sa_family);

	if (from_len == 0)
		return -EAFNOSUPPORT;
	*to = malloc(from_len);
	if (*to == NULL)
		return -ENOMEM;
	memcpy(*to, from, from_len);
	*len = from_len;
	return 0;
}

/* Copy addresses from the hints to `info`, but only those that getaddrinfo(3) has not set. */
static int
copy_hints(const struct rdma_addrinfo *hints, struct rdma_addrinfo *info)
{
	int ret = 0;

	if (hints == NULL)
		return 0;
	if (info->ai_src_addr == NULL && hints->ai_src_addr != NULL)
		ret = copy_sockaddr(hints->ai_src_addr, &info->ai_src_addr, &info->ai_src_len);
	if (ret == 0 && info->ai_dst_addr == NULL && hints->ai_dst_addr != NULL &&
	    !(hints->ai_flags & RAI_PASSIVE))
		ret = copy_sockaddr(hints->ai_dst_addr, &info->ai_dst_addr, &info->ai_dst_len);
	return ret;
}

/* Copy the address and the name from a result of getaddrinfo(3) to `info`. */
static int
fill_from_ai(const struct addrinfo *ai, struct rdma_addrinfo *info)
{
	const bool is_passive = info->ai_flags & RAI_PASSIVE;
	char **const name = is_passive ? &info->ai_src_canonname : &info->ai_dst_canonname;

	if (ai->ai_canonname != NULL) {
		*name = strdup(ai->ai_canonname);
		if (*name == NULL)
			return -ENOMEM;
	}
	return is_passive ? copy_sockaddr(ai->ai_addr, &info->ai_src_addr, &info->ai_src_len)
			  : copy_sockaddr(ai->ai_addr, &info->ai_dst_addr, &info->ai_dst_len);
}

/*
 * Resolve the names of a host and a service by getaddrinfo(3), and store the first address in
 * `info`.
 * @return 0, or -errno; `*eai` is the error of getaddrinfo(3), or 0
 */
static int
resolve_names(const char *node, const char *service, const struct rdma_addrinfo *hints,
	      struct rdma_addrinfo *info, int *eai)
{
	const int flags = info->ai_flags;
	const struct addrinfo ai_hints = {
		.ai_flags = (flags & RAI_PASSIVE ? AI_PASSIVE : 0) |
			    (flags & RAI_NUMERICHOST ? AI_NUMERICHOST : 0),
		.ai_family = flags & RAI_FAMILY ? hints->ai_family : AF_UNSPEC,
		.ai_socktype = info->ai_qp_type == IBV_QPT_UD ? SOCK_DGRAM : SOCK_STREAM,
	};
	struct addrinfo *list;
	int ret;

	*eai = getaddrinfo(node, service, &ai_hints, &list);
	if (*eai != 0)
		return 0;
	ret = fill_from_ai(list, info);
	freeaddrinfo(list);
	return ret;
}

static int
check_hints(const struct rdma_addrinfo *hints)
{
	if (hints == NULL)
		return 0;
	if (hints->ai_flags & ~KNOWN_FLAGS)
		return -EINVAL;
	if (hints->ai_flags & RAI_FAMILY && uroce_vcm_sockaddr_len(hints->ai_family) == 0)
		return -EINVAL;
	return 0;
}

/*
 * Fill in `info`, which the caller has zeroed, from the names and the hints. `*eai` becomes the
 * error of getaddrinfo(3), or stays 0.
 */
static int
fill_info(const char *node, const char *service, const struct rdma_addrinfo *hints,
	  struct rdma_addrinfo *info, int *eai)
{
	const struct sockaddr *sa;
	int ret = 0;

	info->ai_flags = hints != NULL ? hints->ai_flags : 0;
	info->ai_port_space = space_of_hints(hints);
	info->ai_qp_type = type_of_hints(hints, info->ai_port_space);
	if (node != NULL || service != NULL)
		ret = resolve_names(node, service, hints, info, eai);
	if (ret == 0 && *eai == 0)
		ret = copy_hints(hints, info);
	sa = info->ai_flags & RAI_PASSIVE ? info->ai_src_addr : info->ai_dst_addr;
	if (sa != NULL)
		info->ai_family = sa->sa_family;
	else if (info->ai_src_addr != NULL)
		info->ai_family = info->ai_src_addr->sa_family;
	return ret;
}

int
uroce_cm_getaddrinfo(const char *node, const char *service, const struct rdma_addrinfo *hints,
		     struct rdma_addrinfo **res)
{
	struct rdma_addrinfo *info;
	int eai = 0, ret;

	if (res == NULL || (node == NULL && service == NULL && hints == NULL))
		return uroce_vcm_ret(-EINVAL);
	ret = check_hints(hints);
	if (ret != 0)
		return uroce_vcm_ret(ret);
	info = calloc(1, sizeof(*info));
	if (info == NULL)
		return uroce_vcm_ret(-ENOMEM);
	ret = fill_info(node, service, hints, info, &eai);
	if (ret == 0 && eai == 0) {
		*res = info;
		return 0;
	}
	uroce_cm_freeaddrinfo(info);
	return eai != 0 ? eai : uroce_vcm_ret(ret);
}

void
uroce_cm_freeaddrinfo(struct rdma_addrinfo *res)
{
	while (res != NULL) {
		struct rdma_addrinfo *const next = res->ai_next;

		free(res->ai_src_addr);
		free(res->ai_dst_addr);
		free(res->ai_src_canonname);
		free(res->ai_dst_canonname);
		free(res);
		res = next;
	}
}
