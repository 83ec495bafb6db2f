/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The limits of query_device and query_port: objects at the limit can be created and work, and one
 * more is refused. qp.c, mr.c and mcast.c test the limits of QPs, regions and memberships.
 */

#include "net.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static struct pair net;
static struct ibv_device_attr limits;

static int
open_pair(enum ibv_qp_type type)
{
	pair_open(&net, &(struct pair_conf){ .type = type });
	return uroce_query_device(net.a.context, &limits);
}

static int
setup(void **state)
{
	(void)state;
	return open_pair(IBV_QPT_RC);
}

static int
teardown(void **state)
{
	(void)state;
	pair_close(&net);
	return 0;
}

/* Replace the QP of a host by a new QP with these capabilities, for which `cq` is both CQs. */
static void
renew_qp(struct host *host, struct ibv_cq *cq, struct ibv_qp_cap cap)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.send_cq = cq,
		.recv_cq = cq,
		.sq_sig_all = 1,
		.cap = cap,
	};

	if (host->qp)
		assert_int_equal(uroce_destroy_qp(host->qp), 0);
	assert_non_null(host->qp = uroce_create_qp(host->pd, &init));
}

static void
remove_qp(struct host *host)
{
	assert_int_equal(uroce_destroy_qp(host->qp), 0);
	host->qp = NULL;
}

static void
max_cqe__is_a_quarter_of_a_million_at_least(void **state)
{
	struct ibv_cq *cq;

	(void)state;
	assert_true(limits.max_cqe >= 262144);
	assert_non_null(cq = uroce_create_cq(net.a.context, limits.max_cqe, NULL, NULL, 0));
	assert_true(cq->cqe >= limits.max_cqe);
	assert_int_equal(uroce_destroy_cq(cq), 0);
	assert_errno(EINVAL, uroce_create_cq(net.a.context, limits.max_cqe + 1, NULL, NULL, 0));
}

/*
 * Put `nb` completions into the receive CQ of a QP in ERR: its receive requests are flushed at
 * once.
 */
static void
flush(struct ibv_qp *qp, unsigned nb)
{
	struct ibv_recv_wr wr = { 0 }, *bad;

	for (unsigned i = 0; i < nb; wr.wr_id++) {
		const int ret = ibv_post_recv(qp, &wr, &bad);

		if (ret == 0)
			i++;
		else
			/* the queue is full until the worker has flushed earlier requests */
			assert_int_equal(ret, ENOMEM);
		while (ret != 0 && uroce_worker_poll(uroce_get_worker(net.a.context, 0)) > 0)
			;
	}
	for (unsigned rounds = 0; rounds < 64; rounds++)
		(void)uroce_worker_poll(uroce_get_worker(net.a.context, 0));
}

static void
cqe__so_many_completions_wait_in_it(void **state)
{
	struct ibv_cq *cq = uroce_create_cq(net.a.context, 262144, NULL, NULL, 0);
	struct ibv_async_event event;
	struct ibv_wc wc[256];
	int nb, total = 0;

	(void)state;
	assert_true(cq->cqe >= 262144);
	renew_qp(&net.a, cq, (struct ibv_qp_cap){ 1, (uint32_t)limits.max_qp_wr, 1, 1, 0 });
	assert_int_equal(to_init(&net.a), 0);
	assert_int_equal(to_state(&net.a, IBV_QPS_ERR), 0);
	flush(net.a.qp, (unsigned)cq->cqe);
	/* the poll returns 0 while the service thread drives the worker, which may flush later */
	while (total < cq->cqe) {
		assert_true((nb = uroce_poll_cq(cq, 256, wc)) >= 0);
		total += nb;
	}
	assert_int_equal(total, cq->cqe);
	assert_int_equal(uroce_poll_cq(cq, 1, wc), 0);

	/* flush one request more than the CQ has room for */
	flush(net.a.qp, (unsigned)cq->cqe + 1);
	assert_int_equal(uroce_get_async_event(net.a.context, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_CQ_ERR);
	uroce_ack_async_event(&event);
	remove_qp(&net.a);
	assert_int_equal(uroce_destroy_cq(cq), 0);
}

static void
max_qp_wr__so_many_wait_in_each_queue(void **state)
{
	const uint32_t max = (uint32_t)limits.max_qp_wr;
	struct ibv_recv_wr recv = { 0 }, *bad_recv;
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND }, *bad_send;

	(void)state;
	renew_qp(&net.a, net.a.scq, (struct ibv_qp_cap){ max, max, 1, 1, 0 });
	assert_int_equal(to_init(&net.a), 0);
	assert_int_equal(to_rtr(&net, &net.a, &net.b), 0);
	for (uint32_t i = 0; i < max; i++)
		assert_int_equal(ibv_post_recv(net.a.qp, &recv, &bad_recv), 0);
	assert_int_equal(ibv_post_recv(net.a.qp, &recv, &bad_recv), ENOMEM);
	assert_int_equal(to_rts(&net, &net.a), 0);
	/* a QP in SQD does not start its requests, so they remain in the send queue */
	assert_int_equal(to_state(&net.a, IBV_QPS_SQD), 0);
	for (uint32_t i = 0; i < max; i++)
		assert_int_equal(ibv_post_send(net.a.qp, &send, &bad_send), 0);
	assert_int_equal(ibv_post_send(net.a.qp, &send, &bad_send), ENOMEM);
}

/*
 * Make a list of one element more than the maximum. The elements have `len` bytes each, and follow
 * one another in memory.
 */
static void
cut(const struct host *host, uint32_t offset, uint32_t len, struct ibv_sge *list)
{
	for (int i = 0; i < limits.max_sge + 1; i++)
		list[i] = sge_of(host, offset + (uint32_t)i * len, len);
}

static void
max_sge__are_gathered_and_scattered(void **state)
{
	const uint32_t max = (uint32_t)limits.max_sge, len = 100;
	struct ibv_sge from[max + 1], to[max + 1];
	struct ibv_recv_wr *bad_recv, recv = { .sg_list = to, .num_sge = (int)max };
	struct ibv_send_wr *bad_send, send = {
		.wr_id = 1,
		.opcode = IBV_WR_SEND,
		.sg_list = from,
		.num_sge = (int)max,
	};

	(void)state;
	renew_qp(&net.a, net.a.scq, (struct ibv_qp_cap){ 4, 4, max, max, 0 });
	renew_qp(&net.b, net.b.scq, (struct ibv_qp_cap){ 4, 4, max, max, 0 });
	pair_connect(&net);
	cut(&net.a, 0, len, from);
	cut(&net.b, 0, len, to);
	fill(net.a.buf, (max + 1) * len, 1);
	assert_int_equal(ibv_post_recv(net.b.qp, &recv, &bad_recv), 0);
	assert_int_equal(ibv_post_send(net.a.qp, &send, &bad_send), 0);
	assert_int_equal(expect_wc(&net, net.b.scq, 0, IBV_WC_SUCCESS).byte_len, max * len);
	expect_wc(&net, net.a.scq, 1, IBV_WC_SUCCESS);
	assert_memory_equal(net.b.buf, net.a.buf, max * len);
	recv.num_sge = send.num_sge = (int)max + 1;
	assert_int_equal(ibv_post_recv(net.b.qp, &recv, &bad_recv), EINVAL);
	assert_int_equal(ibv_post_send(net.a.qp, &send, &bad_send), EINVAL);
}

static void
max_sge_rd__are_filled_by_a_read(void **state)
{
	const uint32_t max = (uint32_t)limits.max_sge_rd, len = 100;
	struct ibv_sge to[limits.max_sge + 1];
	struct ibv_send_wr *bad, wr = {
		.wr_id = 1,
		.opcode = IBV_WR_RDMA_READ,
		.sg_list = to,
		.num_sge = (int)max,
		.wr.rdma = { (uintptr_t)net.b.buf, net.b.mr->rkey },
	};

	(void)state;
	assert_true(max <= (uint32_t)limits.max_sge);
	renew_qp(&net.a, net.a.scq, (struct ibv_qp_cap){ 4, 4, max, 1, 0 });
	pair_connect(&net);
	cut(&net.a, 0, len, to);
	fill(net.b.buf, max * len, 2);
	assert_int_equal(ibv_post_send(net.a.qp, &wr, &bad), 0);
	expect_wc(&net, net.a.scq, 1, IBV_WC_SUCCESS);
	assert_memory_equal(net.a.buf, net.b.buf, max * len);
	wr.num_sge = (int)max + 1;
	assert_int_equal(ibv_post_send(net.a.qp, &wr, &bad), EINVAL);
}

/*
 * The length of inline data has no limit in the device attributes: the creation of a QP grants or
 * refuses it. 1024 bytes are granted.
 */
static void
inline_data__of_a_kibibyte_is_granted_and_sent(void **state)
{
	uint8_t text[1025];
	struct ibv_sge sge = { (uintptr_t)text, 1024, 0 };
	struct ibv_send_wr *bad, wr = {
		.wr_id = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_INLINE,
		.sg_list = &sge,
		.num_sge = 1,
	};
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.send_cq = net.a.scq,
		.recv_cq = net.a.rcq,
		.cap = { 1, 1, 1, 1, 1025 },
	};

	(void)state;
	assert_errno(EINVAL, uroce_create_qp(net.a.pd, &init));
	renew_qp(&net.a, net.a.scq, (struct ibv_qp_cap){ 4, 4, 1, 1, 1024 });
	pair_connect(&net);
	fill(text, sizeof(text), 3);
	post_recv(&net.b, 7, sge_of(&net.b, 0, 2048));
	assert_int_equal(ibv_post_send(net.a.qp, &wr, &bad), 0);
	assert_int_equal(expect_wc(&net, net.b.rcq, 7, IBV_WC_SUCCESS).byte_len, 1024);
	assert_memory_equal(net.b.buf, text, 1024);
	sge.length = 1025;
	assert_int_equal(ibv_post_send(net.a.qp, &wr, &bad), EINVAL);
}

/* max_dest_rd_atomic is limited by max_qp_rd_atom, and max_rd_atomic by max_qp_init_rd_atom. */
static void
rd_atom__is_what_modify_qp_takes(void **state)
{
	const int mask = IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			 IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
	const int rtr_mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			     IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.ah_attr = ah_attr_to(&net.b, ADDR_GID),
		.max_dest_rd_atomic = (uint8_t)(limits.max_qp_rd_atom + 1),
		.max_rd_atomic = (uint8_t)(limits.max_qp_init_rd_atom + 1),
	};

	(void)state;
	assert_int_equal(to_init(&net.a), 0);
	assert_int_equal(uroce_modify_qp(net.a.qp, &attr, rtr_mask), EINVAL);
	attr.max_dest_rd_atomic--;
	assert_int_equal(uroce_modify_qp(net.a.qp, &attr, rtr_mask), 0);
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(uroce_modify_qp(net.a.qp, &attr, mask), EINVAL);
	attr.max_rd_atomic--;
	assert_int_equal(uroce_modify_qp(net.a.qp, &attr, mask), 0);
}

/* As many READs as both ends allow are outstanding, and many more wait in the send queue. */
static void
rd_atom__so_many_reads_at_a_time(void **state)
{
	const uint32_t nb = 8 * (uint32_t)limits.max_qp_init_rd_atom;
	struct ibv_qp_attr attr = {
		.max_rd_atomic = (uint8_t)limits.max_qp_init_rd_atom,
		.max_dest_rd_atomic = (uint8_t)limits.max_qp_rd_atom,
	};
	const int mask = IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_STATE;

	(void)state;
	renew_qp(&net.a, net.a.scq, (struct ibv_qp_cap){ nb, 1, 1, 1, 0 });
	pair_connect(&net);
	for (unsigned i = 0; i < 2; i++) {
		struct host *host = i == 0 ? &net.a : &net.b;

		assert_int_equal(to_state(host, IBV_QPS_SQD), 0);
		attr.qp_state = IBV_QPS_SQD;
		assert_int_equal(uroce_modify_qp(host->qp, &attr, mask), 0);
		assert_int_equal(to_state(host, IBV_QPS_RTS), 0);
	}
	fill(net.b.buf, nb * 8, 4);
	for (uint32_t i = 0; i < nb; i++)
		post_rdma(&net.a, &net.b, IBV_WR_RDMA_READ, i, sge_of(&net.a, i * 8, 8), i * 8);
	for (uint32_t i = 0; i < nb; i++)
		expect_wc(&net, net.a.scq, i, IBV_WC_SUCCESS);
	assert_memory_equal(net.a.buf, net.b.buf, nb * 8);
}

static void
max_res_rd_atom__is_for_all_qps(void **state)
{
	(void)state;
	assert_true(limits.max_res_rd_atom >= limits.max_qp_rd_atom);
	assert_true(limits.max_res_rd_atom <= (int64_t)limits.max_qp * limits.max_qp_rd_atom);
}

/*
 * A message of the maximum length is accepted, and one of one byte more is refused. The QP is in
 * ERR, where accepted requests are flushed, so no such memory is needed.
 */
static void
max_msg_sz__is_the_longest_message(void **state)
{
	struct ibv_port_attr port;
	struct ibv_sge sge[2] = { { .length = 1u << 31 }, { .length = 0 } };
	struct ibv_send_wr *bad, wr = {
		.wr_id = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.sg_list = sge,
		.num_sge = 2,
	};

	(void)state;
	assert_int_equal(uroce_query_port(net.a.context, 1, &port), 0);
	assert_int_equal(port.max_msg_sz, 1u << 31);
	pair_connect(&net);
	assert_int_equal(to_state(&net.a, IBV_QPS_ERR), 0);
	assert_int_equal(ibv_post_send(net.a.qp, &wr, &bad), 0);
	expect_wc(&net, net.a.scq, 1, IBV_WC_WR_FLUSH_ERR);
	sge[1].length = 1;
	assert_int_equal(ibv_post_send(net.a.qp, &wr, &bad), EINVAL);
}

/*
 * A region of the maximum length is refused with EFAULT, because no process can map so much memory.
 * A longer one is refused with EINVAL.
 */
static void
max_mr_size__is_all_that_a_process_can_map(void **state)
{
	static char text[8];

	(void)state;
	assert_errno(EFAULT, uroce_reg_mr(net.a.pd, NULL, limits.max_mr_size, 0));
	assert_errno(EINVAL, uroce_reg_mr(net.a.pd, text, limits.max_mr_size + 1, 0));
}

static void
max_mr_size__a_tebibyte_is_one_region(void **state)
{
	const size_t len = (size_t)1 << 40;
	uint8_t *const memory = mmap(NULL, len, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct ibv_mr *mr;

	(void)state;
	if (memory == MAP_FAILED) {
		print_message("# skipped: no address space of a tebibyte: %s\n", strerror(errno));
		return; /* cmocka's TAP output would report skip() as a failure */
	}
	assert_non_null(mr = uroce_reg_mr(net.a.pd, memory, len, IBV_ACCESS_REMOTE_READ));
	assert_int_equal(mr->length, len);
	memcpy(memory + len - 8, "the end", 8);
	pair_connect(&net);
	post_rdma(&net.a, &net.b, IBV_WR_RDMA_WRITE, 1,
		  (struct ibv_sge){ (uintptr_t)memory + len - 8, 8, mr->lkey }, 0);
	expect_wc(&net, net.a.scq, 1, IBV_WC_SUCCESS);
	assert_string_equal((char *)net.b.buf, "the end");
	post_rdma(&net.a, &net.b, IBV_WR_RDMA_WRITE, 2,
		  (struct ibv_sge){ (uintptr_t)memory + len - 7, 8, mr->lkey }, 0);
	expect_wc(&net, net.a.scq, 2, IBV_WC_LOC_PROT_ERR);
	assert_int_equal(uroce_dereg_mr(mr), 0);
	munmap(memory, len);
}

/*
 * In the tables of a port, the last index that the port attributes report is valid, and the next
 * one is not.
 */
static void
tables__are_as_long_as_they_say(void **state)
{
	struct ibv_port_attr port;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = limits.phys_port_cnt };
	const int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;

	(void)state;
	assert_int_equal(uroce_query_port(net.a.context, limits.phys_port_cnt, &port), 0);
	assert_int_equal(port.pkey_tbl_len, limits.max_pkeys);
	attr.pkey_index = limits.max_pkeys;
	assert_int_equal(uroce_modify_qp(net.a.qp, &attr, mask), EINVAL);
	attr.pkey_index--;
	attr.port_num++;
	assert_int_equal(uroce_query_port(net.a.context, attr.port_num, &port), EINVAL);
	assert_int_equal(uroce_modify_qp(net.a.qp, &attr, mask), EINVAL);
	attr.port_num--;
	assert_int_equal(uroce_modify_qp(net.a.qp, &attr, mask), 0);
}

static void
limits__nobody_has_what_is_zero(void **state)
{
	(void)state;
	assert_int_equal(limits.max_ee_rd_atom, 0);
	assert_int_equal(limits.max_ee_init_rd_atom, 0);
	assert_int_equal(limits.max_ee, 0);
	assert_int_equal(limits.max_rdd, 0);
	assert_int_equal(limits.max_raw_ipv6_qp, 0);
	assert_int_equal(limits.max_raw_ethy_qp, 0);
	assert_int_equal(limits.max_fmr, 0);
	assert_int_equal(limits.max_map_per_fmr, 0);
}

/*
 * Objects that the test creates until the device has its maximum. Objects that existed before count
 * for the maximum as well.
 */
static void **made;
static unsigned nb_made;

static void
begin_making(int max, unsigned nb_there)
{
	assert_true(max > 0);
	nb_made = (unsigned)max - nb_there;
	assert_non_null(made = calloc(nb_made, sizeof(*made)));
}

static void
max_pd__are_counted_with_parents_and_imports(void **state)
{
	struct ibv_context *const context = net.a.context;
	struct ibv_parent_domain_init_attr parent = { .pd = net.a.pd };
	struct ibv_context *twin = uroce_import_device(dup(context->cmd_fd));

	(void)state;
	assert_non_null(twin);
	begin_making(limits.max_pd, 1);
	made[0] = uroce_import_pd(twin, net.a.pd->handle);
	made[1] = uroce_alloc_parent_domain(context, &parent);
	for (unsigned i = 2; i < nb_made; i++)
		made[i] = uroce_alloc_pd(i % 2 ? context : twin);
	for (unsigned i = 0; i < nb_made; i++)
		assert_non_null(made[i]);
	assert_errno(ENOMEM, uroce_alloc_pd(context));
	assert_errno(ENOMEM, uroce_alloc_pd(twin));
	assert_errno(ENOMEM, uroce_import_pd(twin, net.a.pd->handle));
	assert_errno(ENOMEM, uroce_alloc_parent_domain(context, &parent));
	/* after an object was destroyed, one more can be created */
	assert_int_equal(uroce_dealloc_pd(made[7]), 0);
	assert_non_null(made[7] = uroce_alloc_pd(context));
	assert_errno(ENOMEM, uroce_alloc_pd(context));
	for (unsigned i = 0; i < nb_made; i++)
		assert_int_equal(uroce_dealloc_pd(made[i]), 0);
	free(made);
	assert_int_equal(uroce_close_device(twin), 0);
}

static void
max_cq__so_many_can_be_made(void **state)
{
	struct ibv_cq_init_attr_ex extended = { .cqe = 1 };

	(void)state;
	begin_making(limits.max_cq, 2);
	for (unsigned i = 0; i < nb_made; i++)
		assert_non_null(made[i] = uroce_create_cq(net.a.context, 1, NULL, NULL, 0));
	assert_errno(ENOMEM, uroce_create_cq(net.a.context, 1, NULL, NULL, 0));
	assert_errno(ENOMEM, uroce_create_cq_ex(net.a.context, &extended));
	/* the CQ that was created last works like the other CQs */
	renew_qp(&net.a, made[nb_made - 1], (struct ibv_qp_cap){ 1, 1, 1, 1, 0 });
	pair_connect(&net);
	post_rdma(&net.a, &net.b, IBV_WR_RDMA_WRITE, 1, sge_of(&net.a, 0, 8), 0);
	expect_wc(&net, made[nb_made - 1], 1, IBV_WC_SUCCESS);
	remove_qp(&net.a);
	assert_int_equal(uroce_destroy_cq(made[0]), 0);
	assert_non_null(made[0] = uroce_create_cq(net.a.context, 1, NULL, NULL, 0));
	assert_errno(ENOMEM, uroce_create_cq(net.a.context, 1, NULL, NULL, 0));
	for (unsigned i = 0; i < nb_made; i++)
		assert_int_equal(uroce_destroy_cq(made[i]), 0);
	free(made);
}

static void
max_ah__so_many_can_be_made(void **state)
{
	struct ibv_ah_attr attr = ah_attr_to(&net.b, ADDR_GID), wrong = { .is_global = 0 };

	(void)state;
	begin_making(limits.max_ah, 0);
	for (unsigned i = 0; i < nb_made; i++)
		assert_non_null(made[i] = uroce_create_ah(net.a.pd, &attr));
	assert_errno(ENOMEM, uroce_create_ah(net.a.pd, &attr));
	assert_int_equal(uroce_destroy_ah(made[5]), 0);
	/* a call that fails does not count for the maximum */
	assert_errno(EINVAL, uroce_create_ah(net.a.pd, &wrong));
	assert_non_null(made[5] = uroce_create_ah(net.a.pd, &attr));
	assert_errno(ENOMEM, uroce_create_ah(net.a.pd, &attr));
	for (unsigned i = 0; i < nb_made; i++)
		assert_int_equal(uroce_destroy_ah(made[i]), 0);
	free(made);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(max_cqe__is_a_quarter_of_a_million_at_least),
		TEST(cqe__so_many_completions_wait_in_it),
		TEST(max_qp_wr__so_many_wait_in_each_queue),
		TEST(max_sge__are_gathered_and_scattered),
		TEST(max_sge_rd__are_filled_by_a_read),
		TEST(inline_data__of_a_kibibyte_is_granted_and_sent),
		TEST(rd_atom__is_what_modify_qp_takes),
		TEST(rd_atom__so_many_reads_at_a_time),
		TEST(max_res_rd_atom__is_for_all_qps),
		TEST(max_msg_sz__is_the_longest_message),
		TEST(max_mr_size__is_all_that_a_process_can_map),
		TEST(max_mr_size__a_tebibyte_is_one_region),
		TEST(max_pd__are_counted_with_parents_and_imports),
		TEST(max_cq__so_many_can_be_made),
		TEST(max_ah__so_many_can_be_made),
		TEST(tables__are_as_long_as_they_say),
		TEST(limits__nobody_has_what_is_zero),
	};

	net_init_with("768");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
