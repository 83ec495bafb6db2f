/* SPDX-License-Identifier: BSD-3-Clause */

#include "receiver.h"

#include <fcntl.h>
#include <stdlib.h>

struct pair net;
int xrc_fd;
struct ibv_xrcd *xrcd;

struct ibv_xrcd *
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

struct ibv_qp *
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

struct ibv_srq *
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

void
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

void
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

void
make_xrc(void)
{
	assert_int_equal(uroce_destroy_qp(net.a.qp), 0);
	assert_int_equal(uroce_destroy_qp(net.b.qp), 0);
	assert_non_null(xrcd = open_by(net.b.context, xrc_fd, O_CREAT));
	net.a.qp = make_sender();
	assert_non_null(net.b.qp = make_target(net.b.context, xrcd));
}

int
setup_with(const char *keys)
{
	pair_open(&net, &(struct pair_conf){ .type = IBV_QPT_RC, .keys = keys });
	make_xrc();
	return 0;
}

int
setup(void **state)
{
	(void)state;
	return setup_with(NULL);
}

int
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

void
post_to(const struct receiver *to, uint64_t wr_id)
{
	struct ibv_sge sge = { (uintptr_t)to->buf, 1000, to->mr->lkey };
	struct ibv_recv_wr *bad, wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 };

	assert_int_equal(ibv_post_srq_recv(to->srq, &wr, &bad), 0);
}

void
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

void
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
