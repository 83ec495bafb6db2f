/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Event channels and ids of <uroce_cm.h>: waiting for events, acknowledging events, migrating ids,
 * and closing in any order.
 */

#include "cm_rig.h"

#include <uroce_cm_dv.h>

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

static struct cm_rig rig;

static int
setup(void **state)
{
	(void)state;
	rig_open(&rig, NULL);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	rig_close(&rig);
	return 0;
}

/* Create an id of host a, and wait until its event ADDR_RESOLVED is pending. */
static struct rdma_cm_id *
resolved_id(struct rdma_event_channel *channel)
{
	struct rdma_cm_id *id;

	assert_int_equal(uroce_cm_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(uroce_cm_resolve_addr(id, sa_of(HOST_A, 0), sa_of(HOST_B, 1), 60000), 0);
	await_readable(channel);
	return id;
}

static void
get_cm_event__does_not_wait_if_the_fd_is_non_blocking(void **state)
{
	struct rdma_event_channel *const channel = rig.channel[0];
	struct rdma_cm_event *event = NULL;

	(void)state;
	assert_int_equal(fcntl(channel->fd, F_SETFL, O_NONBLOCK), 0);
	assert_cm_fails(EAGAIN, uroce_cm_get_cm_event(channel, &event));
	assert_null(event);
	rig.a.id = resolved_id(channel);
	expect_event(channel, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_cm_fails(EAGAIN, uroce_cm_get_cm_event(channel, &event));
	expect_no_event(channel);
}

static void *
get_in_thread(void *arg)
{
	struct rdma_cm_event *event;

	(void)arg;
	return uroce_cm_get_cm_event(rig.channel[0], &event) == 0 ? event : NULL;
}

static void
get_cm_event__waits_in_several_threads(void **state)
{
	struct rdma_cm_id *ids[3];
	struct rdma_cm_event *events[3];
	pthread_t threads[3];

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, get_in_thread, NULL), 0);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(uroce_cm_create_id(rig.channel[0], &ids[i], NULL, RDMA_PS_TCP), 0);
		assert_int_equal(
			uroce_cm_resolve_addr(ids[i], sa_of(HOST_A, 0), sa_of(HOST_B, 1), 60000),
			0);
	}
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(pthread_join(threads[i], (void **)&events[i]), 0);
		assert_non_null(events[i]);
		assert_int_equal(events[i]->event, RDMA_CM_EVENT_ADDR_RESOLVED);
	}
	/* the three threads have got events of three different ids */
	assert_ptr_not_equal(events[0]->id, events[1]->id);
	assert_ptr_not_equal(events[0]->id, events[2]->id);
	assert_ptr_not_equal(events[1]->id, events[2]->id);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(uroce_cm_ack_cm_event(events[i]), 0);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(uroce_cm_destroy_id(ids[i]), 0);
}

static void
channel__every_event_is_an_edge_for_epoll(void **state)
{
	struct epoll_event ready, wanted = { .events = EPOLLIN | EPOLLET };
	const int fd = epoll_create1(0);
	struct rdma_cm_id *second;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(epoll_ctl(fd, EPOLL_CTL_ADD, rig.channel[0]->fd, &wanted), 0);
	assert_int_equal(epoll_wait(fd, &ready, 1, 0), 0);
	rig.a.id = resolved_id(rig.channel[0]);
	assert_int_equal(epoll_wait(fd, &ready, 1, 60000), 1);
	assert_int_equal(epoll_wait(fd, &ready, 1, 0), 0);
	/* although the first event is still pending, a second event is a new edge for EPOLLET */
	assert_int_equal(uroce_cm_create_id(rig.channel[0], &second, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(uroce_cm_resolve_addr(second, sa_of(HOST_A, 0), sa_of(HOST_B, 1), 60000),
			 0);
	assert_int_equal(epoll_wait(fd, &ready, 1, 60000), 1);
	expect_event(rig.channel[0], RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	expect_event(rig.channel[0], RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_int_equal(uroce_cm_destroy_id(second), 0);
	close(fd);
}

/* --- calls that wait for the acknowledgement of events ------------------------------------------- */

struct waiter {
	struct rdma_cm_id *id;
	/* channel to which the id migrates; NULL: the thread destroys the id instead */
	struct rdma_event_channel *to;
	atomic_bool has_ended;
};

static void *
end_in_thread(void *arg)
{
	struct waiter *const waiter = arg;
	const int ret = waiter->to != NULL ? uroce_cm_migrate_id(waiter->id, waiter->to)
					   : uroce_cm_destroy_id(waiter->id);

	assert_int_equal(ret, 0);
	atomic_store(&waiter->has_ended, true);
	return NULL;
}

/*
 * Check that a migration or destruction of an id waits until the program acknowledges an event of
 * the id that it has taken.
 */
static void
expect_wait_for_ack(struct waiter *waiter, struct rdma_cm_event *event)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, end_in_thread, waiter), 0);
	/* a call that does not wait would return in this time */
	usleep(20000);
	assert_false(atomic_load(&waiter->has_ended));
	assert_int_equal(uroce_cm_ack_cm_event(event), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

static void
destroy_id__waits_for_acknowledgements(void **state)
{
	struct waiter waiter = { .id = resolved_id(rig.channel[0]) };

	(void)state;
	expect_wait_for_ack(&waiter, await_event(rig.channel[0], RDMA_CM_EVENT_ADDR_RESOLVED, 0));
}

static void
migrate_id__waits_for_acknowledgements(void **state)
{
	struct waiter waiter = { .to = rig.channel[1] };

	(void)state;
	waiter.id = rig.a.id = resolved_id(rig.channel[0]);
	expect_wait_for_ack(&waiter, await_event(rig.channel[0], RDMA_CM_EVENT_ADDR_RESOLVED, 0));
	assert_ptr_equal(rig.a.id->channel, rig.channel[1]);
}

static void
destroy_id__drops_pending_events(void **state)
{
	(void)state;
	assert_int_equal(uroce_cm_destroy_id(resolved_id(rig.channel[0])), 0);
	expect_no_event(rig.channel[0]);
}

static void
destroy_id__during_a_resolution(void **state)
{
	struct rdma_cm_id *id;

	(void)state;
	assert_int_equal(uroce_cm_create_id(rig.channel[0], &id, NULL, RDMA_PS_TCP), 0);
	/*
	 * no host has the address 192.0.2.77, so the resolution is in progress when its id is
	 * destroyed
	 */
	assert_int_equal(uroce_cm_resolve_addr(id, NULL, sa_of("192.0.2.77", 1), 60000), 0);
	assert_int_equal(uroce_cm_destroy_id(id), 0);
	expect_no_event(rig.channel[0]);
}

static void
destroy_event_channel__with_ids_changes_nothing(void **state)
{
	(void)state;
	assert_int_equal(uroce_cm_create_id(rig.channel[0], &rig.a.id, NULL, RDMA_PS_TCP), 0);
	uroce_cm_destroy_event_channel(rig.channel[0]);
	assert_int_equal(uroce_cm_resolve_addr(rig.a.id, sa_of(HOST_A, 0), sa_of(HOST_B, 1), 60000),
			 0);
	expect_event(rig.channel[0], RDMA_CM_EVENT_ADDR_RESOLVED, 0);
}

/* --- migration of ids to another channel --------------------------------------------------------- */

static void
migrate_id__takes_pending_events_along(void **state)
{
	(void)state;
	rig.a.id = resolved_id(rig.channel[0]);
	assert_int_equal(uroce_cm_migrate_id(rig.a.id, rig.channel[1]), 0);
	expect_no_event(rig.channel[0]);
	expect_event(rig.channel[1], RDMA_CM_EVENT_ADDR_RESOLVED, 0);
}

static void
migrate_id__a_request_follows_its_listener(void **state)
{
	struct rdma_event_channel *const other = uroce_cm_create_event_channel();
	struct rdma_cm_event *event;

	(void)state;
	assert_non_null(other);
	rig_listen(&rig, RDMA_PS_TCP);
	rig_resolve(&rig, RDMA_PS_TCP);
	end_create_qp(&rig.a, IBV_QPT_RC);
	assert_int_equal(uroce_cm_connect(rig.a.id, NULL), 0);
	await_readable(rig.channel[1]);
	assert_int_equal(uroce_cm_migrate_id(rig.listener, other), 0);
	expect_no_event(rig.channel[1]);
	event = await_event(other, RDMA_CM_EVENT_CONNECT_REQUEST, 0);
	rig.b.id = event->id;
	assert_ptr_equal(rig.b.id->channel, other);
	assert_int_equal(uroce_cm_ack_cm_event(event), 0);
	assert_int_equal(uroce_cm_migrate_id(rig.listener, rig.channel[1]), 0);
	assert_int_equal(uroce_cm_migrate_id(rig.b.id, rig.channel[1]), 0);
	uroce_cm_destroy_event_channel(other);
	end_create_qp(&rig.b, IBV_QPT_RC);
	assert_int_equal(uroce_cm_accept(rig.b.id, NULL), 0);
	expect_event(rig.channel[0], RDMA_CM_EVENT_ESTABLISHED, 0);
	expect_event(rig.channel[1], RDMA_CM_EVENT_ESTABLISHED, 0);
}

static void
migrate_id__to_no_channel_makes_it_synchronous(void **state)
{
	(void)state;
	assert_int_equal(uroce_cm_create_id(rig.channel[0], &rig.a.id, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(uroce_cm_migrate_id(rig.a.id, NULL), 0);
	assert_int_equal(uroce_cm_resolve_addr(rig.a.id, sa_of(HOST_A, 0), sa_of(HOST_B, 1), 60000),
			 0);
	assert_int_equal(rig.a.id->event->event, RDMA_CM_EVENT_ADDR_RESOLVED);
	assert_int_equal(uroce_cm_migrate_id(rig.a.id, rig.channel[0]), 0);
	assert_null(rig.a.id->event);
	assert_int_equal(uroce_cm_resolve_route(rig.a.id, 1000), 0);
	expect_event(rig.channel[0], RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
}

/* --- destruction of ids and devices, and watched channels ---------------------------------------- */

static void
ack_cm_event__of_a_request_after_its_id_was_destroyed(void **state)
{
	struct rdma_cm_event *event;

	(void)state;
	rig_listen(&rig, RDMA_PS_TCP);
	rig_resolve(&rig, RDMA_PS_TCP);
	end_create_qp(&rig.a, IBV_QPT_RC);
	assert_int_equal(uroce_cm_connect(rig.a.id, NULL), 0);
	event = await_event(rig.channel[1], RDMA_CM_EVENT_CONNECT_REQUEST, 0);
	assert_int_equal(uroce_cm_destroy_id(event->id), 0);
	assert_int_equal(event->param.conn.private_data_len, 56);
	assert_int_equal(uroce_cm_ack_cm_event(event), 0);
	expect_event(rig.channel[0], RDMA_CM_EVENT_REJECTED, 28);
}

static void
destroy_device__while_an_id_uses_it(void **state)
{
	(void)state;
	rig_connect(&rig);
	assert_int_equal(uroce_destroy_device(rig.device[0]), EBUSY);
	rig_exchange(&rig.a, &rig.b);
	end_destroy(&rig.a);
	assert_int_equal(uroce_destroy_device(rig.device[0]), 0);
	rig.device[0] = NULL;
	expect_event(rig.channel[1], RDMA_CM_EVENT_DISCONNECTED, 0);
}

static void
get_devices__lists_each_device_opened(void **state)
{
	struct ibv_context **list;
	struct ibv_pd *pd;
	int nb = 0;

	(void)state;
	assert_non_null(list = uroce_cm_get_devices(&nb));
	assert_int_equal(nb, 2);
	assert_ptr_equal(list[0]->device, rig.device[0]);
	assert_ptr_equal(list[1]->device, rig.device[1]);
	assert_null(list[2]);
	assert_int_equal(uroce_cm_create_id(rig.channel[0], &rig.a.id, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(uroce_cm_bind_addr(rig.a.id, sa_of(HOST_A, 0)), 0);
	assert_ptr_equal(rig.a.id->verbs, list[0]);
	end_destroy(&rig.a);
	/* the program has a PD on the device, so the device cannot be destroyed */
	assert_non_null(pd = uroce_alloc_pd(list[1]));
	uroce_cm_free_devices(list);
	assert_int_equal(uroce_destroy_device(rig.device[1]), EBUSY);
	assert_int_equal(uroce_dealloc_pd(pd), 0);
	uroce_cm_free_devices(NULL);
}

/*
 * A filter of events, for which false means that the event is dropped. The filter drops
 * ROUTE_RESOLVED.
 */
static bool
is_no_route(void *arg, const struct rdma_cm_event *event)
{
	(void)arg;
	return event->event != RDMA_CM_EVENT_ROUTE_RESOLVED;
}

static void
count_event(void *arg)
{
	++*(unsigned *)arg;
}

static void
watch_channel__drops_and_tells(void **state)
{
	static const struct uroce_cm_dv_watch watch = { .is_wanted = is_no_route,
							.notify = count_event };
	unsigned nb = 0;

	(void)state;
	assert_cm_fails(EINVAL, uroce_cm_dv_watch_channel(NULL, &watch, &nb));
	assert_int_equal(uroce_cm_dv_watch_channel(rig.channel[0], &watch, &nb), 0);
	assert_int_equal(uroce_cm_create_id(rig.channel[0], &rig.a.id, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(uroce_cm_resolve_addr(rig.a.id, sa_of(HOST_A, 0), sa_of(HOST_A, 1), 60000),
			 0);
	expect_event(rig.channel[0], RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_int_equal(nb, 1);
	assert_int_equal(uroce_cm_resolve_route(rig.a.id, 1000), 0);
	expect_no_event(rig.channel[0]);
	assert_int_equal(nb, 1);
	assert_int_equal(uroce_cm_dv_watch_channel(rig.channel[0], NULL, NULL), 0);
}

static void
event_str__names_all_events(void **state)
{
	(void)state;
	assert_string_equal(uroce_cm_event_str(RDMA_CM_EVENT_ADDR_RESOLVED),
			    "RDMA_CM_EVENT_ADDR_RESOLVED");
	assert_string_equal(uroce_cm_event_str(RDMA_CM_EVENT_TIMEWAIT_EXIT),
			    "RDMA_CM_EVENT_TIMEWAIT_EXIT");
	for (unsigned i = 0; i <= RDMA_CM_EVENT_TIMEWAIT_EXIT; i++)
		assert_int_equal(strncmp(uroce_cm_event_str(i), "RDMA_CM_EVENT_", 14), 0);
	assert_string_equal(uroce_cm_event_str(RDMA_CM_EVENT_TIMEWAIT_EXIT + 1), "UNKNOWN EVENT");
}

static void
status_str__says_what_the_peer_means(void **state)
{
	static const char *const unknown[] = { "unknown status", "unknown reason" };

	(void)state;
	assert_non_null(
		strstr(uroce_cm_dv_status_str(RDMA_CM_EVENT_REJECTED, 8), "no listener for"));
	assert_non_null(strstr(uroce_cm_dv_status_str(RDMA_CM_EVENT_REJECTED, 28), "refused by"));
	assert_string_equal(uroce_cm_dv_status_str(RDMA_CM_EVENT_REJECTED, 34), unknown[1]);
	assert_string_equal(uroce_cm_dv_status_str(RDMA_CM_EVENT_UNREACHABLE, 1),
			    "no listener for the service ID or port");
	assert_string_equal(uroce_cm_dv_status_str(RDMA_CM_EVENT_UNREACHABLE, 99), unknown[0]);
	assert_string_equal(uroce_cm_dv_status_str(RDMA_CM_EVENT_ESTABLISHED, 8), unknown[0]);
	for (int event = -1; event <= RDMA_CM_EVENT_TIMEWAIT_EXIT + 1; event++) {
		assert_string_equal(uroce_cm_dv_status_str(event, -ETIMEDOUT), strerror(ETIMEDOUT));
		assert_string_equal(uroce_cm_dv_status_str(event, -100000), unknown[0]);
		assert_string_equal(uroce_cm_dv_status_str(event, INT_MIN), unknown[0]);
	}
}

static void
create_id__checks_the_port_space(void **state)
{
	static const enum rdma_port_space spaces[] = { RDMA_PS_TCP, RDMA_PS_UDP, RDMA_PS_IB,
						       RDMA_PS_IPOIB };
	struct rdma_cm_id *id = NULL;

	(void)state;
	assert_cm_fails(EINVAL, uroce_cm_create_id(rig.channel[0], &id, NULL, 0x1234));
	assert_cm_fails(EINVAL, uroce_cm_create_id(rig.channel[0], NULL, NULL, RDMA_PS_TCP));
	assert_null(id);
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(uroce_cm_create_id(rig.channel[0], &id, &rig, spaces[i]), 0);
		assert_int_equal(id->ps, spaces[i]);
		assert_ptr_equal(id->context, &rig);
		assert_int_equal(id->qp_type, spaces[i] == RDMA_PS_TCP || spaces[i] == RDMA_PS_IB
						      ? IBV_QPT_RC
						      : IBV_QPT_UD);
		assert_int_equal(uroce_cm_destroy_id(id), 0);
	}
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(get_cm_event__does_not_wait_if_the_fd_is_non_blocking),
		TEST(get_cm_event__waits_in_several_threads),
		TEST(channel__every_event_is_an_edge_for_epoll),
		TEST(destroy_id__waits_for_acknowledgements),
		TEST(migrate_id__waits_for_acknowledgements),
		TEST(destroy_id__drops_pending_events),
		TEST(destroy_id__during_a_resolution),
		TEST(destroy_event_channel__with_ids_changes_nothing),
		TEST(migrate_id__takes_pending_events_along),
		TEST(migrate_id__a_request_follows_its_listener),
		TEST(migrate_id__to_no_channel_makes_it_synchronous),
		TEST(ack_cm_event__of_a_request_after_its_id_was_destroyed),
		TEST(destroy_device__while_an_id_uses_it),
		TEST(get_devices__lists_each_device_opened),
		TEST(watch_channel__drops_and_tells),
		TEST(event_str__names_all_events),
		TEST(status_str__says_what_the_peer_means),
		TEST(create_id__checks_the_port_space),
	};

	net_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
