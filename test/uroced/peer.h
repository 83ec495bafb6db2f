/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_UROCED_PEER_H
#define TEST_UROCED_PEER_H

/**
 * @file
 * A client of uroced without an engine: it writes frames into rings and reads frames from them. A
 * call that cannot do what its comment says fails the test.
 */

#include <stdbool.h>
#include <stdint.h>

#include "mux/binding.h"
#include "mux/message.h"

#define PEER_PAIRS_MAX UROCE_SHM_PAIRS_MAX

struct peer {
	int socket; /* socket of the connection to uroced; -1 if the peer is not connected */
	int doorbell;
	int area_fd;
	struct uroce_shm area;
	struct uroce_spsc_end up[PEER_PAIRS_MAX], down[PEER_PAIRS_MAX];
	struct uroce_mux_host host;
	uint32_t nb_leases;
	struct uroce_mux_lease lease[UROCE_MUX_LEASES_MAX];
	uint32_t nb_wakes; /* number of WAKEs that came while the test waited for another message */
};

/** The last message that any peer received. */
extern union uroce_mux_message peer_message;

/** Connect, with retries for some seconds, send HELLO, and wait for HOST. */
void peer_connect(struct peer *peer, const char *path);

/** Make shared memory. @param nb_slots  descriptors of each ring */
void peer_make_area(struct peer *peer, uint32_t nb_pairs, uint32_t nb_slots);

/** Send ATTACH, with the peer's shared memory and leases. */
void peer_ask_attach(struct peer *peer);

/**
 * Attach and wait for ATTACHED. Shared memory that was attached before is replaced. Leases that
 * uroced does not confirm are removed from `lease`.
 */
void peer_attach(struct peer *peer);

/** Connect, make shared memory, attach, and lease one block. */
void peer_open(struct peer *peer, const char *path, uint32_t nb_pairs, uint32_t nb_slots);

/** Lease more blocks. @return the number of blocks that were leased */
uint32_t peer_lease(struct peer *peer, uint32_t nb);

/**
 * Wait for a message of a type. WAKEs are counted.
 * @return false if uroced hung up first
 */
bool peer_hear(struct peer *peer, uint32_t type);

/** Wait for REFUSED with this text, and until uroced hangs up. */
void peer_expect_refusal(struct peer *peer, const char *why);

/** Hang up, and keep the shared memory. */
void peer_hang_up(struct peer *peer);

/** Hang up, and free everything. */
void peer_close(struct peer *peer);

/** Get the first QP number of block `i` of the peer. */
static inline uint32_t
peer_qpn(const struct peer *peer, uint32_t i)
{
	return peer->lease[i].block * UROCE_MUX_BLOCK;
}

/** Bind a QP of this peer to the QP `dest_qpn` to which it is connected. */
void peer_bind(struct peer *peer, uint32_t qpn, uint32_t dest_qpn, enum uroce_binding_where where);

/**
 * Bind all QP numbers of the first block to the first QP number of `from`.
 * @param from  the client; NULL to bind to a QP of another host
 */
void peer_accept(struct peer *peer, const struct peer *from);

/** Write a frame into a ring up. @return false if the ring is full */
bool peer_put(struct peer *peer, uint32_t pair, const uint8_t *frame, uint16_t len);

/** Publish frames that were written, and ring the doorbell if uroced sleeps. */
void peer_push(struct peer *peer, uint32_t pair, uint32_t nb);

/** Write and publish one frame. If the ring is full, wait for room first. */
void peer_send(struct peer *peer, uint32_t pair, const uint8_t *frame, uint16_t len);

/** Read a frame from a ring down. @return its length; 0 if the ring is empty */
uint16_t peer_take(struct peer *peer, uint32_t pair, uint8_t *frame);

/** Read a frame from a ring down, and wait some seconds for it. @return the length of the frame */
uint16_t peer_receive(struct peer *peer, uint32_t pair, uint8_t *frame);

/** Expect that no frame comes for a while. */
void peer_expect_silence(struct peer *peer);

/** Read the peer's own indexes from the shared memory, for a peer that connects again. */
void peer_reread(struct peer *peer);

/**
 * Build an RC SEND over IPv4 from the peer's host.
 * @param dmac  NULL for the MAC of the peer's own host
 * @return its length
 */
uint16_t peer_build(const struct peer *peer, uint8_t *frame, const uint8_t *dmac, uint32_t qpn,
		    uint16_t len);

/**
 * Change a frame of peer_build() into a UD datagram, whose source is the first QP number of the
 * peer. The frame must have 62 bytes or more.
 */
void peer_make_datagram(const struct peer *peer, uint8_t *frame, uint32_t qkey);

#endif /* TEST_UROCED_PEER_H */
