/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Requests that send no packet: binds and invalidations of a window by its owner. Also invalidation
 * by the peer's SEND, and cancelled requests. The tests check when these requests are executed, and
 * in which order they complete.
 */

#include "pair.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#include "mem/mw.h"

static struct pair pair;
static struct ibv_mw window; /* a type 2 memory window in the key table of pair.host[B] */

static void
open_conf(const struct pair_conf *conf)
{
	uint32_t rkey;

	pair_open(&pair, conf);
	assert_int_equal(uroce_mw_add(pair.host[B].mrs, UROCE_MW_2B, pair.host[B].qpc.pdn, &rkey),
			 0);
	window = (struct ibv_mw){ .rkey = rkey, .type = IBV_MW_TYPE_2 };
}

static int
open_rc(void **state)
{
	const struct pair_conf conf = pair_conf(IBV_QPT_RC);

	(void)state;
	open_conf(&conf);
	return 0;
}

static int
close_pair(void **state)
{
	(void)state;
	pair_close(&pair);
	return 0;
}

/* Post a bind of B's window to bytes 4096..8191 of B's memory. */
static int
post_bind(uint32_t rkey, uint64_t len, unsigned flags)
{
	struct ibv_mr mr = { .lkey = pair.host[B].key };
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_BIND_MW,
		.send_flags = flags,
		.bind_mw = {
			.mw = &window,
			.rkey = rkey,
			.bind_info = {
				.mr = &mr,
				.addr = (uintptr_t)pair.host[B].mem + 4096,
				.length = len,
				.mw_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
			},
		},
	};

	return pair_post_raw(&pair, B, &wr);
}

static void
post_local_inv(enum pair_side side, uint32_t rkey, unsigned flags)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_LOCAL_INV,
				  .send_flags = flags,
				  .invalidate_rkey = rkey };

	assert_int_equal(pair_post_raw(&pair, side, &wr), 0);
}

static void
post_send_inv(uint32_t rkey, uint32_t len)
{
	struct ibv_sge sge = { .addr = (uintptr_t)pair.host[A].mem,
			       .length = len,
			       .lkey = pair.host[A].key };
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND_WITH_INV,
		.sg_list = &sge,
		.num_sge = len ? 1 : 0,
		.invalidate_rkey = rkey,
	};

	assert_int_equal(pair_post_raw(&pair, A, &wr), 0);
}

static void
post_write_through(uint32_t rkey, uint32_t offset, uint32_t len)
{
	struct ibv_sge sge = { .addr = (uintptr_t)pair.host[A].mem,
			       .length = len,
			       .lkey = pair.host[A].key };
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.rdma = { .remote_addr = (uintptr_t)pair.host[B].mem + offset, .rkey = rkey },
	};

	assert_int_equal(pair_post_raw(&pair, A, &wr), 0);
}

static void
post_writes(enum pair_side side, unsigned nb, uint32_t len)
{
	while (nb--)
		pair_post(&pair, side,
			  &(struct pair_wr){ .opcode = IBV_WR_RDMA_WRITE, .len = len });
}

/*
 * Bind B's window.
 * @return the new rkey of the window
 */
static uint32_t
bind(void)
{
	const uint32_t rkey = window.rkey ^ 0x33;

	assert_int_equal(post_bind(rkey, 4096, 0), 0);
	pair_run(&pair);
	pair_expect_trace(&pair, "");
	pair_expect_done(&pair, B, "send 0 BIND_MW SUCCESS\n");
	return rkey;
}

/* --- binding a window: BIND_MW --- */

static void
bind_mw__peer_writes_through_it_and_not_beside_it(void **state)
{
	const uint32_t rkey = bind();

	(void)state;
	pair_fill(&pair, A, 0, 3000, 1);
	post_write_through(rkey, 4096, 3000);
	pair_run(&pair);
	pair_expect_done(&pair, A, "send 0 RDMA_WRITE SUCCESS\n");
	assert_true(pair_is_equal(&pair, 0, 4096, 3000));
	post_write_through(rkey, 4096 + 2000, 3000);
	pair_run(&pair);
	pair_expect_done(&pair, A, "send 1 REM_ACCESS_ERR\n");
}

static void
bind_mw__key_of_before_is_refused(void **state)
{
	(void)state;
	bind();
	post_write_through(window.rkey, 4096, 1);
	pair_run(&pair);
	pair_expect_done(&pair, A, "send 0 REM_ACCESS_ERR\n");
}

static void
bind_mw__atomic_needs_its_right_and_read_has_it(void **state)
{
	const uint32_t rkey = bind();
	struct ibv_sge sge = { .addr = (uintptr_t)pair.host[A].mem,
			       .length = 8,
			       .lkey = pair.host[A].key };
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_READ,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.rdma = { .remote_addr = (uintptr_t)pair.host[B].mem + 4096, .rkey = rkey },
	};

	(void)state;
	assert_int_equal(pair_post_raw(&pair, A, &wr), 0);
	wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	wr.wr.atomic.rkey = rkey;
	assert_int_equal(pair_post_raw(&pair, A, &wr), 0);
	pair_run(&pair);
	pair_expect_done(&pair, A, "send 0 RDMA_READ SUCCESS\nsend 1 REM_ACCESS_ERR\n");
}

static void
bind_mw__that_is_refused_ends_the_queue(void **state)
{
	(void)state;
	bind();
	/*
	 * the second bind is refused: a window of type 2 must be invalidated before it is bound
	 * again
	 */
	assert_int_equal(post_bind(window.rkey, 4096, 0), 0);
	post_writes(B, 1, 8);
	pair_run(&pair);
	pair_expect_trace(&pair, "");
	pair_expect_done(&pair, B, "send 1 MW_BIND_ERR\nsend 2 WR_FLUSH_ERR\n");
	assert_int_equal(pair.host[B].qpc.state, IBV_QPS_ERR);
}

static void
bind_mw__refused_behind_what_is_not_acknowledged(void **state)
{
	(void)state;
	post_writes(B, 1, 8);
	assert_int_equal(post_bind(window.rkey ^ 1, 0, 0), 0);
	post_writes(B, 1, 8);
	pair_run(&pair);
	/*
	 * the WRITE was sent without an ACK request, because more requests followed; when the bind
	 * fails, the WRITE is retransmitted with an ACK request
	 */
	pair_expect_trace(&pair, "B>A WRITE_ONLY psn 1000\n"
				 "B>A WRITE_ONLY psn 1000 A\n"
				 "A>B ACK psn 1000\n");
	pair_expect_done(&pair, B,
			 "send 0 RDMA_WRITE SUCCESS\nsend 1 MW_BIND_ERR\nsend 2 WR_FLUSH_ERR\n");
}

static void
bind_mw__on_uc_is_a_send_error(void **state)
{
	const struct pair_conf conf = pair_conf(IBV_QPT_UC);

	(void)state;
	open_conf(&conf);
	const uint32_t rkey = bind();

	post_writes(B, 1, 8);
	assert_int_equal(post_bind(rkey ^ 1, 4096, 0), 0);
	post_writes(B, 1, 8);
	pair_run(&pair);
	pair_expect_done(&pair, B,
			 "send 1 RDMA_WRITE SUCCESS\nsend 2 MW_BIND_ERR\nsend 3 WR_FLUSH_ERR\n");
	assert_int_equal(pair.host[B].qpc.state, IBV_QPS_SQE);
	pair_close(&pair);
}

/* --- the order of local requests and packets --- */

static void
local__completes_behind_what_is_before_it(void **state)
{
	(void)state;
	post_writes(B, 1, 8);
	assert_int_equal(post_bind(window.rkey, 4096, 0), 0);
	post_local_inv(B, window.rkey, 0);
	post_writes(B, 1, 8);
	pair_run_for(&pair, PAIR_LATENCY_NS / 2);
	/*
	 * the bind and the invalidation were executed, but wait for the WRITE and have not
	 * completed
	 */
	assert_int_equal(uroce_mw_invalidate(pair.host[B].mrs, window.rkey, pair.host[B].qpc.pdn,
					     pair.host[B].qpc.qpn),
			 -EINVAL);
	pair_expect_done(&pair, B, "");
	pair_run(&pair);
	pair_expect_done(&pair, B,
			 "send 0 RDMA_WRITE SUCCESS\nsend 1 BIND_MW SUCCESS\n"
			 "send 2 LOCAL_INV SUCCESS\nsend 3 RDMA_WRITE SUCCESS\n");
}

static void
local__last_in_the_queue_lets_the_packet_before_it_ask(void **state)
{
	(void)state;
	post_writes(B, 2, 8);
	assert_int_equal(post_bind(window.rkey, 4096, 0), 0);
	post_local_inv(B, window.rkey, 0);
	pair_run(&pair);
	pair_expect_trace(&pair, "B>A WRITE_ONLY psn 1000\n"
				 "B>A WRITE_ONLY psn 1001 A\n"
				 "A>B ACK psn 1001\n");
	pair_expect_done(&pair, B,
			 "send 0 RDMA_WRITE SUCCESS\nsend 1 RDMA_WRITE SUCCESS\n"
			 "send 2 BIND_MW SUCCESS\nsend 3 LOCAL_INV SUCCESS\n");
}

static void
local__is_done_once_however_often_the_requester_goes_back(void **state)
{
	(void)state;
	post_writes(B, 1, 8);
	assert_int_equal(post_bind(window.rkey, 4096, 0), 0);
	post_local_inv(B, window.rkey, 0);
	post_writes(B, 1, 8);
	pair_lose(&pair, B, 0);
	pair_run(&pair);
	pair_expect_trace(&pair, "B>A WRITE_ONLY psn 1000 LOST\n"
				 "B>A WRITE_ONLY psn 1001 A\n"
				 "A>B NAK_SEQ psn 1000\n"
				 "B>A WRITE_ONLY psn 1000\n"
				 "B>A WRITE_ONLY psn 1001 A\n"
				 "A>B ACK psn 1001\n");
	pair_expect_done(&pair, B,
			 "send 0 RDMA_WRITE SUCCESS\nsend 1 BIND_MW SUCCESS\n"
			 "send 2 LOCAL_INV SUCCESS\nsend 3 RDMA_WRITE SUCCESS\n");
}

/*
 * A bind between two WRITEs: the ACK of the first WRITE arrives while the WRITEs are retransmitted
 * after a timeout.
 */
static void
local__ack_that_overtakes_the_position(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	(void)state;
	conf.burst = 1;
	open_conf(&conf);
	post_writes(B, 1, 8);
	assert_int_equal(post_bind(window.rkey, 4096, 0), 0);
	post_writes(B, 1, 8);
	pair_flush(&pair, B);
	pair_wait(&pair, B, uroce_qpc_ack_timeout_ns(&pair.host[B].qpc));
	pair_run_for(&pair, 0); /* this round retransmits the first WRITE */
	pair_inject(&pair, B,
		    &(struct pair_pkt){ .opcode = UROCE_OP_ACK, .psn = 1000, .syndrome = 0x1f });
	pair_expect_done(&pair, B, "send 0 RDMA_WRITE SUCCESS\nsend 1 BIND_MW SUCCESS\n");
	pair_run(&pair);
	pair_expect_done(&pair, B, "send 2 RDMA_WRITE SUCCESS\n");
	pair_close(&pair);
}

/*
 * The QP drains while a bind waits behind a fence. The WRITE before the bind was sent without an
 * ACK request, but is acknowledged, so it is not retransmitted.
 */
static void
local__last_that_was_begun_when_the_queue_drains(void **state)
{
	(void)state;
	pair_post(&pair, B, &(struct pair_wr){ .opcode = IBV_WR_RDMA_READ, .len = 8 });
	post_writes(B, 1, 8);
	assert_int_equal(post_bind(window.rkey, 4096, IBV_SEND_FENCE), 0);
	post_writes(B, 1, 8);
	pair_flush(&pair, B);
	pair_expect_trace(&pair, "B>A READ_REQUEST psn 1000 len 8\nB>A WRITE_ONLY psn 1001\n");
	pair_set_state(&pair, B, IBV_QPS_SQD);
	pair_inject(&pair, B,
		    &(struct pair_pkt){ .opcode = UROCE_OP_READ_RESPONSE_ONLY,
					.psn = 1000,
					.payload_len = 8,
					.syndrome = 0x1f });
	pair_inject(&pair, B,
		    &(struct pair_pkt){ .opcode = UROCE_OP_ACK, .psn = 1001, .syndrome = 0x1f });
	pair_run(&pair);
	pair_expect_trace(&pair, "");
	pair_expect_done(&pair, B,
			 "send 0 RDMA_READ SUCCESS\nsend 1 RDMA_WRITE SUCCESS\n"
			 "send 2 BIND_MW SUCCESS\n");
	assert_false(pair.host[B].qpc.req.is_draining);
}

/* On UC a bind completes only after the frames of the requests before it were built. */
static void
local__on_uc_waits_for_the_frames_before_it(void **state)
{
	const struct pair_conf conf = pair_conf(IBV_QPT_UC);
	uint8_t hdr[UROCE_HDR_MAX];
	struct uroce_txd txd = { .hdr = hdr };

	(void)state;
	open_conf(&conf);
	post_writes(B, 1, 8);
	assert_int_equal(uroce_qpc_send(&pair.host[B].qpc, &txd, 1, 0), 1);
	assert_int_equal(post_bind(window.rkey, 4096, 0), 0);
	assert_int_equal(uroce_qpc_send(&pair.host[B].qpc, &txd, 1, 0), 0);
	pair_expect_done(&pair, B, "");
	uroce_qpc_sent(&pair.host[B].qpc, 0);
	pair_expect_done(&pair, B, "send 0 RDMA_WRITE SUCCESS\nsend 1 BIND_MW SUCCESS\n");
	pair_close(&pair);
}

static void
local__fence_waits_for_reads(void **state)
{
	(void)state;
	const uint32_t rkey = bind();

	pair_post(&pair, B, &(struct pair_wr){ .opcode = IBV_WR_RDMA_READ, .len = 8 });
	post_local_inv(B, rkey, IBV_SEND_FENCE);
	pair_run_for(&pair, PAIR_LATENCY_NS + 1);
	assert_non_null(uroce_rkey_resolve(pair.host[B].mrs, rkey, pair.host[B].qpc.pdn,
					   pair.host[B].qpc.qpn, (uintptr_t)pair.host[B].mem + 4096,
					   1, 0));
	pair_run(&pair);
	pair_expect_done(&pair, B, "send 1 RDMA_READ SUCCESS\nsend 2 LOCAL_INV SUCCESS\n");
	assert_null(uroce_rkey_resolve(pair.host[B].mrs, rkey, pair.host[B].qpc.pdn,
				       pair.host[B].qpc.qpn, (uintptr_t)pair.host[B].mem + 4096, 1,
				       0));
}

static void
local__unsignaled_leaves_no_entry(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	(void)state;
	conf.is_unsignaled = true;
	open_conf(&conf);
	assert_int_equal(post_bind(window.rkey, 4096, 0), 0);
	post_local_inv(B, window.rkey, IBV_SEND_SIGNALED);
	pair_run(&pair);
	pair_expect_done(&pair, B, "send 1 LOCAL_INV SUCCESS\n");
	assert_true(uroce_wq_is_empty(&pair.host[B].sq));
	pair_close(&pair);
}

/* --- invalidating a window at its owner: LOCAL_INV --- */

static void
local_inv__of_what_is_not_ours_to_invalidate(void **state)
{
	(void)state;
	post_local_inv(B, pair.host[B].key, 0); /* the key belongs to a region, not to a window */
	pair_run(&pair);
	pair_expect_done(&pair, B, "send 0 MW_BIND_ERR\n");
	assert_int_equal(pair.host[B].qpc.state, IBV_QPS_ERR);
}

/* --- invalidating a window by the peer: SEND with invalidate --- */

static void
send_with_inv__ends_the_peers_access(void **state)
{
	const uint32_t rkey = bind();
	struct ibv_wc wc;

	(void)state;
	pair_post_recv(&pair, B, 0, 4096);
	post_write_through(rkey, 4096, 8);
	post_send_inv(rkey, 2000);
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B WRITE_ONLY psn 0\n"
				 "A>B SEND_FIRST psn 1\n"
				 "A>B SEND_LAST_INV psn 2 A\n"
				 "B>A ACK psn 2\n");
	pair_expect_done(&pair, A, "send 0 RDMA_WRITE SUCCESS\nsend 1 SEND SUCCESS\n");
	assert_int_equal(uroce_cq_poll(&pair.host[B].recv_cq, 1, &wc), 1);
	assert_int_equal(wc.opcode, IBV_WC_RECV);
	assert_int_equal(wc.byte_len, 2000);
	assert_int_equal(wc.wc_flags, IBV_WC_WITH_INV);
	assert_int_equal(wc.invalidated_rkey, rkey);
	post_write_through(rkey, 4096, 8);
	pair_run(&pair);
	pair_expect_done(&pair, A, "send 2 REM_ACCESS_ERR\n");
}

static void
send_with_inv__lost_ack_does_not_invalidate_twice(void **state)
{
	const uint32_t rkey = bind();

	(void)state;
	pair_post_recv(&pair, B, 0, 4096);
	post_send_inv(rkey, 0);
	pair_lose(&pair, B, 0);
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B SEND_ONLY_INV psn 0 A\n"
				 "B>A ACK psn 0 LOST\n"
				 "A TIMEOUT\n"
				 "A>B SEND_ONLY_INV psn 0 A\n"
				 "B>A ACK psn 0\n");
	pair_expect_done(&pair, A, "send 0 SEND SUCCESS\n");
	pair_expect_done(&pair, B, "recv 0 RECV SUCCESS 0 invalidated\n");
}

static void
send_with_inv__of_what_is_not_the_peers_to_invalidate(void **state)
{
	(void)state;
	bind();
	pair_post_recv(&pair, B, 0, 4096);
	pair_post_recv(&pair, B, 0, 4096);
	post_send_inv(pair.host[B].key, 8);
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B SEND_ONLY_INV psn 0 A\n"
				 "B>A NAK_REM_OP psn 0\n");
	pair_expect_done(&pair, A, "send 0 REM_OP_ERR\n");
	pair_expect_done(&pair, B, "recv 0 REM_INV_REQ_ERR\nrecv 1 WR_FLUSH_ERR\n");
	assert_int_equal(pair.host[B].nb_verdicts[UROCE_VERDICT_BAD_INVALIDATE], 1);
}

/* --- cancelling send requests --- */

static int
cancel(enum pair_side side, uint64_t wr_id)
{
	return uroce_qpc_cancel(&pair.host[side].qpc, wr_id);
}

static void
qpc_cancel__only_in_sqd(void **state)
{
	(void)state;
	assert_int_equal(cancel(A, 0), -EINVAL);
	pair_set_state(&pair, A, IBV_QPS_SQD);
	assert_int_equal(cancel(A, 0), 0);
	pair_set_state(&pair, A, IBV_QPS_ERR);
	assert_int_equal(cancel(A, 0), -EINVAL);
	pair_set_state(&pair, A, IBV_QPS_RESET);
	assert_int_equal(cancel(A, 0), -EINVAL);
}

static void
qpc_cancel__becomes_a_nop_that_completes_as_what_it_was(void **state)
{
	(void)state;
	pair_set_state(&pair, A, IBV_QPS_SQD);
	post_writes(A, 1, 8);
	pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_SEND, .len = 8 });
	pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_RDMA_READ, .len = 8 });
	post_writes(A, 1, 8);
	assert_int_equal(cancel(A, 1), 1);
	assert_int_equal(cancel(A, 1), 0);
	assert_int_equal(cancel(A, 2), 1);
	assert_int_equal(cancel(A, 77), 0);
	pair_set_state(&pair, A, IBV_QPS_RTS);
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B WRITE_ONLY psn 0\n"
				 "A>B WRITE_ONLY psn 1 A\n"
				 "B>A ACK psn 1\n");
	pair_expect_done(&pair, A,
			 "send 0 RDMA_WRITE SUCCESS\nsend 1 SEND SUCCESS\n"
			 "send 2 RDMA_READ SUCCESS\nsend 3 RDMA_WRITE SUCCESS\n");
}

static void
qpc_cancel__what_was_begun_goes_on(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	(void)state;
	conf.burst = 1;
	pair_open(&pair, &conf);
	post_writes(A, 2, 2048);
	pair_run_for(&pair, 0);
	pair_set_state(&pair, A, IBV_QPS_SQD);
	assert_int_equal(cancel(A, 0), 0);
	assert_int_equal(cancel(A, 1), 1);
	pair_run(&pair);
	pair_expect_done(&pair, A, "send 0 RDMA_WRITE SUCCESS\n");
	pair_set_state(&pair, A, IBV_QPS_RTS);
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B WRITE_FIRST psn 0\nA>B WRITE_LAST psn 1 A\nB>A ACK psn 1\n");
	pair_expect_done(&pair, A, "send 1 RDMA_WRITE SUCCESS\n");
	pair_close(&pair);
}

static void
qpc_cancel__all_that_have_this_wr_id_and_each_as_signaled(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	(void)state;
	conf.is_unsignaled = true;
	pair_open(&pair, &conf);
	pair_set_state(&pair, A, IBV_QPS_SQD);
	for (unsigned i = 0; i < 3; i++) {
		pair.host[A].next_send_id = 5;
		pair_post(&pair, A,
			  &(struct pair_wr){ .opcode = IBV_WR_SEND,
					     .len = 8,
					     .flags = i == 1 ? IBV_SEND_SIGNALED : 0 });
	}
	assert_int_equal(cancel(A, 5), 3);
	pair_set_state(&pair, A, IBV_QPS_RTS);
	pair_run(&pair);
	pair_expect_trace(&pair, "");
	pair_expect_done(&pair, A, "send 5 SEND SUCCESS\n");
	assert_true(uroce_wq_is_empty(&pair.host[A].sq));
	pair_close(&pair);
}

static void
qpc_cancel__is_flushed_when_the_qp_goes_to_error(void **state)
{
	(void)state;
	pair_set_state(&pair, A, IBV_QPS_SQD);
	post_writes(A, 2, 8);
	assert_int_equal(cancel(A, 0), 1);
	pair_set_state(&pair, A, IBV_QPS_ERR);
	pair_run(&pair);
	pair_expect_done(&pair, A, "send 0 WR_FLUSH_ERR\nsend 1 WR_FLUSH_ERR\n");
}

static void
qpc_cancel__a_local_request_is_not_done(void **state)
{
	(void)state;
	pair_set_state(&pair, B, IBV_QPS_SQD);
	assert_int_equal(post_bind(window.rkey, 4096, 0), 0);
	assert_int_equal(cancel(B, 0), 1);
	pair_set_state(&pair, B, IBV_QPS_RTS);
	pair_run(&pair);
	pair_expect_done(&pair, B, "send 0 BIND_MW SUCCESS\n");
	assert_null(uroce_rkey_resolve(pair.host[B].mrs, window.rkey, pair.host[B].qpc.pdn,
				       pair.host[B].qpc.qpn, (uintptr_t)pair.host[B].mem + 4096, 1,
				       0));
}

static void
qpc_cancel__on_unreliable_services(void **state)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_UC, IBV_QPT_UD };

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		const struct pair_conf conf = pair_conf(types[i]);

		pair_open(&pair, &conf);
		for (unsigned n = 0; n < 2; n++)
			pair_post_recv(&pair, B, 0, 4096);
		pair_set_state(&pair, A, IBV_QPS_SQD);
		for (unsigned n = 0; n < 4; n++)
			pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_SEND, .len = 8 });
		assert_int_equal(cancel(A, 0), 1);
		assert_int_equal(cancel(A, 2), 1);
		pair_set_state(&pair, A, IBV_QPS_RTS);
		pair_run(&pair);
		pair_expect_trace(&pair, "A>B SEND_ONLY psn 0\nA>B SEND_ONLY psn 1\n");
		pair_expect_done(&pair, A,
				 "send 0 SEND SUCCESS\nsend 1 SEND SUCCESS\n"
				 "send 2 SEND SUCCESS\nsend 3 SEND SUCCESS\n");
		/* cancel a request that is the only one in the queue */
		pair_set_state(&pair, A, IBV_QPS_SQD);
		pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_SEND, .len = 8 });
		assert_int_equal(cancel(A, 4), 1);
		pair_set_state(&pair, A, IBV_QPS_RTS);
		pair_run(&pair);
		pair_expect_done(&pair, A, "send 4 SEND SUCCESS\n");
		pair_close(&pair);
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_rc, close_pair)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(bind_mw__peer_writes_through_it_and_not_beside_it),
		TEST(bind_mw__key_of_before_is_refused),
		TEST(bind_mw__atomic_needs_its_right_and_read_has_it),
		TEST(bind_mw__that_is_refused_ends_the_queue),
		TEST(bind_mw__refused_behind_what_is_not_acknowledged),
		cmocka_unit_test(bind_mw__on_uc_is_a_send_error),
		TEST(local__completes_behind_what_is_before_it),
		TEST(local__last_in_the_queue_lets_the_packet_before_it_ask),
		TEST(local__is_done_once_however_often_the_requester_goes_back),
		cmocka_unit_test(local__ack_that_overtakes_the_position),
		TEST(local__last_that_was_begun_when_the_queue_drains),
		cmocka_unit_test(local__on_uc_waits_for_the_frames_before_it),
		TEST(local__fence_waits_for_reads),
		cmocka_unit_test(local__unsignaled_leaves_no_entry),
		TEST(local_inv__of_what_is_not_ours_to_invalidate),
		TEST(send_with_inv__ends_the_peers_access),
		TEST(send_with_inv__lost_ack_does_not_invalidate_twice),
		TEST(send_with_inv__of_what_is_not_the_peers_to_invalidate),
		TEST(qpc_cancel__only_in_sqd),
		TEST(qpc_cancel__becomes_a_nop_that_completes_as_what_it_was),
		cmocka_unit_test(qpc_cancel__what_was_begun_goes_on),
		cmocka_unit_test(qpc_cancel__all_that_have_this_wr_id_and_each_as_signaled),
		TEST(qpc_cancel__is_flushed_when_the_qp_goes_to_error),
		TEST(qpc_cancel__a_local_request_is_not_done),
		cmocka_unit_test(qpc_cancel__on_unreliable_services),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
