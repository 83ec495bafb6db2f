/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_MUX_MESSAGE_H
#define UROCE_MUX_MESSAGE_H

/**
 * @file
 * What a client and uroced say to each other: a UNIX socket of whole messages (SOCK_SEQPACKET), in the byte
 * order of the machine. A connection is a client: its area, its leases, its life.
 *
 *	client             uroced
 *	HELLO          ->          what is this host? (a connection may end with that, or wait for changes)
 *	               <-  HOST    it is this one; again, unasked, when it has changed
 *	ATTACH + area  ->          carry my frames; these leases are mine
 *	               <-  ATTACHED + bell  they are carried; the leases that are good
 *	LEASE          ->          more blocks of QP numbers
 *	               <-  LEASED  these; none: there are no more
 *	RELEASE        ->          I need these no more
 *	               <-  WAKE    there are frames, for who sleeps
 *	               <-  REFUSED why not; then the connection ends
 *
 * Numbers are leased in blocks. With each lease comes a ticket, a random number that uroced remembers beyond its own end.
 * A client that connects again shows it, and has the block back if that lease was the block's last one, of the same user,
 * and was not released.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mux/shm.h"

#define UROCE_MUX_VERSION 2u

/** Where uroced listens if nothing else is said. */
#define UROCE_MUX_SOCKET "/run/uroced/uroced.sock"

/** Connections that wait to be accepted. A connect() beyond that fails with EAGAIN, and is tried again. */
#define UROCE_MUX_BACKLOG 64

/** QP numbers of a block; block b has the numbers from b * UROCE_MUX_BLOCK on. */
#define UROCE_MUX_BLOCK 256u

/** Blocks there are; the first and the last one are nobody's: management's and multicast's numbers are there. */
#define UROCE_MUX_BLOCKS 65536u

/** Blocks that a client may hold. */
#define UROCE_MUX_LEASES_MAX 1024u

/** Addresses of a host: as many as a device has GIDs. */
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

/** A block that somebody holds. */
struct uroce_mux_lease {
	uint32_t block;
	uint32_t reserved; /* 0 */
	uint64_t token;    /* of this lease */
};

/** What a client of uroced is to the network: all of them the same. */
struct uroce_mux_host {
	uint8_t mac[6];
	uint8_t is_up; /* its link */
	uint8_t has_vlan;
	uint16_t vlan_tci;
	uint16_t path_mtu;    /* the configuration's; 0: the largest that fits */
	uint32_t frame_limit; /* bytes of the longest frame, tag included, FCS not */
	uint32_t mbps;        /* of its link; UINT32_MAX: it does not say */
	uint32_t
		if_index; /* the kernel's interface whose addresses these are; 0: they were configured */
	uint32_t nb_addr; /* the GID table of a device on this port: the link-local one first */
	struct {
		uint8_t ip[16]; /* IPv4 in its mapped form */
		uint8_t prefix_len;
		uint8_t is_kernels; /* the kernel answers for it */
	} addr[UROCE_MUX_ADDRS_MAX];
	uint8_t gw4[16]; /* all zero: none */
	uint8_t gw6[16];
};

/** HELLO. */
struct uroce_mux_hello {
	uint32_t type;
	uint32_t version;
};

/** HOST. */
struct uroce_mux_this_host {
	uint32_t type;
	uint32_t version;
	struct uroce_mux_host host;
};

/** ATTACH, with the area's file. */
struct uroce_mux_attach {
	uint32_t type;
	uint32_t version;
	uint64_t reserved; /* 0 */
	uint32_t nb_leases;
	uint32_t reserved2; /* 0 */
	struct uroce_shm_layout plan;
	struct uroce_mux_lease
		lease[]; /* that it holds: of another connection, maybe to another uroced */
};

/** ATTACHED, with the bell: an eventfd, to which who sees uroced asleep writes. */
struct uroce_mux_attached {
	uint32_t type;
	uint32_t nb_good; /* of the leases, which come first here; the others are somebody else's */
	uint32_t block[];
};

/** LEASE. */
struct uroce_mux_lease_more {
	uint32_t type;
	uint32_t nb; /* blocks */
};

/** LEASED. */
struct uroce_mux_leased {
	uint32_t type;
	uint32_t nb;
	struct uroce_mux_lease lease[];
};

/** RELEASE. */
struct uroce_mux_release {
	uint32_t type;
	uint32_t nb;
	uint32_t block[];
};

/** WAKE. */
struct uroce_mux_wake {
	uint32_t type;
};

/** REFUSED. */
struct uroce_mux_refused {
	uint32_t type;
	int32_t error; /* an errno */
	char why[248]; /* a sentence, ended */
};

/** Any of them, whole. */
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

/** Bytes that a message with this many leases or blocks has; 0: there is no such type. */
size_t uroce_mux_message_size(uint32_t type, uint32_t nb);

/**
 * Send a message; never waits.
 * @param fd  goes with it; -1: none
 * @return 0; -EAGAIN: the other end has not read what it has; -errno: the connection is over
 */
int uroce_mux_send(int socket, const union uroce_mux_message *message, int fd);

/**
 * Receive a message; never waits. It is well-formed: its type is known, its length is what its numbers say,
 * they are in bounds, and there is a descriptor just where one belongs. All others are closed.
 *
 * @param[out] fd  that came with it, the caller's; -1: none
 * @return 1; 0: the other end has hung up; -EAGAIN: there is none; -EPROTO: it is not well-formed; -errno
 */
int uroce_mux_receive(int socket, union uroce_mux_message *message, int *fd);

/**
 * Look at the next message; never waits. Descriptors that it brings stay where they are: it is the next call of
 * uroce_mux_receive() that closes those that nobody wants, for as long as that may take.
 * @param[out] has_fds  whether there are any
 * @return as uroce_mux_receive(); a message need not be well-formed
 */
int uroce_mux_peek(int socket, bool *has_fds);

/** A socket that listens at this path, of this mode: what was left there by one that died is removed. @return fd, or -errno */
int uroce_mux_listen(const char *path, unsigned mode);

/** A connection to who listens there. @return fd, or -errno */
int uroce_mux_connect(const char *path);

#endif /* UROCE_MUX_MESSAGE_H */
