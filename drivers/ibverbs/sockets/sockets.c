/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Replacements of those libc functions that make, copy, close and control sockets. librspreload
 * makes the TCP sockets, so that they are rsockets. The kernel makes all other sockets: name
 * resolution and the sockets of uroce itself use them.
 *
 * librspreload of rdma-core 44 to 56 replaces socket(), accept(), dup2() and fcntl(), without the
 * flags SOCK_NONBLOCK and SOCK_CLOEXEC. It does not replace accept4(), dup(), dup3(), fcntl64() and
 * ioctl().
 */

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "next.h"
#include "rsockets.h"

#define FLAGS (SOCK_NONBLOCK | SOCK_CLOEXEC)

/*
 * Call poll() of librspreload once when this library is loaded. librspreload looks up the functions
 * of libc in its socket(), poll() and a few other calls. It fails with SIGSEGV if a program makes
 * another of its calls first.
 */
__attribute__((constructor)) static void
begin_sockets(void)
{
	(void)poll(NULL, 0, 0);
}

/* --- control -------------------------------------------------------------------------------------- */

DECLARE(int, dup2, (int from, int to))
{
	static _Atomic(void *) found;
	const int ret = NEXT(dup2)(from, to);

	if (ret >= 0 && rsockets_has(from))
		(void)rsockets_add(to);
	else if (ret >= 0)
		rsockets_remove(to);
	return ret;
}

/* Set or clear close-on-exec of the descriptor of an rsocket. `flags` is FD_CLOEXEC or 0. */
static int
set_fd_flags(int fd, long flags)
{
	return (int)syscall(SYS_fcntl, fd, F_SETFD, flags);
}

DECLARE(int, dup3, (int from, int to, int flags))
{
	static _Atomic(void *) found;
	int ret;

	if (from == to || (!rsockets_has(from) && !rsockets_has(to)))
		return NEXT(dup3)(from, to, flags);
	ret = replaced_dup2(from, to);
	if (ret >= 0 && (flags & O_CLOEXEC) != 0)
		(void)set_fd_flags(to, FD_CLOEXEC);
	return ret;
}

/* Copy an rsocket's descriptor to the first free descriptor that is not below `lowest`. */
static int
copy_rsocket(int fd, long lowest, long fd_flags)
{
	const int copy = (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, lowest);

	if (copy < 0)
		return copy;
	if (replaced_dup2(fd, copy) < 0) {
		(void)syscall(SYS_close, copy);
		return -1;
	}
	(void)set_fd_flags(copy, fd_flags);
	return copy;
}

DECLARE(int, dup, (int fd))
{
	static _Atomic(void *) found;

	return rsockets_has(fd) ? copy_rsocket(fd, 0, 0) : NEXT(dup)(fd);
}

static int control_rsocket(int fd, int cmd, void *arg);

/*
 * Define the replacement of fcntl() or fcntl64(). The third argument of these functions is missing,
 * an int or a pointer; a pointer can hold each of them.
 */
#define CALL_FCNTL(name)                                                                           \
	DECLARE(int, name, (int fd, int cmd, ...))                                                 \
	{                                                                                          \
		static _Atomic(void *) found;                                                      \
		va_list list;                                                                      \
                                                                                                   \
		va_start(list, cmd);                                                               \
		void *const arg = va_arg(list, void *);                                            \
                                                                                                   \
		va_end(list);                                                                      \
		return rsockets_has(fd) ? control_rsocket(fd, cmd, arg)                            \
					: NEXT(name)(fd, cmd, arg);                                \
	}

CALL_FCNTL(fcntl)
CALL_FCNTL(fcntl64)

/* Call fcntl() of librspreload on an rsocket. */
static int
control_next(int fd, int cmd, long arg)
{
	static _Atomic(void *) found;

	return NEXT(fcntl)(fd, cmd, arg);
}

static int
control_rsocket(int fd, int cmd, void *arg)
{
	int flags;

	switch (cmd) {
	case F_GETFD:
		return (int)syscall(SYS_fcntl, fd, F_GETFD);
	case F_SETFD:
		return set_fd_flags(fd, (long)arg);
	case F_DUPFD:
		return copy_rsocket(fd, (long)arg, 0);
	case F_DUPFD_CLOEXEC:
		return copy_rsocket(fd, (long)arg, FD_CLOEXEC);
	case F_GETFL:
		flags = control_next(fd, cmd, 0);
		return flags < 0 ? flags : flags | O_RDWR;
	default:
		return control_next(fd, cmd, (long)arg);
	}
}

static int
set_nonblocking(int fd, bool is_nonblocking)
{
	return control_next(fd, F_SETFL, is_nonblocking ? O_RDWR | O_NONBLOCK : O_RDWR);
}

DECLARE(int, ioctl, (int fd, unsigned long request, ...))
{
	static _Atomic(void *) found;
	va_list list;

	va_start(list, request);
	void *const arg = va_arg(list, void *);

	va_end(list);
	if (request == FIONBIO && rsockets_has(fd))
		return set_nonblocking(fd, *(const int *)arg != 0);
	return NEXT(ioctl)(fd, request, arg);
}

/*
 * Replacement of close(). When the last copy of an rsocket is closed, librspreload closes the
 * rsocket and then fails with EBADF, so this function returns 0 for any rsocket.
 */
DECLARE(int, close, (int fd))
{
	static _Atomic(void *) found;
	const bool is_rsocket = rsockets_has(fd);
	int ret;

	rsockets_remove(fd);
	ret = NEXT(close)(fd);
	return is_rsocket ? 0 : ret;
}

/* --- making --------------------------------------------------------------------------------------- */

static bool
is_known_to_kernel(int fd)
{
	socklen_t len = sizeof(int);
	int type;

	return syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0;
}

/*
 * Set the flags SOCK_NONBLOCK and SOCK_CLOEXEC of a new socket that librspreload has made. If the
 * socket is an rsocket, also add it to the set of descriptors that librspreload serves.
 */
static int
adopt_socket(int fd, int flags)
{
	const long status = (flags & SOCK_NONBLOCK) != 0 ? O_RDWR | O_NONBLOCK : O_RDWR;

	if (is_known_to_kernel(fd)) {
		(void)syscall(SYS_fcntl, fd, F_SETFL, status);
	} else if (!rsockets_add(fd)) {
		(void)replaced_close(fd);
		errno = EMFILE;
		return -1;
	} else {
		(void)set_nonblocking(fd, (flags & SOCK_NONBLOCK) != 0);
	}
	if ((flags & SOCK_CLOEXEC) != 0)
		(void)set_fd_flags(fd, FD_CLOEXEC);
	return fd;
}

static bool
is_tcp(int domain, int type, int protocol)
{
	return (domain == AF_INET || domain == AF_INET6) && (type & ~FLAGS) == SOCK_STREAM &&
	       (protocol == 0 || protocol == IPPROTO_TCP);
}

DECLARE(int, socket, (int domain, int type, int protocol))
{
	/* whether the caller is librdmacm, which calls socket() itself to make an rsocket */
	static _Thread_local bool is_nested;
	static _Atomic(void *) found;
	int fd;

	if (is_nested || !is_tcp(domain, type, protocol))
		return (int)syscall(SYS_socket, domain, type, protocol);
	is_nested = true;
	fd = NEXT(socket)(domain, type & ~FLAGS, protocol);
	is_nested = false;
	if (fd < 0)
		return fd;
	fd = adopt_socket(fd, type & FLAGS);
	if (fd >= 0 && !rsockets_has(fd))
		rsockets_warn("gets no socket over RDMA, and uses TCP of the kernel",
			      "a device that works (ibv_devinfo shows it)");
	return fd;
}

DECLARE(int, accept, (int fd, struct sockaddr *addr, socklen_t *len))
{
	static _Atomic(void *) found;
	const int accepted = NEXT(accept)(fd, addr, len);

	return accepted >= 0 && rsockets_has(fd) ? adopt_socket(accepted, 0) : accepted;
}

DECLARE(int, accept4, (int fd, struct sockaddr *addr, socklen_t *len, int flags))
{
	static _Atomic(void *) found;
	int accepted;

	if (!rsockets_has(fd))
		return NEXT(accept4)(fd, addr, len, flags);
	accepted = replaced_accept(fd, addr, len);
	return accepted >= 0 ? adopt_socket(accepted, flags) : accepted;
}

/* --- options --------------------------------------------------------------------------------------- */

/*
 * Replacement of getsockopt(). An rsocket has no TCP segments, and librspreload refuses the option
 * TCP_INFO. Some programs fail without this option, so this function returns a TCP_INFO of zeros.
 */
DECLARE(int, getsockopt, (int fd, int level, int option, void *value, socklen_t *len))
{
	static _Atomic(void *) found;
	const int ret = NEXT(getsockopt)(fd, level, option, value, len);

	if (ret >= 0 || level != IPPROTO_TCP || option != TCP_INFO || !rsockets_has(fd))
		return ret;
	memset(value, 0, *len);
	return 0;
}

/* --- connecting ------------------------------------------------------------------------------------ */

/*
 * Replacement of connect(). If an address cannot be reached over RDMA, librspreload connects by the
 * kernel's TCP. This function detects that by SO_TYPE: a socket of the kernel has this option, an
 * rsocket does not have it.
 */
DECLARE(int, connect, (int fd, const struct sockaddr *addr, socklen_t addr_len))
{
	static _Atomic(void *) found;
	const int ret = NEXT(connect)(fd, addr, addr_len);
	const int err = errno;
	socklen_t len = sizeof(int);
	int type;

	if (rsockets_has(fd) && getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0)
		rsockets_warn("reaches an address only by TCP of the kernel",
			      "an address of a host whose program uses rsockets, too");
	errno = err;
	return ret;
}
