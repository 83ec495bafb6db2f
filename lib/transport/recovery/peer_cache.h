/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_PEER_CACHE_H
#define UROCE_TRANSPORT_PEER_CACHE_H

/**
 * @file
 * The peer cache: what a worker's QPs have learnt of remote hosts, for the next QP to the same
 * host, as RFC 9040 does for TCP. An entry means that the host drops packets behind a PSN gap
 * (go-back-N). The entry has the number of packets that may be in flight to the host, and the
 * shortest round trip. The cache is a small table without chains; a newer host replaces an older
 * one in its slot. An entry is only the initial guess of a QP. The QP measures the host itself, and
 * corrects the entry.
 */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define UROCE_PEER_CACHE_BITS  6
#define UROCE_PEER_CACHE_SLOTS (1u << UROCE_PEER_CACHE_BITS)

/** Metrics of one go-back-N host. */
struct uroce_peer_metrics {
	uint64_t host;       /* hash of the address of the host */
	uint32_t min_rtt_ns; /* the shortest round trip to the host; 0 if it is not known */
	/*
	 * Congestion window: the number of packets that may be in flight to the host. 0: this slot
	 * of the cache is empty, or its host has proved selective.
	 */
	uint16_t cwnd;
};

struct uroce_peer_cache {
	struct uroce_peer_metrics slot[UROCE_PEER_CACHE_SLOTS];
};

/**
 * Hash the address of a host, by a multiplication. Hosts of one network differ in the last bytes of
 * their addresses only. The upper bits of the hash depend on all bits of the address, so the slot
 * is chosen by these bits.
 * @param len  length of the address: 4 or 16
 */
static inline uint64_t
uroce_peer_cache_hash(const uint8_t *ip, size_t len)
{
	uint64_t half[2] = { 0 };

	memcpy(half, ip, len);
	return (half[0] ^ half[1]) * UINT64_C(0x9e3779b97f4a7c15);
}

/** Get the slot of a host in the cache: the upper bits of the hash of its address are the index. */
static inline unsigned
uroce_peer_cache_slot(uint64_t host)
{
	return (unsigned)(host >> (64 - UROCE_PEER_CACHE_BITS));
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
