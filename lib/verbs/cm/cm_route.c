/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Choice of the device and the source address for a destination.
 *
 * Each device is rated for a destination, and the device with the best rating is chosen. The
 * ratings are, from the best to the worst: the destination is an address of the device; the kernel
 * has a route; a network of the device contains the destination, where a longer prefix is better;
 * the device has a gateway. The kernel's route counts only if it leads through the kernel interface
 * whose addresses the device has. The route also determines the source address.
 */

#include "verbs/cm/cm_route.h"

#include <errno.h>
#include <string.h>

#include "datapath/net/netlink.h"
#include "datapath/udp/udp_socket.h"
#include "verbs/cm/cm_device.h"
#include "verbs/cm/sockaddr.h"
#include "verbs/object.h"

enum {
	RATING_NONE = 0,
	RATING_GATEWAY = 1,
	/* rating: the destination is a multicast group, which any device reaches */
	RATING_GROUP = 1,
	/*
	 * rating: a network of the device contains the destination; the length of the network's
	 * prefix is added to this value
	 */
	RATING_NETWORK = 2,
	/*
	 * rating of a device on UDP sockets, if the kernel prefers a source address that is not the
	 * device's
	 */
	RATING_OTHER_SOURCE = 199,
	RATING_KERNEL = 200,
	RATING_SELF = 300,
};

/* A destination of a connection, and the device that is rated for this destination. */
struct candidate {
	const struct uroce_cm_addr *dst;
	/* source address that the route must use; NULL: any address */
	const struct uroce_cm_addr *src;
	uint32_t scope;
	union ibv_gid dip;
	struct uroce_gid_table gids;
	unsigned if_index;
	unsigned src_idx; /* output: index of the chosen source address in `gids` */
	int error;        /* output: -errno of the kernel if it has no route to the destination */
};

static bool
is_family(const uint8_t gid[16], uint8_t ip_version)
{
	return uroce_ip_is_v4(gid) == (ip_version == 4);
}

static bool
is_link_local_gid(const uint8_t gid[16])
{
	return gid[0] == 0xfe && (gid[1] & 0xc0) == 0x80;
}

/* Whether the address at index `idx` of the GID table may be the source address. */
static bool
may_be_source(const struct candidate *of, unsigned idx)
{
	union ibv_gid src;

	if (uroce_gid_is_empty(&of->gids, idx))
		return false;
	if (of->src == NULL)
		return is_family(of->gids.addr[idx].ip, of->dst->ip_version) &&
		       is_link_local_gid(of->gids.addr[idx].ip) ==
			       uroce_vcm_addr_is_link_local(of->dst);
	uroce_vcm_addr_to_gid(of->src, &src);
	return memcmp(of->gids.addr[idx].ip, src.raw, 16) == 0;
}

/* Count the leading bits that two addresses of 128 bits have in common. */
static unsigned
equal_bits(const uint8_t *a, const uint8_t *b)
{
	unsigned bits = 0;

	while (bits < 128 && ((a[bits / 8] ^ b[bits / 8]) & 0x80 >> bits % 8) == 0)
		bits++;
	return bits;
}

static bool
is_in_network(const struct uroce_addr *addr, const uint8_t *ip)
{
	return equal_bits(addr->ip, ip) >= addr->prefix_len;
}

/*
 * Rate a device by its configured networks and gateway. Addresses of a kernel interface do not
 * count, because the kernel's routes decide for these addresses.
 */
static int
rate_own_networks(const struct uroce_dev *dev, struct candidate *of)
{
	const uint8_t *const gw = of->dst->ip_version == 4 ? dev->conf.gw4 : dev->conf.gw6;
	static const uint8_t none[16];
	const bool has_gw = memcmp(gw, none, sizeof(none)) != 0;
	int best = RATING_NONE;

	for (unsigned i = 0; i < of->gids.nb; i++) {
		int rating = RATING_NONE;

		if (!may_be_source(of, i) || of->gids.kernels >> i & 1)
			continue;
		if (is_in_network(&of->gids.addr[i], of->dip.raw))
			rating = RATING_NETWORK + of->gids.addr[i].prefix_len;
		else if (has_gw && (of->src != NULL || is_in_network(&of->gids.addr[i], gw)))
			rating = RATING_GATEWAY;
		if (rating > best) {
			best = rating;
			of->src_idx = i;
		}
	}
	return best;
}

/*
 * Get the index in the GID table of the source address that the kernel prefers. If this address may
 * not be the source, get the index of the first address of the kernel interface that may be.
 * @return the index; -1: no address may be the source
 */
static int
kernels_source(const struct candidate *of, const uint8_t preferred[16])
{
	const int idx = uroce_gid_find(&of->gids, preferred);

	if (idx >= 0 && may_be_source(of, (unsigned)idx))
		return idx;
	for (unsigned i = 0; i < of->gids.nb; i++)
		if (may_be_source(of, i) && of->gids.kernels >> i & 1)
			return (int)i;
	return -1;
}

/* Rate a device by the kernel's route to the destination. */
static int
rate_kernels_route(struct candidate *of)
{
	struct uroce_netlink_output path;
	/* a given source address, or a scope, determines the kernel interface */
	const bool is_given = of->src != NULL || of->scope != 0;
	int ret, idx;

	if (of->if_index == 0 || of->gids.kernels == 0)
		return RATING_NONE;
	ret = uroce_netlink_path(is_given ? (int)of->if_index : 0, of->dip.raw, &path);
	if (ret != 0) {
		of->error = ret;
		return RATING_NONE;
	}
	if (path.if_index != (int)of->if_index)
		return RATING_NONE;
	idx = kernels_source(of, path.src);
	if (idx < 0)
		return RATING_NONE;
	of->src_idx = (unsigned)idx;
	return RATING_KERNEL;
}

/* Whether a device sends and receives its frames by UDP sockets, of this process or of uroced. */
static bool
is_on_sockets(const struct uroce_dev *dev)
{
	return dev->port ? dev->port->policy->is_udp : dev->conf.is_udp || dev->plan.host.is_udp;
}

/*
 * Rate a device on UDP sockets: the kernel must have a route to the destination, which may be an
 * address of the same host, for another process. If the sockets belong to uroced, all addresses of
 * the device are treated as addresses of the kernel.
 */
static int
rate_sockets(const struct uroce_dev *dev, struct candidate *of)
{
	uint8_t preferred[16] = { 0 };
	int ret, idx;

	if (dev->conf.is_attached)
		of->gids.kernels = UINT32_MAX;
	/*
	 * The error is ignored, because uroce_dev_check_socket_route() returns the reason if the
	 * kernel has no source address for the destination.
	 */
	(void)uroce_udp_socket_find_source(of->dip.raw, (int)of->if_index, preferred);
	idx = kernels_source(of, preferred);
	ret = idx < 0 ? -ENETUNREACH
		      : uroce_dev_check_socket_route(dev, of->gids.addr[idx].ip, of->dip.raw);
	if (ret < 0) {
		of->error = ret;
		return RATING_NONE;
	}
	of->src_idx = (unsigned)idx;
	return memcmp(of->gids.addr[idx].ip, preferred, sizeof(preferred)) == 0
		       ? RATING_KERNEL
		       : RATING_OTHER_SOURCE;
}

/* Rate a device for a destination that is one of its own addresses. */
static int
rate_self(struct candidate *of)
{
	const int idx = uroce_gid_find(&of->gids, of->dip.raw);

	if (idx < 0)
		return RATING_NONE;
	of->src_idx = (unsigned)idx;
	for (unsigned i = 0; i < of->gids.nb && of->src != NULL; i++)
		if (may_be_source(of, i))
			of->src_idx = i;
	return RATING_SELF;
}

/* Rate a device for a multicast group: any address of the group's IP version can be the source. */
static int
rate_group(struct candidate *of)
{
	for (unsigned i = 0; i < of->gids.nb; i++) {
		if (!may_be_source(of, i))
			continue;
		of->src_idx = i;
		return RATING_GROUP;
	}
	return RATING_NONE;
}

static int
rate_device(const struct uroce_vcm_device *device, struct candidate *of)
{
	const struct uroce_dev *const dev = uroce_vcontext_dev(device->own);
	int rating;

	uroce_vcm_device_gids(device, &of->gids);
	of->if_index = uroce_vcm_device_if_index(device);
	if (of->scope != 0 && of->if_index != 0 && of->scope != of->if_index)
		return RATING_NONE;
	rating = rate_self(of);
	if (rating == RATING_NONE)
		rating = is_on_sockets(dev) ? rate_sockets(dev, of) : rate_kernels_route(of);
	if (rating == RATING_NONE)
		rating = rate_own_networks(dev, of);
	if (rating == RATING_NONE && uroce_vcm_addr_is_group(of->dst))
		rating = rate_group(of);
	return rating;
}

/*
 * Choose the address of a device that replaces a loopback address. The first address of the IP
 * version that is not link-local is chosen, or else a link-local one.
 * @return the index of the address in the GID table; -1: the device has no address of the IP
 *         version
 */
static int
first_of_family(const struct uroce_vcm_device *device, uint8_t ip_version)
{
	struct uroce_gid_table gids;
	int link_local = -1;

	uroce_vcm_device_gids(device, &gids);
	for (unsigned i = 0; i < gids.nb; i++) {
		if (uroce_gid_is_empty(&gids, i) || !is_family(gids.addr[i].ip, ip_version))
			continue;
		if (!is_link_local_gid(gids.addr[i].ip))
			return (int)i;
		link_local = (int)i;
	}
	return link_local;
}

static void
addr_at(const struct uroce_vcm_device *device, int idx, struct uroce_cm_addr *addr)
{
	struct uroce_gid_table gids;

	uroce_vcm_device_gids(device, &gids);
	uroce_vcm_addr_from_gid(gids.addr[idx].ip, addr->port, addr);
}

/* Whether a device has loopback addresses itself, which only a device on UDP sockets can have. */
static bool
has_loopback_gid(const struct uroce_vcm_device *device, uint8_t ip_version)
{
	struct uroce_gid_table gids;

	uroce_vcm_device_gids(device, &gids);
	for (unsigned i = 0; i < gids.nb; i++) {
		struct uroce_cm_addr addr;

		if (uroce_gid_is_empty(&gids, i))
			continue;
		uroce_vcm_addr_from_gid(gids.addr[i].ip, 0, &addr);
		if (addr.ip_version == ip_version && uroce_vcm_addr_is_loopback(&addr))
			return true;
	}
	return false;
}

/*
 * Whether an address is a loopback address that means an address of some device. If a device has
 * loopback addresses, each of them is an address like any other.
 */
static bool
is_for_any_device(const struct uroce_vcm_device *first, const struct uroce_cm_addr *addr)
{
	if (!uroce_vcm_addr_is_loopback(addr))
		return false;
	for (const struct uroce_vcm_device *at = first; at != NULL; at = at->next)
		if (has_loopback_gid(at, addr->ip_version))
			return false;
	return true;
}

static int
find_loopback(struct uroce_vcm_device *first, struct uroce_cm_addr *addr,
	      struct uroce_vcm_device **device)
{
	for (struct uroce_vcm_device *at = first; at != NULL; at = at->next) {
		const int idx = first_of_family(at, addr->ip_version);

		if (idx < 0)
			continue;
		addr_at(at, idx, addr);
		*device = at;
		return 0;
	}
	return -EADDRNOTAVAIL;
}

int
uroce_vcm_route_find_local(struct uroce_cm_addr *addr, uint32_t scope,
			   struct uroce_vcm_device **device)
{
	struct uroce_vcm_device *first;
	int ret = uroce_vcm_device_open_all(&first);
	union ibv_gid gid;

	if (first == NULL)
		return ret != 0 ? ret : -ENODEV;
	if (is_for_any_device(first, addr))
		return find_loopback(first, addr, device);
	uroce_vcm_addr_to_gid(addr, &gid);
	for (struct uroce_vcm_device *at = first; at != NULL; at = at->next) {
		const unsigned if_index = uroce_vcm_device_if_index(at);

		if (uroce_vcm_device_find_gid(at, &gid) < 0 ||
		    (scope != 0 && if_index != 0 && scope != if_index))
			continue;
		*device = at;
		return 0;
	}
	return -EADDRNOTAVAIL;
}

/*
 * Choose the route to a loopback destination. If `device` is NULL, the destination becomes an
 * address of the first device that has an address of the IP version. Otherwise the destination
 * becomes the source address, or, without a source address, an address of `device`.
 */
static int
choose_loopback(const struct uroce_cm_addr *dst, struct uroce_vcm_device *device,
		const struct uroce_cm_addr *src, struct uroce_vcm_route *route)
{
	int ret = 0;

	route->dst = *dst;
	route->device = device;
	if (device == NULL)
		ret = uroce_vcm_route_find_local(&route->dst, 0, &route->device);
	else if (src != NULL)
		memcpy(route->dst.ip, src->ip, sizeof(src->ip));
	else
		ret = first_of_family(device, dst->ip_version);
	if (ret < 0)
		return -ENETUNREACH;
	if (device != NULL && src == NULL)
		addr_at(device, ret, &route->dst);
	route->src = route->dst;
	route->src.port = 0;
	return 0;
}

int
uroce_vcm_route_choose(const struct uroce_cm_addr *dst, uint32_t scope,
		       struct uroce_vcm_device *device, const struct uroce_cm_addr *src,
		       struct uroce_vcm_route *route)
{
	struct candidate of = { .dst = dst, .src = src, .scope = scope };
	struct uroce_vcm_device *first;
	int best = RATING_NONE;
	const int ret = uroce_vcm_device_open_all(&first);

	if (first == NULL)
		return ret != 0 ? ret : -ENODEV;
	if (is_for_any_device(first, dst))
		return choose_loopback(dst, device, src, route);
	uroce_vcm_addr_to_gid(dst, &of.dip);
	for (struct uroce_vcm_device *at = first; at != NULL; at = at->next) {
		const int rating =
			device == NULL || at == device ? rate_device(at, &of) : RATING_NONE;

		if (rating <= best)
			continue;
		best = rating;
		*route = (struct uroce_vcm_route){ .device = at, .dst = *dst };
		uroce_vcm_addr_from_gid(of.gids.addr[of.src_idx].ip, 0, &route->src);
	}
	if (best != RATING_NONE)
		return 0;
	return of.error == -EHOSTUNREACH ? -EHOSTUNREACH : -ENETUNREACH;
}
