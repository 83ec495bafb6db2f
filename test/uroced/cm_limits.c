/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Tests the limits of the server of the connection manager: a client that does not read, that
 * floods, or that keeps ids does not prevent the service of other clients.
 */

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "../../apps/uroced/creds.h"
#include "cm/reason.h"
#include "cm_rig.h"
#include "now_ms.h"
#include "process.h"
#include "send_fd.h"

#define FLOOD   2000
#define HANG_MS 300000 /* a limit that is only reached if a call hangs */

/*
 * The server does not serve a client that does not read its replies, and goes on with other
 * clients.
 */
static void
client__that_does_not_read_costs_itself_alone(void **state)
{
	struct uroce_mux_cm_request request = { .type = UROCE_MUX_CM_NEXT_EVENT };
	const size_t size = uroce_mux_cm_request_size(request.type);
	unsigned nb_sent = 0, nb_replies = 0;
	uint64_t nb_served;

	(void)state;
	for (unsigned i = 0; i < 100 * FLOOD; i++) {
		request.number = i;
		if (send(ann.socket, &request, size, MSG_DONTWAIT) < 0) {
			assert_int_equal(errno, EAGAIN);
			cm_server_round(&server, 0);
			if (send(ann.socket, &request, size, MSG_DONTWAIT) < 0)
				break;
		}
		nb_sent++;
		if (i % 64 == 0)
			cm_server_round(&server, 0);
	}
	rig_settle();
	nb_served = server.nb_served;
	rig_settle();
	assert_int_equal(server.nb_served, nb_served);
	for (unsigned i = 0; i < 100; i++)
		program_expect_no_event(&bob);
	/* when ann reads at last, she gets all replies in order */
	for (; nb_replies < nb_sent; nb_replies++) {
		assert_int_equal(program_receive(&ann), uroce_mux_cm_reply_size(request.type));
		assert_int_equal(ann.reply.number, nb_replies);
	}
}

/*
 * A client whose replies do not fit into its socket is removed after CM_FULL_MAX_NS. Here the
 * client has hung up, but its end of the connection stays open: the client has sent the descriptor
 * of that end over the connection, where it is unread.
 */
static void
client__that_does_not_read_is_ended(void **state)
{
	struct uroce_mux_cm_request request = { .type = UROCE_MUX_CM_NEXT_EVENT };

	(void)state;
	(void)program_listen_at(&ann, PORT);
	while (server.nb_full == 0) {
		program_send_request(&ann, &request);
		cm_server_round(&server, 0);
	}
	assert_int_equal(send_fd(ann.socket, "x", 1, ann.socket), 1);
	program_hang_up(&ann);
	rig_settle();
	assert_int_equal(server.nb_full, 1);
	engine.now_ns += CM_FULL_MAX_NS - 1;
	rig_settle();
	assert_int_equal(server.nb_full, 1);
	/*
	 * 1 ns before CM_FULL_MAX_NS the server still has ann and her port, and serves other
	 * clients
	 */
	program_expect_no_event(&bob);
	engine.now_ns++;
	rig_settle();
	assert_int_equal(server.nb_full, 0);
	(void)program_listen_at(&bob, PORT);
}

/*
 * Each user has a turn in a round, so the requests of one user do not delay those of another user.
 */
static void
client__that_floods_gives_turns_to_others(void **state)
{
	struct uroce_mux_cm_request request = { .type = UROCE_MUX_CM_NEXT_EVENT };
	struct program eve, floods[8];

	(void)state;
	if (geteuid() != 0) {
		print_message("# another user needs root\n");
		skip();
	}
	program_open_as(&eve, OTHER_UID, 30);
	for (unsigned i = 0; i < 8; i++) {
		program_connect_as(&floods[i], geteuid());
		assert_int_equal(program_say_hello(&floods[i]), 0);
	}
	for (unsigned i = 0; i < 8; i++) {
		for (unsigned n = 0; n < 100; n++)
			program_send_request(&floods[i], &request);
	}
	for (unsigned n = 0; n < 50; n++) {
		program_send_request(&eve, &request);
		/* one round serves eve, and one of the clients that flood */
		cm_server_round(&server, 0);
		assert_int_equal(recv(eve.socket, &eve.reply, sizeof(eve.reply), MSG_DONTWAIT),
				 uroce_mux_cm_reply_size(request.type));
	}
	for (unsigned i = 0; i < 8; i++)
		program_hang_up(&floods[i]);
	program_hang_up(&eve);
}

static void
ids__of_a_user_are_limited(void **state)
{
	struct program eve;
	uint32_t id;

	(void)state;
	for (unsigned i = 0; i < ENGINE_IDS / 2; i++)
		assert_int_equal(program_create(i % 2 ? &ann : &bob, &id), 0);
	assert_int_equal(program_create(&ann, &id), -EDQUOT);
	assert_int_equal(program_create(&bob, &id), -EDQUOT);
	if (geteuid() != 0) {
		print_message("# left out: what remains for another user needs root\n");
		return;
	}
	program_open_as(&eve, OTHER_UID, 30);
	for (unsigned i = 0; i < ENGINE_IDS / 4; i++)
		assert_int_equal(program_create(&eve, &id), 0);
	assert_int_equal(program_create(&eve, &id), -EDQUOT);
	program_hang_up(&eve);
}

/*
 * Above a limit, requests to the listener of a user are rejected. So the other users still have ids
 * for their connections when one user floods its own listener.
 */
static void
requests__above_the_limit_are_rejected(void **state)
{
	struct uroce_mux_cm_request next = { .type = UROCE_MUX_CM_NEXT_EVENT };
	unsigned nb_rejected = 0, nb_requests = 0;
	struct program eve, joe;
	uint32_t id;

	(void)state;
	(void)program_listen_at(&bob, PORT);
	for (unsigned i = 0; i < ENGINE_IDS / 4; i++)
		(void)program_connect_id(&ann);
	while (program_ask(&ann, &next) == 1) {
		assert_int_equal(ann.reply.event.kind, UROCE_CM_EVENT_REJECTED);
		assert_int_equal(ann.reply.event.status, UROCE_CM_REASON_NO_RESOURCES);
		nb_rejected++;
	}
	while (program_ask(&bob, &next) == 1)
		nb_requests++;
	assert_true(nb_rejected > 0);
	assert_int_equal(nb_rejected + nb_requests, ENGINE_IDS / 4);
	while (program_create(&ann, &id) == 0)
		;
	if (geteuid() != 0) {
		print_message("# left out: what remains for other users needs root\n");
		return;
	}
	program_open_as(&eve, OTHER_UID, 30);
	program_open_as(&joe, OTHER_UID + 1, 40);
	(void)program_listen_at(&eve, PORT + 1);
	for (unsigned i = 0; i < 10; i++) {
		(void)program_connect_to(&joe, PORT + 1);
		(void)program_expect_event(&eve, UROCE_CM_EVENT_CONNECT_REQUEST);
	}
	program_hang_up(&eve);
	program_hang_up(&joe);
}

/*
 * A destroyed id stays in the engine, without an owner, until the peer has confirmed the end of the
 * connection. Such an id still counts for the user of its client.
 */
static void
ids__that_wait_for_a_peer_are_limited(void **state)
{
	unsigned nb = 0;
	uint32_t id, anns, bobs;

	(void)state;
	(void)program_listen_at(&bob, PORT);
	for (; nb < 20; nb++) {
		bob.nb_qps++;
		rig_establish(&anns, &bobs);
		engine.is_cut = true;
		assert_int_equal(program_request_id(&ann, UROCE_MUX_CM_DESTROY, anns), 0);
		engine.is_cut = false;
	}
	program_hang_up(&ann);
	rig_settle();
	program_open_as(&ann, geteuid(), 10);
	/*
	 * the user already has the ids that ann has destroyed, as many ids of bob, and a listener
	 * of bob
	 */
	for (unsigned i = 0; i < ENGINE_IDS / 2 - 2 * nb - 1; i++)
		assert_int_equal(program_create(&ann, &id), 0);
	assert_int_equal(program_create(&ann, &id), -EDQUOT);
}

static void
connections__of_a_user_are_limited(void **state)
{
	static struct program many[CM_CLIENTS_MAX / 2 + 1];
	unsigned nb = 0;

	(void)state;
	/* ann and bob are two of the CM_CLIENTS_MAX / 2 clients that a user may have */
	for (; nb < CM_CLIENTS_MAX / 2 - 2; nb++) {
		program_connect_as(&many[nb], geteuid());
		assert_int_equal(program_say_hello(&many[nb]), 0);
	}
	program_connect_as(&many[nb], geteuid());
	program_expect_refusal(&many[nb], "too many clients");
	while (nb > 0)
		program_hang_up(&many[--nb]);
}

static unsigned
count_clients(void)
{
	unsigned nb = 0;

	for (unsigned i = 0; i < CM_CLIENTS_MAX; i++)
		nb += server.client[i] != NULL;
	return nb;
}

/*
 * The connections that wait are accepted in several rounds, in each of which a request of each user
 * is served: clients that connect and leave in a loop do not make each request of others wait for
 * all connections of a queue.
 */
static void
connections__that_wait_are_accepted_between_requests(void **state)
{
	struct uroce_mux_cm_request request = { .type = UROCE_MUX_CM_NEXT_EVENT };
	struct program many[40];
	unsigned nb_rounds = 0;

	(void)state;
	rig_settle();
	for (unsigned i = 0; i < 40; i++)
		program_connect_as(&many[i], geteuid());
	while (count_clients() < 2 + 40) {
		const unsigned nb_before = count_clients();

		program_send_request(&ann, &request);
		cm_server_round(&server, HANG_MS);
		assert_in_range(count_clients(), nb_before + 1, nb_before + 8);
		assert_true(recv(ann.socket, &ann.reply, sizeof(ann.reply), MSG_DONTWAIT) > 0);
		nb_rounds++;
	}
	assert_in_range(nb_rounds, 5, 40);
	for (unsigned i = 0; i < 40; i++)
		program_hang_up(&many[i]);
}

/* Write a file of subordinate user IDs, and read it. */
static void
assign_subuids(const char *text)
{
	char path[] = "/tmp/test-uroced-subuid-XXXXXX";
	const int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(creds_read_subuids(path), 0);
	(void)close(fd);
	(void)unlink(path);
}

/* Connect as a user ID. @return the user whose client it is */
static uid_t
user_of(uid_t uid)
{
	struct program client;
	int slot = CM_CLIENTS_MAX;
	uid_t user;

	program_connect_as(&client, uid);
	assert_int_equal(program_say_hello(&client), 0);
	do
		slot--;
	while (!server.client[slot]);
	user = server.client[slot]->uid;
	program_hang_up(&client);
	rig_settle();
	return user;
}

/*
 * User IDs that the file of subordinate user IDs assigns to a user count as this user, so that all
 * of them together have the limits of one user. User IDs that are assigned to root do not count as
 * root.
 */
static void
subordinate_uids__are_their_user(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip(); /* only root can connect as another user */
	assert_int_equal(creds_read_subuids("/nonexistent/subuid"), 0);
	assert_int_equal(user_of(100001), 100001);
	assign_subuids("# a comment\n\n4711:100000:10\nroot:200000:10\nno such user:300000:10\n"
		       "4711:400000\n4711:500000:0\n4711:0:10\n4711:4294967290:10\n"
		       "4711:x:10\n4711:600000:1\n");
	assert_int_equal(user_of(99999), 99999);
	assert_int_equal(user_of(100000), OTHER_UID);
	assert_int_equal(user_of(100009), OTHER_UID);
	assert_int_equal(user_of(100010), 100010);
	assert_int_equal(user_of(200003), 200000);
	assert_int_equal(user_of(300003), 300003);
	assert_int_equal(user_of(400000), 400000);
	assert_int_equal(user_of(500000), 500000);
	assert_int_equal(user_of(5), 5);
	assert_int_equal(user_of(600000), OTHER_UID);
	assert_int_equal(user_of(OTHER_UID), OTHER_UID);
	assert_int_equal(creds_read_subuids("/nonexistent/subuid"), 0);
	assert_int_equal(user_of(100000), 100000);
}

/* --- connections with descriptors ---------------------------------------------------------------- */

#define NB_DESCRIPTORS 3000u
#define NB_LINGERING   200u
#define TIMEOUT_MS     300000
#define LINGER_S       3000

static unsigned
count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned nb = 0;

	assert_non_null(dir);
	while (readdir(dir))
		nb++;
	(void)closedir(dir);
	return nb;
}

/* The process that forks readers is the only child of the test. */
static pid_t
find_starter(void)
{
	pid_t starter;

	if (process_list_children(getpid(), &starter, 1) == 0) {
		print_message("# the kernel does not list the children of a process\n");
		skip();
	}
	return starter;
}

/* Let the server run until it has closed all connections that have ended. */
static void
wait_until_closed(unsigned nb_fds)
{
	const uint64_t until_ms = now_ms() + TIMEOUT_MS;

	while (count_fds() > nb_fds && now_ms() < until_ms)
		cm_server_round(&server, 10);
	assert_in_range(count_fds(), 0, nb_fds);
	assert_int_equal(closing_nb_of(&server.closing, geteuid()), 0);
	assert_int_equal(closing_nb_of(&server.closing, OTHER_UID), 0);
}

/* Connect, send a descriptor, and hang up before the server has accepted the connection. */
static void
pass_and_leave(uid_t uid, int fd)
{
	struct program client;

	program_connect_as(&client, uid);
	assert_int_equal(send_fd(client.socket, "x", 1, fd), 1);
	program_hang_up(&client);
}

static void
pass_null_and_leave(int null)
{
	pass_and_leave(geteuid(), null);
	cm_server_round(&server, 0);
}

/* Pass the last descriptor of a TCP socket whose close() waits for the peer, and leave. */
static void
pass_lingering_and_leave(uid_t uid, int peers)
{
	const struct linger linger = { 1, LINGER_S };
	static const char bytes[65536];
	struct sockaddr_in addr;
	socklen_t len = sizeof(addr);
	const int few = 4096, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &few, sizeof(few));
	assert_int_equal(getsockname(peers, (struct sockaddr *)&addr, &len), 0);
	assert_int_equal(connect(fd, (const struct sockaddr *)&addr, len), 0);
	while (send(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	pass_and_leave(uid, fd);
	(void)close(fd);
	cm_server_round(&server, 0);
}

/* Make a TCP listener that reads no bytes. The test is skipped if there is no TCP. */
static int
listen_without_reading(void)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const int few = 4096, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &few, sizeof(few));
	if (bind(fd, (const struct sockaddr *)&addr, sizeof(addr)) < 0 ||
	    listen(fd, 2 * NB_LINGERING) < 0) {
		print_message("# no TCP on 127.0.0.1\n");
		(void)close(fd);
		skip();
	}
	return fd;
}

/* Allow this process, which is the server, as many descriptors as a daemon has. */
static void
raise_limit(void)
{
	struct rlimit files;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	files.rlim_cur = files.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
}

/*
 * While close() of a descriptor lingers, more connections with descriptors end than the server has
 * places for. The server closes all of them.
 */
static void
connections__with_descriptors_are_all_closed(void **state)
{
	const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int peers;
	unsigned nb_fds;

	(void)state;
	raise_limit();
	peers = listen_without_reading();
	nb_fds = count_fds();
	pass_lingering_and_leave(geteuid(), peers);
	for (unsigned i = 0; i < NB_DESCRIPTORS; i++)
		pass_null_and_leave(null);
	wait_until_closed(nb_fds);
	program_expect_no_event(&ann);
	(void)close(null);
	(void)close(peers);
}

/*
 * A user sends descriptors whose close() lingers, and has no other connection meanwhile. The number
 * of processes that close them is bounded.
 */
static void
readers__of_a_user_are_few(void **state)
{
	pid_t children[2 * NB_LINGERING];
	unsigned nb_fds, nb_children = 0;
	pid_t starter;
	int peers;

	(void)state;
	if (geteuid() != 0) {
		print_message("# another user needs root\n");
		skip();
	}
	starter = find_starter();
	peers = listen_without_reading();
	nb_fds = count_fds();
	for (unsigned i = 0; i < NB_LINGERING; i++) {
		unsigned nb_now;

		pass_lingering_and_leave(OTHER_UID, peers);
		/*
		 * give the server time, in which it would start more processes if their number had
		 * no bound
		 */
		cm_server_round(&server, 5);
		nb_now = process_list_children(starter, children, 2 * NB_LINGERING);
		nb_children = nb_now > nb_children ? nb_now : nb_children;
	}
	assert_in_range(nb_children, 0, 2 * (READERS_STUCK_MAX + 1));
	wait_until_closed(nb_fds);
	(void)close(peers);
}

/*
 * A connection counts for its user until it is closed. Here the process that forks the closers is
 * stopped, so no connection with descriptors is closed. Other users are served.
 */
static void
connections__that_are_not_closed_count(void **state)
{
	const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	const pid_t starter = find_starter();
	struct program more, eve;
	unsigned nb_fds;

	(void)state;
	raise_limit();
	nb_fds = count_fds();
	assert_int_equal(kill(starter, SIGSTOP), 0);
	for (unsigned i = 0; i < CM_CLIENTS_MAX / 2; i++)
		pass_null_and_leave(null);
	program_connect_as(&more, geteuid());
	program_expect_refusal(&more, "too many clients");
	for (unsigned i = 0; i < CM_CLIENTS_MAX; i++)
		pass_null_and_leave(null);
	if (geteuid() == 0) {
		program_open_as(&eve, OTHER_UID, 30);
		program_hang_up(&eve);
	}
	assert_int_equal(kill(starter, SIGCONT), 0);
	wait_until_closed(nb_fds);
	program_connect_as(&more, geteuid());
	assert_int_equal(program_say_hello(&more), 0);
	program_hang_up(&more);
	(void)close(null);
}

/*
 * The ids of a client are in a list, so the end of a client does not need a search through the ids
 * of all clients.
 */
static void
ids__of_a_client_are_a_list(void **state)
{
	static const uint32_t left[] = { 900, 7, 0 };
	struct cm_ids ids;

	(void)state;
	assert_int_equal(cm_ids_init(&ids, 1000), 0);
	for (uint32_t id = 0; id < 1000; id++)
		cm_ids_own(&ids, id, id == 0 || id == 7 || id == 500 || id == 900 ? 3 : 4, false);
	cm_ids_disown(&ids, 500);
	assert_int_equal(cm_ids_last_of(&ids, 2), UROCE_CM_NO_ID);
	assert_int_equal(cm_ids_last_of(&ids, 4), 999);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(cm_ids_last_of(&ids, 3), left[i]);
		cm_ids_disown(&ids, left[i]);
		assert_true(cm_ids_is_free(&ids, left[i]));
	}
	assert_int_equal(cm_ids_last_of(&ids, 3), UROCE_CM_NO_ID);
	assert_int_equal(cm_ids_last_of(&ids, 4), 999);
	cm_ids_fini(&ids);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_set_up, rig_tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(client__that_does_not_read_costs_itself_alone),
		TEST(client__that_does_not_read_is_ended),
		TEST(client__that_floods_gives_turns_to_others),
		TEST(ids__of_a_user_are_limited),
		TEST(requests__above_the_limit_are_rejected),
		TEST(ids__that_wait_for_a_peer_are_limited),
		TEST(ids__of_a_client_are_a_list),
		TEST(connections__that_wait_are_accepted_between_requests),
		TEST(subordinate_uids__are_their_user),
		TEST(connections__of_a_user_are_limited),
		TEST(connections__with_descriptors_are_all_closed),
		TEST(readers__of_a_user_are_few),
		TEST(connections__that_are_not_closed_count),
	};

	if (getenv("UROCE_EMULATED")) {
		printf("1..0 # SKIP an emulated CPU takes minutes for the floods\n");
		return 0;
	}

	if (rig_start() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
