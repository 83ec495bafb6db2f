/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The state table against the same table written as the reference writes it: in words. Every cell is
 * tried for every kind of QP: with what it requires, without each of it, with all that is optional,
 * with each attribute that it does not know.
 */

#include "transport/qp_state.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#define NB_STATES (IBV_QPS_ERR + 1)
#define NB_BITS   26

static const struct {
	const char *name;
	enum ibv_qp_type type;
} kinds[] = {
	{ "UD", IBV_QPT_UD },       { "UC", IBV_QPT_UC },       { "RC", IBV_QPT_RC },
	{ "XI", IBV_QPT_XRC_SEND }, { "XT", IBV_QPT_XRC_RECV },
};
#define NB_KINDS (sizeof(kinds) / sizeof(kinds[0]))

static const struct {
	const char *name;
	int bit;
} attributes[] = {
	{ "PK", IBV_QP_PKEY_INDEX },
	{ "PT", IBV_QP_PORT },
	{ "QK", IBV_QP_QKEY },
	{ "AF", IBV_QP_ACCESS_FLAGS },
	{ "AV", IBV_QP_AV },
	{ "MTU", IBV_QP_PATH_MTU },
	{ "DQ", IBV_QP_DEST_QPN },
	{ "RP", IBV_QP_RQ_PSN },
	{ "MD", IBV_QP_MAX_DEST_RD_ATOMIC },
	{ "RN", IBV_QP_MIN_RNR_TIMER },
	{ "TO", IBV_QP_TIMEOUT },
	{ "RC", IBV_QP_RETRY_CNT },
	{ "RR", IBV_QP_RNR_RETRY },
	{ "SP", IBV_QP_SQ_PSN },
	{ "MQ", IBV_QP_MAX_QP_RD_ATOMIC },
	{ "AP", IBV_QP_ALT_PATH },
	{ "CS", IBV_QP_CUR_STATE },
	{ "PM", IBV_QP_PATH_MIG_STATE },
	{ "EN", IBV_QP_EN_SQD_ASYNC_NOTIFY },
};

/* The reference, a line for each transition and kind: "from to kinds: required; optional". */
static const char *const reference[] = {
	"RESET RESET *:;",
	"RESET INIT UD: PK PT QK;",
	"RESET INIT UC RC XI XT: PK PT AF;",
	"INIT INIT UD:; PK PT QK",
	"INIT INIT UC RC XI XT:; PK PT AF",
	"INIT RTR UD:; PK QK",
	"INIT RTR UC XI: AV MTU DQ RP; AP AF PK",
	"INIT RTR RC XT: AV MTU DQ RP MD RN; AP AF PK",
	"RTR RTS UD: SP; CS QK",
	"RTR RTS UC: SP; CS AP AF PM",
	"RTR RTS RC: TO RC RR SP MQ; CS AP AF RN PM",
	"RTR RTS XI: TO RC RR SP MQ; CS AP AF PM",
	"RTR RTS XT: TO SP; CS AP AF RN PM",
	"RTS RTS UD:; CS QK",
	"RTS RTS UC XI:; CS AF AP PM",
	"RTS RTS RC XT:; CS AF AP PM RN",
	"RTS SQD *:; EN",
	"SQD RTS UD:; CS QK",
	"SQD RTS UC XI:; CS AP AF PM",
	"SQD RTS RC XT:; CS AP AF RN PM",
	"SQD SQD UD:; PK QK",
	"SQD SQD UC:; AV AP AF PK PM",
	"SQD SQD RC:; PT AV TO RC RR MQ MD AP AF PK RN PM",
	"SQD SQD XI:; PT AV TO RC RR MQ AP AF PK PM",
	"SQD SQD XT:; PT AV TO MD AP AF PK RN PM",
	"SQE RTS UD:; CS QK",
	"SQE RTS UC:; CS AF",
	"SQE RTS RC XI XT:;",
	"INIT RESET *:;",
	"INIT ERR *:;",
	"RTR RESET *:;",
	"RTR ERR *:;",
	"RTS RESET *:;",
	"RTS ERR *:;",
	"SQD RESET *:;",
	"SQD ERR *:;",
	"SQE RESET *:;",
	"SQE ERR *:;",
	"ERR RESET *:;",
	"ERR ERR *:;",
};

static const char *const states[] = { "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR" };

struct cell {
	bool is_valid;
	int required;
	int optional;
};
static struct cell cells[NB_STATES][NB_STATES][NB_KINDS];

static int
state_of(const char *name)
{
	for (int state = 0; state < NB_STATES; state++) {
		if (!strcmp(states[state], name))
			return state;
	}
	fail_msg("no state %s", name);
	return -1;
}

static int
bits_of(const char *list)
{
	char copy[128], *rest = NULL;
	int mask = 0;

	snprintf(copy, sizeof(copy), "%s", list);
	for (char *name = strtok_r(copy, " ", &rest); name; name = strtok_r(NULL, " ", &rest)) {
		int bit = 0;

		for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++)
			bit |= strcmp(attributes[i].name, name) ? 0 : attributes[i].bit;
		if (!bit)
			fail_msg("no attribute %s", name);
		mask |= bit;
	}
	return mask;
}

static void
read_line(const char *line)
{
	char from[8], to[8], list[32], required[128] = "", optional[128] = "";
	const char *colon = strchr(line, ':'), *semicolon = strchr(line, ';');

	assert_int_equal(sscanf(line, "%7s %7s %31[^:]", from, to, list), 3);
	snprintf(required, sizeof(required), "%.*s", (int)(semicolon - colon - 1), colon + 1);
	snprintf(optional, sizeof(optional), "%s", semicolon + 1);
	for (size_t kind = 0; kind < NB_KINDS; kind++) {
		struct cell *cell = &cells[state_of(from)][state_of(to)][kind];

		if (strcmp(list, "*") != 0 && !strstr(list, kinds[kind].name))
			continue;
		assert_false(cell->is_valid);
		*cell = (struct cell){ true, bits_of(required), bits_of(optional) };
	}
}

static int
read_reference(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(reference) / sizeof(reference[0]); i++)
		read_line(reference[i]);
	return 0;
}

static void
expect(size_t kind, int from, int to, int mask, int expected)
{
	const int got = uroce_qp_state_check(kinds[kind].type, (enum ibv_qp_state)from,
					     (enum ibv_qp_state)to, mask);

	if (got != expected)
		fail_msg("%s %s -> %s, mask 0x%x: %d, expected %d", kinds[kind].name, states[from],
			 states[to], (unsigned)mask, got, expected);
}

static void
check_cell(size_t kind, int from, int to)
{
	const struct cell *cell = &cells[from][to][kind];
	const int all = cell->required | cell->optional;

	for (int with_state = 0; with_state <= IBV_QP_STATE; with_state += IBV_QP_STATE) {
		const int least = cell->required | with_state;

		expect(kind, from, to, least, cell->is_valid ? 0 : -EINVAL);
		expect(kind, from, to, all | with_state, cell->is_valid ? 0 : -EINVAL);
		for (unsigned i = 0; i < NB_BITS; i++) {
			const int bit = 1 << i;

			if (bit == IBV_QP_STATE)
				continue;
			if (cell->required & bit) {
				expect(kind, from, to, least & ~bit, -EINVAL);
				expect(kind, from, to, (all | with_state) & ~bit, -EINVAL);
			} else {
				expect(kind, from, to, least | bit,
				       cell->is_valid && (all & bit) ? 0 : -EINVAL);
			}
		}
	}
}

static void
qp_state_check__every_cell_every_kind_every_attribute(void **state)
{
	(void)state;
	for (size_t kind = 0; kind < NB_KINDS; kind++) {
		for (int from = 0; from < NB_STATES; from++) {
			for (int to = 0; to < NB_STATES; to++)
				check_cell(kind, from, to);
		}
	}
}

static void
qp_state_check__states_outside_are_refused(void **state)
{
	static const int outside[] = { -1, IBV_QPS_UNKNOWN, 8, 1000 };

	(void)state;
	for (size_t i = 0; i < sizeof(outside) / sizeof(outside[0]); i++) {
		const enum ibv_qp_state bad = (enum ibv_qp_state)outside[i];

		assert_int_equal(uroce_qp_state_check(IBV_QPT_RC, bad, IBV_QPS_RESET, 1), -EINVAL);
		assert_int_equal(uroce_qp_state_check(IBV_QPT_RC, IBV_QPS_RESET, bad, 1), -EINVAL);
	}
}

static void
qp_state_check__kinds_outside_are_refused(void **state)
{
	static const int outside[] = { 0, 1, 5, IBV_QPT_RAW_PACKET, IBV_QPT_DRIVER, 1000 };

	(void)state;
	for (size_t i = 0; i < sizeof(outside) / sizeof(outside[0]); i++)
		assert_int_equal(uroce_qp_state_check((enum ibv_qp_type)outside[i], IBV_QPS_RESET,
						      IBV_QPS_RESET, IBV_QP_STATE),
				 -EINVAL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(qp_state_check__every_cell_every_kind_every_attribute),
		cmocka_unit_test(qp_state_check__states_outside_are_refused),
		cmocka_unit_test(qp_state_check__kinds_outside_are_refused),
	};

	return cmocka_run_group_tests(tests, read_reference, NULL);
}
