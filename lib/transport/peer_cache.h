/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_PEER_CACHE_H
#define UROCE_TRANSPORT_PEER_CACHE_H

/**
 * @file
 * The peer cache: what a worker's QPs have learnt of remote hosts, for the next QP to the same
 * host, as RFC 9040 does for TCP. An entry says that the host goes back N, how many packets may be
 * in flight to it, and its shortest round trip.
 *
 * The cache is a small table without chains; a newer host replaces an older one in its slot. An
 * entry is only the initial guess of a QP. The QP measures the host itself, and corrects the entry.
 */

#include <stddef.h>
#include <stdint.h>

#define UROCE_PEER_CACHE_SLOTS 64

/** Metrics of one go-back-N host. */
struct uroce_peer_metrics {
	uint64_t host;       /* hash of the host's address */
	uint32_t min_rtt_ns; /* the shortest round trip to the host; 0: not known */
	/* packets that may be in flight to the host; 0: the slot has no go-back-N host */
	uint16_t cwnd;
};

struct uroce_peer_cache {
	struct uroce_peer_metrics slot[UROCE_PEER_CACHE_SLOTS];
};

static inline unsigned
uroce_peer_cache_slot(uint64_t host)
{
	return (unsigned)(host % UROCE_PEER_CACHE_SLOTS);
}

/** Find the metrics of a host. @return NULL: the host is not known as a go-back-N host */
static inline const struct uroce_peer_metrics *
uroce_peer_cache_find(const struct uroce_peer_cache *peers, uint64_t host)
{
	const struct uroce_peer_metrics *metrics = &peers->slot[uroce_peer_cache_slot(host)];

	return metrics->host == host && metrics->cwnd ? metrics : NULL;
}

/** Store the metrics of a go-back-N host; `cwnd` 0 removes a host that has proved selective. */
static inline void
uroce_peer_cache_update(struct uroce_peer_cache *peers, const struct uroce_peer_metrics *metrics)
{
	struct uroce_peer_metrics *slot = &peers->slot[uroce_peer_cache_slot(metrics->host)];

	if (metrics->cwnd || slot->host == metrics->host)
		*slot = *metrics;
}

#endif /* UROCE_TRANSPORT_PEER_CACHE_H */
