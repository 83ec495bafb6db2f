/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connection management of devices: between two devices on a cable, and between QPs of one device.
 */

#include "cm_user.h"

#include <rte_common.h>

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
	/* TIMEWAIT ends by its timer, and not because of a message */
	assert_int_equal(user_expect(&a, UROCE_CM_EVENT_TIMEWAIT_EXIT).id, link.active);
	assert_int_equal(user_expect(&b, UROCE_CM_EVENT_TIMEWAIT_EXIT).id, link.passive);
}

static void
rejection__brings_reason_and_data(void **state)
{
	const struct uroce_cm_manager_ops *const ops = b.manager->ops;
	struct uroce_cm_event event;
	uint32_t id;

	(void)state;
	(void)user_listen(&b, PORT, 0);
	id = user_connect(&a, &b.gid, PORT, QPN);
	event = user_expect(&b, UROCE_CM_EVENT_CONNECT_REQUEST);
	assert_int_equal(
		ops->reject(b.manager, event.id, UROCE_CM_REASON_CONSUMER_DEFINED, "no", 3), 0);
	event = user_expect(&a, UROCE_CM_EVENT_REJECTED);
	assert_int_equal(event.id, id);
	assert_int_equal(event.status, UROCE_CM_REASON_CONSUMER_DEFINED);
	assert_memory_equal(event.private_data, "no", 3);
}

static void
no_listener__is_the_reason_of_a_rejection(void **state)
{
	struct uroce_cm_event event;

	(void)state;
	(void)user_connect(&a, &b.gid, PORT, QPN);
	event = user_expect(&a, UROCE_CM_EVENT_REJECTED);
	assert_int_equal(event.status, UROCE_CM_REASON_INVALID_SERVICE_ID);
}

static void
connection__over_ipv6(void **state)
{
	/* indexes in the GID table: the link-local address, and the configured IPv6 address */
	static const int gid_index[] = { 0, ADDR_GID + 1 };

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct user from, to;

		user_open(&from, device[0], gid_index[i]);
		user_open(&to, device[1], gid_index[i]);
		(void)user_listen(&to, PORT, 0);
		(void)user_establish(&from, &to, PORT, QPN);
		user_close(&from);
		user_close(&to);
	}
}

/* Connections of a device with itself: the ids of both ends belong to one agent. */
static void
connection__of_a_device_with_itself(void **state)
{
	const struct uroce_cm_manager_ops *const ops = a.manager->ops;
	struct user_link link;
	struct user other;

	(void)state;
	user_open(&other, device[0], ADDR_GID);
	(void)user_listen(&a, PORT, 0);
	link = user_establish(&a, &a, PORT, QPN);
	assert_int_equal(user_query(&a, link.active).remote_qpn, QPN + 1);
	assert_int_equal(ops->disconnect(a.manager, link.passive, NULL, 0), 0);
	assert_int_equal(user_expect(&a, UROCE_CM_EVENT_DISCONNECTED).id, link.active);
	assert_int_equal(ops->disconnect(a.manager, link.active, NULL, 0), 0);
	assert_int_equal(user_expect(&a, UROCE_CM_EVENT_DISCONNECTED).id, link.passive);
	/* another consumer of the same agent connects an id to the listener of `a` */
	(void)user_establish(&other, &a, PORT, QPN + 2);
	user_close(&other);
	(void)user_expect(&a, UROCE_CM_EVENT_DISCONNECTED);
}

static void
consumers__have_their_own_ids_and_events(void **state)
{
	const struct uroce_cm_manager_ops *const ops = b.manager->ops;
	const struct uroce_cm_addr any = { .ip_version = 4, .port = PORT };
	struct uroce_cm_info info;
	struct user other;
	uint32_t of_b, of_other, id, refused;

	(void)state;
	user_open(&other, device[1], ADDR_GID);
	of_b = user_listen(&b, PORT, 0);
	of_other = user_listen(&other, PORT + 1, 0);
	/* all consumers of a device share one port space, and b has bound this port */
	assert_int_equal(ops->create(other.manager, UROCE_CM_PS_TCP, false, 0, &id), 0);
	assert_int_equal(ops->bind(other.manager, id, &any, false, false), -EADDRINUSE);
	/* a consumer cannot use the ids of another consumer: the calls fail as for an unknown id */
	assert_int_equal(ops->query(other.manager, of_b, &info), -EINVAL);
	assert_int_equal(ops->listen(other.manager, of_b, 0), -EINVAL);
	assert_int_equal(ops->destroy(other.manager, of_b), -EINVAL);
	assert_int_equal(ops->query(other.manager, UROCE_CM_NO_ID, &info), -EINVAL);
	/*
	 * each consumer gets the request to its listener, even if the other consumer takes no event
	 */
	refused = user_connect(&a, &b.gid, PORT, QPN);
	id = user_connect(&a, &b.gid, PORT + 1, QPN + 1);
	assert_int_equal(user_expect(&other, UROCE_CM_EVENT_CONNECT_REQUEST).listener, of_other);
	user_expect_none(&other);
	assert_int_equal(user_expect(&b, UROCE_CM_EVENT_CONNECT_REQUEST).listener, of_b);
	user_expect_none(&b);
	/*
	 * closing the consumer `other` rejects the request that it has taken, and does not close
	 * the listener of b
	 */
	user_close(&other);
	assert_int_equal(user_expect(&a, UROCE_CM_EVENT_REJECTED).id, id);
	assert_int_equal(user_query(&b, of_b).state, UROCE_CM_STATE_LISTEN);
	(void)refused;
}

static void
closed_consumer__ends_its_connections(void **state)
{
	struct uroce_cm_event event;
	struct user_link link;
	uint32_t waiting;

	(void)state;
	(void)user_listen(&b, PORT, 0);
	link = user_establish(&a, &b, PORT, QPN);
	user_expect_none(&b);
	waiting = user_connect(&a, &b.gid, PORT, QPN + 2);
	user_await_notice(&b);
	user_close(&b);
	for (unsigned i = 0; i < 2; i++) {
		event = user_await(&a, NULL, NULL);
		assert_int_equal(event.kind, event.id == link.active ? UROCE_CM_EVENT_DISCONNECTED
								     : UROCE_CM_EVENT_REJECTED);
		assert_true(event.id == link.active || event.id == waiting);
	}
}

/*
 * After the only manager of a device was closed, the device still knows which of its QP numbers are
 * in TIMEWAIT.
 */
static void
agent__outlives_its_managers(void **state)
{
	const struct uroce_cm_manager_ops *const ops = a.manager->ops;
	uint64_t busy_ns;

	(void)state;
	(void)user_listen(&b, PORT, 0);
	(void)user_establish(&a, &b, PORT, QPN);
	assert_int_equal(ops->qpn_busy_ns(a.manager, QPN, &busy_ns), 0);
	assert_true(busy_ns == UROCE_CM_NEVER);
	assert_int_equal(ops->qpn_busy_ns(a.manager, QPN + 1, &busy_ns), 0);
	assert_true(busy_ns == 0);
	user_close(&a);
	(void)user_expect(&b, UROCE_CM_EVENT_DISCONNECTED);
	user_open(&a, device[0], ADDR_GID);
	assert_int_equal(ops->qpn_busy_ns(a.manager, QPN, &busy_ns), 0);
	assert_true(busy_ns > 0);
}

static void
context__is_in_use_while_its_manager_is_open(void **state)
{
	(void)state;
	assert_int_equal(uroce_close_device(a.context), -1);
	assert_int_equal(errno, EBUSY);
	assert_int_equal(uroce_destroy_device(device[0]), EBUSY);
}

/* Connections to a host that does not reply do not delay other connections. */
static void
unknown_host__does_not_delay_others(void **state)
{
	union ibv_gid nobody = b.gid;
	uint32_t id[200];

	(void)state;
	nobody.raw[15] = 99;
	for (unsigned i = 0; i < RTE_DIM(id); i++)
		id[i] = user_connect(&a, &nobody, PORT, QPN + i);
	(void)user_listen(&b, PORT, 0);
	(void)user_establish(&a, &b, PORT, QPN + RTE_DIM(id));
	for (unsigned i = 0; i < RTE_DIM(id); i++)
		assert_int_equal(a.manager->ops->destroy(a.manager, id[i]), 0);
	user_expect_none(&a);
}

/* --- many connections at once ------------------------------------------------------------------ */

/*
 * Take an event of an active side. After a CONNECT_RESPONSE, establish and disconnect the
 * connection. Count the connections that were established and that have ended.
 */
static void
go_on_active(struct user *user, unsigned *nb_established, unsigned *nb_ended)
{
	const struct uroce_cm_manager_ops *const ops = user->manager->ops;
	const struct uroce_cm_event event = user_await(user, NULL, NULL);

	if (event.kind == UROCE_CM_EVENT_CONNECT_RESPONSE) {
		assert_int_equal(ops->establish(user->manager, event.id, NULL, 0), 0);
		assert_int_equal(ops->disconnect(user->manager, event.id, NULL, 0), 0);
		++*nb_established;
	} else if (event.kind == UROCE_CM_EVENT_DISCONNECTED) {
		assert_int_equal(event.status, 0);
		assert_int_equal(ops->destroy(user->manager, event.id), 0);
		++*nb_ended;
	} else {
		fail_msg("event %u", event.kind);
	}
}

struct passive_side {
	struct user *user;
	unsigned nb; /* number of connections that the active side makes */
};

/* The passive side: accept connections, and disconnect them, until all have ended. */
static void *
run_passive(void *arg)
{
	const struct passive_side *const side = arg;
	const struct uroce_cm_manager_ops *const ops = side->user->manager->ops;
	unsigned nb_ended = 0;

	while (nb_ended < side->nb) {
		const struct uroce_cm_event event = user_await(side->user, NULL, NULL);

		if (event.kind == UROCE_CM_EVENT_CONNECT_REQUEST) {
			user_accept(side->user, event.id, 0x800000 + event.id);
		} else if (event.kind == UROCE_CM_EVENT_DISCONNECTED) {
			(void)ops->disconnect(side->user->manager, event.id, NULL, 0);
			(void)ops->destroy(side->user->manager, event.id);
			nb_ended++;
		}
	}
	return NULL;
}

static void
connections__many_at_once(void **state)
{
	struct passive_side side = { .user = &b, .nb = 1000 };
	unsigned nb_established = 0, nb_ended = 0;
	pthread_t thread;

	(void)state;
	(void)user_listen(&b, PORT, 0);
	for (unsigned i = 0; i < side.nb; i++)
		(void)user_connect(&a, &b.gid, PORT, QPN + i);
	assert_int_equal(pthread_create(&thread, NULL, run_passive, &side), 0);
	while (nb_ended < side.nb)
		go_on_active(&a, &nb_established, &nb_ended);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(nb_established, side.nb);
}

/*
 * The backlog limits the number of requests that wait at a listener. Further requests are rejected.
 */
static void
backlog__limits_what_waits_for_the_user(void **state)
{
	enum { NB = 20, BACKLOG = 8 };
	struct uroce_cm_event event;

	(void)state;
	(void)user_listen(&b, PORT, BACKLOG);
	for (unsigned i = 0; i < NB; i++)
		(void)user_connect(&a, &b.gid, PORT, QPN + i);
	for (unsigned i = 0; i < NB - BACKLOG; i++) {
		event = user_expect(&a, UROCE_CM_EVENT_REJECTED);
		assert_int_equal(event.status, UROCE_CM_REASON_NO_RESOURCES);
	}
	for (unsigned i = 0; i < BACKLOG; i++)
		(void)user_expect(&b, UROCE_CM_EVENT_CONNECT_REQUEST);
	user_expect_none(&b);
}

/* --- consumers of several threads -------------------------------------------------------------- */

enum { NB_THREADS = 4, NB_ROUNDS = 30 };

struct client {
	pthread_t thread;
	unsigned number;
};

/*
 * A thread that opens a consumer of its own, makes some connections, and closes the consumer,
 * repeatedly.
 */
static void *
run_client(void *arg)
{
	const struct client *const client = arg;
	const uint32_t qpn = 0x1000 * (client->number + 1);
	unsigned nb_established = 0, nb_ended = 0;
	struct user user;

	for (unsigned i = 0; i < NB_ROUNDS; i++) {
		user_open(&user, device[0], ADDR_GID);
		for (unsigned j = 0; j < 4; j++)
			(void)user_connect(&user, &b.gid, PORT, qpn + i * 4 + j);
		while (nb_ended < 4 * (i + 1))
			go_on_active(&user, &nb_established, &nb_ended);
		user_close(&user);
	}
	return NULL;
}

static void
consumers__of_several_threads(void **state)
{
	struct passive_side side = { .user = &b, .nb = NB_THREADS * NB_ROUNDS * 4 };
	struct client client[NB_THREADS];
	pthread_t passive;

	(void)state;
	(void)user_listen(&b, PORT, 0);
	assert_int_equal(pthread_create(&passive, NULL, run_passive, &side), 0);
	for (unsigned i = 0; i < NB_THREADS; i++) {
		client[i].number = i;
		assert_int_equal(pthread_create(&client[i].thread, NULL, run_client, &client[i]),
				 0);
	}
	for (unsigned i = 0; i < NB_THREADS; i++)
		assert_int_equal(pthread_join(client[i].thread, NULL), 0);
	assert_int_equal(pthread_join(passive, NULL), 0);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(connection__is_established_and_ended),
		TEST(rejection__brings_reason_and_data),
		TEST(no_listener__is_the_reason_of_a_rejection),
		TEST(connection__over_ipv6),
		TEST(connection__of_a_device_with_itself),
		TEST(consumers__have_their_own_ids_and_events),
		TEST(closed_consumer__ends_its_connections),
		TEST(agent__outlives_its_managers),
		TEST(context__is_in_use_while_its_manager_is_open),
		TEST(unknown_host__does_not_delay_others),
		TEST(connections__many_at_once),
		TEST(backlog__limits_what_waits_for_the_user),
		TEST(consumers__of_several_threads),
	};

	net_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
