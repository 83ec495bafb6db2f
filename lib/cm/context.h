/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_CM_CONTEXT_H
#define UROCE_CM_CONTEXT_H

/**
 * @file
 * The engine and its ids as data, shared by the files of lib/cm. Other libraries do not see this
 * data. Each file changes a part of it:
 *
 *	port_space.c  the addresses and ports of ids, and the number of ports of accounts
 *	identity.c    the comm ids and the other keys of look-ups
 *	event.c       the events that wait for the user
 *	outbox.c      the messages that wait for transmission
 *	turns.c       the messages of ids that wait, by their accounts
 *	admission.c   the counters that limit hosts
 *	owner.c       the owners and accounts of ids
 *	conn.c        the states and the timers of ids
 */

#include <stdbool.h>
#include <stdint.h>

#include "cm/cm.h"
#include "cm/id_table.h"
#include "cm/siphash.h"
#include "cm/state.h"
#include "cm/timer_heap.h"

#define UROCE_MSEC_NS UINT64_C(1000000)

/*
 * Maximum number of replies that belong to no id and wait for their transmission. A power of two.
 */
#define UROCE_CM_NB_REPLIES 256u

/* The number of counters of waiting replies, by the hash of a host. A power of two. */
#define UROCE_CM_NB_REPLY_HOSTS 64u

/* The number of port spaces in service_id.h. */
#define UROCE_CM_NB_SPACES 4u

/*
 * The most ids that share a port, or a QP number. A look-up goes through all of them, so the bound
 * keeps its time short.
 */
#define UROCE_CM_SHARE_MAX 1024u

/* The number of hosts whose round trip is remembered. A power of two. */
#define UROCE_CM_NB_RTT 64u

/* Most bytes of private data of a message that an id sends. */
#define UROCE_CM_TX_PRIVATE_LEN UROCE_CM_RTU_PRIVATE_LEN

/*
 * The kinds of queues of ids. An id has a pair of links for each kind, and is in at most one queue
 * of a kind.
 */
enum uroce_cm_link {
	UROCE_CM_LINK_TX,    /* ids with a response, or ids with a request */
	UROCE_CM_LINK_EVENT, /* ids with events */
	/* free ids, or ids that linger without owner and may be taken back if no id is free */
	UROCE_CM_LINK_SPARE,
	UROCE_CM_LINK_WAITING, /* requests that wait at a listener */
	UROCE_CM_LINK_OWNED,   /* ids of an owner */
	UROCE_CM_LINK_NB
};

/* A queue of ids. */
struct uroce_cm_queue {
	uint32_t first; /* first id of the queue; UROCE_CM_NO_ID: the queue is empty */
	uint32_t last;
	uint32_t nb;
};

/* An id: a listener, an end of a connection, or an end of a resolution (SIDR). */
struct uroce_cm_conn {
	/* The next fields are the state, which conn.c changes. */
	uint8_t state;  /* enum uroce_cm_state */
	bool is_used;   /* the id is not free */
	bool has_owner; /* the user knows the id, or will know it by a CONNECT_REQUEST */
	bool is_active;
	bool is_datagram;
	bool is_lingering;     /* the id is in the queue uroce_cm.lingering */
	bool is_half_open;     /* the id is counted as half open (admission.c) */
	uint8_t nb_stale_left; /* attempts that are left after a REJ "stale connection" */
	uint64_t user;
	/* listener of a CONNECT_REQUEST that is pending; UROCE_CM_NO_ID: there is none */
	uint32_t listener;
	/*
	 * an RTU has arrived since the DREQ left: the peer may have confirmed the DREQ before the
	 * connection was established on its side
	 */
	bool is_drep_doubtful;
	/* The next fields are the owner and the account, which owner.c changes. */
	uint16_t owner; /* the user that gets the events; set also while `has_owner` is false */
	uint16_t account_idx; /* index of the account in uroce_cm.nb_ids_of */
	bool is_counted;      /* the id counts for its account */
	/* account in whose queue the message of the id waits (turns.c), while it waits */
	uint16_t tx_account_idx;

	/* The links of the id in queues, which queue.c changes. */
	struct {
		uint32_t prev;
		uint32_t next;
		bool is_in;
	} link[UROCE_CM_LINK_NB];

	/* The next fields are the addresses, which port_space.c changes. */
	bool is_bound;
	bool is_v6only;
	bool is_shared_port;
	bool is_in_listening;      /* the id is in the table uroce_cm.by_listening */
	uint16_t port_account_idx; /* index of the account that the bound port counts for */
	uint16_t space;
	struct uroce_cm_addr local;
	struct uroce_cm_addr remote;
	uint32_t max_backlog;          /* listener: most requests of one host that may wait */
	struct uroce_cm_queue waiting; /* listener: CONNECT_REQUESTs that were not taken */

	/* The next fields are the keys of look-ups, which identity.c changes. */
	uint32_t local_comm_id;  /* comm id of this side, or request ID of SIDR; 0: none */
	uint32_t remote_comm_id; /* comm id of the peer; 0: not known */
	be64 remote_guid;
	bool is_in_local; /* the id is in the table uroce_cm.by_local */
	/* the id is in the table uroce_cm.by_remote, which has only passive ids */
	bool is_in_remote;
	bool is_in_peer_qpn;
	bool is_in_qpn;
	struct uroce_cm_av av;

	/* The fields from `service_id` to `peer_ece_options` are the values of the connection. */
	uint64_t service_id;
	uint64_t tid;
	uint32_t local_qpn;
	uint32_t remote_qpn;
	/*
	 * Starting PSNs: `local_psn` of the REQ or REP that this side has sent, `remote_psn` of the
	 * peer's. The side that sends the message receives packets from this PSN on, and the other
	 * side sends them [IBA 12.7, Starting PSN].
	 */
	uint32_t local_psn;
	uint32_t remote_psn;
	uint32_t qkey; /* Q_Key of this side, which the SIDR_REP reports */
	uint32_t remote_qkey;
	uint8_t transport;
	uint8_t mtu_code;
	uint16_t pkey;
	uint8_t responder_resources;
	uint8_t initiator_depth;
	uint8_t ack_timeout_code;
	uint8_t retry_count;
	uint8_t rnr_retry_count;
	/* RNR retry count that the peer's QP must use, which this side sends */
	uint8_t peer_rnr_retry_count;
	bool has_flow_control;
	bool has_srq;
	bool peer_has_flow_control;
	bool peer_has_srq;
	bool is_xrc_target;
	uint32_t ece_vendor_id;
	uint32_t ece_options;
	uint32_t peer_ece_vendor_id;
	uint32_t peer_ece_options;

	/*
	 * The fields from tx_attr to tx describe the last message of the id, which outbox.c sends.
	 */
	uint8_t tx_attr;    /* enum uroce_cm_attr; 0: none */
	uint8_t tx_about;   /* REJ: the message that is rejected (enum uroce_cm_about) */
	uint16_t tx_reason; /* reason of a REJ, or status of a SIDR_REP */
	/* transaction ID of the DREQ that this side has sent, or that it answers */
	uint64_t dreq_tid;
	uint8_t tx_len;   /* number of bytes in `tx`, the private data */
	uint16_t nb_sent; /* number of times that the message was transmitted */
	uint8_t tx[UROCE_CM_TX_PRIVATE_LEN];

	/* The fields from sent_ns to nb_retries_left belong to the timers, which conn.c arms. */
	uint64_t sent_ns;    /* time at which the last message was first transmitted */
	uint64_t give_up_ns; /* time after which the last message is not repeated any more */
	/* time from the latest transmission to the next one; doubled with each repetition */
	uint64_t interval_ns;
	uint64_t timeout_ns; /* time within which a side answers a message, as the REQ says */
	uint64_t service_ns; /* service timeout of the MRA that was received last */
	uint8_t max_retries;
	uint8_t nb_retries_left;

	/*
	 * The fields from `events` to `rx` are pending events and their values, which event.c
	 * changes.
	 */
	uint16_t events; /* set of pending events: 1 << enum uroce_cm_event_kind, or-ed */
	/* value of the field `status` of the events REJECTED, UNREACHABLE and DISCONNECTED */
	int status;
	uint8_t rx_len;
	uint8_t rx[UROCE_CM_EVENT_PRIVATE_LEN];
};

/* The ids of an account whose messages wait for transmission. */
struct uroce_cm_turn {
	struct uroce_cm_queue ids;
	/* the accounts whose turns are before and after, if `ids` is not empty */
	uint16_t prev;
	uint16_t next;
};

/* Messages of ids that wait for transmission. The accounts that have some are a ring. */
struct uroce_cm_turns {
	uint32_t nb;           /* number of messages of all accounts */
	uint16_t next_account; /* account whose turn is next, if `nb` is not 0 */
	struct uroce_cm_turn of[UROCE_CM_NB_ACCOUNTS];
};

/* An owner: a user of the engine. */
struct uroce_cm_owner {
	struct uroce_cm_queue events; /* ids that have events */
	/* ids that the owner knows, or will know by a CONNECT_REQUEST */
	struct uroce_cm_queue ids;
	uint16_t account_idx; /* index of the account in uroce_cm.nb_ids_of */
};

/* A reply that belongs to no id. */
struct uroce_cm_reply {
	struct uroce_cm_av av;
	uint8_t host;    /* index of the host in uroce_cm.nb_replies_of */
	uint8_t attr;    /* enum uroce_cm_attr: REJ, DREP, SIDR_REP, APR */
	uint8_t about;   /* REJ: the message that is rejected (enum uroce_cm_about) */
	uint16_t reason; /* reason of a REJ, or status of a SIDR_REP or an APR */
	uint64_t tid;
	uint32_t local_comm_id;
	uint32_t remote_comm_id;
	uint64_t service_id;
};

struct uroce_cm_rtt {
	uint64_t host; /* hash of a GID; 0: the slot is free */
	uint64_t rtt_ns;
};

struct uroce_cm {
	struct uroce_cm_conf conf;
	struct uroce_siphash_key hash_key;
	struct uroce_siphash_key random_key;
	uint64_t random_counter;
	uint32_t nb_ids; /* number of ids that are not free */
	/*
	 * number of ids, from 0 on, that have been used. The memory of the other ids has not been
	 * written.
	 */
	uint32_t nb_begun;
	struct uroce_cm_conn *conns;
	struct uroce_cm_queue free_ids;  /* ids that have been used, and are free */
	struct uroce_cm_queue lingering; /* ids that linger without owner, oldest first */
	struct uroce_cm_owner *owners;
	uint32_t nb_ids_of[UROCE_CM_NB_ACCOUNTS]; /* number of ids of each account (owner.c) */
	struct uroce_cm_turns responses;
	struct uroce_cm_turns requests;
	struct uroce_id_table by_local;    /* key: local comm id */
	struct uroce_id_table by_remote;   /* key: CA GUID, GID and comm id of the peer */
	struct uroce_id_table by_peer_qpn; /* key: CA GUID, GID and QPN of the peer */
	struct uroce_id_table by_qpn;      /* key: local QPN */
	struct uroce_id_table by_port;     /* key: service ID */
	/* listeners; key: service ID and address. A request looks up at most three addresses. */
	struct uroce_id_table by_listening;
	struct uroce_timer_heap timers;
	/*
	 * The two arrays of counters of admission.c: half open ids of a host, and requests of a
	 * host that wait at a listener. The index is a hash.
	 */
	uint32_t *nb_half_open_of;
	uint32_t *nb_waiting_of;
	uint32_t count_mask;         /* number of counters in each of the two arrays - 1 */
	uint64_t listeners_until_ns; /* time until which more listeners are expected (request.c) */
	/* bitmaps of port_space.c: a bit is set if an id of the port space has the port */
	uint64_t bound_ports[UROCE_CM_NB_SPACES][65536 / 64];
	/*
	 * The ephemeral ports of a port space, from conf.first_port to conf.last_port: the number of
	 * ports that ids have, and, for each account, the number of its ids that have one.
	 */
	uint32_t nb_ports[UROCE_CM_NB_SPACES];
	uint32_t nb_ports_of[UROCE_CM_NB_SPACES][UROCE_CM_NB_ACCOUNTS];
	/*
	 * The replies [first_reply, end_reply), modulo UROCE_CM_NB_REPLIES, wait for transmission.
	 */
	uint32_t first_reply;
	uint32_t end_reply;
	struct uroce_cm_reply replies[UROCE_CM_NB_REPLIES];
	/* number of waiting replies, by the hash of the GID of a host */
	uint16_t nb_replies_of[UROCE_CM_NB_REPLY_HOSTS];
	uint8_t nb_responses_in_row; /* number of responses that left since the last request */
	/* the last turn was that of replies of no id, and not that of responses of ids */
	bool is_replies_turn;
	struct uroce_cm_rtt rtt[UROCE_CM_NB_RTT];
	struct uroce_cm_stats stats;
};

static inline uint32_t
uroce_cm_id_of(const struct uroce_cm *cm, const struct uroce_cm_conn *conn)
{
	return (uint32_t)(conn - cm->conns);
}

static inline uint64_t
uroce_cm_random(struct uroce_cm *cm)
{
	cm->random_counter++;
	return uroce_siphash(&cm->random_key, &cm->random_counter, 1);
}

static inline void
uroce_cm_count(uint64_t *counters, unsigned attr)
{
	counters[attr - UROCE_CM_ATTR_FIRST]++;
}

#endif /* UROCE_CM_CONTEXT_H */
