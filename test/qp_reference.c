/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The implementation of qp_reference.h. A table has a line for each transition and type of QP. The
 * first query parses it.
 */

#include "qp_reference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

const struct qp_reference_kind qp_reference_kinds[QP_REFERENCE_KINDS] = {
	{ "UD", IBV_QPT_UD },       { "UC", IBV_QPT_UC },       { "RC", IBV_QPT_RC },
	{ "XI", IBV_QPT_XRC_SEND }, { "XT", IBV_QPT_XRC_RECV },
};

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

/*
 * The reference. A line is "FROM TO TYPES: REQUIRED; OPTIONAL", with short names of types and
 * attributes.
 */
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

static struct qp_reference_cell cells[QP_REFERENCE_STATES][QP_REFERENCE_STATES][QP_REFERENCE_KINDS];

static int
state_of(const char *name)
{
	for (int state = 0; state < QP_REFERENCE_STATES; state++) {
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
	for (size_t kind = 0; kind < QP_REFERENCE_KINDS; kind++) {
		struct qp_reference_cell *cell = &cells[state_of(from)][state_of(to)][kind];

		if (strcmp(list, "*") != 0 && !strstr(list, qp_reference_kinds[kind].name))
			continue;
		assert_false(cell->is_valid);
		*cell = (struct qp_reference_cell){ true, bits_of(required), bits_of(optional) };
	}
}

const struct qp_reference_cell *
qp_reference_cell(unsigned kind, int from, int to)
{
	static bool is_read;

	for (size_t i = 0; !is_read && i < sizeof(reference) / sizeof(reference[0]); i++)
		read_line(reference[i]);
	is_read = true;
	return &cells[from][to][kind];
}

const char *
qp_reference_state(int state)
{
	return states[state];
}
