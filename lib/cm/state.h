/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_CM_STATE_H
#define UROCE_CM_STATE_H

/**
 * @file
 * The states of an id [IBA 12.9, 12.11], and the table of what an event does in each state. The
 * table is data: it sends nothing and arms no timer. doc/design/cm.md draws it.
 */

#include <stdint.h>

enum uroce_cm_state {
	UROCE_CM_STATE_IDLE, /* created; nothing is on the wire */
	UROCE_CM_STATE_LISTEN,
	/* active side */
	UROCE_CM_STATE_REQ_SENT,
	UROCE_CM_STATE_REQ_ACKED, /* the peer has sent an MRA: its REP takes longer */
	UROCE_CM_STATE_REP_RCVD,  /* the user has to establish or to reject */
	/* passive side */
	UROCE_CM_STATE_REQ_RCVD, /* the user has to accept or to reject */
	UROCE_CM_STATE_REP_SENT,
	UROCE_CM_STATE_REP_ACKED, /* the peer has sent an MRA: its RTU takes longer */
	/* both */
	UROCE_CM_STATE_ESTABLISHED,
	UROCE_CM_STATE_DREQ_SENT,
	UROCE_CM_STATE_DREQ_RCVD, /* the DREP waits for the user, for a short time */
	UROCE_CM_STATE_TIMEWAIT, /* frames and messages of the connection may still be on the way */
	UROCE_CM_STATE_REJ_SENT, /* the REJ is repeated if the peer repeats its message */
	/* datagram services */
	UROCE_CM_STATE_SIDR_REQ_SENT,
	UROCE_CM_STATE_SIDR_REQ_RCVD,
	UROCE_CM_STATE_SIDR_REP_SENT, /* the SIDR_REP is repeated if the peer repeats its SIDR_REQ */
	/* ended; nothing is on the wire; the id waits for uroce_cme_destroy() */
	UROCE_CM_STATE_CLOSED,
	UROCE_CM_STATE_NB
};

enum uroce_cm_input {
	/* calls of the user */
	UROCE_CM_ON_LISTEN,
	UROCE_CM_ON_CONNECT,
	UROCE_CM_ON_RESOLVE, /* connect of a datagram id */
	UROCE_CM_ON_ACCEPT,
	UROCE_CM_ON_REJECT,
	UROCE_CM_ON_ESTABLISH,
	UROCE_CM_ON_DISCONNECT,
	UROCE_CM_ON_DESTROY,
	/* messages of the peer */
	UROCE_CM_ON_REQ, /* a duplicate: the first one has made the id */
	UROCE_CM_ON_MRA,
	UROCE_CM_ON_REP,
	UROCE_CM_ON_RTU,
	UROCE_CM_ON_REJ,
	UROCE_CM_ON_STALE, /* REJ of a REQ with the reason "stale connection" */
	UROCE_CM_ON_DREQ,
	UROCE_CM_ON_DREP,
	UROCE_CM_ON_SIDR_REQ, /* a duplicate */
	UROCE_CM_ON_SIDR_REP, /* status 0 */
	UROCE_CM_ON_SIDR_REFUSAL,
	/* the peer has begun a new connection with the QP of this one, so it has lost this one */
	UROCE_CM_ON_SUPERSEDED,
	/* timers */
	UROCE_CM_ON_RETRY,   /* no answer came, and a repetition is left */
	UROCE_CM_ON_TIMEOUT, /* no repetition is left, or a timer without repetitions expired */
	UROCE_CM_INPUT_NB
};

/** What the id sends. */
enum uroce_cme_send {
	UROCE_CM_SEND_NOTHING,
	UROCE_CM_SEND_AGAIN, /* the last message that the id has sent */
	UROCE_CM_SEND_REQ,
	UROCE_CM_SEND_REP,
	UROCE_CM_SEND_RTU,
	UROCE_CM_SEND_REJ,
	UROCE_CM_SEND_DREQ,
	UROCE_CM_SEND_DREP,
	UROCE_CM_SEND_SIDR_REQ,
	UROCE_CM_SEND_SIDR_REP,
	/* replies that are not the last message of the id, and are not repeated */
	UROCE_CM_SEND_STALE_REJ, /* to a REQ */
	UROCE_CM_SEND_LATE_REJ,  /* to an RTU: the connection has ended */
	UROCE_CM_SEND_LONE_DREP, /* to a DREQ */
};

/** What else changes. */
enum uroce_cm_effect {
	UROCE_CM_EFFECT_NONE,
	UROCE_CM_EFFECT_STRETCH, /* the timer waits for the service timeout of the MRA in addition */
	UROCE_CM_EFFECT_NEW_ID,  /* a new comm id and TID; the REQ follows a little later */
	UROCE_CM_EFFECT_DUPLICATE, /* nothing; counted */
};

/** Timer of a state. */
enum uroce_cm_timer {
	UROCE_CM_TIMER_NONE,
	UROCE_CM_TIMER_RETRY,  /* repeat the message, then give up */
	UROCE_CM_TIMER_ANSWER, /* time in which the user may add private data to a DREP */
	UROCE_CM_TIMER_TIMEWAIT,
	UROCE_CM_TIMER_LINGER, /* time in which the peer may repeat its message */
};

/** One cell of the table. */
struct uroce_cm_step {
	uint8_t next_plus_one; /* enum uroce_cm_state plus one; the same state: the id stays */
	uint8_t send;          /* enum uroce_cme_send */
	uint8_t report;        /* enum uroce_cm_event_kind plus one; 0: none */
	uint8_t effect;        /* enum uroce_cm_effect */
};

/**
 * What an event does.
 * @return NULL: the event means nothing in this state; a call of the user is refused
 */
const struct uroce_cm_step *uroce_cm_state_step(enum uroce_cm_state state,
						enum uroce_cm_input input);

/** The timer that runs in a state. */
enum uroce_cm_timer uroce_cm_state_timer(enum uroce_cm_state state);

/** Name of a state ("REQ_SENT"). Never NULL; "?" if out of range. */
const char *uroce_cm_state_name(unsigned state);

/** Name of an input ("REQ"). Never NULL; "?" if out of range. */
const char *uroce_cm_input_name(unsigned input);

#endif /* UROCE_CM_STATE_H */
