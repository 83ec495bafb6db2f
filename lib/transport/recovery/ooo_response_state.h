/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_OOO_RESPONSE_STATE_H
#define UROCE_TRANSPORT_OOO_RESPONSE_STATE_H

/**
 * @file
 * The state machine of the recovery of responses: states, events and actions. ooo_response.c raises
 * the events.
 */

#include "transport/context.h"

/** Events of the recovery of responses. */
enum uroce_ooo_response_event {
	/* a response is missing, and the peer has executed later requests */
	UROCE_OOO_RESPONSE_ON_GAP,
	UROCE_OOO_RESPONSE_ON_MORE,    /* more responses are missing than were requested again */
	UROCE_OOO_RESPONSE_ON_LOST,    /* reordering is ruled out: the missing responses are lost */
	UROCE_OOO_RESPONSE_ON_ASKED,   /* all lost responses were requested again */
	UROCE_OOO_RESPONSE_ON_REWOUND, /* the send position went back to una_psn */
	UROCE_OOO_RESPONSE_ON_FILLED,  /* no response is missing any more, or the QP has ended */
	UROCE_OOO_RESPONSE_EVENT_NB
};

/** What the caller of uroce_ooo_response_step() has to do. */
enum uroce_ooo_response_action {
	UROCE_OOO_RESPONSE_DO_NOTHING,
	UROCE_OOO_RESPONSE_DO_ARM, /* start the reordering timer */
	UROCE_OOO_RESPONSE_DO_ASK, /* request the missing responses */
};

/**
 * Process an event: change the state. In any state but REORDERING the reordering timer is stopped.
 * @return what the caller has to do
 */
enum uroce_ooo_response_action uroce_ooo_response_step(struct uroce_ooo_responses *answers,
						       enum uroce_ooo_response_event event);

/** The name of a state, for traces. */
const char *uroce_ooo_response_state_name(enum uroce_ooo_response_state state);

/**
 * Forget which responses were requested again, after the send position went back to una_psn. The
 * retransmission of the requests from there on asks for all missing responses.
 */
void uroce_ooo_response_note_rewind(struct uroce_qpc *qpc);

/** Discard all responses that arrived ahead of una_psn. */
void uroce_ooo_response_discard(struct uroce_qpc *qpc);

#endif /* UROCE_TRANSPORT_OOO_RESPONSE_STATE_H */
