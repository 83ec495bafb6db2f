/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any thread may make any call: several threads post to the same queues and poll the same CQs, and
 * objects are created and destroyed while there is traffic.
 */

#include "net.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#define NB_THREADS 3
#define NB_EACH    3000

static struct pair net;
static atomic_uint nb_sent, nb_received, nb_bad;
static atomic_bool is_over;

static int
setup(void **state)
{
	(void)state;
	/* a long ACK timeout: there are more threads than CPUs, so a host may respond late */
	pair_open(&net, &(struct pair_conf){
				.type = IBV_QPT_RC, .nb_wr = 64, .nb_cqe = 1024, .timeout = 18 });
	pair_connect(&net);
	atomic_store(&nb_sent, 0);
	atomic_store(&nb_received, 0);
	atomic_store(&nb_bad, 0);
	atomic_store(&is_over, false);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	pair_close(&net);
	return 0;
}

static void
poll(struct ibv_cq *cq, atomic_uint *count)
{
	struct ibv_wc wc[8];
	const int nb = ibv_poll_cq(cq, 8, wc);

	for (int i = 0; i < nb; i++)
		if (wc[i].status != IBV_WC_SUCCESS && atomic_fetch_add(&nb_bad, 1) == 0)
			print_error("%s\n", uroce_wc_status_str(wc[i].status));
	if (nb > 0)
		atomic_fetch_add(count, (unsigned)nb);
	else if (nb < 0)
		atomic_fetch_add(&nb_bad, 1);
}

/*
 * A thread that sends messages from a to b and receives them. Each message begins with its number,
 * which determines its other bytes. Messages with wrong bytes are counted.
 */
static void *
send_and_receive(void *arg)
{
	struct ibv_sge out = sge_of(&net.a, (uint32_t)(uintptr_t)arg * 4096, 2000);
	struct ibv_sge in = sge_of(&net.b, (uint32_t)(uintptr_t)arg * 4096, 2000);
	struct ibv_send_wr *bad_send,
		send = { .opcode = IBV_WR_SEND, .sg_list = &out, .num_sge = 1 };
	struct ibv_recv_wr *bad_recv, recv = { .sg_list = &in, .num_sge = 1 };

	for (unsigned i = 0; i < NB_EACH && atomic_load(&nb_bad) == 0; i++) {
		while (ibv_post_recv(net.b.qp, &recv, &bad_recv) == ENOMEM)
			poll(net.b.rcq, &nb_received);
		while (ibv_post_send(net.a.qp, &send, &bad_send) == ENOMEM)
			poll(net.a.scq, &nb_sent);
		poll(net.b.rcq, &nb_received);
		poll(net.a.scq, &nb_sent);
	}
	while (atomic_load(&nb_bad) == 0 && (atomic_load(&nb_received) < NB_THREADS * NB_EACH ||
					     atomic_load(&nb_sent) < NB_THREADS * NB_EACH)) {
		poll(net.b.rcq, &nb_received);
		poll(net.a.scq, &nb_sent);
		sched_yield();
	}
	return NULL;
}

static void
threads__share_a_qp(void **state)
{
	pthread_t thread[NB_THREADS];

	(void)state;
	for (uintptr_t i = 0; i < NB_THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, send_and_receive, (void *)i), 0);
	for (unsigned i = 0; i < NB_THREADS; i++)
		assert_int_equal(pthread_join(thread[i], NULL), 0);
	assert_int_equal(atomic_load(&nb_bad), 0);
	assert_int_equal(atomic_load(&nb_sent), NB_THREADS * NB_EACH);
	assert_int_equal(atomic_load(&nb_received), NB_THREADS * NB_EACH);
}

/* A thread that creates and destroys objects on b, while a writes to b. */
static void *
come_and_go(void *arg)
{
	while (!atomic_load(&is_over)) {
		struct ibv_pd *pd = uroce_alloc_pd(net.b.context);
		struct ibv_cq *cq = uroce_create_cq(net.b.context, 16, NULL, NULL, 0);
		struct ibv_mr *mr = uroce_reg_mr(pd, net.b.buf, 4096, IBV_ACCESS_LOCAL_WRITE);
		struct ibv_qp_init_attr init = {
			.qp_type = IBV_QPT_RC,
			.send_cq = cq,
			.recv_cq = cq,
			.cap = { 4, 4, 1, 1, 0 },
		};
		struct ibv_qp *qp = uroce_create_qp(pd, &init);

		if (!pd || !cq || !mr || !qp || uroce_resize_cq(cq, 32) || uroce_destroy_qp(qp) ||
		    uroce_dereg_mr(mr) || uroce_destroy_cq(cq) || uroce_dealloc_pd(pd))
			atomic_fetch_add(&nb_bad, 1);
	}
	return arg;
}

static void
objects__come_and_go_beside_traffic(void **state)
{
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, come_and_go, NULL), 0);
	fill(net.a.buf, 50000, 1);
	for (uint64_t i = 0; i < 500; i++) {
		net.a.buf[0] = (uint8_t)i;
		post_rdma(&net.a, &net.b, IBV_WR_RDMA_WRITE, i, sge_of(&net.a, 0, 50000), 60000);
		expect_wc(&net, net.a.scq, i, IBV_WC_SUCCESS);
		assert_memory_equal(net.b.buf + 60000, net.a.buf, 50000);
	}
	atomic_store(&is_over, true);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(atomic_load(&nb_bad), 0);
}

static void *
post_for_ever(void *arg)
{
	struct ibv_sge sge = sge_of(&net.a, 0, 8);
	struct ibv_send_wr *bad,
		wr = { .opcode = IBV_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1 };

	wr.wr.rdma.remote_addr = (uintptr_t)net.b.buf;
	wr.wr.rdma.rkey = net.b.mr->rkey;
	while (!atomic_load(&is_over)) {
		const int ret = ibv_post_send(net.a.qp, &wr, &bad);

		if (ret != 0 && ret != EINVAL && ret != ENOMEM)
			atomic_fetch_add(&nb_bad, 1);
		if (ret != 0)
			sched_yield();
	}
	return arg;
}

static void
reset__meets_a_poster(void **state)
{
	struct ibv_wc wc;
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, post_for_ever, NULL), 0);
	for (unsigned round = 0; round < 200; round++) {
		while (ibv_poll_cq(net.a.scq, 1, &wc) > 0)
			;
		assert_int_equal(to_state(&net.a, round % 2 ? IBV_QPS_ERR : IBV_QPS_RESET), 0);
		assert_int_equal(to_state(&net.a, IBV_QPS_RESET), 0);
		/* RESET has removed the completions of the QP from its CQs */
		assert_int_equal(ibv_poll_cq(net.a.scq, 1, &wc), 0);
		assert_int_equal(to_state(&net.b, IBV_QPS_RESET), 0);
		pair_connect(&net);
	}
	atomic_store(&is_over, true);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(atomic_load(&nb_bad), 0);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(threads__share_a_qp),
		TEST(objects__come_and_go_beside_traffic),
		TEST(reset__meets_a_poster),
	};

	net_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
