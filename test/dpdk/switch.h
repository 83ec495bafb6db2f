/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_DPDK_SWITCH_H
#define TEST_DPDK_SWITCH_H

/**
 * @file
 * A replacement for uroced in tests of its clients: a thread that exchanges messages and frames
 * with clients as uroced does. The switch forwards frames from one client to another by the number
 * of the destination QP. It has no port. A test can stop and restart the switch, let it forget its
 * leases, let it refuse clients, and let it write invalid data.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "mux/message.h"

#define SWITCH_CLIENTS 8

struct switch_conf {
	const char *path;
	/* description of the host that clients get, such as `switch_host` */
	struct uroce_mux_host host;
	/* number of blocks of QP numbers that the switch can lease; 0 if unlimited */
	uint32_t nb_blocks;
	bool is_refusing;  /* the switch refuses clients with EBUSY */
	bool is_silent;    /* the switch ignores LEASE messages */
	bool is_forgetful; /* the switch does not restore leases that clients got earlier */
	/* of this number of frames for QPs, one is dropped on average; 0 if no frame is dropped */
	unsigned drop_every;
};

/**
 * A host with a link-local address, 192.0.2.1/24 and 2001:db8::1/64, whose port sends frames of up
 * to 4218 bytes.
 */
extern const struct uroce_mux_host switch_host;

struct a_switch;

/** Start a switch. When this function returns, clients can connect. */
struct a_switch *switch_start(const struct switch_conf *conf);

/**
 * Stop the switch. Its connections end as those of a process that is killed. A switch that is
 * started later restores the leases from the tokens of the clients.
 */
void switch_stop(struct a_switch *sw);

/** Number of attached clients. */
unsigned switch_nb_clients(struct a_switch *sw);

/** Number of frames that the switch has forwarded to clients. */
uint64_t switch_nb_forwarded(struct a_switch *sw);

/** Whether the thread of the switch sleeps until a wake-up. */
bool switch_is_asleep(struct a_switch *sw);

/** Send a new host description to all clients. */
void switch_tell(struct a_switch *sw, const struct uroce_mux_host *host);

/**
 * Write a descriptor into the ring down of a client. Before that, write `bytes` into the buffer to
 * which a valid descriptor in this place would refer.
 */
void switch_forge(struct a_switch *sw, unsigned client, unsigned pair, uint64_t slot,
		  const void *bytes, uint32_t len);

/**
 * Get the offset of the buffer to which the next valid descriptor of a client's ring down refers.
 */
uint32_t switch_next_buffer(struct a_switch *sw, unsigned client, unsigned pair);

/**
 * Add `by` to an index of a client's ring: to the head of the ring down, or to the tail of the ring
 * up. These are the indexes that the switch writes. After this call, the switch does not serve the
 * client.
 */
void switch_derange(struct a_switch *sw, unsigned client, unsigned pair, bool is_down, uint32_t by);

/** Send bytes to a client, which may be a valid message or not. */
void switch_say(struct a_switch *sw, unsigned client, const void *bytes, uint32_t len);

#endif /* TEST_DPDK_SWITCH_H */
