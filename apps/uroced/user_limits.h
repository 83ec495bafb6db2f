/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_USER_LIMITS_H
#define UROCED_USER_LIMITS_H

/**
 * @file
 * What the clients of one user may have in all, so that no user takes what others need. The limits hold for every user, root and
 * the user of uroced included: a faulty program of theirs is bounded, too. Options of uroced change them.
 */

#include <stdint.h>

#include "mux/message.h"

/** Connections at a time, of all users. */
#define CLIENTS_MAX 1024u

struct user_limits {
	uint32_t nb_clients; /* connections */
	uint32_t nb_pairs;   /* pairs of rings, of all areas */
	uint32_t nb_blocks;  /* leases */
	uint32_t
		mib; /* of memory that uroced has mapped for the user's clients; what it is unmapping counts, too */
};

/**
 * Defaults. The memory is that of 32 of the largest areas; its page tables are 32 MiB, which are uroced's own memory. A pair of
 * rings takes some 10 ns of each round while its client sends.
 */
#define USER_LIMITS_DEFAULT                                                                        \
	((struct user_limits){ CLIENTS_MAX / 2, 4 * CLIENTS_MAX, UROCE_MUX_BLOCKS / 2, 16384 })

/** What the limits are of: a counter of refusals each. */
#define USER_LIMITS(X)                                                                             \
	X(CLIENTS, "refused_clients")                                                              \
	X(PAIRS, "refused_pairs")                                                                  \
	X(MEMORY, "refused_memory")                                                                \
	X(BLOCKS, "refused_blocks")

enum user_limit {
#define X(name, text) USER_LIMIT_##name,
	USER_LIMITS(X)
#undef X
		NB_USER_LIMITS,
};

#endif /* UROCED_USER_LIMITS_H */
