/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Connection management of programs that are attached to one uroced: two devices of this process,
 * and programs that are killed. The connection manager is killed, and uroced is killed.
 *
 *	test-uroced-cm UROCED
 *	test-uroced-cm --victim STATE SOCKET PORT   a program that is killed in a state of a connection
 */

#include "cm_end.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon.h"
#include "now_ms.h"
#include "process.h"
#include "verbs/uroce.h"

#define PORT        7471
#define VICTIM_PORT 7472
#define TIMEOUT_MS  60000
#define DESTROY_MS  8000

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

/* --- victims ------------------------------------------------------------------------------------- */

enum victim_state { LISTENS, WAITS_AT_LISTENER, CONNECTS, ACCEPTED, ESTABLISHED, NB_STATES };

/* The program that is killed. It writes a byte when it is in its state. */
__attribute__((noreturn)) static void
be_victim(enum victim_state state, const char *socket, uint16_t port)
{
	static struct cm_end end;
	struct uroce_cm_event event;
	uint32_t id;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	cm_end_open(&end, socket);
	cm_end_make_qp(&end);
	if (state == CONNECTS) {
		(void)user_connect(&end.user, &end.user.gid, port, end.qp->qp_num);
	} else {
		(void)user_listen(&end.user, port, 0);
		(void)!write(STDOUT_FILENO, "l", 1);
	}
	if (state == ACCEPTED || state == ESTABLISHED) {
		event = user_expect(&end.user, UROCE_CM_EVENT_CONNECT_REQUEST);
		id = event.id;
		cm_end_ready_qp(&end, id);
		user_accept(&end.user, id, end.qp->qp_num);
		if (state == ESTABLISHED)
			(void)user_expect(&end.user, UROCE_CM_EVENT_ESTABLISHED);
	}
	(void)!write(STDOUT_FILENO, "s", 1);
	for (;;)
		(void)pause();
}

struct victim {
	pid_t pid;
	int fd;
};

static void
start_victim(struct victim *victim, enum victim_state state, uint16_t port)
{
	char nth[8], port_text[8];
	int ends[2];

	(void)snprintf(nth, sizeof(nth), "%d", state);
	(void)snprintf(port_text, sizeof(port_text), "%u", port);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	victim->pid = fork();
	assert_true(victim->pid >= 0);
	if (victim->pid == 0) {
		(void)dup2(ends[1], STDOUT_FILENO);
		(void)execl("/proc/self/exe", "test-uroced-cm", "--victim", nth, daemon_.socket,
			    port_text, NULL);
		_exit(127);
	}
	(void)close(ends[1]);
	victim->fd = ends[0];
}

static void
await_victim(const struct victim *victim, char what)
{
	char got = 0;

	while (got != what)
		assert_int_equal(read(victim->fd, &got, 1), 1);
}

static void
kill_victim(struct victim *victim)
{
	assert_int_equal(kill(victim->pid, SIGKILL), 0);
	assert_int_equal(waitpid(victim->pid, NULL, 0), victim->pid);
	(void)close(victim->fd);
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
	/* nobody listens there */
	assert_int_equal(user_expect(&a.user, UROCE_CM_EVENT_REJECTED).status,
			 UROCE_CM_REASON_INVALID_SERVICE_ID);
	local.port = PORT;
	local.ip[15] = 77;
	assert_int_equal(ops->create(a.user.manager, UROCE_CM_PS_TCP, false, 0, &id), 0);
	assert_int_equal(ops->bind(a.user.manager, id, &local, false, false), -EADDRNOTAVAIL);
}

/* Clients have one port space. */
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

/* Wait until a port that a killed client had is free. */
static void
await_port(uint16_t port)
{
	const struct uroce_cm_manager_ops *ops = a.user.manager->ops;
	const struct uroce_cm_addr local = { 4, port, { [12] = 192, [14] = 2, [15] = 1 } };
	const uint64_t until_ms = now_ms() + TIMEOUT_MS;
	uint32_t id;

	assert_int_equal(ops->create(a.user.manager, UROCE_CM_PS_TCP, false, 0, &id), 0);
	while (ops->bind(a.user.manager, id, &local, false, false) == -EADDRINUSE) {
		assert_true(now_ms() < until_ms);
		(void)usleep(1000);
	}
	cm_end_destroy(&a, id);
}

static void
client__that_is_killed_ends_its_connections(void **state)
{
	const struct uroce_cm_manager_ops *ops = a.user.manager->ops;
	struct victim victim;
	uint32_t id;

	(void)state;
	for (enum victim_state at = LISTENS; at < NB_STATES; at++) {
		const bool is_asked = at == CONNECTS;

		if (is_asked)
			id = user_listen(&a.user, VICTIM_PORT, 0);
		cm_end_make_qp(&a);
		start_victim(&victim, at, VICTIM_PORT);
		if (is_asked) {
			const uint32_t new =
				user_expect(&a.user, UROCE_CM_EVENT_CONNECT_REQUEST).id;

			await_victim(&victim, 's');
			kill_victim(&victim);
			assert_int_equal(user_expect(&a.user, UROCE_CM_EVENT_REJECTED).id, new);
			cm_end_destroy(&a, new);
			cm_end_destroy(&a, id);
			continue;
		}
		await_victim(&victim, 'l');
		id = UROCE_CM_NO_ID;
		if (at != LISTENS)
			id = user_connect(&a.user, &a.user.gid, VICTIM_PORT, a.qp->qp_num);
		if (at == ACCEPTED || at == ESTABLISHED) {
			(void)user_expect(&a.user, UROCE_CM_EVENT_CONNECT_RESPONSE);
			cm_end_ready_qp(&a, id);
		}
		if (at == ESTABLISHED)
			assert_int_equal(ops->establish(a.user.manager, id, NULL, 0), 0);
		await_victim(&victim, 's');
		kill_victim(&victim);
		if (id != UROCE_CM_NO_ID) {
			const struct uroce_cm_event event = user_await(&a.user, NULL, NULL);

			assert_int_equal(event.id, id);
			assert_int_equal(event.kind, at == WAITS_AT_LISTENER
							     ? UROCE_CM_EVENT_REJECTED
							     : UROCE_CM_EVENT_DISCONNECTED);
			cm_end_destroy(&a, id);
		}
		await_port(VICTIM_PORT);
	}
}

/* Expect that a connection whose manager has ended goes on, and that new ones can be made. */
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
	/* the QPs know nothing of it */
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
		/* the listener listens again */
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

/* Descriptors and clients of uroced are the same after clients have come and gone. */
/* An id that is destroyed while there is no uroced is gone at once, and does not come back. */
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
	/* other calls would wait longer for the next uroced */
	assert_true(now_ms() - since_ms < DESTROY_MS);
	start_daemon();
	/* The port of the destroyed listener is free for any client. */
	id = user_listen(&a.user, PORT, 0);
	cm_end_destroy(&a, id);
}

static void
clients__that_go_leave_nothing(void **state)
{
	unsigned slots[16], nb_fds, nb_clients;
	const uint64_t until_ms = now_ms() + TIMEOUT_MS;
	struct victim victim;

	(void)state;
	(void)manager_pid();
	nb_fds = daemon_nb_fds(&daemon_);
	nb_clients = daemon_clients(&daemon_, slots, 16);
	for (unsigned i = 0; i < 3; i++) {
		start_victim(&victim, LISTENS, VICTIM_PORT);
		await_victim(&victim, 's');
		kill_victim(&victim);
	}
	while (daemon_clients(&daemon_, slots, 16) != nb_clients ||
	       daemon_nb_fds(&daemon_) > nb_fds) {
		assert_true(now_ms() < until_ms);
		(void)usleep(10000);
	}
	await_port(VICTIM_PORT);
}

/* In a child of fork(): whether each call fails. @return exit status of the child */
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
 * it. The parent goes on.
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
		/* until the parent has seen what it wants */
		(void)!read(ends[0], &byte, 1);
		_exit(status);
	}
	(void)close(ends[0]);
	link = cm_end_connect(&a, &b, PORT);
	cm_end_disconnect(&a, &b, &link);
	/* the listener ends although the child lives */
	cm_end_close(&b);
	await_port(PORT);
	(void)close(ends[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), 42);
}

static void
uroced__without_cm_serves_no_connection_management(void **state)
{
	struct uroce_cm_manager *manager;
	struct ibv_context *context;
	struct ibv_device *device;
	char spec[160];

	(void)state;
	daemon_make(&daemon_);
	daemon_start(&daemon_);
	(void)snprintf(spec, sizeof(spec), "uroced,socket=%s,qps=64,mrs=64", daemon_.socket);
	device = uroce_create_device(spec);
	assert_non_null(device);
	context = uroce_open_device(device);
	assert_non_null(context);
	assert_int_equal(uroce_cm_manager_open(context, (void (*)(void *))free, NULL, &manager),
			 -ECONNREFUSED);
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
		TEST(client__that_is_killed_ends_its_connections),
		TEST(manager__that_is_killed_is_started_again),
		TEST(uroced__that_is_killed_and_started_serves_again),
		TEST(listener__destroyed_without_uroced_is_gone),
		TEST(clients__that_go_leave_nothing),
		TEST(child__has_no_connection_manager),
		TEST(uroced__leaves_no_process_and_no_socket),
		cmocka_unit_test(uroced__without_cm_serves_no_connection_management),
	};

	if (argc < 2)
		return 1;
	(void)unsetenv("RUNTIME_DIRECTORY");
	net_init();
	if (argc == 5 && strcmp(argv[1], "--victim") == 0)
		be_victim((enum victim_state)strtol(argv[2], NULL, 10), argv[3],
			  (uint16_t)strtoul(argv[4], NULL, 10));
	daemon_program = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
