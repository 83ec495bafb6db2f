/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_NETLINK_H
#define UROCE_DATAPATH_NETLINK_H

/**
 * @file
 * Two questions to the kernel, by rtnetlink: over which next hop does an address go, and what is
 * the MAC of a neighbour. Each call opens a socket of its own, asks, and waits for the answer,
 * which the kernel gives at once. Control path only.
 *
 * And its notices of addresses and links that come and go, on a socket that stays open.
 *
 * Addresses are 16 bytes, IPv4 in its mapped form.
 */

#include <stdbool.h>
#include <stdint.h>

/**
 * The next hop of the route to `dip` over an interface: the gateway, or `dip` itself.
 * @param[out] is_local  dip is an address of this host
 * @return 0, -ENETUNREACH, or another -errno
 */
int uroce_netlink_route(int if_index, const uint8_t dip[16], uint8_t next_hop[16], bool *is_local);

/** The MAC of a neighbour. @return 0, -ENOENT when the kernel does not know it now, or -errno */
int uroce_netlink_neigh(int if_index, const uint8_t ip[16], uint8_t mac[6]);

/** @return a descriptor that gets notices of addresses, of all interfaces; or -errno */
int uroce_netlink_watch_addrs(void);

/** The same of interfaces that change: their state, above all. */
int uroce_netlink_watch_links(void);

/**
 * Take the notices that there are, without waiting. @return whether one is of this interface's addresses, or some
 * were lost
 */
bool uroce_netlink_take_changes(int fd, int if_index);

#endif /* UROCE_DATAPATH_NETLINK_H */
