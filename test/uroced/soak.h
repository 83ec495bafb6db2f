/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_UROCED_SOAK_H
#define TEST_UROCED_SOAK_H

/**
 * @file
 * The soak of uroced: processes that attack it, processes that use it, and what they say in memory that all share. The
 * process that made them judges that memory.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/** Good clients, which are in pairs, and hostile ones. */
#define SOAK_GOOD     8u
#define SOAK_HOSTILE  20u
#define SOAK_ATTACKS  32u /* kinds of attacks at most */
#define SOAK_ATTACHES 65536u

/** What the parent says: good clients are alone, or beside attacks, or everybody ends. */
enum soak_phase { SOAK_ALONE, SOAK_ATTACKED, SOAK_OVER };

/** How long a good client took to attach, and how much of it its thread neither ran nor was ready to. */
struct soak_attach {
	uint32_t us, asleep_us;
};

/** What a good client did in a phase. */
struct soak_tally {
	uint64_t nb_due,
		nb_done; /* messages of its own: that the clock asks for, and that were answered */
	uint64_t nb_verified, nb_bytes; /* messages that it received or read, with each byte */
	uint32_t nb_attaches;
	struct soak_attach attach[SOAK_ATTACHES];
};

/** A good client's; the client writes. */
struct soak_good {
	_Atomic uint32_t qpn, psn; /* of its connection; attackers know them */
	struct soak_tally tally[SOAK_OVER];
	char failure[160]; /* empty: none */
};

/** A hostile client's; the client writes. */
struct soak_hostile {
	uint32_t nb[SOAK_ATTACKS]; /* attacks that have ended, by kind */
};

struct soak {
	atomic_int phase;
	const char *socket; /* of uroced */
	struct soak_good good[SOAK_GOOD];
	struct soak_hostile hostile[SOAK_HOSTILE];
};

/** Give up root for good. The process ends with its parent. */
void soak_become(uid_t uid);

/**
 * A good client: attach, exchange verified messages with the other one of the pair, leave, until it is over. Does not return.
 * @param peer  a socket of whole messages to the other one
 */
void soak_run_good(struct soak *soak, unsigned nth, int peer);

/** A hostile client: attack after attack, drawn at random, until it is over. Does not return. */
void soak_run_hostile(struct soak *soak, unsigned nth, unsigned seed);

/** @return NULL: there are no more kinds */
const char *soak_attack_name(unsigned kind);

#endif /* TEST_UROCED_SOAK_H */
