/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUZZ_FRAMES_VICTIM_H
#define FUZZ_FRAMES_VICTIM_H

/**
 * @file
 * The QPs under attack: a table of types, states and access rights. Each QP is kept in the state of
 * its row, supplied with requests as its row says, and created again if an attack ended it.
 *
 * Completions are checked by the rules of verbs: in order, once for each request, and only flushes
 * after an error.
 */

#include <stdbool.h>
#include <stdint.h>

#include "fabric.h"
#include "land.h"
#include "transport/qpc.h"

/** How a victim is supplied with receive requests. */
enum supply {
	SUPPLY_ALWAYS,
	SUPPLY_SOMETIMES,
	SUPPLY_NEVER,
	SUPPLY_BAD, /* requests with an invalid memory key */
};

/** Number of requests for which each queue has room. */
#define VICTIM_WR 8

/** A row of the table. */
struct victim_row {
	enum ibv_qp_type type;
	enum ibv_qp_state state; /* the state in which the QP is kept */
	enum domain domain;
	int access;
	enum ibv_mtu mtu;
	bool is_ipv6;
	enum supply supply;
};

/** One queue of a victim: its posted requests and their completions. */
struct victim_queue {
	struct ibv_cq *cq;
	uint64_t nb_posted; /* number of the next request to post */
	uint64_t nb_done;   /* number of the request that must complete next */
	/* the QP has completed a request with an error; only flushes may follow */
	bool has_failed;
};

struct victim {
	const struct victim_row *row;
	unsigned idx;
	unsigned worker;
	struct ibv_qp *qp;
	struct victim_queue send, recv;
	uint32_t recv_len[VICTIM_WR]; /* length of the receive requests, by number */
};

struct victims {
	struct fabric *fabric;
	struct land *land;
	struct rng *rng;
	struct ibv_ah *ah[DOMAIN_NB][2]; /* address handles of the attacker, over IPv4 and IPv6 */
	struct victim *all;
	unsigned nb;
	uint64_t nb_completions[2]; /* number of successful completions: send, receive */
	uint64_t nb_failures;       /* number of failed completions without flushes */
	uint64_t nb_revived;
	uint64_t nb_recreated; /* QPs that were destroyed and created again */
	uint64_t nb_events;
	const char *violation; /* text of a violation of the contract; NULL: no violation */
};

#define VICTIM_QKEY 0x11223344u

bool victims_open(struct victims *victims, struct fabric *fabric, struct land *land,
		  struct rng *rng);
void victims_close(struct victims *victims);

/**
 * Check completions, restore QPs that have failed, post requests.
 * @return false: see `violation`
 */
bool victims_tend(struct victims *victims);

/** The context of a victim, from which frames get the expected values. */
const struct uroce_qpc *victim_qpc(const struct victim *victim);

#endif /* FUZZ_FRAMES_VICTIM_H */
