/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_USER_LIMITS_H
#define UROCED_USER_LIMITS_H

/**
 * @file
 * Limits of what the clients of one user may have together, so that one user cannot take the
 * resources that others need. The limits hold for every user, root and the user of uroced included,
 * because their programs may be faulty, too. Options of uroced change them.
 */

#include <stdint.h>

#include "mux/message.h"

/** Maximum number of connections of clients to uroced at a time, over all users. */
#define CLIENTS_MAX 1024u

struct user_limits {
	uint32_t nb_clients; /* maximum number of connections of a user's clients to uroced */
	/* maximum number of pairs of rings that a user's clients may have together */
	uint32_t nb_pairs;
	/* maximum number of blocks of QP numbers that a user's clients may hold together */
	uint32_t nb_blocks;
	/*
	 * maximum size in MiB of the memory that uroced has mapped for the user's clients,
	 * including memory that is being unmapped
	 */
	uint32_t mib;
};

/**
 * The default limits of a user. The limit of memory is that of 32 clients whose shared memory has
 * the largest size. The page tables of this memory take 32 MiB of uroced's own memory. A pair of
 * rings takes some 10 ns of each round of the data path while its client sends.
 */
#define USER_LIMITS_DEFAULT                                                                        \
	((struct user_limits){ CLIENTS_MAX / 2, 4 * CLIENTS_MAX, UROCE_MUX_BLOCKS / 2, 16384 })

/** The limits that a user has. Each has a counter of refusals. */
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
