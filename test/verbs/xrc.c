/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * XRC in both generations: a sends with one QP, by the number of a queue; b receives in two contexts of
 * the same device, whose queues share one target.
 */

#include "net.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define SRQ_WR 8

static struct pair net;
static char path[] = "/tmp/uroce-test-xrc-XXXXXX";
static int fd; /* of a file of our own */
static struct ibv_xrcd *xrcd;

/* What receives: a queue, and what it needs in its context. */
struct receiver {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_xrcd *xrcd;
	struct ibv_srq *srq;
	uint8_t *buf;
	uint32_t srqn;
};

static struct ibv_xrcd *
open_by(struct ibv_context *context, int by_fd, int oflags)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = by_fd,
		.oflags = oflags,
	};

	return ibv_open_xrcd(context, &attr);
}

static struct ibv_qp *
make_sender(void)
{
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_XRC_SEND,
		.send_cq = net.a.scq,
		.sq_sig_all = 1,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = net.a.pd,
		.cap = { .max_send_wr = NB_WR, .max_recv_wr = 5, .max_send_sge = NB_SGE },
	};
	struct ibv_qp *qp = uroce_create_qp_ex(net.a.context, &init);

	assert_non_null(qp);
	assert_int_equal(init.cap.max_recv_wr, 0);
	return qp;
}

static struct ibv_qp *
make_target(struct ibv_context *context, struct ibv_xrcd *in)
{
	struct ibv_qp_init_attr_ex init = {
		.qp_context = &net,
		.qp_type = IBV_QPT_XRC_RECV,
		.comp_mask = IBV_QP_INIT_ATTR_XRCD,
		.xrcd = in,
	};

	return verbs_get_ctx_op(context, create_qp_ex)->create_qp_ex(context, &init);
}

static struct ibv_srq *
make_srq(const struct receiver *of)
{
	struct ibv_srq_init_attr_ex init = {
		.attr = { SRQ_WR, 2, 0 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = of->pd,
		.xrcd = of->xrcd,
		.cq = of->cq,
	};

	return verbs_get_ctx_op(of->context, create_srq_ex)->create_srq_ex(of->context, &init);
}

static void
open_receiver(struct receiver *to, int by_fd)
{
	*to = (struct receiver){ 0 };
	assert_non_null(to->context = uroce_open_device(net.b.device));
	assert_non_null(to->pd = uroce_alloc_pd(to->context));
	assert_non_null(to->buf = calloc(1, BUF_LEN));
	assert_non_null(to->mr = uroce_reg_mr(to->pd, to->buf, BUF_LEN,
					      IBV_ACCESS_LOCAL_WRITE | ALL_REMOTE));
	assert_non_null(to->channel = uroce_create_comp_channel(to->context));
	assert_non_null(to->cq = uroce_create_cq(to->context, 16, NULL, to->channel, 0));
	assert_non_null(to->xrcd = open_by(to->context, by_fd, O_CREAT));
	assert_non_null(to->srq = make_srq(to));
	assert_int_equal(ibv_get_srq_num(to->srq, &to->srqn), 0);
	assert_int_not_equal(to->srqn, 0);
}

static void
close_receiver(struct receiver *to)
{
	assert_int_equal(uroce_destroy_srq(to->srq), 0);
	assert_int_equal(ibv_close_xrcd(to->xrcd), 0);
	assert_int_equal(uroce_destroy_cq(to->cq), 0);
	assert_int_equal(uroce_destroy_comp_channel(to->channel), 0);
	assert_int_equal(uroce_dereg_mr(to->mr), 0);
	assert_int_equal(uroce_dealloc_pd(to->pd), 0);
	assert_int_equal(uroce_close_device(to->context), 0);
	free(to->buf);
}

static int
setup(void **state)
{
	(void)state;
	pair_open(&net, &(struct pair_conf){ .type = IBV_QPT_RC });
	assert_int_equal(uroce_destroy_qp(net.a.qp), 0);
	assert_int_equal(uroce_destroy_qp(net.b.qp), 0);
	assert_non_null(xrcd = open_by(net.b.context, fd, O_CREAT));
	net.a.qp = make_sender();
	assert_non_null(net.b.qp = make_target(net.b.context, xrcd));
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	if (net.b.qp != NULL)
		assert_int_equal(uroce_destroy_qp(net.b.qp), 0);
	net.b.qp = NULL;
	if (xrcd != NULL)
		assert_int_equal(uroce_close_xrcd(xrcd), 0);
	pair_close(&net);
	return 0;
}

static void
post_to(const struct receiver *to, uint64_t wr_id)
{
	struct ibv_sge sge = { (uintptr_t)to->buf, 1000, to->mr->lkey };
	struct ibv_recv_wr *bad, wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 };

	assert_int_equal(ibv_post_srq_recv(to->srq, &wr, &bad), 0);
}

static void
send_to(uint32_t srqn, uint64_t wr_id, uint32_t len)
{
	struct ibv_sge sge = sge_of(&net.a, 0, len);
	struct ibv_send_wr *bad, wr = {
		.wr_id = wr_id,
		.opcode = IBV_WR_SEND,
		.sg_list = &sge,
		.num_sge = 1,
		.qp_type.xrc.remote_srqn = srqn,
	};

	assert_int_equal(ibv_post_send(net.a.qp, &wr, &bad), 0);
}

static void
exchange(const struct receiver *to, uint64_t wr_id)
{
	fill(net.a.buf, 300, (unsigned)wr_id);
	post_to(to, wr_id);
	send_to(to->srqn, wr_id, 300);
	expect_wc(&net, net.a.scq, wr_id, IBV_WC_SUCCESS);
	const struct ibv_wc wc = expect_wc(&net, to->cq, wr_id, IBV_WC_SUCCESS);

	assert_int_equal(wc.byte_len, 300);
	assert_int_equal(wc.opcode, IBV_WC_RECV);
	assert_memory_equal(to->buf, net.a.buf, 300);
}

/* --- domains ------------------------------------------------------------------------------------- */

static void
open__checks_its_arguments(void **state)
{
	struct ibv_xrcd_init_attr attr = { .fd = -1, .oflags = O_CREAT };

	(void)state;
	assert_errno(EINVAL, uroce_open_xrcd(net.b.context, NULL));
	assert_errno(EINVAL, uroce_open_xrcd(net.b.context, &attr));
	attr.comp_mask = IBV_XRCD_INIT_ATTR_FD;
	assert_errno(EINVAL, uroce_open_xrcd(net.b.context, &attr));
	attr.comp_mask |= IBV_XRCD_INIT_ATTR_OFLAGS;
	assert_errno(EINVAL, uroce_open_xrcd(NULL, &attr));
	attr.comp_mask |= IBV_XRCD_INIT_ATTR_RESERVED;
	assert_errno(EOPNOTSUPP, uroce_open_xrcd(net.b.context, &attr));
	assert_errno(EINVAL, open_by(net.b.context, fd, O_CREAT | O_TRUNC));
	assert_errno(EINVAL, open_by(net.b.context, -2, O_CREAT));
	assert_errno(EBADF, open_by(net.b.context, 987, O_CREAT));
	/* the manual, 3.4.8: with -1 the only valid value is O_CREAT */
	assert_errno(EINVAL, open_by(net.b.context, -1, 0));
	assert_errno(EINVAL, open_by(net.b.context, -1, O_CREAT | O_EXCL));
	assert_int_equal(uroce_close_xrcd(NULL), EINVAL);
}

/* the manual, 3.4.8 */
static void
open__finds_the_domain_of_an_inode(void **state)
{
	struct ibv_context *other = uroce_open_device(net.b.device);
	const int again = open(path, O_RDONLY);
	struct ibv_xrcd *second, *third, *alone;

	(void)state;
	assert_non_null(second = open_by(other, fd, 0));
	assert_non_null(third = open_by(other, again, O_CREAT));
	assert_errno(EINVAL, open_by(other, fd, O_CREAT | O_EXCL)); /* there is one */
	assert_non_null(alone = open_by(other, -1, O_CREAT));
	/* a QP of the first is in the second and third, and not in the other */
	struct ibv_qp_open_attr attr = {
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE,
		.qp_num = net.b.qp->qp_num,
		.qp_type = IBV_QPT_XRC_RECV,
		.xrcd = alone,
	};

	assert_errno(EINVAL, ibv_open_qp(other, &attr));
	attr.xrcd = third;
	struct ibv_qp *qp = ibv_open_qp(other, &attr);

	assert_non_null(qp);
	assert_int_equal(uroce_destroy_qp(qp), 0);
	assert_int_equal(uroce_close_device(other), -1); /* domains are open in it */
	assert_int_equal(uroce_close_xrcd(alone), 0);
	assert_int_equal(uroce_close_xrcd(third), 0);
	assert_int_equal(uroce_close_xrcd(second), 0);
	assert_int_equal(uroce_close_device(other), 0);
	close(again);
}

static void
open__makes_one_only_when_asked(void **state)
{
	const int own = memfd_create("xrc", 0);
	struct ibv_xrcd *made;

	(void)state;
	assert_errno(EAGAIN, open_by(net.b.context, own, 0));
	assert_errno(EAGAIN, open_by(net.b.context, own, O_EXCL));
	assert_non_null(made = open_by(net.b.context, own, O_CREAT | O_EXCL));
	assert_int_equal(uroce_close_xrcd(made), 0);
	/* it went with the last reference */
	assert_errno(EAGAIN, open_by(net.b.context, own, 0));
	/* a domain is a device's: on another one it is another */
	assert_non_null(made = open_by(net.a.context, fd, O_CREAT | O_EXCL));
	assert_int_equal(uroce_close_xrcd(made), 0);
	close(own);
}

static void
open__is_refused_to_another_process(void **state)
{
	char self[] = "/proc/self/exe";
	char *argv[] = { self, path, NULL };
	int status;
	pid_t pid;

	(void)state;
	assert_int_equal(posix_spawn(&pid, self, NULL, NULL, argv, environ), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), EOPNOTSUPP);
	/* and when we have it no longer it may */
	assert_int_equal(uroce_destroy_qp(net.b.qp), 0);
	net.b.qp = NULL;
	assert_int_equal(uroce_close_xrcd(xrcd), 0);
	xrcd = NULL;
	assert_int_equal(posix_spawn(&pid, self, NULL, NULL, argv, environ), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_non_null(xrcd = open_by(net.b.context, fd, O_CREAT));
}

/* The other process: it says how it went by its exit status. */
static int
be_other(const char *file)
{
	struct ibv_xrcd *opened;
	int ret = 0;

	net.b.device = net_device(1, NULL);
	net.b.context = uroce_open_device(net.b.device);
	if (net.b.context == NULL)
		return 255;
	opened = open_by(net.b.context, open(file, O_RDONLY), O_CREAT);
	if (opened == NULL)
		ret = errno;
	else
		(void)uroce_close_xrcd(opened);
	(void)uroce_close_device(net.b.context);
	(void)uroce_destroy_device(net.b.device);
	return ret;
}

static void
close__is_refused_while_in_use(void **state)
{
	struct receiver to;

	(void)state;
	assert_int_equal(uroce_close_xrcd(xrcd), EBUSY); /* a QP */
	open_receiver(&to, fd);
	assert_int_equal(uroce_close_xrcd(to.xrcd), EBUSY); /* an SRQ */
	assert_int_equal(uroce_destroy_cq(to.cq), EBUSY);
	assert_int_equal(uroce_dealloc_pd(to.pd), EBUSY);
	close_receiver(&to);
}

/* --- queues and QPs ----------------------------------------------------------------------------- */

static void
create_srq__checks_what_xrc_needs(void **state)
{
	const uint32_t all = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
	static const uint32_t needed[] = { IBV_SRQ_INIT_ATTR_PD, IBV_SRQ_INIT_ATTR_XRCD,
					   IBV_SRQ_INIT_ATTR_CQ };
	struct ibv_srq_init_attr_ex init = {
		.attr = { 1, 1, 0 },
		.srq_type = IBV_SRQT_XRC,
		.pd = net.b.pd,
		.xrcd = xrcd,
		.cq = net.b.rcq,
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		init.comp_mask = all & ~needed[i];
		assert_errno(EINVAL, uroce_create_srq_ex(net.b.context, &init));
	}
	init.comp_mask = all;
	init.cq = net.a.rcq;
	assert_errno(EINVAL, uroce_create_srq_ex(net.b.context, &init));
	init.cq = NULL;
	assert_errno(EINVAL, uroce_create_srq_ex(net.b.context, &init));
	init.cq = net.b.rcq;
	init.xrcd = NULL;
	assert_errno(EINVAL, uroce_create_srq_ex(net.b.context, &init));
	init.xrcd = xrcd;
	struct ibv_srq *srq = uroce_create_srq_ex(net.b.context, &init);

	assert_non_null(srq);
	/* it is for targets alone */
	struct ibv_qp_init_attr qp = {
		.qp_type = IBV_QPT_RC,
		.send_cq = net.b.scq,
		.recv_cq = net.b.rcq,
		.srq = srq,
	};

	assert_errno(EINVAL, uroce_create_qp(net.b.pd, &qp));
	assert_int_equal(uroce_destroy_srq(srq), 0);
}

static void
create_qp__checks_what_xrc_needs(void **state)
{
	struct ibv_qp_init_attr_ex init = { .qp_type = IBV_QPT_XRC_RECV, .xrcd = xrcd };

	(void)state;
	assert_errno(EINVAL, uroce_create_qp_ex(net.b.context, &init)); /* not in the mask */
	init.comp_mask = IBV_QP_INIT_ATTR_XRCD;
	assert_errno(EINVAL, uroce_create_qp_ex(net.a.context, &init)); /* of another context */
	init.xrcd = NULL;
	assert_errno(EINVAL, uroce_create_qp_ex(net.b.context, &init));
	init = (struct ibv_qp_init_attr_ex){ .qp_type = IBV_QPT_XRC_SEND, .pd = net.b.pd };
	init.send_cq = net.b.scq;
	assert_errno(EINVAL, uroce_create_qp_ex(net.b.context, &init));
	init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE;
	assert_errno(EOPNOTSUPP, uroce_create_qp_ex(net.b.context, &init));
	init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS;
	init.create_flags = IBV_QP_CREATE_SCATTER_FCS;
	assert_errno(EOPNOTSUPP, uroce_create_qp_ex(net.b.context, &init));
	init.comp_mask = IBV_QP_INIT_ATTR_PD;
	init.send_cq = NULL;
	assert_errno(EINVAL, uroce_create_qp_ex(net.b.context, &init));
	assert_errno(EINVAL, uroce_create_qp_ex(NULL, &init));
	assert_errno(EINVAL, uroce_create_qp_ex(net.b.context, NULL));
}

static void
post__each_end_has_one_direction(void **state)
{
	struct ibv_recv_wr *bad_recv, recv = { 0 };
	struct ibv_send_wr *bad, wr = { .opcode = IBV_WR_SEND };

	(void)state;
	assert_ptr_equal(net.b.qp->qp_context, &net);
	pair_connect(&net);
	assert_int_equal(ibv_post_recv(net.a.qp, &recv, &bad_recv), EINVAL);
	assert_int_equal(ibv_post_recv(net.b.qp, &recv, &bad_recv), EINVAL);
	assert_int_equal(ibv_post_send(net.b.qp, &wr, &bad), EINVAL);
	assert_int_equal(state_of(&net.b), IBV_QPS_RTS);
}

static void
send__reaches_the_queue_that_it_names(void **state)
{
	struct receiver one, two;
	struct ibv_wc wc;

	(void)state;
	open_receiver(&one, fd);
	open_receiver(&two, fd);
	assert_int_not_equal(one.srqn, two.srqn);
	pair_connect(&net);
	for (uint64_t i = 0; i < 20; i++)
		exchange(i % 3 ? &one : &two, i);
	assert_int_equal(ibv_poll_cq(one.cq, 1, &wc), 0);
	assert_int_equal(ibv_poll_cq(two.cq, 1, &wc), 0);
	close_receiver(&one);
	exchange(&two, 77);
	close_receiver(&two);
}

static void
send__not_to_a_queue_of_another_domain(void **state)
{
	struct receiver to;

	(void)state;
	open_receiver(&to, -1);
	pair_connect(&net);
	post_to(&to, 1);
	send_to(to.srqn, 1, 8);
	assert_int_not_equal(wait_for(&net, net.a.scq).status, IBV_WC_SUCCESS);
	close_receiver(&to);
}

/* Memory of the domain of the queue that a request names is the peer's. */
static void
rdma__into_the_queues_domain(void **state)
{
	struct receiver to;

	(void)state;
	open_receiver(&to, fd);
	pair_connect(&net);
	post_to(&to, 5);
	fill(net.a.buf, 5000, 9);
	struct ibv_sge sge = sge_of(&net.a, 0, 5000);
	struct ibv_send_wr *bad, wr = {
		.wr_id = 4,
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.sg_list = &sge,
		.num_sge = 1,
		.imm_data = 0x01020304,
		.wr.rdma = { (uintptr_t)to.buf + 2000, to.mr->rkey },
		.qp_type.xrc.remote_srqn = to.srqn,
	};

	assert_int_equal(ibv_post_send(net.a.qp, &wr, &bad), 0);
	expect_wc(&net, net.a.scq, 4, IBV_WC_SUCCESS);
	assert_int_equal(expect_wc(&net, to.cq, 5, IBV_WC_SUCCESS).imm_data, 0x01020304);
	assert_memory_equal(to.buf + 2000, net.a.buf, 5000);
	close_receiver(&to);
}

static void
event__a_completion_wakes_the_channel_of_its_queue(void **state)
{
	struct receiver to;
	struct ibv_cq *cq;
	void *cq_context;

	(void)state;
	open_receiver(&to, fd);
	pair_connect(&net);
	assert_int_equal(ibv_req_notify_cq(to.cq, 0), 0);
	exchange(&to, 3);
	struct pollfd pollfd = { .fd = to.channel->fd, .events = POLLIN };

	assert_int_equal(poll(&pollfd, 1, 0), 1);
	assert_int_equal(uroce_get_cq_event(to.channel, &cq, &cq_context), 0);
	assert_ptr_equal(cq, to.cq);
	uroce_ack_cq_events(cq, 1);
	close_receiver(&to);
}

static void
event__limit_of_an_xrc_queue(void **state)
{
	struct ibv_srq_attr attr = { .srq_limit = 1 };
	struct ibv_async_event event;
	struct receiver to;

	(void)state;
	open_receiver(&to, fd);
	pair_connect(&net);
	post_to(&to, 0);
	assert_int_equal(uroce_modify_srq(to.srq, &attr, IBV_SRQ_LIMIT), 0);
	send_to(to.srqn, 0, 8);
	expect_wc(&net, net.a.scq, 0, IBV_WC_SUCCESS);
	assert_int_equal(uroce_get_async_event(to.context, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
	assert_ptr_equal(event.element.srq, to.srq);
	uroce_ack_async_event(&event);
	close_receiver(&to);
}

/* --- open_qp ------------------------------------------------------------------------------------- */

static struct ibv_qp *
open_in(struct receiver *to, uint32_t qpn)
{
	struct ibv_qp_open_attr attr = {
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE |
			     IBV_QP_OPEN_ATTR_CONTEXT,
		.qp_num = qpn,
		.xrcd = to->xrcd,
		.qp_context = to,
		.qp_type = IBV_QPT_XRC_RECV,
	};

	return ibv_open_qp(to->context, &attr);
}

static void
open_qp__checks_its_arguments(void **state)
{
	const uint32_t all = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
	static const uint32_t needed[] = { IBV_QP_OPEN_ATTR_NUM, IBV_QP_OPEN_ATTR_XRCD,
					   IBV_QP_OPEN_ATTR_TYPE };
	struct ibv_qp_open_attr attr = {
		.qp_num = net.b.qp->qp_num,
		.xrcd = xrcd,
		.qp_type = IBV_QPT_XRC_RECV,
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		attr.comp_mask = all & ~needed[i];
		assert_errno(EINVAL, uroce_open_qp(net.b.context, &attr));
	}
	attr.comp_mask = all | IBV_QP_OPEN_ATTR_RESERVED;
	assert_errno(EOPNOTSUPP, uroce_open_qp(net.b.context, &attr));
	attr.comp_mask = all;
	assert_errno(EINVAL, uroce_open_qp(net.a.context, &attr));
	assert_errno(EINVAL, uroce_open_qp(NULL, &attr));
	assert_errno(EINVAL, uroce_open_qp(net.b.context, NULL));
	attr.qp_num ^= 1;
	assert_errno(EINVAL, uroce_open_qp(net.b.context, &attr));
	attr.qp_num ^= 1;
	attr.qp_type = IBV_QPT_XRC_SEND;
	assert_errno(EINVAL, uroce_open_qp(net.b.context, &attr));
}

/* ibv_open_qp(3): the QP is destroyed when it has no other references. */
static void
open_qp__keeps_the_qp(void **state)
{
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;
	struct receiver to;
	struct ibv_qp *opened;

	(void)state;
	open_receiver(&to, fd);
	pair_connect(&net);
	assert_non_null(opened = open_in(&to, net.b.qp->qp_num));
	assert_int_equal(opened->qp_num, net.b.qp->qp_num);
	assert_ptr_equal(opened->qp_context, &to);
	assert_int_equal(uroce_query_qp(opened, &attr, IBV_QP_STATE, &init), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_RTS);
	assert_int_equal(init.qp_type, IBV_QPT_XRC_RECV);
	assert_ptr_equal(init.qp_context, &to);
	exchange(&to, 1);
	/* who made it goes; even its context */
	assert_int_equal(uroce_destroy_qp(net.b.qp), 0);
	net.b.qp = NULL;
	exchange(&to, 2);
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_ERR };
	assert_int_equal(uroce_modify_qp(opened, &attr, IBV_QP_STATE), 0);
	const uint32_t qpn = opened->qp_num;

	assert_int_equal(uroce_destroy_qp(opened), 0);
	assert_errno(EINVAL, open_in(&to, qpn));
	close_receiver(&to);
}

static void
open_qp__all_are_told_of_events(void **state)
{
	struct ibv_async_event event;
	struct receiver to;
	struct ibv_qp *opened;

	(void)state;
	open_receiver(&to, fd);
	assert_non_null(opened = open_in(&to, net.b.qp->qp_num));
	assert_int_equal(to_init(&net.a), 0);
	assert_int_equal(to_init(&net.b), 0);
	assert_int_equal(to_rtr(&net, &net.a, &net.b), 0);
	assert_int_equal(to_rtr(&net, &net.b, &net.a), 0);
	assert_int_equal(to_rts(&net, &net.a), 0);
	exchange(&to, 1);
	assert_int_equal(uroce_get_async_event(net.b.context, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_COMM_EST);
	assert_ptr_equal(event.element.qp, net.b.qp);
	uroce_ack_async_event(&event);
	assert_int_equal(uroce_get_async_event(to.context, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_COMM_EST);
	assert_ptr_equal(event.element.qp, opened);
	uroce_ack_async_event(&event);
	assert_int_equal(uroce_destroy_qp(opened), 0);
	close_receiver(&to);
}

/* --- the older generation: the manual, 3.4.8 to 3.4.14 and 3.6.3 ------------------------------------- */

#define assert_fails(expected, call)                                                               \
	do {                                                                                       \
		errno = 0;                                                                         \
		assert_int_equal(call, -1);                                                        \
		assert_int_equal(errno, expected);                                                 \
	} while (0)

/* As modify_xrc_rcv_qp is used: to INIT, then to RTR. */
static void
bring_up(struct ibv_xrc_domain *domain, uint32_t qpn)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = ALL_REMOTE,
	};

	assert_int_equal(uroce_modify_xrc_rcv_qp(domain, qpn, &attr,
						 IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
							 IBV_QP_ACCESS_FLAGS),
			 0);
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = net.a.qp->qp_num,
		.rq_psn = (0xfffff0 + net.a.qp->qp_num % 16) & 0xffffff,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 1,
		.ah_attr = ah_attr_to(&net.a, ADDR_GID),
	};
	const int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			 IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;

	/* with an attribute missing nothing is modified, the state included */
	assert_fails(EINVAL, uroce_modify_xrc_rcv_qp(domain, qpn, &attr, mask & ~IBV_QP_RQ_PSN));
	assert_int_equal(uroce_modify_xrc_rcv_qp(domain, qpn, &attr, mask), 0);
}

static void
connect_to(uint32_t qpn)
{
	struct ibv_qp number = { .qp_num = qpn, .qp_type = IBV_QPT_XRC_RECV };
	struct host peer = net.b;

	peer.qp = &number;
	assert_int_equal(to_init(&net.a), 0);
	assert_int_equal(to_rtr(&net, &net.a, &peer), 0);
	assert_int_equal(to_rts(&net, &net.a), 0);
}

static void
rcv_qp__lives_as_long_as_somebody_is_registered(void **state)
{
	struct uroce_xrc_rcv_init_attr init = { .qp_type = IBV_QPT_XRC_RECV };
	struct ibv_srq_init_attr srq_init = { .attr = { SRQ_WR, 1, 0 } };
	struct ibv_xrc_domain *first, *second;
	struct ibv_qp_attr attr;
	struct receiver to;
	uint32_t qpn;

	(void)state;
	open_receiver(&to, fd);
	assert_non_null(first = uroce_open_xrc_domain(net.b.context, fd, 0));
	assert_non_null(second = uroce_open_xrc_domain(to.context, fd, O_CREAT));
	assert_ptr_equal(second->context, to.context);
	init.xrc_domain = first;
	assert_int_equal(uroce_create_xrc_rcv_qp(&init, &qpn), 0);
	assert_int_equal(uroce_destroy_srq(to.srq), 0);
	to.srq = uroce_create_xrc_srq(to.pd, second, to.cq, &srq_init);
	assert_non_null(to.srq);
	assert_int_equal(uroce_get_srq_num(to.srq, &to.srqn), 0);
	bring_up(first, qpn);
	connect_to(qpn);
	exchange(&to, 1);
	/* registered by another, given up by who made it */
	assert_int_equal(uroce_reg_xrc_rcv_qp(second, qpn), 0);
	assert_int_equal(uroce_reg_xrc_rcv_qp(second, qpn), 0);
	assert_fails(EBUSY, uroce_close_xrc_domain(first));
	assert_int_equal(uroce_unreg_xrc_rcv_qp(first, qpn), 0);
	assert_fails(EINVAL, uroce_unreg_xrc_rcv_qp(first, qpn));
	assert_int_equal(uroce_close_xrc_domain(first), 0);
	exchange(&to, 2);
	assert_int_equal(uroce_query_xrc_rcv_qp(second, qpn, &attr, IBV_QP_STATE, &init), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_RTR);
	assert_int_equal(attr.dest_qp_num, net.a.qp->qp_num);
	assert_ptr_equal(init.xrc_domain, second);
	assert_int_equal(uroce_unreg_xrc_rcv_qp(second, qpn), 0);
	/* it is gone */
	assert_fails(EINVAL, uroce_query_xrc_rcv_qp(second, qpn, &attr, IBV_QP_STATE, &init));
	assert_fails(EINVAL, uroce_reg_xrc_rcv_qp(second, qpn));
	assert_fails(EBUSY, uroce_close_xrc_domain(second)); /* the SRQ */
	assert_int_equal(uroce_destroy_srq(to.srq), 0);
	assert_int_equal(uroce_close_xrc_domain(second), 0);
	assert_non_null(to.srq = make_srq(&to));
	close_receiver(&to);
}

/* seed 004, 3.4.9 and 3.4.11 */
static void
rcv_qp__what_was_granted_is_told(void **state)
{
	struct ibv_srq_init_attr srq_init = { .srq_context = &net, .attr = { 0, 0, 5 } };
	struct uroce_xrc_rcv_init_attr init = {
		.qp_context = &net,
		.cap = { UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX },
		.qp_type = IBV_QPT_UD,
		.sq_sig_all = 77,
	};
	static const struct ibv_qp_cap none;
	struct ibv_xrc_domain *domain;
	struct ibv_srq_attr attr;
	struct ibv_qp_attr qp_attr;
	struct ibv_srq *srq;
	uint32_t qpn;

	(void)state;
	assert_non_null(domain = uroce_open_xrc_domain(net.b.context, -1, O_CREAT));
	/* at least one of each; the limit does not matter here */
	assert_non_null(srq = uroce_create_xrc_srq(net.b.pd, domain, net.b.rcq, &srq_init));
	assert_int_equal(srq_init.attr.max_wr, 1);
	assert_int_equal(srq_init.attr.max_sge, 1);
	assert_ptr_equal(srq->srq_context, &net);
	assert_int_equal(uroce_query_srq(srq, &attr), 0);
	assert_int_equal(attr.max_wr, 1);
	assert_int_equal(attr.srq_limit, 0);
	/* what is asked of queues that it has not is ignored, and it is said that there are none */
	init.send_cq = (struct ibv_cq *)8;
	init.recv_cq = (struct ibv_cq *)8;
	init.srq = (struct ibv_srq *)8;
	init.xrc_domain = domain;
	assert_int_equal(uroce_create_xrc_rcv_qp(&init, &qpn), 0);
	assert_memory_equal(&init.cap, &none, sizeof(none));
	assert_ptr_equal(init.qp_context, &net);
	assert_ptr_equal(init.xrc_domain, domain);
	assert_int_equal(uroce_query_xrc_rcv_qp(domain, qpn, &qp_attr, IBV_QP_CAP, &init), 0);
	assert_memory_equal(&qp_attr.cap, &none, sizeof(none));
	assert_int_equal(init.qp_type, IBV_QPT_XRC_RECV);
	assert_int_equal(uroce_unreg_xrc_rcv_qp(domain, qpn), 0);
	assert_int_equal(uroce_destroy_srq(srq), 0);
	assert_int_equal(uroce_close_xrc_domain(domain), 0);
}

static void
rcv_qp__is_of_its_domain(void **state)
{
	struct uroce_xrc_rcv_init_attr init = { 0 };
	struct ibv_xrc_domain *other;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	uint32_t qpn;

	(void)state;
	assert_fails(EINVAL, uroce_create_xrc_rcv_qp(&init, &qpn));
	assert_fails(EINVAL, uroce_create_xrc_rcv_qp(NULL, &qpn));
	assert_non_null(other = uroce_open_xrc_domain(net.b.context, -1, O_CREAT));
	init.xrc_domain = other;
	assert_fails(EINVAL, uroce_create_xrc_rcv_qp(&init, NULL));
	/* of another domain; of another type; of none */
	const uint32_t bad[] = { net.b.qp->qp_num, net.a.qp->qp_num, 0 };

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_fails(EINVAL, uroce_reg_xrc_rcv_qp(other, bad[i]));
		assert_fails(EINVAL, uroce_unreg_xrc_rcv_qp(other, bad[i]));
		assert_fails(EINVAL, uroce_modify_xrc_rcv_qp(other, bad[i], &attr, IBV_QP_STATE));
		assert_fails(EINVAL, uroce_query_xrc_rcv_qp(other, bad[i], &attr, 0, &init));
	}
	assert_int_equal(uroce_close_xrc_domain(other), 0);
	assert_fails(EINVAL, uroce_close_xrc_domain(NULL));
	assert_fails(EINVAL, uroce_reg_xrc_rcv_qp(NULL, 1));
	assert_fails(EINVAL, uroce_unreg_xrc_rcv_qp(NULL, 1));
	assert_fails(EINVAL, uroce_modify_xrc_rcv_qp(NULL, 1, &attr, 0));
	assert_fails(EINVAL, uroce_query_xrc_rcv_qp(NULL, 1, &attr, 0, &init));
	assert_errno(EINVAL, uroce_create_xrc_srq(net.b.pd, NULL, net.b.rcq, NULL));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(open__checks_its_arguments),
		TEST(open__finds_the_domain_of_an_inode),
		TEST(open__makes_one_only_when_asked),
		TEST(open__is_refused_to_another_process),
		TEST(close__is_refused_while_in_use),
		TEST(create_srq__checks_what_xrc_needs),
		TEST(create_qp__checks_what_xrc_needs),
		TEST(post__each_end_has_one_direction),
		TEST(send__reaches_the_queue_that_it_names),
		TEST(send__not_to_a_queue_of_another_domain),
		TEST(rdma__into_the_queues_domain),
		TEST(event__a_completion_wakes_the_channel_of_its_queue),
		TEST(event__limit_of_an_xrc_queue),
		TEST(open_qp__checks_its_arguments),
		TEST(open_qp__keeps_the_qp),
		TEST(open_qp__all_are_told_of_events),
		TEST(rcv_qp__lives_as_long_as_somebody_is_registered),
		TEST(rcv_qp__what_was_granted_is_told),
		TEST(rcv_qp__is_of_its_domain),
	};

	net_init();
	if (argc > 1)
		return be_other(argv[1]);
	fd = mkstemp(path);
	if (fd < 0)
		return EXIT_FAILURE;
	const int ret = cmocka_run_group_tests(tests, NULL, NULL);

	unlink(path);
	return ret;
}
