/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of the requester's loss recovery. A row is a state, a column is an event. A cell holds
 * the action and the next state. An empty cell belongs to an event that cannot happen in the state
 * of the row, or that has no effect in it: the state does not change, and there is no action.
 *
 * The LOSS states remember that the requester went back N because of a loss, and that una_psn (the
 * oldest PSN that is not acknowledged) has not moved since. Another loss before una_psn moves does
 * not make the requester go back again, because the retransmission is in flight already. A move of
 * una_psn leads out of the LOSS states.
 */
#include "transport/recovery/recovery_state.h"

/*
 * The next state is stored plus one, so that an empty cell (0) differs from a cell that leads to
 * the state OPEN, whose number is 0.
 */
#define TO(state) (UROCE_RECOVERY_##state + 1)

struct cell {
	uint8_t action; /* what the requester does, an enum uroce_recovery_action */
	/*
	 * the next state (enum uroce_recovery_state), made by TO(state); 0: the state does not
	 * change
	 */
	uint8_t next;
};

#define STAY(action)                                                                               \
	{                                                                                          \
		UROCE_RECOVERY_DO_##action, 0                                                      \
	}
#define GO(action, state)                                                                          \
	{                                                                                          \
		UROCE_RECOVERY_DO_##action, TO(state)                                              \
	}

/* The cells of the events ACK_TIMEOUT and RNR_NAK, which are equal in every state but RNR_WAIT. */
#define GO_BACK                                                                                    \
	[UROCE_RECOVERY_ON_ACK_TIMEOUT] = GO(GO_BACK_N, OPEN), [UROCE_RECOVERY_ON_RNR_NAK] =       \
								       GO(GO_BACK_N, RNR_WAIT)

static const struct cell cells[UROCE_RECOVERY_STATE_NB][UROCE_RECOVERY_EVENT_NB] = {
	[UROCE_RECOVERY_OPEN] = {
		GO_BACK,
		[UROCE_RECOVERY_ON_GAP] = GO(RETRANSMIT, FAST_RETX),
		[UROCE_RECOVERY_ON_PTO] = STAY(PROBE),
		[UROCE_RECOVERY_ON_PROBE_SENT] = GO(NOTHING, PROBE),
		[UROCE_RECOVERY_ON_LOSS] = GO(GO_BACK_N, LOSS),
	},
	[UROCE_RECOVERY_PROBE] = {
		GO_BACK,
		[UROCE_RECOVERY_ON_GAP] = GO(RETRANSMIT, FAST_RETX),
		[UROCE_RECOVERY_ON_PTO] = STAY(PROBE),
		[UROCE_RECOVERY_ON_PROBE_ACKED] = GO(NOTHING, OPEN),
		[UROCE_RECOVERY_ON_LOSS] = GO(GO_BACK_N, LOSS),
		[UROCE_RECOVERY_ON_REWOUND] = GO(NOTHING, OPEN),
	},
	[UROCE_RECOVERY_FAST_RETX] = {
		GO_BACK,
		[UROCE_RECOVERY_ON_GAP] = GO(RETRANSMIT, FAST_RETX),
		[UROCE_RECOVERY_ON_GAP_CLOSED] = GO(NOTHING, OPEN),
		[UROCE_RECOVERY_ON_PTO] = STAY(PROBE),
		[UROCE_RECOVERY_ON_LOSS] = GO(GO_BACK_N, LOSS),
		[UROCE_RECOVERY_ON_REWOUND] = GO(NOTHING, OPEN),
	},
	[UROCE_RECOVERY_RNR_WAIT] = {
		[UROCE_RECOVERY_ON_ACK_TIMEOUT] = STAY(GO_BACK_N),
		[UROCE_RECOVERY_ON_PROGRESS] = GO(NOTHING, OPEN),
		[UROCE_RECOVERY_ON_RNR_EXPIRED] = GO(NOTHING, OPEN),
	},
	[UROCE_RECOVERY_LOSS] = {
		GO_BACK,
		[UROCE_RECOVERY_ON_GAP] = GO(RETRANSMIT, LOSS_FAST_RETX),
		[UROCE_RECOVERY_ON_PTO] = STAY(PROBE),
		[UROCE_RECOVERY_ON_PROBE_SENT] = GO(NOTHING, LOSS_PROBE),
		[UROCE_RECOVERY_ON_PROGRESS] = GO(NOTHING, OPEN),
	},
	[UROCE_RECOVERY_LOSS_PROBE] = {
		GO_BACK,
		[UROCE_RECOVERY_ON_GAP] = GO(RETRANSMIT, LOSS_FAST_RETX),
		[UROCE_RECOVERY_ON_PTO] = STAY(PROBE),
		[UROCE_RECOVERY_ON_PROBE_ACKED] = GO(NOTHING, LOSS),
		[UROCE_RECOVERY_ON_PROGRESS] = GO(NOTHING, PROBE),
		[UROCE_RECOVERY_ON_REWOUND] = GO(NOTHING, LOSS),
	},
	[UROCE_RECOVERY_LOSS_FAST_RETX] = {
		GO_BACK,
		[UROCE_RECOVERY_ON_GAP] = GO(RETRANSMIT, LOSS_FAST_RETX),
		[UROCE_RECOVERY_ON_GAP_CLOSED] = GO(NOTHING, LOSS),
		[UROCE_RECOVERY_ON_PTO] = STAY(PROBE),
		[UROCE_RECOVERY_ON_PROGRESS] = GO(NOTHING, FAST_RETX),
		[UROCE_RECOVERY_ON_REWOUND] = GO(NOTHING, LOSS),
	},
};

static const char *const names[UROCE_RECOVERY_STATE_NB] = {
	[UROCE_RECOVERY_OPEN] = "OPEN",
	[UROCE_RECOVERY_PROBE] = "PROBE",
	[UROCE_RECOVERY_FAST_RETX] = "FAST_RETX",
	[UROCE_RECOVERY_RNR_WAIT] = "RNR_WAIT",
	[UROCE_RECOVERY_LOSS] = "LOSS",
	[UROCE_RECOVERY_LOSS_PROBE] = "LOSS_PROBE",
	[UROCE_RECOVERY_LOSS_FAST_RETX] = "LOSS_FAST_RETX",
};

enum uroce_recovery_action
uroce_recovery_step(struct uroce_loss_recovery *recovery, enum uroce_recovery_event event)
{
	const struct cell *cell = &cells[recovery->state][event];

	if (cell->next)
		recovery->state = cell->next - 1;
	return (enum uroce_recovery_action)cell->action;
}

const char *
uroce_recovery_state_name(enum uroce_recovery_state state)
{
	return names[state];
}

void
uroce_recovery_rewound(struct uroce_req *req)
{
	struct uroce_loss_recovery *recovery = &req->loss_recovery;

	(void)uroce_recovery_step(recovery, UROCE_RECOVERY_ON_REWOUND);
	recovery->due = 0;
	recovery->nb_gaps = 0;
	recovery->is_ambiguous = false;
	recovery->is_lossy = false;
	recovery->nb_probe_steps = 0;
	recovery->retransmit_psn = req->una_psn;
	recovery->probe_deadline = UROCE_NEVER;
	req->rtt.sample_ns = 0;
}
