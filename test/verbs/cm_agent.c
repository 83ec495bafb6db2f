/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connection management on devices: two devices on a cable, and a device with itself.
 */

#include "cm_user.h"

#include "verbs/uroce.h"

#define PORT 7471
#define QPN  0x100u

static struct ibv_device *device[2];
static struct user a, b;

static int
setup(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++)
		assert_non_null(device[i] = net_device(i, "mtu=1024"));
	user_open(&a, device[0], ADDR_GID);
	user_open(&b, device[1], ADDR_GID);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	user_close(&a);
	user_close(&b);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(uroce_destroy_device(device[i]), 0);
	return 0;
}

static void
connection__is_established_and_ended(void **state)
{
	const struct uroce_cm_manager_ops *const ops = a.manager->ops;
	struct uroce_cm_info info[2];
	struct uroce_cm_event event;
	struct user_link link;

	(void)state;
	(void)user_listen(&b, PORT, 0);
	link.active = user_connect(&a, &b.gid, PORT, QPN);
	event = user_expect(&b, UROCE_CM_EVENT_CONNECT_REQUEST);
	link.passive = event.id;
	assert_memory_equal(event.private_data, "ping", 4);
	user_accept(&b, link.passive, QPN + 1);
	event = user_expect(&a, UROCE_CM_EVENT_CONNECT_RESPONSE);
	assert_memory_equal(event.private_data, "pong", 4);
	assert_int_equal(ops->establish(a.manager, link.active, NULL, 0), 0);
	assert_int_equal(user_expect(&b, UROCE_CM_EVENT_ESTABLISHED).id, link.passive);
	info[0] = user_query(&a, link.active);
	info[1] = user_query(&b, link.passive);
	assert_int_equal(info[0].state, UROCE_CM_STATE_ESTABLISHED);
	assert_int_equal(info[1].state, UROCE_CM_STATE_ESTABLISHED);
	assert_int_equal(info[0].remote_qpn, QPN + 1);
	assert_int_equal(info[1].remote_qpn, QPN);
	assert_int_equal(info[0].sq_psn, info[1].rq_psn);
	assert_int_equal(info[1].sq_psn, info[0].rq_psn);
	assert_memory_equal(info[1].av.remote_gid, a.gid.raw, 16);
	assert_memory_equal(info[1].av.local_gid, b.gid.raw, 16);
	assert_int_equal(ops->disconnect(a.manager, link.active, NULL, 0), 0);
	assert_int_equal(user_expect(&b, UROCE_CM_EVENT_DISCONNECTED).id, link.passive);
	assert_int_equal(ops->disconnect(b.manager, link.passive, NULL, 0), 0);
	assert_int_equal(user_expect(&a, UROCE_CM_EVENT_DISCONNECTED).id, link.active);
	/* the timer of TIMEWAIT expires without any message */
	assert_int_equal(user_expect(&a, UROCE_CM_EVENT_TIMEWAIT_EXIT).id, link.active);
	assert_int_equal(user_expect(&b, UROCE_CM_EVENT_TIMEWAIT_EXIT).id, link.passive);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(connection__is_established_and_ended),
	};

	net_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
