/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_MUX_MESSAGE_H
#define UROCE_MUX_MESSAGE_H

/**
 * @file
 * Messages between a client and uroced (the daemon that owns the port), over a UNIX socket that
 * keeps message boundaries (SOCK_SEQPACKET), in the byte order of the machine. One connection is
 * one client: its shared memory and its leases end with the connection.
 *
 *	client             uroced
 *	HELLO          ->           request the host's properties
 *	               <-  HOST     the properties, first and after each change
 *	ATTACH + shm   ->           attach shared memory, present the client's leases
 *	               <-  ATTACHED + doorbell   the shared memory is in use; the valid leases
 *	LEASE          ->           request more blocks of QP numbers
 *	               <-  LEASED   the leased blocks; none if no block is free
 *	RELEASE        ->           return blocks
 *	               <-  WAKE     frames have arrived; wakes a sleeping client
 *	               <-  REFUSED  an error; then uroced closes the connection
 *
 * A client may close its connection after HOST, or keep it open to receive changes of the
 * properties.
 *
 * QP numbers are leased in blocks. Each lease has a token, a random number, which uroced stores so
 * that it survives a restart of uroced. A client that connects again presents the token and gets
 * the block back under four conditions: the token is that of the block's last lease, the client has
 * the user ID of that lease, the block was not released, and the limits of the user permit it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mux/shm.h"

#define UROCE_MUX_VERSION 3u

/** Default path of the socket at which uroced listens. */
#define UROCE_MUX_SOCKET "/run/uroced/uroced.sock"

/**
 * Maximum number of connections to uroced's socket that wait to be accepted. A connect() beyond
 * this number fails with EAGAIN, and the client tries again.
 */
#define UROCE_MUX_BACKLOG 64

/**
 * Number of QP numbers in a block, the unit in which QP numbers are leased to clients. Block b has
 * the numbers from b * UROCE_MUX_BLOCK on.
 */
#define UROCE_MUX_BLOCK 256u

/**
 * Number of blocks of QP numbers. The first block has the QP numbers of management, and is leased
 * to the connection manager of uroced only. The last block has the QP number of multicast, and is
 * never leased.
 */
#define UROCE_MUX_BLOCKS 65536u

/** Maximum number of blocks of QP numbers that a client may lease. */
#define UROCE_MUX_LEASES_MAX 1024u

/** Maximum number of addresses of a host: as many as a device has GIDs. */
#define UROCE_MUX_ADDRS_MAX 16u

enum uroce_mux_type {
	UROCE_MUX_HELLO = 1,
	UROCE_MUX_HOST,
	UROCE_MUX_ATTACH,
	UROCE_MUX_ATTACHED,
	UROCE_MUX_LEASE,
	UROCE_MUX_LEASED,
	UROCE_MUX_RELEASE,
	UROCE_MUX_WAKE,
	UROCE_MUX_REFUSED,
	UROCE_MUX_NB_TYPES,
};

/** A block of QP numbers that uroced has leased to a client. */
struct uroce_mux_lease {
	uint32_t block;
	uint32_t reserved; /* reserved bytes of the message, which must be 0 */
	uint64_t token;    /* random number that proves that the client has the lease */
};

/** Properties of the host whose port uroced owns. They are equal for all clients of uroced. */
struct uroce_mux_host {
	uint8_t mac[6];
	uint8_t is_up; /* 1 if the link of the host's port is up, otherwise 0 */
	uint8_t has_vlan;
	uint16_t vlan_tci;
	/*
	 * configured path MTU in bytes; 0 means the largest MTU with which a packet fits
	 * `frame_limit`
	 */
	uint16_t path_mtu;
	uint32_t frame_limit; /* maximum length of a frame in bytes, with VLAN tag, without FCS */
	uint32_t mbps;        /* speed of the link in Mb/s; UINT32_MAX if it is not known */
	/*
	 * index of the kernel interface that has the host's addresses (`addr`); 0 if the addresses
	 * were configured
	 */
	uint32_t if_index;
	/*
	 * number of entries of `addr`, which is the GID table of a device on this port; the
	 * link-local address comes first
	 */
	uint32_t nb_addr;
	struct {
		uint8_t ip[16]; /* IPv6 address, or IPv4 address in its mapped form */
		uint8_t prefix_len;
		uint8_t is_kernels; /* 1 if the kernel responds to ARP and ND for this address */
	} addr[UROCE_MUX_ADDRS_MAX];
	uint8_t gw4[16]; /* IPv4 gateway; all zero if there is none */
	uint8_t gw6[16];
	/*
	 * 1 if uroced's port consists of UDP sockets of the kernel (`udp`), otherwise 0. With `udp`
	 * the kernel finds the next hops. The UDP source port of all frames is 4791. The sockets do
	 * not report the IPv4 identification of received packets.
	 */
	uint32_t is_udp;
};

/** Message HELLO: the client requests the host's properties. */
struct uroce_mux_hello {
	uint32_t type;
	uint32_t version;
};

/** Message HOST: uroced reports the host's properties. */
struct uroce_mux_this_host {
	uint32_t type;
	uint32_t version;
	struct uroce_mux_host host;
};

/** Message ATTACH of a client, sent with the file descriptor of the client's shared memory. */
struct uroce_mux_attach {
	uint32_t type;
	uint32_t version;
	uint64_t reserved; /* reserved bytes of the message, which must be 0 */
	uint32_t nb_leases;
	uint32_t reserved2; /* reserved bytes of the message, which must be 0 */
	struct uroce_shm_layout plan;
	/*
	 * leases that the client got on an earlier connection, maybe from an earlier uroced process
	 */
	struct uroce_mux_lease lease[];
};

/**
 * Message ATTACHED of uroced, sent with the file descriptor of the doorbell: an eventfd to which a
 * client writes to wake uroced.
 */
struct uroce_mux_attached {
	uint32_t type;
	/*
	 * number of valid leases, whose blocks follow; the client has lost the leases that are not
	 * among them
	 */
	uint32_t nb_good;
	uint32_t block[];
};

/** Message LEASE: the client requests more blocks of QP numbers. */
struct uroce_mux_lease_more {
	uint32_t type;
	uint32_t nb; /* number of blocks of QP numbers that the client requests */
};

/** Message LEASED: uroced answers LEASE with the blocks that the client gets. */
struct uroce_mux_leased {
	uint32_t type;
	uint32_t nb;
	struct uroce_mux_lease lease[];
};

/** Message RELEASE: the client returns blocks of QP numbers. */
struct uroce_mux_release {
	uint32_t type;
	uint32_t nb;
	uint32_t block[];
};

/** Message WAKE: frames have arrived, so a sleeping client must wake. */
struct uroce_mux_wake {
	uint32_t type;
};

/** Message REFUSED: uroced reports an error, and then closes the connection. */
struct uroce_mux_refused {
	uint32_t type;
	int32_t error; /* positive errno that describes the refusal */
	char why[248]; /* the reason, a sentence that ends with a zero byte */
};

/** A message between uroced and a client, of any type, with room for the longest one. */
union uroce_mux_message {
	uint32_t type;
	struct uroce_mux_hello hello;
	struct uroce_mux_this_host this_host;
	struct uroce_mux_attach attach;
	struct uroce_mux_attached attached;
	struct uroce_mux_lease_more lease;
	struct uroce_mux_leased leased;
	struct uroce_mux_release release;
	struct uroce_mux_wake wake;
	struct uroce_mux_refused refused;
	uint8_t bytes[sizeof(struct uroce_mux_attach) +
		      UROCE_MUX_LEASES_MAX * sizeof(struct uroce_mux_lease)];
};

/**
 * Compute the length in bytes of a message with `nb` leases or blocks of QP numbers. The result is
 * 0 if the type is unknown or `nb` is too large.
 */
size_t uroce_mux_message_size(uint32_t type, uint32_t nb);

/**
 * Send a message between uroced and a client, without blocking.
 * @param fd  file descriptor to be sent with the message; -1 if there is none
 * @return 0; -EAGAIN: the socket's buffer is full; other -errno: the connection has failed
 */
int uroce_mux_send(int socket, const union uroce_mux_message *message, int fd);

/**
 * Receive a message between uroced and a client, without blocking. A message is well-formed if its
 * type is known, its length fits the number of its leases or blocks, and this number is in bounds.
 * A file descriptor must come with it exactly if its type requires one. Unexpected descriptors are
 * closed.
 *
 * @param[out] fd  file descriptor that came with the message, owned by the caller; -1 if there is
 *	none
 * @return 1: a message was received; 0: the peer has closed the connection; -EAGAIN: no message;
 *	-EPROTO: the message is not well-formed; other -errno: the connection has failed
 */
int uroce_mux_receive(int socket, union uroce_mux_message *message, int *fd);

/**
 * Peek at the next message on a socket between uroced and a client, without blocking. The message
 * and its file descriptors stay in the socket. The next call of uroce_mux_receive() closes
 * unexpected descriptors, which may take long.
 * @param[out] has_fds  whether file descriptors come with the message
 * @return as uroce_mux_receive(); the message may be malformed
 */
int uroce_mux_peek(int socket, bool *has_fds);

/**
 * Make a UNIX socket that listens at `path`, whose file has the mode `mode`. A socket file that a
 * terminated process left at the path is removed.
 * @return the socket, or -errno
 */
int uroce_mux_listen(const char *path, unsigned mode);

/**
 * Connect a UNIX socket to the process that listens at `path`.
 * @return the socket, or -errno
 */
int uroce_mux_connect(const char *path);

#endif /* UROCE_MUX_MESSAGE_H */
