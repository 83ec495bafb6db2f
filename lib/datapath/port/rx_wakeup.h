/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_RX_WAKEUP_H
#define UROCE_DATAPATH_RX_WAKEUP_H

/**
 * @file
 * RX wake-ups: how a received frame wakes a thread that sleeps.
 *
 * Each queue has a file descriptor that polls readable when a frame has arrived. While no thread
 * sleeps on the descriptor, frames cause no additional cost. Drivers of virtual devices do not
 * export this descriptor, so it is searched among the descriptors of the process. The policy table
 * determines the kind of RX wake-up of a port:
 *
 *	socket  af_packet: a packet socket whose ring is the queue. The kernel wakes a thread that
 *	        polls the socket.
 *	ring    memif: an eventfd. The peer writes to it after each burst, unless the ring masks
 *	        interrupts.
 *	mux     uroced: one eventfd for all rings. The thread that reads uroced's messages writes
 *	        to it.
 *	udp     udp: an epoll descriptor, which polls readable if a socket of the queue does.
 *	intr    NICs behind vfio-pci: the eventfd of the queue's receive interrupt. The library asks
 *	        the driver to enable the interrupt.
 *
 * Receive interrupts are not used before one of them has arrived: some drivers enable an interrupt
 * that never arrives. During the trial of a queue, its interrupt is enabled, but no thread relies
 * on it.
 *
 * Only the thread that sleeps on the descriptors of all queues uses the RX wake-ups.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "datapath/device/conf.h"

struct rte_eth_dev_info;
struct uroce_port;

enum uroce_rx_wakeup_kind {
	UROCE_RX_WAKEUP_NONE,
	UROCE_RX_WAKEUP_SOCKET,
	UROCE_RX_WAKEUP_RING,
	UROCE_RX_WAKEUP_MUX,
	UROCE_RX_WAKEUP_UDP,
	UROCE_RX_WAKEUP_INTR,
};

/** The RX wake-up of a queue: what wakes a thread when a frame arrives. */
struct uroce_rx_wakeup {
	/*
	 * Descriptor that polls readable: that of the driver, or for a memif ring a duplicate of
	 * it; -1: none was found.
	 */
	int fd;
	/*
	 * Flags of the memif ring, in a mapping that this library owns; NULL: no memif ring was
	 * found.
	 */
	_Atomic uint16_t *flags;
	/* The other fields are for receive interrupts only. */
	bool is_intr_enabled; /* the driver was asked to enable the interrupt of the queue */
	bool is_intr_proven;  /* an interrupt of the queue has arrived */
	/* the driver has no receive interrupt for this queue, so it is not asked again */
	bool has_no_intr;
	/* time in ns (uroce_clock_ns()) before which the interrupt is not armed */
	uint64_t intr_ns;
};

struct uroce_rx_wakeups {
	struct uroce_port *port;
	/*
	 * Time in ns (uroce_clock_ns()) before which the library does not search again for
	 * descriptors that were not found.
	 */
	uint64_t retry_ns;
	bool has_trial; /* at least one queue has a trial of its receive interrupt */
	struct uroce_rx_wakeup of[UROCE_WORKERS_MAX];
};

void uroce_rx_wakeups_init(struct uroce_rx_wakeups *wakeups, struct uroce_port *port);
void uroce_rx_wakeups_fini(struct uroce_rx_wakeups *wakeups);

/**
 * Arm the RX wake-up of a queue: frames that arrive from now on wake the thread that sleeps. Frames
 * that arrived before the call do not wake it. So the caller must check the queue once more, after
 * a short time: a peer that has just put a frame into a ring may have read the interrupt mask of
 * the ring before this call changed the mask.
 *
 * @lcore The thread that sleeps, holding the lock of the queue's worker.
 * @return whether the wake-up is armed. An armed wake-up ends with the link at the latest, even
 *   without a disarm.
 */
bool uroce_rx_wakeup_arm(struct uroce_rx_wakeups *wakeups, uint16_t queue, uint64_t now_ns);

/**
 * Disarm the RX wake-ups of all queues. The call may be repeated. Trials of receive interrupts
 * continue.
 */
void uroce_rx_wakeups_disarm(struct uroce_rx_wakeups *wakeups);

/**
 * End the trials of receive interrupts, because the port is busy. An interrupt that has arrived
 * since the begin of its trial is used from now on. The next arming begins the other trials again.
 */
void uroce_rx_wakeups_end_trials(struct uroce_rx_wakeups *wakeups);

/**
 * Handle the result of poll() for the descriptor of a queue: clear events that are not received
 * frames. If a port `udp` has no event, its next receive burst is skipped.
 */
void uroce_rx_wakeup_take(struct uroce_rx_wakeups *wakeups, uint16_t queue, short revents);

/* The function uroce_rx_wakeup_find_socket(), declared below, is defined in rx_wakeup_socket.c. */

/**
 * Find the packet socket of a queue of an af_packet port.
 * @return whether a packet socket was found
 */
bool uroce_rx_wakeup_find_socket(struct uroce_rx_wakeup *wakeup, const struct uroce_port *port,
				 uint16_t queue);

/* The functions from here to the end of this header are in rx_wakeup_ring.c. */

/**
 * Unmask the interrupts of a queue's memif ring, after a search for the ring if necessary.
 * @return whether the driver reads the eventfd of this ring, so that the wake-up works
 */
bool uroce_rx_wakeup_open_ring(struct uroce_rx_wakeup *wakeup, const struct uroce_port *port,
			       uint16_t queue);

/** Mask the interrupts of a queue's memif ring, if the ring was found. */
void uroce_rx_wakeup_shut_ring(struct uroce_rx_wakeup *wakeup);

/** Unmap a queue's memif ring and close its eventfd, if the ring was found. */
void uroce_rx_wakeup_drop_ring(struct uroce_rx_wakeup *wakeup);

/* The functions from here to the end of this header are in rx_wakeup_intr.c. */

/**
 * Whether a port may have receive interrupts: its policy row has them, and its device is behind
 * vfio-pci.
 */
bool uroce_rx_intr_is_offered(const struct uroce_port *port, const struct rte_eth_dev_info *info);

/**
 * Enable the receive interrupt of a queue. If none has arrived since the last call, this call
 * begins a trial or continues it.
 * @return whether the interrupt is enabled and proven
 */
bool uroce_rx_intr_arm(struct uroce_rx_wakeup *wakeup, const struct uroce_port *port,
		       uint16_t queue, uint64_t now_ns);

/** Disable the receive interrupt of a queue. */
void uroce_rx_intr_disarm(struct uroce_rx_wakeup *wakeup, const struct uroce_port *port,
			  uint16_t queue);

/**
 * End the trial of the receive interrupt of a queue, and disable the interrupt. If the queue has no
 * trial, the function does nothing.
 */
void uroce_rx_intr_end_trial(struct uroce_rx_wakeup *wakeup, const struct uroce_port *port,
			     uint16_t queue);

/** Handle a receive interrupt, or another event of the descriptor of a queue. */
void uroce_rx_intr_take(struct uroce_rx_wakeup *wakeup, const struct uroce_port *port,
			short revents);

#endif /* UROCE_DATAPATH_RX_WAKEUP_H */
