/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * File descriptors of the engine (liburoce and DPDK in a program). By --wrap the linker replaces
 * the functions with which liburoce, EAL and its drivers open and close descriptors by the
 * functions of this file.
 *
 * Each descriptor is created with close-on-exec. Otherwise an executed program would inherit the
 * descriptors of EAL's memory, and could write to all registered buffers and rings. If the flag
 * were set later, a thread of the program could fork before that.
 *
 * Each descriptor, except those of streams (fopen()), has a large number and is in a table. A
 * program that closes all descriptors through libc does not close those in the table, see
 * paths/descriptors.c. A program that makes the system call itself closes the descriptors of the
 * engine, too. The files that such a program opens next get small numbers. So a later use of a
 * number of the engine fails, and does not affect these files.
 *
 * One descriptor, `sentinel_fd`, shows whether a program has closed the engine's descriptors: it is
 * an open file that fstat() identifies.
 */

#include "descriptors.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "engine.h"
#include "paths/descriptors.h"

/*
 * lowest number to which descriptors of liburoce and DPDK are moved; it is below 1024, because
 * select() takes no larger numbers
 */
#define LOWEST 512

int __real_fcntl64(int fd, int cmd, ...);
int __real_open64(const char *path, int flags, ...);
int __real_openat64(int dir, const char *path, int flags, ...);
int __real_socket(int domain, int type, int protocol);
int __real_eventfd(unsigned count, int flags);
int __real_timerfd_create(int clock, int flags);
int __real_epoll_create1(int flags);
int __real_memfd_create(const char *name, unsigned flags);
FILE *__real_fopen64(const char *path, const char *mode);
ssize_t __real_recvmsg(int fd, struct msghdr *msg, int flags);

int __wrap_open64(const char *path, int flags, ...);
int __wrap_openat64(int dir, const char *path, int flags, ...);
int __wrap_socket(int domain, int type, int protocol);
int __wrap_accept(int fd, struct sockaddr *addr, socklen_t *len);
int __wrap_pipe(int ends[2]);
int __wrap_dup(int fd);
int __wrap_dup3(int from, int to, int flags);
int __wrap_fcntl64(int fd, int cmd, ...);
int __wrap_eventfd(unsigned count, int flags);
int __wrap_timerfd_create(int clock, int flags);
int __wrap_epoll_create(int size);
int __wrap_epoll_create1(int flags);
int __wrap_memfd_create(const char *name, unsigned flags);
FILE *__wrap_fopen64(const char *path, const char *mode);
int __wrap_mkstemp64(char *path);
ssize_t __wrap_recvmsg(int fd, struct msghdr *msg, int flags);
int __wrap_close(int fd);

static struct descriptors alone = { .lock = PTHREAD_MUTEX_INITIALIZER };
static struct descriptors *table = &alone;
/*
 * Descriptor of a file that shows whether the descriptors of liburoce and DPDK are still open. If
 * this descriptor is closed, the program has closed all descriptors.
 */
static int sentinel_fd = -1;
static dev_t sentinel_dev;
static ino_t sentinel_ino;

/* --- the table, protected by its lock ------------------------------------------------------------- */

static void
hold(void)
{
	pthread_mutex_lock(&table->lock);
}

static int
let_go(int ret)
{
	pthread_mutex_unlock(&table->lock);
	return ret;
}

static bool
is_sentinel_open(void)
{
	struct stat stat;

	return sentinel_fd < 0 || (fstat(sentinel_fd, &stat) == 0 && stat.st_dev == sentinel_dev &&
				   stat.st_ino == sentinel_ino);
}

static int
lowest(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > 2 * LOWEST)
		return LOWEST;
	return (int)(limit.rlim_cur / 2);
}

static void
note(int fd)
{
	const unsigned at = (unsigned)fd;

	if (at < DESCRIPTORS_MAX)
		atomic_fetch_or(&table->bits[at / DESCRIPTORS_WORD], 1ul << at % DESCRIPTORS_WORD);
}

static void
strike(int fd)
{
	const unsigned at = (unsigned)fd;

	if (at < DESCRIPTORS_MAX)
		atomic_fetch_and(&table->bits[at / DESCRIPTORS_WORD],
				 ~(1ul << at % DESCRIPTORS_WORD));
}

/* Close a descriptor by the system call, so that no preloaded library prevents it. */
static int
close_now(int fd)
{
	return (int)syscall(SYS_close, fd);
}

/*
 * Move a new descriptor of liburoce or DPDK to a large number and add it to the table of
 * descriptors. If the program has closed all descriptors, the new one is closed, too. The caller
 * holds the lock of the table.
 * @return the descriptor, or -1 with errno
 */
static int
take(int fd)
{
	int high;

	if (fd < 0)
		return fd;
	if (!is_sentinel_open()) {
		(void)close_now(fd);
		errno = EBADF;
		return -1;
	}
	high = __real_fcntl64(fd, F_DUPFD_CLOEXEC, lowest());
	if (high >= 0) { /* if no large number is free, the descriptor keeps its small number */
		(void)close_now(fd);
		fd = high;
	}
	note(fd);
	return fd;
}

static int
keep(int fd)
{
	return let_go(take(fd));
}

/* --- initialisation and fork ---------------------------------------------------------------------- */

static void
end_fork(void)
{
	(void)let_go(0);
}

/*
 * The handler of fork() in the child. If EAL was not started before the fork, the child can use
 * liburoce. Then the table protects the descriptors of liburoce from the closes of the child's
 * program, as in the parent. If EAL was started, the child cannot use liburoce, and its program may
 * close the descriptors.
 */
static void
begin_child(void)
{
	if (!uroce_engine_is_started())
		atomic_store(&table->pid, getpid());
	(void)let_go(0);
}

void
descriptors_begin(void)
{
	struct descriptors *const shared = dlsym(RTLD_DEFAULT, DESCRIPTORS_NAME);
	struct stat stat = { .st_ino = 0 };

	if (shared != NULL)
		table = shared;
	(void)pthread_atfork(hold, end_fork, begin_child);
	hold();
	for (unsigned i = 0; i < DESCRIPTORS_MAX / DESCRIPTORS_WORD; i++)
		/*
		 * an engine that was loaded before may have set bits of the table of descriptors,
		 * so the table is cleared
		 */
		atomic_store(&table->bits[i], 0);
	atomic_store(&table->pid, getpid());
	sentinel_fd = take(__real_memfd_create("uroce", MFD_CLOEXEC));
	if (sentinel_fd >= 0 && fstat(sentinel_fd, &stat) == 0) {
		sentinel_dev = stat.st_dev;
		sentinel_ino = stat.st_ino;
	}
	(void)let_go(0);
}

bool
descriptors_are_there(void)
{
	static atomic_flag is_reported = ATOMIC_FLAG_INIT;
	const bool are_there = is_sentinel_open();

	if (!are_there && !atomic_flag_test_and_set(&is_reported))
		fprintf(stderr,
			"uroce: the program has closed the descriptors of its devices, which "
			"do not work any more: allowed is closefrom(3) of libc, under "
			"uroce-run; else close descriptors before devices are listed\n");
	return are_there;
}

/* --- creation of descriptors ---------------------------------------------------------------------- */

/*
 * Get the argument `mode` of a call of open() in the engine, if its `flags` can create a file.
 * @return the mode; 0: `flags` create no file
 */
static mode_t
next_mode(int flags, va_list args)
{
	return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(args, mode_t)
									  : 0;
}

int
__wrap_open64(const char *path, int flags, ...)
{
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = next_mode(flags, args);
	va_end(args);
	hold();
	return keep(__real_open64(path, flags | O_CLOEXEC, mode));
}

int
__wrap_openat64(int dir, const char *path, int flags, ...)
{
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = next_mode(flags, args);
	va_end(args);
	hold();
	return keep(__real_openat64(dir, path, flags | O_CLOEXEC, mode));
}

int
__wrap_socket(int domain, int type, int protocol)
{
	hold();
	return keep(__real_socket(domain, type | SOCK_CLOEXEC, protocol));
}

/*
 * Replaces accept() in the engine. The lock of the table of descriptors is taken after accept4(),
 * because accept4() may block.
 */
int
__wrap_accept(int fd, struct sockaddr *addr, socklen_t *len)
{
	const int accepted = accept4(fd, addr, len, SOCK_CLOEXEC);

	hold();
	return keep(accepted);
}

int
__wrap_pipe(int ends[2])
{
	int ret;

	hold();
	ret = pipe2(ends, O_CLOEXEC);
	for (int i = 0; i < 2 && ret == 0; i++)
		ends[i] = take(ends[i]);
	return let_go(ret == 0 && ends[1] < 0 ? -1 : ret);
}

int
__wrap_dup(int fd)
{
	hold();
	return keep(__real_fcntl64(fd, F_DUPFD_CLOEXEC, 0));
}

int
__wrap_eventfd(unsigned count, int flags)
{
	hold();
	return keep(__real_eventfd(count, flags | EFD_CLOEXEC));
}

int
__wrap_timerfd_create(int clock, int flags)
{
	hold();
	return keep(__real_timerfd_create(clock, flags | TFD_CLOEXEC));
}

int
__wrap_epoll_create(int size)
{
	if (size > 0)
		return __wrap_epoll_create1(EPOLL_CLOEXEC);
	errno = EINVAL;
	return -1;
}

int
__wrap_epoll_create1(int flags)
{
	hold();
	return keep(__real_epoll_create1(flags | EPOLL_CLOEXEC));
}

int
__wrap_memfd_create(const char *name, unsigned flags)
{
	hold();
	return keep(__real_memfd_create(name, flags | MFD_CLOEXEC));
}

FILE *
__wrap_fopen64(const char *path, const char *mode)
{
	char closed[16];

	snprintf(closed, sizeof(closed), "%se", mode);
	return __real_fopen64(path, closed);
}

int
__wrap_mkstemp64(char *path)
{
	hold();
	return keep(mkostemp64(path, O_CLOEXEC));
}

/*
 * Add the descriptors of a message that was received (SCM_RIGHTS) to the engine's table of
 * descriptors.
 */
static void
keep_received(struct msghdr *msg)
{
	for (struct cmsghdr *at = CMSG_FIRSTHDR(msg); at != NULL; at = CMSG_NXTHDR(msg, at)) {
		if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t end = CMSG_LEN(sizeof(int)); end <= at->cmsg_len; end += sizeof(int)) {
			uint8_t *const place = (uint8_t *)at + end - sizeof(int);
			int fd;

			memcpy(&fd, place, sizeof(fd));
			fd = take(fd);
			memcpy(place, &fd, sizeof(fd));
		}
	}
}

ssize_t
__wrap_recvmsg(int fd, struct msghdr *msg, int flags)
{
	const ssize_t len = __real_recvmsg(fd, msg, flags | MSG_CMSG_CLOEXEC);
	const int err = errno;

	if (len < 0 || msg->msg_controllen == 0)
		return len;
	hold();
	keep_received(msg);
	(void)let_go(0);
	errno = err;
	return len;
}

int
__wrap_fcntl64(int fd, int cmd, ...)
{
	va_list args;
	long arg;

	va_start(args, cmd);
	/*
	 * the third argument of fcntl() is an int, a pointer or missing; a long can hold an int or
	 * a pointer
	 */
	arg = va_arg(args, long);
	va_end(args);
	return cmd == F_DUPFD_CLOEXEC ? __wrap_dup(fd) : __real_fcntl64(fd, cmd, arg);
}

/* --- replacing and closing; descriptors that the program has closed are refused --------------- */

static bool
is_lost(int fd)
{
	if (!descriptors_has(table, fd) || is_sentinel_open())
		return false;
	errno = EBADF;
	return true;
}

int
__wrap_dup3(int from, int to, int flags)
{
	int ret;

	hold();
	ret = is_lost(to) ? -1 : (int)syscall(SYS_dup3, from, to, flags | O_CLOEXEC);
	if (ret >= 0)
		note(to);
	return let_go(ret);
}

int
__wrap_close(int fd)
{
	int ret;

	hold();
	ret = is_lost(fd) ? -1 : close_now(fd);
	if (ret == 0)
		strike(fd);
	return let_go(ret);
}
