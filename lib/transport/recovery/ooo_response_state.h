/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_OOO_RESPONSE_STATE_H
#define UROCE_TRANSPORT_OOO_RESPONSE_STATE_H

/**
 * @file
 * The state machine of the requester's recovery of lost responses: states, events and actions.
 * ooo_response.c raises the events.
 */

#include "transport/context.h"

/** Events of the recovery of lost responses. */
enum uroce_ooo_response_event {
	/* a response is missing, and the peer has executed later requests */
	UROCE_OOO_RESPONSE_ON_GAP,
	UROCE_OOO_RESPONSE_ON_MORE, /* more responses are missing than were requested again */
	/* the reordering window has passed, so the missing responses are lost */
	UROCE_OOO_RESPONSE_ON_LOST,
	/* all responses that are known to be lost were requested again */
	UROCE_OOO_RESPONSE_ON_ASKED,
	/* the requester went back N: the send position is at una_psn again */
	UROCE_OOO_RESPONSE_ON_REWOUND,
	/* no response is missing any more, or the kept responses were discarded */
	UROCE_OOO_RESPONSE_ON_FILLED,
	UROCE_OOO_RESPONSE_EVENT_NB
};

/** What the caller of uroce_ooo_response_step() has to do. */
enum uroce_ooo_response_action {
	UROCE_OOO_RESPONSE_DO_NOTHING,
	UROCE_OOO_RESPONSE_DO_ARM, /* start the timer of the reordering window */
	UROCE_OOO_RESPONSE_DO_ASK, /* request the missing responses again */
};

/**
 * Process an event of the recovery of lost responses, which may change the state. If the new state
 * is not REORDERING, the timer of the reordering window is stopped.
 * @return the action that the caller has to carry out
 */
enum uroce_ooo_response_action uroce_ooo_response_step(struct uroce_ooo_responses *answers,
						       enum uroce_ooo_response_event event);

/** Get the name of a state of the recovery of responses, for traces. */
const char *uroce_ooo_response_state_name(enum uroce_ooo_response_state state);

/**
 * Clear the record of which responses were requested again, after the send position went back to
 * una_psn (the oldest PSN that is not acknowledged). The requests that are retransmitted from
 * una_psn on cover all missing responses.
 */
void uroce_ooo_response_note_rewind(struct uroce_qpc *qpc);

/**
 * Discard all responses that arrived ahead of a missing response, which is at una_psn (the oldest
 * PSN that is not acknowledged).
 */
void uroce_ooo_response_discard(struct uroce_qpc *qpc);

#endif /* UROCE_TRANSPORT_OOO_RESPONSE_STATE_H */
