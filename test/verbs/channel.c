/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completion channels: arming a CQ wakes a sleeping thread once, and the event is of the right CQ.
 */

#include "net.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>

static struct pair net;
static struct ibv_comp_channel *channel; /* completion channel of b's CQs */
static struct ibv_cq *cq;                /* receive CQ of b's QP */

static int
setup(void **state)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .cap = { NB_WR, NB_WR, 1, 1, 0 } };

	(void)state;
	pair_open(&net, &(struct pair_conf){ .type = IBV_QPT_RC });
	channel = uroce_create_comp_channel(net.b.context);
	cq = channel ? uroce_create_cq(net.b.context, 64, &net, channel, 0) : NULL;
	init.send_cq = net.b.scq;
	init.recv_cq = cq;
	if (!cq || uroce_destroy_qp(net.b.qp))
		return -1;
	net.b.qp = uroce_create_qp(net.b.pd, &init);
	pair_connect(&net);
	for (uint64_t i = 0; i < NB_WR; i++)
		post_recv(&net.b, i, sge_of(&net.b, 0, 64));
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	if (net.b.qp && uroce_destroy_qp(net.b.qp))
		return -1;
	net.b.qp = NULL;
	if ((cq && uroce_destroy_cq(cq)) || uroce_destroy_comp_channel(channel))
		return -1;
	pair_close(&net);
	return 0;
}

static bool
is_readable(int fd)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };

	return poll(&pollfd, 1, 0) == 1;
}

static void
send_one(bool is_solicited)
{
	struct ibv_sge sge = sge_of(&net.a, 0, 8);
	struct ibv_send_wr *bad, wr = {
		.opcode = IBV_WR_SEND,
		.sg_list = &sge,
		.num_sge = 1,
		.send_flags = is_solicited ? IBV_SEND_SOLICITED : 0,
	};

	assert_int_equal(ibv_post_send(net.a.qp, &wr, &bad), 0);
	/* wait for the ACK, so that the completion of b is in its CQ afterwards */
	expect_wc(&net, net.a.scq, 0, IBV_WC_SUCCESS);
}

static void
expect_event(struct ibv_cq *expected)
{
	struct ibv_cq *from = NULL;
	void *context = NULL;

	assert_int_equal(uroce_get_cq_event(channel, &from, &context), 0);
	assert_ptr_equal(from, expected);
	assert_ptr_equal(context, expected->cq_context);
}

static void
expect_no_event(void)
{
	const int flags = fcntl(channel->fd, F_GETFL);
	struct ibv_cq *from;
	void *context;

	assert_false(is_readable(channel->fd));
	assert_int_equal(fcntl(channel->fd, F_SETFL, flags | O_NONBLOCK), 0);
	errno = 0;
	assert_int_equal(uroce_get_cq_event(channel, &from, &context), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(fcntl(channel->fd, F_SETFL, flags), 0);
}

static void
create__checks_its_arguments(void **state)
{
	(void)state;
	assert_errno(EINVAL, uroce_create_comp_channel(NULL));
	assert_int_equal(uroce_destroy_comp_channel(NULL), EINVAL);
	assert_ptr_equal(channel->context, net.b.context);
	assert_int_equal(channel->refcnt, 1);
	assert_int_equal(uroce_destroy_comp_channel(channel), EBUSY);
}

static void
event__is_raised_once_for_a_request(void **state)
{
	(void)state;
	send_one(false);
	expect_no_event(); /* the CQ was not armed */
	assert_int_equal(ibv_req_notify_cq(cq, 0), 0);
	expect_no_event(); /* arming raises no event for a completion that exists already */
	send_one(false);
	send_one(false);
	assert_true(is_readable(channel->fd));
	expect_event(cq);
	expect_no_event();
	uroce_ack_cq_events(cq, 1);
}

static void
event__of_solicited_waits_for_one(void **state)
{
	(void)state;
	assert_int_equal(ibv_req_notify_cq(cq, 1), 0);
	send_one(false);
	expect_no_event();
	send_one(true);
	expect_event(cq);
	uroce_ack_cq_events(cq, 1);
}

static void
event__of_an_error_is_solicited(void **state)
{
	(void)state;
	assert_int_equal(ibv_req_notify_cq(cq, 1), 0);
	assert_int_equal(to_state(&net.b, IBV_QPS_ERR), 0);
	expect_wc(&net, cq, 0, IBV_WC_WR_FLUSH_ERR);
	expect_event(cq);
	uroce_ack_cq_events(cq, 1);
}

static void
event__wakes_who_sleeps(void **state)
{
	struct ibv_wc wc;

	(void)state;
	/* no thread polls, so the service threads of both devices transfer the message */
	for (unsigned round = 0; round < 20; round++) {
		assert_int_equal(ibv_req_notify_cq(cq, 0), 0);
		assert_int_equal(ibv_poll_cq(cq, 1, &wc), 0);
		post_send(&net.a, IBV_WR_SEND, 0, sge_of(&net.a, 0, 8));
		expect_event(cq);
		assert_int_equal(ibv_poll_cq(cq, 1, &wc), 1);
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
		post_recv(&net.b, 0, sge_of(&net.b, 0, 64));
		while (ibv_poll_cq(net.a.scq, 1, &wc) == 0)
			;
	}
	uroce_ack_cq_events(cq, 20);
}

static void
channel__serves_its_cqs_in_turn(void **state)
{
	struct ibv_cq *others[2];
	struct ibv_cq *from;
	void *context;

	(void)state;
	for (unsigned i = 0; i < 2; i++)
		assert_non_null(others[i] = uroce_create_cq(net.b.context, 4, &net, channel, 0));
	assert_int_equal(channel->refcnt, 3);
	assert_int_equal(ibv_req_notify_cq(cq, 0), 0);
	send_one(false);
	assert_int_equal(uroce_get_cq_event(channel, &from, &context), 0);
	assert_ptr_equal(from, cq);
	uroce_ack_cq_events(cq, 1);
	expect_no_event();
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(uroce_destroy_cq(others[i]), 0);
	assert_int_equal(channel->refcnt, 1);
}

static void
destroy_cq__takes_its_events_with_it(void **state)
{
	(void)state;
	assert_int_equal(ibv_req_notify_cq(cq, 0), 0);
	send_one(false);
	assert_true(is_readable(channel->fd));
	assert_int_equal(uroce_destroy_qp(net.b.qp), 0);
	net.b.qp = NULL;
	assert_int_equal(uroce_destroy_cq(cq), 0);
	cq = NULL;
	expect_no_event();
}

static int
destroy(void *arg)
{
	return uroce_destroy_cq(arg);
}

static void
acknowledge(void *arg)
{
	uroce_ack_cq_events(arg, 1);
}

/* The destruction of a CQ waits until all its events are acknowledged [ibv_get_cq_event(3)]. */
static void
destroy_cq__waits_for_acknowledgement(void **state)
{
	(void)state;
	assert_int_equal(ibv_req_notify_cq(cq, 0), 0);
	send_one(false);
	expect_event(cq);
	assert_int_equal(uroce_destroy_qp(net.b.qp), 0);
	net.b.qp = NULL;
	expect_wait(destroy, cq, &cq->cond, acknowledge, cq);
	cq = NULL;
}

/*
 * A program may destroy a QP as soon as it is woken for the last message, and the ACK of that
 * message must still be sent. At the time of the call, the worker has received the message, and may
 * not have sent the ACK yet.
 */
static void
destroy_qp__acknowledges_what_it_received(void **state)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC,
					 .send_cq = net.b.scq,
					 .recv_cq = cq,
					 .cap = { NB_WR, NB_WR, 1, 1, 0 } };
	struct ibv_sge sge = sge_of(&net.a, 0, 8);
	struct ibv_send_wr *bad, wr = { .opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1 };
	struct ibv_wc wc;

	(void)state;
	for (unsigned round = 0; round < 100; round++) {
		assert_int_equal(uroce_req_notify_cq(cq, 0), 0);
		assert_int_equal(ibv_post_send(net.a.qp, &wr, &bad), 0);
		expect_event(cq);
		uroce_ack_cq_events(cq, 1);
		assert_int_equal(ibv_poll_cq(cq, 1, &wc), 1);
		assert_int_equal(uroce_destroy_qp(net.b.qp), 0);
		expect_wc(&net, net.a.scq, 0, IBV_WC_SUCCESS);
		assert_int_equal(to_state(&net.a, IBV_QPS_RESET), 0);
		assert_non_null(net.b.qp = uroce_create_qp(net.b.pd, &init));
		pair_connect(&net);
		post_recv(&net.b, 0, sge_of(&net.b, 0, 64));
	}
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(create__checks_its_arguments),
		TEST(event__is_raised_once_for_a_request),
		TEST(event__of_solicited_waits_for_one),
		TEST(event__of_an_error_is_solicited),
		TEST(event__wakes_who_sleeps),
		TEST(channel__serves_its_cqs_in_turn),
		TEST(destroy_cq__takes_its_events_with_it),
		TEST(destroy_cq__waits_for_acknowledgement),
		TEST(destroy_qp__acknowledges_what_it_received),
	};

	net_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
