/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connection management in the loop of the program: calls of uroce_cm_poll() do all the work,
 * instead of a thread.
 */

#include "cm_rig.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct cm_rig rig;

static int
setup(void **state)
{
	(void)state;
	assert_int_equal(uroce_cm_set_drive(UROCE_CM_DRIVE_NONE), 0);
	rig_open(&rig, NULL);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	rig_close(&rig);
	assert_int_equal(uroce_cm_set_drive(UROCE_CM_DRIVE_THREAD), 0);
	return 0;
}

static unsigned
count_threads(const char *name)
{
	char command[128], line[16];
	FILE *const list = (snprintf(command, sizeof(command),
				     "cat /proc/%d/task/*/comm | grep -cx %s", getpid(), name),
			    popen(command, "r"));

	assert_non_null(list);
	assert_non_null(fgets(line, sizeof(line), list));
	(void)pclose(list);
	return (unsigned)strtoul(line, NULL, 10);
}

/*
 * Call uroce_cm_poll() when there is work, until a channel has an event. The event must have this
 * type.
 */
static struct rdma_cm_event *
poll_for_event(struct rdma_event_channel *channel, enum rdma_cm_event_type type)
{
	struct pollfd pollfd[] = {
		{ .fd = uroce_cm_get_fd(), .events = POLLIN },
		{ .fd = channel->fd, .events = POLLIN },
	};

	assert_true(pollfd[0].fd >= 0);
	for (;;) {
		(void)uroce_cm_poll();
		assert_true(poll(pollfd, 2, 60000) > 0);
		if (pollfd[1].revents != 0)
			return await_event(channel, type, 0);
	}
}

static void
expect_polled(struct rdma_event_channel *channel, enum rdma_cm_event_type type)
{
	assert_int_equal(uroce_cm_ack_cm_event(poll_for_event(channel, type)), 0);
}

static void
poll__makes_a_connection_without_a_thread(void **state)
{
	struct rdma_cm_event *event;

	(void)state;
	rig_listen(&rig, RDMA_PS_TCP);
	assert_int_equal(uroce_cm_create_id(rig.channel[0], &rig.a.id, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(uroce_cm_resolve_addr(rig.a.id, NULL, sa_of(HOST_B, RIG_PORT), 60000), 0);
	expect_polled(rig.channel[0], RDMA_CM_EVENT_ADDR_RESOLVED);
	assert_int_equal(uroce_cm_resolve_route(rig.a.id, 60000), 0);
	expect_polled(rig.channel[0], RDMA_CM_EVENT_ROUTE_RESOLVED);
	end_create_qp(&rig.a, IBV_QPT_RC);
	assert_int_equal(uroce_cm_connect(rig.a.id, NULL), 0);
	event = poll_for_event(rig.channel[1], RDMA_CM_EVENT_CONNECT_REQUEST);
	rig.b.id = event->id;
	end_create_qp(&rig.b, IBV_QPT_RC);
	assert_int_equal(uroce_cm_accept(rig.b.id, NULL), 0);
	assert_int_equal(uroce_cm_ack_cm_event(event), 0);
	expect_polled(rig.channel[0], RDMA_CM_EVENT_ESTABLISHED);
	expect_polled(rig.channel[1], RDMA_CM_EVENT_ESTABLISHED);
	assert_int_equal(count_threads("uroce-cm"), 0);
	rig_exchange(&rig.a, &rig.b);
	assert_int_equal(uroce_cm_disconnect(rig.a.id), 0);
	expect_polled(rig.channel[1], RDMA_CM_EVENT_DISCONNECTED);
}

static void *
accept_one(void *arg)
{
	struct rdma_cm_event *event;

	(void)arg;
	/* while uroce_cm_get_cm_event() waits, it does the work of uroce_cm_poll() */
	assert_int_equal(uroce_cm_get_cm_event(rig.channel[1], &event), 0);
	assert_int_equal(event->event, RDMA_CM_EVENT_CONNECT_REQUEST);
	rig.b.id = event->id;
	end_create_qp(&rig.b, IBV_QPT_RC);
	assert_int_equal(uroce_cm_accept(rig.b.id, NULL), 0);
	assert_int_equal(uroce_cm_ack_cm_event(event), 0);
	return NULL;
}

static void
get_cm_event__does_the_work_while_it_waits(void **state)
{
	struct rdma_cm_event *event;
	pthread_t thread;

	(void)state;
	rig_listen(&rig, RDMA_PS_TCP);
	assert_int_equal(pthread_create(&thread, NULL, accept_one, NULL), 0);
	assert_int_equal(uroce_cm_create_id(NULL, &rig.a.id, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(uroce_cm_resolve_addr(rig.a.id, NULL, sa_of(HOST_B, RIG_PORT), 60000), 0);
	assert_int_equal(uroce_cm_resolve_route(rig.a.id, 60000), 0);
	end_create_qp(&rig.a, IBV_QPT_RC);
	assert_int_equal(uroce_cm_connect(rig.a.id, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(uroce_cm_get_cm_event(rig.channel[1], &event), 0);
	assert_int_equal(event->event, RDMA_CM_EVENT_ESTABLISHED);
	assert_int_equal(uroce_cm_ack_cm_event(event), 0);
	rig_exchange(&rig.a, &rig.b);
}

static void
set_drive__is_for_programs_without_channels(void **state)
{
	(void)state;
	assert_cm_fails(EBUSY, uroce_cm_set_drive(UROCE_CM_DRIVE_THREAD));
	assert_cm_fails(EINVAL, uroce_cm_set_drive((enum uroce_cm_drive)7));
	assert_int_equal(uroce_cm_poll(), 0);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(poll__makes_a_connection_without_a_thread),
		TEST(get_cm_event__does_the_work_while_it_waits),
		TEST(set_drive__is_for_programs_without_channels),
	};

	net_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
