/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared receive queues as a program sees them: b receives through an SRQ. [RDMA Aware] is the RDMA
 * Aware Programming User Manual.
 */

#include "net.h"

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>

#define SRQ_WR  8
#define SRQ_SGE 2

static struct pair net;
static struct ibv_srq *srq; /* the SRQ through which b receives */

static struct ibv_qp *
make_qp(enum ibv_qp_type type)
{
	struct ibv_qp_init_attr init = {
		.qp_type = type,
		.send_cq = net.b.scq,
		.recv_cq = net.b.rcq,
		.srq = srq,
		.sq_sig_all = 1,
		.cap = { .max_send_wr = NB_WR,
			 .max_recv_wr = UINT32_MAX,
			 .max_send_sge = NB_SGE,
			 .max_recv_sge = UINT32_MAX },
	};
	struct ibv_qp *qp = uroce_create_qp(net.b.pd, &init);

	assert_non_null(qp);
	assert_ptr_equal(qp->srq, srq);
	/*
	 * a QP with an SRQ has no receive queue, so the requested sizes are ignored
	 * [ibv_create_qp(3)]
	 */
	assert_int_equal(init.cap.max_recv_wr, 0);
	assert_int_equal(init.cap.max_recv_sge, 0);
	return qp;
}

static struct ibv_srq *
make_srq(struct ibv_pd *pd, uint32_t max_wr)
{
	struct ibv_srq_init_attr init = { .srq_context = &net, .attr = { max_wr, SRQ_SGE, 5 } };
	struct ibv_srq *made = uroce_create_srq(pd, &init);

	assert_non_null(made);
	assert_int_equal(init.attr.max_wr, max_wr);
	assert_int_equal(init.attr.max_sge, SRQ_SGE);
	return made;
}

static int
setup_with(enum ibv_qp_type type, const char *keys)
{
	pair_open(&net, &(struct pair_conf){ .type = type, .keys = keys });
	srq = make_srq(net.b.pd, SRQ_WR);
	assert_int_equal(uroce_destroy_qp(net.b.qp), 0);
	net.b.qp = make_qp(type);
	return 0;
}

static int
setup_type(enum ibv_qp_type type)
{
	return setup_with(type, NULL);
}

/* Setup function: devices that have room for few QPs. */
static int
setup_few(void **state)
{
	(void)state;
	return setup_with(IBV_QPT_RC, "qps=4");
}

static int
setup(void **state)
{
	(void)state;
	return setup_type(IBV_QPT_RC);
}

static int
setup_uc(void **state)
{
	(void)state;
	return setup_type(IBV_QPT_UC);
}

static int
setup_ud(void **state)
{
	(void)state;
	return setup_type(IBV_QPT_UD);
}

static int
teardown(void **state)
{
	(void)state;
	assert_int_equal(uroce_destroy_qp(net.b.qp), 0);
	net.b.qp = NULL;
	assert_int_equal(uroce_destroy_srq(srq), 0);
	pair_close(&net);
	return 0;
}

static int
try_post(uint64_t wr_id, uint32_t offset, uint32_t len)
{
	struct ibv_sge sge = sge_of(&net.b, offset, len);
	struct ibv_recv_wr *bad = NULL, wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 };
	const int ret = ibv_post_srq_recv(srq, &wr, &bad);

	assert_ptr_equal(bad, ret ? &wr : NULL);
	return ret;
}

static void
expect_event(enum ibv_event_type type, struct ibv_async_event *event)
{
	assert_int_equal(uroce_get_async_event(net.b.context, event), 0);
	assert_int_equal(event->event_type, type);
}

static void
expect_no_event(void)
{
	const int flags = fcntl(net.b.context->async_fd, F_GETFL);
	struct ibv_async_event event;

	assert_int_equal(fcntl(net.b.context->async_fd, F_SETFL, flags | O_NONBLOCK), 0);
	assert_int_equal(uroce_get_async_event(net.b.context, &event), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(fcntl(net.b.context->async_fd, F_SETFL, flags), 0);
}

/* Send a message from a to b. It must use the receive request with this wr_id. */
static void
send_one(uint64_t wr_id, uint32_t len)
{
	post_send(&net.a, IBV_WR_SEND, wr_id, sge_of(&net.a, 0, len));
	expect_wc(&net, net.a.scq, wr_id, IBV_WC_SUCCESS);
	const struct ibv_wc wc = expect_wc(&net, net.b.rcq, wr_id, IBV_WC_SUCCESS);

	assert_int_equal(wc.byte_len, len);
	assert_int_equal(wc.opcode, IBV_WC_RECV);
}

/* --- creation, queries and modifications --------------------------------------------------------- */

static void
create__checks_its_arguments(void **state)
{
	struct ibv_srq_init_attr init = { .attr = { 1, 1, 0 } };
	struct ibv_srq_init_attr_ex ex = { .attr = { 1, 1, 0 }, .pd = net.b.pd };

	(void)state;
	assert_errno(EINVAL, uroce_create_srq(NULL, &init));
	assert_errno(EINVAL, uroce_create_srq(net.b.pd, NULL));
	assert_errno(EINVAL, uroce_create_srq_ex(NULL, &ex));
	assert_errno(EINVAL, uroce_create_srq_ex(net.b.context, NULL));
	/* comp_mask does not have the bit of the PD */
	assert_errno(EINVAL, uroce_create_srq_ex(net.b.context, &ex));
	ex.comp_mask = IBV_SRQ_INIT_ATTR_PD;
	/* ex.pd belongs to another context */
	assert_errno(EINVAL, uroce_create_srq_ex(net.a.context, &ex));
	ex.pd = NULL;
	assert_errno(EINVAL, uroce_create_srq_ex(net.b.context, &ex));
	ex.pd = net.b.pd;
	ex.comp_mask = IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_RESERVED;
	assert_errno(EOPNOTSUPP, uroce_create_srq_ex(net.b.context, &ex));
	ex.comp_mask = IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_TYPE;
	ex.srq_type = IBV_SRQT_TM;
	assert_errno(EOPNOTSUPP, uroce_create_srq_ex(net.b.context, &ex));
}

static void
create_ex__makes_a_basic_one(void **state)
{
	struct ibv_srq_init_attr_ex ex = {
		.srq_context = &net,
		.attr = { 0, 0, 9 },
		.comp_mask = IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_TYPE,
		.srq_type = IBV_SRQT_BASIC,
		.pd = net.b.pd,
	};
	struct ibv_srq *made = uroce_create_srq_ex(net.b.context, &ex);
	struct ibv_srq_attr attr;
	uint32_t num;

	(void)state;
	assert_non_null(made);
	/* sizes of 0 were requested, and the minimum of 1 is granted */
	assert_int_equal(ex.attr.max_wr, 1);
	assert_int_equal(ex.attr.max_sge, 1);
	assert_ptr_equal(made->context, net.b.context);
	assert_ptr_equal(made->pd, net.b.pd);
	assert_ptr_equal(made->srq_context, &net);
	assert_int_equal(uroce_query_srq(made, &attr), 0);
	/* the limit in the attributes of the creation is ignored [ibv_create_srq(3)] */
	assert_int_equal(attr.srq_limit, 0);
	assert_int_equal(ibv_get_srq_num(made, &num), EINVAL); /* only an XRC SRQ has a number */
	assert_int_equal(uroce_dealloc_pd(net.b.pd), EBUSY);
	assert_int_equal(uroce_destroy_srq(made), 0);
}

static void
create__holds_to_the_limits_of_query_device(void **state)
{
	struct ibv_device_attr attr;
	struct ibv_srq_init_attr init = { 0 };

	(void)state;
	assert_int_equal(uroce_query_device(net.b.context, &attr), 0);
	assert_true(attr.device_cap_flags & IBV_DEVICE_SRQ_RESIZE);
	init.attr = (struct ibv_srq_attr){ (uint32_t)attr.max_srq_wr + 1, 1, 0 };
	assert_errno(EINVAL, uroce_create_srq(net.b.pd, &init));
	init.attr = (struct ibv_srq_attr){ 1, (uint32_t)attr.max_srq_sge + 1, 0 };
	assert_errno(EINVAL, uroce_create_srq(net.b.pd, &init));
	init.attr =
		(struct ibv_srq_attr){ (uint32_t)attr.max_srq_wr, (uint32_t)attr.max_srq_sge, 0 };
	struct ibv_srq *most = uroce_create_srq(net.b.pd, &init);

	assert_non_null(most);
	assert_int_equal(init.attr.max_wr, attr.max_srq_wr);
	assert_int_equal(init.attr.max_sge, attr.max_srq_sge);
	assert_int_equal(uroce_destroy_srq(most), 0);
}

static void
create__as_many_as_query_device_says(void **state)
{
	struct ibv_srq_init_attr init = { .attr = { 1, 1, 0 } };
	struct ibv_device_attr attr;

	(void)state;
	assert_int_equal(uroce_query_device(net.b.context, &attr), 0);
	struct ibv_srq **made = calloc((size_t)attr.max_srq, sizeof(struct ibv_srq *));

	assert_non_null(made);
	/* the setup has created one SRQ already */
	for (int i = 0; i < attr.max_srq - 1; i++)
		assert_non_null(made[i] = uroce_create_srq(net.b.pd, &init));
	assert_errno(ENOMEM, uroce_create_srq(net.b.pd, &init));
	assert_int_equal(uroce_destroy_srq(made[0]), 0);
	assert_non_null(made[0] = uroce_create_srq(net.b.pd, &init));
	for (int i = 0; i < attr.max_srq - 1; i++)
		assert_int_equal(uroce_destroy_srq(made[i]), 0);
	free(made);
}

static void
create_qp__checks_its_srq(void **state)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.send_cq = net.a.scq,
		.recv_cq = net.a.rcq,
		.srq = srq,
	};

	(void)state;
	/* init.srq belongs to another context */
	assert_errno(EINVAL, uroce_create_qp(net.a.pd, &init));
}

static void
query_qp__names_the_srq(void **state)
{
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;

	(void)state;
	assert_int_equal(uroce_query_qp(net.b.qp, &attr, IBV_QP_CAP, &init), 0);
	assert_ptr_equal(init.srq, srq);
	assert_int_equal(init.cap.max_recv_wr, 0);
}

static void
query__says_what_is(void **state)
{
	struct ibv_srq_attr attr;

	(void)state;
	assert_int_equal(uroce_query_srq(srq, &attr), 0);
	assert_int_equal(attr.max_wr, SRQ_WR);
	assert_int_equal(attr.max_sge, SRQ_SGE);
	assert_int_equal(attr.srq_limit, 0);
	assert_int_equal(uroce_query_srq(NULL, &attr), EINVAL);
	assert_int_equal(uroce_query_srq(srq, NULL), EINVAL);
}

static void
modify__that_fails_changes_nothing(void **state)
{
	static const struct {
		struct ibv_srq_attr attr;
		int mask;
	} bad[] = {
		{ { 4, 0, 2 }, 1 << 2 },
		{ { 4, 0, 2 }, IBV_SRQ_LIMIT | 1 << 2 },
		{ { 0, 0, 0 }, IBV_SRQ_MAX_WR },
		{ { 1u << 30, 0, 0 }, IBV_SRQ_MAX_WR },
		{ { 0, 0, SRQ_WR + 1 }, IBV_SRQ_LIMIT },
		{ { 4, 0, 5 }, IBV_SRQ_LIMIT | IBV_SRQ_MAX_WR },
		/* max_wr 2 is too small for the three posted requests */
		{ { 2, 0, 0 }, IBV_SRQ_MAX_WR },
		{ { 2, 0, 1 }, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT },
	};
	struct ibv_srq_attr attr = { .srq_limit = 3 };

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(try_post(i, 0, 8), 0);
	assert_int_equal(uroce_modify_srq(srq, &attr, IBV_SRQ_LIMIT), 0);
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		attr = bad[i].attr;
		assert_int_equal(uroce_modify_srq(srq, &attr, bad[i].mask), EINVAL);
		assert_int_equal(uroce_query_srq(srq, &attr), 0);
		assert_int_equal(attr.max_wr, SRQ_WR);
		assert_int_equal(attr.srq_limit, 3);
	}
	assert_int_equal(uroce_modify_srq(NULL, &attr, 0), EINVAL);
	assert_int_equal(uroce_modify_srq(srq, NULL, 0), EINVAL);
	assert_int_equal(uroce_modify_srq(srq, &attr, 0), 0);
	expect_no_event();
}

static void
modify__resizes(void **state)
{
	struct ibv_srq_attr attr = { .max_wr = SRQ_WR + 1 };

	(void)state;
	pair_connect(&net);
	for (unsigned i = 0; i < SRQ_WR; i++)
		assert_int_equal(try_post(i, 0, 64), 0);
	assert_int_equal(uroce_modify_srq(srq, &attr, IBV_SRQ_MAX_WR), 0);
	assert_int_equal(try_post(SRQ_WR, 0, 64), 0);
	assert_int_equal(try_post(99, 0, 64), ENOMEM);
	for (unsigned i = 0; i < SRQ_WR; i++)
		send_one(i, 5);
	attr.max_wr = 1;
	assert_int_equal(uroce_modify_srq(srq, &attr, IBV_SRQ_MAX_WR), 0);
	assert_int_equal(try_post(99, 0, 64), ENOMEM);
	send_one(SRQ_WR, 6);
}

/* --- posting of receive requests ----------------------------------------------------------------- */

static void
post__says_which_is_bad(void **state)
{
	struct ibv_sge sge[SRQ_SGE + 1] = { sge_of(&net.b, 0, 8), sge_of(&net.b, 8, 8) };
	struct ibv_recv_wr *bad = NULL, wr[3] = {
		{ .wr_id = 1, .next = &wr[1], .sg_list = sge, .num_sge = SRQ_SGE },
		{ .wr_id = 2, .next = &wr[2], .sg_list = sge, .num_sge = SRQ_SGE + 1 },
		{ .wr_id = 3, .sg_list = sge, .num_sge = 1 },
	};

	(void)state;
	assert_int_equal(uroce_post_srq_recv(srq, wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr[1]);
	/* the request before the wrong one in the chain was queued */
	pair_connect(&net);
	send_one(1, 16);
	wr[1].num_sge = -1;
	assert_int_equal(ibv_post_srq_recv(srq, &wr[1], &bad), EINVAL);
	assert_ptr_equal(bad, &wr[1]);
	for (unsigned i = 0; i < SRQ_WR; i++)
		assert_int_equal(try_post(i, 0, 8), 0);
	assert_int_equal(try_post(SRQ_WR, 0, 8), ENOMEM);
}

static void
post_recv__not_to_a_qp_that_has_an_srq(void **state)
{
	struct ibv_sge sge = sge_of(&net.b, 0, 8);
	struct ibv_recv_wr *bad = NULL, wr = { .sg_list = &sge, .num_sge = 1 };

	(void)state;
	pair_connect(&net);
	assert_int_equal(ibv_post_recv(net.b.qp, &wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr);
}

/* --- reception through the SRQ ------------------------------------------------------------------- */

static void
recv__data_arrives(void **state)
{
	(void)state;
	pair_connect(&net);
	fill(net.a.buf, 5000, 1);
	assert_int_equal(try_post(1, 100, 8000), 0);
	assert_int_equal(try_post(2, 20000, 8000), 0);
	send_one(1, 5000);
	assert_memory_equal(net.b.buf + 100, net.a.buf, 5000);
	send_one(2, 1);
}

static void
recv__datagram(void **state)
{
	struct ibv_sge sge = sge_of(&net.a, 0, 100);
	struct ibv_ah *ah;
	struct ibv_wc wc;

	(void)state;
	assert_int_equal(try_post(1, 0, 200), 0);
	pair_connect(&net);
	fill(net.a.buf, 100, 3);
	ah = ah_to(&net.a, &net.b);
	struct ibv_send_wr *bad, wr = {
		.wr_id = 1,
		.opcode = IBV_WR_SEND,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.ud = { .ah = ah, .remote_qpn = net.b.qp->qp_num, .remote_qkey = QKEY },
	};

	assert_int_equal(ibv_post_send(net.a.qp, &wr, &bad), 0);
	wc = expect_wc(&net, net.b.rcq, 1, IBV_WC_SUCCESS);
	/* the data is behind the GRH area of 40 bytes [RDMA Aware 3.6.6] */
	assert_int_equal(wc.byte_len, 140);
	assert_memory_equal(net.b.buf + 40, net.a.buf, 100);
	assert_int_equal(uroce_destroy_ah(ah), 0);
}

/*
 * Two connected QPs use one SRQ. Each message has one completion, which names the QP that has
 * received it.
 */
static void
recv__of_two_qps(void **state)
{
	struct pair other = net;
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.send_cq = net.a.scq,
		.recv_cq = net.a.rcq,
		.sq_sig_all = 1,
		.cap = { .max_send_wr = 4, .max_send_sge = 1 },
	};

	(void)state;
	assert_non_null(other.a.qp = uroce_create_qp(net.a.pd, &init));
	other.b.qp = make_qp(IBV_QPT_RC);
	pair_connect(&net);
	pair_connect(&other);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(try_post(i, i * 64, 64), 0);
	for (unsigned i = 0; i < 4; i++) {
		struct pair *pair = i % 2 ? &other : &net;

		post_send(&pair->a, IBV_WR_SEND, i, sge_of(&net.a, 0, 8));
		expect_wc(&net, net.a.scq, i, IBV_WC_SUCCESS);
		assert_int_equal(expect_wc(&net, net.b.rcq, i, IBV_WC_SUCCESS).qp_num,
				 pair->b.qp->qp_num);
	}
	assert_int_equal(uroce_destroy_qp(other.a.qp), 0);
	assert_int_equal(uroce_destroy_qp(other.b.qp), 0);
}

/*
 * If the SRQ is empty, the peer gets RNR NAKs. Its message is received when a receive request is
 * posted.
 */
static void
recv__empty_queue_puts_off(void **state)
{
	(void)state;
	pair_connect(&net);
	post_send(&net.a, IBV_WR_SEND, 4, sge_of(&net.a, 0, 8));
	expect_none(&net);
	assert_int_equal(try_post(4, 0, 8), 0);
	expect_wc(&net, net.a.scq, 4, IBV_WC_SUCCESS);
	expect_wc(&net, net.b.rcq, 4, IBV_WC_SUCCESS);
}

/*
 * Keys of receive requests are resolved in the SRQ's protection domain, and not in the QP's [IBA
 * 10.2.9].
 */
static void
recv__into_memory_of_the_srqs_domain(void **state)
{
	struct ibv_pd *pd = uroce_alloc_pd(net.b.context);
	struct ibv_srq *const first = srq;

	(void)state;
	assert_non_null(pd);
	assert_int_equal(uroce_destroy_qp(net.b.qp), 0);
	srq = make_srq(pd, SRQ_WR);
	net.b.qp = make_qp(IBV_QPT_RC);
	pair_connect(&net);
	struct ibv_mr *mr = uroce_reg_mr(pd, net.b.buf, BUF_LEN, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_sge sge = { (uintptr_t)net.b.buf, 64, mr->lkey };
	struct ibv_recv_wr *bad, wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 };

	assert_int_equal(uroce_post_srq_recv(srq, &wr, &bad), 0);
	send_one(1, 64);
	assert_int_equal(try_post(2, 0, 64), 0); /* this lkey is valid in the QP's domain only */
	post_send(&net.a, IBV_WR_SEND, 2, sge_of(&net.a, 0, 8));
	expect_wc(&net, net.b.rcq, 2, IBV_WC_LOC_PROT_ERR);
	assert_int_equal(uroce_destroy_qp(net.b.qp), 0);
	assert_int_equal(uroce_destroy_srq(srq), 0);
	assert_int_equal(uroce_dereg_mr(mr), 0);
	assert_int_equal(uroce_dealloc_pd(pd), 0);
	srq = first;
	net.b.qp = make_qp(IBV_QPT_RC);
}

/* --- events of an SRQ, and its destruction ------------------------------------------------------ */

static void
limit__is_reported_once(void **state)
{
	struct ibv_srq_attr attr = { .srq_limit = 2 };
	struct ibv_async_event event;

	(void)state;
	pair_connect(&net);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(try_post(i, 0, 8), 0);
	assert_int_equal(uroce_modify_srq(srq, &attr, IBV_SRQ_LIMIT), 0);
	send_one(0, 8);
	/* two requests are left, which is not below the limit, so there is no event */
	expect_no_event();
	assert_int_equal(uroce_query_srq(srq, &attr), 0);
	assert_int_equal(attr.srq_limit, 2);
	send_one(1, 8);
	expect_event(IBV_EVENT_SRQ_LIMIT_REACHED, &event);
	assert_ptr_equal(event.element.srq, srq);
	uroce_ack_async_event(&event);
	/* the event has disarmed the limit, so no further event follows [RDMA Aware 3.6.2] */
	assert_int_equal(uroce_query_srq(srq, &attr), 0);
	assert_int_equal(attr.srq_limit, 0);
	send_one(2, 8);
	expect_no_event();
}

static void
limit__is_reported_at_once_where_fewer_are_posted(void **state)
{
	struct ibv_srq_attr attr = { .srq_limit = 1 };
	struct ibv_async_event event;

	(void)state;
	assert_int_equal(uroce_modify_srq(srq, &attr, IBV_SRQ_LIMIT), 0);
	expect_event(IBV_EVENT_SRQ_LIMIT_REACHED, &event);
	assert_ptr_equal(event.element.srq, srq);
	uroce_ack_async_event(&event);
}

/*
 * The limits of 100 SRQs are reached, and each SRQ gets its event, although the device has few QPs.
 */
static void
limit__of_many_queues_is_reported_for_each(void **state)
{
	struct ibv_srq_attr attr = { .srq_limit = 1 };
	struct ibv_async_event event;
	struct ibv_srq *many[100];

	(void)state;
	for (unsigned i = 0; i < 100; i++) {
		many[i] = make_srq(net.b.pd, 1);
		assert_int_equal(uroce_modify_srq(many[i], &attr, IBV_SRQ_LIMIT), 0);
	}
	for (unsigned i = 0; i < 100; i++) {
		expect_event(IBV_EVENT_SRQ_LIMIT_REACHED, &event);
		uroce_ack_async_event(&event);
	}
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(uroce_destroy_srq(many[i]), 0);
}

static void
last_wqe__is_reported_of_a_qp_in_error(void **state)
{
	struct ibv_async_event event;

	(void)state;
	pair_connect(&net);
	assert_int_equal(try_post(1, 0, 8), 0);
	assert_int_equal(to_state(&net.b, IBV_QPS_ERR), 0);
	expect_event(IBV_EVENT_QP_LAST_WQE_REACHED, &event);
	assert_ptr_equal(event.element.qp, net.b.qp);
	uroce_ack_async_event(&event);
	/* no request is flushed, because the requests of an SRQ do not belong to a QP */
	expect_none(&net);
}

static void
destroy__refuses_while_qps_use_it(void **state)
{
	(void)state;
	assert_int_equal(uroce_destroy_srq(NULL), EINVAL);
	assert_int_equal(uroce_destroy_srq(srq), EBUSY);
}

static int
destroy(void *made)
{
	return uroce_destroy_srq(made);
}

static void
acknowledge(void *event)
{
	uroce_ack_async_event(event);
}

static void
destroy__waits_until_events_are_acknowledged(void **state)
{
	struct ibv_srq_attr attr = { .srq_limit = 1 };
	struct ibv_srq *made = make_srq(net.b.pd, 4);
	struct ibv_async_event taken;

	(void)state;
	assert_int_equal(uroce_modify_srq(made, &attr, IBV_SRQ_LIMIT), 0);
	expect_event(IBV_EVENT_SRQ_LIMIT_REACHED, &taken);
	/* This call raises a second event, which the program does not read. */
	assert_int_equal(uroce_modify_srq(made, &attr, IBV_SRQ_LIMIT), 0);
	expect_wait(destroy, made, &made->cond, acknowledge, &taken);
	expect_no_event();
}

/* --- an SRQ that is resized while a message is received ----------------------------------------------- */

/* Drive the worker of a host for one round. */
static void
step(const struct host *host)
{
	(void)uroce_worker_poll(uroce_get_worker(host->context, 0));
}

static void *
drive_both(void *is_over)
{
	while (!atomic_load((atomic_bool *)is_over)) {
		step(&net.a);
		step(&net.b);
		sched_yield();
	}
	return NULL;
}

/*
 * Open devices that only the test drives, and connect the QPs. A thread drives the devices during
 * the connection, which needs address resolution.
 */
static int
setup_stepped(void **state)
{
	atomic_bool is_over = false;
	pthread_t driver;

	(void)state;
	(void)setup_with(IBV_QPT_RC, "drive=none");
	assert_int_equal(pthread_create(&driver, NULL, drive_both, &is_over), 0);
	pair_connect(&net);
	atomic_store(&is_over, true);
	return pthread_join(driver, NULL);
}

/*
 * The SRQ is resized while a message is being received into one of its requests. The old memory of
 * the SRQ must not be freed until the message is complete.
 */
static void
modify__resizes_under_a_message(void **state)
{
	const uint32_t len = 100000; /* length of a message that is sent in more than one round */
	struct ibv_srq_attr attr = { .max_wr = SRQ_WR };

	(void)state;
	fill(net.a.buf, len, 3);
	assert_int_equal(try_post(5, 0, len), 0);
	post_send(&net.a, IBV_WR_SEND, 1, sge_of(&net.a, 0, len));
	step(&net.a);
	step(&net.b);
	assert_memory_equal(net.b.buf, net.a.buf, 1024);
	assert_memory_not_equal(net.b.buf, net.a.buf, len);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(uroce_modify_srq(srq, &attr, IBV_SRQ_MAX_WR), 0);
	assert_int_equal(try_post(6, len, 100), 0);
	expect_wc(&net, net.b.rcq, 5, IBV_WC_SUCCESS);
	expect_wc(&net, net.a.scq, 1, IBV_WC_SUCCESS);
	assert_memory_equal(net.b.buf, net.a.buf, len);
	post_send(&net.a, IBV_WR_SEND, 2, sge_of(&net.a, 0, 100));
	expect_wc(&net, net.b.rcq, 6, IBV_WC_SUCCESS);
	/* no message is being received, so the old memory of the SRQ is freed */
	assert_int_equal(uroce_modify_srq(srq, &attr, IBV_SRQ_MAX_WR), 0);
}

/*
 * An SRQ was resized while a message was being received. Then its QP and the SRQ are destroyed,
 * with the old memory of the SRQ.
 */
static void
destroy__of_a_resized_one_under_a_message(void **state)
{
	struct ibv_srq_attr attr = { .max_wr = 2 * SRQ_WR };

	(void)state;
	assert_int_equal(try_post(5, 0, 100000), 0);
	post_send(&net.a, IBV_WR_SEND, 1, sge_of(&net.a, 0, 100000));
	step(&net.a);
	step(&net.b);
	assert_int_equal(uroce_modify_srq(srq, &attr, IBV_SRQ_MAX_WR), 0);
}

#define TEST(f)         cmocka_unit_test_setup_teardown(f, setup, teardown)
#define TEST_ON(f, how) cmocka_unit_test_setup_teardown(f, how, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(create__checks_its_arguments),
		TEST(create_ex__makes_a_basic_one),
		TEST(create__holds_to_the_limits_of_query_device),
		TEST(create__as_many_as_query_device_says),
		TEST(create_qp__checks_its_srq),
		TEST(query_qp__names_the_srq),
		TEST(query__says_what_is),
		TEST(modify__that_fails_changes_nothing),
		TEST(modify__resizes),
		TEST_ON(modify__resizes_under_a_message, setup_stepped),
		TEST_ON(destroy__of_a_resized_one_under_a_message, setup_stepped),
		TEST(post__says_which_is_bad),
		TEST(post_recv__not_to_a_qp_that_has_an_srq),
		TEST(recv__data_arrives),
		TEST_ON(recv__data_arrives, setup_uc),
		TEST_ON(recv__datagram, setup_ud),
		TEST(recv__of_two_qps),
		TEST(recv__empty_queue_puts_off),
		TEST(recv__into_memory_of_the_srqs_domain),
		TEST(limit__is_reported_once),
		TEST(limit__is_reported_at_once_where_fewer_are_posted),
		TEST_ON(limit__of_many_queues_is_reported_for_each, setup_few),
		TEST(last_wqe__is_reported_of_a_qp_in_error),
		TEST(destroy__refuses_while_qps_use_it),
		TEST(destroy__waits_until_events_are_acknowledged),
	};

	net_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
