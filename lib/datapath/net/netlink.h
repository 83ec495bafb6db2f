/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_NETLINK_H
#define UROCE_DATAPATH_NETLINK_H

/**
 * @file
 * Queries to the kernel by rtnetlink: the next hop of the route to an address, and the MAC of a
 * neighbour. Each call opens its own socket, sends a request and waits for the reply, which the
 * kernel sends at once. These calls are for the control path only.
 *
 * This file also provides notifications of changes of addresses and links, on a socket that stays
 * open.
 *
 * Addresses are 16 bytes; IPv4 addresses are in their IPv4-mapped form.
 */

#include <stdbool.h>
#include <stdint.h>

#include "datapath/net/netlink_message.h"

/**
 * Query the kernel for the next hop of the route to `dip` over an interface: the gateway, or `dip`
 * itself.
 * @param[out] is_local  whether `dip` is an address of this host
 * @return 0, -ENETUNREACH, or another -errno
 */
int uroce_netlink_route(int if_index, const uint8_t dip[16], uint8_t next_hop[16], bool *is_local);

/**
 * Query the kernel for the interface and the source address to `dip`.
 * @param if_index  the only interface that may be used; 0: any
 * @param[out] path  written on success
 * @return as uroce_netlink_route(); -ENETUNREACH also if `dip` is an address of this host
 */
int uroce_netlink_path(int if_index, const uint8_t dip[16], struct uroce_netlink_output *path);

/**
 * Query the kernel for the MAC of a neighbour.
 * @return 0; -ENOENT: the kernel does not know the MAC at present; another -errno
 */
int uroce_netlink_neigh(int if_index, const uint8_t ip[16], uint8_t mac[6]);

/**
 * Open a descriptor that receives notifications of address changes, of all interfaces.
 * @return the descriptor, or -errno
 */
int uroce_netlink_watch_addrs(void);

/**
 * Open a descriptor that receives notifications of link changes, of all interfaces.
 * @return the descriptor, or -errno
 */
int uroce_netlink_watch_links(void);

/**
 * Read the pending notifications of a descriptor of uroce_netlink_watch_addrs() or
 * uroce_netlink_watch_links(), without waiting.
 * @param if_index  0: all interfaces
 * @return whether a notification is about an address of this interface, or notifications were lost
 */
bool uroce_netlink_take_changes(int fd, int if_index);

#endif /* UROCE_DATAPATH_NETLINK_H */
