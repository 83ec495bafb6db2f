/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_CM_CONTEXT_H
#define UROCE_CM_CONTEXT_H

/**
 * @file
 * The data structures of the CM engine and of its CM ids, shared by the files of lib/cm. Other
 * libraries do not see them. Each of these files changes a part of the data:
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
 * Maximum number of replies that belong to no CM id and wait for transmission. It is a power of
 * two.
 */
#define UROCE_CM_NB_REPLIES 256u

/*
 * Number of counters of the replies that wait for transmission. The hash of the destination host
 * selects the counter. The number is a power of two.
 */
#define UROCE_CM_NB_REPLY_HOSTS 64u

/* Number of port spaces that service_id.h lists. */
#define UROCE_CM_NB_SPACES 4u

/*
 * Maximum number of CM ids that share a port, or a QP number. A look-up iterates over all ids that
 * share the port or the number, so this maximum bounds the time of a look-up.
 */
#define UROCE_CM_SHARE_MAX 1024u

/* Number of hosts whose round-trip time the engine stores. The number is a power of two. */
#define UROCE_CM_NB_RTT 64u

/* Maximum number of bytes of private data of a message that a CM id sends. */
#define UROCE_CM_TX_PRIVATE_LEN UROCE_CM_RTU_PRIVATE_LEN

/*
 * The kinds of queues of CM ids. An id is in at most one queue of each kind, and has a pair of
 * links for each kind.
 */
enum uroce_cm_link {
	/* queue of the CM ids of an account that have a response, or a request, to transmit */
	UROCE_CM_LINK_TX,
	UROCE_CM_LINK_EVENT, /* queue of the CM ids that have events for their owner */
	/*
	 * queue of the free CM ids, or queue of the ids without owner that are kept only for
	 * repetitions of the peer and that new ids may replace
	 */
	UROCE_CM_LINK_SPARE,
	UROCE_CM_LINK_WAITING, /* queue of the CM ids of requests that wait at a listener */
	UROCE_CM_LINK_OWNED,   /* queue of the CM ids of an owner */
	UROCE_CM_LINK_NB
};

/* A queue of CM ids, which are linked by their numbers. */
struct uroce_cm_queue {
	uint32_t first; /* first CM id of the queue; UROCE_CM_NO_ID: the queue is empty */
	uint32_t last;
	uint32_t nb;
};

/* A CM id: a listener, an end of a connection, or an end of a resolution (SIDR). */
struct uroce_cm_conn {
	/* The fields from `state` to `is_drep_doubtful` are the state of the CM id. */
	uint8_t state; /* state of the CM id (enum uroce_cm_state) */
	bool is_used;  /* the CM id is not free */
	/* the owner has received the CM id, or will receive it by a CONNECT_REQUEST */
	bool has_owner;
	bool is_active;
	bool is_datagram;
	/*
	 * the CM id has no owner, and is in the queue uroce_cm.lingering until the peer stops its
	 * repetitions
	 */
	bool is_lingering;
	/*
	 * the CM id counts as half open: a request of a peer has created it, and the connection is
	 * not established yet
	 */
	bool is_half_open;
	/* number of further attempts to connect that are left after a REJ "stale connection" */
	uint8_t nb_stale_left;
	uint64_t user;
	/*
	 * CM id of the listener at which the CONNECT_REQUEST of this id waits; UROCE_CM_NO_ID if it
	 * does not wait
	 */
	uint32_t listener;
	/*
	 * an RTU has arrived after the DREQ was sent: the peer may have confirmed the DREQ before
	 * the connection was established on its side
	 */
	bool is_drep_doubtful;
	/*
	 * The fields from `owner` to `tx_account_idx` are the owner and the account of the CM id.
	 * turns.c changes `tx_account_idx`, owner.c changes the others.
	 */
	/* owner that gets the events of the CM id, also while `has_owner` is false */
	uint16_t owner;
	uint16_t account_idx; /* index of the CM id's account in uroce_cm.nb_ids_of */
	bool is_counted;      /* the CM id is counted in uroce_cm.nb_ids_of for its account */
	/*
	 * index of the account in whose queue the message of the CM id waits (turns.c); valid while
	 * a message waits
	 */
	uint16_t tx_account_idx;

	/*
	 * The links of the CM id in queues, one pair for each kind of queue (enum uroce_cm_link);
	 * queue.c changes them.
	 */
	struct {
		uint32_t prev;
		uint32_t next;
		bool is_in;
	} link[UROCE_CM_LINK_NB];

	/*
	 * The fields from `is_bound` to `waiting` are the addresses and ports of the CM id, and the
	 * backlog of a listener.
	 */
	bool is_bound;
	bool is_v6only;
	bool is_shared_port;
	bool is_in_listening; /* the CM id is in the table uroce_cm.by_listening */
	/* index of the account for which the ephemeral port of the CM id counts */
	uint16_t port_account_idx;
	uint16_t space;
	struct uroce_cm_addr local;
	struct uroce_cm_addr remote;
	/* if the CM id is a listener: maximum number of requests of one host that may wait */
	uint32_t max_backlog;
	/* if the CM id is a listener: queue of the requests that the user has not received yet */
	struct uroce_cm_queue waiting;

	/*
	 * The fields from `local_comm_id` to `av` are the keys by which a CM id is found, which
	 * identity.c changes.
	 */
	/* comm id of this side, for SIDR the request ID; 0 if there is none */
	uint32_t local_comm_id;
	/* comm id of the peer, for SIDR the request ID; 0 if it is not known */
	uint32_t remote_comm_id;
	be64 remote_guid;
	bool is_in_local; /* the CM id is in the table uroce_cm.by_local */
	/* the CM id is in the table uroce_cm.by_remote, which has only passive ids */
	bool is_in_remote;
	bool is_in_peer_qpn;
	bool is_in_qpn;
	struct uroce_cm_av av;

	/*
	 * The fields from `service_id` to `peer_ece_options` are the parameters of the connection
	 * or datagram service.
	 */
	uint64_t service_id;
	uint64_t tid;
	uint32_t local_qpn;
	uint32_t remote_qpn;
	/*
	 * Starting PSNs: `local_psn` is in the REQ or REP that this side sends, `remote_psn` is in
	 * the REP or REQ of the peer. The sender of the message expects packets from this PSN on,
	 * and the receiver of the message sends packets from this PSN on [IBA 12.7, Starting PSN].
	 */
	uint32_t local_psn;
	uint32_t remote_psn;
	uint32_t qkey; /* Q_Key of this side's QP, which the SIDR_REP reports */
	uint32_t remote_qkey;
	uint8_t transport;
	uint8_t mtu_code;
	uint16_t pkey;
	uint8_t responder_resources;
	uint8_t initiator_depth;
	uint8_t ack_timeout_code;
	uint8_t retry_count;
	uint8_t rnr_retry_count;
	/* RNR retry count that this side sends, and that the peer's QP must use */
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
	 * The fields from `tx_attr` to `tx` describe the last message of the CM id, which outbox.c
	 * sends.
	 */
	/*
	 * kind of the last message that the CM id has sent, or has to send (enum uroce_cm_attr); 0
	 * if there is no such message
	 */
	uint8_t tx_attr;
	/*
	 * if the last message of the CM id is a REJ: the message that it rejects (enum
	 * uroce_cm_about)
	 */
	uint8_t tx_about;
	/* if the last message of the CM id is a REJ: its reason; if it is a SIDR_REP: its status */
	uint16_t tx_reason;
	/* transaction ID of the DREQ that this side has sent, or that it answers */
	uint64_t dreq_tid;
	uint8_t tx_len;   /* number of bytes of private data in `tx` */
	uint16_t nb_sent; /* number of times that the last message of the CM id was transmitted */
	uint8_t tx[UROCE_CM_TX_PRIVATE_LEN];

	/*
	 * The fields from `sent_ns` to `nb_retries_left` belong to the timer of the CM id, which
	 * conn.c arms.
	 */
	uint64_t sent_ns; /* time at which the last message of the CM id was first transmitted */
	/* time after which the last message of the CM id is not repeated any more */
	uint64_t give_up_ns;
	/*
	 * time between the latest transmission of the last message of the CM id and the next one;
	 * each repetition doubles this time
	 */
	uint64_t interval_ns;
	/* time within which each side answers a CM message; the REQ contains this time */
	uint64_t timeout_ns;
	uint64_t service_ns; /* service timeout of the MRA that was received last */
	uint8_t max_retries;
	uint8_t nb_retries_left;

	/*
	 * The fields from `events` to `rx` are the pending events of the CM id and their values,
	 * which event.c changes.
	 */
	uint16_t events; /* set of pending events: 1 << enum uroce_cm_event_kind, or-ed */
	/* value of the field `status` of the events REJECTED, UNREACHABLE and DISCONNECTED */
	int status;
	uint8_t rx_len;
	uint8_t rx[UROCE_CM_EVENT_PRIVATE_LEN];
};

/* The CM ids of one account that have a message to transmit. */
struct uroce_cm_turn {
	struct uroce_cm_queue ids;
	/*
	 * indices of the accounts whose turns come before and after the turn of this account; valid
	 * if the queue `ids` of this account is not empty
	 */
	uint16_t prev;
	uint16_t next;
};

/*
 * The CM ids whose messages wait for transmission, in a queue for each account. An account is a
 * group of users whose ids are limited together. The accounts that have waiting messages form a
 * ring, in which they take turns.
 */
struct uroce_cm_turns {
	uint32_t nb;           /* number of messages of all accounts that wait for transmission */
	uint16_t next_account; /* index of the account whose turn is next, if `nb` is not 0 */
	struct uroce_cm_turn of[UROCE_CM_NB_ACCOUNTS];
};

/* An owner: a user of the CM engine. */
struct uroce_cm_owner {
	struct uroce_cm_queue events; /* queue of the CM ids of the owner that have events */
	/* CM ids that the owner has received, or will receive by a CONNECT_REQUEST */
	struct uroce_cm_queue ids;
	uint16_t account_idx; /* index of the owner's account in uroce_cm.nb_ids_of */
};

/* A reply that belongs to no CM id, such as the REJ of a REQ for which no id was free. */
struct uroce_cm_reply {
	struct uroce_cm_av av;
	uint8_t host; /* index of the host to which the reply goes, in uroce_cm.nb_replies_of */
	uint8_t attr; /* kind of the reply: REJ, DREP, SIDR_REP or APR of enum uroce_cm_attr */
	/* if the reply is a REJ: the message that it rejects (enum uroce_cm_about) */
	uint8_t about;
	uint16_t reason; /* reason of a REJ; status of a SIDR_REP or an APR */
	uint64_t tid;
	uint32_t local_comm_id;
	uint32_t remote_comm_id;
	uint64_t service_id;
};

struct uroce_cm_rtt {
	/* hash of the GID of the host whose round-trip time is stored; 0: the slot is free */
	uint64_t host;
	uint64_t rtt_ns;
};

struct uroce_cm {
	struct uroce_cm_conf conf;
	struct uroce_siphash_key hash_key;
	struct uroce_siphash_key random_key;
	uint64_t random_counter;
	uint32_t nb_ids; /* number of CM ids that are not free */
	/*
	 * number of CM ids that have been used, from id 0 on. The memory of the other ids has not
	 * been written.
	 */
	uint32_t nb_begun;
	struct uroce_cm_conn *conns;
	/* queue of the CM ids that have been used, and are free now */
	struct uroce_cm_queue free_ids;
	/*
	 * queue of the CM ids without owner that are kept for repetitions of the peer, oldest first
	 */
	struct uroce_cm_queue lingering;
	struct uroce_cm_owner *owners;
	uint32_t nb_ids_of[UROCE_CM_NB_ACCOUNTS]; /* number of CM ids of each account (owner.c) */
	struct uroce_cm_turns responses;
	struct uroce_cm_turns requests;
	struct uroce_id_table by_local; /* look-up of CM ids by the local comm id */
	/* look-up of CM ids by the CA GUID, the GID and the comm id of the peer */
	struct uroce_id_table by_remote;
	/* look-up of CM ids by the CA GUID, the GID and the QP number of the peer */
	struct uroce_id_table by_peer_qpn;
	struct uroce_id_table by_qpn;  /* look-up of CM ids by the QP number of this side */
	struct uroce_id_table by_port; /* look-up of bound CM ids by the service ID */
	/*
	 * look-up of listeners by the service ID and the address; a request needs at most three
	 * look-ups
	 */
	struct uroce_id_table by_listening;
	struct uroce_timer_heap timers;
	/*
	 * The two arrays of counters of admission.c: for each host, the number of its half open CM
	 * ids; for each host and listener, the number of requests of the host that wait at the
	 * listener. The index of a counter is a hash of the host's GID, and of the listener.
	 */
	uint32_t *nb_half_open_of;
	uint32_t *nb_waiting_of;
	/* number of counters in each of the arrays nb_half_open_of and nb_waiting_of, minus 1 */
	uint32_t count_mask;
	/*
	 * time until which a connection request without a listener is dropped instead of refused
	 * (request.c)
	 */
	uint64_t listeners_until_ns;
	/* bitmaps of port_space.c: a bit is set if a CM id of the port space has the port */
	uint64_t bound_ports[UROCE_CM_NB_SPACES][65536 / 64];
	/*
	 * The ephemeral ports of a port space are those from conf.first_port to conf.last_port.
	 * `nb_ports` is the number of ephemeral ports that CM ids have. `nb_ports_of` is, for each
	 * account, the number of its ids that have an ephemeral port.
	 */
	uint32_t nb_ports[UROCE_CM_NB_SPACES];
	uint32_t nb_ports_of[UROCE_CM_NB_SPACES][UROCE_CM_NB_ACCOUNTS];
	/*
	 * The elements [first_reply, end_reply) of `replies`, modulo UROCE_CM_NB_REPLIES, are
	 * replies that wait for transmission.
	 */
	uint32_t first_reply;
	uint32_t end_reply;
	struct uroce_cm_reply replies[UROCE_CM_NB_REPLIES];
	/*
	 * number of replies to a host that wait for transmission; the index is a hash of the host's
	 * GID
	 */
	uint16_t nb_replies_of[UROCE_CM_NB_REPLY_HOSTS];
	/* number of responses that were transmitted since the last request */
	uint8_t nb_responses_in_row;
	/*
	 * the last response that was transmitted was a reply without a CM id, and not the response
	 * of an id
	 */
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
