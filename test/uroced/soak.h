/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_UROCED_SOAK_H
#define TEST_UROCED_SOAK_H

/**
 * @file
 * The soak test of uroced: hostile processes, good processes, and the memory in which they report
 * their results. The process that started them checks the results.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/** Number of good clients, which are in pairs, and of hostile clients. */
#define SOAK_GOOD     8u
#define SOAK_HOSTILE  20u
#define SOAK_ATTACKS  32u /* maximum number of kinds of attacks */
#define SOAK_ATTACHES 65536u

/**
 * The phase, which the parent sets: good clients run alone; good and hostile clients run; all
 * clients end.
 */
enum soak_phase { SOAK_ALONE, SOAK_ATTACKED, SOAK_OVER };

/** Duration of an attach, and the time in which its thread was asleep. */
struct soak_attach {
	uint32_t us, asleep_us;
};

/** The results of a good client in a phase. */
struct soak_tally {
	/*
	 * own messages: the number that is due by the clock, and the number that the peer has
	 * confirmed
	 */
	uint64_t nb_due, nb_done;
	/* messages and bytes that the client received or read, and checked */
	uint64_t nb_verified, nb_bytes;
	uint32_t nb_attaches;
	struct soak_attach attach[SOAK_ATTACHES];
};

/** The record of a good client. Only this client writes it. */
struct soak_good {
	/* QPN and PSN of the current connection; hostile clients use them */
	_Atomic uint32_t qpn, psn;
	struct soak_tally tally[SOAK_OVER];
	char failure[160]; /* reason of a failure; empty if the client has not failed */
};

/** The record of a hostile client. Only this client writes it. */
struct soak_hostile {
	uint32_t nb[SOAK_ATTACKS]; /* completed attacks, by kind */
};

struct soak {
	atomic_int phase;
	const char *socket; /* path of the socket of uroced */
	struct soak_good good[SOAK_GOOD];
	struct soak_hostile hostile[SOAK_HOSTILE];
};

/** Give up the privileges of root permanently. The process ends when its parent ends. */
void soak_become(uid_t uid);

/**
 * Run a good client: it attaches, exchanges checked messages with the other client of its pair, and
 * leaves, until the soak is over. Does not return.
 * @param peer  a socket that keeps message boundaries, to the other client of the pair
 */
void soak_run_good(struct soak *soak, unsigned nth, int peer);

/** Run a hostile client: attacks chosen at random, until the soak is over. Does not return. */
void soak_run_hostile(struct soak *soak, unsigned nth, unsigned seed);

/** The name of a kind of attack. @return NULL if there are no more kinds */
const char *soak_attack_name(unsigned kind);

#endif /* TEST_UROCED_SOAK_H */
