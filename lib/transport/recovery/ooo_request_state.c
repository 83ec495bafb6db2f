/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state table of the responder's reception of requests. A row is a state, a column is an event.
 * A cell holds the action and the next state. An empty cell belongs to an event that cannot happen
 * in the state of the row, or that has no effect in it: the state does not change, and there is no
 * action.
 */
#include "transport/recovery/ooo_request_state.h"

/*
 * The next state is stored plus one, so that an empty cell (0) differs from a cell that leads to
 * the state IN_ORDER, whose number is 0.
 */
#define GO(action, state)                                                                          \
	{                                                                                          \
		UROCE_OOO_REQUEST_DO_##action, UROCE_OOO_REQUEST_##state + 1                       \
	}

static const struct cell {
	uint8_t action; /* what the responder does, an enum uroce_ooo_request_action */
	/* the next state (enum uroce_ooo_request_state) plus 1; 0: the state does not change */
	uint8_t next;
} cells[UROCE_OOO_REQUEST_STATE_NB][UROCE_OOO_REQUEST_EVENT_NB] = {
	[UROCE_OOO_REQUEST_IN_ORDER] = {
		[UROCE_OOO_REQUEST_ON_GAP] = GO(ARM, REORDERING),
		[UROCE_OOO_REQUEST_ON_LOST] = GO(NAK, NAK_SENT),
		[UROCE_OOO_REQUEST_ON_RNR] = GO(NOTHING, RNR_NAK_SENT),
		[UROCE_OOO_REQUEST_ON_FILLED] = GO(ARM, DRAINING),
	},
	[UROCE_OOO_REQUEST_REORDERING] = {
		[UROCE_OOO_REQUEST_ON_GAP] = GO(ARM, REORDERING),
		[UROCE_OOO_REQUEST_ON_LOST] = GO(NAK, NAK_SENT),
		[UROCE_OOO_REQUEST_ON_EXPECTED] = GO(NOTHING, IN_ORDER),
		[UROCE_OOO_REQUEST_ON_DISCARDED] = GO(NOTHING, IN_ORDER),
	},
	[UROCE_OOO_REQUEST_NAK_SENT] = {
		[UROCE_OOO_REQUEST_ON_EXPECTED] = GO(CANCEL_NAK, IN_ORDER),
	},
	[UROCE_OOO_REQUEST_RNR_NAK_SENT] = {
		[UROCE_OOO_REQUEST_ON_EXPECTED] = GO(CANCEL_NAK, IN_ORDER),
	},
	[UROCE_OOO_REQUEST_DRAINING] = {
		[UROCE_OOO_REQUEST_ON_GAP] = GO(ARM, REORDERING),
		[UROCE_OOO_REQUEST_ON_LOST] = GO(NAK, NAK_SENT),
		[UROCE_OOO_REQUEST_ON_RNR] = GO(NOTHING, RNR_NAK_SENT),
		[UROCE_OOO_REQUEST_ON_FILLED] = GO(ARM, DRAINING),
		[UROCE_OOO_REQUEST_ON_DISCARDED] = GO(NOTHING, IN_ORDER),
	},
};

static const char *const names[UROCE_OOO_REQUEST_STATE_NB] = {
	[UROCE_OOO_REQUEST_IN_ORDER] = "IN_ORDER",
	[UROCE_OOO_REQUEST_REORDERING] = "REORDERING",
	[UROCE_OOO_REQUEST_NAK_SENT] = "NAK_SENT",
	[UROCE_OOO_REQUEST_RNR_NAK_SENT] = "RNR_NAK_SENT",
	[UROCE_OOO_REQUEST_DRAINING] = "DRAINING",
};

enum uroce_ooo_request_action
uroce_ooo_request_step(struct uroce_qpc *qpc, enum uroce_ooo_request_event event)
{
	struct uroce_resp *resp = &qpc->resp;
	const struct cell *cell = &cells[resp->ooo_state][event];
	const bool was_draining = resp->ooo_state == UROCE_OOO_REQUEST_DRAINING;

	if (cell->next)
		resp->ooo_state = cell->next - 1;
	const bool is_draining = resp->ooo_state == UROCE_OOO_REQUEST_DRAINING;

	if (is_draining != was_draining)
		uroce_reorder_buffer_add_ready(qpc->reorder_buffer, is_draining ? 1 : -1);
	if (!is_draining && resp->ooo_state != UROCE_OOO_REQUEST_REORDERING)
		resp->nak_deadline = UROCE_NEVER;
	return (enum uroce_ooo_request_action)cell->action;
}

const char *
uroce_ooo_request_state_name(enum uroce_ooo_request_state state)
{
	return names[state];
}

void
uroce_ooo_request_discard(struct uroce_qpc *qpc)
{
	struct uroce_resp *resp = &qpc->resp;

	if (resp->gap)
		uroce_reorder_buffer_free_gap(qpc->reorder_buffer, resp->gap, resp->epsn);
	resp->gap = NULL;
	resp->reorder_window.since_ns = 0;
	(void)uroce_ooo_request_step(qpc, UROCE_OOO_REQUEST_ON_DISCARDED);
}
