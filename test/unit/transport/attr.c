/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Modify and query [IBA 11.2.5.2, 11.2.5.3]: the valid values of each attribute, the effect of a
 * modify, and that a failed modify changes nothing. qp_state.c tests which attributes each
 * transition allows.
 */

#include "rc.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#include "transport/refusal.h"
#include "wire/syndrome.h"

/* --- the range of each attribute --- */

enum field {
	PKEY,
	PORT,
	ACCESS,
	AV_GLOBAL,
	AV_PORT,
	AV_GID,
	ALT_GLOBAL,
	ALT_PORT,
	ALT_AV_PORT,
	ALT_PKEY,
	ALT_TIMEOUT,
	MTU,
	DEST_QPN,
	RQ_PSN,
	SQ_PSN,
	MAX_RD,
	MAX_DEST_RD,
	RNR_TIMER,
	TIMEOUT,
	RETRY,
	RNR_RETRY,
	MIG_STATE,
};

static void
set_field(struct ibv_qp_attr *attr, enum field field, uint32_t value)
{
	switch (field) {
	case PKEY:
		attr->pkey_index = (uint16_t)value;
		break;
	case PORT:
		attr->port_num = (uint8_t)value;
		break;
	case ACCESS:
		attr->qp_access_flags = value;
		break;
	case AV_GLOBAL:
		attr->ah_attr.is_global = (uint8_t)value;
		break;
	case AV_PORT:
		attr->ah_attr.port_num = (uint8_t)value;
		break;
	case AV_GID:
		attr->ah_attr.grh.sgid_index = (uint8_t)value;
		break;
	case ALT_GLOBAL:
		attr->alt_ah_attr.is_global = (uint8_t)value;
		break;
	case ALT_PORT:
		attr->alt_port_num = (uint8_t)value;
		break;
	case ALT_AV_PORT:
		attr->alt_ah_attr.port_num = (uint8_t)value;
		break;
	case ALT_PKEY:
		attr->alt_pkey_index = (uint16_t)value;
		break;
	case ALT_TIMEOUT:
		attr->alt_timeout = (uint8_t)value;
		break;
	case MTU:
		attr->path_mtu = (enum ibv_mtu)value;
		break;
	case DEST_QPN:
		attr->dest_qp_num = value;
		break;
	case RQ_PSN:
		attr->rq_psn = value;
		break;
	case SQ_PSN:
		attr->sq_psn = value;
		break;
	case MAX_RD:
		attr->max_rd_atomic = (uint8_t)value;
		break;
	case MAX_DEST_RD:
		attr->max_dest_rd_atomic = (uint8_t)value;
		break;
	case RNR_TIMER:
		attr->min_rnr_timer = (uint8_t)value;
		break;
	case TIMEOUT:
		attr->timeout = (uint8_t)value;
		break;
	case RETRY:
		attr->retry_cnt = (uint8_t)value;
		break;
	case RNR_RETRY:
		attr->rnr_retry = (uint8_t)value;
		break;
	case MIG_STATE:
		attr->path_mig_state = (enum ibv_mig_state)value;
		break;
	}
}

/*
 * Valid and invalid values at the limits of each attribute, and the transition that sets the
 * attribute.
 */
static const struct row {
	enum field field;
	enum ibv_qp_state to; /* the transition is the one that leads to state `to` */
	int mask;             /* further attributes, beside those that the transition requires */
	uint32_t good[3];
	uint32_t bad[3];
} rows[] = {
	{ PKEY, IBV_QPS_INIT, 0, { 0, 1, 2 }, { 3, 4, 65535 } },
	{ PORT, IBV_QPS_INIT, 0, { 1, 1, 1 }, { 0, 2, 255 } },
	{ ACCESS, IBV_QPS_INIT, 0, { 0, 0x31f, 1 << 20 | 0xe0 }, { 0x400, 1 << 21, 0x80000000 } },
	{ AV_GLOBAL, IBV_QPS_RTR, 0, { 1, 1, 1 }, { 0, 0, 0 } },
	{ AV_PORT, IBV_QPS_RTR, 0, { 1, 1, 1 }, { 0, 2, 255 } },
	{ AV_GID, IBV_QPS_RTR, 0, { 0, 1, 3 }, { 4, 5, 255 } },
	{ ALT_GLOBAL, IBV_QPS_RTR, IBV_QP_ALT_PATH, { 1, 1, 1 }, { 0, 0, 0 } },
	{ ALT_PORT, IBV_QPS_RTR, IBV_QP_ALT_PATH, { 1, 1, 1 }, { 0, 2, 255 } },
	{ ALT_AV_PORT, IBV_QPS_RTR, IBV_QP_ALT_PATH, { 1, 1, 1 }, { 0, 2, 255 } },
	{ ALT_PKEY, IBV_QPS_RTR, IBV_QP_ALT_PATH, { 0, 1, 2 }, { 3, 4, 65535 } },
	{ ALT_TIMEOUT, IBV_QPS_RTR, IBV_QP_ALT_PATH, { 0, 1, 31 }, { 32, 33, 255 } },
	{ MTU, IBV_QPS_RTR, 0, { 1, 3, 4 }, { 0, 5, 1024 } },
	{ DEST_QPN, IBV_QPS_RTR, 0, { 0, 1, 0xffffff }, { 0x1000000, 0x1000001, UINT32_MAX } },
	{ RQ_PSN, IBV_QPS_RTR, 0, { 0, 1, 0xffffff }, { 0x1000000, 0x1000001, UINT32_MAX } },
	{ MAX_DEST_RD, IBV_QPS_RTR, 0, { 0, 1, 8 }, { 9, 16, 255 } },
	{ RNR_TIMER, IBV_QPS_RTR, 0, { 0, 1, 31 }, { 32, 33, 255 } },
	{ SQ_PSN, IBV_QPS_RTS, 0, { 0, 1, 0xffffff }, { 0x1000000, 0x1000001, UINT32_MAX } },
	{ MAX_RD, IBV_QPS_RTS, 0, { 0, 1, 4 }, { 5, 16, 255 } },
	{ TIMEOUT, IBV_QPS_RTS, 0, { 0, 1, 31 }, { 32, 33, 255 } },
	{ RETRY, IBV_QPS_RTS, 0, { 0, 1, 7 }, { 8, 9, 255 } },
	{ RNR_RETRY, IBV_QPS_RTS, 0, { 0, 1, 7 }, { 8, 9, 255 } },
	{ MIG_STATE, IBV_QPS_RTS, IBV_QP_PATH_MIG_STATE, { 0, 1, 2 }, { 3, 4, UINT32_MAX } },
};

static void
open_before(enum ibv_qp_state to)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	conf.max_rd_atomic = 4;
	conf.max_dest_rd_atomic = 8;
	pair_open_reset(&pair, &conf);
	pair.host[A].limits.active_mtu = IBV_MTU_2048;
	pair.host[A].limits.max_rd_atomic = 4;
	pair.host[A].limits.max_dest_rd_atomic = 8;
	pair_bring_up(&pair, A, (enum ibv_qp_state)(to - 1));
}

static void
try_value(const struct row *row, uint32_t value, int expected)
{
	struct ibv_qp_attr attr;

	open_before(row->to);
	const struct uroce_qpc before = pair.host[A].qpc;
	const int mask = pair_attr(&pair, A, row->to, &attr) | row->mask;

	attr.alt_ah_attr = attr.ah_attr;
	attr.alt_port_num = 1;
	set_field(&attr, row->field, value);
	const struct uroce_refusal refusal = uroce_refusal_of(&pair.host[A].qpc, &attr, mask);

	assert_int_equal(uroce_qpc_modify_check(&pair.host[A].qpc, &attr, mask), expected);
	assert_int_equal(refusal.reason, expected ? UROCE_REFUSAL_VALUE : UROCE_REFUSAL_NONE);
	if (expected)
		assert_true((refusal.mask & mask) && refusal.field &&
			    (refusal.value < refusal.min || refusal.value > refusal.max));
	assert_memory_equal(&pair.host[A].qpc, &before, sizeof(before));
	assert_int_equal(pair_modify(&pair, A, &attr, mask), expected);
	if (expected)
		assert_memory_equal(&pair.host[A].qpc, &before, sizeof(before));
	else
		assert_int_equal(pair.host[A].qpc.state, row->to);
	pair_close(&pair);
}

static void
attr_modify__every_attribute_has_its_range(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (unsigned nth = 0; nth < 3; nth++) {
			try_value(&rows[i], rows[i].good[nth], 0);
			try_value(&rows[i], rows[i].bad[nth], -EINVAL);
		}
	}
}

static void
attr_modify__values_that_are_not_named_are_not_looked_at(void **state)
{
	struct ibv_qp_attr attr;

	(void)state;
	memset(&attr, 0xff, sizeof(attr));
	attr.min_rnr_timer = 3;
	assert_int_equal(pair_modify(&pair, A, &attr, IBV_QP_MIN_RNR_TIMER), 0);
	assert_int_equal(pair.host[A].qpc.attr.min_rnr_timer, 3);
	assert_int_equal(pair.host[A].qpc.attr.timeout, 14);
	assert_int_equal(pair.host[A].qpc.state, IBV_QPS_RTS);
}

static void
attr_modify__an_address_needs_a_path(void **state)
{
	struct ibv_qp_attr attr;

	open_before(IBV_QPS_RTR);
	const int mask = pair_attr(&pair, A, IBV_QPS_RTR, &attr);
	const struct uroce_qpc before = pair.host[A].qpc;

	assert_int_equal(uroce_qpc_modify(&pair.host[A].qpc, &attr, mask, NULL, 0), -EINVAL);
	assert_memory_equal(&pair.host[A].qpc, &before, sizeof(before));
	close_pair(state);
}

/* --- cur_qp_state: the state in which the caller expects the QP --- */

static void
attr_modify__current_state_must_be_the_current_state(void **state)
{
	struct ibv_qp_attr attr = { .cur_qp_state = IBV_QPS_RTS, .min_rnr_timer = 5 };
	const int mask = IBV_QP_CUR_STATE | IBV_QP_MIN_RNR_TIMER;

	(void)state;
	assert_int_equal(pair_modify(&pair, A, &attr, mask), 0);
	for (int cur = -1; cur <= 10; cur++) {
		attr.cur_qp_state = (enum ibv_qp_state)cur;
		assert_int_equal(pair_modify(&pair, A, &attr, mask),
				 cur == IBV_QPS_RTS ? 0 : -EINVAL);
	}
	/* cur_qp_state may name only some states: ERR is refused, although the QP is in ERR */
	pair_set_state(&pair, A, IBV_QPS_ERR);
	attr.cur_qp_state = IBV_QPS_ERR;
	attr.qp_state = IBV_QPS_RESET;
	assert_int_equal(pair_modify(&pair, A, &attr, IBV_QP_CUR_STATE | IBV_QP_STATE), -EINVAL);
}

static void
attr_modify__states_that_do_not_follow_are_refused(void **state)
{
	static const enum ibv_qp_state refused[] = { IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_SQE,
						     IBV_QPS_UNKNOWN, (enum ibv_qp_state) - 1 };

	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		const struct ibv_qp_attr attr = { .qp_state = refused[i] };
		const struct uroce_qpc before = pair.host[A].qpc;

		assert_int_equal(pair_modify(&pair, A, &attr, IBV_QP_STATE), -EINVAL);
		assert_memory_equal(&pair.host[A].qpc, &before, sizeof(before));
	}
}

/* --- the effect of a modify --- */

static void
attr_query__tells_what_was_set(void **state)
{
	struct ibv_qp_attr attr, rtr, rts;

	(void)state;
	pair_attr(&pair, A, IBV_QPS_RTR, &rtr);
	pair_attr(&pair, A, IBV_QPS_RTS, &rts);
	uroce_qpc_query(&pair.host[A].qpc, &attr);
	assert_int_equal(attr.qp_state, IBV_QPS_RTS);
	assert_int_equal(attr.cur_qp_state, IBV_QPS_RTS);
	assert_int_equal(attr.path_mtu, rtr.path_mtu);
	assert_int_equal(attr.dest_qp_num, rtr.dest_qp_num);
	assert_int_equal(attr.rq_psn, rtr.rq_psn);
	assert_int_equal(attr.sq_psn, rts.sq_psn);
	assert_int_equal(attr.qp_access_flags, rtr.qp_access_flags);
	assert_int_equal(attr.max_rd_atomic, rts.max_rd_atomic);
	assert_int_equal(attr.max_dest_rd_atomic, rtr.max_dest_rd_atomic);
	assert_int_equal(attr.min_rnr_timer, rtr.min_rnr_timer);
	assert_int_equal(attr.timeout, rts.timeout);
	assert_int_equal(attr.retry_cnt, rts.retry_cnt);
	assert_int_equal(attr.rnr_retry, rts.rnr_retry);
	assert_int_equal(attr.port_num, 1);
	assert_int_equal(attr.ah_attr.port_num, 1);
	assert_int_equal(attr.sq_draining, 0);
}

/*
 * A query also writes the padding between the attributes, because programs compare attributes with
 * memcmp().
 */
static void
attr_query__leaves_no_byte_unset(void **state)
{
	struct ibv_qp_attr a, b;

	(void)state;
	memset(&a, 0x55, sizeof(a));
	memset(&b, 0xaa, sizeof(b));
	uroce_qpc_query(&pair.host[A].qpc, &a);
	uroce_qpc_query(&pair.host[A].qpc, &b);
	assert_memory_equal(&a, &b, sizeof(a));
}

static void
attr_query__psns_move_with_the_traffic(void **state)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD };

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		const struct pair_conf conf = pair_conf(types[i]);
		struct ibv_qp_attr attr;

		pair_open(&pair, &conf);
		pair_post_recv(&pair, B, 0, 2000);
		pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_SEND, .len = 1000 });
		pair_flush(&pair, A);
		uroce_qpc_query(&pair.host[A].qpc, &attr);
		assert_int_equal(attr.sq_psn, 1);
		/*
		 * the query returns the PSN of the next new packet, also while an older packet is
		 * retransmitted
		 */
		pair_wait(&pair, A, uroce_ack_timeout_ns(14));
		uroce_qpc_query(&pair.host[A].qpc, &attr);
		assert_int_equal(attr.sq_psn, 1);
		pair_run(&pair);
		if (types[i] == IBV_QPT_RC) {
			uroce_qpc_query(&pair.host[B].qpc, &attr);
			assert_int_equal(attr.rq_psn, 1);
		}
		pair_close(&pair);
	}
}

static void
attr_modify__access_counts_from_now_on(void **state)
{
	const struct ibv_qp_attr attr = { .qp_access_flags = IBV_ACCESS_REMOTE_READ };
	const struct pair_wr write = { .opcode = IBV_WR_RDMA_WRITE, .len = 10 };

	(void)state;
	pair_post(&pair, A, &write);
	pair_run(&pair);
	assert_int_equal(pair_modify(&pair, B, &attr, IBV_QP_ACCESS_FLAGS), 0);
	pair_post(&pair, A, &write);
	pair_run(&pair);
	pair_expect_done(&pair, A, "send 0 RDMA_WRITE SUCCESS\nsend 1 REM_ACCESS_ERR\n");
}

static void
attr_modify__a_drained_queue_takes_new_timers(void **state)
{
	const struct ibv_qp_attr attr = {
		.timeout = 3,
		.retry_cnt = 2,
		.rnr_retry = 1,
		.max_rd_atomic = 1,
	};
	const int mask =
		IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;

	(void)state;
	/* the attributes cannot be modified in RTS */
	assert_int_equal(pair_modify(&pair, A, &attr, mask), -EINVAL);
	pair_set_state(&pair, A, IBV_QPS_SQD);
	assert_int_equal(pair_modify(&pair, A, &attr, mask), 0);
	pair_set_state(&pair, A, IBV_QPS_RTS);
	pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_RDMA_WRITE, .len = 10 });
	for (uint32_t nth = 0; nth < 8; nth++)
		pair_lose(&pair, A, nth);
	pair_run(&pair);
	pair_expect_done(&pair, A, "send 0 RETRY_EXC_ERR\n");
	/*
	 * the timeout of 2^3 * 4.096 us and retry_cnt 2 have an effect: the request fails after the
	 * third timeout
	 */
	assert_int_equal(pair.host[A].qpc.stats.timeouts, 3);
	assert_int_equal(pair.now_ns, 3 * (UINT64_C(4096) << 3));
}

static void
attr_modify__a_queue_that_drains_is_left_alone(void **state)
{
	const struct ibv_qp_attr attr = { .timeout = 3 };

	(void)state;
	pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_RDMA_WRITE, .len = 10 });
	pair_flush(&pair, A);
	pair_set_state(&pair, A, IBV_QPS_SQD);
	assert_int_equal(pair_modify(&pair, A, &attr, IBV_QP_TIMEOUT), -EINVAL);
	pair_run(&pair);
	assert_int_equal(pair_modify(&pair, A, &attr, IBV_QP_TIMEOUT), 0);
}

static void
attr_modify__a_drained_queue_takes_a_new_path(void **state)
{
	struct ibv_qp_attr attr = { .ah_attr = { .is_global = 1, .port_num = 1, .sl = 3 } };
	struct uroce_path path = pair.host[A].path;
	struct uroce_txd txd;
	uint8_t hdr[UROCE_HDR_MAX];

	(void)state;
	pair_set_state(&pair, A, IBV_QPS_SQD);
	path.hdr[0] = 0x42;
	assert_int_equal(uroce_qpc_modify(&pair.host[A].qpc, &attr, IBV_QP_AV, &path, 0), 0);
	pair_set_state(&pair, A, IBV_QPS_RTS);
	pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_RDMA_WRITE, .len = 10 });
	txd.hdr = hdr;
	assert_int_equal(uroce_qpc_send(&pair.host[A].qpc, &txd, 1, 0), 1);
	assert_int_equal(hdr[0], 0x42);
	uroce_qpc_query(&pair.host[A].qpc, &attr);
	assert_int_equal(attr.ah_attr.sl, 3);
}

/* --- the transition to RESET --- */

static void
attr_modify__reset_forgets_everything_and_works_again(void **state)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD };
	const struct pair_wr send = { .opcode = IBV_WR_SEND, .len = 1000 };

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		const struct pair_conf conf = pair_conf(types[i]);
		struct ibv_qp_attr attr;

		pair_open(&pair, &conf);
		for (unsigned nb = 0; nb < 5; nb++) {
			pair_post_recv(&pair, B, 0, 2000);
			pair_post_recv(&pair, A, 0, 2000);
			pair_post(&pair, A, &send);
			pair_post(&pair, B, &send);
		}
		pair_run(&pair);
		/*
		 * A has one request that is posted and one that is sent; others are acknowledged
		 * and completed
		 */
		pair_post(&pair, A, &send);
		pair_post_recv(&pair, A, 0, 2000);
		pair_flush(&pair, A);
		pair_post(&pair, A, &send);
		for (unsigned side = A; side <= B; side++) {
			pair_set_state(&pair, (enum pair_side)side, IBV_QPS_RESET);
			pair_expect_done(&pair, (enum pair_side)side, "");
			uroce_qpc_query(&pair.host[side].qpc, &attr);
			assert_int_equal(attr.qp_state, IBV_QPS_RESET);
			assert_int_equal(attr.dest_qp_num, 0);
			assert_int_equal(attr.qp_access_flags, 0);
			assert_true(uroce_qpc_deadline(&pair.host[side].qpc) == UROCE_NEVER);
			assert_false(uroce_qpc_has_work(&pair.host[side].qpc));
			assert_true(uroce_wq_is_empty(&pair.host[side].sq));
			assert_true(uroce_wq_is_empty(&pair.host[side].rq));
		}
		pair_run(&pair);
		pair_bring_up(&pair, A, IBV_QPS_RTS);
		pair_bring_up(&pair, B, IBV_QPS_RTS);
		pair.host[A].next_send_id = 0;
		pair.host[B].next_recv_id = 0;
		pair_post_recv(&pair, B, 0, 2000);
		pair_post(&pair, A, &send);
		pair_run(&pair);
		pair_expect_done(&pair, A, "send 0 SEND SUCCESS\n");
		pair_expect_done(&pair, B,
				 types[i] == IBV_QPT_UD ? "recv 0 RECV SUCCESS 1040 from aaaaa1\n"
							: "recv 0 RECV SUCCESS 1000\n");
		pair_close(&pair);
	}
}

static void
attr_modify__reset_with_one_queue_for_both_completions(void **state)
{
	(void)state;
	pair.host[A].qpc.recv_cq = pair.host[A].qpc.send_cq;
	pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_RDMA_WRITE, .len = 10 });
	pair_run(&pair);
	pair_set_state(&pair, A, IBV_QPS_RESET);
	pair_expect_done(&pair, A, "");
}

static void
attr_modify__reset_of_a_qp_in_the_middle_of_everything(void **state)
{
	(void)state;
	/*
	 * QP A waits for a receive request of B, has to respond to a READ, has to send an ACK, and
	 * receives a message of which the end is missing
	 */
	pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_SEND, .len = 10 });
	pair_flush(&pair, A);
	pair_inject(&pair, A, &(struct pair_pkt){ .opcode = UROCE_OP_ACK, .syndrome = 0x21 });
	pair_inject(&pair, A,
		    &(struct pair_pkt){ .opcode = UROCE_OP_READ_REQUEST,
					.psn = 1000,
					.va = (uintptr_t)pair.host[A].mem,
					.rkey = pair.host[A].key,
					.dma_len = 8000 });
	pair_inject(&pair, A,
		    &(struct pair_pkt){ .opcode = UROCE_OP_WRITE_FIRST,
					.psn = 1008,
					.has_ack_req = true,
					.va = (uintptr_t)pair.host[A].mem,
					.rkey = pair.host[A].key,
					.dma_len = 8000,
					.payload_len = 1024 });
	pair_set_state(&pair, A, IBV_QPS_RESET);
	assert_false(uroce_qpc_has_work(&pair.host[A].qpc));
	assert_true(uroce_qpc_deadline(&pair.host[A].qpc) == UROCE_NEVER);
	pair_bring_up(&pair, A, IBV_QPS_RTS);
	pair_set_state(&pair, B, IBV_QPS_RESET);
	pair_bring_up(&pair, B, IBV_QPS_RTS);
	text_clear(&pair.trace);
	pair_post(&pair, B, &(struct pair_wr){ .opcode = IBV_WR_RDMA_WRITE, .len = 10 });
	pair_run(&pair);
	pair_expect_trace(&pair, "B>A WRITE_ONLY psn 1000 A\nA>B ACK psn 1000\n");
}

/* --- the transitions to ERR and SQE --- */

static void
attr_modify__to_err_flushes_and_is_no_event(void **state)
{
	(void)state;
	pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_RDMA_WRITE, .len = 10 });
	pair_post_recv(&pair, A, 0, 10);
	pair_set_state(&pair, A, IBV_QPS_ERR);
	pair_expect_done(&pair, A, "send 0 WR_FLUSH_ERR\nrecv 0 WR_FLUSH_ERR\n");
	assert_int_equal(pair_events(&pair, A), 0);
	/* a transition from ERR to ERR is allowed */
	pair_set_state(&pair, A, IBV_QPS_ERR);
}

static void
post_bad(void)
{
	struct ibv_sge sge = { 0, 100, 0 };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1 };

	wr.wr.ud.remote_qpn = pair.host[B].qpc.qpn;
	assert_int_equal(pair_post_raw(&pair, A, &wr), 0);
}

/*
 * A failed send request of UC or UD stops the send queue, not the receive queue. A transition to
 * RTS restarts the send queue.
 */
static void
attr_modify__sqe_and_back(void **state)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_UC, IBV_QPT_UD };
	const struct pair_wr send = { .opcode = IBV_WR_SEND, .len = 10 };

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		const struct pair_conf conf = pair_conf(types[i]);

		pair_open(&pair, &conf);
		pair_post(&pair, A, &send);
		post_bad();
		pair_post(&pair, A, &send);
		pair_post_recv(&pair, A, 0, 100);
		for (unsigned nb = 0; nb < 3; nb++)
			pair_post_recv(&pair, B, 0, 100);
		pair_run(&pair);
		assert_int_equal(pair.host[A].qpc.state, IBV_QPS_SQE);
		pair_expect_done(&pair, A,
				 "send 0 SEND SUCCESS\nsend 1 LOC_PROT_ERR\nsend 2 WR_FLUSH_ERR\n");
		/* in SQE a posted send request is flushed */
		pair_post(&pair, A, &send);
		pair_run(&pair);
		pair_expect_done(&pair, A, "send 3 WR_FLUSH_ERR\n");
		/* in SQE the receive queue works */
		pair_post(&pair, B, &send);
		pair_run(&pair);
		assert_non_null(strstr(pair_completions(&pair, A), "recv 0 RECV SUCCESS"));
		/*
		 * requests that were posted before the transition to RTS are flushed; later ones
		 * are sent
		 */
		pair_post(&pair, A, &send);
		pair_set_state(&pair, A, IBV_QPS_RTS);
		pair_post(&pair, A, &send);
		text_clear(&pair.trace);
		pair_run(&pair);
		pair_expect_done(&pair, A, "send 4 WR_FLUSH_ERR\nsend 5 SEND SUCCESS\n");
		pair_expect_trace(&pair, "A>B SEND_ONLY psn 1\n");
		pair_close(&pair);
	}
}

#define ATTR_TEST(name) cmocka_unit_test_setup_teardown(name, open_pair, close_pair)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(attr_modify__every_attribute_has_its_range),
		ATTR_TEST(attr_modify__values_that_are_not_named_are_not_looked_at),
		cmocka_unit_test(attr_modify__an_address_needs_a_path),
		ATTR_TEST(attr_modify__current_state_must_be_the_current_state),
		ATTR_TEST(attr_modify__states_that_do_not_follow_are_refused),
		ATTR_TEST(attr_query__tells_what_was_set),
		ATTR_TEST(attr_query__leaves_no_byte_unset),
		cmocka_unit_test(attr_query__psns_move_with_the_traffic),
		ATTR_TEST(attr_modify__access_counts_from_now_on),
		ATTR_TEST(attr_modify__a_drained_queue_takes_new_timers),
		ATTR_TEST(attr_modify__a_queue_that_drains_is_left_alone),
		ATTR_TEST(attr_modify__a_drained_queue_takes_a_new_path),
		cmocka_unit_test(attr_modify__reset_forgets_everything_and_works_again),
		ATTR_TEST(attr_modify__reset_with_one_queue_for_both_completions),
		ATTR_TEST(attr_modify__reset_of_a_qp_in_the_middle_of_everything),
		ATTR_TEST(attr_modify__to_err_flushes_and_is_no_event),
		cmocka_unit_test(attr_modify__sqe_and_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
