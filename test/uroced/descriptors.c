/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Descriptors whose close() takes as long as their sender wants. For a TCP socket with SO_LINGER
 * and bytes that the peer does not take, close() of the last descriptor waits until a signal comes.
 * For a file of a FUSE file system that does not respond, close() of any descriptor waits in an
 * uninterruptible sleep. Clients of other users must not wait, and uroced must end.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "fuse.h"
#include "pair.h"
#include "now_ms.h"

#define NOBODY     65534
#define LINGER_S   3000   /* seconds for which an attacker lives, longer than any test */
#define TIMEOUT_MS 300000 /* a limit that only a hang exceeds */
#define NB_CROWD   30u
/* the exit status of an attacker whose attack is not possible on this machine */
#define NO_MEANS  77
#define NB_UNREAD 400u
#define NB_FLOOD  3000u

static struct daemon daemon_;
static struct pair pair;
static int listener = -1; /* TCP listener; nobody reads from its connections */
static pid_t attacker;    /* process ID of the attacker; 0 if there is no attacker */

/* the processes that wait for the FUSE server of the latest attack */
static struct fuse_waiting *waiting;

static int
set_up(void **state)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const int few = 4096;

	(void)state;
	waiting = mmap(NULL, sizeof(*waiting), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	assert_true(waiting != MAP_FAILED);
	daemon_make(&daemon_);
	daemon_start(&daemon_);
	assert_int_equal(chmod(daemon_.folder, 0711), 0);
	assert_int_equal(chmod(daemon_.socket, 0666), 0);
	pair_open(&pair, &daemon_);
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	(void)setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &few, sizeof(few));
	if (bind(listener, (const struct sockaddr *)&addr, sizeof(addr)) < 0 ||
	    listen(listener, 128) < 0) {
		(void)close(listener);
		listener = -1;
	}
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	/* a test that failed may have left the attacker, for whose descriptors uroced may wait */
	if (attacker > 0)
		(void)kill(-attacker, SIGKILL);
	pair_close(&pair);
	daemon_remove(&daemon_);
	(void)close(listener);
	return 0;
}

/*
 * Skip the test if this machine has no TCP on loopback, or if this process is not root and so
 * cannot become another user.
 */
static void
skip_without_means(void)
{
	if (listener >= 0 && geteuid() == 0)
		return;
	print_message("# %s\n", listener < 0 ? "no TCP on 127.0.0.1" : "not root");
	skip();
}

/* --- the attacker, a child process --------------------------------------------------------------- */

static int fuse_fd = -1; /* a FUSE file, if the attack sends one; else -1 */

/*
 * Make a TCP connection whose close() blocks, because its peer does not read the bytes that were
 * sent.
 * @return the socket
 */
static int
make_lingering(void)
{
	const struct linger linger = { 1, LINGER_S };
	static const char bytes[65536];
	struct sockaddr_in addr;
	socklen_t len = sizeof(addr);
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (getsockname(listener, (struct sockaddr *)&addr, &len) < 0 ||
	    connect(fd, (const struct sockaddr *)&addr, len) < 0)
		_exit(2);
	while (send(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	return fd;
}

static void
send_fd(int socket, const void *bytes, size_t len, int fd)
{
	struct iovec iov = { (void *)(uintptr_t)bytes, len };
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} room = { .bytes = { 0 } };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &room,
			      .msg_controllen = sizeof(room) };

	room.align = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
				       .cmsg_type = SCM_RIGHTS,
				       .cmsg_len = CMSG_LEN(sizeof(fd)) };
	memcpy(CMSG_DATA(&room.align), &fd, sizeof(fd));
	(void)sendmsg(socket, &msg, MSG_NOSIGNAL);
}

/* Send a descriptor and close it, so that the last descriptor of its file is in the message. */
static void
send_last(int socket, const void *bytes, size_t len, int fd)
{
	send_fd(socket, bytes, len, fd);
	(void)close(fd);
}

/*
 * Send a descriptor whose close() blocks. A FUSE file stays open, because close() of any of its
 * descriptors blocks. A TCP socket belongs to a process that ends: if uroced has closed its
 * descriptor before, this one is the last, and the end of a process does not linger as close()
 * does.
 */
static void
send_lingering(int socket, const void *bytes, size_t len)
{
	int status = 0;
	pid_t child;

	if (fuse_fd >= 0) {
		send_fd(socket, bytes, len, fuse_fd);
		return;
	}
	child = fork();
	if (child == 0) {
		send_fd(socket, bytes, len, make_lingering());
		_exit(0);
	}
	if (waitpid(child, &status, 0) != child || status != 0)
		_exit(2);
}

static void
attack_with_hello(void)
{
	const struct uroce_mux_hello hello = { UROCE_MUX_HELLO, UROCE_MUX_VERSION };

	send_lingering(uroce_mux_connect(daemon_.socket), &hello, sizeof(hello));
}

/* Send an ATTACH with a descriptor whose close() blocks, in place of shared memory. */
static void
attack_with_attach(void)
{
	struct uroce_mux_attach attach = { .type = UROCE_MUX_ATTACH, .version = UROCE_MUX_VERSION };

	(void)uroce_shm_lay_out(&attach.plan, 1, 64, 4400, 64);
	send_lingering(uroce_mux_connect(daemon_.socket), &attach, sizeof(attach));
}

/* Send more messages with descriptors behind a message that ends the connection. */
static void
attack_with_what_nobody_reads(void)
{
	const int fd = uroce_mux_connect(daemon_.socket);
	union uroce_mux_message lease = { .lease = { UROCE_MUX_LEASE, 1 } };

	send_lingering(fd, "x", 1);
	send_lingering(fd, "x", 1);
	(void)uroce_mux_send(fd, &lease, -1);
	send_lingering(fd, "x", 1);
}

/* Send a descriptor behind a message without bytes, which looks like the end of the connection. */
static void
attack_behind_an_empty_message(void)
{
	const int fd = uroce_mux_connect(daemon_.socket);

	(void)send(fd, "", 0, MSG_NOSIGNAL);
	send_lingering(fd, "x", 1);
}

/*
 * Connections of the attacker. The attacker closes them when uroced has refused them, and does not
 * read the reason.
 */
static int unread[NB_UNREAD];

/*
 * Send HELLO with a descriptor on many connections. close() of the first descriptor blocks a
 * reader. While it is blocked, uroced cannot hand over all other connections, so uroced keeps the
 * last of them for later.
 */
static void
attack_and_leave_unread(void)
{
	const struct uroce_mux_hello hello = { UROCE_MUX_HELLO, UROCE_MUX_VERSION };

	for (unsigned i = 0; i < NB_UNREAD; i++) {
		const bool is_lingering = i == 0 || i + NB_CROWD >= NB_UNREAD;

		while ((unread[i] = uroce_mux_connect(daemon_.socket)) < 0)
			(void)usleep(1000);
		if (is_lingering)
			send_lingering(unread[i], &hello, sizeof(hello));
		else
			send_last(unread[i], &hello, sizeof(hello),
				  open("/dev/null", O_RDONLY | O_CLOEXEC));
	}
}

static void
close_unread(void)
{
	for (unsigned i = NB_UNREAD; i-- > 0 && unread[i] > 0;) {
		struct pollfd fd = { unread[i], POLLIN, 0 };

		(void)poll(&fd, 1, -1);
		(void)close(unread[i]);
	}
}

/*
 * Send a descriptor whose close() blocks, and then many connections with descriptors that are
 * closed at once.
 */
static void
attack_with_a_flood(void)
{
	const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	attack_with_hello();
	for (unsigned i = 0; i < NB_FLOOD; i++) {
		int fd;

		while ((fd = uroce_mux_connect(daemon_.socket)) < 0)
			(void)usleep(100);
		send_last(fd, "x", 1, dup(null));
		(void)close(fd);
	}
}

static void
attack_with_a_crowd(void)
{
	for (unsigned i = 0; i < NB_CROWD; i++) {
		if (i % 3 == 0)
			attack_with_hello();
		else if (i % 3 == 1)
			attack_with_attach();
		else
			attack_with_what_nobody_reads();
	}
}

/*
 * Prepare this process for an attack. If the attack sends a FUSE file, open it. If this machine has
 * no FUSE, print the reason and end the process.
 */
static void
prepare_attack(bool is_fuse)
{
	char folder[sizeof(daemon_.folder) + 8];
	const char *why;

	/* make a process group with the FUSE server, so that both are killed together */
	(void)setpgid(0, 0);
	if (!is_fuse)
		return;
	(void)snprintf(folder, sizeof(folder), "%s/fuse", daemon_.folder);
	(void)mkdir(folder, 0777);
	fuse_fd = fuse_open_file(folder, waiting, &why);
	if (fuse_fd >= 0)
		return;
	print_message("# %s\n", why);
	(void)fflush(stdout);
	_exit(NO_MEANS);
}

/*
 * Start an attack as another user, in a process that lives until it is killed.
 * @param ready  a pipe that is written to when the attacker has sent everything; NULL if nobody
 *         waits for that
 * @return the attacker's process
 */
static pid_t
start_attack(void (*how)(void), const int *ready, bool is_fuse)
{
	const pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid > 0)
		return pid;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	prepare_attack(is_fuse);
	if (setresgid(NOBODY, NOBODY, NOBODY) < 0 || setresuid(NOBODY, NOBODY, NOBODY) < 0)
		_exit(1);
	/* set the parent-death signal again, because setresuid() has cleared it */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	how();
	if (ready)
		(void)!write(*ready, "", 1);
	close_unread();
	for (;;)
		(void)pause();
}

/*
 * Attack as another user, in a process that lives until it is killed. Meanwhile uroced is stopped,
 * until the attacker has closed the descriptors that it has sent. So uroced has the last ones, and
 * blocks when it closes them.
 * @return the attacker's process; 0 if the attack is not possible on this machine, and the reason
 *         was printed
 */
static pid_t
attack_with(bool is_fuse, void (*how)(void))
{
	int ends[2], status;
	bool has_attacked;
	char done;
	pid_t pid;

	/* a test that failed may have left an attacker, for whose descriptors uroced may wait */
	if (attacker > 0)
		(void)kill(-attacker, SIGKILL);
	atomic_store(&waiting->nb, 0);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(kill(daemon_.pid, SIGSTOP), 0);
	pid = start_attack(how, &ends[1], is_fuse);
	(void)close(ends[1]);
	has_attacked = read(ends[0], &done, 1) == 1;
	(void)close(ends[0]);
	assert_int_equal(kill(daemon_.pid, SIGCONT), 0);
	if (has_attacked)
		return attacker = pid;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), NO_MEANS);
	return 0;
}

static pid_t
attack(void (*how)(void))
{
	return attack_with(false, how);
}

/* Kill the attacker, and reset its connections, so that no process waits for them any more. */
static void
end_attack(pid_t pid)
{
	int fd;

	while ((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0)
		(void)close(fd);
	attacker = 0;
	assert_int_equal(kill(-pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* --- honest clients ------------------------------------------------------------------------------ */

/* Expect that new clients attach, and that frames of the honest clients arrive. */
static void
expect_service(void)
{
	struct peer good;

	for (unsigned i = 0; i < 20; i++) {
		peer_open(&good, daemon_.socket, 1, 64);
		peer_close(&good);
		pair_run(&pair, 100);
	}
}

static void
descriptor__whose_close_blocks_keeps_no_other_user_waiting(void **state)
{
	static void (*const ways[])(void) = { attack_with_hello, attack_with_attach,
					      attack_with_what_nobody_reads,
					      attack_behind_an_empty_message, attack_with_a_crowd };

	(void)state;
	skip_without_means();
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		const pid_t pid = attack(ways[i]);

		expect_service();
		end_attack(pid);
		expect_service();
	}
}

/*
 * The descriptor of a refused connection stays open until a reader can close it. uroced serves
 * other users meanwhile.
 */
static void
descriptor__of_a_connection_that_was_not_read_keeps_no_other_user_waiting(void **state)
{
	pid_t pid;

	(void)state;
	skip_without_means();
	pid = start_attack(attack_and_leave_unread, NULL, false);
	for (const time_t until = time(NULL) + 5; time(NULL) < until;)
		expect_service();
	end_attack(pid);
	expect_service();
}

/*
 * uroced ends although the descriptors linger for thousands of seconds, and the next uroced can
 * listen at once.
 */
static void
descriptor__whose_close_blocks_does_not_keep_uroced_from_its_end(void **state)
{
	static const int signals[] = { SIGTERM, SIGKILL };

	(void)state;
	skip_without_means();
	for (unsigned i = 0; i < 2; i++) {
		const uint64_t until_ms = now_ms() + TIMEOUT_MS;
		pid_t pid = attack(attack_with_a_crowd);
		pid_t ended = 0;

		pair_close(&pair);
		assert_int_equal(kill(daemon_.pid, signals[i]), 0);
		/*
		 * do not connect in this loop: a connection would wait in the queue of the
		 * listener, or be refused
		 */
		while (ended == 0 && now_ms() < until_ms) {
			ended = waitpid(daemon_.pid, NULL, WNOHANG);
			(void)usleep(1000);
		}
		assert_int_equal(ended, daemon_.pid);
		daemon_.pid = 0;
		daemon_start(&daemon_);
		assert_int_equal(chmod(daemon_.socket, 0666), 0);
		pair_open(&pair, &daemon_);
		pair_run(&pair, 1000);
		end_attack(pid);
	}
}

/*
 * When the attack is over, the readers that uroced had given up end, and their descriptors are
 * closed.
 */
static void
descriptor__whose_close_blocks_leaves_nothing_behind(void **state)
{
	const uint64_t until_ms = now_ms() + 2 * TIMEOUT_MS;
	struct footprint before;
	pid_t pid;

	(void)state;
	skip_without_means();
	before = pair_footprint(&daemon_, 2);
	pid = attack(attack_with_a_crowd);
	expect_service();
	end_attack(pid);
	while (daemon_nb_fds(&daemon_) > before.nb_fds && now_ms() < until_ms)
		pair_step(&pair);
	pair_run(&pair, 1000);
	pair_expect_footprint(&daemon_, &before);
}

/*
 * While a reader blocks, more connections with descriptors end than uroced has places for. uroced
 * closes them although the attack goes on.
 */
static void
descriptor__of_each_of_many_connections_is_closed(void **state)
{
	struct footprint before;
	uint64_t until_ms;
	int ends[2];
	char done;
	pid_t pid;

	(void)state;
	skip_without_means();
	before = pair_footprint(&daemon_, 2);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid = attacker = start_attack(attack_with_a_flood, &ends[1], false);
	(void)close(ends[1]);
	expect_service();
	assert_int_equal(read(ends[0], &done, 1), 1);
	(void)close(ends[0]);
	until_ms = now_ms() + 2 * TIMEOUT_MS;
	/* the attack holds a connection, the reader that has its descriptor, and a closer */
	while (daemon_nb_fds(&daemon_) > before.nb_fds + 8 && now_ms() < until_ms)
		pair_step(&pair);
	assert_in_range(daemon_nb_fds(&daemon_), 0, before.nb_fds + 8);
	end_attack(pid);
	while (daemon_nb_fds(&daemon_) > before.nb_fds && now_ms() < until_ms)
		pair_step(&pair);
	pair_run(&pair, 1000);
	pair_expect_footprint(&daemon_, &before);
}

/* --- FUSE ---------------------------------------------------------------------------------------- */

/*
 * Count the reader processes that wait for the FUSE server of this attack, in an uninterruptible
 * sleep: uroced has given them up. Other readers may be in such a sleep for a
 * moment, and those of an earlier attack until its server has ended.
 */
static unsigned
count_stuck_readers(void)
{
	char path[32], name[64], state;
	unsigned nb = 0;

	for (unsigned i = 0; i < atomic_load(&waiting->nb); i++) {
		FILE *file;

		(void)snprintf(path, sizeof(path), "/proc/%d/stat", waiting->pid[i]);
		file = fopen(path, "re");
		if (!file)
			continue;
		if (fscanf(file, "%*d (%63[^)]) %c", name, &state) == 2)
			nb += state == 'D' && strcmp(name, "uroced-reader") == 0;
		(void)fclose(file);
	}
	return nb;
}

/* Wait until a reader is blocked, so that the attack has taken effect. */
static void
wait_for_stuck_reader(void)
{
	const uint64_t until_ms = now_ms() + TIMEOUT_MS;

	while (count_stuck_readers() == 0) {
		assert_true(now_ms() < until_ms);
		pair_step(&pair);
		(void)usleep(1000);
	}
}

static void
fuse_descriptor__keeps_no_other_user_waiting(void **state)
{
	static void (*const ways[])(void) = { attack_with_hello, attack_with_attach,
					      attack_with_what_nobody_reads, attack_with_a_crowd };

	(void)state;
	skip_without_means();
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		const pid_t pid = attack_with(true, ways[i]);

		if (pid == 0)
			skip();
		wait_for_stuck_reader();
		expect_service();
		end_attack(pid);
		expect_service();
	}
}

/*
 * SIGKILL does not end a reader that is blocked in close(), as long as the FUSE server runs. uroced
 * itself ends, and the next uroced listens at the same path with the same file of leases.
 */
static void
fuse_descriptor__does_not_keep_uroced_from_its_end(void **state)
{
	static const int signals[] = { SIGTERM, SIGKILL };

	(void)state;
	skip_without_means();
	for (unsigned i = 0; i < 2; i++) {
		const uint64_t until_ms = now_ms() + TIMEOUT_MS;
		const pid_t pid = attack_with(true, attack_with_a_crowd);
		pid_t ended = 0;

		if (pid == 0)
			skip();
		wait_for_stuck_reader();
		pair_close(&pair);
		assert_int_equal(kill(daemon_.pid, signals[i]), 0);
		while (ended == 0 && now_ms() < until_ms) {
			ended = waitpid(daemon_.pid, NULL, WNOHANG);
			(void)usleep(1000);
		}
		assert_int_equal(ended, daemon_.pid);
		daemon_.pid = 0;
		assert_true(count_stuck_readers() > 0);
		daemon_start(&daemon_);
		assert_int_equal(chmod(daemon_.socket, 0666), 0);
		pair_open(&pair, &daemon_);
		pair_run(&pair, 1000);
		end_attack(pid);
	}
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(descriptor__whose_close_blocks_keeps_no_other_user_waiting),
		cmocka_unit_test(
			descriptor__of_a_connection_that_was_not_read_keeps_no_other_user_waiting),
		cmocka_unit_test(descriptor__whose_close_blocks_does_not_keep_uroced_from_its_end),
		cmocka_unit_test(descriptor__whose_close_blocks_leaves_nothing_behind),
		cmocka_unit_test(descriptor__of_each_of_many_connections_is_closed),
		cmocka_unit_test(fuse_descriptor__keeps_no_other_user_waiting),
		cmocka_unit_test(fuse_descriptor__does_not_keep_uroced_from_its_end),
	};

	daemon_program = argc > 1 ? argv[1] : "uroced";
	(void)signal(SIGCHLD, SIG_DFL);
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
