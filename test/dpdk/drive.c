/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The threads that may drive a worker: a service thread while the application does not poll, a
 * dedicated lcore, and threads that make control calls. Most tests only wait for completions, and
 * do not drive the workers.
 */

#include "rig.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <rte_ethdev.h>
#include <rte_launch.h>
#include <rte_lcore.h>

#include "datapath/port/port.h"

static void
write_and_check(struct rig_qp *a, struct rig_qp *b, struct ibv_wc (*await)(struct uroce_cq *))
{
	rig_fill(a, 1);
	rig_post_send(a, IBV_WR_RDMA_WRITE, 1, 0, 50000, b, 0);
	assert_int_equal(await(&a->scq).status, IBV_WC_SUCCESS);
	rig_check(b, 0, a, 0, 50000);
}

static void
make_world(const char *a, const char *b, const char *spec_a, const char *spec_b,
	   struct uroce_dev *dev[2], struct rig_qp *qp[2])
{
	rig_wire(a, b, 1, 0);
	dev[0] = rig_dev(spec_a);
	dev[1] = rig_dev(spec_b);
	for (unsigned i = 0; i < 2; i++)
		qp[i] = rig_qp(dev[i], 0, IBV_QPT_RC);
	/* the scheduler may delay the threads that respond */
	rig_timeout = RIG_TIMEOUT_LONG;
	rig_connect(qp[0], qp[1], 1);
	rig_connect(qp[1], qp[0], 1);
}

static void
end_world(struct uroce_dev *dev[2], struct rig_qp *qp[2])
{
	for (unsigned i = 0; i < 2; i++) {
		rig_qp_free(qp[i]);
		assert_int_equal(uroce_dev_destroy(dev[i]), 0);
	}
}

/* No application polls the devices at both ends, so the service threads must do all the work. */
static void
drive_app__the_service_thread_serves_while_nobody_polls(void **state)
{
	struct uroce_dev *dev[2];
	struct rig_qp *qp[2];

	(void)state;
	make_world("a1", "b1", "net_ring_a1,addr=192.0.2.1/24", "net_ring_b1,addr=192.0.2.2/24",
		   dev, qp);
	uroce_worker_leave(dev[0]->worker[0]);
	uroce_worker_leave(dev[1]->worker[0]);
	for (int i = 0; i < 20; i++)
		write_and_check(qp[0], qp[1], rig_wait);
	end_world(dev, qp);
}

/*
 * If a port may block and has no link, the library does not call the functions of the port. Even
 * then, a thread that polls flushes QPs in the error state.
 */
static void
drive_app__flushes_on_a_port_that_may_block_and_has_no_link(void **state)
{
	const struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	const struct uroce_port_policy *policy;
	struct uroce_dev *dev[2];
	struct rig_qp *qp[2];
	struct ibv_wc wc[1];

	(void)state;
	if (RIG_HAS_TSAN)
		/*
		 * The thread sanitizer would report that this test changes the policy of the port
		 * while the service thread reads it.
		 */
		return;
	make_world("a3", "b3", "net_ring_a3,addr=192.0.2.1/24", "net_ring_b3,addr=192.0.2.2/24",
		   dev, qp);
	policy = dev[0]->port->policy;
	dev[0]->port->policy = uroce_port_policy_of("net_af_packet");
	assert_int_equal(rte_eth_dev_set_link_down(dev[0]->port->id), 0);
	while (uroce_port_is_up(dev[0]->port))
		rig_drive(dev[0]);
	assert_int_equal(rig_modify(qp[0], &attr, IBV_QP_STATE), 0);
	for (unsigned i = 0; i < 3; i++) {
		rig_post_send(qp[0], IBV_WR_RDMA_WRITE, i, 0, 100, qp[1], 0);
		rig_drive(dev[0]);
		assert_int_equal(uroce_cq_poll(&qp[0]->scq, 1, wc), 1);
		assert_int_equal(wc->status, IBV_WC_WR_FLUSH_ERR);
	}
	dev[0]->port->policy = policy;
	end_world(dev, qp);
}

static void
drive_lcore__dedicated_lcores_serve(void **state)
{
	struct uroce_dev *dev[2];
	struct rig_qp *qp[2];

	(void)state;
	make_world("a2", "b2", "net_ring_a2,drive=lcore,addr=192.0.2.1/24",
		   "net_ring_b2,drive=lcore,addr=192.0.2.2/24", dev, qp);
	/* a dedicated lcore drives the worker, so a poll of this thread does nothing */
	assert_int_equal(uroce_worker_poll(dev[0]->worker[0]), 0);
	for (int i = 0; i < 5; i++)
		write_and_check(qp[0], qp[1], rig_wait);
	end_world(dev, qp);
	assert_int_equal(rte_eal_get_lcore_state(1), WAIT);
	assert_int_equal(rte_eal_get_lcore_state(2), WAIT);
}

/*
 * The data of count_one(). The calls of count_one() use no lock, because a worker makes one control
 * call at a time.
 */
struct count {
	unsigned nb;
	bool is_inside;
	bool was_torn;
};

static int
count_one(void *arg)
{
	struct count *count = arg;

	count->was_torn |= count->is_inside;
	count->is_inside = true;
	count->nb++;
	count->is_inside = false;
	return 42;
}

#define NB_CALLS 300

struct caller {
	struct uroce_worker *worker;
	struct count *count;
};

static void *
call_often(void *arg)
{
	const struct caller *caller = arg;

	for (unsigned i = 0; i < NB_CALLS; i++) {
		if (uroce_worker_call(caller->worker, NULL, count_one, caller->count) != 42)
			caller->count->was_torn = true;
	}
	return NULL;
}

static void
calls_are_made_one_at_a_time(const char *name, const char *spec)
{
	struct uroce_dev *dev;
	struct count count = { 0 };
	struct caller caller;
	pthread_t thread[3];
	char other[16];

	snprintf(other, sizeof(other), "%s_far", name);
	rig_wire(name, other, 1, 0);
	dev = rig_dev(spec);
	caller = (struct caller){ .worker = dev->worker[0], .count = &count };
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, call_often, &caller), 0);
	for (unsigned i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	assert_int_equal(count.nb, 3 * NB_CALLS);
	assert_false(count.was_torn);
	assert_int_equal(uroce_dev_destroy(dev), 0);
}

static void
worker_call__beside_a_dedicated_lcore(void **state)
{
	(void)state;
	calls_are_made_one_at_a_time("c1", "net_ring_c1,drive=lcore,addr=192.0.2.1/24");
}

static void
worker_call__beside_the_service_thread(void **state)
{
	(void)state;
	calls_are_made_one_at_a_time("c2", "net_ring_c2,drive=app,addr=192.0.2.1/24");
}

static void
worker_call__where_nobody_drives(void **state)
{
	(void)state;
	calls_are_made_one_at_a_time("c3", "net_ring_c3,drive=none,addr=192.0.2.1/24");
}

/*
 * QPs are created and destroyed on one device, while the other device sends to another QP of the
 * same device.
 */
static void
dev_remove_qp__beside_traffic(void **state)
{
	struct uroce_dev *dev[2];
	struct rig_qp *qp[2];

	(void)state;
	make_world("a4", "b4", "net_ring_a4,addr=192.0.2.1/24", "net_ring_b4,addr=192.0.2.2/24",
		   dev, qp);
	for (int round = 0; round < 50; round++) {
		struct rig_qp *more = rig_qp(dev[1], 0, IBV_QPT_RC);

		rig_connect(more, qp[0], 1);
		rig_post_send(more, IBV_WR_RDMA_WRITE, 1, 0, 1000, qp[0], 0);
		rig_post_send(qp[0], IBV_WR_RDMA_WRITE, 1, 0, 50000, qp[1], 0);
		rig_qp_free(more);
		assert_int_equal(rig_await(&qp[0]->scq, dev[0], dev[1]).status, IBV_WC_SUCCESS);
	}
	end_world(dev, qp);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(drive_app__the_service_thread_serves_while_nobody_polls),
		cmocka_unit_test(drive_app__flushes_on_a_port_that_may_block_and_has_no_link),
		cmocka_unit_test(drive_lcore__dedicated_lcores_serve),
		cmocka_unit_test(worker_call__beside_a_dedicated_lcore),
		cmocka_unit_test(worker_call__beside_the_service_thread),
		cmocka_unit_test(worker_call__where_nobody_drives),
		cmocka_unit_test(dev_remove_qp__beside_traffic),
	};

	if (!rig_init())
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
