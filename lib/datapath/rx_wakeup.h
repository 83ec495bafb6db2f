/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_RX_WAKEUP_H
#define UROCE_DATAPATH_RX_WAKEUP_H

/**
 * @file
 * Notices: how a port tells who sleeps that a frame has come. Each queue has a descriptor that can be
 * read when there is one; while nobody sleeps on it, frames cost nothing more. Drivers hand it out to
 * nobody, so it is found in the process's own table of descriptors (the policy table says by what):
 *
 *	socket	af_packet: a packet socket whose ring is the queue. The kernel wakes who polls it.
 *	ring	memif: an eventfd, which the peer writes to after each burst that finds the ring's mask open.
 *	lane	uroced: an eventfd of our own for all lanes, to which who has the connection writes.
 *
 * One thread; it sleeps on the descriptors of all queues.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "datapath/conf.h"

struct uroce_port;

enum uroce_rx_wakeup_kind {
	UROCE_RX_WAKEUP_NONE,
	UROCE_RX_WAKEUP_SOCKET,
	UROCE_RX_WAKEUP_RING,
	UROCE_RX_WAKEUP_MUX,
};

/** Of a queue. */
struct uroce_rx_wakeup {
	int fd;                  /* the port's, or for a ring a duplicate; -1: none was found */
	_Atomic uint16_t *flags; /* of its ring, in a page of our own; NULL: it has none */
};

struct uroce_rx_wakeups {
	struct uroce_port *port;
	uint64_t retry_ns; /* what was not found is not looked for before */
	struct uroce_rx_wakeup of[UROCE_WORKERS_MAX];
};

void uroce_rx_wakeups_init(struct uroce_rx_wakeups *wakeups, struct uroce_port *port);
void uroce_rx_wakeups_fini(struct uroce_rx_wakeups *wakeups);

/**
 * Have frames that come into a queue from now on give notice. What came before does not: look once more, and
 * that not at once, for a peer that has just put a frame into a ring may have looked at the mask before.
 *
 * @lcore  The thread that sleeps, holding the lock of the queue's worker.
 * @return whether they will; disarm() or not, it holds at most until the link is lost
 */
bool uroce_rx_wakeup_arm(struct uroce_rx_wakeups *wakeups, uint16_t queue, uint64_t now_ns);

/** They need not any more: of all queues. Any number of times. */
void uroce_rx_wakeups_disarm(struct uroce_rx_wakeups *wakeups);

/** poll() gave this for the descriptor of a queue: take what is no frame. */
void uroce_rx_wakeup_take(struct uroce_rx_wakeups *wakeups, uint16_t queue, short revents);

/* rx_wakeup_socket.c */

/** Find the packet socket of a queue. @return whether there is one */
bool uroce_rx_wakeup_find_socket(struct uroce_rx_wakeup *wakeup, const struct uroce_port *port,
				 uint16_t queue);

/* rx_wakeup_ring.c */

/** Open the mask of a queue's ring, and if need be find the ring first. @return whether the driver takes notices by it */
bool uroce_rx_wakeup_open_ring(struct uroce_rx_wakeup *wakeup, const struct uroce_port *port,
			       uint16_t queue);

/** Shut it, if there is one. */
void uroce_rx_wakeup_shut_ring(struct uroce_rx_wakeup *wakeup);

/** Give back what was found, if anything was. */
void uroce_rx_wakeup_drop_ring(struct uroce_rx_wakeup *wakeup);

#endif /* UROCE_DATAPATH_RX_WAKEUP_H */
