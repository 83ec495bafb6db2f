/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_CM_SIM_WORLD_H
#define TEST_CM_SIM_WORLD_H

/**
 * Hosts whose CM engines exchange messages over a network that loses, duplicates and reorders
 * messages, in virtual time. A seed determines a world.
 *
 * Programs on the hosts connect, accept, reject, disconnect and give up at random times, over IPv4
 * and IPv6. Hosts die and restart without memory. There are few QP numbers, so that a restarted
 * host soon uses a QP number that a peer believes connected. Some hosts have few ids, small
 * backlogs, or programs that take their events late. Some hosts share a CA GUID. A foreign host has
 * a second implementation of connection management (foreign.h), which behaves as that of Linux. In
 * some worlds the network adds forged messages, which no engine may believe.
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
#define NB_SERVICES     (NB_PORTS + 1) /* the last service is a datagram service */
#define FIRST_PORT      5000
#define LISTENER_COOKIE 1000000u

/** The QP number in a forged DREQ. No program has this QP. */
#define FORGED_QPN 0xabcdef

#define MSEC       UINT64_C(1000000)

/** The number of IP versions. As an index, 0 is IPv4 and 1 is IPv6. */
#define NB_VERSIONS 2

/** The kinds of events that are planned for a point in virtual time. */
enum happening_kind {
	HAPPENS_ARRIVAL,
	HAPPENS_CONNECT, /* a program of host `who` connects */
	HAPPENS_ACTION,  /* the program `who` does its next action */
	HAPPENS_GIVE_UP, /* the program `who` destroys its id */
	HAPPENS_DEATH,   /* host `who` dies and restarts */
	HAPPENS_TAKE,    /* the programs of host `who` take their events */
	HAPPENS_CHURN,   /* a random listener of host `who` is destroyed and made again */
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
	struct uroce_cm *cm; /* CM engine of the host, or NULL if the host is foreign (foreign.h) */
	void *mem;
	uint32_t life; /* number of times that the host has started */
	uint32_t max_ids;
	uint32_t backlog;
	be64 guid;
	bool is_slow; /* the programs of the host take their events late */
	uint8_t gid[NB_VERSIONS][16];
	struct uroce_cm_addr ip[NB_VERSIONS];
	uint8_t listen_kind[NB_SERVICES];
	uint32_t listeners[NB_SERVICES][2];
	uint32_t nb_listeners;
	uint64_t died_ns; /* time of the last death of the host, or 0 if it has not died */
};

/** A program on a host. Each program has one id. */
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
	uint16_t events; /* set of events that the program got: 1 << enum uroce_cm_event_kind */
	bool has_timed_out;
	uint64_t began_ns;
	uint32_t nb_attempts; /* number of REQs with different comm ids */
	uint64_t stale_ns;    /* time at which a REJ "stale connection" came, or 0 if none came */
};

/** A message that a host has sent, with what the oracle must know of its transmissions. */
struct ledger_entry {
	uint8_t host;
	uint8_t to;
	uint8_t attr;
	uint32_t life;
	uint32_t comm_id; /* comm id of the sender */
	uint32_t remote_comm_id;
	uint32_t qpn;
	uint32_t psn;
	uint32_t nb; /* number of transmissions */
	uint64_t last_ns;
	uint64_t interval_ns; /* time between the last two transmissions */
	/*
	 * In the entry of a DREQ: the time at which the DREQ arrived, if it has no DREP yet;
	 * otherwise 0.
	 */
	uint64_t arrived_ns;
	bool is_ended_by_peer; /* the peer has sent something that ends the connection */
	bool is_excused;       /* a REJ or an RTU was lost, which a foreign host does not repeat */
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
	/* The next fields are the properties of the network. */
	uint32_t loss_ppm;
	uint32_t duplicate_ppm;
	uint32_t forge_ppm;
	uint32_t delay_ns;
	uint32_t jitter_ns;
	uint64_t outage_begin_ns;
	uint64_t outage_end_ns;
	uint32_t nb_qpns;
	/* The network may be down for longer than a host repeats a message. */
	bool is_hard;
	bool is_clean;  /* no message is lost, and a round trip is short */
	bool is_ending; /* no program acts any more */
	uint64_t ending_ns;
	/* The next fields are the results of the world. */
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

/** Count and print a violation of a rule. */
void world_blame(struct world *world, const char *rule, uint32_t who);

/**
 * Plan an event of the host or of the program `who`, at `delay_ns` from the current virtual time.
 */
void world_plan(struct world *world, uint64_t delay_ns, enum happening_kind kind, uint32_t who);

/** Draw a random delay in ns, which is usually short and sometimes long. */
uint64_t world_draw_delay(struct world *world);

/** The index of the host that has a GID. `version` becomes the IP version of the GID. */
uint8_t world_host_of(const uint8_t gid[16], uint8_t *version);

/* The functions from here to network_transmit() are in network.c. */

/** Remove the planned event that has the earliest time, and return the event. */
struct happening network_pop(struct world *world);

/**
 * Send a message over the network, which may lose or duplicate the message, or add a forged one.
 */
void network_transmit(struct world *world, uint8_t from, uint8_t to, uint8_t version,
		      const uint8_t *mad, const struct uroce_cm_msg *msg);

/* The functions from here to listen_expected() are in listen.c. */

/** Draw the addresses at which a host listens. */
void listen_draw(struct world *world, struct host *host);

/** Make the listeners of a host that has started. */
void listen_begin(struct host *host);

/** Destroy a random listener of a host, and make it again. */
void listen_churn(struct world *world, struct host *host);

/**
 * The index of the listener of a service that must get a request, or -1 if no listener may get it.
 * The result comes from a table of expected values, and not from the rule of the engine, so that
 * this rule is checked.
 */
int listen_expected(const struct host *host, uint8_t service, uint8_t version);

/* The functions from here to program_notify() are in program.c. */

/** Let a new program of a host connect to a random host. */
void program_connect(struct world *world, uint8_t host);

/** Let a program do its next action, which depends on the state of its id. */
void program_act(struct world *world, struct program *program);

void program_destroy(struct world *world, struct program *program);

/** Take all events of a host, check them, and plan the actions of the programs. */
void program_take_events(struct world *world, uint8_t host);

/**
 * Draw a QP number of a host that no program uses, and that no peer can refer to. Returns 0 if no
 * QP number was found.
 */
uint32_t program_draw_qpn(struct world *world, uint8_t host);

/**
 * Report to the passive side `comm_id` that data of its peer has arrived. If the passive side waits
 * for an RTU, the connection is established.
 */
void program_notify(struct world *world, uint8_t host, uint32_t comm_id);

/* The functions from here to ledger_note_arrival() are in ledger.c. */

/**
 * Find the newest message with attribute `attr` that a host has sent with `comm_id` as its own comm
 * id. Returns NULL if the ledger has no such message.
 */
struct ledger_entry *ledger_find(struct world *world, uint8_t host, unsigned attr,
				 uint32_t comm_id);

/**
 * Find the REQ or the REP that a host has sent with `comm_id` as its own comm id. Returns NULL if
 * the ledger has neither.
 */
struct ledger_entry *ledger_find_end(struct world *world, uint8_t host, uint32_t comm_id);

/**
 * Whether a host has sent the QP number `qpn` to host `to` for a connection with another comm id
 * than `comm_id`.
 */
bool ledger_has_two(const struct world *world, uint8_t host, uint8_t to, uint32_t qpn,
		    uint32_t comm_id);

/** Record a message that host `host` sends, and check the message against earlier ones. */
void ledger_note(struct world *world, uint8_t host, uint8_t to, const struct uroce_cm_msg *msg,
		 const uint8_t *mad);

/** Record that the network has lost a message. */
void ledger_note_loss(struct world *world, uint8_t from, uint8_t to,
		      const struct uroce_cm_msg *msg);

/** Record that a message of host `from` arrives at the engine of host `host`. */
void ledger_note_arrival(struct world *world, uint8_t host, uint8_t from,
			 const struct uroce_cm_msg *msg);

/* The functions from here on are in oracle.c. */

/** Check an event of a program against the rules. */
void oracle_check_event(struct world *world, struct program *program,
			const struct uroce_cm_event *event);

/** Check all ids when nothing happens any more: no timer runs, and no connection is half open. */
void oracle_check_quiet(struct world *world);

/** Check that all ids except those of listeners are free, after all programs have ended. */
void oracle_check_end(struct world *world);

/**
 * Check a failure to create an id of a user: it is a violation if the host has few programs,
 * because peers must not take the last ids.
 */
void oracle_check_no_id(struct world *world, uint8_t host);

#endif /* TEST_CM_SIM_WORLD_H */
