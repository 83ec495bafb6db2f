/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_UDP_COUNTER_H
#define UROCE_DATAPATH_UDP_COUNTER_H

/**
 * @file
 * The counters that only the port `udp`, a port on UDP sockets of the kernel, has. Telemetry shows
 * them beside the counters of the device (transport/counter.h), or beside those of uroced. They are
 * sums over the queues of the port.
 */

#include <stdint.h>

#include "datapath/device/dev.h"

struct uroce_udp_queue;

#define UROCE_UDP_COUNTER_LIST(X)                                                                  \
	X(TX_MESSAGES, "messages that the kernel accepted, of up to 64 datagrams each")            \
	X(TX_LOST, "of port_xmit_discards, frames that the kernel refused")                        \
	X(RX_MESSAGES, "messages that the kernel delivered, of up to 64 datagrams each")           \
	X(RX_COPIED, "messages copied once more because their datagrams had an unexpected length") \
	X(RX_TOO_LONG, "datagrams dropped because they were longer than the longest frame")        \
	X(RX_NO_MBUF, "rounds in which nothing was received because the packet pool was empty")    \
	X(RX_DROPPED, "datagrams that the kernel dropped, mostly because a socket was full")       \
	X(ICMP_ERRORS, "reports by ICMP that a datagram was not delivered")

enum uroce_udp_counter {
#define UROCE_UDP_COUNTER_ENUM(name, text) UROCE_UDP_COUNTER_##name,
	UROCE_UDP_COUNTER_LIST(UROCE_UDP_COUNTER_ENUM)
#undef UROCE_UDP_COUNTER_ENUM
		UROCE_UDP_COUNTER_NB
};

/** Get the name of a counter of the port `udp`, such as "udp_tx_messages". */
const char *uroce_udp_counter_name(enum uroce_udp_counter counter);

/** Get the description of a counter of the port `udp`, a text without a full stop. */
const char *uroce_udp_counter_text(enum uroce_udp_counter counter);

/**
 * Add the counters of a queue to the elements of `nb`, which has an element for each counter.
 * @lcore The thread that drives the queue.
 */
void uroce_udp_counters_add(const struct uroce_udp_queue *queue, uint64_t nb[UROCE_UDP_COUNTER_NB]);

/**
 * Read the counters of a device on the port `udp`. Any thread may call this function, except a
 * thread that holds the lock of a worker.
 */
void uroce_udp_counters_read(struct uroce_dev *dev, uint64_t nb[UROCE_UDP_COUNTER_NB]);

#endif /* UROCE_DATAPATH_UDP_COUNTER_H */
