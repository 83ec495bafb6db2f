/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Tests connection management with the connection manager of uroced. The two ends of a connection
 * are devices of this process that are attached to one uroced. Some tests kill the connection
 * manager, and some kill uroced.
 *
 *	test-uroced-cm UROCED
 */

#include "cm_end.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <rte_log.h>

#include "daemon.h"
#include "now_ms.h"
#include "process.h"
#include "verbs/uroce.h"

#define PORT       7471
#define DESTROY_MS 8000

static struct daemon daemon_ = { .pid = 0 };
static struct cm_end a, b;

/* --- set-up --------------------------------------------------------------------------------------- */

static pid_t
manager_pid(void)
{
	return process_await_manager(daemon_.pid);
}

static void
start_daemon(void)
{
	daemon_.has_cm = true;
	daemon_start(&daemon_);
}

static int
set_up(void **state)
{
	(void)state;
	daemon_make(&daemon_);
	start_daemon();
	cm_end_open(&a, daemon_.socket);
	cm_end_open(&b, daemon_.socket);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	cm_end_close(&a);
	cm_end_close(&b);
	daemon_remove(&daemon_);
	return 0;
}

/* --- tests --------------------------------------------------------------------------------------- */

static void
clients__connect_and_exchange(void **state)
{
	struct user_link link;

	(void)state;
	(void)user_listen(&b.user, PORT, 0);
	for (unsigned i = 0; i < 3; i++) {
		link = cm_end_connect(&a, &b, PORT);
		cm_end_disconnect(&a, &b, &link);
	}
	user_expect_none(&a.user);
	user_expect_none(&b.user);
}

static void
qpn__of_another_client_is_refused(void **state)
{
	const struct uroce_cm_manager_ops *ops = a.user.manager->ops;
	const struct uroce_cm_addr remote = { 4, PORT, { [12] = 192, [14] = 2, [15] = 1 } };
	struct uroce_cm_addr local = { 4, 0, { [12] = 192, [14] = 2, [15] = 1 } };
	struct uroce_cm_param param = { .mtu_code = IBV_MTU_1024 };
	struct uroce_cm_av av = { .port = 1, .hop_limit = 64 };
	uint32_t id;

	(void)state;
	cm_end_make_qp(&a);
	cm_end_make_qp(&b);
	memcpy(av.local_gid, a.user.gid.raw, 16);
	memcpy(av.remote_gid, a.user.gid.raw, 16);
	assert_int_equal(ops->create(a.user.manager, UROCE_CM_PS_TCP, false, 0, &id), 0);
	assert_int_equal(ops->bind(a.user.manager, id, &local, false, false), 0);
	param.qpn = b.qp->qp_num;
	assert_int_equal(ops->connect(a.user.manager, id, &remote, &av, &param), -EPERM);
	param.qpn = 1;
	assert_int_equal(ops->connect(a.user.manager, id, &remote, &av, &param), -EPERM);
	param.qpn = a.qp->qp_num;
	av.local_gid[15]++;
	assert_int_equal(ops->connect(a.user.manager, id, &remote, &av, &param), -EADDRNOTAVAIL);
	av.local_gid[15]--;
	assert_int_equal(ops->connect(a.user.manager, id, &remote, &av, &param), 0);
	/* the request is rejected, because no id listens at the port */
	assert_int_equal(user_expect(&a.user, UROCE_CM_EVENT_REJECTED).status,
			 UROCE_CM_REASON_INVALID_SERVICE_ID);
	local.port = PORT;
	local.ip[15] = 77;
	assert_int_equal(ops->create(a.user.manager, UROCE_CM_PS_TCP, false, 0, &id), 0);
	assert_int_equal(ops->bind(a.user.manager, id, &local, false, false), -EADDRNOTAVAIL);
}

/* All clients share one port space. */
static void
port__is_bound_once(void **state)
{
	const struct uroce_cm_manager_ops *ops = a.user.manager->ops;
	const struct uroce_cm_addr local = { 4, PORT, { [12] = 192, [14] = 2, [15] = 1 } };
	uint32_t id, listener;

	(void)state;
	listener = user_listen(&b.user, PORT, 0);
	assert_int_equal(ops->create(a.user.manager, UROCE_CM_PS_TCP, false, 0, &id), 0);
	assert_int_equal(ops->bind(a.user.manager, id, &local, false, false), -EADDRINUSE);
	cm_end_destroy(&b, listener);
	assert_int_equal(ops->bind(a.user.manager, id, &local, false, false), 0);
}

/*
 * Expect that the QPs of a connection whose connection manager was killed go on, and that the ids
 * get the event DISCONNECTED.
 */
static void
expect_new_connections(const struct user_link *link)
{
	struct cm_end *ends[] = { &a, &b };
	const uint32_t ids[] = { link->active, link->passive };

	for (unsigned i = 0; i < 2; i++) {
		struct user *user = &ends[i]->user;
		const struct uroce_cm_event event = user_expect(user, UROCE_CM_EVENT_DISCONNECTED);

		assert_int_equal(event.id, ids[i]);
		assert_int_equal(event.status, -EIO);
		assert_int_equal(user->manager->ops->disconnect(user->manager, ids[i], NULL, 0),
				 -EIO);
	}
	/* the QPs stay connected, because they do not depend on the connection manager */
	cm_end_exchange(&a, &b);
	cm_end_exchange(&b, &a);
	cm_end_destroy(&a, link->active);
	cm_end_destroy(&b, link->passive);
}

static void
manager__that_is_killed_is_started_again(void **state)
{
	struct user_link link;
	pid_t pid;

	(void)state;
	(void)user_listen(&b.user, PORT, 0);
	link = cm_end_connect(&a, &b, PORT);
	for (unsigned i = 0; i < 3; i++) {
		pid = manager_pid();
		assert_int_equal(kill(pid, SIGKILL), 0);
		process_await_end(pid);
		expect_new_connections(&link);
		/* the listener exists in the new connection manager, too */
		link = cm_end_connect(&a, &b, PORT);
	}
	user_expect_none(&a.user);
	user_expect_none(&b.user);
}

static void
uroced__that_is_killed_and_started_serves_again(void **state)
{
	struct user_link link;

	(void)state;
	(void)user_listen(&b.user, PORT, 0);
	link = cm_end_connect(&a, &b, PORT);
	for (unsigned i = 0; i < 3; i++) {
		daemon_kill(&daemon_);
		start_daemon();
		expect_new_connections(&link);
		link = cm_end_connect(&a, &b, PORT);
	}
}

/* --- telemetry ----------------------------------------------------------------------------------- */

static void
expect_text(const char *reply, const char *text)
{
	if (strstr(reply, text) == NULL)
		fail_msg("there is no %s in %s", text, reply);
}

static void
telemetry__counts_messages_of_all_clients(void **state)
{
	struct user_link link;

	(void)state;
	assert_int_equal(daemon_ask(&daemon_, "/uroced/cm", "req"), 0);
	(void)user_listen(&b.user, PORT, 0);
	for (unsigned i = 0; i < 3; i++) {
		link = cm_end_connect(&a, &b, PORT);
		cm_end_disconnect(&a, &b, &link);
	}
	/* several groups of counters have `req`: daemon_ask() reads the first one, cm_tx_msgs */
	assert_in_range(daemon_ask(&daemon_, "/uroced/cm", "req"), 3, 10);
	assert_in_range(daemon_ask(&daemon_, "/uroced/cm", "rtu"), 3, 10);
	expect_text(daemon_query(&daemon_, "/uroced/cm"), "\"cm_rx_duplicates\":{\"req\":");
}

static void
telemetry__lists_listeners_and_connections(void **state)
{
	char owner[64];
	const char *reply;

	(void)state;
	expect_text(daemon_query(&daemon_, "/uroced/cm_ids"), ":{}}");
	(void)user_listen(&b.user, PORT, 0);
	(void)cm_end_connect(&a, &b, PORT);
	reply = daemon_query(&daemon_, "/uroced/cm_ids");
	expect_text(reply, "\"state\":\"LISTEN\",\"space\":\"TCP\",\"side\":\"none\","
			   "\"local\":\"192.0.2.1:7471\"");
	expect_text(reply, "\"state\":\"ESTABLISHED\",\"space\":\"TCP\",\"side\":\"active\"");
	expect_text(reply, "\"side\":\"passive\"");
	expect_text(reply, "\"remote\":\"192.0.2.1:7471\"");
	(void)snprintf(owner, sizeof(owner), "\"pid\":%d,\"uid\":%u", getpid(), geteuid());
	expect_text(reply, owner);
	/* no id has such a number, so the list is empty */
	expect_text(daemon_query(&daemon_, "/uroced/cm_ids,16777215"), ":{}}");
	expect_text(daemon_query(&daemon_, "/uroced/cm_ids,99999999999"), ":{}}");
}

/* A list of ids that does not fit into one reply comes in parts, and has each id once. */
static void
telemetry__lists_many_ids_in_parts(void **state)
{
	const struct uroce_cm_manager_ops *ops = a.user.manager->ops;
	char command[64] = "/uroced/cm_ids";
	unsigned nb = 0, nb_replies = 0;
	uint32_t id, last = UINT32_MAX;

	(void)state;
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(ops->create(a.user.manager, UROCE_CM_PS_TCP, false, 0, &id), 0);
	for (;; nb_replies++) {
		const char *at = daemon_query(&daemon_, command);

		if (strstr(at, ":{}}"))
			break;
		while ((at = strstr(at, "\"id\":")) != NULL) {
			at += strlen("\"id\":");
			id = (uint32_t)strtoul(at, NULL, 10);
			assert_true(last == UINT32_MAX || id > last);
			last = id;
			nb++;
		}
		(void)snprintf(command, sizeof(command), "/uroced/cm_ids,%u", last);
	}
	assert_int_equal(nb, 100);
	assert_in_range(nb_replies, 2, 100);
}

/*
 * A connection manager that does not reply delays a request of telemetry for a limited time. It
 * delays nothing else.
 */
static void
telemetry__of_a_manager_that_hangs_or_dies(void **state)
{
	const pid_t pid = manager_pid();

	(void)state;
	assert_int_equal(kill(pid, SIGSTOP), 0);
	for (unsigned i = 0; i < 2; i++)
		expect_text(daemon_query(&daemon_, "/uroced/cm"), "null");
	assert_int_equal(daemon_ask(&daemon_, "/uroced/host", "clients"), 2);
	assert_int_equal(kill(pid, SIGCONT), 0);
	/* replies to earlier requests, which come late, are skipped */
	assert_int_equal(daemon_ask(&daemon_, "/uroced/cm", "lap"), 0);
	expect_text(daemon_query(&daemon_, "/uroced/cm_ids"), ":{}}");
	assert_int_equal(kill(pid, SIGKILL), 0);
	process_await_end(pid);
	(void)manager_pid();
	(void)user_listen(&b.user, PORT, 0);
	(void)cm_end_connect(&a, &b, PORT);
	assert_in_range(daemon_ask(&daemon_, "/uroced/cm", "req"), 1, 10);
}

static void
uroced__leaves_no_process_and_no_socket(void **state)
{
	char path[128];
	pid_t pids[3];

	(void)state;
	(void)user_listen(&b.user, PORT, 0);
	(void)cm_end_connect(&a, &b, PORT);
	(void)snprintf(path, sizeof(path), "%s.cm", daemon_.socket);
	assert_int_equal(access(path, F_OK), 0);
	pids[0] = manager_pid();
	pids[1] = process_await_child(daemon_.pid, "uroced-starter");
	pids[2] = process_await_child(daemon_.pid, "uroced-reader");
	daemon_end(&daemon_);
	for (unsigned i = 0; i < 3; i++)
		process_await_end(pids[i]);
	assert_int_equal(access(path, F_OK), -1);
}

/*
 * An id that is destroyed while no uroced runs is gone at once. The next uroced does not create it
 * again.
 */
static void
listener__destroyed_without_uroced_is_gone(void **state)
{
	uint32_t listener, id;
	uint64_t since_ms;

	(void)state;
	listener = user_listen(&b.user, PORT, 0);
	(void)cm_end_connect(&a, &b, PORT);
	daemon_kill(&daemon_);
	(void)user_expect(&b.user, UROCE_CM_EVENT_DISCONNECTED);
	since_ms = now_ms();
	cm_end_destroy(&b, listener);
	/* destroy() does not wait for the next uroced, as the other calls do */
	assert_true(now_ms() - since_ms < DESTROY_MS);
	start_daemon();
	/* The port of the destroyed listener is free for any client. */
	id = user_listen(&a.user, PORT, 0);
	cm_end_destroy(&a, id);
}

/*
 * Make all calls of a manager in a child of fork(), where each call must fail.
 * @return the exit status of the child: 42 if all calls failed
 */
static int
try_in_child(uint32_t listener)
{
	struct uroce_cm_manager *manager = b.user.manager, *other;
	const struct uroce_cm_manager_ops *ops = manager->ops;
	const struct uroce_cm_addr addr = { 4, PORT, { [12] = 192, [14] = 2, [15] = 1 } };
	const struct uroce_cm_param param = { .qpn = 2 };
	const struct uroce_cm_av av = { .port = 1 };
	struct uroce_cm_event event;
	struct uroce_cm_info info;
	uint64_t busy_ns;
	uint32_t id;

	if (ops->create(manager, UROCE_CM_PS_TCP, false, 0, &id) != -EIO ||
	    ops->bind(manager, listener, &addr, false, false) != -EIO ||
	    ops->listen(manager, listener, 0) != -EIO ||
	    ops->connect(manager, listener, &addr, &av, &param) != -EIO ||
	    ops->accept(manager, listener, &param) != -EIO ||
	    ops->reject(manager, listener, 28, NULL, 0) != -EIO ||
	    ops->establish(manager, listener, NULL, 0) != -EIO ||
	    ops->disconnect(manager, listener, NULL, 0) != -EIO ||
	    ops->set_user(manager, listener, 1) != -EIO ||
	    ops->query(manager, listener, &info) != -EIO ||
	    ops->next_event(manager, &event) != -EIO ||
	    ops->qpn_busy_ns(manager, 2, &busy_ns) != -EIO ||
	    ops->destroy(manager, listener) != -EIO ||
	    uroce_cm_manager_open(b.user.context, manager->notify, manager->arg, &other) != -EIO)
		return 1;
	ops->close(manager);
	return 42;
}

/*
 * A child of fork() cannot use the connection manager, and does not keep the parent's connection to
 * the manager open. The parent can still use the manager.
 */
static void
child__has_no_connection_manager(void **state)
{
	const uint32_t listener = user_listen(&b.user, PORT, 0);
	struct user_link link;
	int ends[2], status;
	pid_t pid;
	char byte;

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)close(ends[1]);
		status = try_in_child(listener);
		/* keep the child alive until the parent closes the pipe */
		(void)!read(ends[0], &byte, 1);
		_exit(status);
	}
	(void)close(ends[0]);
	link = cm_end_connect(&a, &b, PORT);
	cm_end_disconnect(&a, &b, &link);
	/* the listener of the parent ends although the child still lives */
	cm_end_close(&b);
	cm_end_await_port(&a, PORT, false);
	(void)close(ends[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), 42);
}

static void
uroced__with_no_cm_serves_no_connection_management(void **state)
{
	struct uroce_cm_manager *manager;
	struct ibv_context *context;
	struct ibv_device *device;
	char spec[160], *text = NULL;
	size_t len;
	FILE *const log = open_memstream(&text, &len);

	(void)state;
	assert_non_null(log);
	daemon_make(&daemon_);
	daemon_start(&daemon_);
	(void)snprintf(spec, sizeof(spec), "uroced,socket=%s,qps=64,mrs=64", daemon_.socket);
	device = uroce_create_device(spec);
	assert_non_null(device);
	context = uroce_open_device(device);
	assert_non_null(context);
	assert_int_equal(rte_openlog_stream(log), 0);
	assert_int_equal(uroce_cm_manager_open(context, (void (*)(void *))free, NULL, &manager),
			 -ECONNREFUSED);
	assert_int_equal(rte_openlog_stream(NULL), 0);
	(void)fclose(log);
	expect_text(text,
		    ".cm: no connection manager listens: this uroced was started with --no-cm");
	free(text);
	expect_text(daemon_query(&daemon_, "/uroced/cm"), "null");
	expect_text(daemon_query(&daemon_, "/uroced/cm_ids"), "null");
	assert_int_equal(uroce_close_device(context), 0);
	assert_int_equal(uroce_destroy_device(device), 0);
	daemon_remove(&daemon_);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(clients__connect_and_exchange),
		TEST(qpn__of_another_client_is_refused),
		TEST(port__is_bound_once),
		TEST(manager__that_is_killed_is_started_again),
		TEST(uroced__that_is_killed_and_started_serves_again),
		TEST(listener__destroyed_without_uroced_is_gone),
		TEST(child__has_no_connection_manager),
		TEST(telemetry__counts_messages_of_all_clients),
		TEST(telemetry__lists_listeners_and_connections),
		TEST(telemetry__lists_many_ids_in_parts),
		TEST(telemetry__of_a_manager_that_hangs_or_dies),
		TEST(uroced__leaves_no_process_and_no_socket),
		cmocka_unit_test(uroced__with_no_cm_serves_no_connection_management),
	};

	if (argc < 2)
		return 1;
	(void)unsetenv("RUNTIME_DIRECTORY");
	net_init();
	daemon_program = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
