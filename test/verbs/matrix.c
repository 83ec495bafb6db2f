/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All transitions of ibv_modify_qp(3). A QP of each type is moved to each state. From there each
 * transition is tried with the required attributes; with all allowed ones; without each required
 * one; with each optional one; with each illegal one. After EINVAL all attributes are unchanged,
 * byte for byte.
 */

#include "net.h"

#include <fcntl.h>

#include "qp_reference.h"

#define ALL_BITS ((IBV_QP_DEST_QPN | IBV_QP_RATE_LIMIT) * 2 - 1)

static struct pair net;
static unsigned nb_cases, nb_granted;

/* Get valid values of all attributes for a transition. */
static struct ibv_qp_attr
legal(enum ibv_qp_state from, enum ibv_qp_state to)
{
	return (struct ibv_qp_attr){
		.qp_state = to,
		.cur_qp_state = from,
		.path_mtu = IBV_MTU_512,
		.path_mig_state = IBV_MIG_MIGRATED,
		.qkey = 0x1234567,
		.rq_psn = 0xabcdef,
		.sq_psn = 0xfedcba,
		.dest_qp_num = net.b.qp->qp_num,
		.qp_access_flags = IBV_ACCESS_REMOTE_READ,
		.ah_attr = ah_attr_to(&net.b, ADDR_GID),
		.alt_ah_attr = ah_attr_to(&net.b, ADDR_GID),
		.pkey_index = 0,
		.alt_pkey_index = 0,
		.en_sqd_async_notify = 0,
		.max_rd_atomic = 2,
		.max_dest_rd_atomic = 3,
		.min_rnr_timer = 5,
		.port_num = 1,
		.timeout = 12,
		.retry_cnt = 3,
		.rnr_retry = 2,
		.alt_port_num = 1,
		.alt_timeout = 9,
	};
}

/* Query all attributes of a's QP. */
static struct ibv_qp_attr
look(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	assert_int_equal(uroce_query_qp(net.a.qp, &attr, ALL_BITS, &init), 0);
	return attr;
}

#define FIELD(field)                                                                               \
	offsetof(struct ibv_qp_attr, field), sizeof(((struct ibv_qp_attr *)NULL)->field)

/* For each attribute bit, the place of the attribute in struct ibv_qp_attr. */
static const struct {
	int bit;
	size_t at;
	size_t len;
} fields[] = {
	{ IBV_QP_EN_SQD_ASYNC_NOTIFY, FIELD(en_sqd_async_notify) },
	{ IBV_QP_ACCESS_FLAGS, FIELD(qp_access_flags) },
	{ IBV_QP_PKEY_INDEX, FIELD(pkey_index) },
	{ IBV_QP_PORT, FIELD(port_num) },
	{ IBV_QP_QKEY, FIELD(qkey) },
	{ IBV_QP_AV, FIELD(ah_attr) },
	{ IBV_QP_PATH_MTU, FIELD(path_mtu) },
	{ IBV_QP_TIMEOUT, FIELD(timeout) },
	{ IBV_QP_RETRY_CNT, FIELD(retry_cnt) },
	{ IBV_QP_RNR_RETRY, FIELD(rnr_retry) },
	{ IBV_QP_RQ_PSN, FIELD(rq_psn) },
	{ IBV_QP_MAX_QP_RD_ATOMIC, FIELD(max_rd_atomic) },
	{ IBV_QP_ALT_PATH, FIELD(alt_ah_attr) },
	{ IBV_QP_ALT_PATH, FIELD(alt_port_num) },
	{ IBV_QP_ALT_PATH, FIELD(alt_timeout) },
	{ IBV_QP_MIN_RNR_TIMER, FIELD(min_rnr_timer) },
	{ IBV_QP_SQ_PSN, FIELD(sq_psn) },
	{ IBV_QP_MAX_DEST_RD_ATOMIC, FIELD(max_dest_rd_atomic) },
	{ IBV_QP_PATH_MIG_STATE, FIELD(path_mig_state) },
	{ IBV_QP_DEST_QPN, FIELD(dest_qp_num) },
};

/*
 * Check that the attributes in `mask` have the values of `attr`, and that all others are as before.
 */
static void
expect_set(const struct ibv_qp_attr *attr, int mask, const struct ibv_qp_attr *before,
	   const struct ibv_qp_attr *after)
{
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		const void *from = mask & fields[i].bit ? attr : before;

		/* do not compare PSNs that were not set: they change with the traffic */
		if (fields[i].bit & (IBV_QP_SQ_PSN | IBV_QP_RQ_PSN) & ~mask)
			continue;
		assert_memory_equal((const uint8_t *)from + fields[i].at,
				    (const uint8_t *)after + fields[i].at, fields[i].len);
	}
}

/*
 * Move a UD or UC QP from RTS to SQE: post a request with an invalid lkey, which fails without
 * being sent.
 */
static void
fail_send_queue(void)
{
	struct ibv_sge sge = sge_of(&net.a, 0, 8);
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND }, *bad;
	struct ibv_ah *const ah = net.a.qp->qp_type == IBV_QPT_UD ? ah_to(&net.a, &net.b) : NULL;
	struct ibv_wc wc;

	sge.lkey ^= 0x55;
	if (ah != NULL) {
		wr.wr.ud.ah = ah;
		wr.wr.ud.remote_qpn = net.b.qp->qp_num;
		wr.wr.ud.remote_qkey = QKEY;
	}
	assert_int_equal(uroce_post_send(net.a.qp, &wr, &bad), 0);
	wc = wait_for(&net, net.a.scq);
	assert_int_equal(wc.status, IBV_WC_LOC_PROT_ERR);
	if (ah != NULL)
		assert_int_equal(uroce_destroy_ah(ah), 0);
}

/* Move the QP to a state with the required attributes of the transition only. */
static void
step(unsigned kind, enum ibv_qp_state from, enum ibv_qp_state to)
{
	struct ibv_qp_attr attr = legal(from, to);
	const int mask = IBV_QP_STATE | qp_reference_cell(kind, from, to)->required;

	assert_int_equal(uroce_modify_qp(net.a.qp, &attr, mask), 0);
}

/* Move the QP from any state to `state`, through RESET. */
static void
bring_to(unsigned kind, enum ibv_qp_state state)
{
	const enum ibv_qp_state last = state == IBV_QPS_ERR  ? IBV_QPS_INIT
				       : state > IBV_QPS_RTS ? IBV_QPS_RTS
							     : state;

	assert_int_equal(to_state(&net.a, IBV_QPS_RESET), 0);
	for (int from = IBV_QPS_RESET; from < (int)last; from++)
		step(kind, (enum ibv_qp_state)from, (enum ibv_qp_state)(from + 1));
	if (state == IBV_QPS_SQE)
		fail_send_queue();
	else if (state != last)
		step(kind, last, state);
	assert_int_equal(state_of(&net.a), state);
}

/* Try a modify, and check its result. If it succeeds, move the QP back to the state `from`. */
static void
expect(unsigned kind, int from, int to, int mask, bool is_granted)
{
	struct ibv_qp_attr attr = legal((enum ibv_qp_state)from, (enum ibv_qp_state)to);
	const struct ibv_qp_attr before = look();
	const int ret = uroce_modify_qp(net.a.qp, &attr, mask);
	const struct ibv_qp_attr after = look();

	nb_cases++;
	if (ret != (is_granted ? 0 : EINVAL))
		fail_msg("%s %s -> %s, mask 0x%x: %d", qp_reference_kinds[kind].name,
			 qp_reference_state(from), qp_reference_state(to), (unsigned)mask, ret);
	if (!is_granted) {
		assert_memory_equal(&before, &after, sizeof(before));
		assert_int_equal(net.a.qp->state, from);
		return;
	}
	nb_granted++;
	assert_int_equal(after.qp_state, mask & IBV_QP_STATE ? to : from);
	assert_int_equal(net.a.qp->state, after.qp_state);
	if (after.qp_state != IBV_QPS_RESET)
		expect_set(&attr, mask, &before, &after);
	bring_to(kind, (enum ibv_qp_state)from);
}

/*
 * Check a transition with many masks. If the state remains the same, also check masks without
 * IBV_QP_STATE.
 */
static void
check_cell(unsigned kind, int from, int to)
{
	const struct qp_reference_cell *cell = qp_reference_cell(kind, from, to);
	const int all = cell->required | cell->optional;
	const bool is_valid = cell->is_valid;

	for (int state = from == to ? 0 : IBV_QP_STATE; state <= IBV_QP_STATE; state++) {
		expect(kind, from, to, state | cell->required, is_valid);
		expect(kind, from, to, state | all, is_valid);
		for (int bit = IBV_QP_CUR_STATE; bit < ALL_BITS; bit <<= 1) {
			if (cell->required & bit) {
				expect(kind, from, to, (state | cell->required) & ~bit, false);
				expect(kind, from, to, (state | all) & ~bit, false);
			} else {
				expect(kind, from, to, state | cell->required | bit,
				       is_valid && (all & bit));
			}
		}
	}
}

/* Replace a's RC QP by an XRC QP of this type. */
static struct ibv_xrcd *
become_xrc(enum ibv_qp_type type)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = O_CREAT,
	};
	struct ibv_xrcd *const xrcd = uroce_open_xrcd(net.a.context, &attr);
	struct ibv_qp_init_attr_ex init = {
		.qp_type = type,
		.send_cq = net.a.scq,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = net.a.pd,
		.cap = { .max_send_wr = NB_WR, .max_send_sge = NB_SGE },
	};

	assert_non_null(xrcd);
	if (type == IBV_QPT_XRC_RECV)
		init = (struct ibv_qp_init_attr_ex){ .qp_type = type,
						     .comp_mask = IBV_QP_INIT_ATTR_XRCD,
						     .xrcd = xrcd };
	assert_int_equal(uroce_destroy_qp(net.a.qp), 0);
	net.a.qp = uroce_create_qp_ex(net.a.context, &init);
	assert_non_null(net.a.qp);
	return xrcd;
}

static void
check_kind(unsigned kind)
{
	const enum ibv_qp_type type = qp_reference_kinds[kind].type;
	const bool is_xrc = type > IBV_QPT_UD;
	struct ibv_xrcd *xrcd = NULL;

	pair_open(&net, &(struct pair_conf){ .type = is_xrc ? IBV_QPT_RC : type });
	if (is_xrc)
		xrcd = become_xrc(type);
	for (int from = 0; from < QP_REFERENCE_STATES; from++) {
		/* only UD and UC QPs can be in SQE */
		if (from == IBV_QPS_SQE && type != IBV_QPT_UD && type != IBV_QPT_UC)
			continue;
		bring_to(kind, (enum ibv_qp_state)from);
		for (int to = 0; to < QP_REFERENCE_STATES; to++)
			check_cell(kind, from, to);
	}
	if (is_xrc) {
		assert_int_equal(uroce_destroy_qp(net.a.qp), 0);
		net.a.qp = NULL;
		assert_int_equal(uroce_close_xrcd(xrcd), 0);
	}
	pair_close(&net);
}

static void
modify__every_transition_every_type_every_mask(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < QP_REFERENCE_KINDS; kind++)
		check_kind(kind);
	print_message("# %u cases, %u of them granted\n", nb_cases, nb_granted);
}

/* A modify with IBV_QP_CUR_STATE fails if cur_qp_state is not the QP's state. */
static void
modify__a_wrong_current_state_changes_nothing(void **state)
{
	unsigned kind = 0;

	(void)state;
	while (qp_reference_kinds[kind].type != IBV_QPT_RC)
		kind++;
	pair_open(&net, &(struct pair_conf){ .type = IBV_QPT_RC });
	for (int from = IBV_QPS_RTR; from <= IBV_QPS_SQD; from++) {
		bring_to(kind, (enum ibv_qp_state)from);
		const struct ibv_qp_attr before = look();

		for (int claimed = -1; claimed <= IBV_QPS_ERR + 2; claimed++) {
			struct ibv_qp_attr attr = legal((enum ibv_qp_state)claimed, IBV_QPS_RTS);
			int mask = IBV_QP_STATE | IBV_QP_CUR_STATE;

			if (claimed == from)
				continue;
			if (claimed == IBV_QPS_RTR)
				mask |= qp_reference_cell(kind, IBV_QPS_RTR, IBV_QPS_RTS)->required;
			assert_int_equal(uroce_modify_qp(net.a.qp, &attr, mask), EINVAL);
			const struct ibv_qp_attr after = look();

			assert_memory_equal(&before, &after, sizeof(before));
		}
	}
	pair_close(&net);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(modify__every_transition_every_type_every_mask),
		cmocka_unit_test(modify__a_wrong_current_state_changes_nothing),
	};

	net_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
