/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * rtnetlink: a request is a header, a fixed part and attributes; the answer is one message of the
 * same make, or an error. See rtnetlink(7).
 */

#include "datapath/netlink.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>
#include <linux/neighbour.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include "wire/build.h"

/* A request or an answer, whichever fixed part it has. */
union message {
	struct nlmsghdr hdr;
	uint8_t bytes[4096];
};

static void
put_attr(union message *msg, uint16_t type, const void *data, uint16_t len)
{
	const uint32_t at = NLMSG_ALIGN(msg->hdr.nlmsg_len);
	struct rtattr *attr = (struct rtattr *)(msg->bytes + at);

	attr->rta_type = type;
	attr->rta_len = (uint16_t)RTA_LENGTH(len);
	memcpy(RTA_DATA(attr), data, len);
	msg->hdr.nlmsg_len = at + (uint32_t)RTA_ALIGN(attr->rta_len);
}

static void
put_ip(union message *msg, uint16_t type, const uint8_t ip[16])
{
	if (uroce_ip_is_v4(ip))
		put_attr(msg, type, ip + 12, 4);
	else
		put_attr(msg, type, ip, 16);
}

static uint8_t
get_family(const uint8_t ip[16])
{
	return uroce_ip_is_v4(ip) ? AF_INET : AF_INET6;
}

/* The answer's length was checked against what arrived. */
static int
check_netlink_reply(const union message *msg, ssize_t len)
{
	if (len < (ssize_t)sizeof(msg->hdr) || msg->hdr.nlmsg_len > (size_t)len)
		return -EPROTO;
	if (msg->hdr.nlmsg_type != NLMSG_ERROR)
		return 0;
	return ((const struct nlmsgerr *)NLMSG_DATA(&msg->hdr))->error;
}

/* Send the request and put the answer in its place. */
static int
query_kernel(union message *msg)
{
	const struct timeval timeout = { .tv_usec = 200000 };
	const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	ssize_t len;
	int ret = 0;

	if (fd < 0)
		return -errno;
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	if (send(fd, msg, msg->hdr.nlmsg_len, 0) < 0) {
		ret = -errno;
	} else {
		len = recv(fd, msg, sizeof(*msg), 0);
		ret = len < 0 ? -errno : check_netlink_reply(msg, len);
	}
	close(fd);
	return ret;
}

/* The data of an attribute that is `len` bytes long; NULL: there is none. */
static const void *
find_attr(const union message *msg, size_t fixed_len, uint16_t type, size_t len)
{
	const struct rtattr *attr = (const struct rtattr *)(msg->bytes + NLMSG_SPACE(fixed_len));
	int left = (int)(msg->hdr.nlmsg_len - NLMSG_SPACE(fixed_len));

	for (; RTA_OK(attr, left); attr = RTA_NEXT(attr, left)) {
		if (attr->rta_type == type && RTA_PAYLOAD(attr) == len)
			return RTA_DATA(attr);
	}
	return NULL;
}

/* A gateway of the other family (RTA_VIA) is not looked for: the kernel's own use of it is rare. */
static void
get_next_hop(const union message *msg, const uint8_t dip[16], uint8_t next_hop[16])
{
	const bool is_v4 = uroce_ip_is_v4(dip);
	const void *gateway = find_attr(msg, sizeof(struct rtmsg), RTA_GATEWAY, is_v4 ? 4 : 16);

	memcpy(next_hop, dip, 16);
	if (gateway)
		memcpy(next_hop + (is_v4 ? 12 : 0), gateway, is_v4 ? 4 : 16);
}

int
uroce_netlink_route(int if_index, const uint8_t dip[16], uint8_t next_hop[16], bool *is_local)
{
	union message msg = { .hdr = {
				      .nlmsg_len = NLMSG_LENGTH(sizeof(struct rtmsg)),
				      .nlmsg_type = RTM_GETROUTE,
				      .nlmsg_flags = NLM_F_REQUEST,
			      } };
	struct rtmsg *route = NLMSG_DATA(&msg.hdr);
	int ret;

	route->rtm_family = get_family(dip);
	route->rtm_dst_len = uroce_ip_is_v4(dip) ? 32 : 128;
	put_ip(&msg, RTA_DST, dip);
	put_attr(&msg, RTA_OIF, &if_index, sizeof(if_index));
	ret = query_kernel(&msg);
	if (ret < 0)
		return ret;
	if (msg.hdr.nlmsg_type != RTM_NEWROUTE)
		return -EPROTO;
	if (route->rtm_type != RTN_UNICAST && route->rtm_type != RTN_LOCAL)
		return -ENETUNREACH;
	*is_local = route->rtm_type == RTN_LOCAL;
	get_next_hop(&msg, dip, next_hop);
	return 0;
}

int
uroce_netlink_neigh(int if_index, const uint8_t ip[16], uint8_t mac[6])
{
	union message msg = { .hdr = {
				      .nlmsg_len = NLMSG_LENGTH(sizeof(struct ndmsg)),
				      .nlmsg_type = RTM_GETNEIGH,
				      .nlmsg_flags = NLM_F_REQUEST,
			      } };
	struct ndmsg *neigh = NLMSG_DATA(&msg.hdr);
	const uint16_t known =
		NUD_PERMANENT | NUD_NOARP | NUD_REACHABLE | NUD_PROBE | NUD_STALE | NUD_DELAY;
	const void *lladdr;
	int ret;

	neigh->ndm_family = get_family(ip);
	neigh->ndm_ifindex = if_index;
	put_ip(&msg, NDA_DST, ip);
	ret = query_kernel(&msg);
	if (ret < 0)
		return ret;
	if (msg.hdr.nlmsg_type != RTM_NEWNEIGH || !(neigh->ndm_state & known))
		return -ENOENT;
	lladdr = find_attr(&msg, sizeof(struct ndmsg), NDA_LLADDR, 6);
	if (!lladdr)
		return -ENOENT;
	memcpy(mac, lladdr, 6);
	return 0;
}

static int
open_notifications(uint32_t groups)
{
	const struct sockaddr_nl addr = { .nl_family = AF_NETLINK, .nl_groups = groups };
	const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
	int err;

	if (fd >= 0 && bind(fd, (const struct sockaddr *)&addr, sizeof(addr)) == 0)
		return fd;
	err = -errno;
	if (fd >= 0)
		close(fd);
	return err;
}

int
uroce_netlink_watch_addrs(void)
{
	return open_notifications(RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR);
}

int
uroce_netlink_watch_links(void)
{
	return open_notifications(RTMGRP_LINK);
}

static bool
is_of_interface(const struct nlmsghdr *hdr, int if_index)
{
	const struct ifaddrmsg *const addr = NLMSG_DATA(hdr);

	return (hdr->nlmsg_type == RTM_NEWADDR || hdr->nlmsg_type == RTM_DELADDR) &&
	       hdr->nlmsg_len >= NLMSG_LENGTH(sizeof(*addr)) &&
	       addr->ifa_index == (unsigned)if_index;
}

bool
uroce_netlink_take_changes(int fd, int if_index)
{
	union message msg;
	bool is_ours = false;
	ssize_t len;

	while ((len = recv(fd, &msg, sizeof(msg), 0)) > 0) {
		unsigned left = (unsigned)len;

		for (const struct nlmsghdr *hdr = &msg.hdr; NLMSG_OK(hdr, left);
		     hdr = NLMSG_NEXT(hdr, left))
			is_ours |= is_of_interface(hdr, if_index);
	}
	return is_ours || (len < 0 && errno == ENOBUFS);
}
