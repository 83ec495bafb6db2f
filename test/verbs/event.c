/* SPDX-License-Identifier: BSD-3-Clause */
/* Asynchronous events: each event is delivered once to each context that it concerns. */

#define ALLOW_EXPERIMENTAL_API /* for rte_dev_event_callback_process() */

#include "net.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <rte_dev.h>
#include <rte_ethdev.h>

static struct pair net;

static int
setup(void **state)
{
	(void)state;
	pair_open(&net, &(struct pair_conf){ .type = IBV_QPT_RC });
	return 0;
}

/* Open a pair of QPs with few retries and a short ACK timeout. */
static int
setup_impatient(void **state)
{
	(void)state;
	pair_open(&net,
		  &(struct pair_conf){ .type = IBV_QPT_RC, .timeout = 8, .is_impatient = true });
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	pair_close(&net);
	return 0;
}

static bool
is_readable(const struct ibv_context *context)
{
	struct pollfd pollfd = { .fd = context->async_fd, .events = POLLIN };

	return poll(&pollfd, 1, 0) == 1;
}

static void
expect_no_event(struct ibv_context *context)
{
	const int flags = fcntl(context->async_fd, F_GETFL);
	struct ibv_async_event event;

	assert_int_equal(fcntl(context->async_fd, F_SETFL, flags | O_NONBLOCK), 0);
	errno = 0;
	assert_int_equal(uroce_get_async_event(context, &event), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(fcntl(context->async_fd, F_SETFL, flags), 0);
	assert_false(is_readable(context));
}

/* Let a read an address of b with an invalid rkey, so that b's QP fails. */
static void
make_access_error(void)
{
	struct ibv_sge sge = sge_of(&net.a, 0, 8);
	struct ibv_send_wr *bad, wr = { .opcode = IBV_WR_RDMA_READ, .sg_list = &sge, .num_sge = 1 };

	assert_int_equal(ibv_post_send(net.a.qp, &wr, &bad), 0);
	expect_wc(&net, net.a.scq, 0, IBV_WC_REM_ACCESS_ERR);
}

static void
get__would_block(void **state)
{
	(void)state;
	expect_no_event(net.a.context);
}

static void
qp_event__names_its_qp(void **state)
{
	struct ibv_async_event event;

	(void)state;
	pair_connect(&net);
	make_access_error();
	assert_true(is_readable(net.b.context));
	assert_int_equal(uroce_get_async_event(net.b.context, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_QP_ACCESS_ERR);
	assert_ptr_equal(event.element.qp, net.b.qp);
	uroce_ack_async_event(&event);
	expect_no_event(net.b.context);
	/* the context of the requester has no event: its request completes with an error */
	expect_no_event(net.a.context);
}

/* An atomic on a misaligned address is sent, and the responder refuses it: b's QP gets an event. */
static void
req_err__comes_of_an_atomic_that_is_not_aligned(void **state)
{
	struct ibv_sge sge = sge_of(&net.a, 0, 8);
	struct ibv_send_wr *bad, wr = {
		.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.atomic = { .remote_addr = (uintptr_t)net.b.buf + 4, .rkey = net.b.mr->rkey },
	};
	struct ibv_async_event event;

	(void)state;
	pair_connect(&net);
	assert_int_equal(ibv_post_send(net.a.qp, &wr, &bad), 0);
	expect_wc(&net, net.a.scq, 0, IBV_WC_REM_INV_REQ_ERR);
	do {
		assert_int_equal(uroce_get_async_event(net.b.context, &event), 0);
		uroce_ack_async_event(&event);
	} while (event.event_type == IBV_EVENT_COMM_EST);
	assert_int_equal(event.event_type, IBV_EVENT_QP_REQ_ERR);
	assert_ptr_equal(event.element.qp, net.b.qp);
	assert_int_equal(state_of(&net.b), IBV_QPS_ERR);
}

static void
comm_est__comes_of_a_packet_in_rtr(void **state)
{
	struct ibv_async_event event;

	(void)state;
	assert_int_equal(to_init(&net.a), 0);
	assert_int_equal(to_init(&net.b), 0);
	assert_int_equal(to_rtr(&net, &net.a, &net.b), 0);
	assert_int_equal(to_rtr(&net, &net.b, &net.a), 0);
	assert_int_equal(to_rts(&net, &net.a), 0);
	post_rdma(&net.a, &net.b, IBV_WR_RDMA_WRITE, 1, sge_of(&net.a, 0, 8), 0);
	expect_wc(&net, net.a.scq, 1, IBV_WC_SUCCESS);
	assert_int_equal(uroce_get_async_event(net.b.context, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_COMM_EST);
	assert_ptr_equal(event.element.qp, net.b.qp);
	uroce_ack_async_event(&event);
}

static void
sq_drained__comes_when_asked_for(void **state)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1 };
	struct ibv_async_event event;

	(void)state;
	pair_connect(&net);
	assert_int_equal(
		uroce_modify_qp(net.a.qp, &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY), 0);
	assert_int_equal(uroce_get_async_event(net.a.context, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_SQ_DRAINED);
	assert_ptr_equal(event.element.qp, net.a.qp);
	uroce_ack_async_event(&event);
}

static void
qp_event__goes_to_the_qps_context_only(void **state)
{
	struct ibv_context *other = uroce_open_device(net.b.device);
	struct ibv_async_event event;

	(void)state;
	pair_connect(&net);
	make_access_error();
	/*
	 * a thread that waits at `other` may be woken, but gets no event of a QP of another context
	 */
	expect_no_event(other);
	assert_true(is_readable(net.b.context));
	assert_int_equal(uroce_get_async_event(net.b.context, &event), 0);
	uroce_ack_async_event(&event);
	assert_int_equal(uroce_close_device(other), 0);
}

static void
port_event__goes_to_every_context(void **state)
{
	struct ibv_context *const contexts[] = { net.a.context, uroce_open_device(net.a.device) };
	struct ibv_port_attr port;
	struct ibv_async_event event;

	(void)state;
	assert_int_equal(rte_eth_dev_set_link_down(net.a.port_id), 0);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(uroce_get_async_event(contexts[i], &event), 0);
		assert_int_equal(event.event_type, IBV_EVENT_PORT_ERR);
		assert_int_equal(event.element.port_num, 1);
		uroce_ack_async_event(&event);
	}
	assert_int_equal(uroce_query_port(contexts[0], 1, &port), 0);
	assert_int_equal(port.state, IBV_PORT_DOWN);
	assert_int_equal(port.phys_state, 2); /* the physical state Polling [IBA 14.2.5.6] */
	assert_int_equal(rte_eth_dev_set_link_up(net.a.port_id), 0);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(uroce_get_async_event(contexts[i], &event), 0);
		assert_int_equal(event.event_type, IBV_EVENT_PORT_ACTIVE);
		uroce_ack_async_event(&event);
	}
	assert_int_equal(uroce_query_port(contexts[0], 1, &port), 0);
	assert_int_equal(port.state, IBV_PORT_ACTIVE);
	assert_int_equal(port.phys_state, 5); /* the physical state LinkUp [IBA 14.2.5.6] */
	assert_int_equal(uroce_close_device(contexts[1]), 0);
}

static void
open__forgets_what_was_before(void **state)
{
	struct ibv_context *late;

	(void)state;
	pair_connect(&net);
	make_access_error();
	late = uroce_open_device(net.b.device);
	expect_no_event(late);
	assert_int_equal(uroce_close_device(late), 0);
}

static void
destroy_qp__takes_its_events_with_it(void **state)
{
	(void)state;
	pair_connect(&net);
	make_access_error();
	assert_int_equal(uroce_destroy_qp(net.b.qp), 0);
	net.b.qp = NULL;
	expect_no_event(net.b.context);
}

static int
destroy(void *qp)
{
	return uroce_destroy_qp(qp);
}

static void
acknowledge(void *event)
{
	uroce_ack_async_event(event);
}

/* The destruction of a QP waits until all its events are acknowledged [ibv_get_async_event(3)]. */
static void
destroy_qp__waits_for_acknowledgement(void **state)
{
	struct ibv_async_event event;

	(void)state;
	pair_connect(&net);
	make_access_error();
	assert_int_equal(uroce_get_async_event(net.b.context, &event), 0);
	expect_wait(destroy, net.b.qp, &net.b.qp->cond, acknowledge, &event);
	net.b.qp = NULL;
}

struct waiter {
	pthread_t thread;
	struct ibv_async_event event;
};

static atomic_uint nb_served;

static void *
wait_for_event(void *arg)
{
	struct waiter *waiter = arg;

	assert_int_equal(uroce_get_async_event(net.a.context, &waiter->event), 0);
	atomic_fetch_add(&nb_served, 1);
	return NULL;
}

/* Two threads wait for events. If two events occur, each thread gets one of them. */
static void
get__one_of_several_threads_has_an_event(void **state)
{
	struct waiter waiter[2];
	enum ibv_event_type first;

	(void)state;
	atomic_store(&nb_served, 0);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(
			pthread_create(&waiter[i].thread, NULL, wait_for_event, &waiter[i]), 0);
	assert_int_equal(rte_eth_dev_set_link_down(net.a.port_id), 0);
	while (atomic_load(&nb_served) == 0)
		sched_yield();
	assert_int_equal(rte_eth_dev_set_link_up(net.a.port_id), 0);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(pthread_join(waiter[i].thread, NULL), 0);
	first = waiter[0].event.event_type;
	assert_true(first == IBV_EVENT_PORT_ERR || first == IBV_EVENT_PORT_ACTIVE);
	assert_int_equal(waiter[1].event.event_type,
			 first == IBV_EVENT_PORT_ERR ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR);
	for (unsigned i = 0; i < 2; i++)
		uroce_ack_async_event(&waiter[i].event);
	expect_no_event(net.a.context);
}

/*
 * Functions of ethdev for drivers, which no public header declares. With them the test raises an
 * event as a driver does.
 */
struct rte_eth_dev;
struct rte_eth_dev *rte_eth_dev_allocated(const char *name);
int rte_eth_dev_callback_process(struct rte_eth_dev *dev, enum rte_eth_event_type event,
				 void *ret_param);

static void
driver_says(uint16_t port_id, enum rte_eth_event_type event)
{
	char name[RTE_ETH_NAME_MAX_LEN];

	assert_int_equal(rte_eth_dev_get_name_by_port(port_id, name), 0);
	(void)rte_eth_dev_callback_process(rte_eth_dev_allocated(name), event, NULL);
}

static void
expect_port_event(struct ibv_context *context, enum ibv_event_type type)
{
	struct ibv_async_event event;

	assert_int_equal(uroce_get_async_event(context, &event), 0);
	assert_int_equal(event.event_type, type);
	uroce_ack_async_event(&event);
}

/* Let the bus report that the device of the port is removed, as the PCI bus does with vfio-pci. */
static void
bus_removes(uint16_t port_id)
{
	struct rte_eth_dev_info info;

	assert_int_equal(rte_eth_dev_info_get(port_id, &info), 0);
	rte_dev_event_callback_process(rte_dev_name(info.device), RTE_DEV_EVENT_REMOVE);
}

static void
expect_fatal(struct ibv_context *context)
{
	expect_port_event(context, IBV_EVENT_PORT_ERR);
	expect_port_event(context, IBV_EVENT_DEVICE_FATAL);
	expect_no_event(context);
}

/*
 * Close the pair. The driver of a port that was removed still has mbufs of the device. So the port
 * must be closed with its device.
 */
static int
teardown_removed(void **state)
{
	const uint16_t port_id = net.a.port_id;

	(void)state;
	pair_close(&net);
	return rte_eth_dev_is_valid_port(port_id);
}

/*
 * Check a pair whose port of host a is removed: posted requests fail when the retries are used up.
 * The removal is reported once, to each context.
 */
static void
expect_removal(void (*remove_port)(uint16_t port_id))
{
	struct ibv_context *other = uroce_open_device(net.a.device);
	struct ibv_port_attr port;

	pair_connect(&net);
	remove_port(net.a.port_id);
	remove_port(net.a.port_id);
	expect_fatal(net.a.context);
	expect_fatal(other);
	assert_int_equal(uroce_query_port(net.a.context, 1, &port), 0);
	assert_int_equal(port.state, IBV_PORT_DOWN);
	post_rdma(&net.a, &net.b, IBV_WR_RDMA_WRITE, 1, sge_of(&net.a, 0, 8), 0);
	expect_wc(&net, net.a.scq, 1, IBV_WC_RETRY_EXC_ERR);
	assert_int_equal(uroce_close_device(other), 0);
}

static void
driver_removes(uint16_t port_id)
{
	driver_says(port_id, RTE_ETH_EVENT_INTR_RMV);
}

static void
device_fatal__comes_of_a_port_that_was_removed(void **state)
{
	(void)state;
	expect_removal(driver_removes);
}

/* Most drivers do not report a removal. Their bus does. */
static void
device_fatal__comes_of_a_device_that_its_bus_removes(void **state)
{
	(void)state;
	expect_removal(bus_removes);
}

static void
device_fatal__comes_of_a_driver_that_asks_for_a_reset(void **state)
{
	(void)state;
	driver_says(net.a.port_id, RTE_ETH_EVENT_INTR_RESET);
	expect_port_event(net.a.context, IBV_EVENT_PORT_ERR);
	expect_port_event(net.a.context, IBV_EVENT_DEVICE_FATAL);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(get__would_block),
		TEST(qp_event__names_its_qp),
		TEST(req_err__comes_of_an_atomic_that_is_not_aligned),
		TEST(comm_est__comes_of_a_packet_in_rtr),
		TEST(sq_drained__comes_when_asked_for),
		TEST(qp_event__goes_to_the_qps_context_only),
		TEST(port_event__goes_to_every_context),
		TEST(open__forgets_what_was_before),
		TEST(destroy_qp__takes_its_events_with_it),
		TEST(destroy_qp__waits_for_acknowledgement),
		TEST(get__one_of_several_threads_has_an_event),
		cmocka_unit_test_setup_teardown(device_fatal__comes_of_a_port_that_was_removed,
						setup_impatient, teardown_removed),
		cmocka_unit_test_setup_teardown(
			device_fatal__comes_of_a_device_that_its_bus_removes, setup_impatient,
			teardown_removed),
		TEST(device_fatal__comes_of_a_driver_that_asks_for_a_reset),
	};

	net_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
