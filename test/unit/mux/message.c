/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Messages between client and uroced: each type of message in both directions, malformed messages,
 * unexpected descriptors, full sockets, paths of sockets.
 */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "mux/message.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static union uroce_mux_message out, in;
static int end[2];

static int
open_pair(void **state)
{
	(void)state;
	memset(&out, 0, sizeof(out));
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, end);
}

static int
close_pair(void **state)
{
	(void)state;
	return close(end[0]) + close(end[1]);
}

static unsigned
nb_open(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned nb = 0;

	while (readdir(dir))
		nb++;
	(void)closedir(dir);
	return nb;
}

static void
message__goes_and_comes(void **state)
{
	int fd;

	(void)state;
	for (uint32_t type = UROCE_MUX_HELLO; type < UROCE_MUX_NB_TYPES; type++) {
		const bool has_fd = type == UROCE_MUX_ATTACH || type == UROCE_MUX_ATTACHED;
		const int with = has_fd ? eventfd(0, EFD_CLOEXEC) : -1;

		memset(&out, 0xff, sizeof(out));
		out.type = type;
		if (type == UROCE_MUX_ATTACH)
			out.attach.nb_leases = UROCE_MUX_LEASES_MAX;
		else if (type == UROCE_MUX_ATTACHED)
			out.attached.nb_good = 3;
		else if (type == UROCE_MUX_LEASED)
			out.leased.nb = 0;
		else if (type == UROCE_MUX_RELEASE)
			out.release.nb = 1;
		assert_int_equal(uroce_mux_send(end[0], &out, with), 0);
		memset(&in, 0, sizeof(in));
		assert_int_equal(uroce_mux_receive(end[1], &in, &fd), 1);
		assert_int_equal(in.type, type);
		assert_int_equal(fd >= 0, has_fd);
		assert_memory_equal(&in, &out, uroce_mux_message_size(type, 0));
		if (has_fd)
			assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
		(void)close(fd);
		(void)close(with);
	}
	assert_int_equal(uroce_mux_receive(end[1], &in, &fd), -EAGAIN);
}

/* Send the first `len` bytes of `out` with `nb_fds` file descriptors. */
static void
send_raw(size_t len, unsigned nb_fds)
{
	struct iovec bytes = { &out, len };
	char room[CMSG_SPACE(64 * sizeof(int))] __attribute__((aligned(8))) = { 0 };
	struct msghdr msg = { .msg_iov = &bytes, .msg_iovlen = 1 };
	int fds[64];

	for (unsigned i = 0; i < nb_fds; i++)
		fds[i] = end[0];
	if (nb_fds > 0) {
		msg.msg_control = room;
		msg.msg_controllen = CMSG_SPACE(nb_fds * sizeof(int));
		*CMSG_FIRSTHDR(&msg) =
			(struct cmsghdr){ .cmsg_level = SOL_SOCKET,
					  .cmsg_type = SCM_RIGHTS,
					  .cmsg_len = CMSG_LEN(nb_fds * sizeof(int)) };
		memcpy(CMSG_DATA(CMSG_FIRSTHDR(&msg)), fds, nb_fds * sizeof(int));
	}
	assert_true(sendmsg(end[0], &msg, 0) >= 0);
}

static void
message__that_is_not_well_formed_is_refused(void **state)
{
	const struct {
		uint32_t type, nb;
		size_t len;
		unsigned nb_fds;
	} rows[] = {
		{ UROCE_MUX_HELLO, 0, 3, 0 },
		{ 0, 0, 8, 0 },
		{ UROCE_MUX_NB_TYPES, 0, 8, 0 },
		{ UINT32_MAX, 0, 8, 0 },
		{ UROCE_MUX_HELLO, 0, sizeof(out.hello) - 1, 0 },
		{ UROCE_MUX_HELLO, 0, sizeof(out.hello) + 1, 0 },
		{ UROCE_MUX_HELLO, 0, sizeof(out.hello), 1 },
		{ UROCE_MUX_HELLO, 0, sizeof(out.hello), 64 },
		{ UROCE_MUX_ATTACH, 0, sizeof(out.attach), 0 },
		{ UROCE_MUX_ATTACH, 0, sizeof(out.attach), 2 },
		{ UROCE_MUX_ATTACH, 1, sizeof(out.attach), 1 },
		{ UROCE_MUX_ATTACH, UROCE_MUX_LEASES_MAX + 1, sizeof(out), 1 },
		{ UROCE_MUX_RELEASE, UINT32_MAX, sizeof(out.release), 0 },
		{ UROCE_MUX_RELEASE, 2, sizeof(out.release) + 4, 0 },
	};
	unsigned before;
	int fd;

	(void)state;
	if (getenv("UROCE_EMULATED")) {
		print_message("# qemu-user keeps descriptors that are too many for a message\n");
		skip();
	}
	before = nb_open();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		memset(&out, 0, sizeof(out));
		out.type = rows[i].type;
		if (rows[i].type == UROCE_MUX_ATTACH)
			out.attach.nb_leases = rows[i].nb;
		else if (rows[i].type == UROCE_MUX_RELEASE)
			out.release.nb = rows[i].nb;
		send_raw(rows[i].len, rows[i].nb_fds);
		assert_int_equal(uroce_mux_receive(end[1], &in, &fd), -EPROTO);
		assert_int_equal(fd, -1);
		assert_int_equal(nb_open(), before);
	}
}

static void
message__that_is_too_long_is_refused(void **state)
{
	static uint8_t bytes[sizeof(out) + 1] = { UROCE_MUX_HELLO };
	int fd;

	(void)state;
	assert_int_equal(send(end[0], bytes, sizeof(bytes), 0), sizeof(bytes));
	assert_int_equal(uroce_mux_receive(end[1], &in, &fd), -EPROTO);
}

static void
message__waits_for_nobody(void **state)
{
	int ret, fd;

	(void)state;
	out.type = UROCE_MUX_WAKE;
	while ((ret = uroce_mux_send(end[0], &out, -1)) == 0)
		continue;
	assert_int_equal(ret, -EAGAIN);
	assert_int_equal(shutdown(end[1], SHUT_RDWR), 0);
	assert_true(uroce_mux_send(end[0], &out, -1) < 0);
	while ((ret = uroce_mux_receive(end[0], &in, &fd)) == 1)
		continue;
	assert_int_equal(ret, 0);
}

static void
socket__path_is_of_one_who_lives(void **state)
{
	char path[64];
	struct stat st;
	int server, client, other;

	(void)state;
	snprintf(path, sizeof(path), "/tmp/uroce-test-mux-%d", getpid());
	assert_int_equal(uroce_mux_connect(path), -ENOENT);
	server = uroce_mux_listen(path, 0640);
	assert_true(server >= 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	assert_int_equal(uroce_mux_listen(path, 0640), -EADDRINUSE);
	client = uroce_mux_connect(path);
	assert_true(client >= 0);
	(void)close(client);
	(void)close(server); /* the path of the socket remains, as after a kill of uroced */
	assert_int_equal(uroce_mux_connect(path), -ECONNREFUSED);
	other = uroce_mux_listen(path, 0600);
	assert_true(other >= 0);
	(void)close(other);
	(void)unlink(path);
}

static void
socket__path_of_another_file_stays(void **state)
{
	char path[] = "/tmp/uroce-test-mux-XXXXXX", longest[200];
	const int file = mkstemp(path);
	struct stat st;

	(void)state;
	assert_true(file >= 0);
	assert_true(uroce_mux_listen(path, 0600) < 0);
	assert_int_equal(stat(path, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	(void)close(file);
	(void)unlink(path);
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(uroce_mux_listen(longest, 0600), -ENAMETOOLONG);
	assert_int_equal(uroce_mux_connect(longest), -ENAMETOOLONG);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(message__goes_and_comes, open_pair, close_pair),
		cmocka_unit_test_setup_teardown(message__that_is_not_well_formed_is_refused,
						open_pair, close_pair),
		cmocka_unit_test_setup_teardown(message__that_is_too_long_is_refused, open_pair,
						close_pair),
		cmocka_unit_test_setup_teardown(message__waits_for_nobody, open_pair, close_pair),
		cmocka_unit_test(socket__path_is_of_one_who_lives),
		cmocka_unit_test(socket__path_of_another_file_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
