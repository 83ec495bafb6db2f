/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_CM_SIM_WORLD_H
#define TEST_CM_SIM_WORLD_H

/**
 * @file
 * Hosts whose engines of connection management talk over a network that loses, duplicates and
 * reorders messages, in virtual time. A seed determines a world.
 *
 * Programs on the hosts connect, accept, reject, disconnect and give up at random times. Hosts die
 * and return without memory. The QP numbers are few, so that a returned host soon uses one that a
 * peer believes connected.
 */

#include <stdbool.h>
#include <stdint.h>

#include "../sim/rng.h"
#include "cm/cm.h"

#define NB_HOSTS     4
#define MAX_PROGRAMS 600
#define MAX_LEDGER   4096
#define NB_PORTS     3
#define FIRST_PORT   5000

#define MSEC         UINT64_C(1000000)

/** What happens at a time. */
enum happening_kind {
	HAPPENS_ARRIVAL,
	HAPPENS_CONNECT, /* a program of host `who` connects */
	HAPPENS_ACTION,  /* the program `who` does what it has planned */
	HAPPENS_GIVE_UP, /* the program `who` destroys its id */
	HAPPENS_DEATH,   /* host `who` dies and returns */
};

struct happening {
	uint64_t at_ns;
	uint32_t order;
	uint8_t kind;
	uint32_t who;
	uint8_t from;
	uint8_t mad[UROCE_MAD_LEN];
};

struct host {
	struct uroce_cm *cm;
	void *mem;
	uint32_t life; /* how often the host has begun anew */
	uint8_t gid[16];
	struct uroce_cm_addr ip;
	uint64_t died_ns; /* the last death */
};

/** A program with one id. */
struct program {
	uint8_t host;
	uint32_t life;
	uint32_t id;
	bool is_gone; /* the id was destroyed, or the host died */
	bool is_active;
	bool is_datagram;
	uint8_t peer;
	uint32_t qpn;
	uint16_t events; /* bits of events that it got */
	bool has_timed_out;
};

/** What a REQ or a REP has said of its sender. */
struct ledger_entry {
	uint8_t host;
	bool is_req;
	uint32_t life;
	uint32_t comm_id;
	uint32_t remote_comm_id;
	uint32_t qpn;
	uint32_t psn;
};

struct world {
	uint64_t seed;
	bool is_traced;
	struct rng rng;
	uint64_t now_ns;
	struct host hosts[NB_HOSTS];
	unsigned nb_hosts;
	struct program programs[MAX_PROGRAMS];
	uint32_t nb_programs;
	struct ledger_entry ledger[MAX_LEDGER];
	uint32_t nb_ledger;
	struct happening *heap;
	uint32_t nb_heap;
	uint32_t max_heap;
	uint32_t order;
	/* the network */
	uint32_t loss_ppm;
	uint32_t duplicate_ppm;
	uint32_t delay_ns;
	uint32_t jitter_ns;
	uint64_t outage_begin_ns;
	uint64_t outage_end_ns;
	bool is_hard;   /* the network may be away for longer than all repetitions take */
	bool is_ending; /* no program acts any more */
	/* results */
	uint32_t nb_violations;
	uint32_t nb_connects;
	uint32_t nb_established;
	uint32_t nb_messages;
	uint32_t nb_deaths;
};

/** Run a world from its seed to its end. @return number of violations, each of which is printed */
uint32_t world_run(struct world *world, uint64_t seed, bool is_traced);

/** Report a violation of the rules. */
void world_blame(struct world *world, const char *rule, uint32_t who);

/** Something happens later. */
void world_plan(struct world *world, uint64_t delay_ns, enum happening_kind kind, uint32_t who);

/** A random time that is usually short and sometimes long. */
uint64_t world_draw_delay(struct world *world);

/* program.c */

/** A program of a host connects to another host. */
void program_connect(struct world *world, uint8_t host);

/** The program does what it has planned. */
void program_act(struct world *world, struct program *program);

void program_destroy(struct world *world, struct program *program);

/** Handle the events of a host. */
void program_take_events(struct world *world, uint8_t host);

/* oracle.c */

/** Note what a message says of its sender. */
void oracle_note(struct world *world, uint8_t host, const struct uroce_cm_msg *msg);

/** Check an event of a program against the rules. */
void oracle_check_event(struct world *world, struct program *program,
			const struct uroce_cm_event *event);

/** All is quiet: no connection is half open. */
void oracle_check_quiet(struct world *world);

/** All programs have ended: no id is left. */
void oracle_check_end(struct world *world);

#endif /* TEST_CM_SIM_WORLD_H */
