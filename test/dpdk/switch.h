/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_DPDK_SWITCH_H
#define TEST_DPDK_SWITCH_H

/**
 * @file
 * The other end of the SPSC rings, for tests of the client: a thread that exchanges messages with
 * clients as uroced does. It forwards frames from one client to another by the number of the
 * destination QP. It has no port.
 *
 * A test can stop and restart it, let it forget its leases, let it refuse clients, and let it write
 * invalid data.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "mux/message.h"

#define SWITCH_CLIENTS 8

struct switch_conf {
	const char *path;
	struct uroce_mux_host host; /* the host of the network, such as `switch_host` */
	uint32_t nb_blocks;         /* number of blocks that it can lease; 0: unlimited */
	bool is_refusing;           /* the switch refuses clients with EBUSY */
	bool is_silent;             /* the switch ignores LEASE messages */
	bool is_forgetful;          /* the switch does not accept earlier leases */
	unsigned drop_every;        /* one of so many frames for QPs is dropped; 0: none */
};

/**
 * A host with the addresses 192.0.2.1/24, 2001:db8::1/64 and the link-local one before them; frames
 * of 4218 bytes.
 */
extern const struct uroce_mux_host switch_host;

struct a_switch;

/** Start a switch; it listens on return. */
struct a_switch *switch_start(const struct switch_conf *conf);

/**
 * Stop the switch. Connections end, as if a process was killed. The leases are restored from the
 * clients' tokens.
 */
void switch_stop(struct a_switch *sw);

/** Number of attached clients. */
unsigned switch_nb_clients(struct a_switch *sw);

/** Number of frames that were forwarded to clients. */
uint64_t switch_nb_forwarded(struct a_switch *sw);

/** Whether the switch sleeps until a wake-up. */
bool switch_is_asleep(struct a_switch *sw);

/** Send a new host description to all clients. */
void switch_tell(struct a_switch *sw, const struct uroce_mux_host *host);

/**
 * Write a descriptor, and the bytes of its buffer, into a client's down ring, as if it were a
 * frame.
 */
void switch_forge(struct a_switch *sw, unsigned client, unsigned pair, uint64_t slot,
		  const void *bytes, uint32_t len);

/** Offset of the buffer for the next descriptor of this ring. */
uint32_t switch_next_buffer(struct a_switch *sw, unsigned client, unsigned pair);

/** Move the indexes that this end writes in the rings of a client by so much. */
void switch_derange(struct a_switch *sw, unsigned client, unsigned pair, bool is_down, uint32_t by);

/** Send a client bytes, which may be a message or not. */
void switch_say(struct a_switch *sw, unsigned client, const void *bytes, uint32_t len);

#endif /* TEST_DPDK_SWITCH_H */
