/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The tables of recovery states, compared with the tables in words that are written here. A table
 * has a row for each state and a column for each event. "." is an event without effect; any other
 * cell has the action and the next state. The actions are:
 *
 *	!  retransmit; request; send a NAK
 *	?  send a probe; arm the timer
 *	<  go-back-N
 *	x  cancel a NAK
 *
 * Rules that are true for all rows are tested for each row as well.
 */

#include "transport/recovery/recovery_state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "transport/recovery/ooo_request_state.h"
#include "transport/recovery/ooo_response_state.h"

/*
 * The recovery of requests. Columns, by event: gap, gap closed, PTO, probe sent, probe
 * acknowledged, progress, loss, ACK timeout, RNR NAK, RNR timer expired, rewound (go-back-N).
 */
static const char *const recovery_rows[UROCE_RECOVERY_STATE_NB][UROCE_RECOVERY_EVENT_NB] = {
	[UROCE_RECOVERY_OPEN] = { "!FAST_RETX", ".", "?OPEN", "PROBE", ".", ".", "<LOSS", "<OPEN",
				  "<RNR_WAIT", ".", "." },
	[UROCE_RECOVERY_PROBE] = { "!FAST_RETX", ".", "?PROBE", ".", "OPEN", ".", "<LOSS", "<OPEN",
				   "<RNR_WAIT", ".", "OPEN" },
	[UROCE_RECOVERY_FAST_RETX] = { "!FAST_RETX", "OPEN", "?FAST_RETX", ".", ".", ".", "<LOSS",
				       "<OPEN", "<RNR_WAIT", ".", "OPEN" },
	[UROCE_RECOVERY_RNR_WAIT] = { ".", ".", ".", ".", ".", "OPEN", ".", "<RNR_WAIT", ".",
				      "OPEN", "." },
	[UROCE_RECOVERY_LOSS] = { "!LOSS_FAST_RETX", ".", "?LOSS", "LOSS_PROBE", ".", "OPEN", ".",
				  "<OPEN", "<RNR_WAIT", ".", "." },
	[UROCE_RECOVERY_LOSS_PROBE] = { "!LOSS_FAST_RETX", ".", "?LOSS_PROBE", ".", "LOSS", "PROBE",
					".", "<OPEN", "<RNR_WAIT", ".", "LOSS" },
	[UROCE_RECOVERY_LOSS_FAST_RETX] = { "!LOSS_FAST_RETX", "LOSS", "?LOSS_FAST_RETX", ".", ".",
					    "FAST_RETX", ".", "<OPEN", "<RNR_WAIT", ".", "LOSS" },
};

/*
 * Responses out of order. Columns, by event: gap, more responses, lost, requested, rewound
 * (go-back-N), gap filled.
 */
static const char *const answer_rows[UROCE_OOO_RESPONSE_STATE_NB][UROCE_OOO_RESPONSE_EVENT_NB] = {
	[UROCE_OOO_RESPONSE_IN_ORDER] = { "GAP", ".", ".", ".", ".", "." },
	[UROCE_OOO_RESPONSE_GAP] = { ".", "?REORDERING", "!LOST", ".", ".", "IN_ORDER" },
	[UROCE_OOO_RESPONSE_REORDERING] = { ".", ".", "!LOST", ".", "GAP", "IN_ORDER" },
	[UROCE_OOO_RESPONSE_LOST] = { ".", ".", "!LOST", "GAP", "GAP", "IN_ORDER" },
};

/*
 * Requests out of order. Columns, by event: gap, lost, expected packet, RNR NAK sent, gap filled,
 * frames discarded.
 */
static const char *const reception_rows[UROCE_OOO_REQUEST_STATE_NB][UROCE_OOO_REQUEST_EVENT_NB] = {
	[UROCE_OOO_REQUEST_IN_ORDER] = { "?REORDERING", "!NAK_SENT", ".", "RNR_NAK_SENT",
					 "?DRAINING", "." },
	[UROCE_OOO_REQUEST_REORDERING] = { "?REORDERING", "!NAK_SENT", "IN_ORDER", ".", ".",
					   "IN_ORDER" },
	[UROCE_OOO_REQUEST_NAK_SENT] = { ".", ".", "xIN_ORDER", ".", ".", "." },
	[UROCE_OOO_REQUEST_RNR_NAK_SENT] = { ".", ".", "xIN_ORDER", ".", ".", "." },
	[UROCE_OOO_REQUEST_DRAINING] = { "?REORDERING", "!NAK_SENT", ".", "RNR_NAK_SENT",
					 "?DRAINING", "IN_ORDER" },
};

/*
 * Compare the effect of an event in state `row` with the expected cell `want`.
 * @param mark  the sign of the action that was returned
 * @param next  the state after the event
 */
static void
expect_cell(const char *row, unsigned event, const char *mark, const char *next, const char *want)
{
	char got[64];

	snprintf(got, sizeof(got), "%s%s", mark, next);
	/* the cell "." is right if the state has not changed and no action was returned */
	if (!strcmp(want, ".") && !strcmp(got, row))
		return;
	if (strcmp(got, want))
		fail_msg("%s, event %u: %s, expected %s", row, event, got, want);
}

static void
recovery_step__each_cell(void **state)
{
	static const char *const marks[] = {
		[UROCE_RECOVERY_DO_NOTHING] = "",
		[UROCE_RECOVERY_DO_RETRANSMIT] = "!",
		[UROCE_RECOVERY_DO_PROBE] = "?",
		[UROCE_RECOVERY_DO_GO_BACK_N] = "<",
	};

	(void)state;
	for (unsigned from = 0; from < UROCE_RECOVERY_STATE_NB; from++) {
		for (unsigned event = 0; event < UROCE_RECOVERY_EVENT_NB; event++) {
			struct uroce_loss_recovery recovery = { .state = (uint8_t)from };
			const unsigned action =
				uroce_recovery_step(&recovery, (enum uroce_recovery_event)event);

			expect_cell(uroce_recovery_state_name((enum uroce_recovery_state)from),
				    event, marks[action],
				    uroce_recovery_state_name(
					    (enum uroce_recovery_state)recovery.state),
				    recovery_rows[from][event]);
		}
	}
}

static void
ooo_response_step__each_cell(void **state)
{
	static const char *const marks[] = {
		[UROCE_OOO_RESPONSE_DO_NOTHING] = "",
		[UROCE_OOO_RESPONSE_DO_ARM] = "?",
		[UROCE_OOO_RESPONSE_DO_ASK] = "!",
	};

	(void)state;
	for (unsigned from = 0; from < UROCE_OOO_RESPONSE_STATE_NB; from++) {
		for (unsigned event = 0; event < UROCE_OOO_RESPONSE_EVENT_NB; event++) {
			struct uroce_ooo_responses answers = { .state = (uint8_t)from,
							       .deadline = 1 };
			const unsigned action = uroce_ooo_response_step(
				&answers, (enum uroce_ooo_response_event)event);

			expect_cell(
				uroce_ooo_response_state_name((enum uroce_ooo_response_state)from),
				event, marks[action],
				uroce_ooo_response_state_name(
					(enum uroce_ooo_response_state)answers.state),
				answer_rows[from][event]);
			/* the timer may be set only in the state REORDERING */
			assert_true(
				answers.deadline ==
				(answers.state == UROCE_OOO_RESPONSE_REORDERING ? 1 : UROCE_NEVER));
		}
	}
}

/*
 * Process an event in a state of the out-of-order requests, and compare the effect with the
 * expected cell.
 */
static void
expect_reception_cell(struct uroce_reorder_buffer *reorder_buffer, unsigned from, unsigned event)
{
	static const char *const marks[] = {
		[UROCE_OOO_REQUEST_DO_NOTHING] = "",
		[UROCE_OOO_REQUEST_DO_ARM] = "?",
		[UROCE_OOO_REQUEST_DO_NAK] = "!",
		[UROCE_OOO_REQUEST_DO_CANCEL_NAK] = "x",
	};
	struct uroce_qpc qpc = {
		.reorder_buffer = reorder_buffer,
		.resp = { .ooo_state = (uint8_t)from, .nak_deadline = 1 },
	};
	const bool was_draining = from == UROCE_OOO_REQUEST_DRAINING;

	uroce_reorder_buffer_add_ready(reorder_buffer, was_draining);
	const unsigned action = uroce_ooo_request_step(&qpc, (enum uroce_ooo_request_event)event);
	const unsigned next = qpc.resp.ooo_state;
	const bool is_draining = next == UROCE_OOO_REQUEST_DRAINING;

	expect_cell(uroce_ooo_request_state_name((enum uroce_ooo_request_state)from), event,
		    marks[action], uroce_ooo_request_state_name((enum uroce_ooo_request_state)next),
		    reception_rows[from][event]);
	/*
	 * the timer may be set only in REORDERING and DRAINING, and the buffer counts the QPs in
	 * DRAINING
	 */
	assert_true(qpc.resp.nak_deadline ==
		    (is_draining || next == UROCE_OOO_REQUEST_REORDERING ? 1 : UROCE_NEVER));
	assert_int_equal(uroce_reorder_buffer_has_ready(reorder_buffer), is_draining);
	uroce_reorder_buffer_add_ready(reorder_buffer, -(int)is_draining);
}

static void
ooo_request_step__each_cell(void **state)
{
	void *mem = aligned_alloc(64, (uroce_reorder_buffer_memsize(1, 1) + 63) & ~(size_t)63);
	struct uroce_reorder_buffer *reorder_buffer = uroce_reorder_buffer_init(mem, 1, 1);

	(void)state;
	for (unsigned from = 0; from < UROCE_OOO_REQUEST_STATE_NB; from++) {
		for (unsigned event = 0; event < UROCE_OOO_REQUEST_EVENT_NB; event++)
			expect_reception_cell(reorder_buffer, from, event);
	}
	free(mem);
}

/* After go-back-N no packet is in flight, so no state of recovery may wait for one. */
static void
recovery_rewound__leaves_nothing_due(void **state)
{
	(void)state;
	for (unsigned from = 0; from < UROCE_RECOVERY_STATE_NB; from++) {
		struct uroce_req req = {
			.una_psn = 7,
			.loss_recovery = { .state = (uint8_t)from,
					   .due = 7,
					   .nb_probe_steps = 1,
					   .nb_gaps = 1 },
		};
		const bool was_loss = uroce_recovery_is_loss(&req.loss_recovery);

		uroce_recovery_rewound(&req);
		assert_false(uroce_req_is_fast_retx(&req));
		assert_false(uroce_recovery_is_probing(&req.loss_recovery));
		assert_false(uroce_req_has_retransmit(&req));
		assert_int_equal(uroce_recovery_is_loss(&req.loss_recovery), was_loss);
		assert_int_equal(uroce_req_is_rnr_wait(&req), from == UROCE_RECOVERY_RNR_WAIT);
		assert_int_equal(req.loss_recovery.retransmit_psn, 7);
		assert_true(req.loss_recovery.probe_deadline == UROCE_NEVER);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recovery_step__each_cell),
		cmocka_unit_test(ooo_response_step__each_cell),
		cmocka_unit_test(ooo_request_step__each_cell),
		cmocka_unit_test(recovery_rewound__leaves_nothing_due),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
