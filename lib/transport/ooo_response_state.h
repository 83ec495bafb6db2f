/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_OOO_RESPONSE_STATE_H
#define UROCE_TRANSPORT_OOO_RESPONSE_STATE_H

/**
 * @file
 * The states of the recovery of responses, and what leads from one to the next. ooo_response.c raises the events.
 */

#include "transport/context.h"

/** What happens to the recovery of responses. */
enum uroce_ooo_response_event {
	UROCE_OOO_RESPONSE_ON_GAP,     /* a response is missing, and the peer has gone on */
	UROCE_OOO_RESPONSE_ON_MORE,    /* more is seen to be missing than was asked for */
	UROCE_OOO_RESPONSE_ON_LOST,    /* reordering is ruled out: what is missing is lost */
	UROCE_OOO_RESPONSE_ON_ASKED,   /* all that is lost was asked for once more */
	UROCE_OOO_RESPONSE_ON_REWOUND, /* the position went back to una_psn */
	UROCE_OOO_RESPONSE_ON_FILLED,  /* nothing is missing any more, or the QP has ended */
	UROCE_OOO_RESPONSE_EVENT_NB
};

/** What the caller of uroce_ooo_response_step() has to do. */
enum uroce_ooo_response_action {
	UROCE_OOO_RESPONSE_DO_NOTHING,
	UROCE_OOO_RESPONSE_DO_ARM, /* the reordering timer */
	UROCE_OOO_RESPONSE_DO_ASK, /* request what is missing */
};

/** An event happens: the state becomes the next one. The timer runs in REORDERING alone. @return what is to be done */
enum uroce_ooo_response_action uroce_ooo_response_step(struct uroce_ooo_responses *answers,
						       enum uroce_ooo_response_event event);

/** The name of a state, for traces. */
const char *uroce_ooo_response_state_name(enum uroce_ooo_response_state state);

/** The position was set back to una_psn: what is missing is asked for by that. */
void uroce_ooo_response_note_rewind(struct uroce_qpc *qpc);

/** Nothing is here early any more. */
void uroce_ooo_response_discard(struct uroce_qpc *qpc);

#endif /* UROCE_TRANSPORT_OOO_RESPONSE_STATE_H */
