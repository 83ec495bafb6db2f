/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The table of the states of a CM id. A row is a state, a column is an input. A cell holds the next
 * state, the message that is sent, the event that is reported to the user, and a further change. An
 * empty cell means that the state ignores the input, and that a call of the user is refused.
 */

#include "cm/state.h"

#include <stddef.h>

#include "cm/cm.h"

/*
 * In a cell of the state table, the next state is stored plus one. So an empty cell, which is zero,
 * differs from a cell that leads to the state IDLE.
 */
#define STEP(state, send, report, effect)                                                          \
	{                                                                                          \
		UROCE_CM_STATE_##state + 1, UROCE_CM_SEND_##send, report, UROCE_CM_EFFECT_##effect \
	}
#define REPORT(kind)           (UROCE_CM_EVENT_##kind + 1)
#define GO(state, send)        STEP(state, send, 0, NONE)
#define STAY(state)            STEP(state, NOTHING, 0, NONE)
#define IGNORE(state)          STEP(state, NOTHING, 0, DUPLICATE)
#define AGAIN(state)           STEP(state, AGAIN, 0, DUPLICATE)
#define RETRY(state)           STEP(state, AGAIN, 0, NONE)
#define END(state, send, kind) STEP(state, send, REPORT(kind), NONE)

/*
 * Cells of the state table that the states REQ_SENT and REQ_ACKED have in common. A DREQ may
 * overtake the REP, if the peer accepts the request and then disconnects.
 */
#define REQ_IS_OUT(state)                                                                          \
	[UROCE_CM_ON_REP] = END(REP_RCVD, NOTHING, CONNECT_RESPONSE),                              \
	[UROCE_CM_ON_REJ] = END(CLOSED, NOTHING, REJECTED),                                        \
	[UROCE_CM_ON_DREQ] = END(TIMEWAIT, DREP, REJECTED),                                        \
	[UROCE_CM_ON_STALE] = STEP(REQ_SENT, NOTHING, 0, NEW_ID),                                  \
	[UROCE_CM_ON_RETRY] = RETRY(state),                                                        \
	[UROCE_CM_ON_TIMEOUT] = END(REJ_SENT, REJ, UNREACHABLE),                                   \
	[UROCE_CM_ON_DESTROY] = GO(REJ_SENT, REJ)

/*
 * Cells of the state table that the states REP_SENT and REP_ACKED have in common. The peer may have
 * received the REP, so the connection may be established on the peer's side. So this side ends the
 * connection by a DREQ, which is repeated until it is answered, and not by a REJ.
 */
#define REP_IS_OUT(state)                                                                          \
	[UROCE_CM_ON_REQ] = AGAIN(state),                                                          \
	[UROCE_CM_ON_RTU] = END(ESTABLISHED, NOTHING, ESTABLISHED),                                \
	[UROCE_CM_ON_ESTABLISH] = END(ESTABLISHED, NOTHING, ESTABLISHED),                          \
	[UROCE_CM_ON_REJ] = END(TIMEWAIT, NOTHING, REJECTED),                                      \
	[UROCE_CM_ON_DREQ] = END(DREQ_RCVD, NOTHING, DISCONNECTED),                                \
	[UROCE_CM_ON_SUPERSEDED] = GO(DREQ_SENT, DREQ),                                            \
	[UROCE_CM_ON_DISCONNECT] = GO(DREQ_SENT, DREQ),                                            \
	[UROCE_CM_ON_DESTROY] = GO(DREQ_SENT, DREQ), [UROCE_CM_ON_RETRY] = RETRY(state),           \
	[UROCE_CM_ON_TIMEOUT] = END(REJ_SENT, REJ, UNREACHABLE)

static const struct uroce_cm_step cells[UROCE_CM_STATE_NB][UROCE_CM_INPUT_NB] = {
	[UROCE_CM_STATE_IDLE] = {
		[UROCE_CM_ON_LISTEN] = STAY(LISTEN),
		[UROCE_CM_ON_CONNECT] = GO(REQ_SENT, REQ),
		[UROCE_CM_ON_RESOLVE] = GO(SIDR_REQ_SENT, SIDR_REQ),
		[UROCE_CM_ON_DESTROY] = STAY(CLOSED),
	},
	[UROCE_CM_STATE_LISTEN] = {
		[UROCE_CM_ON_DESTROY] = STAY(CLOSED),
	},
	[UROCE_CM_STATE_REQ_SENT] = {
		REQ_IS_OUT(REQ_SENT),
		[UROCE_CM_ON_MRA] = STEP(REQ_ACKED, NOTHING, 0, STRETCH),
	},
	[UROCE_CM_STATE_REQ_ACKED] = {
		REQ_IS_OUT(REQ_ACKED),
		[UROCE_CM_ON_MRA] = IGNORE(REQ_ACKED),
	},
	[UROCE_CM_STATE_REP_RCVD] = {
		[UROCE_CM_ON_REP] = IGNORE(REP_RCVD),
		[UROCE_CM_ON_ESTABLISH] = GO(ESTABLISHED, RTU),
		[UROCE_CM_ON_REJECT] = GO(REJ_SENT, REJ),
		[UROCE_CM_ON_DESTROY] = GO(REJ_SENT, REJ),
		[UROCE_CM_ON_DISCONNECT] = GO(DREQ_SENT, DREQ),
		[UROCE_CM_ON_SUPERSEDED] = GO(DREQ_SENT, DREQ),
		[UROCE_CM_ON_REJ] = END(TIMEWAIT, NOTHING, REJECTED),
		[UROCE_CM_ON_DREQ] = END(DREQ_RCVD, NOTHING, DISCONNECTED),
	},
	[UROCE_CM_STATE_REQ_RCVD] = {
		[UROCE_CM_ON_REQ] = IGNORE(REQ_RCVD),
		[UROCE_CM_ON_ACCEPT] = GO(REP_SENT, REP),
		[UROCE_CM_ON_REJECT] = GO(REJ_SENT, REJ),
		[UROCE_CM_ON_DESTROY] = GO(REJ_SENT, REJ),
		[UROCE_CM_ON_REJ] = END(CLOSED, NOTHING, REJECTED),
		[UROCE_CM_ON_SUPERSEDED] = END(CLOSED, NOTHING, REJECTED),
	},
	[UROCE_CM_STATE_REP_SENT] = {
		REP_IS_OUT(REP_SENT),
		[UROCE_CM_ON_MRA] = STEP(REP_ACKED, NOTHING, 0, STRETCH),
	},
	[UROCE_CM_STATE_REP_ACKED] = {
		REP_IS_OUT(REP_ACKED),
		[UROCE_CM_ON_MRA] = IGNORE(REP_ACKED),
	},
	[UROCE_CM_STATE_ESTABLISHED] = {
		[UROCE_CM_ON_ESTABLISH] = STAY(ESTABLISHED),
		[UROCE_CM_ON_REQ] = IGNORE(ESTABLISHED),
		/*
		 * a REP in the state ESTABLISHED shows that the peer has not received the RTU, so
		 * the RTU is repeated
		 */
		[UROCE_CM_ON_REP] = AGAIN(ESTABLISHED),
		[UROCE_CM_ON_RTU] = IGNORE(ESTABLISHED),
		[UROCE_CM_ON_DISCONNECT] = GO(DREQ_SENT, DREQ),
		[UROCE_CM_ON_DESTROY] = GO(DREQ_SENT, DREQ),
		[UROCE_CM_ON_SUPERSEDED] = GO(DREQ_SENT, DREQ),
		[UROCE_CM_ON_DREQ] = END(DREQ_RCVD, NOTHING, DISCONNECTED),
		[UROCE_CM_ON_REJ] = END(TIMEWAIT, NOTHING, DISCONNECTED),
	},
	[UROCE_CM_STATE_DREQ_SENT] = {
		[UROCE_CM_ON_REQ] = IGNORE(DREQ_SENT),
		[UROCE_CM_ON_RTU] = STAY(DREQ_SENT),
		[UROCE_CM_ON_REP] = IGNORE(DREQ_SENT),
		[UROCE_CM_ON_SUPERSEDED] = RETRY(DREQ_SENT),
		[UROCE_CM_ON_DISCONNECT] = STAY(DREQ_SENT),
		[UROCE_CM_ON_DESTROY] = STAY(DREQ_SENT),
		[UROCE_CM_ON_DREQ] = END(TIMEWAIT, DREP, DISCONNECTED),
		[UROCE_CM_ON_DREP] = END(TIMEWAIT, NOTHING, DISCONNECTED),
		[UROCE_CM_ON_REJ] = END(TIMEWAIT, NOTHING, DISCONNECTED),
		[UROCE_CM_ON_RETRY] = RETRY(DREQ_SENT),
		[UROCE_CM_ON_TIMEOUT] = END(TIMEWAIT, NOTHING, DISCONNECTED),
	},
	[UROCE_CM_STATE_DREQ_RCVD] = {
		[UROCE_CM_ON_DREQ] = IGNORE(DREQ_RCVD),
		[UROCE_CM_ON_DISCONNECT] = GO(TIMEWAIT, DREP),
		[UROCE_CM_ON_DESTROY] = GO(TIMEWAIT, DREP),
		[UROCE_CM_ON_SUPERSEDED] = GO(TIMEWAIT, DREP),
		[UROCE_CM_ON_TIMEOUT] = GO(TIMEWAIT, DREP),
	},
	[UROCE_CM_STATE_TIMEWAIT] = {
		[UROCE_CM_ON_REQ] = STEP(TIMEWAIT, STALE_REJ, 0, DUPLICATE),
		[UROCE_CM_ON_REP] = IGNORE(TIMEWAIT),
		[UROCE_CM_ON_RTU] = STEP(TIMEWAIT, LATE_REJ, 0, DUPLICATE),
		[UROCE_CM_ON_DREQ] = STEP(TIMEWAIT, DREP, 0, DUPLICATE),
		[UROCE_CM_ON_DREP] = IGNORE(TIMEWAIT),
		[UROCE_CM_ON_DISCONNECT] = STAY(TIMEWAIT),
		[UROCE_CM_ON_DESTROY] = STAY(TIMEWAIT),
		[UROCE_CM_ON_TIMEOUT] = END(CLOSED, NOTHING, TIMEWAIT_EXIT),
	},
	[UROCE_CM_STATE_REJ_SENT] = {
		[UROCE_CM_ON_REQ] = AGAIN(REJ_SENT),
		[UROCE_CM_ON_REP] = AGAIN(REJ_SENT),
		/*
		 * an RTU in the state REJ_SENT shows that the peer has not received the REJ, so the
		 * REJ is repeated
		 */
		[UROCE_CM_ON_RTU] = AGAIN(REJ_SENT),
		[UROCE_CM_ON_DREQ] = STEP(REJ_SENT, LONE_DREP, 0, NONE),
		[UROCE_CM_ON_DISCONNECT] = STAY(REJ_SENT),
		[UROCE_CM_ON_DESTROY] = STAY(REJ_SENT),
		[UROCE_CM_ON_TIMEOUT] = STAY(CLOSED),
	},
	[UROCE_CM_STATE_SIDR_REQ_SENT] = {
		[UROCE_CM_ON_SIDR_REP] = END(CLOSED, NOTHING, ESTABLISHED),
		[UROCE_CM_ON_SIDR_REFUSAL] = END(CLOSED, NOTHING, UNREACHABLE),
		[UROCE_CM_ON_DESTROY] = STAY(CLOSED),
		[UROCE_CM_ON_RETRY] = RETRY(SIDR_REQ_SENT),
		[UROCE_CM_ON_TIMEOUT] = END(CLOSED, NOTHING, UNREACHABLE),
	},
	[UROCE_CM_STATE_SIDR_REQ_RCVD] = {
		[UROCE_CM_ON_SIDR_REQ] = IGNORE(SIDR_REQ_RCVD),
		[UROCE_CM_ON_ACCEPT] = GO(SIDR_REP_SENT, SIDR_REP),
		[UROCE_CM_ON_REJECT] = GO(SIDR_REP_SENT, SIDR_REP),
		[UROCE_CM_ON_DESTROY] = GO(SIDR_REP_SENT, SIDR_REP),
	},
	[UROCE_CM_STATE_SIDR_REP_SENT] = {
		[UROCE_CM_ON_SIDR_REQ] = AGAIN(SIDR_REP_SENT),
		[UROCE_CM_ON_DISCONNECT] = STAY(SIDR_REP_SENT),
		[UROCE_CM_ON_DESTROY] = STAY(SIDR_REP_SENT),
		[UROCE_CM_ON_TIMEOUT] = STAY(CLOSED),
	},
	[UROCE_CM_STATE_CLOSED] = {
		[UROCE_CM_ON_DISCONNECT] = STAY(CLOSED),
		[UROCE_CM_ON_DESTROY] = STAY(CLOSED),
	},
};

static const uint8_t timers[UROCE_CM_STATE_NB] = {
	[UROCE_CM_STATE_REQ_SENT] = UROCE_CM_TIMER_RETRY,
	[UROCE_CM_STATE_REQ_ACKED] = UROCE_CM_TIMER_RETRY,
	[UROCE_CM_STATE_REP_SENT] = UROCE_CM_TIMER_RETRY,
	[UROCE_CM_STATE_REP_ACKED] = UROCE_CM_TIMER_RETRY,
	[UROCE_CM_STATE_DREQ_SENT] = UROCE_CM_TIMER_RETRY,
	[UROCE_CM_STATE_DREQ_RCVD] = UROCE_CM_TIMER_ANSWER,
	[UROCE_CM_STATE_TIMEWAIT] = UROCE_CM_TIMER_TIMEWAIT,
	[UROCE_CM_STATE_REJ_SENT] = UROCE_CM_TIMER_LINGER,
	[UROCE_CM_STATE_SIDR_REQ_SENT] = UROCE_CM_TIMER_RETRY,
	[UROCE_CM_STATE_SIDR_REP_SENT] = UROCE_CM_TIMER_LINGER,
};

static const char *const state_names[UROCE_CM_STATE_NB] = {
	[UROCE_CM_STATE_IDLE] = "IDLE",
	[UROCE_CM_STATE_LISTEN] = "LISTEN",
	[UROCE_CM_STATE_REQ_SENT] = "REQ_SENT",
	[UROCE_CM_STATE_REQ_ACKED] = "REQ_ACKED",
	[UROCE_CM_STATE_REP_RCVD] = "REP_RCVD",
	[UROCE_CM_STATE_REQ_RCVD] = "REQ_RCVD",
	[UROCE_CM_STATE_REP_SENT] = "REP_SENT",
	[UROCE_CM_STATE_REP_ACKED] = "REP_ACKED",
	[UROCE_CM_STATE_ESTABLISHED] = "ESTABLISHED",
	[UROCE_CM_STATE_DREQ_SENT] = "DREQ_SENT",
	[UROCE_CM_STATE_DREQ_RCVD] = "DREQ_RCVD",
	[UROCE_CM_STATE_TIMEWAIT] = "TIMEWAIT",
	[UROCE_CM_STATE_REJ_SENT] = "REJ_SENT",
	[UROCE_CM_STATE_SIDR_REQ_SENT] = "SIDR_REQ_SENT",
	[UROCE_CM_STATE_SIDR_REQ_RCVD] = "SIDR_REQ_RCVD",
	[UROCE_CM_STATE_SIDR_REP_SENT] = "SIDR_REP_SENT",
	[UROCE_CM_STATE_CLOSED] = "CLOSED",
};

static const char *const input_names[UROCE_CM_INPUT_NB] = {
	[UROCE_CM_ON_LISTEN] = "listen",
	[UROCE_CM_ON_CONNECT] = "connect",
	[UROCE_CM_ON_RESOLVE] = "resolve",
	[UROCE_CM_ON_ACCEPT] = "accept",
	[UROCE_CM_ON_REJECT] = "reject",
	[UROCE_CM_ON_ESTABLISH] = "establish",
	[UROCE_CM_ON_DISCONNECT] = "disconnect",
	[UROCE_CM_ON_DESTROY] = "destroy",
	[UROCE_CM_ON_REQ] = "REQ",
	[UROCE_CM_ON_MRA] = "MRA",
	[UROCE_CM_ON_REP] = "REP",
	[UROCE_CM_ON_RTU] = "RTU",
	[UROCE_CM_ON_REJ] = "REJ",
	[UROCE_CM_ON_STALE] = "REJ stale",
	[UROCE_CM_ON_DREQ] = "DREQ",
	[UROCE_CM_ON_DREP] = "DREP",
	[UROCE_CM_ON_SIDR_REQ] = "SIDR_REQ",
	[UROCE_CM_ON_SIDR_REP] = "SIDR_REP",
	[UROCE_CM_ON_SIDR_REFUSAL] = "SIDR_REP refusal",
	[UROCE_CM_ON_SUPERSEDED] = "superseded",
	[UROCE_CM_ON_RETRY] = "retry",
	[UROCE_CM_ON_TIMEOUT] = "timeout",
};

const struct uroce_cm_step *
uroce_cm_state_step(enum uroce_cm_state state, enum uroce_cm_input input)
{
	const struct uroce_cm_step *step = &cells[state][input];

	return step->next_plus_one ? step : NULL;
}

enum uroce_cm_timer
uroce_cm_state_timer(enum uroce_cm_state state)
{
	return (enum uroce_cm_timer)timers[state];
}

const char *
uroce_cm_state_name(unsigned state)
{
	return state < UROCE_CM_STATE_NB ? state_names[state] : "?";
}

const char *
uroce_cm_input_name(unsigned input)
{
	return input < UROCE_CM_INPUT_NB ? input_names[input] : "?";
}
