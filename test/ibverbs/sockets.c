/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests liburoce-sockets.so: the calls on TCP sockets that librspreload does not replace, or does
 * not replace well. The program runs under `uroce-run --sockets`, with a device that reaches
 * itself. It makes connections to itself.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#define ADDRESS "192.0.2.1" /* address of the device, which uroce-run configures */
#define WAIT_MS 300000      /* time limit, which only a fault exceeds */
/*
 * Length of the file that is sent. It is less than half of the receive buffer of an rsocket,
 * because one thread sends all bytes before it receives them.
 */
#define FILE_LEN 50000

ssize_t __read_chk(int fd, void *buf, size_t size, size_t room);
ssize_t __recv_chk(int fd, void *buf, size_t size, size_t room, int flags);
int __poll_chk(struct pollfd *fds, nfds_t nb, int timeout, size_t room);

/* A connection of this program to itself. */
struct pair {
	int listener;
	int near; /* the descriptor on which the program called connect() */
	int far;  /* the descriptor that accept() returned */
};

static struct sockaddr_in
own_address(uint16_t port)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = port };

	assert_int_equal(inet_pton(AF_INET, ADDRESS, &addr.sin_addr), 1);
	return addr;
}

static void
wait_for(int fd, short events)
{
	struct pollfd wait = { .fd = fd, .events = events };

	assert_int_equal(poll(&wait, 1, WAIT_MS), 1);
	assert_int_equal(wait.revents, events);
}

static struct pair
connect_pair(int accept_flags)
{
	struct pair pair = { .listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) };
	struct sockaddr_in addr = own_address(0);
	socklen_t len = sizeof(addr);

	assert_true(pair.listener >= 0);
	assert_int_equal(bind(pair.listener, (struct sockaddr *)&addr, len), 0);
	assert_int_equal(listen(pair.listener, 4), 0);
	assert_int_equal(getsockname(pair.listener, (struct sockaddr *)&addr, &len), 0);
	pair.near = socket(AF_INET, SOCK_STREAM, IPPROTO_TCP);
	assert_true(pair.near >= 0);
	assert_int_equal(connect(pair.near, (struct sockaddr *)&addr, sizeof(addr)), 0);
	wait_for(pair.listener, POLLIN);
	pair.far = accept4(pair.listener, NULL, NULL, accept_flags);
	assert_true(pair.far >= 0);
	return pair;
}

static void
close_pair(struct pair pair)
{
	assert_int_equal(close(pair.near), 0);
	assert_int_equal(close(pair.far), 0);
	assert_int_equal(close(pair.listener), 0);
}

/* Whether a descriptor is a socket of the kernel. */
static bool
is_kernels(int fd)
{
	socklen_t len = sizeof(int);
	int type;

	return syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0;
}

/* --- which sockets are rsockets -------------------------------------------------------------------- */

static void
socket__of_tcp_is_an_rsocket(void **state)
{
	const int fds[] = { socket(AF_INET, SOCK_STREAM, 0), socket(AF_INET6, SOCK_STREAM, 0),
			    socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, IPPROTO_TCP) };

	(void)state;
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		assert_true(fds[i] >= 0);
		assert_false(is_kernels(fds[i]));
		assert_int_equal(close(fds[i]), 0);
	}
}

static void
socket__of_another_kind_is_the_kernels(void **state)
{
	const int fds[] = { socket(AF_INET, SOCK_DGRAM, 0), socket(AF_UNIX, SOCK_STREAM, 0),
			    socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0) };

	(void)state;
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		assert_true(is_kernels(fds[i]));
		assert_int_equal(close(fds[i]), 0);
	}
}

static void
close__forgets_the_rsocket(void **state)
{
	const int fd = socket(AF_INET, SOCK_STREAM, 0);
	int other;

	(void)state;
	assert_int_equal(close(fd), 0);
	other = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	assert_int_equal(dup2(other, fd), fd);
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	assert_int_equal(close(fd), 0);
	if (other != fd)
		assert_int_equal(close(other), 0);
}

/* --- flags and options ----------------------------------------------------------------------------- */

static void
accept4__sets_the_flags(void **state)
{
	const struct pair pair = connect_pair(SOCK_NONBLOCK | SOCK_CLOEXEC);
	char byte;

	(void)state;
	assert_false(is_kernels(pair.far));
	assert_int_equal(fcntl(pair.far, F_GETFL), O_RDWR | O_NONBLOCK);
	assert_int_equal(fcntl(pair.far, F_GETFD), FD_CLOEXEC);
	assert_int_equal(fcntl(pair.near, F_GETFD), 0);
	assert_int_equal(recv(pair.far, &byte, 1, 0), -1);
	assert_int_equal(errno, EAGAIN);
	close_pair(pair);
}

static void
fionbio__makes_the_rsocket_nonblocking(void **state)
{
	const struct pair pair = connect_pair(0);
	int on = 1;
	char byte;

	(void)state;
	assert_int_equal(ioctl(pair.far, FIONBIO, &on), 0);
	assert_int_equal(recv(pair.far, &byte, 1, 0), -1);
	assert_int_equal(errno, EAGAIN);
	on = 0;
	assert_int_equal(ioctl(pair.far, FIONBIO, &on), 0);
	assert_int_equal(fcntl(pair.far, F_GETFL), O_RDWR);
	close_pair(pair);
}

static void
getsockopt__has_tcp_info(void **state)
{
	const struct pair pair = connect_pair(0);
	struct tcp_info info = { .tcpi_retransmits = 1, .tcpi_rtt = 1 };
	socklen_t len = sizeof(info);

	(void)state;
	assert_int_equal(getsockopt(pair.near, IPPROTO_TCP, TCP_INFO, &info, &len), 0);
	assert_int_equal(info.tcpi_retransmits, 0);
	assert_int_equal(info.tcpi_rtt, 0);
	close_pair(pair);
}

/* --- copies of a descriptor ------------------------------------------------------------------------ */

static int
copy_to_100(int fd)
{
	return fcntl(fd, F_DUPFD, 100);
}

static int
copy_to_101_with_flag(int fd)
{
	const int copy = dup3(fd, 101, O_CLOEXEC);

	assert_int_equal(fcntl(copy, F_GETFD), FD_CLOEXEC);
	return copy;
}

static int
copy_to_102(int fd)
{
	return dup2(fd, 102);
}

/*
 * Copy a descriptor of a connection, and close the original. Check that the copy is at least
 * `lowest`, is no socket of the kernel, and can send.
 */
static void
check_copy(int (*copy_fd)(int fd), int lowest)
{
	struct pair pair = connect_pair(0);
	const int copy = copy_fd(pair.near);
	char got[4] = { 0 };

	assert_true(copy >= lowest);
	assert_false(is_kernels(copy));
	assert_int_equal(close(pair.near), 0);
	assert_int_equal(send(copy, "abc", 4, 0), 4);
	assert_int_equal(recv(pair.far, got, sizeof(got), MSG_WAITALL), 4);
	assert_string_equal(got, "abc");
	pair.near = copy;
	close_pair(pair);
}

static void
dup__copies_the_rsocket(void **state)
{
	(void)state;
	check_copy(dup, 0);
	check_copy(copy_to_100, 100);
	check_copy(copy_to_101_with_flag, 101);
	check_copy(copy_to_102, 102);
}

/* --- select() and ppoll() -------------------------------------------------------------------------- */

/*
 * select() and pselect() report an accepted connection, whose descriptor is larger than the number
 * of its rsocket. The select() of librspreload uses the number of the rsocket.
 */
static void
select__sees_the_accepted_rsocket(void **state)
{
	const struct pair pair = connect_pair(0);
	struct timeval limit = { .tv_sec = WAIT_MS / 1000 };
	const struct timespec short_limit = { .tv_nsec = 1000000 };
	fd_set in, out;
	char byte;

	(void)state;
	FD_ZERO(&in);
	FD_SET(pair.far, &in);
	FD_SET(pair.listener, &in);
	assert_int_equal(pselect(FD_SETSIZE, &in, NULL, NULL, &short_limit, NULL), 0);
	assert_false(FD_ISSET(pair.far, &in));
	assert_int_equal(send(pair.near, "x", 1, 0), 1);
	wait_for(pair.far, POLLIN);
	FD_SET(pair.far, &in);
	FD_SET(pair.listener, &in);
	FD_ZERO(&out);
	FD_SET(pair.near, &out);
	assert_int_equal(select(FD_SETSIZE, &in, &out, NULL, &limit), 2);
	assert_true(FD_ISSET(pair.far, &in));
	assert_false(FD_ISSET(pair.listener, &in));
	assert_true(FD_ISSET(pair.near, &out));
	assert_int_equal(recv(pair.far, &byte, 1, 0), 1);
	close_pair(pair);
}

static void
select__without_rsockets_is_the_kernels(void **state)
{
	struct timeval limit = { .tv_usec = 1000 };
	int ends[2];
	fd_set in;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], "x", 1), 1);
	FD_ZERO(&in);
	FD_SET(ends[0], &in);
	assert_int_equal(select(ends[0] + 1, &in, NULL, NULL, &limit), 1);
	assert_true(FD_ISSET(ends[0], &in));
	assert_int_equal(close(ends[0]), 0);
	assert_int_equal(close(ends[1]), 0);
}

static void
ppoll__waits_for_the_rsocket(void **state)
{
	const struct pair pair = connect_pair(0);
	const struct timespec limit = { .tv_sec = WAIT_MS / 1000 }, none = { 0 };
	struct pollfd wait = { .fd = pair.far, .events = POLLIN };
	sigset_t mask;

	(void)state;
	(void)sigemptyset(&mask);
	assert_int_equal(ppoll(&wait, 1, &none, &mask), 0);
	assert_int_equal(__poll_chk(&wait, 1, 1, sizeof(wait)), 0);
	assert_int_equal(send(pair.near, "x", 1, 0), 1);
	assert_int_equal(ppoll(&wait, 1, &limit, &mask), 1);
	assert_int_equal(wait.revents, POLLIN);
	close_pair(pair);
}

/* --- calls that transfer data ---------------------------------------------------------------------- */

static void
checked_calls__read_the_rsocket(void **state)
{
	const struct pair pair = connect_pair(0);
	char got[2];

	(void)state;
	assert_int_equal(send(pair.near, "ab", 2, 0), 2);
	assert_int_equal(__read_chk(pair.far, got, 1, sizeof(got)), 1);
	assert_int_equal(__recv_chk(pair.far, got + 1, 1, sizeof(got) - 1, 0), 1);
	assert_memory_equal(got, "ab", 2);
	close_pair(pair);
}

static void
sendfile__sends_the_file(void **state)
{
	const struct pair pair = connect_pair(0);
	static uint8_t content[FILE_LEN], got[FILE_LEN];
	FILE *const file = tmpfile();
	off_t offset = 1;

	(void)state;
	for (size_t i = 0; i < FILE_LEN; i++)
		content[i] = (uint8_t)(i * 7 + i / 251);
	assert_int_equal(fwrite(content, 1, FILE_LEN, file), FILE_LEN);
	assert_int_equal(fflush(file), 0);
	rewind(file);
	assert_int_equal(sendfile(pair.near, fileno(file), NULL, 1), 1);
	assert_int_equal(lseek(fileno(file), 0, SEEK_CUR), 1);
	assert_int_equal(sendfile(pair.near, fileno(file), &offset, FILE_LEN), FILE_LEN - 1);
	assert_int_equal(offset, FILE_LEN);
	assert_int_equal(recv(pair.far, got, FILE_LEN, MSG_WAITALL), FILE_LEN);
	assert_memory_equal(got, content, FILE_LEN);
	assert_int_equal(fclose(file), 0);
	close_pair(pair);
}

/* --- calls that rsockets do not have --------------------------------------------------------------- */

static void
unsupported_calls__fail(void **state)
{
	const int fd = socket(AF_INET, SOCK_STREAM, 0), epoll = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event event = { .events = EPOLLIN };
	int ends[2];

	(void)state;
	assert_int_equal(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event), -1);
	assert_int_equal(errno, EPERM);
	assert_null(fdopen(fd, "r+"));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(splice(ends[0], NULL, fd, NULL, 1, 0), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event), 0);
	assert_int_equal(close(ends[0]), 0);
	assert_int_equal(close(ends[1]), 0);
	assert_int_equal(close(epoll), 0);
	assert_int_equal(close(fd), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(socket__of_tcp_is_an_rsocket),
		cmocka_unit_test(socket__of_another_kind_is_the_kernels),
		cmocka_unit_test(close__forgets_the_rsocket),
		cmocka_unit_test(accept4__sets_the_flags),
		cmocka_unit_test(fionbio__makes_the_rsocket_nonblocking),
		cmocka_unit_test(getsockopt__has_tcp_info),
		cmocka_unit_test(dup__copies_the_rsocket),
		cmocka_unit_test(select__sees_the_accepted_rsocket),
		cmocka_unit_test(select__without_rsockets_is_the_kernels),
		cmocka_unit_test(ppoll__waits_for_the_rsocket),
		cmocka_unit_test(checked_calls__read_the_rsocket),
		cmocka_unit_test(sendfile__sends_the_file),
		cmocka_unit_test(unsupported_calls__fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
