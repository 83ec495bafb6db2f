/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state table of the requester's recovery of lost responses. A row is a state, a column is an
 * event. A cell holds the action and the next state. An empty cell belongs to an event that cannot
 * happen in the state of the row, or that has no effect in it: the state does not change, and there
 * is no action.
 */
#include "transport/recovery/ooo_response_state.h"

#include "wire/psn.h"

/*
 * The next state is stored plus one, so that an empty cell (0) differs from a cell that leads to
 * the state IN_ORDER, whose number is 0.
 */
#define GO(action, state)                                                                          \
	{                                                                                          \
		UROCE_OOO_RESPONSE_DO_##action, UROCE_OOO_RESPONSE_##state + 1                     \
	}

static const struct cell {
	uint8_t action; /* what the requester does, an enum uroce_ooo_response_action */
	/* the next state (enum uroce_ooo_response_state) plus 1; 0: the state does not change */
	uint8_t next;
} cells[UROCE_OOO_RESPONSE_STATE_NB][UROCE_OOO_RESPONSE_EVENT_NB] = {
	[UROCE_OOO_RESPONSE_IN_ORDER] = {
		[UROCE_OOO_RESPONSE_ON_GAP] = GO(NOTHING, GAP),
	},
	[UROCE_OOO_RESPONSE_GAP] = {
		[UROCE_OOO_RESPONSE_ON_MORE] = GO(ARM, REORDERING),
		[UROCE_OOO_RESPONSE_ON_LOST] = GO(ASK, LOST),
		[UROCE_OOO_RESPONSE_ON_FILLED] = GO(NOTHING, IN_ORDER),
	},
	[UROCE_OOO_RESPONSE_REORDERING] = {
		[UROCE_OOO_RESPONSE_ON_LOST] = GO(ASK, LOST),
		[UROCE_OOO_RESPONSE_ON_REWOUND] = GO(NOTHING, GAP),
		[UROCE_OOO_RESPONSE_ON_FILLED] = GO(NOTHING, IN_ORDER),
	},
	[UROCE_OOO_RESPONSE_LOST] = {
		[UROCE_OOO_RESPONSE_ON_LOST] = GO(ASK, LOST),
		[UROCE_OOO_RESPONSE_ON_ASKED] = GO(NOTHING, GAP),
		[UROCE_OOO_RESPONSE_ON_REWOUND] = GO(NOTHING, GAP),
		[UROCE_OOO_RESPONSE_ON_FILLED] = GO(NOTHING, IN_ORDER),
	},
};

static const char *const names[UROCE_OOO_RESPONSE_STATE_NB] = {
	[UROCE_OOO_RESPONSE_IN_ORDER] = "IN_ORDER",
	[UROCE_OOO_RESPONSE_GAP] = "GAP",
	[UROCE_OOO_RESPONSE_REORDERING] = "REORDERING",
	[UROCE_OOO_RESPONSE_LOST] = "LOST",
};

enum uroce_ooo_response_action
uroce_ooo_response_step(struct uroce_ooo_responses *answers, enum uroce_ooo_response_event event)
{
	const struct cell *cell = &cells[answers->state][event];

	if (cell->next)
		answers->state = cell->next - 1;
	if (answers->state != UROCE_OOO_RESPONSE_REORDERING)
		answers->deadline = UROCE_NEVER;
	return (enum uroce_ooo_response_action)cell->action;
}

const char *
uroce_ooo_response_state_name(enum uroce_ooo_response_state state)
{
	return names[state];
}

void
uroce_ooo_response_discard(struct uroce_qpc *qpc)
{
	struct uroce_ooo_responses *answers = &qpc->req.ooo_responses;

	if (answers->gap)
		uroce_reorder_buffer_free_gap(qpc->reorder_buffer, answers->gap, qpc->req.una_psn);
	(void)uroce_ooo_response_step(answers, UROCE_OOO_RESPONSE_ON_FILLED);
	*answers = (struct uroce_ooo_responses){
		.reorder_window = answers->reorder_window,
		.min_response_ns = answers->min_response_ns,
		.deadline = answers->deadline,
		.state = answers->state,
	};
}

void
uroce_ooo_response_note_rewind(struct uroce_qpc *qpc)
{
	struct uroce_ooo_responses *answers = &qpc->req.ooo_responses;
	const uint32_t max_psn = qpc->req.max_psn;

	answers->due = 0;
	if (answers->state == UROCE_OOO_RESPONSE_IN_ORDER)
		return;
	(void)uroce_ooo_response_step(answers, UROCE_OOO_RESPONSE_ON_REWOUND);
	answers->requested_ns = 0;
	answers->ask.begin = max_psn;
	answers->resume_psn = uroce_psn_add(max_psn, 1);
	answers->round_psn = max_psn;
	answers->round_max_psn = max_psn;
	answers->proof_psn = max_psn;
	answers->again = (struct uroce_psn_range){ max_psn, max_psn };
}
