/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_PEERS_H
#define UROCE_TRANSPORT_PEERS_H

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

#define UROCE_PEERS_SLOTS 64

/** A host that drops. */
struct uroce_peer_note {
	uint64_t host;   /* its address, hashed */
	uint32_t min_ns; /* the shortest round trip to it; 0: not known */
	uint16_t psns;   /* packets in flight; 0: none is known here */
};

struct uroce_peers {
	struct uroce_peer_note slot[UROCE_PEERS_SLOTS];
};

static inline unsigned
uroce_peers_slot(uint64_t host)
{
	return (unsigned)(host % UROCE_PEERS_SLOTS);
}

/** @return NULL: it is not known to drop */
static inline const struct uroce_peer_note *
uroce_peers_find(const struct uroce_peers *peers, uint64_t host)
{
	const struct uroce_peer_note *note = &peers->slot[uroce_peers_slot(host)];

	return note->host == host && note->psns ? note : NULL;
}

/** A host drops; with `psns` 0, it was found not to. */
static inline void
uroce_peers_note(struct uroce_peers *peers, const struct uroce_peer_note *note)
{
	struct uroce_peer_note *slot = &peers->slot[uroce_peers_slot(note->host)];

	if (note->psns || slot->host == note->host)
		*slot = *note;
}

#endif /* UROCE_TRANSPORT_PEERS_H */
