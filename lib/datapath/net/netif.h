/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_NETIF_H
#define UROCE_DATAPATH_NETIF_H

/**
 * @file
 * The kernel's network interface that a port shares (AF_PACKET, AF_XDP): its addresses and its
 * state, and how the library uses addresses that are also the kernel's.
 *
 * All sockets belong to the network namespace in which they were opened. The interface is
 * identified by its index in this namespace.
 */

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "datapath/device/conf.h"

struct uroce_netif {
	int if_index;
	char name[IF_NAMESIZE];
	/*
	 * Datagram socket bound to the interface, for ioctl() and to make the kernel resolve
	 * neighbours.
	 */
	int fd;
	int fd6; /* like `fd`, for IPv6; -1: the host has no IPv6 */
	/*
	 * Occupies UDP port 4791, so that the kernel does not reply with "port unreachable"; -1:
	 * none.
	 */
	int guard_fd;
	int guard_fd6;
	int news_fd; /* rtnetlink socket that notifies of address changes; -1: not available */
};

/**
 * Open an interface.
 * @return 0, or -errno: ENODEV no such interface, EPERM not allowed to bind to it
 */
int uroce_netif_open(struct uroce_netif *netif, int if_index);
void uroce_netif_close(struct uroce_netif *netif);

/**
 * Read the addresses of an interface, link-local addresses last.
 * @return number of addresses, at most `room`; or -errno
 */
int uroce_netif_addrs(unsigned if_index, struct uroce_addr *addr, int room);

/**
 * Whether addresses were added or removed since the latest call, or since the interface was opened.
 */
bool uroce_netif_has_changed(const struct uroce_netif *netif);

/** The MTU: bytes of the largest IP packet; 0: unknown. */
uint32_t uroce_netif_mtu(const struct uroce_netif *netif);

/**
 * Read the MAC of the interface.
 * @return 0, or -errno: ENODEV, EAFNOSUPPORT for an interface that is not Ethernet
 */
int uroce_netif_mac(const struct uroce_netif *netif, uint8_t mac[6]);

/**
 * Whether the interface is up.
 * @return 1: up and running; 0: down; -ENODEV: the interface was removed
 */
int uroce_netif_is_up(const struct uroce_netif *netif);

/** Prevent the kernel from replying to RoCE packets for its addresses. Best effort. */
void uroce_netif_guard(struct uroce_netif *netif);

/**
 * Make the kernel join a multicast group on the interface. The interface's filter then accepts the
 * group's frames, and the kernel reports the group to routers. The kernel leaves the group when the
 * descriptor is closed.
 * @return a descriptor, or -errno
 */
int uroce_netif_join(const struct uroce_netif *netif, const uint8_t gid[16]);

/**
 * Read the MAC of the next hop to `dip` from the kernel. If the kernel does not know the MAC, it is
 * made to resolve it.
 * @param[out] is_local  `dip` is an address of this host
 * @return 0; -EAGAIN: not known yet, try again later; -ENETUNREACH; another -errno
 */
int uroce_netif_resolve(const struct uroce_netif *netif, const uint8_t dip[16], uint8_t mac[6],
			bool *is_local);

#endif /* UROCE_DATAPATH_NETIF_H */
