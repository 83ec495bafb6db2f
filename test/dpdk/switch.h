/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_DPDK_SWITCH_H
#define TEST_DPDK_SWITCH_H

/**
 * @file
 * The other end of lanes, for tests of this one: a thread that talks to clients as uroced does, and takes
 * their frames from one to the other by the number of the QP that they are for. It has no port.
 *
 * It does as it is told: it can be stopped and started again, forget what it leased, refuse, and write what
 * should not be written.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "mux/message.h"

#define SWITCH_CLIENTS 8

struct switch_conf {
	const char *path;
	struct uroce_mux_host host; /* as `switch_host` */
	uint32_t nb_blocks;         /* that it has to lease; 0: no matter */
	bool is_refusing;           /* with EBUSY, and "no" */
	bool is_silent;             /* it takes no notice of LEASE */
	bool is_forgetful;          /* leases of before are good no more */
	unsigned drop_every;        /* of so many frames for QPs one is lost; 0: none is */
};

/** 192.0.2.1/24 and 2001:db8::1/64, and the link-local one before them; frames of 4218 bytes. */
extern const struct uroce_mux_host switch_host;

struct a_switch;

/** It listens when this returns. */
struct a_switch *switch_start(const struct switch_conf *conf);

/** Connections end, as with a process that was killed. What it leased it remembers in its tickets. */
void switch_stop(struct a_switch *sw);

/** Clients that are attached. */
unsigned switch_nb_clients(struct a_switch *sw);

/** Frames that it has taken to a client. */
uint64_t switch_nb_forwarded(struct a_switch *sw);

/** Whether it sleeps until somebody rings. */
bool switch_is_asleep(struct a_switch *sw);

/** Tell everybody that the host is another. */
void switch_tell(struct a_switch *sw, const struct uroce_mux_host *host);

/** Write a slot of a client's lane down, as if it were a frame; and what is to be in its buffer. */
void switch_forge(struct a_switch *sw, unsigned client, unsigned pair, uint64_t slot,
		  const void *bytes, uint32_t len);

/** Offset of the buffer that the next slot of this lane has. */
uint32_t switch_next_buffer(struct a_switch *sw, unsigned client, unsigned pair);

/** Move the indexes of a client's lanes, of those that are this end's, by so much. */
void switch_derange(struct a_switch *sw, unsigned client, unsigned pair, bool is_down, uint32_t by);

/** Send a client bytes that are, or are no, message. */
void switch_say(struct a_switch *sw, unsigned client, const void *bytes, uint32_t len);

#endif /* TEST_DPDK_SWITCH_H */
