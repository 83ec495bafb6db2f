/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Posts: which requests are refused, which request of a chain `bad` names, and which part of the
 * chain is queued.
 */

#include "net.h"

#include <uroce_dv.h>

static struct pair net;

static int
open_rc(void **state)
{
	(void)state;
	pair_open(&net, &(struct pair_conf){ .type = IBV_QPT_RC });
	return 0;
}

static int
open_uc(void **state)
{
	(void)state;
	pair_open(&net, &(struct pair_conf){ .type = IBV_QPT_UC });
	return 0;
}

static int
open_ud(void **state)
{
	(void)state;
	pair_open(&net, &(struct pair_conf){ .type = IBV_QPT_UD });
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	pair_close(&net);
	return 0;
}

/* Make a chain of `nb` SENDs or WRITEs of 8 bytes from a to b. */
static void
make_chain(struct ibv_send_wr *wr, struct ibv_sge *sge, unsigned nb, enum ibv_wr_opcode opcode)
{
	for (unsigned i = 0; i < nb; i++) {
		sge[i] = sge_of(&net.a, 8 * i, 8);
		wr[i] = (struct ibv_send_wr){
			.wr_id = i,
			.next = i + 1 < nb ? &wr[i + 1] : NULL,
			.opcode = opcode,
			.sg_list = &sge[i],
			.num_sge = 1,
			.wr.rdma = { (uintptr_t)net.b.buf + 8 * i, net.b.mr->rkey },
		};
	}
}

static int
try_send(struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad = NULL;
	const int ret = uroce_post_send(net.a.qp, wr, &bad);

	assert_ptr_equal(bad, ret ? wr : NULL);
	return ret;
}

static int
try_recv(struct ibv_recv_wr *wr)
{
	struct ibv_recv_wr *bad = NULL;
	const int ret = uroce_post_recv(net.a.qp, wr, &bad);

	assert_ptr_equal(bad, ret ? wr : NULL);
	return ret;
}

/*
 * A prefetch call is a hint: it changes nothing in any state of the QP, for any number of requests.
 */
static void
prefetch__changes_nothing(void **state)
{
	static const unsigned numbers[] = { 0, 1, NB_WR, UINT32_MAX };
	struct ibv_send_wr wr;
	struct ibv_sge sge;

	(void)state;
	for (unsigned i = 0; i < 4; i++)
		uroce_prefetch_qp(net.a.qp, numbers[i]);
	pair_connect(&net);
	for (unsigned i = 0; i < 4; i++)
		uroce_prefetch_qp(net.a.qp, numbers[i]);
	fill(net.a.buf, 8, 1);
	make_chain(&wr, &sge, 1, IBV_WR_RDMA_WRITE);
	assert_int_equal(try_send(&wr), 0);
	expect_wc(&net, net.a.scq, 0, IBV_WC_SUCCESS);
	assert_memory_equal(net.b.buf, net.a.buf, 8);
	expect_none(&net);
}

static void
send__needs_rts(void **state)
{
	struct ibv_send_wr wr;
	struct ibv_sge sge;

	(void)state;
	make_chain(&wr, &sge, 1, IBV_WR_RDMA_WRITE);
	assert_int_equal(try_send(&wr), EINVAL);
	assert_int_equal(to_init(&net.a), 0);
	assert_int_equal(try_send(&wr), EINVAL);
	assert_int_equal(to_rtr(&net, &net.a, &net.b), 0);
	assert_int_equal(try_send(&wr), EINVAL);
	assert_int_equal(to_rts(&net, &net.a), 0);
	assert_int_equal(try_send(&wr), 0);
}

static void
recv__needs_init(void **state)
{
	struct ibv_sge sge = sge_of(&net.a, 0, 8);
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };

	(void)state;
	assert_int_equal(try_recv(&wr), EINVAL);
	assert_int_equal(to_init(&net.a), 0);
	assert_int_equal(try_recv(&wr), 0);
}

static void
post__of_nothing_succeeds(void **state)
{
	(void)state;
	pair_connect(&net);
	assert_int_equal(try_send(NULL), 0);
	assert_int_equal(try_recv(NULL), 0);
	expect_none(&net);
}

static void
post__in_error_is_flushed(void **state)
{
	struct ibv_send_wr wr[3];
	struct ibv_sge sge[3];
	struct ibv_recv_wr recv = { .wr_id = 9 };

	(void)state;
	pair_connect(&net);
	assert_int_equal(to_state(&net.a, IBV_QPS_ERR), 0);
	make_chain(wr, sge, 3, IBV_WR_RDMA_WRITE);
	assert_int_equal(try_send(wr), 0);
	assert_int_equal(try_recv(&recv), 0);
	for (uint64_t i = 0; i < 3; i++)
		expect_wc(&net, net.a.scq, i, IBV_WC_WR_FLUSH_ERR);
	expect_wc(&net, net.a.rcq, 9, IBV_WC_WR_FLUSH_ERR);
	expect_none(&net);
}

static void
send__in_sqd_waits(void **state)
{
	struct ibv_send_wr wr;
	struct ibv_sge sge;

	(void)state;
	pair_connect(&net);
	assert_int_equal(to_state(&net.a, IBV_QPS_SQD), 0);
	make_chain(&wr, &sge, 1, IBV_WR_RDMA_WRITE);
	assert_int_equal(try_send(&wr), 0);
	expect_none(&net);
	assert_int_equal(to_state(&net.a, IBV_QPS_RTS), 0);
	expect_wc(&net, net.a.scq, 0, IBV_WC_SUCCESS);
}

static void
send__cancelled_in_sqd_does_nothing_and_completes(void **state)
{
	struct ibv_send_wr wr[3];
	struct ibv_sge sge[3];

	(void)state;
	pair_connect(&net);
	fill(net.a.buf, 64, 1);
	assert_int_equal(uroce_qp_cancel_posted_send_wrs(NULL, 0), -EINVAL);
	assert_int_equal(uroce_qp_cancel_posted_send_wrs(net.a.qp, 0), -EINVAL);
	assert_int_equal(to_state(&net.a, IBV_QPS_SQD), 0);
	make_chain(wr, sge, 3, IBV_WR_RDMA_WRITE);
	assert_int_equal(try_send(wr), 0);
	assert_int_equal(uroce_qp_cancel_posted_send_wrs(net.a.qp, 1), 1);
	assert_int_equal(uroce_qp_cancel_posted_send_wrs(net.a.qp, 9), 0);
	assert_int_equal(to_state(&net.a, IBV_QPS_RTS), 0);
	for (uint64_t i = 0; i < 3; i++)
		expect_wc(&net, net.a.scq, i, IBV_WC_SUCCESS);
	assert_memory_equal(net.b.buf, net.a.buf, 8);
	assert_int_equal(net.b.buf[8], 0);
	assert_int_equal(net.b.buf[15], 0);
	assert_memory_equal(net.b.buf + 16, net.a.buf + 16, 8);
}

static void
send__one_more_than_max_is_refused(void **state)
{
	struct ibv_send_wr wr[NB_WR + 1], *bad = NULL;
	struct ibv_sge sge[NB_WR + 1];

	(void)state;
	pair_connect(&net);
	/* in SQD no request is started, so the queue becomes full */
	assert_int_equal(to_state(&net.a, IBV_QPS_SQD), 0);
	make_chain(wr, sge, NB_WR + 1, IBV_WR_RDMA_WRITE);
	assert_int_equal(uroce_post_send(net.a.qp, wr, &bad), ENOMEM);
	assert_ptr_equal(bad, &wr[NB_WR]);
	assert_int_equal(try_send(&wr[NB_WR]), ENOMEM);
	assert_int_equal(to_state(&net.a, IBV_QPS_RTS), 0);
	for (uint64_t i = 0; i < NB_WR; i++)
		expect_wc(&net, net.a.scq, i, IBV_WC_SUCCESS);
	/* the queue has become empty, and has room for the whole chain */
	wr[NB_WR - 1].next = NULL;
	assert_int_equal(try_send(wr), 0);
	for (uint64_t i = 0; i < NB_WR; i++)
		expect_wc(&net, net.a.scq, i, IBV_WC_SUCCESS);
}

static void
recv__one_more_than_max_is_refused(void **state)
{
	struct ibv_recv_wr wr[NB_WR + 1], *bad = NULL;

	(void)state;
	assert_int_equal(to_init(&net.a), 0);
	for (unsigned i = 0; i <= NB_WR; i++)
		wr[i] = (struct ibv_recv_wr){ .wr_id = i, .next = i < NB_WR ? &wr[i + 1] : NULL };
	assert_int_equal(uroce_post_recv(net.a.qp, wr, &bad), ENOMEM);
	assert_ptr_equal(bad, &wr[NB_WR]);
	assert_int_equal(try_recv(&wr[NB_WR]), ENOMEM);
	assert_int_equal(to_state(&net.a, IBV_QPS_ERR), 0);
	for (uint64_t i = 0; i < NB_WR; i++)
		expect_wc(&net, net.a.rcq, i, IBV_WC_WR_FLUSH_ERR);
	expect_none(&net);
}

static void
send__takes_what_is_before_the_bad_one(void **state)
{
	struct ibv_send_wr wr[4], *bad = NULL;
	struct ibv_sge sge[4];

	(void)state;
	pair_connect(&net);
	fill(net.a.buf, 32, 1);
	make_chain(wr, sge, 4, IBV_WR_RDMA_WRITE);
	wr[2].opcode = IBV_WR_BIND_MW;
	assert_int_equal(uroce_post_send(net.a.qp, wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr[2]);
	expect_wc(&net, net.a.scq, 0, IBV_WC_SUCCESS);
	expect_wc(&net, net.a.scq, 1, IBV_WC_SUCCESS);
	expect_none(&net);
	assert_memory_equal(net.b.buf, net.a.buf, 16);
	assert_int_equal(net.b.buf[16], 0);
}

static void
recv__takes_what_is_before_the_bad_one(void **state)
{
	struct ibv_sge sge[NB_SGE + 1] = { { 0 } };
	struct ibv_recv_wr wr[3] = {
		{ .wr_id = 0, .next = &wr[1] },
		{ .wr_id = 1, .next = &wr[2], .sg_list = sge, .num_sge = NB_SGE + 1 },
		{ .wr_id = 2 },
	}, *bad = NULL;

	(void)state;
	assert_int_equal(to_init(&net.a), 0);
	assert_int_equal(uroce_post_recv(net.a.qp, wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr[1]);
	wr[0].num_sge = -1;
	assert_int_equal(try_recv(&wr[0]), EINVAL);
	assert_int_equal(to_state(&net.a, IBV_QPS_ERR), 0);
	expect_wc(&net, net.a.rcq, 0, IBV_WC_WR_FLUSH_ERR);
	expect_none(&net);
}

static void
send__checks_each_request(void **state)
{
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;
	struct ibv_sge sge[NB_SGE + 1];
	struct ibv_send_wr wr;

	(void)state;
	pair_connect(&net);
	assert_int_equal(uroce_query_qp(net.a.qp, &attr, IBV_QP_CAP, &init), 0);

	make_chain(&wr, sge, 1, IBV_WR_SEND);
	wr.num_sge = NB_SGE + 1;
	for (unsigned i = 0; i <= NB_SGE; i++)
		sge[i] = sge_of(&net.a, 0, 1);
	assert_int_equal(try_send(&wr), EINVAL);
	wr.num_sge = -1;
	assert_int_equal(try_send(&wr), EINVAL);

	make_chain(&wr, sge, 1, IBV_WR_SEND);
	wr.send_flags = IBV_SEND_INLINE;
	sge[0].length = attr.cap.max_inline_data + 1;
	assert_int_equal(try_send(&wr), EINVAL);

	make_chain(&wr, sge, 1, IBV_WR_SEND);
	sge[0].length = (1u << 31) + 1;
	assert_int_equal(try_send(&wr), EINVAL);

	make_chain(&wr, sge, 1, IBV_WR_RDMA_READ);
	wr.send_flags = IBV_SEND_INLINE;
	assert_int_equal(try_send(&wr), EINVAL);

	make_chain(&wr, sge, 1, IBV_WR_ATOMIC_FETCH_AND_ADD);
	sge[0].length = 4;
	assert_int_equal(try_send(&wr), EINVAL);

	for (int opcode = IBV_WR_TSO; opcode <= IBV_WR_DRIVER1; opcode++) {
		make_chain(&wr, sge, 1, (enum ibv_wr_opcode)opcode);
		assert_int_equal(try_send(&wr), EINVAL);
	}
	make_chain(&wr, sge, 1, (enum ibv_wr_opcode) - 1);
	assert_int_equal(try_send(&wr), EINVAL);
	make_chain(&wr, sge, 1, (enum ibv_wr_opcode)1000);
	assert_int_equal(try_send(&wr), EINVAL);
	expect_none(&net);
}

static void
send__copies_inline_data(void **state)
{
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	uint8_t data[1024], sent[1024];

	(void)state;
	pair_connect(&net);
	assert_int_equal(uroce_query_qp(net.a.qp, &attr, IBV_QP_CAP, &init), 0);
	const uint32_t len = attr.cap.max_inline_data;

	fill(sent, len, 5);
	memcpy(data, sent, len);
	make_chain(&wr, &sge, 1, IBV_WR_RDMA_WRITE);
	sge = (struct ibv_sge){ (uintptr_t)data, len, 0 }; /* inline data needs no lkey */
	wr.send_flags = IBV_SEND_INLINE;
	assert_int_equal(try_send(&wr), 0);
	memset(data, 0xee, sizeof(data));
	memset(&sge, 0xee, sizeof(sge));
	expect_wc(&net, net.a.scq, 0, IBV_WC_SUCCESS);
	assert_memory_equal(net.b.buf, sent, len);
}

static void
send__uc_has_neither_read_nor_atomics(void **state)
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_RDMA_READ,
		IBV_WR_ATOMIC_CMP_AND_SWP,
		IBV_WR_ATOMIC_FETCH_AND_ADD,
	};
	struct ibv_send_wr wr;
	struct ibv_sge sge;

	(void)state;
	pair_connect(&net);
	for (unsigned i = 0; i < sizeof(opcodes) / sizeof(opcodes[0]); i++) {
		make_chain(&wr, &sge, 1, opcodes[i]);
		assert_int_equal(try_send(&wr), EINVAL);
	}
}

static void
send__ud_needs_an_ah_of_its_pd(void **state)
{
	struct ibv_pd *pd = uroce_alloc_pd(net.a.context);
	struct ibv_ah_attr attr = ah_attr_to(&net.b, ADDR_GID);
	struct ibv_ah *foreign = uroce_create_ah(pd, &attr);
	struct ibv_ah *ah = ah_to(&net.a, &net.b), *others = ah_to(&net.b, &net.a);
	struct ibv_send_wr wr;
	struct ibv_sge sge;

	(void)state;
	pair_connect(&net);
	make_chain(&wr, &sge, 1, IBV_WR_SEND);
	wr.wr.ud.ah = NULL;
	assert_int_equal(try_send(&wr), EINVAL);
	assert_non_null(foreign);
	wr.wr.ud.ah = foreign;
	assert_int_equal(try_send(&wr), EINVAL);
	/* this address handle belongs to another device; the number of its PD may be the same */
	wr.wr.ud.ah = others;
	assert_int_equal(try_send(&wr), EINVAL);
	assert_int_equal(uroce_destroy_ah(others), 0);
	make_chain(&wr, &sge, 1, IBV_WR_RDMA_WRITE);
	wr.wr.ud.ah = ah;
	assert_int_equal(try_send(&wr), EINVAL);
	make_chain(&wr, &sge, 1, IBV_WR_SEND);
	wr.wr.ud.ah = ah;
	assert_int_equal(try_send(&wr), 0);
	/*
	 * the address handle may be destroyed, because the posted request has a copy of the address
	 */
	assert_int_equal(uroce_destroy_ah(ah), 0);
	expect_wc(&net, net.a.scq, 0, IBV_WC_SUCCESS);
	assert_int_equal(uroce_destroy_ah(foreign), 0);
	assert_int_equal(uroce_dealloc_pd(pd), 0);
}

#define RC(test) cmocka_unit_test_setup_teardown(test, open_rc, teardown)
#define UC(test) cmocka_unit_test_setup_teardown(test, open_uc, teardown)
#define UD(test) cmocka_unit_test_setup_teardown(test, open_ud, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		RC(prefetch__changes_nothing),
		RC(send__needs_rts),
		RC(recv__needs_init),
		RC(post__of_nothing_succeeds),
		RC(post__in_error_is_flushed),
		RC(send__in_sqd_waits),
		RC(send__cancelled_in_sqd_does_nothing_and_completes),
		RC(send__one_more_than_max_is_refused),
		RC(recv__one_more_than_max_is_refused),
		RC(send__takes_what_is_before_the_bad_one),
		RC(recv__takes_what_is_before_the_bad_one),
		RC(send__checks_each_request),
		RC(send__copies_inline_data),
		UC(send__uc_has_neither_read_nor_atomics),
		UD(send__ud_needs_an_ah_of_its_pd),
	};

	net_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
