/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Tests a connection manager that has hostile clients, beside two good clients that connect to each
 * other, and one that gets no CPU.
 *
 *	test-uroced-cm_attacks UROCED
 */

#include "../draw.h"
#include "cm_end.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon.h"
#include "mux/cm_message.h"
#include "now_ms.h"
#include "process.h"
#include "send_fd.h"

#define PORT           7471
#define NB_ATTACKERS   6u
#define NB_CONNECTIONS 30u
#define OTHER_UID      65534
#define TIMEOUT_MS     300000
/* ids that an attacker names: those of the good clients are among the first ones */
#define NB_IDS 64u
#define FLOOD  500u
#define SLOW_S 7 /* time in seconds for which the connection manager gets no CPU */

static struct daemon daemon_ = { .pid = 0 };
static struct cm_end a, b;
static pid_t attackers[NB_ATTACKERS];

/* --- an attacker --------------------------------------------------------------------------------- */

static void
send_type(int socket, enum uroce_mux_cm_type type, struct uroce_mux_cm_request *request)
{
	request->type = type;
	(void)send(socket, request, uroce_mux_cm_request_size(type), MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void
say_hello(int socket)
{
	struct uroce_mux_cm_request hello = { .hello = { .version = UROCE_MUX_CM_VERSION } };

	send_type(socket, UROCE_MUX_CM_HELLO, &hello);
}

static void
send_noise(int socket)
{
	uint8_t bytes[sizeof(struct uroce_mux_cm_request) + 64];
	const size_t len = 1 + draw(sizeof(bytes));

	for (size_t i = 0; i < len; i++)
		bytes[i] = (uint8_t)draw(256);
	(void)send(socket, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void
send_half(int socket)
{
	const struct uroce_mux_cm_request hello = { .type = UROCE_MUX_CM_HELLO };

	(void)send(socket, &hello, draw((uint32_t)uroce_mux_cm_request_size(hello.type)),
		   MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Send requests, and do not read the replies. */
static void
flood_unread(int socket)
{
	struct uroce_mux_cm_request request = { .number = 1 };

	for (unsigned i = 0; i < FLOOD; i++)
		send_type(socket, UROCE_MUX_CM_NEXT_EVENT, &request);
}

/* Send requests that name all ids which the good clients may have. */
static void
name_ids(int socket)
{
	static const enum uroce_mux_cm_type types[] = {
		UROCE_MUX_CM_DESTROY, UROCE_MUX_CM_DISCONNECT, UROCE_MUX_CM_ESTABLISH,
		UROCE_MUX_CM_LISTEN,  UROCE_MUX_CM_SET_USER,   UROCE_MUX_CM_QUERY,
	};

	for (uint32_t id = 0; id < NB_IDS; id++) {
		struct uroce_mux_cm_request request = { .id = id };

		send_type(socket, types[draw(6)], &request);
		if (draw(8) == 0)
			(void)usleep(100);
	}
}

/* Connect to the listener of the good clients with a QP number and a token that are made up. */
static void
forge_connect(int socket)
{
	static const uint8_t gid[16] = { [10] = 0xff, [11] = 0xff, [12] = 192, [14] = 2, [15] = 1 };

	for (unsigned i = 0; i < 20; i++) {
		struct uroce_mux_cm_request create = { .create = { .space = UROCE_CM_PS_TCP } };
		struct uroce_mux_cm_request request = {
			.id = draw(NB_IDS),
			.connect = { .remote = { .ip_version = 4,
						 .port = PORT,
						 .ip = { [12] = 192, [14] = 2, [15] = 1 } },
				     .param = { .qpn = draw(1 << 24),
						.token = draw(2) ? 0 : draw_seed,
						.mtu_code = 3 } },
		};

		memcpy(request.connect.av.local_gid, gid, 16);
		memcpy(request.connect.av.remote_gid, gid, 16);
		send_type(socket, UROCE_MUX_CM_CREATE, &create);
		send_type(socket, UROCE_MUX_CM_CONNECT, &request);
	}
}

/* Listen at many ports, those of the good clients included. */
static void
take_ports(int socket)
{
	for (unsigned i = 0; i < 50; i++) {
		struct uroce_mux_cm_request create = { .create = { .space = UROCE_CM_PS_TCP } };
		struct uroce_mux_cm_request bind = {
			.id = draw(NB_IDS),
			.bind = { .addr = { .ip_version = 4, .port = (uint16_t)(PORT + draw(20)) },
				  .is_shared = draw(2) },
		};
		struct uroce_mux_cm_request listen = { .id = bind.id };

		send_type(socket, UROCE_MUX_CM_CREATE, &create);
		send_type(socket, UROCE_MUX_CM_BIND, &bind);
		send_type(socket, UROCE_MUX_CM_LISTEN, &listen);
	}
}

static void
send_descriptor(int socket)
{
	const char byte = 0;

	(void)send_fd(socket, &byte, draw(2), socket);
}

static void
do_nothing(int socket)
{
	(void)socket;
}

static void (*const attacks[])(int socket) = {
	send_noise,    send_half,  flood_unread,    name_ids,
	forge_connect, take_ports, send_descriptor, do_nothing,
};

#define NB_ATTACKS (sizeof(attacks) / sizeof(attacks[0]))

/* Wait for a short random time, and read some of the messages that have arrived. */
static void
read_some(int socket)
{
	struct uroce_mux_cm_reply reply;

	(void)usleep(draw(2000));
	for (unsigned i = draw(100); i > 0; i--)
		(void)!recv(socket, &reply, sizeof(reply), MSG_DONTWAIT);
}

__attribute__((noreturn)) static void
attack(unsigned seed, const char *path)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (geteuid() == 0 && (setgid(OTHER_UID) != 0 || setuid(OTHER_UID) != 0))
		_exit(1);
	draw_seed = seed;
	for (;;) {
		const int socket = uroce_mux_connect(path);

		if (socket < 0) {
			(void)usleep(1000);
			continue;
		}
		if (draw(4) > 0)
			say_hello(socket);
		for (unsigned i = draw(4); i > 0; i--) {
			attacks[draw(NB_ATTACKS)](socket);
			read_some(socket);
		}
		if (draw(3) == 0)
			(void)shutdown(socket, draw(2) ? SHUT_WR : SHUT_RD);
		(void)close(socket);
	}
}

/* --- set-up -------------------------------------------------------------------------------------- */

static unsigned
count_fds(pid_t pid)
{
	char path[64];
	unsigned nb = 0;
	DIR *fds;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	fds = opendir(path);
	assert_non_null(fds);
	while (readdir(fds))
		nb++;
	(void)closedir(fds);
	return nb;
}

/*
 * Fork the attackers. They make only system calls, because a child of fork() cannot use the devices
 * of its parent.
 */
static void
start_attackers(const char *path)
{
	for (unsigned i = 0; i < NB_ATTACKERS; i++) {
		attackers[i] = fork();
		assert_true(attackers[i] >= 0);
		if (attackers[i] == 0)
			attack(26 + i, path);
	}
}

static void
stop_attackers(void)
{
	for (unsigned i = 0; i < NB_ATTACKERS; i++) {
		if (attackers[i] <= 0)
			continue;
		(void)kill(attackers[i], SIGKILL);
		(void)waitpid(attackers[i], NULL, 0);
		attackers[i] = 0;
	}
}

static int
set_up(void **state)
{
	(void)state;
	daemon_make(&daemon_);
	daemon_.has_cm = true;
	daemon_start(&daemon_);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	stop_attackers();
	cm_end_close(&a);
	cm_end_close(&b);
	daemon_remove(&daemon_);
	return 0;
}

/* --- tests --------------------------------------------------------------------------------------- */

/*
 * Hostile clients send random messages, close at any time, do not read replies, and name ids of
 * other clients. Two good clients connect and exchange messages meanwhile. At the end the
 * connection manager has no descriptor of a hostile client left.
 */
static void
attackers__disturb_no_connection(void **state)
{
	char path[128];
	struct user_link link;
	unsigned nb_fds;
	uint64_t until_ms;
	pid_t manager;

	(void)state;
	(void)snprintf(path, sizeof(path), "%s" UROCE_MUX_CM_SUFFIX, daemon_.socket);
	assert_int_equal(chmod(daemon_.folder, 0711), 0);
	assert_int_equal(chmod(path, 0666), 0);
	manager = process_await_manager(daemon_.pid);
	cm_end_open(&b, daemon_.socket);
	(void)user_listen(&b.user, PORT, 0);
	cm_end_open(&a, daemon_.socket);
	nb_fds = count_fds(manager);
	start_attackers(path);
	for (unsigned i = 0; i < NB_CONNECTIONS; i++) {
		link = cm_end_connect(&a, &b, PORT);
		cm_end_disconnect(&a, &b, &link);
	}
	/* this connection is made during the attacks, and is used after them */
	link = cm_end_connect(&a, &b, PORT);
	(void)usleep(200000);
	cm_end_exchange(&a, &b);
	stop_attackers();
	cm_end_exchange(&b, &a);
	cm_end_disconnect(&a, &b, &link);
	user_expect_none(&a.user);
	user_expect_none(&b.user);
	/*
	 * the connection manager is the same process as before, and has no descriptors of the
	 * attackers
	 */
	assert_int_equal(process_await_manager(daemon_.pid), manager);
	until_ms = now_ms() + TIMEOUT_MS;
	while (count_fds(manager) > nb_fds + 2) {
		assert_true(now_ms() < until_ms);
		(void)usleep(10000);
	}
}

static pid_t slow_manager;

static void
continue_manager(int signal)
{
	(void)signal;
	(void)kill(slow_manager, SIGCONT);
}

/*
 * A connection manager that gets no CPU for some seconds delays a request, and the client keeps its
 * ids.
 */
static void
manager__that_is_slow_takes_no_id(void **state)
{
	struct user_link link;

	(void)state;
	cm_end_open(&b, daemon_.socket);
	cm_end_open(&a, daemon_.socket);
	(void)user_listen(&b.user, PORT, 0);
	link = cm_end_connect(&a, &b, PORT);
	slow_manager = process_await_manager(daemon_.pid);
	assert_ptr_not_equal(signal(SIGALRM, continue_manager), SIG_ERR);
	assert_int_equal(kill(slow_manager, SIGSTOP), 0);
	(void)alarm(SLOW_S);
	(void)user_listen(&b.user, PORT + 1, 0);
	user_expect_none(&a.user);
	user_expect_none(&b.user);
	cm_end_exchange(&a, &b);
	cm_end_disconnect(&a, &b, &link);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(attackers__disturb_no_connection, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(manager__that_is_slow_takes_no_id, set_up,
						tear_down),
	};

	if (argc < 2)
		return 1;
	(void)unsetenv("RUNTIME_DIRECTORY");
	net_init();
	daemon_program = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
