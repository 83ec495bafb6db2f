/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_UDP_PORT_H
#define UROCE_DATAPATH_UDP_PORT_H

/**
 * @file
 * The port `udp`: RoCEv2 on UDP sockets of the kernel. It needs no privilege, because a RoCEv2
 * packet is the payload of a datagram to UDP port 4791, and any user may bind this UDP port.
 *
 * The port is not an ethdev port. The kernel has the addresses, routes, neighbours and VLANs. A
 * worker exchanges Ethernet frames with this port as with any other. The port takes frames apart
 * for transmission, and puts headers in front of received datagrams. Each worker has a queue, which
 * consists of sockets:
 *
 *	udp_port.c    opening and closing, addresses and interface
 *	udp_group.c   multicast groups
 *	udp_socket.c  a socket: its options and its address
 *	udp_tx.c      transmit, by the thread that drives the worker
 *	udp_rx.c      receive, by the same thread
 *	udp_frame.c   the headers of received frames
 *	udp_error.c   errors that the network reports by ICMP
 *	udp_counter.c counters, read by any thread
 *	udp_fork.c    children of fork(), which close their copies of the sockets
 *
 * The kernel determines two fields that the ICRC covers. The source port is always 4791, and the
 * paths of the device have this source port. The identification of IPv4 is 0 in a single datagram.
 * If the kernel cuts datagrams from one message (UDP_SEGMENT), they have the identifications 0, 1,
 * 2, and so on. The transmit side corrects their ICRCs.
 */

#include <stdbool.h>
#include <stdint.h>
#include <rte_mbuf.h>

#include "datapath/device/conf.h"

/** Maximum number of multicast groups that need a socket. */
#define UROCE_UDP_GROUPS_MAX 64u

struct uroce_port;
struct uroce_udp_queue;

/**
 * MAC of all other hosts in the frames of a port `udp`, because the kernel does not report MACs.
 */
extern const uint8_t uroce_udp_peer_mac[6];

/** The state of a port `udp` that other ports do not have. */
struct uroce_udp_port {
	struct uroce_udp_port *next; /* next port `udp` in the list of this process (udp_fork.c) */
	uint16_t nb_queues;
	struct uroce_udp_queue *queue[UROCE_WORKERS_MAX];
	/*
	 * The host has the addresses of the configuration. The thread that checks links sets this
	 * field.
	 */
	bool has_addrs;
};

/** The properties of a port `udp` before it is open. */
struct uroce_udp_plan {
	uint8_t mac[6];
	uint32_t frame_limit; /* length of the longest frame in bytes, as in struct uroce_port */
	int if_index;         /* index of the interface; 0: all interfaces of the host */
};

/**
 * Plan a port `udp`: determine its properties without opening sockets.
 * @return 0, or -errno after one logged line: ENODEV (no such interface, or the host does not have
 *   the address)
 */
int uroce_udp_port_plan(const struct uroce_dev_conf *conf, struct uroce_udp_plan *plan);

/**
 * Open the sockets of a port, a queue for each worker, and determine the MAC and the longest frame.
 * @return 0, or -errno after one logged line: ENODEV (no such interface, or the host does not have
 *   the address), EADDRINUSE (another socket has UDP port 4791 at an address of the port), EPERM
 *   (the kernel lets only privileged users bind a socket to an interface), ENOMEM
 */
int uroce_udp_port_open(struct uroce_port *port, const struct uroce_dev_conf *conf);

/** Close the sockets of a port. No thread may receive or transmit any more. `udp` may be NULL. */
void uroce_udp_port_close(struct uroce_udp_port *udp);

/**
 * Whether the kernel's interface is up, and the host has the addresses of the configuration. A port
 * with all addresses of the host is always up. One thread at a time may call this function.
 */
bool uroce_udp_port_is_up(struct uroce_port *port);

/** Get the descriptor that polls readable when a queue has received datagrams. */
int uroce_udp_port_wakeup_fd(const struct uroce_udp_port *udp, uint16_t queue);

/**
 * Tell a queue that its descriptor did not poll readable when the waiting thread woke. The next
 * receive burst of the queue makes no system call and returns no frames, so that the thread handles
 * earlier what has woken it, such as a doorbell. Any thread may call this function.
 */
void uroce_udp_port_found_empty(struct uroce_udp_port *udp, uint16_t queue);

/* The functions from here to uroce_udp_port_leave() are in udp_group.c. */

/**
 * Whether each multicast group needs a socket, by uroce_udp_port_join(). If not, the sockets of the
 * port receive the datagrams of a group as soon as the kernel has joined it.
 */
bool uroce_udp_port_has_group_sockets(const struct uroce_port *port);

/**
 * Open a socket for a multicast group, on the first queue.
 * @lcore The thread that holds the lock of the first worker.
 * @return 0, or -errno: ENOMEM (too many groups), or an error of the kernel
 */
int uroce_udp_port_join(const struct uroce_port *port, const uint8_t gid[16]);

/** Close the socket of a multicast group. @lcore As uroce_udp_port_join(). */
void uroce_udp_port_leave(const struct uroce_port *port, const uint8_t gid[16]);

/* The function uroce_udp_port_tx() is in udp_tx.c, uroce_udp_port_rx() is in udp_rx.c. */

/**
 * Receive and transmit bursts, with the arguments and results of rte_eth_rx_burst() and
 * rte_eth_tx_burst(). A frame that the kernel refuses is freed, as if the network had lost it.
 * @param[out] nb_lost  number of frames that the kernel refused, which are part of the result
 */
uint16_t uroce_udp_port_rx(const struct uroce_port *port, uint16_t queue, struct rte_mbuf **frames,
			   uint16_t nb);
uint16_t uroce_udp_port_tx(const struct uroce_port *port, uint16_t queue, struct rte_mbuf **frames,
			   uint16_t nb, unsigned *nb_lost);

#endif /* UROCE_DATAPATH_UDP_PORT_H */
