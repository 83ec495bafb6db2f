/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests that are built by ibv_wr_...() calls on a's QP. [wr_post] refers to ibv_wr_post(3). */

#include "net.h"

#include <fcntl.h>
#include <sched.h>
#include <uroce_dv.h>

#define OPS_UD (IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM)
#define OPS_UC                                                                                     \
	(OPS_UD | IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |                 \
	 IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW)
#define FLUSH (1 << 11) /* the value of IBV_QP_EX_WITH_FLUSH, which the installed header may lack */
#ifdef UROCE_VERBS_HAS_FLUSH
#define OPS_NEWER FLUSH
#else
#define OPS_NEWER 0
#endif
#define OPS_RC                                                                                     \
	(OPS_UC | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |                   \
	 IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_SEND_WITH_INV |                      \
	 IBV_QP_EX_WITH_ATOMIC_WRITE | OPS_NEWER)

#define AT 4096u /* offset in b's buffer at which requests write */

static struct pair net;
static struct ibv_qp_ex *qp; /* the QP of a */

static struct ibv_qp *
make_qp(const struct host *host, enum ibv_qp_type type, uint64_t ops, uint32_t max_send_wr)
{
	struct ibv_qp_init_attr_ex init = {
		.qp_type = type,
		.send_cq = host->scq,
		.recv_cq = host->rcq,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = host->pd,
		.send_ops_flags = ops,
		.cap = { max_send_wr, NB_WR, NB_SGE, NB_SGE, 100 },
	};

	return uroce_create_qp_ex(host->context, &init);
}

static int
setup_type(enum ibv_qp_type type, uint64_t ops)
{
	pair_open(&net, &(struct pair_conf){ .type = type });
	assert_int_equal(uroce_destroy_qp(net.a.qp), 0);
	assert_non_null(net.a.qp = make_qp(&net.a, type, ops, NB_WR));
	assert_non_null(qp = uroce_qp_to_qp_ex(net.a.qp));
	return 0;
}

static int
setup(void **state)
{
	(void)state;
	return setup_type(IBV_QPT_RC, OPS_RC);
}

static int
setup_ud(void **state)
{
	(void)state;
	return setup_type(IBV_QPT_UD, OPS_UD);
}

static int
teardown(void **state)
{
	(void)state;
	pair_close(&net);
	return 0;
}

static void
start(uint64_t wr_id, unsigned flags)
{
	qp->wr_id = wr_id;
	qp->wr_flags = flags;
	ibv_wr_start(qp);
}

static uint64_t
addr_of_b(uint32_t offset)
{
	return (uintptr_t)net.b.buf + offset;
}

/*
 * Finish a request of a that a test has begun: set `len` bytes as its data, complete the batch, and
 * check the completion.
 */
static void
run(uint64_t wr_id, uint32_t len, enum ibv_wc_opcode opcode)
{
	ibv_wr_set_sge(qp, net.a.mr->lkey, (uintptr_t)net.a.buf, len);
	assert_int_equal(ibv_wr_complete(qp), 0);
	assert_int_equal(expect_wc(&net, net.a.scq, wr_id, IBV_WC_SUCCESS).opcode, opcode);
}

static void
create__knows_what_each_type_has(void **state)
{
	static const struct {
		enum ibv_qp_type type;
		uint64_t bad;
	} rows[] = {
		{ IBV_QPT_UD, IBV_QP_EX_WITH_RDMA_WRITE },
		{ IBV_QPT_UD, IBV_QP_EX_WITH_BIND_MW },
		{ IBV_QPT_UC, IBV_QP_EX_WITH_RDMA_READ },
		/* UC has no SEND with Invalidate [IBA 9.8.2] */
		{ IBV_QPT_UC, IBV_QP_EX_WITH_SEND_WITH_INV },
		{ IBV_QPT_RC, IBV_QP_EX_WITH_TSO },
		{ IBV_QPT_UC, FLUSH },
#ifndef UROCE_VERBS_HAS_FLUSH
		{ IBV_QPT_RC, FLUSH }, /* the installed header has no function wr_flush */
#endif
		{ IBV_QPT_RC, 1ull << 40 },
	};
	struct ibv_qp *made;

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_errno(EOPNOTSUPP, make_qp(&net.a, rows[i].type, rows[i].bad, 1));
	assert_non_null(made = make_qp(&net.a, IBV_QPT_UC, OPS_UC, 1));
	assert_int_equal(uroce_destroy_qp(made), 0);
	assert_non_null(made = make_qp(&net.a, IBV_QPT_XRC_SEND, OPS_RC, 1));
	assert_non_null(uroce_qp_to_qp_ex(made)->wr_set_xrc_srqn);
	assert_int_equal(uroce_destroy_qp(made), 0);
	/* the function pointers of operations that were not requested are NULL */
	assert_non_null(made = make_qp(&net.a, IBV_QPT_RC, IBV_QP_EX_WITH_SEND, 1));
	assert_non_null(uroce_qp_to_qp_ex(made)->wr_send);
	assert_null(uroce_qp_to_qp_ex(made)->wr_rdma_write);
	assert_null(uroce_qp_to_qp_ex(made)->wr_atomic_write);
	assert_int_equal(uroce_destroy_qp(made), 0);
}

static void
to_qp_ex__of_a_qp_without(void **state)
{
	(void)state;
	assert_null(uroce_qp_to_qp_ex(net.b.qp));
	assert_null(uroce_qp_to_qp_ex(NULL));
	assert_ptr_equal(&qp->qp_base, net.a.qp);
}

static void
send__and_with_imm(void **state)
{
	(void)state;
	pair_connect(&net);
	fill(net.a.buf, 300, 1);
	post_recv(&net.b, 1, sge_of(&net.b, 0, 400));
	post_recv(&net.b, 2, sge_of(&net.b, 0, 400));
	start(1, IBV_SEND_SIGNALED);
	ibv_wr_send(qp);
	run(1, 300, IBV_WC_SEND);
	assert_int_equal(expect_wc(&net, net.b.rcq, 1, IBV_WC_SUCCESS).byte_len, 300);
	assert_memory_equal(net.b.buf, net.a.buf, 300);
	start(2, IBV_SEND_SIGNALED);
	ibv_wr_send_imm(qp, 0x0a0b0c0d);
	run(2, 100, IBV_WC_SEND);
	const struct ibv_wc wc = expect_wc(&net, net.b.rcq, 2, IBV_WC_SUCCESS);

	assert_int_equal(wc.imm_data, 0x0a0b0c0d);
	assert_int_equal(wc.wc_flags, IBV_WC_WITH_IMM);
}

static void
rdma__write_and_read(void **state)
{
	(void)state;
	pair_connect(&net);
	fill(net.a.buf, 9000, 2);
	post_recv(&net.b, 9, sge_of(&net.b, 0, 8));
	start(1, IBV_SEND_SIGNALED);
	ibv_wr_rdma_write(qp, net.b.mr->rkey, addr_of_b(AT));
	run(1, 9000, IBV_WC_RDMA_WRITE);
	assert_memory_equal(net.b.buf + AT, net.a.buf, 9000);
	start(2, IBV_SEND_SIGNALED);
	ibv_wr_rdma_write_imm(qp, net.b.mr->rkey, addr_of_b(0), 0x11223344);
	run(2, 50, IBV_WC_RDMA_WRITE);
	assert_int_equal(expect_wc(&net, net.b.rcq, 9, IBV_WC_SUCCESS).imm_data, 0x11223344);
	memset(net.a.buf, 0, 9000);
	start(3, IBV_SEND_SIGNALED);
	ibv_wr_rdma_read(qp, net.b.mr->rkey, addr_of_b(AT));
	run(3, 9000, IBV_WC_RDMA_READ);
	assert_memory_equal(net.b.buf + AT, net.a.buf, 9000);
}

static void
atomics__and_atomic_write(void **state)
{
	uint64_t *const there = (uint64_t *)(net.b.buf + AT);
	uint64_t value = 77;

	(void)state;
	pair_connect(&net);
	*there = 5;
	start(1, IBV_SEND_SIGNALED);
	ibv_wr_atomic_fetch_add(qp, net.b.mr->rkey, addr_of_b(AT), 3);
	run(1, 8, IBV_WC_FETCH_ADD);
	assert_int_equal(*there, 8);
	assert_int_equal(*(uint64_t *)net.a.buf, 5);
	start(2, IBV_SEND_SIGNALED);
	ibv_wr_atomic_cmp_swp(qp, net.b.mr->rkey, addr_of_b(AT), 8, 1000);
	run(2, 8, IBV_WC_COMP_SWAP);
	assert_int_equal(*there, 1000);
	assert_int_equal(*(uint64_t *)net.a.buf, 8);
	start(3, IBV_SEND_SIGNALED);
	ibv_wr_atomic_write(qp, net.b.mr->rkey, addr_of_b(AT), &value);
	value = 0; /* the test changes `value`, because the request must have a copy */
	assert_int_equal(ibv_wr_complete(qp), 0);
	assert_int_equal(expect_wc(&net, net.a.scq, 3, IBV_WC_SUCCESS).opcode,
			 UROCE_DV_WC_ATOMIC_WRITE);
	assert_int_equal(*there, 77);
	start(4, IBV_SEND_SIGNALED);
	uroce_dv_wr_flush(qp, net.b.mr->rkey, addr_of_b(AT), 8, UROCE_DV_FLUSH_GLOBAL,
			  UROCE_DV_FLUSH_RANGE);
	assert_int_equal(ibv_wr_complete(qp), 0);
	assert_int_equal(expect_wc(&net, net.a.scq, 4, IBV_WC_SUCCESS).opcode, UROCE_DV_WC_FLUSH);
#ifdef UROCE_VERBS_HAS_FLUSH
	start(5, IBV_SEND_SIGNALED);
	ibv_wr_flush(qp, net.b.mr->rkey, addr_of_b(AT), 8, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	assert_int_equal(ibv_wr_complete(qp), 0);
	assert_int_equal(expect_wc(&net, net.a.scq, 5, IBV_WC_SUCCESS).opcode, IBV_WC_FLUSH);
#endif
}

/*
 * a binds a window on its own memory, and invalidates it by a second request. So a SEND with
 * invalidate of the peer, with the window's key, fails.
 */
static void
windows__bind_and_invalidate(void **state)
{
	struct ibv_mr *mr = uroce_reg_mr(net.a.pd, net.a.buf, BUF_LEN,
					 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	struct ibv_mw *mw = ibv_alloc_mw(net.a.pd, IBV_MW_TYPE_2);
	const struct ibv_mw_bind_info info = { .mr = mr,
					       .addr = (uintptr_t)net.a.buf,
					       .length = 64,
					       .mw_access_flags = IBV_ACCESS_REMOTE_WRITE };
	const uint32_t rkey = ibv_inc_rkey(mw->rkey);

	(void)state;
	pair_connect(&net);
	start(1, IBV_SEND_SIGNALED);
	ibv_wr_bind_mw(qp, mw, rkey, &info);
	qp->wr_id = 2;
	ibv_wr_local_inv(qp, rkey);
	assert_int_equal(ibv_wr_complete(qp), 0);
	assert_int_equal(expect_wc(&net, net.a.scq, 1, IBV_WC_SUCCESS).opcode, IBV_WC_BIND_MW);
	assert_int_equal(expect_wc(&net, net.a.scq, 2, IBV_WC_SUCCESS).opcode, IBV_WC_LOCAL_INV);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	assert_int_equal(uroce_dereg_mr(mr), 0);
}

static void
windows__send_with_invalidate(void **state)
{
	struct ibv_mr *mr = uroce_reg_mr(net.b.pd, net.b.buf, BUF_LEN,
					 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	struct ibv_mw *mw = ibv_alloc_mw(net.b.pd, IBV_MW_TYPE_2);
	const uint32_t rkey = ibv_inc_rkey(mw->rkey);
	struct ibv_send_wr *bad, bind = {
		.wr_id = 1,
		.opcode = IBV_WR_BIND_MW,
		.bind_mw = { .mw = mw,
			     .rkey = rkey,
			     .bind_info = { .mr = mr,
					    .addr = (uintptr_t)net.b.buf,
					    .length = 64,
					    .mw_access_flags = IBV_ACCESS_REMOTE_WRITE } },
	};

	(void)state;
	pair_connect(&net);
	assert_int_equal(ibv_post_send(net.b.qp, &bind, &bad), 0);
	expect_wc(&net, net.b.scq, 1, IBV_WC_SUCCESS);
	post_recv(&net.b, 2, sge_of(&net.b, 0, 8));
	start(2, IBV_SEND_SIGNALED);
	ibv_wr_send_inv(qp, rkey);
	run(2, 8, IBV_WC_SEND);
	const struct ibv_wc wc = expect_wc(&net, net.b.rcq, 2, IBV_WC_SUCCESS);

	assert_int_equal(wc.wc_flags, IBV_WC_WITH_INV);
	assert_int_equal(wc.invalidated_rkey, rkey);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	assert_int_equal(uroce_dereg_mr(mr), 0);
}

static void
data__of_a_list_and_inline(void **state)
{
	char text[] = "built by calls";
	struct ibv_data_buf bufs[] = { { text, 6 }, { NULL, 0 }, { text + 6, sizeof(text) - 6 } };
	struct ibv_sge list[] = { sge_of(&net.a, 0, 10), sge_of(&net.a, 100, 20) };

	(void)state;
	pair_connect(&net);
	fill(net.a.buf, 200, 4);
	start(1, 0);
	ibv_wr_rdma_write(qp, net.b.mr->rkey, addr_of_b(0));
	ibv_wr_set_sge_list(qp, 2, list);
	/* the test changes `list`, because the request must have a copy */
	list[0].length = 1000000;
	ibv_wr_rdma_write(qp, net.b.mr->rkey, addr_of_b(AT));
	ibv_wr_set_inline_data(qp, text, sizeof(text));
	qp->wr_flags = IBV_SEND_SIGNALED;
	qp->wr_id = 3;
	ibv_wr_rdma_write(qp, net.b.mr->rkey, addr_of_b(2 * AT));
	ibv_wr_set_inline_data_list(qp, 3, bufs);
	text[0] = '?';
	assert_int_equal(ibv_wr_complete(qp), 0);
	/* only the last of the three requests is signaled */
	expect_wc(&net, net.a.scq, 3, IBV_WC_SUCCESS);
	assert_memory_equal(net.b.buf, net.a.buf, 10);
	assert_memory_equal(net.b.buf + 10, net.a.buf + 100, 20);
	assert_string_equal((char *)net.b.buf + AT, "built by calls");
	assert_string_equal((char *)net.b.buf + 2 * AT, "built by calls");
	expect_none(&net);
}

static void
datagram__goes_where_its_request_says(void **state)
{
	struct ibv_ah *ah;

	(void)state;
	pair_connect(&net);
	ah = ah_to(&net.a, &net.b);
	post_recv(&net.b, 1, sge_of(&net.b, 0, 100));
	start(1, IBV_SEND_SIGNALED);
	ibv_wr_send_imm(qp, 1);
	ibv_wr_set_ud_addr(qp, ah, net.b.qp->qp_num, QKEY);
	run(1, 8, IBV_WC_SEND);
	assert_int_equal(expect_wc(&net, net.b.rcq, 1, IBV_WC_SUCCESS).byte_len, 48);
	/* a datagram without ibv_wr_set_ud_addr() is refused [wr_post] */
	start(2, 0);
	ibv_wr_send(qp);
	ibv_wr_set_sge(qp, net.a.mr->lkey, (uintptr_t)net.a.buf, 8);
	assert_int_equal(ibv_wr_complete(qp), EINVAL);
	assert_int_equal(uroce_destroy_ah(ah), 0);
}

static void
xrc__names_the_queue(void **state)
{
	struct ibv_xrcd_init_attr xrcd_attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = O_CREAT,
	};
	struct ibv_xrcd *xrcd = uroce_open_xrcd(net.b.context, &xrcd_attr);
	struct ibv_srq_init_attr_ex srq_attr = {
		.attr = { 4, 1, 0 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = net.b.pd,
		.xrcd = xrcd,
		.cq = net.b.rcq,
	};
	struct ibv_qp_init_attr_ex target_attr = {
		.qp_type = IBV_QPT_XRC_RECV,
		.comp_mask = IBV_QP_INIT_ATTR_XRCD,
		.xrcd = xrcd,
	};
	struct ibv_srq *srq = uroce_create_srq_ex(net.b.context, &srq_attr);
	struct ibv_sge sge = sge_of(&net.b, 0, 64);
	struct ibv_recv_wr *bad, recv = { .wr_id = 4, .sg_list = &sge, .num_sge = 1 };
	uint32_t srqn;

	(void)state;
	assert_int_equal(uroce_get_srq_num(srq, &srqn), 0);
	assert_int_equal(uroce_destroy_qp(net.a.qp), 0);
	assert_int_equal(uroce_destroy_qp(net.b.qp), 0);
	net.a.qp = make_qp(&net.a, IBV_QPT_XRC_SEND, OPS_RC, 4);
	net.b.qp = uroce_create_qp_ex(net.b.context, &target_attr);
	qp = uroce_qp_to_qp_ex(net.a.qp);
	pair_connect(&net);
	assert_int_equal(ibv_post_srq_recv(srq, &recv, &bad), 0);
	start(3, IBV_SEND_SIGNALED);
	ibv_wr_send(qp);
	ibv_wr_set_xrc_srqn(qp, srqn);
	run(3, 20, IBV_WC_SEND);
	expect_wc(&net, net.b.rcq, 4, IBV_WC_SUCCESS);
	assert_int_equal(uroce_destroy_qp(net.b.qp), 0);
	net.b.qp = NULL;
	assert_int_equal(uroce_destroy_srq(srq), 0);
	assert_int_equal(uroce_close_xrcd(xrcd), 0);
}

/* ibv_wr_abort() discards all requests that were built since ibv_wr_start() [wr_post]. */
static void
abort__sends_nothing(void **state)
{
	(void)state;
	pair_connect(&net);
	start(1, IBV_SEND_SIGNALED);
	ibv_wr_rdma_write(qp, net.b.mr->rkey, addr_of_b(0));
	ibv_wr_set_inline_data(qp, "gone", 5);
	ibv_wr_rdma_write(qp, net.b.mr->rkey, addr_of_b(0));
	ibv_wr_set_inline_data(qp, "gone", 5);
	ibv_wr_abort(qp);
	expect_none(&net);
	assert_int_equal(net.b.buf[0], 0);
	start(2, IBV_SEND_SIGNALED);
	ibv_wr_rdma_write(qp, net.b.mr->rkey, addr_of_b(0));
	run(2, 8, IBV_WC_RDMA_WRITE);
}

/* If one request of a batch is wrong, ibv_wr_complete() returns an error and posts none. */
static void
complete__says_what_is_wrong(void **state)
{
	static uint8_t long_data[2000];
	struct ibv_sge list[33];

	(void)state;
	start(1, IBV_SEND_SIGNALED);
	ibv_wr_rdma_write(qp, net.b.mr->rkey, addr_of_b(0));
	assert_int_equal(ibv_wr_complete(qp), EINVAL); /* the QP is in RESET */
	pair_connect(&net);
	for (unsigned i = 0; i < 33; i++)
		list[i] = sge_of(&net.a, 0, 1);
	for (unsigned which = 0; which < 5; which++) {
		start(which, IBV_SEND_SIGNALED);
		ibv_wr_rdma_write(qp, net.b.mr->rkey, addr_of_b(0));
		ibv_wr_set_sge(qp, net.a.mr->lkey, (uintptr_t)net.a.buf, 8);
		switch (which) {
		case 0: /* this list has more elements than the QP allows */
			ibv_wr_rdma_write(qp, net.b.mr->rkey, addr_of_b(0));
			ibv_wr_set_sge_list(qp, NB_SGE + 1, list);
			break;
		case 1: /* this list has more elements than the device allows */
			ibv_wr_rdma_write(qp, net.b.mr->rkey, addr_of_b(0));
			ibv_wr_set_sge_list(qp, 33, list);
			break;
		case 2: /* this inline data is longer than the QP allows */
			ibv_wr_rdma_write(qp, net.b.mr->rkey, addr_of_b(0));
			ibv_wr_set_inline_data(qp, long_data, 101);
			break;
		case 3:
			ibv_wr_rdma_write(qp, net.b.mr->rkey, addr_of_b(0));
			ibv_wr_set_inline_data(qp, long_data, sizeof(long_data));
			break;
		case 4: /* a READ does not support inline data */
			ibv_wr_rdma_read(qp, net.b.mr->rkey, addr_of_b(0));
			ibv_wr_set_inline_data(qp, long_data, 8);
			break;
		}
		ibv_wr_rdma_write(qp, net.b.mr->rkey, addr_of_b(0));
		assert_int_equal(ibv_wr_complete(qp), EINVAL);
		expect_none(&net);
	}
	start(9, IBV_SEND_SIGNALED);
	assert_int_equal(ibv_wr_complete(qp), 0); /* this batch has no requests */
	ibv_wr_start(qp);
	ibv_wr_rdma_write(qp, net.b.mr->rkey, addr_of_b(0));
	ibv_wr_set_inline_data(qp, long_data, 100);
	assert_int_equal(ibv_wr_complete(qp), 0);
	expect_wc(&net, net.a.scq, 9, IBV_WC_SUCCESS);
}

static void
complete__of_more_than_the_queue_holds(void **state)
{
	(void)state;
	assert_int_equal(uroce_destroy_qp(net.a.qp), 0);
	assert_non_null(net.a.qp = make_qp(&net.a, IBV_QPT_RC, OPS_RC, 2));
	qp = uroce_qp_to_qp_ex(net.a.qp);
	pair_connect(&net);
	for (unsigned nb = 3; nb >= 2; nb--) {
		start(nb, IBV_SEND_SIGNALED);
		for (unsigned i = 0; i < nb; i++) {
			ibv_wr_rdma_write(qp, net.b.mr->rkey, addr_of_b(0));
			ibv_wr_set_sge(qp, net.a.mr->lkey, (uintptr_t)net.a.buf, 8);
		}
		assert_int_equal(ibv_wr_complete(qp), nb == 3 ? ENOMEM : 0);
	}
	expect_wc(&net, net.a.scq, 2, IBV_WC_SUCCESS);
	expect_wc(&net, net.a.scq, 2, IBV_WC_SUCCESS);
	expect_none(&net);
}

/* A thread that resets a's QP. */
static void *
reset_a(void *arg)
{
	atomic_store((atomic_bool *)arg, true);
	assert_int_equal(to_state(&net.a, IBV_QPS_RESET), 0);
	return NULL;
}

/*
 * While one thread builds requests, another thread that resets the QP waits. The worker must not
 * wait.
 */
static void
start__of_one_thread_and_reset_by_another(void **state)
{
	struct ibv_mr *mr = uroce_reg_mr(net.a.pd, net.a.buf, 64, 0);
	atomic_bool is_begun = false;
	struct ibv_wc wc;
	pthread_t thread;

	(void)state;
	pair_connect(&net);
	ibv_wr_start(qp);
	assert_int_equal(pthread_create(&thread, NULL, reset_a, &is_begun), 0);
	for (unsigned i = 0; i < 1000; i += atomic_load(&is_begun)) {
		assert_int_equal(ibv_poll_cq(net.a.rcq, 1, &wc), 0);
		sched_yield();
	}
	/* this call waits for a round of the worker, so the worker is not blocked */
	assert_int_equal(uroce_dereg_mr(mr), 0);
	ibv_wr_abort(qp);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(state_of(&net.a), IBV_QPS_RESET);
}

static void
both_ways__one_after_the_other(void **state)
{
	(void)state;
	pair_connect(&net);
	start(1, IBV_SEND_SIGNALED);
	ibv_wr_rdma_write(qp, net.b.mr->rkey, addr_of_b(0));
	ibv_wr_set_inline_data(qp, "first", 6);
	assert_int_equal(ibv_wr_complete(qp), 0);
	post_rdma(&net.a, &net.b, IBV_WR_RDMA_WRITE, 2, sge_of(&net.a, 0, 8), AT);
	start(3, IBV_SEND_SIGNALED);
	ibv_wr_rdma_write(qp, net.b.mr->rkey, addr_of_b(0));
	ibv_wr_set_inline_data(qp, "third", 6);
	assert_int_equal(ibv_wr_complete(qp), 0);
	expect_wc(&net, net.a.scq, 1, IBV_WC_SUCCESS);
	/* the second request has no completion, because it was not signaled */
	expect_wc(&net, net.a.scq, 3, IBV_WC_SUCCESS);
	assert_string_equal((char *)net.b.buf, "third");
}

#define TEST(f)         cmocka_unit_test_setup_teardown(f, setup, teardown)
#define TEST_ON(f, how) cmocka_unit_test_setup_teardown(f, how, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(create__knows_what_each_type_has),
		TEST(to_qp_ex__of_a_qp_without),
		TEST(send__and_with_imm),
		TEST(rdma__write_and_read),
		TEST(atomics__and_atomic_write),
		TEST(windows__bind_and_invalidate),
		TEST(windows__send_with_invalidate),
		TEST(data__of_a_list_and_inline),
		TEST_ON(datagram__goes_where_its_request_says, setup_ud),
		TEST(xrc__names_the_queue),
		TEST(abort__sends_nothing),
		TEST(complete__says_what_is_wrong),
		TEST(complete__of_more_than_the_queue_holds),
		TEST(start__of_one_thread_and_reset_by_another),
		TEST(both_ways__one_after_the_other),
	};

	net_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
