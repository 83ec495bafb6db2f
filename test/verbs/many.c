/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * 65,536 QPs of one device, each connected to a QP of another device in this process. One message
 * is sent on each. The memory of a QP is printed.
 */

#include "net.h"

#include <stdio.h>
#include <stdlib.h>
#include <rte_malloc.h>

#define NB_QP 65536u

static struct pair net;
static struct ibv_qp *qps[2][NB_QP];

static int
setup(void **state)
{
	(void)state;
	/* one QP more, because pair_open() creates a QP on each device */
	pair_open(&net, &(struct pair_conf){ .type = IBV_QPT_RC, .keys = "qps=65537" });
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	pair_close(&net);
	return 0;
}

static size_t
bytes_of(int socket)
{
	struct rte_malloc_socket_stats stats;

	return socket >= 0 && rte_malloc_get_socket_stats(socket, &stats) == 0
		       ? stats.heap_allocsz_bytes
		       : 0;
}

/* The number of bytes in use in EAL's heaps and in the heap that the library has added. */
static size_t
bytes_in_use(void)
{
	size_t sum = bytes_of(rte_malloc_heap_get_socket("uroce"));

	for (int socket = 0; socket < RTE_MAX_NUMA_NODES; socket++)
		sum += bytes_of(socket);
	return sum;
}

static void
create_all(const struct host *host, struct ibv_qp **made)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.send_cq = host->scq,
		.recv_cq = host->rcq,
		.sq_sig_all = 1,
		.cap = { 1, 1, 1, 1, 0 },
	};

	for (unsigned i = 0; i < NB_QP; i++)
		assert_non_null(made[i] = uroce_create_qp(host->pd, &init));
}

static void
destroy_all(struct ibv_qp **made)
{
	for (unsigned i = 0; i < NB_QP; i++)
		assert_int_equal(uroce_destroy_qp(made[i]), 0);
}

/* Copy a host, with `qp` as its QP. */
static struct host
host_of(const struct host *host, struct ibv_qp *qp)
{
	struct host one = *host;

	one.qp = qp;
	return one;
}

static void
connect_all(void)
{
	for (unsigned i = 0; i < NB_QP; i++) {
		struct host a = host_of(&net.a, qps[0][i]), b = host_of(&net.b, qps[1][i]);

		assert_int_equal(to_init(&a), 0);
		assert_int_equal(to_init(&b), 0);
		assert_int_equal(to_rtr(&net, &a, &b), 0);
		assert_int_equal(to_rtr(&net, &b, &a), 0);
		assert_int_equal(to_rts(&net, &a), 0);
		assert_int_equal(to_rts(&net, &b), 0);
	}
}

/* Send a message on the QP with index `i`. The content of the message is the index. */
static void
send_one(unsigned i)
{
	struct host a = host_of(&net.a, qps[0][i]), b = host_of(&net.b, qps[1][i]);

	memcpy(net.a.buf, &i, sizeof(i));
	post_recv(&b, i, sge_of(&net.b, 0, 64));
	post_send(&a, IBV_WR_SEND, i, sge_of(&net.a, 0, sizeof(i)));
	expect_wc(&net, net.a.scq, i, IBV_WC_SUCCESS);
	const struct ibv_wc wc = expect_wc(&net, net.b.rcq, i, IBV_WC_SUCCESS);

	assert_int_equal(wc.qp_num, qps[1][i]->qp_num);
	assert_memory_equal(net.b.buf, &i, sizeof(i));
}

static void
qps__65536_are_connected_and_carry_a_message_each(void **state)
{
	const size_t before = bytes_in_use();
	struct ibv_device_attr attr;
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.send_cq = net.a.scq,
		.recv_cq = net.a.rcq,
		.cap = { 1, 1, 1, 1, 0 },
	};

	(void)state;
	assert_int_equal(uroce_query_device(net.a.context, &attr), 0);
	assert_int_equal(attr.max_qp, NB_QP + 1);
	create_all(&net.a, qps[0]);
	create_all(&net.b, qps[1]);
	assert_errno(ENOMEM, uroce_create_qp(net.a.pd, &init));
	connect_all();
	for (unsigned i = 0; i < NB_QP; i++)
		send_one(i);
	const size_t each = (bytes_in_use() - before) / (2 * NB_QP);

	print_message("# %zu bytes a QP, of them %zu the verbs object of verbs.h\n", each,
		      sizeof(struct ibv_qp_ex));
	assert_in_range(each, sizeof(struct ibv_qp_ex), 4096);
	destroy_all(qps[0]);
	destroy_all(qps[1]);
	assert_in_range(bytes_in_use(), 0, before);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(qps__65536_are_connected_and_carry_a_message_each,
						setup, teardown),
	};

	net_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
