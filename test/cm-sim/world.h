/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_CM_SIM_WORLD_H
#define TEST_CM_SIM_WORLD_H

/**
 * @file
 * Hosts whose engines of connection management talk over a network that loses, duplicates and
 * reorders messages, in virtual time. A seed determines a world.
 *
 * Programs on the hosts connect, accept, reject, disconnect and give up at random times, over IPv4
 * and IPv6. Hosts die and return without memory. The QP numbers are few, so that a returned host
 * soon uses one that a peer believes connected. Some hosts have few ids, small backlogs, or
 * programs that take their events late. Some hosts share a CA GUID. A foreign host has a second
 * implementation of connection management (foreign.h), which behaves as that of Linux. In some
 * worlds the network adds forged messages, which no engine may believe.
 */

#include <stdbool.h>
#include <stdint.h>

#include "../sim/rng.h"
#include "cm/cm.h"
#include "foreign.h"

#define NB_HOSTS        4
#define MAX_PROGRAMS    900
#define MAX_LEDGER      8192
#define NB_PORTS        3
#define NB_SERVICES     (NB_PORTS + 1) /* the last one is a datagram service */
#define FIRST_PORT      5000
#define LISTENER_COOKIE 1000000u

/** A forged DREQ names this QP. */
#define FORGED_QPN 0xabcdef

#define MSEC       UINT64_C(1000000)

/** IPv4 and IPv6, as indices. */
#define NB_VERSIONS 2

/** What happens at a time. */
enum happening_kind {
	HAPPENS_ARRIVAL,
	HAPPENS_CONNECT, /* a program of host `who` connects */
	HAPPENS_ACTION,  /* the program `who` does what it has planned */
	HAPPENS_GIVE_UP, /* the program `who` destroys its id */
	HAPPENS_DEATH,   /* host `who` dies and returns */
	HAPPENS_TAKE,    /* the programs of host `who` take their events */
	HAPPENS_CHURN,   /* a listener of host `who` is destroyed and made again */
};

struct happening {
	uint64_t at_ns;
	uint32_t order;
	uint8_t kind;
	uint32_t who;
	uint8_t from;
	uint8_t version;
	uint8_t mad[UROCE_MAD_LEN];
};

struct host {
	bool is_foreign;
	struct foreign foreign;
	struct uroce_cm *cm; /* NULL: foreign */
	void *mem;
	uint32_t life; /* how often the host has begun anew */
	uint32_t max_ids;
	uint32_t backlog;
	be64 guid;
	bool is_slow; /* events are taken late */
	uint8_t gid[NB_VERSIONS][16];
	struct uroce_cm_addr ip[NB_VERSIONS];
	uint8_t listen_kind[NB_SERVICES];
	uint32_t listeners[NB_SERVICES][2];
	uint32_t nb_listeners;
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
	uint8_t version;
	uint8_t service;
	uint32_t qpn;
	uint16_t events; /* bits of events that it got */
	bool has_timed_out;
	uint64_t began_ns;
	uint32_t nb_attempts; /* REQs with a comm id of their own */
	uint64_t stale_ns;    /* when a REJ "stale connection" came; 0: none */
};

/** A message that a host has sent, and what happened to it. */
struct ledger_entry {
	uint8_t host;
	uint8_t to;
	uint8_t attr;
	uint32_t life;
	uint32_t comm_id; /* of the sender */
	uint32_t remote_comm_id;
	uint32_t qpn;
	uint32_t psn;
	uint32_t nb; /* transmissions */
	uint64_t last_ns;
	uint64_t interval_ns; /* between the last two */
	uint64_t arrived_ns;  /* of a DREQ: when it arrived, without an answer since; 0: answered */
	bool is_ended_by_peer; /* the peer has sent something that ends the connection */
	bool is_excused;       /* a message was lost that a foreign host does not repeat */
	uint8_t mad[UROCE_MAD_LEN];
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
	struct ledger_entry *ledger;
	uint32_t nb_ledger;
	struct happening *heap;
	uint32_t nb_heap;
	uint32_t max_heap;
	uint32_t order;
	/* the network */
	uint32_t loss_ppm;
	uint32_t duplicate_ppm;
	uint32_t forge_ppm;
	uint32_t delay_ns;
	uint32_t jitter_ns;
	uint64_t outage_begin_ns;
	uint64_t outage_end_ns;
	uint32_t nb_qpns;
	bool is_hard;   /* the network may be away for longer than all repetitions take */
	bool is_clean;  /* no message is lost, and a round trip is short */
	bool is_ending; /* no program acts any more */
	uint64_t ending_ns;
	/* results */
	uint32_t nb_violations;
	uint32_t nb_connects;
	uint32_t nb_established;
	uint32_t nb_messages;
	uint32_t nb_deaths;
	uint32_t nb_foreign; /* connections with a foreign host that were established */
	uint32_t nb_forged;
};

/** Run a world from its seed to its end. @return number of violations, each of which is printed */
uint32_t world_run(struct world *world, uint64_t seed, bool is_traced);

/** Report a violation of the rules. */
void world_blame(struct world *world, const char *rule, uint32_t who);

/** Something happens later. */
void world_plan(struct world *world, uint64_t delay_ns, enum happening_kind kind, uint32_t who);

/** A random time that is usually short and sometimes long. */
uint64_t world_draw_delay(struct world *world);

/** The host with a GID, and its IP version in `version`. */
uint8_t world_host_of(const uint8_t gid[16], uint8_t *version);

/* network.c */

/** Take the first of what is planned. */
struct happening network_pop(struct world *world);

/** Put a message of a host on the network. */
void network_transmit(struct world *world, uint8_t from, uint8_t to, uint8_t version,
		      const uint8_t *mad, const struct uroce_cm_msg *msg);

/* listen.c */

/** Draw at which addresses a host listens. */
void listen_draw(struct world *world, struct host *host);

/** Make the listeners of a host that begins. */
void listen_begin(struct host *host);

/** Destroy a listener, and make it again. */
void listen_churn(struct world *world, struct host *host);

/** Which of the two listeners of a service gets a request; -1: none. The rule is written twice. */
int listen_expected(const struct host *host, uint8_t service, uint8_t version);

/* program.c */

/** A program of a host connects to another host. */
void program_connect(struct world *world, uint8_t host);

/** The program does what it has planned. */
void program_act(struct world *world, struct program *program);

void program_destroy(struct world *world, struct program *program);

/** Handle the events of a host. */
void program_take_events(struct world *world, uint8_t host);

/** A QP number of a host that no program uses, and that no peer can refer to; 0: none. */
uint32_t program_draw_qpn(struct world *world, uint8_t host);

/** Data of an active side arrives at the passive side, perhaps before its RTU. */
void program_notify(struct world *world, uint8_t host, uint32_t comm_id);

/* ledger.c */

/** The last message of this kind with this comm id of its sender; NULL: none. */
struct ledger_entry *ledger_find(struct world *world, uint8_t host, unsigned attr,
				 uint32_t comm_id);

/** The REQ or the REP of an id. */
struct ledger_entry *ledger_find_end(struct world *world, uint8_t host, uint32_t comm_id);

/** Whether a host has told `to` a QP number for a connection beside the one with this comm id. */
bool ledger_has_two(const struct world *world, uint8_t host, uint8_t to, uint32_t qpn,
		    uint32_t comm_id);

/** Write down a message, and check it against those before. */
void ledger_note(struct world *world, uint8_t host, uint8_t to, const struct uroce_cm_msg *msg,
		 const uint8_t *mad);

/** A message was lost. */
void ledger_note_loss(struct world *world, uint8_t from, uint8_t to,
		      const struct uroce_cm_msg *msg);

/** A message arrives at an engine. */
void ledger_note_arrival(struct world *world, uint8_t host, uint8_t from,
			 const struct uroce_cm_msg *msg);

/* oracle.c */

/** Check an event of a program against the rules. */
void oracle_check_event(struct world *world, struct program *program,
			const struct uroce_cm_event *event);

/** All is quiet: no connection is half open. */
void oracle_check_quiet(struct world *world);

/** All programs have ended: no id is left. */
void oracle_check_end(struct world *world);

/** A user gets an id, since peers cannot take the last ones. */
void oracle_check_no_id(struct world *world, uint8_t host);

#endif /* TEST_CM_SIM_WORLD_H */
