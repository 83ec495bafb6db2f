/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUZZ_FRAMES_VICTIM_H
#define FUZZ_FRAMES_VICTIM_H

/**
 * The victims: QPs that are attacked. A table lists their types, states and access rights. Each
 * victim is kept in the state that its row of the table gives, and requests are posted to it as its
 * row requires. A victim that an attack has moved to another state is reset, or destroyed and
 * created again.
 *
 * Completions must obey the rules of verbs: they come in order, once for each request, and only
 * flushes follow an error.
 */

#include <stdbool.h>
#include <stdint.h>

#include "fabric.h"
#include "land.h"
#include "transport/qpc.h"

/** When receive requests are posted to a victim. */
enum supply {
	SUPPLY_ALWAYS,
	SUPPLY_SOMETIMES,
	SUPPLY_NEVER,
	SUPPLY_BAD, /* receive requests are always posted, but with an invalid lkey */
};

/** Maximum number of requests in each queue of a victim. */
#define VICTIM_WR 8

/** A row of the table of victims. */
struct victim_row {
	enum ibv_qp_type type;
	enum ibv_qp_state state; /* the state in which the victim is kept */
	enum domain domain;
	int access;
	enum ibv_mtu mtu;
	bool is_ipv6;
	enum supply supply;
};

/** A send or receive queue of a victim: the numbers of its requests and completions. */
struct victim_queue {
	struct ibv_cq *cq;
	uint64_t nb_posted; /* number of posted requests, which is the wr_id of the next one */
	uint64_t nb_done;   /* number of completions, which is the wr_id of the next one */
	/* a request has completed with an error, so only flushes may follow */
	bool has_failed;
};

struct victim {
	const struct victim_row *row;
	unsigned idx;
	unsigned worker;
	struct ibv_qp *qp;
	struct victim_queue send, recv;
	/* lengths of the receive requests, by wr_id modulo VICTIM_WR */
	uint32_t recv_len[VICTIM_WR];
};

struct victims {
	struct fabric *fabric;
	struct land *land;
	struct rng *rng;
	/* for each domain, address handles of the attacker over IPv4 and IPv6 */
	struct ibv_ah *ah[DOMAIN_NB][2];
	struct victim *all;
	unsigned nb;
	/* number of successful completions of send and of receive requests */
	uint64_t nb_completions[2];
	uint64_t nb_failures; /* number of completions with an error other than a flush */
	uint64_t nb_revived;
	uint64_t nb_recreated; /* number of victims that were destroyed and created again */
	uint64_t nb_events;
	const char *violation; /* description of a wrong result; NULL: there was none */
};

#define VICTIM_QKEY 0x11223344u

bool victims_open(struct victims *victims, struct fabric *fabric, struct land *land,
		  struct rng *rng);
void victims_close(struct victims *victims);

/**
 * Check completions, bring victims back to their states, and post requests.
 * @return false: `violation` says what is wrong
 */
bool victims_tend(struct victims *victims);

/** The QP context of a victim. Frames to the victim get the PSNs that this context expects. */
const struct uroce_qpc *victim_qpc(const struct victim *victim);

#endif /* FUZZ_FRAMES_VICTIM_H */
