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

/**
 * UDP port of the empty datagrams that make the kernel resolve a neighbour: the port of the discard
 * service [RFC 863].
 */
#define UROCE_NETIF_DISCARD_PORT 9

struct uroce_netif {
	/* index of the interface; 0: all interfaces, see uroce_netif_open_unbound() */
	int if_index;
	char name[IF_NAMESIZE];
	/*
	 * Datagram socket bound to the interface, for ioctl() and to make the kernel resolve
	 * neighbours.
	 */
	int fd;
	int fd6; /* datagram socket like `fd`, for IPv6; -1: the host has no IPv6 */
	/*
	 * Sockets (IPv4 and IPv6) that are bound to UDP port 4791, so that the kernel does not
	 * reply to RoCE packets with "port unreachable"; -1: the socket is not open.
	 */
	int guard_fd;
	int guard_fd6;
	/* rtnetlink socket that notifies of changes of addresses; -1: there is no socket */
	int news_fd;
};

/**
 * Open a kernel interface.
 * @return 0, or -errno: ENODEV (no such interface), EPERM (not allowed to bind to it)
 */
int uroce_netif_open(struct uroce_netif *netif, int if_index);
void uroce_netif_close(struct uroce_netif *netif);

/**
 * Open a kernel interface, or all interfaces of the host, without a socket that is bound to it.
 * Some kernels require a privilege for such a socket. uroce_netif_resolve() must not be called with
 * `netif`.
 * @param if_index  0: all interfaces; then uroce_netif_mtu(), uroce_netif_mac() and
 *   uroce_netif_is_up() must not be called either
 * @return 0, or -errno: ENODEV (no such interface)
 */
int uroce_netif_open_unbound(struct uroce_netif *netif, int if_index);

/**
 * Read the addresses of all interfaces that are up, without link-local addresses. Addresses of the
 * loopback interface are read only if there are no others.
 * @param[out] mtu  least MTU of these interfaces; may be NULL
 * @return number of addresses, at most `room`; or -errno
 */
int uroce_netif_host_addrs(struct uroce_addr *addr, int room, uint32_t *mtu);

/**
 * Read the addresses of an interface, link-local addresses last.
 * @return number of addresses, at most `room`; or -errno
 */
int uroce_netif_addrs(unsigned if_index, struct uroce_addr *addr, int room);

/**
 * Whether addresses of the interface were added or removed since the last call of this function, or
 * since the interface was opened.
 */
bool uroce_netif_has_changed(const struct uroce_netif *netif);

/** Get the MTU of the interface: the length of the largest IP packet in bytes; 0: unknown. */
uint32_t uroce_netif_mtu(const struct uroce_netif *netif);

/**
 * Read the MAC of the interface.
 * @return 0, or -errno: ENODEV, or EAFNOSUPPORT for an interface that is not Ethernet
 */
int uroce_netif_mac(const struct uroce_netif *netif, uint8_t mac[6]);

/**
 * Whether the interface is up.
 * @return 1: up and running; 0: down; -ENODEV: the interface was removed
 */
int uroce_netif_is_up(const struct uroce_netif *netif);

/**
 * Prevent the kernel from replying to RoCE packets to the addresses of the interface. If this
 * fails, the interface is used nevertheless.
 */
void uroce_netif_guard(struct uroce_netif *netif);

/**
 * Make the kernel join a multicast group on the interface. The interface's filter then accepts the
 * group's frames, and the kernel reports the group to routers. The kernel leaves the group when the
 * descriptor is closed.
 * @return a socket descriptor, or -errno
 */
int uroce_netif_join(const struct uroce_netif *netif, const uint8_t gid[16]);

/**
 * Read the MAC of the next hop to `dip` from the kernel. If the kernel does not know the MAC, this
 * call makes the kernel resolve the MAC.
 * @param[out] is_local  whether `dip` is an address of this host
 * @return 0; -EAGAIN: the MAC is not known yet, try again later; -ENETUNREACH; another -errno
 */
int uroce_netif_resolve(const struct uroce_netif *netif, const uint8_t dip[16], uint8_t mac[6],
			bool *is_local);

#endif /* UROCE_DATAPATH_NETIF_H */
