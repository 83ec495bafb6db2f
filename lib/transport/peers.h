/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_PEERS_H
#define UROCE_TRANSPORT_PEERS_H

/**
 * @file
 * What a worker's QPs have learnt of the hosts they talk to, for the next QP to the same host, as
 * [RFC 9040] has it for TCP: which of them drop what comes behind a hole, and how much was in flight to
 * them when something was lost last.
 *
 * A few hosts, the newest of each slot. It is a guess to begin with: a QP finds out for itself whether
 * it holds, and corrects it.
 */

#include <stdint.h>

#define UROCE_PEERS_SLOTS 64

struct uroce_peers {
	struct {
		uint64_t host; /* its address, hashed */
		uint16_t psns; /* packets in flight; 0: none is known here */
	} slot[UROCE_PEERS_SLOTS];
};

static inline unsigned
uroce_peers_slot(uint64_t host)
{
	return (unsigned)(host % UROCE_PEERS_SLOTS);
}

/** What was in flight to a host that drops. @return packets; 0: it is not known to drop */
static inline uint16_t
uroce_peers_find(const struct uroce_peers *peers, uint64_t host)
{
	const unsigned i = uroce_peers_slot(host);

	return peers->slot[i].host == host ? peers->slot[i].psns : 0;
}

/** A host drops, and has this much in flight now; 0: it was found not to. */
static inline void
uroce_peers_note(struct uroce_peers *peers, uint64_t host, uint16_t psns)
{
	const unsigned i = uroce_peers_slot(host);

	if (!psns && peers->slot[i].host != host)
		return;
	peers->slot[i].host = host;
	peers->slot[i].psns = psns;
}

#endif /* UROCE_TRANSPORT_PEERS_H */
