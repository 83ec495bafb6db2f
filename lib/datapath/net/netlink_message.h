/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_NETLINK_MESSAGE_H
#define UROCE_DATAPATH_NETLINK_MESSAGE_H

/**
 * @file
 * The rtnetlink messages of netlink.h: requests, replies and notifications. These functions use no
 * sockets.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/netlink.h>

/** A buffer for rtnetlink messages: a request, a reply, or several notifications. */
union uroce_netlink_message {
	struct nlmsghdr hdr;
	uint8_t bytes[4096];
};

/** The interface and the source address by which the kernel sends to an address. */
struct uroce_netlink_output {
	int if_index;    /* interface that the packets leave by */
	uint8_t src[16]; /* source address that the kernel chooses; all zero: no address */
};

/**
 * uroce_netlink_put_route(): build a request for the route to `dip` over an interface; if
 * `if_index` is 0, over any interface.
 *
 * uroce_netlink_put_neigh(): build a request for the MAC of a neighbour on an interface.
 */
void uroce_netlink_put_route(union uroce_netlink_message *msg, int if_index, const uint8_t dip[16]);
void uroce_netlink_put_neigh(union uroce_netlink_message *msg, int if_index, const uint8_t ip[16]);

/**
 * Parse the reply to a route request. The reply has `len` bytes.
 * @return as uroce_netlink_route()
 */
int uroce_netlink_get_route(const union uroce_netlink_message *msg, size_t len,
			    const uint8_t dip[16], uint8_t next_hop[16], bool *is_local);

/**
 * Parse the reply to a route request: find the interface and the source address to `dip`.
 * @return 0; -ENETUNREACH: there is no route, or the address is one of this host; another -errno
 */
int uroce_netlink_get_path(const union uroce_netlink_message *msg, size_t len,
			   const uint8_t dip[16], struct uroce_netlink_output *path);

/**
 * Parse the reply to a neighbour request. The reply has `len` bytes.
 * @return as uroce_netlink_neigh()
 */
int uroce_netlink_get_neigh(const union uroce_netlink_message *msg, size_t len, uint8_t mac[6]);

/**
 * Whether one of the rtnetlink notifications in `msg` is about an address of this interface.
 * @param if_index  0: of any interface
 */
bool uroce_netlink_has_addr(const union uroce_netlink_message *msg, size_t len, int if_index);

#endif /* UROCE_DATAPATH_NETLINK_MESSAGE_H */
