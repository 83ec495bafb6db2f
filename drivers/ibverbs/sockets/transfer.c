/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Replacements of those libc functions that move data between sockets, memory and files, and that
 * librspreload of rdma-core 44 to 56 does not replace. sendfile() is replaced as well, because
 * sendfile() of librspreload fails on each rsocket.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include "next.h"
#include "rsockets.h"

/* Maximum number of bytes of a file that sendfile() copies to an rsocket at once. */
#define PART_LEN 16384

void __chk_fail(void) __attribute__((noreturn));

/* --- calls of programs that were built with -D_FORTIFY_SOURCE -------------------------------------- */

DECLARE(ssize_t, __read_chk, (int fd, void *buf, size_t size, size_t room))
{
	static _Atomic(void *) found;

	if (!rsockets_has(fd))
		return NEXT(__read_chk)(fd, buf, size, room);
	if (size > room)
		__chk_fail();
	return recv(fd, buf, size, 0);
}

DECLARE(ssize_t, __recv_chk, (int fd, void *buf, size_t size, size_t room, int flags))
{
	if (size > room)
		__chk_fail();
	return recv(fd, buf, size, flags);
}

DECLARE(ssize_t, __recvfrom_chk,
	(int fd, void *buf, size_t size, size_t room, int flags, struct sockaddr *addr,
	 socklen_t *len))
{
	if (size > room)
		__chk_fail();
	return recvfrom(fd, buf, size, flags, addr, len);
}

/* --- files ----------------------------------------------------------------------------------------- */

/*
 * Copy a part of a file to an rsocket.
 * @return the number of bytes; 0: the file has ended; -1 with errno
 */
static ssize_t
send_part(int to, int from, off_t at, size_t size)
{
	char part[PART_LEN];
	const ssize_t len = pread(from, part, size < sizeof(part) ? size : sizeof(part), at);

	return len > 0 ? send(to, part, (size_t)len, MSG_NOSIGNAL) : len;
}

/*
 * Do the work of sendfile() for an rsocket. The function returns before `size` bytes are sent if
 * the rsocket takes no more bytes, or if the file has ended.
 */
static ssize_t
send_file(int to, int from, off_t *offset, size_t size)
{
	const off_t start = offset != NULL ? *offset : lseek(from, 0, SEEK_CUR);
	size_t sum = 0;
	ssize_t len = 0;

	if (start < 0)
		return -1;
	while (sum < size) {
		len = send_part(to, from, start + (off_t)sum, size - sum);
		if (len <= 0)
			break;
		sum += (size_t)len;
	}
	if (len < 0 && sum == 0)
		return -1;
	if (offset != NULL)
		*offset = start + (off_t)sum;
	else
		(void)lseek(from, start + (off_t)sum, SEEK_SET);
	return (ssize_t)sum;
}

#define CALL_SENDFILE(name)                                                                        \
	DECLARE(ssize_t, name, (int to, int from, off_t *offset, size_t size))                     \
	{                                                                                          \
		static _Atomic(void *) found;                                                      \
                                                                                                   \
		return rsockets_has(to) ? send_file(to, from, offset, size)                        \
					: NEXT(name)(to, from, offset, size);                      \
	}

/*
 * If a long has 64 bits, off64_t is the same as off_t, so both functions have the same definition.
 */
CALL_SENDFILE(sendfile)
CALL_SENDFILE(sendfile64)

/* --- calls that rsockets do not have --------------------------------------------------------------- */

/*
 * Replacement of splice(), which fails with EINVAL on an rsocket. Programs that use splice() then
 * copy by read() and write().
 */
DECLARE(ssize_t, splice,
	(int from, off_t *from_at, int to, off_t *to_at, size_t size, unsigned flags))
{
	static _Atomic(void *) found;

	if (!rsockets_has(from) && !rsockets_has(to))
		return NEXT(splice)(from, from_at, to, to_at, size, flags);
	errno = EINVAL;
	return -1;
}

DECLARE(FILE *, fdopen, (int fd, const char *mode))
{
	static _Atomic(void *) found;

	if (!rsockets_has(fd))
		return NEXT(fdopen)(fd, mode);
	rsockets_warn("makes a stream of a socket by fdopen(), which sockets over RDMA do not have",
		      "a program that calls send() and recv(), or read() and write()");
	errno = EOPNOTSUPP;
	return NULL;
}
