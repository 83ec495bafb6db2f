/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_CM_STATE_H
#define UROCE_CM_STATE_H

/**
 * @file
 * The states of a CM id [IBA 12.9, 12.11], and the table of what an input does in each state. The
 * table is only data: conn.c sends the messages and arms the timers. doc/design/cm.md has a picture
 * of the states.
 */

#include <stdint.h>

enum uroce_cm_state {
	UROCE_CM_STATE_IDLE, /* the CM id was created, and has sent no message */
	UROCE_CM_STATE_LISTEN,
	/* states of the active side, which sends the REQ */
	UROCE_CM_STATE_REQ_SENT,
	UROCE_CM_STATE_REQ_ACKED, /* the peer has sent an MRA, so its REP may take longer */
	/* a REP has arrived, and the user has to establish or to reject the connection */
	UROCE_CM_STATE_REP_RCVD,
	/* states of the passive side, which receives the REQ */
	UROCE_CM_STATE_REQ_RCVD, /* the user has to accept or to reject the request */
	UROCE_CM_STATE_REP_SENT,
	UROCE_CM_STATE_REP_ACKED, /* the peer has sent an MRA, so its RTU may take longer */
	/* states that both the active and the passive side have */
	UROCE_CM_STATE_ESTABLISHED,
	UROCE_CM_STATE_DREQ_SENT,
	/* the peer has sent a DREQ; the DREP waits a short time for private data of the user */
	UROCE_CM_STATE_DREQ_RCVD,
	/* the connection has ended, and its frames and messages may still be on the way */
	UROCE_CM_STATE_TIMEWAIT,
	/* this side has sent a REJ, which it repeats if the peer repeats its message */
	UROCE_CM_STATE_REJ_SENT,
	/* states of CM ids for datagram services (SIDR) */
	UROCE_CM_STATE_SIDR_REQ_SENT,
	UROCE_CM_STATE_SIDR_REQ_RCVD,
	/* this side has sent a SIDR_REP, which it repeats if the peer repeats its SIDR_REQ */
	UROCE_CM_STATE_SIDR_REP_SENT,
	/* the CM id has ended and sends no more messages; it waits for uroce_cme_destroy() */
	UROCE_CM_STATE_CLOSED,
	UROCE_CM_STATE_NB
};

enum uroce_cm_input {
	/* inputs of the state machine that are calls of the user */
	UROCE_CM_ON_LISTEN,
	UROCE_CM_ON_CONNECT,
	UROCE_CM_ON_RESOLVE, /* uroce_cme_connect() of a CM id for a datagram service */
	UROCE_CM_ON_ACCEPT,
	UROCE_CM_ON_REJECT,
	UROCE_CM_ON_ESTABLISH,
	UROCE_CM_ON_DISCONNECT,
	UROCE_CM_ON_DESTROY,
	/* inputs of the state machine that are messages of the peer */
	UROCE_CM_ON_REQ, /* the REQ is a duplicate: the first REQ has created the CM id */
	UROCE_CM_ON_MRA,
	UROCE_CM_ON_REP,
	UROCE_CM_ON_RTU,
	UROCE_CM_ON_REJ,
	UROCE_CM_ON_STALE, /* a REJ of the REQ arrived, with the reason "stale connection" */
	UROCE_CM_ON_DREQ,
	UROCE_CM_ON_DREP,
	UROCE_CM_ON_SIDR_REQ, /* the SIDR_REQ is a duplicate: the first one has created the CM id */
	UROCE_CM_ON_SIDR_REP, /* a SIDR_REP with status 0: the service was resolved */
	UROCE_CM_ON_SIDR_REFUSAL,
	/*
	 * a message of the peer shows that the peer uses its QP for a new connection, so the peer
	 * has lost the connection of this CM id
	 */
	UROCE_CM_ON_SUPERSEDED,
	/* inputs of the state machine that are expired timers */
	/* no answer came in time, and the last message of the CM id may be repeated once more */
	UROCE_CM_ON_RETRY,
	/*
	 * no answer came although the last message was repeated as often as allowed; or the timer
	 * of a state in which no message is repeated expired
	 */
	UROCE_CM_ON_TIMEOUT,
	UROCE_CM_INPUT_NB
};

/** The message that a CM id sends as the result of an input. */
enum uroce_cme_send {
	UROCE_CM_SEND_NOTHING,
	UROCE_CM_SEND_AGAIN, /* repeat the last message that the CM id has sent */
	UROCE_CM_SEND_REQ,
	UROCE_CM_SEND_REP,
	UROCE_CM_SEND_RTU,
	UROCE_CM_SEND_REJ,
	UROCE_CM_SEND_DREQ,
	UROCE_CM_SEND_DREP,
	UROCE_CM_SEND_SIDR_REQ,
	UROCE_CM_SEND_SIDR_REP,
	/*
	 * The three messages from STALE_REJ on are replies that do not become the last message of
	 * the CM id, and are not repeated.
	 */
	UROCE_CM_SEND_STALE_REJ, /* REJ of a REQ, with the reason "stale connection" */
	UROCE_CM_SEND_LATE_REJ,  /* REJ of an RTU that arrives after the end of the connection */
	UROCE_CM_SEND_LONE_DREP, /* DREP for a DREQ of a connection that has ended */
};

/** A change of a CM id that an input causes besides the next state, the message and the event. */
enum uroce_cm_effect {
	UROCE_CM_EFFECT_NONE,
	/* the running timer of the CM id is extended by the service timeout of the MRA */
	UROCE_CM_EFFECT_STRETCH,
	/* the CM id gets a new comm id and TID, and sends a new REQ a little later */
	UROCE_CM_EFFECT_NEW_ID,
	UROCE_CM_EFFECT_DUPLICATE, /* the input is a duplicate message, which is only counted */
};

/** The kinds of timers of a CM id. At most one timer runs in each state. */
enum uroce_cm_timer {
	UROCE_CM_TIMER_NONE,
	/*
	 * time until the last message of the CM id is repeated; after the last repetition the id
	 * gives up
	 */
	UROCE_CM_TIMER_RETRY,
	UROCE_CM_TIMER_ANSWER, /* time in which the user may provide private data for the DREP */
	UROCE_CM_TIMER_TIMEWAIT,
	/* time for which an ended CM id is kept, because the peer may repeat its message */
	UROCE_CM_TIMER_LINGER,
};

/** A cell of the state table of CM ids: what an input does in a state. */
struct uroce_cm_step {
	/*
	 * the next state of the CM id (enum uroce_cm_state) plus one; the next state may be the
	 * present state
	 */
	uint8_t next_plus_one;
	uint8_t send; /* message that the CM id sends: enum uroce_cme_send */
	/* event for the user (enum uroce_cm_event_kind) plus one; 0: no event */
	uint8_t report;
	uint8_t effect; /* further change of the CM id (enum uroce_cm_effect) */
};

/**
 * Look up, in the state table of CM ids, what an input does in a state.
 * @return the cell of the table; NULL: the state ignores the input, or, if the input is a call of
 *	the user, the call is refused
 */
const struct uroce_cm_step *uroce_cm_state_step(enum uroce_cm_state state,
						enum uroce_cm_input input);

/** Get the kind of the timer that runs in a state of a CM id. */
enum uroce_cm_timer uroce_cm_state_timer(enum uroce_cm_state state);

/**
 * Get the name of a state of a CM id ("REQ_SENT"). The result is never NULL; for an unknown state
 * it is "?".
 */
const char *uroce_cm_state_name(unsigned state);

/**
 * Get the name of an input of the state machine of a CM id ("REQ"). The result is never NULL; for
 * an unknown input it is "?".
 */
const char *uroce_cm_input_name(unsigned input);

#endif /* UROCE_CM_STATE_H */
