/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_PEER_CACHE_H
#define UROCE_TRANSPORT_PEER_CACHE_H

/**
 * @file
 * What a worker's QPs have learnt of the hosts they talk to, for the next QP to the same host, as
 * [RFC 9040] has it for TCP: which of them drop what comes behind a hole, how much may be in flight to them,
 * and how soon they answer.
 *
 * A few hosts, the newest of each slot. It is a guess to begin with: a QP finds out for itself whether
 * it holds, and corrects it.
 */

#include <stddef.h>
#include <stdint.h>

#define UROCE_PEER_CACHE_SLOTS 64

/** A host that drops. */
struct uroce_peer_metrics {
	uint64_t host;       /* its address, hashed */
	uint32_t min_rtt_ns; /* the shortest round trip to it; 0: not known */
	uint16_t cwnd;       /* packets in flight; 0: none is known here */
};

struct uroce_peer_cache {
	struct uroce_peer_metrics slot[UROCE_PEER_CACHE_SLOTS];
};

static inline unsigned
uroce_peer_cache_slot(uint64_t host)
{
	return (unsigned)(host % UROCE_PEER_CACHE_SLOTS);
}

/** @return NULL: it is not known to drop */
static inline const struct uroce_peer_metrics *
uroce_peer_cache_find(const struct uroce_peer_cache *peers, uint64_t host)
{
	const struct uroce_peer_metrics *note = &peers->slot[uroce_peer_cache_slot(host)];

	return note->host == host && note->cwnd ? note : NULL;
}

/** A host drops; with `cwnd` 0, it was found not to. */
static inline void
uroce_peer_cache_update(struct uroce_peer_cache *peers, const struct uroce_peer_metrics *note)
{
	struct uroce_peer_metrics *slot = &peers->slot[uroce_peer_cache_slot(note->host)];

	if (note->cwnd || slot->host == note->host)
		*slot = *note;
}

#endif /* UROCE_TRANSPORT_PEER_CACHE_H */
