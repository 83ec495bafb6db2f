/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_UDP_QUEUE_H
#define UROCE_DATAPATH_UDP_QUEUE_H

/**
 * @file
 * A queue of the port `udp`: the sockets of one worker. Only the thread that holds the worker's
 * lock uses a queue; any thread may read the counters.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "datapath/port/port.h"
#include "datapath/udp/udp_port.h"
#include "datapath/udp/udp_socket.h"
#include "wire/hdr.h"
#include "wire/icrc_field.h"

/** Maximum number of datagrams that the kernel cuts from one message (UDP_SEGMENT). */
#define UROCE_UDP_SEGMENTS_MAX 64u

/**
 * Maximum length in bytes of a message that the kernel cuts into datagrams. The rest of the 65535
 * bytes of an IP packet is room for headers.
 */
#define UROCE_UDP_MESSAGE_MAX 65000u

/**
 * Maximum number of parts, each the data of one mbuf, of all frames of a burst. A zero-copy frame
 * has three parts.
 */
#define UROCE_UDP_PARTS_MAX (3 * UROCE_BURST)

/**
 * Length in bytes of the longest headers that the port puts in front of a received datagram:
 * Ethernet, IPv6, UDP.
 */
#define UROCE_UDP_HDR_MAX  (14u + 40 + 8)
#define UROCE_UDP_HDR_IPV4 (14u + 20 + 8)

/** Number of header bytes behind the IPv4 identification: the rest of the IPv4 header, and UDP. */
#define UROCE_UDP_AFTER_IDENT (20u - 6 + 8)

/**
 * Counts of a queue's messages and unexpected events. The thread that drives the worker writes
 * them.
 */
struct uroce_udp_stats {
	/* sent messages (of one or more datagrams) that the kernel has accepted */
	_Atomic uint64_t tx_messages;
	/*
	 * frames lost because the kernel refused them with an error other than that of a full
	 * buffer
	 */
	_Atomic uint64_t tx_lost;
	/* received messages (of one or more datagrams) that the kernel has delivered */
	_Atomic uint64_t rx_messages;
	/* received messages that did not fit the prepared mbufs, and were copied */
	_Atomic uint64_t rx_copied;
	/* received datagrams that were dropped because they do not fit the longest frame */
	_Atomic uint64_t rx_too_long;
	/* datagrams that the kernel dropped at sockets of multicast groups that have been closed */
	_Atomic uint64_t rx_dropped;
	/* receive bursts that returned no frames, because the mempool was empty */
	_Atomic uint64_t no_mbuf;
	_Atomic uint64_t icmp_errors; /* errors that hosts or routers have reported by ICMP */
};

/**
 * Number of the latest logged ICMP errors that a queue stores, so that it does not log them again.
 */
#define UROCE_UDP_LOGGED_ERRORS 8u

/** Errors that the network has reported by ICMP about datagrams of a queue. */
struct uroce_udp_errors {
	bool are_waiting; /* the kernel's error queue of some socket may have errors */
	unsigned next_logged;
	/* The latest errors that were logged, and their destinations. */
	struct uroce_udp_logged_error {
		uint8_t ip[16];
		int error; /* errno of the error; 0: the entry is unused */
	} logged[UROCE_UDP_LOGGED_ERRORS];
};

/** The headers that all frames of one received message have in common. */
struct uroce_udp_origin {
	/* headers, with 0 for lengths, checksum and identification */
	uint8_t hdr[UROCE_UDP_HDR_MAX];
	uint8_t hdr_len;
	bool is_ipv6;
};

/** State of the transmit side of a queue: messages for one sendmmsg(). */
struct uroce_udp_tx {
	struct mmsghdr msg[UROCE_BURST];
	uint8_t nb_frames[UROCE_BURST]; /* number of frames of each message */
	union {
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} dest[UROCE_BURST];
	_Alignas(struct cmsghdr) uint8_t control[UROCE_BURST][160];
	struct iovec part[UROCE_UDP_PARTS_MAX];
	bool has_segment; /* the kernel can cut one message into several datagrams (UDP_SEGMENT) */
	/*
	 * errno of the latest message of several datagrams; 0: there was no error. Either the
	 * kernel refused to cut the message, or the path has an error. The result of the next
	 * message, which has one datagram, decides between both.
	 */
	int segment_error;
	bool has_logged_loss;
};

/** State of the receive side of a queue. */
struct uroce_udp_rx {
	struct rte_mbuf
		*spare[UROCE_BURST]; /* mbufs for the next datagrams; the last is used first */
	unsigned nb_spare;
	unsigned next_socket; /* index of the socket that the next receive burst reads first */
	unsigned streak;      /* number of consecutive messages of the socket `next_socket` */
	struct iovec part[UROCE_BURST + 1];
	/* Buffer for a message that does not fit the prepared mbufs; NULL: not allocated yet. */
	uint8_t *overflow;
	uint32_t left_at, left_end; /* the bytes [left_at, left_end) of `overflow` wait for mbufs */
	uint32_t left_len;          /* length of each datagram in `overflow` but the last */
	struct uroce_udp_origin left_origin;
	/*
	 * Terms by which the ICRC of a datagram of `terms_len` bytes depends on the IPv4
	 * identification; not valid if `terms_len` is 0.
	 */
	struct uroce_icrc_field terms;
	uint32_t terms_len;
};

struct uroce_udp_queue {
	/*
	 * The sockets: one for each configured address, or else one for IPv4 and one for IPv6, and
	 * one for each multicast group that needs a socket.
	 */
	struct uroce_udp_socket socket[UROCE_ADDRS_MAX + UROCE_UDP_GROUPS_MAX];
	unsigned nb_sockets;
	int epoll_fd; /* epoll descriptor, which polls readable if one of the sockets does */
	/*
	 * The sockets did not poll readable when the waiting thread woke, so the next receive burst
	 * returns without reading them. Any thread may set this field.
	 */
	_Atomic bool is_known_empty;
	struct uroce_udp_stats stats;
	struct uroce_udp_errors errors;
	struct uroce_udp_tx tx;
	struct uroce_udp_rx rx;
};

/**
 * Open a socket, and add it to a queue of the port `udp`. The function is in udp_port.c.
 * @return 0, or -errno: ENOMEM (the queue has no room), or an error of the kernel
 */
int uroce_udp_queue_add(struct uroce_udp_queue *queue, const struct uroce_udp_socket_conf *conf);

/**
 * Close socket `i` of a queue. The last socket of the queue gets this index. The function is in
 * udp_port.c.
 */
void uroce_udp_queue_remove(struct uroce_udp_queue *queue, unsigned i);

/**
 * Read the error queues of a queue's sockets: count the errors that the network has reported, and
 * log new ones. The function is in udp_error.c.
 */
void uroce_udp_read_errors(const struct uroce_port *port, struct uroce_udp_queue *queue);

/** Increase a counter of a queue by `nb`. */
static inline void
uroce_udp_count(_Atomic uint64_t *counter, unsigned nb)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + nb,
			      memory_order_relaxed);
}

#endif /* UROCE_DATAPATH_UDP_QUEUE_H */
