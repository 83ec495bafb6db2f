/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Replacements of those libc functions that write to a descriptor of /dev/infiniband/rdma_cm or
 * copy it, and functions for the replacements of open(), close() and fstat(). The bitmap
 * channels_noted has the descriptors of /dev/infiniband/rdma_cm. For any other descriptor, a
 * replacement tests the bit of the descriptor, and then calls the function of libc.
 */

#include "channels.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/uio.h>
#include <unistd.h>

#include "channel.h"
#include "next.h"

_Atomic(unsigned long) channels_noted[CHANNELS_FDS_MAX / CHANNELS_WORD];

/*
 * The calls of libibverbs.so.1 for the file /dev/infiniband/rdma_cm; NULL: this process has never
 * opened the file.
 */
static _Atomic(const struct channel_calls *) calls;
/*
 * The process that opened /dev/infiniband/rdma_cm. Only this process clears bits in channels_noted.
 * A child of vfork() must not clear them, because it has the same memory as its parent.
 */
static _Atomic pid_t opener;

/* --- bits ----------------------------------------------------------------------------------------- */

static bool
note(int fd)
{
	const unsigned at = (unsigned)fd;

	if (at >= CHANNELS_FDS_MAX)
		return false;
	atomic_fetch_or(&channels_noted[at / CHANNELS_WORD], 1ul << at % CHANNELS_WORD);
	return true;
}

static void
forget(int fd)
{
	const unsigned at = (unsigned)fd;

	atomic_fetch_and(&channels_noted[at / CHANNELS_WORD], ~(1ul << at % CHANNELS_WORD));
}

void
channels_copy(int from, int to)
{
	if (channels_may_be(from) && channels_is(to))
		(void)note(to);
}

/* --- open and close --------------------------------------------------------------------------------- */

static const struct channel_calls *
find_calls(void)
{
	const struct channel_calls *found = atomic_load(&calls);
	void *library;

	if (found != NULL)
		return found;
	library = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
	if (library != NULL)
		found = dlsym(library, CHANNEL_CALLS_NAME);
	if (found == NULL)
		errno = ENXIO;
	atomic_store(&calls, found);
	return found;
}

int
channels_open(int flags)
{
	const struct channel_calls *const to = find_calls();
	const int fd = to != NULL ? to->open(flags) : -1;

	atomic_store(&opener, getpid());
	if (fd < 0 || note(fd))
		return fd;
	(void)close(fd);
	to->sweep();
	errno = EMFILE;
	return -1;
}

bool
channels_is(int fd)
{
	const struct channel_calls *const to = atomic_load(&calls);
	void *const file = to != NULL ? to->hold(fd) : NULL;

	if (file != NULL)
		to->release(file);
	return file != NULL;
}

void *
channels_begin_close(int fd)
{
	const struct channel_calls *const to = atomic_load(&calls);
	void *file;

	if (!channels_may_be(fd) || to == NULL || getpid() != atomic_load(&opener))
		return NULL;
	file = to->hold(fd);
	forget(fd);
	return file;
}

void
channels_end_close(void *file)
{
	if (file != NULL)
		atomic_load(&calls)->release(file);
}

void
channels_sweep(void)
{
	const struct channel_calls *const to = atomic_load(&calls);

	if (to != NULL && getpid() == atomic_load(&opener))
		to->sweep();
}

/* --- commands ------------------------------------------------------------------------------------- */

DECLARE(ssize_t, write, (int fd, const void *buf, size_t size))
{
	static _Atomic(void *) found;
	ssize_t written;

	if (channels_may_be(fd) && atomic_load(&calls)->write(fd, buf, size, &written))
		return written;
	return NEXT(write)(fd, buf, size);
}

/*
 * Write the buffers of a writev() to the file /dev/infiniband/rdma_cm: each buffer is a command. As
 * in the kernel, writev() stops at the first command that fails.
 */
static ssize_t
write_parts(int fd, const struct iovec *parts, int nb)
{
	ssize_t sum = 0, written;

	for (int i = 0; i < nb; i++) {
		written = replaced_write(fd, parts[i].iov_base, parts[i].iov_len);
		if (written < 0)
			return sum != 0 ? sum : -1;
		sum += written;
	}
	return sum;
}

DECLARE(ssize_t, writev, (int fd, const struct iovec *parts, int nb))
{
	static _Atomic(void *) found;

	if (channels_may_be(fd) && channels_is(fd))
		return write_parts(fd, parts, nb);
	return NEXT(writev)(fd, parts, nb);
}

/* --- copies of descriptors: dup2() and dup3() also close, see descriptors.c --------------------------- */

DECLARE(int, dup, (int fd))
{
	static _Atomic(void *) found;
	const int copy = NEXT(dup)(fd);

	if (copy >= 0)
		channels_copy(fd, copy);
	return copy;
}

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
		const int ret = NEXT(name)(fd, cmd, arg);                                          \
                                                                                                   \
		if (ret >= 0 && (cmd == F_DUPFD || cmd == F_DUPFD_CLOEXEC))                        \
			channels_copy(fd, ret);                                                    \
		return ret;                                                                        \
	}

CALL_FCNTL(fcntl)
CALL_FCNTL(fcntl64)
