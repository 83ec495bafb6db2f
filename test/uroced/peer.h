/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_UROCED_PEER_H
#define TEST_UROCED_PEER_H

/**
 * @file
 * A client of uroced without an engine: it puts bytes into lanes and takes them out. Where a call cannot do what it
 * says, the test fails.
 */

#include <stdbool.h>
#include <stdint.h>

#include "mux/binding.h"
#include "mux/message.h"

#define PEER_PAIRS_MAX UROCE_SHM_PAIRS_MAX

struct peer {
	int socket; /* -1: not connected */
	int bell;
	int area_fd;
	struct uroce_shm area;
	struct uroce_spsc_end up[PEER_PAIRS_MAX], down[PEER_PAIRS_MAX];
	struct uroce_mux_host host;
	uint32_t nb_leases;
	struct uroce_mux_lease lease[UROCE_MUX_LEASES_MAX];
	uint32_t nb_wakes; /* heard while waiting for something else */
};

/** The last message that came, to whichever peer. */
extern union uroce_mux_message peer_message;

/** Connect, as often as it takes within some seconds, and ask for the host. */
void peer_connect(struct peer *peer, const char *path);

/** Make an area: pairs of lanes, slots in each. */
void peer_make_area(struct peer *peer, uint32_t nb_pairs, uint32_t nb_slots);

/** Send ATTACH with what it has. */
void peer_ask_attach(struct peer *peer);

/** The same, with a new area if that one was attached before, and hear that it is; the leases that are not good are dropped. */
void peer_attach(struct peer *peer);

/** All of these; with a block. */
void peer_open(struct peer *peer, const char *path, uint32_t nb_pairs, uint32_t nb_slots);

/** Lease so many blocks more. @return how many were given */
uint32_t peer_lease(struct peer *peer, uint32_t nb);

/** Wait for a message of a type; WAKEs meanwhile are counted. @return false: hung up, without it */
bool peer_hear(struct peer *peer, uint32_t type);

/** Wait to be refused. */
void peer_expect_refusal(struct peer *peer, const char *why);

/** Hang up; the area stays. */
void peer_hang_up(struct peer *peer);

/** And everything else. */
void peer_close(struct peer *peer);

/** The first number of a block of its. */
static inline uint32_t
peer_qpn(const struct peer *peer, uint32_t i)
{
	return peer->lease[i].block * UROCE_MUX_BLOCK;
}

/** Say which peer a QP of its is connected to. */
void peer_bind(struct peer *peer, uint32_t qpn, uint32_t dest_qpn, enum uroce_binding_where where);

/** All numbers of its first block have a QP that is connected to the first number of `from`, or, NULL, to one on another host. */
void peer_accept(struct peer *peer, const struct peer *from);

/** Put a frame into a lane up. @return false: it is full */
bool peer_put(struct peer *peer, uint32_t pair, const uint8_t *frame, uint16_t len);

/** Publish what was put, and ring if uroced sleeps. */
void peer_push(struct peer *peer, uint32_t pair, uint32_t nb);

/** One frame, whatever it takes. */
void peer_send(struct peer *peer, uint32_t pair, const uint8_t *frame, uint16_t len);

/** Take a frame from a lane down. @return its length; 0: there is none */
uint16_t peer_take(struct peer *peer, uint32_t pair, uint8_t *frame);

/** The same, waiting up to some seconds. */
uint16_t peer_receive(struct peer *peer, uint32_t pair, uint8_t *frame);

/** That nothing comes for a while. */
void peer_expect_silence(struct peer *peer);

/** Indexes of its own, as the area has them: for one that comes back. */
void peer_reread(struct peer *peer);

/* frames */

/**
 * A SEND of RC over IPv4, of the peer's host.
 * @param dmac  NULL: its host's own
 * @return bytes
 */
uint16_t peer_build(const struct peer *peer, uint8_t *frame, const uint8_t *dmac, uint32_t qpn,
		    uint16_t len);

/** Make a frame that was built a datagram, by the peer's first number, of which 62 bytes at least are there. */
void peer_make_datagram(const struct peer *peer, uint8_t *frame, uint32_t qkey);

#endif /* TEST_UROCED_PEER_H */
