/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The reasons why a modify is refused: each reason, with the attributes and the range of values
 * that are reported to the user. attr.c tests the ranges of all values, and qp_state.c all masks.
 */

#include "transport/refusal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "pair.h"

static struct pair pair;

/* Open a pair of RC QPs, and bring A to the state before `to`. */
static void
open_before(enum ibv_qp_state to)
{
	const struct pair_conf conf = pair_conf(IBV_QPT_RC);

	pair_open_reset(&pair, &conf);
	pair_bring_up(&pair, A, (enum ibv_qp_state)(to - 1));
}

/*
 * Ask why a modify would be refused. The reason must be `expected`, and the QP context must not
 * change.
 */
static struct uroce_refusal
ask(const struct ibv_qp_attr *attr, int mask, enum uroce_refusal_reason expected)
{
	const struct uroce_qpc before = pair.host[A].qpc;
	const struct uroce_refusal refusal = uroce_refusal_of(&pair.host[A].qpc, attr, mask);

	assert_int_equal(refusal.reason, expected);
	assert_memory_equal(&pair.host[A].qpc, &before, sizeof(before));
	return refusal;
}

static void
refusal_of__a_legal_modify_is_none(void **state)
{
	struct ibv_qp_attr attr;

	(void)state;
	open_before(IBV_QPS_RTR);
	const int mask = pair_attr(&pair, A, IBV_QPS_RTR, &attr);
	const struct uroce_refusal refusal = ask(&attr, mask, UROCE_REFUSAL_NONE);

	assert_int_equal(refusal.from, IBV_QPS_INIT);
	assert_int_equal(refusal.to, IBV_QPS_RTR);
	pair_close(&pair);
}

static void
refusal_of__current_state(void **state)
{
	const struct ibv_qp_attr attr = { .cur_qp_state = IBV_QPS_SQD, .min_rnr_timer = 1 };
	struct uroce_refusal refusal;

	(void)state;
	open_before(IBV_QPS_SQD);
	refusal = ask(&attr, IBV_QP_CUR_STATE | IBV_QP_MIN_RNR_TIMER, UROCE_REFUSAL_CUR_STATE);
	assert_int_equal(refusal.from, IBV_QPS_RTS);
	pair_close(&pair);
}

static void
refusal_of__transition_that_does_not_exist(void **state)
{
	const struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };
	struct uroce_refusal refusal;

	(void)state;
	open_before(IBV_QPS_SQD);
	refusal = ask(&attr, IBV_QP_STATE, UROCE_REFUSAL_TRANSITION);
	assert_int_equal(refusal.from, IBV_QPS_RTS);
	assert_int_equal(refusal.to, IBV_QPS_INIT);
	pair_close(&pair);
}

static void
refusal_of__attributes_that_are_missing_or_not_allowed(void **state)
{
	struct ibv_qp_attr attr;
	struct uroce_refusal refusal;

	(void)state;
	open_before(IBV_QPS_RTR);
	const int mask = pair_attr(&pair, A, IBV_QPS_RTR, &attr);

	refusal = ask(&attr, mask & ~(IBV_QP_RQ_PSN | IBV_QP_DEST_QPN), UROCE_REFUSAL_LACKS);
	assert_int_equal(refusal.mask, IBV_QP_RQ_PSN | IBV_QP_DEST_QPN);
	refusal = ask(&attr, mask | IBV_QP_QKEY | IBV_QP_TIMEOUT, UROCE_REFUSAL_EXCESS);
	assert_int_equal(refusal.mask, IBV_QP_QKEY | IBV_QP_TIMEOUT);
	pair_close(&pair);
}

static void
refusal_of__send_queue_that_drains(void **state)
{
	const struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD, .timeout = 1 };

	(void)state;
	open_before(IBV_QPS_SQD);
	pair_set_state(&pair, A, IBV_QPS_SQD);
	(void)ask(&attr, IBV_QP_STATE | IBV_QP_TIMEOUT, UROCE_REFUSAL_NONE);
	pair.host[A].qpc.req.is_draining = true;
	(void)ask(&attr, IBV_QP_STATE | IBV_QP_TIMEOUT, UROCE_REFUSAL_DRAINING);
	pair.host[A].qpc.req.is_draining = false;
	pair_close(&pair);
}

static void
refusal_of__value_with_its_range(void **state)
{
	struct ibv_qp_attr attr;
	struct uroce_refusal refusal;

	(void)state;
	open_before(IBV_QPS_RTR);
	const int mask = pair_attr(&pair, A, IBV_QPS_RTR, &attr);

	pair.host[A].limits.active_mtu = IBV_MTU_1024;
	attr.path_mtu = IBV_MTU_4096;
	refusal = ask(&attr, mask, UROCE_REFUSAL_VALUE);
	assert_int_equal(refusal.mask, IBV_QP_PATH_MTU);
	assert_string_equal(refusal.field, "path_mtu");
	assert_int_equal(refusal.value, IBV_MTU_4096);
	assert_int_equal(refusal.min, IBV_MTU_256);
	assert_int_equal(refusal.max, IBV_MTU_1024);
	attr.path_mtu = IBV_MTU_256;
	attr.ah_attr.is_global = 0;
	refusal = ask(&attr, mask, UROCE_REFUSAL_VALUE);
	assert_int_equal(refusal.mask, IBV_QP_AV);
	assert_string_equal(refusal.field, "ah_attr.is_global");
	pair_close(&pair);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refusal_of__a_legal_modify_is_none),
		cmocka_unit_test(refusal_of__current_state),
		cmocka_unit_test(refusal_of__transition_that_does_not_exist),
		cmocka_unit_test(refusal_of__attributes_that_are_missing_or_not_allowed),
		cmocka_unit_test(refusal_of__send_queue_that_drains),
		cmocka_unit_test(refusal_of__value_with_its_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
