/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_UDP_SOCKET_H
#define UROCE_DATAPATH_UDP_SOCKET_H

/**
 * @file
 * A UDP socket of the port `udp`. It is bound to UDP port 4791, and never connected, because the
 * library cannot know the IPv4 identifications that the kernel gives the datagrams of a connected
 * socket. Its datagrams are never fragmented.
 */

#include <stdbool.h>
#include <stdint.h>

struct uroce_udp_socket {
	int fd; /* descriptor of the socket; -1: the socket is not open */
	bool is_ipv6;
	bool is_any;    /* the socket is bound to no particular address */
	uint8_t ip[16]; /* address to which the socket is bound, unless `is_any` is set */
	/* Index of the interface of link-local addresses; 0: unknown. */
	int if_index;
	/*
	 * Length in bytes of the datagrams of the latest received message of several datagrams; 0:
	 * the next message is expected to have one datagram.
	 */
	uint32_t segment_len;
	/*
	 * Number of consecutive received messages that had one datagram, or were so short that a
	 * copy to other mbufs was cheap.
	 */
	unsigned nb_cheap;
};

/** The parameters of a socket: the address and the interface to which it is bound. */
struct uroce_udp_socket_conf {
	bool is_ipv6;
	const uint8_t *ip;   /* address; NULL: any address of the host */
	const char *if_name; /* interface to which the socket is restricted; NULL: any interface */
	int if_index;        /* index of the interface of link-local addresses */
	/* `ip` is a multicast group, which the socket joins. */
	bool is_group;
	/* Another socket of this process is bound to the same address, see SO_REUSEPORT. */
	bool is_shared;
};

/**
 * Open a socket and bind it.
 * @return 0, or -errno
 */
int uroce_udp_socket_open(struct uroce_udp_socket *sock, const struct uroce_udp_socket_conf *conf);
void uroce_udp_socket_close(struct uroce_udp_socket *sock);

/** Get the size of a socket's receive buffer, in bytes of the kernel's memory; 0: unknown. */
uint32_t uroce_udp_socket_buffer_len(const struct uroce_udp_socket *sock);

/**
 * Allow further sockets of this process at the address of an open socket. The first socket is bound
 * before this call, so that it never shares its address with another process.
 */
void uroce_udp_socket_share(const struct uroce_udp_socket *sock);

/**
 * Get the number of datagrams that the kernel has dropped instead of delivering them to a socket,
 * mostly because the socket's buffer was full; 0 if the kernel does not report the number.
 */
uint32_t uroce_udp_socket_drops(const struct uroce_udp_socket *sock);

/**
 * Check whether the kernel has a route from `sip` to `dip`, by means of a socket that exists only
 * for this call.
 * @param if_index  interface of link-local addresses
 * @return 0, or -errno of the kernel
 */
int uroce_udp_socket_try_route(const uint8_t sip[16], const uint8_t dip[16], int if_index);

/**
 * Let the kernel resolve the link address of the next hop, by an empty datagram to the discard port
 * of the destination. The kernel drops most datagrams of a burst to a next hop whose link address
 * it does not know yet. The call does not wait, and ignores errors.
 * @param if_index  interface of link-local addresses
 */
void uroce_udp_socket_resolve_neighbour(const uint8_t sip[16], const uint8_t dip[16], int if_index);

/**
 * Find the source address that the kernel chooses for a destination.
 * @param if_index  interface of a link-local destination
 * @return 0, or -errno of the kernel
 */
int uroce_udp_socket_find_source(const uint8_t dip[16], int if_index, uint8_t sip[16]);

#endif /* UROCE_DATAPATH_UDP_SOCKET_H */
