/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Replacements of those libc functions that close descriptors. Daemons close all descriptors that
 * they did not open, and would close those of the engine (liburoce and DPDK). The engine would then
 * read and write files that the program opens under the same numbers. So the replacements close a
 * range of descriptors except for those of the engine. A close(), dup2() or dup3() that would close
 * a descriptor of the engine fails with EBADF, as if the descriptor were not open.
 */

#include "descriptors.h"

#include <errno.h>
#include <limits.h>
#include <linux/close_range.h>

#include "channels.h"
#include "next.h"

/* Fail with EBADF, as the kernel does for a number that is not an open descriptor. */
static int
refuse(void)
{
	errno = EBADF;
	return -1;
}

__attribute__((visibility("default"))) struct descriptors uroce_paths_descriptors = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
};

static const struct descriptors *const table = &uroce_paths_descriptors;

DECLARE(int, close, (int fd))
{
	static _Atomic(void *) found;
	void *channel;
	int ret;

	if (descriptors_is_own(table, fd))
		return refuse();
	channel = channels_begin_close(fd);
	ret = NEXT(close)(fd);
	channels_end_close(channel);
	return ret;
}

/*
 * Complete a dup2() or dup3() that has replaced `to` by a copy of `from`.
 * @param channel  the result of channels_begin_close() for `to`
 * @param ret  the result of the call
 */
static int
end_dup(int from, int to, void *channel, int ret)
{
	if (ret >= 0)
		channels_copy(from, to);
	channels_end_close(channel);
	return ret;
}

DECLARE(int, dup2, (int from, int to))
{
	static _Atomic(void *) found;
	void *channel;

	if (from == to)
		return NEXT(dup2)(from, to);
	if (descriptors_is_own(table, to))
		return refuse();
	channel = channels_begin_close(to);
	return end_dup(from, to, channel, NEXT(dup2)(from, to));
}

DECLARE(int, dup3, (int from, int to, int flags))
{
	static _Atomic(void *) found;
	void *channel;

	if (descriptors_is_own(table, to))
		return refuse();
	channel = channels_begin_close(to);
	return end_dup(from, to, channel, NEXT(dup3)(from, to, flags));
}

/*
 * Find the first file descriptor of liburoce that is at least `fd` and at most `last`. The result
 * is UINT_MAX if there is none.
 */
static unsigned
find_own(unsigned fd, unsigned last)
{
	if (atomic_load_explicit(&table->pid, memory_order_relaxed) != getpid())
		return UINT_MAX;
	for (; fd < DESCRIPTORS_MAX && fd <= last; fd++)
		if (descriptors_has(table, (int)fd))
			return fd;
	return UINT_MAX;
}

/*
 * Replacement of close_range(), which does not close the file descriptors of liburoce. If liburoce
 * has none in the range, or the call only sets close-on-exec, the replacement makes one system call
 * for the whole range.
 */
DECLARE(int, close_range, (unsigned first, unsigned last, int flags))
{
	static _Atomic(void *) found;
	unsigned own;
	int ret = 0;

	if (first > last || (flags & CLOSE_RANGE_CLOEXEC) != 0)
		return NEXT(close_range)(first, last, flags);
	pthread_mutex_lock(&uroce_paths_descriptors.lock);
	while (ret == 0 && (own = find_own(first, last)) != UINT_MAX) {
		if (first < own)
			ret = NEXT(close_range)(first, own - 1, flags);
		first = own + 1;
	}
	if (ret == 0 && first <= last)
		ret = NEXT(close_range)(first, last, flags);
	pthread_mutex_unlock(&uroce_paths_descriptors.lock);
	channels_sweep();
	return ret;
}

/*
 * Replacement of closefrom(). If the engine (liburoce and DPDK) has no descriptor in the range, the
 * function of libc is called, which also works if the kernel has no close_range().
 */
DECLARE(void, closefrom, (int low))
{
	static _Atomic(void *) found;
	const unsigned first = low > 0 ? (unsigned)low : 0;

	if (find_own(first, UINT_MAX) == UINT_MAX) {
		NEXT(closefrom)(low);
		channels_sweep();
	} else if (replaced_close_range(first, UINT_MAX, 0) != 0) {
		for (unsigned fd = first; fd < DESCRIPTORS_MAX; fd++)
			(void)replaced_close((int)fd);
	}
}
