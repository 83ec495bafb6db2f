/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_OOO_REQUEST_STATE_H
#define UROCE_TRANSPORT_OOO_REQUEST_STATE_H

/**
 * @file
 * The state machine of the responder's reception: states, events and actions. ooo_request.c and
 * execute.c raise the events.
 */

#include "transport/context.h"

/** Events of the reception of requests. */
enum uroce_ooo_request_event {
	/* the request at epsn is missing, later ones have arrived, and it may only be reordered */
	UROCE_OOO_REQUEST_ON_GAP,
	UROCE_OOO_REQUEST_ON_LOST, /* the request at epsn is lost, or its buffered copy is refused */
	UROCE_OOO_REQUEST_ON_EXPECTED, /* the request at epsn is executed */
	UROCE_OOO_REQUEST_ON_RNR,      /* the request at epsn is refused by an RNR NAK */
	/* the gap is filled, and kept requests behind it wait for the next slice */
	UROCE_OOO_REQUEST_ON_FILLED,
	UROCE_OOO_REQUEST_ON_DISCARDED, /* all kept requests were discarded */
	UROCE_OOO_REQUEST_EVENT_NB
};

/** What the caller of uroce_ooo_request_step() has to do. */
enum uroce_ooo_request_action {
	UROCE_OOO_REQUEST_DO_NOTHING,
	UROCE_OOO_REQUEST_DO_ARM,        /* set the timer, `nak_deadline` */
	UROCE_OOO_REQUEST_DO_NAK,        /* send a NAK (PSN sequence error) */
	UROCE_OOO_REQUEST_DO_CANCEL_NAK, /* replace a NAK that was not sent yet by an ACK */
};

/**
 * Process an event: change the state. In any state but REORDERING and DRAINING the timer is
 * stopped. @return what the caller has to do
 */
enum uroce_ooo_request_action uroce_ooo_request_step(struct uroce_qpc *qpc,
						     enum uroce_ooo_request_event event);

/** The name of a state, for traces. */
const char *uroce_ooo_request_state_name(enum uroce_ooo_request_state state);

/** Discard all requests that arrived ahead of epsn, and do not report a PSN gap. */
void uroce_ooo_request_discard(struct uroce_qpc *qpc);

#endif /* UROCE_TRANSPORT_OOO_REQUEST_STATE_H */
