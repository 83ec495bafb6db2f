/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_NETIF_H
#define UROCE_DATAPATH_NETIF_H

/**
 * @file
 * The kernel's network interface behind a port (AF_PACKET, AF_XDP): its addresses, its state, and
 * living beside the kernel on an address that is the kernel's.
 *
 * All sockets belong to the network namespace in which they were opened, and the interface is named
 * by its index there.
 */

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "datapath/conf.h"

struct uroce_netif {
	int if_index;
	char name[IF_NAMESIZE];
	int fd;       /* a datagram socket bound to the interface: ioctl, and to wake neighbours */
	int fd6;      /* the same for IPv6; -1: the host has none */
	int guard_fd; /* holds UDP 4791, so that the kernel answers no "port unreachable"; -1 */
	int guard_fd6;
	int news_fd; /* tells of changes of addresses; -1: it cannot be had */
};

/** @return 0, or -errno: ENODEV no such interface, EPERM not allowed to bind to it */
int uroce_netif_open(struct uroce_netif *netif, int if_index);
void uroce_netif_close(struct uroce_netif *netif);

/** An interface's addresses, link-local last. @return how many, at most `room`; or -errno */
int uroce_netif_addrs(unsigned if_index, struct uroce_addr *addr, int room);

/** Whether addresses came or went since it was asked last, or since the interface was opened. */
bool uroce_netif_has_changed(const struct uroce_netif *netif);

/** Bytes of the largest IP packet; 0: cannot be told. */
uint32_t uroce_netif_mtu(const struct uroce_netif *netif);

/** Its MAC. @return 0, or -errno: ENODEV, EAFNOSUPPORT it is no Ethernet */
int uroce_netif_mac(const struct uroce_netif *netif, uint8_t mac[6]);

/** @return 1 up and running, 0 down, -ENODEV the interface is gone */
int uroce_netif_is_up(const struct uroce_netif *netif);

/** Keep the kernel from answering RoCE frames to its addresses. Best effort. */
void uroce_netif_guard(struct uroce_netif *netif);

/**
 * Have the kernel join a group on the interface: what is sent to it passes the filter, and routers
 * are told. It leaves when the descriptor is closed.
 * @return a descriptor, or -errno
 */
int uroce_netif_join(const struct uroce_netif *netif, const uint8_t gid[16]);

/**
 * The MAC to send to for `dip`, asked of the kernel; where it does not know, it is made to ask.
 * @return 0; -EAGAIN: not known now, ask again later; -ENETUNREACH; another -errno
 */
int uroce_netif_resolve(const struct uroce_netif *netif, const uint8_t dip[16], uint8_t mac[6],
			bool *is_local);

#endif /* UROCE_DATAPATH_NETIF_H */
