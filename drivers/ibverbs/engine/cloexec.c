/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * EAL and its drivers make descriptors that a program which is executed would inherit: by those of EAL's memory, it could
 * write to all registered buffers and rings. The linker takes these functions for theirs (--wrap), so that each of those
 * descriptors is closed on exec from the moment that it is there; to set the flag later would lose the race against a
 * thread of the program that forks.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

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
int __wrap_eventfd(unsigned count, int flags);
int __wrap_timerfd_create(int clock, int flags);
int __wrap_epoll_create(int size);
int __wrap_epoll_create1(int flags);
int __wrap_memfd_create(const char *name, unsigned flags);
FILE *__wrap_fopen64(const char *path, const char *mode);
int __wrap_mkstemp64(char *path);
ssize_t __wrap_recvmsg(int fd, struct msghdr *msg, int flags);

/* The mode of a file that may be made; without such flags there is none, and what is read then is not used. */
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
	return __real_open64(path, flags | O_CLOEXEC, mode);
}

int
__wrap_openat64(int dir, const char *path, int flags, ...)
{
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = next_mode(flags, args);
	va_end(args);
	return __real_openat64(dir, path, flags | O_CLOEXEC, mode);
}

int
__wrap_socket(int domain, int type, int protocol)
{
	return __real_socket(domain, type | SOCK_CLOEXEC, protocol);
}

int
__wrap_accept(int fd, struct sockaddr *addr, socklen_t *len)
{
	return accept4(fd, addr, len, SOCK_CLOEXEC);
}

int
__wrap_pipe(int ends[2])
{
	return pipe2(ends, O_CLOEXEC);
}

int
__wrap_dup(int fd)
{
	return fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

int
__wrap_eventfd(unsigned count, int flags)
{
	return __real_eventfd(count, flags | EFD_CLOEXEC);
}

int
__wrap_timerfd_create(int clock, int flags)
{
	return __real_timerfd_create(clock, flags | TFD_CLOEXEC);
}

int
__wrap_epoll_create(int size)
{
	if (size > 0)
		return __real_epoll_create1(EPOLL_CLOEXEC);
	errno = EINVAL;
	return -1;
}

int
__wrap_epoll_create1(int flags)
{
	return __real_epoll_create1(flags | EPOLL_CLOEXEC);
}

int
__wrap_memfd_create(const char *name, unsigned flags)
{
	return __real_memfd_create(name, flags | MFD_CLOEXEC);
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
	return mkostemp64(path, O_CLOEXEC);
}

ssize_t
__wrap_recvmsg(int fd, struct msghdr *msg, int flags)
{
	return __real_recvmsg(fd, msg, flags | MSG_CMSG_CLOEXEC);
}
