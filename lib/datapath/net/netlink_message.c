/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * rtnetlink messages. Each message consists of a header, a fixed part and attributes: see
 * rtnetlink(7).
 */

#include "datapath/net/netlink_message.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>

#include "wire/build.h"

#define ERRNO_MAX 4095 /* largest error number of the kernel */

static void
put_attr(union uroce_netlink_message *msg, uint16_t type, const void *data, uint16_t len)
{
	const uint32_t at = NLMSG_ALIGN(msg->hdr.nlmsg_len);
	struct rtattr *attr = (struct rtattr *)(msg->bytes + at);

	attr->rta_type = type;
	attr->rta_len = (uint16_t)RTA_LENGTH(len);
	memcpy(RTA_DATA(attr), data, len);
	msg->hdr.nlmsg_len = at + (uint32_t)RTA_ALIGN(attr->rta_len);
}

static void
put_ip(union uroce_netlink_message *msg, uint16_t type, const uint8_t ip[16])
{
	if (uroce_ip_is_v4(ip))
		put_attr(msg, type, ip + 12, 4);
	else
		put_attr(msg, type, ip, 16);
}

static uint8_t
family_of(const uint8_t ip[16])
{
	return uroce_ip_is_v4(ip) ? AF_INET : AF_INET6;
}

void
uroce_netlink_put_route(union uroce_netlink_message *msg, int if_index, const uint8_t dip[16])
{
	struct rtmsg *route = NLMSG_DATA(&msg->hdr);

	memset(msg, 0, sizeof(*msg));
	msg->hdr = (struct nlmsghdr){
		.nlmsg_len = NLMSG_LENGTH(sizeof(*route)),
		.nlmsg_type = RTM_GETROUTE,
		.nlmsg_flags = NLM_F_REQUEST,
	};
	route->rtm_family = family_of(dip);
	route->rtm_dst_len = uroce_ip_is_v4(dip) ? 32 : 128;
	put_ip(msg, RTA_DST, dip);
	if (if_index > 0)
		put_attr(msg, RTA_OIF, &if_index, sizeof(if_index));
}

void
uroce_netlink_put_neigh(union uroce_netlink_message *msg, int if_index, const uint8_t ip[16])
{
	struct ndmsg *neigh = NLMSG_DATA(&msg->hdr);

	memset(msg, 0, sizeof(*msg));
	msg->hdr = (struct nlmsghdr){
		.nlmsg_len = NLMSG_LENGTH(sizeof(*neigh)),
		.nlmsg_type = RTM_GETNEIGH,
		.nlmsg_flags = NLM_F_REQUEST,
	};
	neigh->ndm_family = family_of(ip);
	neigh->ndm_ifindex = if_index;
	put_ip(msg, NDA_DST, ip);
}

/*
 * Get the fixed part of an rtnetlink message, such as struct rtmsg, which has `fixed_len` bytes.
 * @return the fixed part; NULL: the message is too short to have one
 */
static const void *
fixed_part(const struct nlmsghdr *hdr, size_t fixed_len)
{
	return hdr->nlmsg_len >= NLMSG_LENGTH(fixed_len) ? NLMSG_DATA(hdr) : NULL;
}

/*
 * Check a reply of the kernel to an rtnetlink request.
 * @return 0: the reply is complete; the error that the kernel reports; -EPROTO: the reply is
 *   malformed
 */
static int
check_answer(const union uroce_netlink_message *msg, size_t len)
{
	const struct nlmsgerr *error;

	if (len < sizeof(msg->hdr) || msg->hdr.nlmsg_len > len)
		return -EPROTO;
	if (msg->hdr.nlmsg_type != NLMSG_ERROR)
		return 0;
	error = fixed_part(&msg->hdr, sizeof(*error));
	return error && error->error < 0 && error->error >= -ERRNO_MAX ? error->error : -EPROTO;
}

/*
 * Find the attribute of an rtnetlink message that has this type, and whose data has `len` bytes.
 * @return the data of the attribute; NULL: there is no such attribute
 */
static const void *
find_attr(const union uroce_netlink_message *msg, size_t fixed_len, uint16_t type, size_t len)
{
	const struct rtattr *attr = (const struct rtattr *)(msg->bytes + NLMSG_SPACE(fixed_len));
	int left = (int)(msg->hdr.nlmsg_len - NLMSG_SPACE(fixed_len));

	for (; RTA_OK(attr, left); attr = RTA_NEXT(attr, left)) {
		if (attr->rta_type == type && RTA_PAYLOAD(attr) == len)
			return RTA_DATA(attr);
	}
	return NULL;
}

/*
 * Read the next hop of a route from an rtnetlink message. A gateway of the other address family
 * (RTA_VIA) is not supported, because it is rare.
 */
static void
get_next_hop(const union uroce_netlink_message *msg, const uint8_t dip[16], uint8_t next_hop[16])
{
	const bool is_v4 = uroce_ip_is_v4(dip);
	const void *gateway = find_attr(msg, sizeof(struct rtmsg), RTA_GATEWAY, is_v4 ? 4 : 16);

	memcpy(next_hop, dip, 16);
	if (gateway)
		memcpy(next_hop + (is_v4 ? 12 : 0), gateway, is_v4 ? 4 : 16);
}

/*
 * Read an IP address from the attribute `type` of an rtnetlink message, in the IPv4-mapped form if
 * `dip` is IPv4. If the message lacks the attribute, `ip` does not change.
 */
static void
get_ip(const union uroce_netlink_message *msg, uint16_t type, const uint8_t dip[16], uint8_t ip[16])
{
	const bool is_v4 = uroce_ip_is_v4(dip);
	const void *attr = find_attr(msg, sizeof(struct rtmsg), type, is_v4 ? 4 : 16);

	if (!attr)
		return;
	memcpy(ip, dip, 16);
	memcpy(ip + (is_v4 ? 12 : 0), attr, is_v4 ? 4 : 16);
}

int
uroce_netlink_get_path(const union uroce_netlink_message *msg, size_t len, const uint8_t dip[16],
		       struct uroce_netlink_output *path)
{
	const int *if_index;
	uint8_t next_hop[16];
	bool is_local;
	int ret = uroce_netlink_get_route(msg, len, dip, next_hop, &is_local);

	if (ret < 0)
		return ret;
	if_index = find_attr(msg, sizeof(struct rtmsg), RTA_OIF, sizeof(*if_index));
	if (is_local || !if_index)
		return -ENETUNREACH;
	*path = (struct uroce_netlink_output){ 0 };
	memcpy(&path->if_index, if_index, sizeof(*if_index));
	get_ip(msg, RTA_PREFSRC, dip, path->src);
	return 0;
}

int
uroce_netlink_get_route(const union uroce_netlink_message *msg, size_t len, const uint8_t dip[16],
			uint8_t next_hop[16], bool *is_local)
{
	const int ret = check_answer(msg, len);
	const struct rtmsg *route;

	if (ret < 0)
		return ret;
	route = fixed_part(&msg->hdr, sizeof(*route));
	if (msg->hdr.nlmsg_type != RTM_NEWROUTE || !route)
		return -EPROTO;
	if (route->rtm_type != RTN_UNICAST && route->rtm_type != RTN_LOCAL)
		return -ENETUNREACH;
	*is_local = route->rtm_type == RTN_LOCAL;
	get_next_hop(msg, dip, next_hop);
	return 0;
}

int
uroce_netlink_get_neigh(const union uroce_netlink_message *msg, size_t len, uint8_t mac[6])
{
	const uint16_t known =
		NUD_PERMANENT | NUD_NOARP | NUD_REACHABLE | NUD_PROBE | NUD_STALE | NUD_DELAY;
	const int ret = check_answer(msg, len);
	const struct ndmsg *neigh;
	const void *lladdr;

	if (ret < 0)
		return ret;
	neigh = fixed_part(&msg->hdr, sizeof(*neigh));
	if (msg->hdr.nlmsg_type != RTM_NEWNEIGH || !neigh || !(neigh->ndm_state & known))
		return -ENOENT;
	lladdr = find_attr(msg, sizeof(*neigh), NDA_LLADDR, 6);
	if (!lladdr)
		return -ENOENT;
	memcpy(mac, lladdr, 6);
	return 0;
}

static bool
is_of(const struct nlmsghdr *hdr, int if_index)
{
	const struct ifaddrmsg *const addr = fixed_part(hdr, sizeof(*addr));

	return (hdr->nlmsg_type == RTM_NEWADDR || hdr->nlmsg_type == RTM_DELADDR) && addr &&
	       (if_index == 0 || addr->ifa_index == (unsigned)if_index);
}

bool
uroce_netlink_has_addr(const union uroce_netlink_message *msg, size_t len, int if_index)
{
	const struct nlmsghdr *hdr;

	/*
	 * The length of the last message may not be a multiple of 4. In that case `at` exceeds
	 * `len` at the end of the loop.
	 */
	for (size_t at = 0; at < len; at += NLMSG_ALIGN(hdr->nlmsg_len)) {
		hdr = (const struct nlmsghdr *)(msg->bytes + at);
		if (!NLMSG_OK(hdr, len - at))
			return false;
		if (is_of(hdr, if_index))
			return true;
	}
	return false;
}
