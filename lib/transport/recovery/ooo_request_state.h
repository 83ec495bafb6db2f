/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_OOO_REQUEST_STATE_H
#define UROCE_TRANSPORT_OOO_REQUEST_STATE_H

/**
 * @file
 * The state machine of the responder's reception of requests: states, events and actions.
 * ooo_request.c and execute.c raise the events.
 */

#include "transport/context.h"

/** Events of the responder's reception of requests. */
enum uroce_ooo_request_event {
	/*
	 * the request with the expected PSN (epsn) is missing, and later ones have arrived; the
	 * missing request may be lost or only late
	 */
	UROCE_OOO_REQUEST_ON_GAP,
	/*
	 * the request with the expected PSN (epsn) is lost, or the buffered request with this PSN
	 * is refused
	 */
	UROCE_OOO_REQUEST_ON_LOST,
	UROCE_OOO_REQUEST_ON_EXPECTED, /* the request with the expected PSN is executed */
	UROCE_OOO_REQUEST_ON_RNR, /* the request with the expected PSN is refused by an RNR NAK */
	/*
	 * the PSN gap is filled, and some of the requests that were kept behind it are not executed
	 * yet
	 */
	UROCE_OOO_REQUEST_ON_FILLED,
	/* all requests that were kept ahead of the expected PSN were discarded */
	UROCE_OOO_REQUEST_ON_DISCARDED,
	UROCE_OOO_REQUEST_EVENT_NB
};

/** What the caller of uroce_ooo_request_step() has to do. */
enum uroce_ooo_request_action {
	UROCE_OOO_REQUEST_DO_NOTHING,
	UROCE_OOO_REQUEST_DO_ARM,        /* start the timer: set `nak_deadline` */
	UROCE_OOO_REQUEST_DO_NAK,        /* send a NAK (PSN sequence error) */
	UROCE_OOO_REQUEST_DO_CANCEL_NAK, /* if a NAK is pending, replace it by an ACK */
};

/**
 * Process an event of the reception of requests, which may change the state. If the new state is
 * not REORDERING or DRAINING, the timer (nak_deadline) is stopped.
 * @return the action that the caller has to carry out
 */
enum uroce_ooo_request_action uroce_ooo_request_step(struct uroce_qpc *qpc,
						     enum uroce_ooo_request_event event);

/** Get the name of a state of the reception of requests, for traces. */
const char *uroce_ooo_request_state_name(enum uroce_ooo_request_state state);

/**
 * Discard all requests that arrived ahead of the expected PSN (epsn). No PSN gap is reported for
 * them.
 */
void uroce_ooo_request_discard(struct uroce_qpc *qpc);

#endif /* UROCE_TRANSPORT_OOO_REQUEST_STATE_H */
