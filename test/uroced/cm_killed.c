/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Kills a client of uroced in each state of a connection, and uroced while 64 clients are
 * connected. Connections between other clients must go on. New connections must be possible. The
 * killed process must leave no id, no port and no descriptor behind.
 *
 *	test-uroced-cm_killed UROCED [ROUNDS]
 *	test-uroced-cm_killed --victim SOCKET STATE   a program that is killed in a state
 *	test-uroced-cm_killed --crowd SOCKET NTH      a program with many clients
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

#define PORT         7471
#define VICTIM_PORT  7472
#define CROWD_PORT   8000
#define TIMEOUT_MS   300000
#define NB_PROCESSES 4u
#define NB_ENDS      16u /* number of clients in each process of be_crowd() */
#define CROWD_MIB    "768"
#define NO_EVENT     (-1)

static struct daemon daemon_ = { .pid = 0 };
/* two clients with a connection that must survive the end of other clients */
static struct cm_end a, b;
static unsigned nb_rounds = 1;

/* --- programs of steps --------------------------------------------------------------------------- */

/* One side of a connection: the client that is killed (the victim), or its peer (the survivor). */
struct side {
	struct cm_end end;
	uint32_t listener, id;
	bool is_datagram;
};

static void
step_create(struct side *side)
{
	struct uroce_cm_manager *manager = side->end.user.manager;

	assert_int_equal(manager->ops->create(manager, UROCE_CM_PS_TCP, false, 0, &side->listener),
			 0);
}

static void
step_bind(struct side *side)
{
	assert_int_equal(cm_end_bind(&side->end, VICTIM_PORT, side->is_datagram, &side->listener),
			 0);
}

static void
step_listen(struct side *side)
{
	struct uroce_cm_manager *manager = side->end.user.manager;

	step_bind(side);
	assert_int_equal(manager->ops->listen(manager, side->listener, 8), 0);
}

static void
step_stop(struct side *side)
{
	cm_end_destroy(&side->end, side->listener);
}

static void
step_connect(struct side *side)
{
	struct uroce_cm_manager *manager = side->end.user.manager;
	const union ibv_gid *gid = &side->end.user.gid;
	struct uroce_cm_addr remote = { .ip_version = 4, .port = VICTIM_PORT };
	struct uroce_cm_param param = { .mtu_code = IBV_MTU_1024, .qpn = side->end.qp->qp_num };
	struct uroce_cm_av av = { .port = 1, .hop_limit = 64 };

	memcpy(&remote.ip[12], &gid->raw[12], 4);
	memcpy(av.local_gid, gid->raw, 16);
	memcpy(av.remote_gid, gid->raw, 16);
	assert_int_equal(cm_end_bind(&side->end, 0, side->is_datagram, &side->id), 0);
	assert_int_equal(manager->ops->connect(manager, side->id, &remote, &av, &param), 0);
}

static void
step_requested(struct side *side)
{
	side->id = user_expect(&side->end.user, UROCE_CM_EVENT_CONNECT_REQUEST).id;
}

static void
step_accept(struct side *side)
{
	if (!side->is_datagram)
		cm_end_ready_qp(&side->end, side->id);
	user_accept(&side->end.user, side->id, side->end.qp->qp_num);
}

static void
step_reject(struct side *side)
{
	struct uroce_cm_manager *manager = side->end.user.manager;

	assert_int_equal(
		manager->ops->reject(manager, side->id, UROCE_CM_REASON_CONSUMER_DEFINED, "no", 3),
		0);
}

static void
step_responded(struct side *side)
{
	(void)user_expect(&side->end.user, UROCE_CM_EVENT_CONNECT_RESPONSE);
	cm_end_ready_qp(&side->end, side->id);
}

static void
step_establish(struct side *side)
{
	struct uroce_cm_manager *manager = side->end.user.manager;

	assert_int_equal(manager->ops->establish(manager, side->id, NULL, 0), 0);
}

static void
step_established(struct side *side)
{
	(void)user_expect(&side->end.user, UROCE_CM_EVENT_ESTABLISHED);
}

static void
step_disconnect(struct side *side)
{
	struct uroce_cm_manager *manager = side->end.user.manager;

	assert_int_equal(manager->ops->disconnect(manager, side->id, NULL, 0), 0);
}

static void
step_disconnected(struct side *side)
{
	(void)user_expect(&side->end.user, UROCE_CM_EVENT_DISCONNECTED);
}

static void
step_rejected(struct side *side)
{
	(void)user_expect(&side->end.user, UROCE_CM_EVENT_REJECTED);
}

static void
step_destroy(struct side *side)
{
	cm_end_destroy(&side->end, side->id);
}

/* clang-format off */
static const struct step {
	const char *name;
	void (*run)(struct side *side);
} steps[] = {
	{ "create", step_create },           { "bind", step_bind },
	{ "listen", step_listen },           { "stop", step_stop },
	{ "connect", step_connect },         { "requested", step_requested },
	{ "accept", step_accept },           { "reject", step_reject },
	{ "responded", step_responded },     { "establish", step_establish },
	{ "established", step_established }, { "disconnect", step_disconnect },
	{ "disconnected", step_disconnected }, { "rejected", step_rejected },
	{ "destroy", step_destroy },
};

/*
 * The states in which a client (the victim) is killed: its steps before that, and the steps of its
 * peer (the survivor). `after` is the event that the survivor gets when the victim is killed.
 */
static const struct killed {
	const char *name;
	const char *victim, *survivor;
	int after;
	bool is_datagram;
	bool survivor_is_first; /* the survivor listens before the victim starts */
} killed[] = {
	{ "with an id", "create", "", NO_EVENT },
	{ "bound", "bind", "", NO_EVENT },
	{ "listening", "listen", "", NO_EVENT },
	{ "with a request that it has not taken", "listen", "connect", UROCE_CM_EVENT_REJECTED },
	{ "with a request", "listen requested", "connect", UROCE_CM_EVENT_REJECTED },
	{ "that has rejected", "listen requested reject", "connect rejected", NO_EVENT },
	{ "that has accepted", "listen requested accept", "connect responded",
	  UROCE_CM_EVENT_DISCONNECTED },
	{ "that does not know that it is connected", "listen requested accept",
	  "connect responded establish", UROCE_CM_EVENT_DISCONNECTED },
	{ "connected, passive", "listen requested accept established", "connect responded establish",
	  UROCE_CM_EVENT_DISCONNECTED },
	{ "that disconnects", "listen requested accept established disconnect",
	  "connect responded establish disconnected", NO_EVENT },
	{ "that was disconnected", "listen requested accept established disconnected",
	  "connect responded establish disconnect", UROCE_CM_EVENT_DISCONNECTED },
	{ "in TIMEWAIT", "listen requested accept established disconnected disconnect",
	  "connect responded establish disconnect disconnected", NO_EVENT },
	{ "that has destroyed its id", "listen requested accept established destroy",
	  "connect responded establish disconnected", NO_EVENT },
	{ "that has destroyed its listener", "listen requested accept established stop",
	  "connect responded establish", UROCE_CM_EVENT_DISCONNECTED },
	{ "that asks for a connection", "connect", "requested", UROCE_CM_EVENT_REJECTED,
	  .survivor_is_first = true },
	{ "that was accepted and does not know", "connect", "requested accept",
	  UROCE_CM_EVENT_REJECTED, .survivor_is_first = true },
	{ "that was accepted", "connect responded", "requested accept", UROCE_CM_EVENT_REJECTED,
	  .survivor_is_first = true },
	{ "connected, active", "connect responded establish", "requested accept established",
	  UROCE_CM_EVENT_DISCONNECTED, .survivor_is_first = true },
	{ "that nobody hears", "connect", "", NO_EVENT },
	{ "with a datagram service", "listen", "", NO_EVENT, .is_datagram = true },
	{ "with a request for its datagram service", "listen requested", "connect",
	  UROCE_CM_EVENT_UNREACHABLE, .is_datagram = true },
	{ "that has answered for its datagram service", "listen requested accept",
	  "connect established", NO_EVENT, .is_datagram = true },
	{ "that asks for a datagram service", "connect", "requested", NO_EVENT,
	  .is_datagram = true, .survivor_is_first = true },
};
/* clang-format on */

#define NB_KILLED (sizeof(killed) / sizeof(killed[0]))

static void
run_step(struct side *side, const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		if (strlen(steps[i].name) == len && memcmp(steps[i].name, name, len) == 0) {
			steps[i].run(side);
			return;
		}
	}
	fail_msg("no step %.*s", (int)len, name);
}

static void
run_steps(struct side *side, const char *names)
{
	while (*names != '\0') {
		const size_t len = strcspn(names, " ");

		run_step(side, names, len);
		names += len + (names[len] == ' ');
	}
}

/* --- victims ------------------------------------------------------------------------------------- */

/* In a child: the pipe to its parent, and the arguments of its role. */
static int report_fd;
static const char *child_socket;
static unsigned child_nth;

static void
tell(char what)
{
	(void)!write(report_fd, &what, 1);
}

/*
 * Run the program that is killed. It reports to its parent when it listens, and when it has reached
 * the state in which it is to be killed.
 */
static void
be_victim(void **unused)
{
	static struct side side;
	const struct killed *state = &killed[child_nth % NB_KILLED];
	const char *rest = state->victim;

	(void)unused;
	net_init();
	side.is_datagram = state->is_datagram;
	cm_end_open(&side.end, child_socket);
	cm_end_make_qp(&side.end);
	if (strncmp(rest, "listen", 6) == 0) {
		step_listen(&side);
		rest += rest[6] == ' ' ? 7 : 6;
	}
	tell('l');
	run_steps(&side, rest);
	tell('s');
	for (;;)
		(void)pause();
}

struct child {
	pid_t pid;
	int in, out; /* pipes from the child's standard output, and to its standard input */
};

static void
start_child(struct child *child, const char *role, const char *nth)
{
	int out[2], in[2];

	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	child->pid = fork();
	assert_true(child->pid >= 0);
	if (child->pid == 0) {
		(void)dup2(out[1], STDOUT_FILENO);
		(void)dup2(in[0], STDIN_FILENO);
		(void)execl("/proc/self/exe", "test-uroced-cm_killed", role, daemon_.socket, nth,
			    NULL);
		_exit(127);
	}
	(void)close(out[1]);
	(void)close(in[0]);
	child->in = out[0];
	child->out = in[1];
}

static void
await_child(const struct child *child, char what)
{
	char got = 0;

	while (got != what)
		assert_int_equal(read(child->in, &got, 1), 1);
}

static int
reap_child(struct child *child)
{
	int status;

	assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
	(void)close(child->in);
	(void)close(child->out);
	return status;
}

static void
start_daemon(void)
{
	daemon_.has_cm = true;
	daemon_start(&daemon_);
}

/* --- clients and descriptors that are left ------------------------------------------------------- */

static void
await_clients(unsigned nb)
{
	const uint64_t until_ms = now_ms() + TIMEOUT_MS;
	unsigned slots[16];

	while (daemon_clients(&daemon_, slots, 16) != nb) {
		assert_true(now_ms() < until_ms);
		(void)usleep(10000);
	}
}

static void
await_fds(unsigned nb_max)
{
	const uint64_t until_ms = now_ms() + TIMEOUT_MS;

	while (daemon_nb_fds(&daemon_) > nb_max) {
		assert_true(now_ms() < until_ms);
		(void)usleep(10000);
	}
}

/* --- a client that is killed, in each state ------------------------------------------------------ */

static void
expect_after(struct side *survivor, const struct killed *state)
{
	if (state->after != NO_EVENT) {
		const struct uroce_cm_event event =
			user_expect(&survivor->end.user, (enum uroce_cm_event_kind)state->after);

		assert_int_equal(event.id, survivor->id);
	}
	if (survivor->id != UROCE_CM_NO_ID)
		step_destroy(survivor);
	if (state->survivor_is_first)
		step_stop(survivor);
	user_expect_none(&survivor->end.user);
	cm_end_await_port(&survivor->end, VICTIM_PORT, state->is_datagram);
}

/* Kill a client in a state, and check what other clients notice. */
static void
kill_in(struct side *survivor, unsigned nth)
{
	const struct killed *state = &killed[nth];
	struct child victim;
	char text[8];

	print_message("# a client %s\n", state->name);
	survivor->is_datagram = state->is_datagram;
	survivor->id = UROCE_CM_NO_ID;
	cm_end_make_qp(&survivor->end);
	if (state->survivor_is_first)
		step_listen(survivor);
	(void)snprintf(text, sizeof(text), "%u", nth);
	start_child(&victim, "--victim", text);
	await_child(&victim, 'l');
	run_steps(survivor, state->survivor);
	await_child(&victim, 's');
	assert_int_equal(kill(victim.pid, SIGKILL), 0);
	(void)reap_child(&victim);
	expect_after(survivor, state);
	cm_end_exchange(&a, &b);
	cm_end_exchange(&b, &a);
}

static void
client__that_is_killed_in_any_state_harms_no_other(void **state)
{
	static struct side survivor;
	struct user_link link;
	unsigned nb_fds;

	(void)state;
	daemon_make(&daemon_);
	start_daemon();
	cm_end_open(&a, daemon_.socket);
	cm_end_open(&b, daemon_.socket);
	cm_end_open(&survivor.end, daemon_.socket);
	(void)user_listen(&b.user, PORT, 0);
	link = cm_end_connect(&a, &b, PORT);
	(void)process_await_manager(daemon_.pid);
	nb_fds = daemon_nb_fds(&daemon_);
	for (unsigned round = 0; round < nb_rounds; round++) {
		for (unsigned i = 0; i < NB_KILLED; i++)
			kill_in(&survivor, i);
	}
	await_clients(4); /* the clients a, b and survivor, and the connection manager */
	await_fds(nb_fds);
	cm_end_disconnect(&a, &b, &link);
	link = cm_end_connect(&survivor.end, &b, PORT);
	cm_end_disconnect(&survivor.end, &b, &link);
	user_expect_none(&a.user);
	user_expect_none(&b.user);
	cm_end_close(&survivor.end);
}

/* --- uroced, with a crowd ------------------------------------------------------------------------ */

/*
 * Expect that a connection ends for its ids because the connection manager has ended, and that its
 * QPs still exchange messages.
 */
static void
expect_end_of(struct cm_end *from, struct cm_end *to, const struct user_link *link)
{
	assert_int_equal(user_expect(&from->user, UROCE_CM_EVENT_DISCONNECTED).id, link->active);
	assert_int_equal(user_expect(&to->user, UROCE_CM_EVENT_DISCONNECTED).id, link->passive);
	cm_end_exchange(from, to);
	cm_end_exchange(to, from);
	cm_end_destroy(from, link->active);
	cm_end_destroy(to, link->passive);
}

/*
 * Run a program with many clients, which are connected in pairs. The parent writes a byte to the
 * program each time when it has killed uroced and started it again.
 */
static void
be_crowd(void **state)
{
	static struct cm_end ends[NB_ENDS];
	static struct user_link link[NB_ENDS];
	const unsigned nth = child_nth;
	char byte;

	(void)state;
	net_init_with(CROWD_MIB);
	for (unsigned i = 0; i < NB_ENDS; i++)
		cm_end_open(&ends[i], child_socket);
	for (unsigned i = 0; i < NB_ENDS; i += 2) {
		const uint16_t port = (uint16_t)(CROWD_PORT + nth * NB_ENDS + i);

		(void)user_listen(&ends[i].user, port, 0);
		link[i] = cm_end_connect(&ends[i + 1], &ends[i], port);
	}
	tell('s');
	while (read(STDIN_FILENO, &byte, 1) == 1) {
		for (unsigned i = 0; i < NB_ENDS; i += 2) {
			expect_end_of(&ends[i + 1], &ends[i], &link[i]);
			/* the listener exists in the new connection manager, too */
			link[i] = cm_end_connect(&ends[i + 1], &ends[i],
						 (uint16_t)(CROWD_PORT + nth * NB_ENDS + i));
		}
		tell('s');
	}
	for (unsigned i = 0; i < NB_ENDS; i++)
		cm_end_close(&ends[i]);
}

static void
uroced__that_is_killed_with_a_crowd_serves_it_again(void **state)
{
	struct child crowd[NB_PROCESSES];

	(void)state;
	daemon_make(&daemon_);
	start_daemon();
	for (unsigned i = 0; i < NB_PROCESSES; i++) {
		char text[8];

		(void)snprintf(text, sizeof(text), "%u", i);
		start_child(&crowd[i], "--crowd", text);
	}
	for (unsigned i = 0; i < NB_PROCESSES; i++)
		await_child(&crowd[i], 's');
	for (unsigned round = 0; round < 2; round++) {
		daemon_kill(&daemon_);
		start_daemon();
		for (unsigned i = 0; i < NB_PROCESSES; i++)
			assert_int_equal(write(crowd[i].out, "k", 1), 1);
		for (unsigned i = 0; i < NB_PROCESSES; i++)
			await_child(&crowd[i], 's');
	}
	for (unsigned i = 0; i < NB_PROCESSES; i++) {
		(void)close(crowd[i].out);
		crowd[i].out = -1;
	}
	for (unsigned i = 0; i < NB_PROCESSES; i++)
		assert_int_equal(reap_child(&crowd[i]), 0);
	await_clients(1); /* only the connection manager is left */
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

/*
 * Run a child as a test case, because cmocka prints the reason of a failure only for these. The
 * output of cmocka goes to standard error, and the reports go to the pipe of standard output.
 */
static int
be_child(CMUnitTestFunction role, const char *socket, const char *nth)
{
	const struct CMUnitTest tests[] = { { "child", role, NULL, NULL, NULL } };

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	child_socket = socket;
	child_nth = (unsigned)strtoul(nth, NULL, 10);
	report_fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
	(void)dup2(STDERR_FILENO, STDOUT_FILENO);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(client__that_is_killed_in_any_state_harms_no_other,
					  tear_down),
		cmocka_unit_test_teardown(uroced__that_is_killed_with_a_crowd_serves_it_again,
					  tear_down),
	};

	if (argc < 2)
		return 1;
	(void)unsetenv("RUNTIME_DIRECTORY");
	if (argc == 4 && strcmp(argv[1], "--crowd") == 0)
		return be_child(be_crowd, argv[2], argv[3]);
	if (argc == 4 && strcmp(argv[1], "--victim") == 0)
		return be_child(be_victim, argv[2], argv[3]);
	net_init();
	daemon_program = argv[1];
	if (argc > 2)
		nb_rounds = (unsigned)strtoul(argv[2], NULL, 10);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
