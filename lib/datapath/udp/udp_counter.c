/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Counters of the port `udp`. A worker may open and close sockets of multicast groups. So the
 * sockets of a queue are read in the context of its worker. When a socket is closed, its number of
 * dropped datagrams is added to a counter of the queue (uroce_udp_queue_remove()).
 */

#include "datapath/udp/udp_counter.h"

#include <assert.h>

#include "base/lower.h"
#include "datapath/port/port.h"
#include "datapath/udp/udp_port.h"
#include "datapath/udp/udp_queue.h"
#include "datapath/worker/worker.h"

/* The size of the longest string that DPDK telemetry accepts, with the terminating zero. */
#define TEXT_MAX 128

static const char udp_counter_names[UROCE_UDP_COUNTER_NB][UROCE_LOWER_MAX + 1] = {
#define NAME(name, text) [UROCE_UDP_COUNTER_##name] = UROCE_LOWER("UDP_" #name),
	UROCE_UDP_COUNTER_LIST(NAME)
#undef NAME
};

static const char *const udp_counter_texts[UROCE_UDP_COUNTER_NB] = {
#define TEXT(name, text) [UROCE_UDP_COUNTER_##name] = text,
	UROCE_UDP_COUNTER_LIST(TEXT)
#undef TEXT
};

#define CHECK_LEN(name, text)                                                                      \
	static_assert(sizeof("UDP_" #name) <= UROCE_LOWER_MAX + 1, #name " is too long");          \
	static_assert(sizeof(text) <= TEXT_MAX, "the text of " #name " is too long");
UROCE_UDP_COUNTER_LIST(CHECK_LEN)
#undef CHECK_LEN

const char *
uroce_udp_counter_name(enum uroce_udp_counter counter)
{
	return (unsigned)counter < UROCE_UDP_COUNTER_NB ? udp_counter_names[counter] : "?";
}

const char *
uroce_udp_counter_text(enum uroce_udp_counter counter)
{
	return (unsigned)counter < UROCE_UDP_COUNTER_NB ? udp_counter_texts[counter] : "?";
}

static uint64_t
load_count(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

void
uroce_udp_counters_add(const struct uroce_udp_queue *queue, uint64_t nb[UROCE_UDP_COUNTER_NB])
{
	const struct uroce_udp_stats *stats = &queue->stats;

	nb[UROCE_UDP_COUNTER_TX_MESSAGES] += load_count(&stats->tx_messages);
	nb[UROCE_UDP_COUNTER_TX_LOST] += load_count(&stats->tx_lost);
	nb[UROCE_UDP_COUNTER_RX_MESSAGES] += load_count(&stats->rx_messages);
	nb[UROCE_UDP_COUNTER_RX_COPIED] += load_count(&stats->rx_copied);
	nb[UROCE_UDP_COUNTER_RX_TOO_LONG] += load_count(&stats->rx_too_long);
	nb[UROCE_UDP_COUNTER_RX_NO_MBUF] += load_count(&stats->no_mbuf);
	nb[UROCE_UDP_COUNTER_RX_DROPPED] += load_count(&stats->rx_dropped);
	nb[UROCE_UDP_COUNTER_ICMP_ERRORS] += load_count(&stats->icmp_errors);
	for (unsigned i = 0; i < queue->nb_sockets; i++)
		nb[UROCE_UDP_COUNTER_RX_DROPPED] += uroce_udp_socket_drops(&queue->socket[i]);
}

/* The arguments of add_queue(): a queue, and the array to which the queue's counters are added. */
struct queue_reading {
	const struct uroce_udp_queue *queue;
	uint64_t *nb;
};

/*
 * Add the counters of a queue to an array. The function runs in the context of the queue's worker.
 */
static int
add_queue(void *arg)
{
	const struct queue_reading *reading = arg;

	uroce_udp_counters_add(reading->queue, reading->nb);
	return 0;
}

void
uroce_udp_counters_read(struct uroce_dev *dev, uint64_t nb[UROCE_UDP_COUNTER_NB])
{
	for (unsigned c = 0; c < UROCE_UDP_COUNTER_NB; c++)
		nb[c] = 0;
	for (unsigned i = 0; i < dev->nb_workers; i++)
		(void)uroce_worker_call(dev->worker[i], NULL, add_queue,
					&(struct queue_reading){ dev->port->udp->queue[i], nb });
}
