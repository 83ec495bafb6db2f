/* SPDX-License-Identifier: BSD-3-Clause */
/* Replaces connect() of libc in a program or in the engine, for the calls that EAL makes. */

#include "eal/connect.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rte_eal.h>

static __thread bool is_in_init; /* this thread is in eal_init() */

int
eal_init(int argc, char **argv)
{
	int parsed;

	is_in_init = true;
	parsed = rte_eal_init(argc, argv);
	is_in_init = false;
	return parsed;
}

static int
connect_now(int fd, const struct sockaddr *addr, socklen_t len)
{
	return (int)syscall(SYS_connect, fd, addr, len);
}

/* Connect a Unix socket, or find that the backlog of the listener is full, without waiting. */
static int
connect_without_waiting(int fd, const struct sockaddr *addr, socklen_t len)
{
	const int flags = fcntl(fd, F_GETFL);
	int ret, err;

	(void)fcntl(fd, F_SETFL, flags | O_NONBLOCK);
	ret = connect_now(fd, addr, len);
	err = errno;
	(void)fcntl(fd, F_SETFL, flags);
	errno = err;
	return ret < 0 && err == EAGAIN ? 0 : ret;
}

/*
 * The symbol of this function is `connect`, so the linker binds the calls of EAL to it. The header
 * of libc declares a function `connect` whose type depends on the features that are selected.
 */
int replaced_connect(int fd, const struct sockaddr *addr, socklen_t len) __asm__("connect");

int
replaced_connect(int fd, const struct sockaddr *addr, socklen_t len)
{
	if (is_in_init && addr->sa_family == AF_UNIX)
		return connect_without_waiting(fd, addr, len);
	return connect_now(fd, addr, len);
}
