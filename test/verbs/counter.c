/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters of devices and QPs, which a program reads by the public calls. */

#include "net.h"

#include <rte_common.h>

#include "uroce_dv.h"

#define ROOM 128

static struct pair net;

static int
setup(void **state)
{
	(void)state;
	pair_open(&net, &(struct pair_conf){ .type = IBV_QPT_RC });
	pair_connect(&net);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	pair_close(&net);
	return 0;
}

static uint64_t
find(const struct uroce_dv_counter *counter, unsigned nb, const char *name)
{
	for (unsigned i = 0; i < nb; i++)
		if (strcmp(counter[i].name, name) == 0)
			return counter[i].value;
	fail_msg("there is no %s", name);
	return 0;
}

static uint64_t
of_device(const struct host *host, const char *name)
{
	struct uroce_dv_counter counter[ROOM];
	const unsigned nb = uroce_query_counters(host->context, counter, ROOM);

	assert_in_range(nb, 1, ROOM);
	return find(counter, nb, name);
}

static uint64_t
of_qp(const struct host *host, const char *name)
{
	struct uroce_dv_counter counter[ROOM];
	const unsigned nb = uroce_query_qp_counters(host->qp, counter, ROOM);

	assert_in_range(nb, 1, ROOM);
	return find(counter, nb, name);
}

static void
query_counters__bad_arguments(void **state)
{
	struct uroce_dv_counter counter;

	(void)state;
	assert_int_equal(uroce_query_counters(NULL, &counter, 1), 0);
	assert_int_equal(uroce_query_qp_counters(NULL, &counter, 1), 0);
}

/*
 * With too little room, a query of counters returns the number of counters, and writes only as many
 * as there is room for.
 */
static void
query_counters__as_much_as_there_is_room_for(void **state)
{
	struct uroce_dv_counter counter[ROOM] = { 0 };
	const unsigned nb = uroce_query_counters(net.a.context, NULL, 0);
	const unsigned nb_qp = uroce_query_qp_counters(net.a.qp, NULL, 0);

	(void)state;
	assert_in_range(nb, 2, ROOM);
	assert_in_range(nb_qp, 2, nb);
	assert_int_equal(uroce_query_counters(net.a.context, counter, 1), nb);
	assert_non_null(counter[0].name);
	assert_null(counter[1].name);
	assert_int_equal(uroce_query_counters(net.a.context, counter, ROOM), nb);
	assert_non_null(counter[nb - 1].text);
	assert_null(counter[nb].name);
	memset(counter, 0, sizeof(counter));
	assert_int_equal(uroce_query_qp_counters(net.a.qp, counter, nb_qp - 1), nb_qp);
	assert_null(counter[nb_qp - 1].name);
}

static void
query_counters__tell_of_a_transfer(void **state)
{
	const uint64_t before = of_device(&net.b, "rx_write_requests");

	(void)state;
	post_rdma(&net.a, &net.b, IBV_WR_RDMA_WRITE, 1, sge_of(&net.a, 0, 3000), 0);
	expect_wc(&net, net.a.scq, 1, IBV_WC_SUCCESS);
	post_recv(&net.b, 2, sge_of(&net.b, 0, 100));
	post_send(&net.a, IBV_WR_SEND, 3, sge_of(&net.a, 0, 100));
	expect_wc(&net, net.a.scq, 3, IBV_WC_SUCCESS);
	expect_wc(&net, net.b.rcq, 2, IBV_WC_SUCCESS);
	assert_int_equal(of_device(&net.b, "rx_write_requests"), before + 1);
	/*
	 * the test checks minimums, because both hosts are one device if they are attached to
	 * uroced
	 */
	assert_true(of_device(&net.a, "rdma_sends") >= 1);
	assert_true(of_device(&net.b, "rdma_recvs") >= 1);
	assert_true(of_device(&net.a, "port_xmit_data") >= 3100 / 4);
	/*
	 * The WRITE has three packets and the SEND one. There are more if the machine delayed an
	 * ACK, so that packets were retransmitted.
	 */
	const uint64_t nb_more = of_qp(&net.a, "retransmitted_pkts");

	assert_int_equal(of_qp(&net.a, "sent_pkts"), 4 + nb_more);
	assert_in_range(of_qp(&net.b, "rcvd_pkts"), 4, 4 + nb_more);
	assert_in_range(of_qp(&net.a, "sent_bytes"), 3100, 3100 + 1024 * nb_more);
	assert_in_range(of_qp(&net.b, "rcvd_bytes"), 3100, 3100 + 1024 * nb_more);
	assert_in_range(of_qp(&net.a, "rcvd_pkts"), 1, of_qp(&net.b, "sent_pkts"));
	if (nb_more == 0)
		assert_int_equal(of_qp(&net.b, "sent_pkts"), of_qp(&net.a, "rcvd_pkts"));
}

/*
 * A request is refused, so both QPs fail and are destroyed. The counters of the devices keep their
 * counts.
 */
static void
query_counters__outlive_a_qp(void **state)
{
	const uint64_t refused = of_device(&net.b, "resp_remote_access_errors");
	const uint64_t failed = of_device(&net.a, "req_remote_access_errors");

	(void)state;
	post_rdma(&net.a, &net.b, IBV_WR_RDMA_WRITE, 1, sge_of(&net.a, 0, 8), BUF_LEN);
	expect_wc(&net, net.a.scq, 1, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(uroce_destroy_qp(net.a.qp), 0);
	assert_int_equal(uroce_destroy_qp(net.b.qp), 0);
	net.a.qp = net.b.qp = NULL;
	assert_int_equal(of_device(&net.b, "resp_remote_access_errors"), refused + 1);
	assert_int_equal(of_device(&net.a, "req_remote_access_errors"), failed + 1);
}

static int
never_start(void *arg)
{
	(void)arg;
	return EIO;
}

static void
query_counters__before_the_device_is_up(void **state)
{
	struct uroce_dv_counter counter[ROOM];
	struct ibv_device *const device = uroce_announce_device("net_null5,addr=192.0.2.7/24",
								"net_null5", never_start, NULL);
	struct ibv_context *context;

	(void)state;
	assert_non_null(device);
	context = uroce_open_device(device);
	assert_non_null(context);
	const unsigned nb = uroce_query_counters(context, counter, ROOM);

	assert_in_range(nb, 1, ROOM);
	for (unsigned i = 0; i < nb; i++)
		assert_int_equal(counter[i].value, 0);
	assert_int_equal(uroce_close_device(context), 0);
	assert_int_equal(uroce_destroy_device(device), 0);
}

int
main(void)
{
#define WITH_PAIR(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(query_counters__bad_arguments),
		WITH_PAIR(query_counters__as_much_as_there_is_room_for),
		WITH_PAIR(query_counters__tell_of_a_transfer),
		WITH_PAIR(query_counters__outlive_a_qp),
		cmocka_unit_test(query_counters__before_the_device_is_up),
	};

	net_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
