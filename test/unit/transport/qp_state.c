/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The state table of QPs. It is compared with the table of the specification, which is written here
 * in words. Every transition is tried for every type of QP: with its required attributes, without
 * each of them, with all optional ones, and with each attribute that is not allowed.
 */

#include "transport/qp_state.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "qp_reference.h"

#define NB_BITS 26

/* @return 0 if the state table allows a modify with this mask, else -EINVAL */
static int
check_mask(enum ibv_qp_type type, enum ibv_qp_state from, enum ibv_qp_state to, int mask)
{
	int required, allowed;

	if (!uroce_qp_state_attrs(type, from, to, &required, &allowed))
		return -EINVAL;
	assert_int_equal(required & ~allowed, 0);
	return (required & ~mask) || (mask & ~allowed) ? -EINVAL : 0;
}

static void
expect(unsigned kind, int from, int to, int mask, int expected)
{
	const int got = check_mask(qp_reference_kinds[kind].type, (enum ibv_qp_state)from,
				   (enum ibv_qp_state)to, mask);

	if (got != expected)
		fail_msg("%s %s -> %s, mask 0x%x: %d, expected %d", qp_reference_kinds[kind].name,
			 qp_reference_state(from), qp_reference_state(to), (unsigned)mask, got,
			 expected);
}

static void
check_cell(unsigned kind, int from, int to)
{
	const struct qp_reference_cell *cell = qp_reference_cell(kind, from, to);
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
	for (unsigned kind = 0; kind < QP_REFERENCE_KINDS; kind++) {
		for (int from = 0; from < QP_REFERENCE_STATES; from++) {
			for (int to = 0; to < QP_REFERENCE_STATES; to++)
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

		assert_int_equal(check_mask(IBV_QPT_RC, bad, IBV_QPS_RESET, 1), -EINVAL);
		assert_int_equal(check_mask(IBV_QPT_RC, IBV_QPS_RESET, bad, 1), -EINVAL);
	}
}

static void
qp_state_check__kinds_outside_are_refused(void **state)
{
	static const int outside[] = { 0, 1, 5, IBV_QPT_RAW_PACKET, IBV_QPT_DRIVER, 1000 };

	(void)state;
	for (size_t i = 0; i < sizeof(outside) / sizeof(outside[0]); i++)
		assert_int_equal(check_mask((enum ibv_qp_type)outside[i], IBV_QPS_RESET,
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

	return cmocka_run_group_tests(tests, NULL, NULL);
}
