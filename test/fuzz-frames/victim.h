/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUZZ_FRAMES_VICTIM_H
#define FUZZ_FRAMES_VICTIM_H

/**
 * @file
 * The QPs under attack: a table of types, states and rights, each kept in its state, supplied with
 * receives and requests as its row says, and brought back when an attack ended it.
 *
 * What they complete is checked as verbs promise it: in order, each once, and after an error nothing
 * but flushes.
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
	SUPPLY_BAD, /* requests whose memory key is none */
};

/** Requests that each queue has room for. */
#define VICTIM_WR 8

/** A row of the table. */
struct victim_row {
	enum ibv_qp_type type;
	enum ibv_qp_state state; /* that it is kept in */
	enum domain domain;
	int access;
	enum ibv_mtu mtu;
	bool is_ipv6;
	enum supply supply;
};

/** One direction of a victim: what was posted, and what came back. */
struct victim_queue {
	struct ibv_cq *cq;
	uint64_t nb_posted; /* the number of the next request */
	uint64_t nb_done;   /* the number that must complete next */
	bool has_failed;    /* nothing but flushes may follow */
};

struct victim {
	const struct victim_row *row;
	unsigned idx;
	unsigned worker;
	struct ibv_qp *qp;
	struct victim_queue send, recv;
	uint32_t recv_len[VICTIM_WR]; /* room of the receive requests, by number */
};

struct victims {
	struct fabric *fabric;
	struct land *land;
	struct rng *rng;
	struct ibv_ah *ah[DOMAIN_NB][2]; /* to the ghost, over IPv4 and IPv6 */
	struct victim *all;
	unsigned nb;
	uint64_t nb_completions[2]; /* successful ones: send, receive */
	uint64_t nb_failures;       /* unsuccessful ones, flushes not counted */
	uint64_t nb_revived;
	uint64_t nb_recreated; /* of those, by destroying and creating */
	uint64_t nb_events;
	const char *violation; /* NULL: none */
};

#define VICTIM_QKEY 0x11223344u

bool victims_open(struct victims *victims, struct fabric *fabric, struct land *land,
		  struct rng *rng);
void victims_close(struct victims *victims);

/** Check completions, bring back the dead, post what is due. @return false: see `violation` */
bool victims_tend(struct victims *victims);

/** The transport's view of a victim: where it expects what. */
const struct uroce_qpc *victim_qpc(const struct victim *victim);

#endif /* FUZZ_FRAMES_VICTIM_H */
