/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Calls of rtnetlink. A call sends a request, and the reply is one message or an error: see
 * rtnetlink(7).
 */

#include "datapath/net/netlink.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>
#include <linux/rtnetlink.h>

#include "datapath/net/netlink_message.h"

/*
 * Send an rtnetlink request to the kernel, and store the reply in the memory of the request.
 * @return length of the reply, or -errno
 */
static ssize_t
query_kernel(union uroce_netlink_message *msg)
{
	const struct timeval timeout = { .tv_usec = 200000 };
	const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	ssize_t len;

	if (fd < 0)
		return -errno;
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	len = send(fd, msg, msg->hdr.nlmsg_len, 0);
	if (len >= 0)
		len = recv(fd, msg, sizeof(*msg), 0);
	if (len < 0)
		len = -errno;
	close(fd);
	return len;
}

int
uroce_netlink_route(int if_index, const uint8_t dip[16], uint8_t next_hop[16], bool *is_local)
{
	union uroce_netlink_message msg;
	ssize_t len;

	uroce_netlink_put_route(&msg, if_index, dip);
	len = query_kernel(&msg);
	return len < 0 ? (int)len
		       : uroce_netlink_get_route(&msg, (size_t)len, dip, next_hop, is_local);
}

int
uroce_netlink_path(int if_index, const uint8_t dip[16], struct uroce_netlink_output *path)
{
	union uroce_netlink_message msg;
	ssize_t len;

	uroce_netlink_put_route(&msg, if_index, dip);
	len = query_kernel(&msg);
	return len < 0 ? (int)len : uroce_netlink_get_path(&msg, (size_t)len, dip, path);
}

int
uroce_netlink_neigh(int if_index, const uint8_t ip[16], uint8_t mac[6])
{
	union uroce_netlink_message msg;
	ssize_t len;

	uroce_netlink_put_neigh(&msg, if_index, ip);
	len = query_kernel(&msg);
	return len < 0 ? (int)len : uroce_netlink_get_neigh(&msg, (size_t)len, mac);
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

bool
uroce_netlink_take_changes(int fd, int if_index)
{
	union uroce_netlink_message msg;
	bool is_ours = false;
	ssize_t len;

	while ((len = recv(fd, &msg, sizeof(msg), 0)) > 0)
		is_ours |= uroce_netlink_has_addr(&msg, (size_t)len, if_index);
	return is_ours || (len < 0 && errno == ENOBUFS);
}
