/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Replacements of those libc functions that take a path. On paths of RDMA devices they work on the
 * private tree of files (tree.h), which replaces the kernel's files of RDMA devices; a path of
 * another file is passed to libc unchanged.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "channels.h"
#include "counters.h"
#include "next.h"
#include "tree.h"

typedef int filter_fn(const struct dirent *);
typedef int compare_fn(const struct dirent **, const struct dirent **);

/*
 * Define the replacement of a libc function with a parameter `path`. The function `hide` is applied
 * to the return value, to remove the directory of the private tree (tree.h) from a path.
 */
#define CALL_HIDING(type, name, params, args, hide)                                                \
	DECLARE(type, name, params)                                                                \
	{                                                                                          \
		static _Atomic(void *) found;                                                      \
		char there[TREE_PATH_MAX];                                                         \
                                                                                                   \
		path = tree_redirect(path, there);                                                 \
		return hide(NEXT(name) args);                                                      \
	}

#define CALL(type, name, params, args) CALL_HIDING(type, name, params, args, )

/* --- opening -------------------------------------------------------------------------------------- */

static mode_t
mode_of(int flags, va_list list)
{
	return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(list, mode_t)
									  : 0;
}

/*
 * Check whether a path leads to /dev/infiniband/rdma_cm, the event channel of librdmacm. The
 * private tree has only a link for this file, so channels_open() opens it.
 * @param path  equal to `there` if the path of the program was redirected into the tree
 */
static bool
is_channel(const char *path, const char *there)
{
	static const char name[] = TREE_CHANNEL;
	const size_t len = strlen(there), name_len = sizeof(name) - 1;

	return path == there && len > name_len && strcmp(there + len - name_len, name) == 0;
}

/*
 * Define the replacement of a libc function that opens a file, and whose last parameter is used
 * only if the function creates the file. Relative paths start from `dir`.
 */
#define CALL_WITH_MODE(name, dir, params, args)                                                    \
	DECLARE(int, name, params)                                                                 \
	{                                                                                          \
		static _Atomic(void *) found;                                                      \
		char there[TREE_PATH_MAX];                                                         \
		va_list list;                                                                      \
                                                                                                   \
		va_start(list, flags);                                                             \
		const mode_t mode = mode_of(flags, list);                                          \
                                                                                                   \
		va_end(list);                                                                      \
		if (counters_find(dir, path, there))                                               \
			return counters_open(there, flags);                                        \
		path = tree_redirect(path, there);                                                 \
		if (is_channel(path, there))                                                       \
			return channels_open(flags);                                               \
		return NEXT(name) args;                                                            \
	}

/* Define the replacement of a libc function that opens a file and never creates one. */
#define CALL_TO_OPEN(name, dir, params, args)                                                      \
	DECLARE(int, name, params)                                                                 \
	{                                                                                          \
		static _Atomic(void *) found;                                                      \
		char there[TREE_PATH_MAX];                                                         \
                                                                                                   \
		if (counters_find(dir, path, there))                                               \
			return counters_open(there, flags);                                        \
		path = tree_redirect(path, there);                                                 \
		if (is_channel(path, there))                                                       \
			return channels_open(flags);                                               \
		return NEXT(name) args;                                                            \
	}

CALL_WITH_MODE(open, AT_FDCWD, (const char *path, int flags, ...), (path, flags, mode))
CALL_WITH_MODE(open64, AT_FDCWD, (const char *path, int flags, ...), (path, flags, mode))
CALL_WITH_MODE(openat, dir, (int dir, const char *path, int flags, ...), (dir, path, flags, mode))
CALL_WITH_MODE(openat64, dir, (int dir, const char *path, int flags, ...), (dir, path, flags, mode))
CALL_TO_OPEN(__open_2, AT_FDCWD, (const char *path, int flags), (path, flags))
CALL_TO_OPEN(__open64_2, AT_FDCWD, (const char *path, int flags), (path, flags))
CALL_TO_OPEN(__openat_2, dir, (int dir, const char *path, int flags), (dir, path, flags))
CALL_TO_OPEN(__openat64_2, dir, (int dir, const char *path, int flags), (dir, path, flags))

static FILE *
open_counter(const char *where, const char *mode)
{
	const bool is_reading = mode[0] == 'r' && strchr(mode, '+') == NULL;
	const int cloexec = strchr(mode, 'e') != NULL ? O_CLOEXEC : 0;
	const int fd = counters_open(where, (is_reading ? O_RDONLY : O_RDWR) | cloexec);

	return fd >= 0 ? fdopen(fd, mode) : NULL;
}

#define CALL_FOR_STREAM(name)                                                                      \
	DECLARE(FILE *, name, (const char *path, const char *mode))                                \
	{                                                                                          \
		static _Atomic(void *) found;                                                      \
		char there[TREE_PATH_MAX];                                                         \
                                                                                                   \
		if (counters_find(AT_FDCWD, path, there))                                          \
			return open_counter(there, mode);                                          \
		path = tree_redirect(path, there);                                                 \
		return NEXT(name)(path, mode);                                                     \
	}

CALL_FOR_STREAM(fopen)
CALL_FOR_STREAM(fopen64)

/*
 * --- reading: perftest and monitors keep a counter open and read it from its beginning each time; the
 * event channel cannot be read ------------------------------------------------------------------------
 */

#define CALL_TO_READ(name, at, params, args)                                                       \
	DECLARE(ssize_t, name, params)                                                             \
	{                                                                                          \
		static _Atomic(void *) found;                                                      \
                                                                                                   \
		if (counters_may_be(fd))                                                           \
			counters_renew(fd, at);                                                    \
		if (channels_may_be(fd) && channels_is(fd)) {                                      \
			errno = EINVAL;                                                            \
			return -1;                                                                 \
		}                                                                                  \
		return NEXT(name) args;                                                            \
	}

CALL_TO_READ(read, -1, (int fd, void *buf, size_t size), (fd, buf, size))
CALL_TO_READ(__read_chk, -1, (int fd, void *buf, size_t size, size_t room), (fd, buf, size, room))
CALL_TO_READ(pread, at, (int fd, void *buf, size_t size, off_t at), (fd, buf, size, at))
CALL_TO_READ(pread64, at, (int fd, void *buf, size_t size, off_t at), (fd, buf, size, at))
CALL_TO_READ(__pread_chk, at, (int fd, void *buf, size_t size, off_t at, size_t room),
	     (fd, buf, size, at, room))
CALL_TO_READ(__pread64_chk, at, (int fd, void *buf, size_t size, off_t at, size_t room),
	     (fd, buf, size, at, room))

/* --- directories ------------------------------------------------------------------------------------ */

CALL(DIR *, opendir, (const char *path), (path))
CALL(int, scandir,
     (const char *path, struct dirent ***names, filter_fn *filter, compare_fn *compare),
     (path, names, filter, compare))
CALL(int, scandir64,
     (const char *path, struct dirent ***names, filter_fn *filter, compare_fn *compare),
     (path, names, filter, compare))

/*
 * Replace chdir(), for the command `cd` of a shell, and the functions that report the current
 * directory.
 */
CALL(int, chdir, (const char *path), (path))

#define CALL_FOR_CWD(name, params, args)                                                           \
	DECLARE(char *, name, params)                                                              \
	{                                                                                          \
		static _Atomic(void *) found;                                                      \
                                                                                                   \
		return tree_hide(NEXT(name) args);                                                 \
	}

CALL_FOR_CWD(getcwd, (char *buf, size_t size), (buf, size))
CALL_FOR_CWD(__getcwd_chk, (char *buf, size_t size, size_t room), (buf, size, room))
CALL_FOR_CWD(get_current_dir_name, (void), ())

/* --- file status: the structs are passed on uninterpreted ------------------------------------------ */

CALL(int, stat, (const char *path, void *buf), (path, buf))
CALL(int, stat64, (const char *path, void *buf), (path, buf))
CALL(int, lstat, (const char *path, void *buf), (path, buf))
CALL(int, lstat64, (const char *path, void *buf), (path, buf))
CALL(int, fstatat, (int dir, const char *path, void *buf, int flags), (dir, path, buf, flags))
CALL(int, fstatat64, (int dir, const char *path, void *buf, int flags), (dir, path, buf, flags))
CALL(int, statx, (int dir, const char *path, int flags, unsigned mask, void *buf),
     (dir, path, flags, mask, buf))

CALL(int, access, (const char *path, int mode), (path, mode))
CALL(int, eaccess, (const char *path, int mode), (path, mode))
CALL(int, euidaccess, (const char *path, int mode), (path, mode))
CALL(int, faccessat, (int dir, const char *path, int mode, int flags), (dir, path, mode, flags))

CALL(ssize_t, getxattr, (const char *path, const char *name, void *buf, size_t size),
     (path, name, buf, size))
CALL(ssize_t, lgetxattr, (const char *path, const char *name, void *buf, size_t size),
     (path, name, buf, size))
CALL(ssize_t, listxattr, (const char *path, char *buf, size_t size), (path, buf, size))
CALL(ssize_t, llistxattr, (const char *path, char *buf, size_t size), (path, buf, size))

/*
 * Define a replacement of a function of glibc before 2.33, for programs that were built with it:
 * later versions do not declare these functions. If a long has 64 bits, the old function does the
 * same as the function `now`.
 */
#define OLD(name, params, now, args)                                                               \
	DECLARE(int, name, params)                                                                 \
	{                                                                                          \
		(void)version;                                                                     \
		return replaced_##now args;                                                        \
	}

OLD(__xstat, (int version, const char *path, void *buf), stat, (path, buf))
OLD(__xstat64, (int version, const char *path, void *buf), stat64, (path, buf))
OLD(__lxstat, (int version, const char *path, void *buf), lstat, (path, buf))
OLD(__lxstat64, (int version, const char *path, void *buf), lstat64, (path, buf))
OLD(__fxstatat, (int version, int dir, const char *path, void *buf, int flags), fstatat,
    (dir, path, buf, flags))
OLD(__fxstatat64, (int version, int dir, const char *path, void *buf, int flags), fstatat64,
    (dir, path, buf, flags))

/* --- open files: the event channel must appear as a character device ----------------------------------- */

/*
 * Define the replacement of fstat() or fstat64(). /dev/infiniband/rdma_cm appears as a character
 * device, not as a pipe. If a long has 64 bits, struct stat64 equals struct stat.
 */
#define CALL_ON_OPEN(name)                                                                         \
	DECLARE(int, name, (int fd, struct stat *buf))                                             \
	{                                                                                          \
		static _Atomic(void *) found;                                                      \
		const int ret = NEXT(name)(fd, buf);                                               \
                                                                                                   \
		if (ret == 0 && S_ISFIFO(buf->st_mode) && channels_may_be(fd) && channels_is(fd))  \
			buf->st_mode ^= S_IFIFO ^ S_IFCHR;                                         \
		return ret;                                                                        \
	}

CALL_ON_OPEN(fstat)
CALL_ON_OPEN(fstat64)
OLD(__fxstat, (int version, int fd, struct stat *buf), fstat, (fd, buf))
OLD(__fxstat64, (int version, int fd, struct stat *buf), fstat64, (fd, buf))

/* --- links: those of the tree are relative, or lead out of the tree ------------------------------- */

CALL(ssize_t, readlink, (const char *path, char *buf, size_t size), (path, buf, size))
CALL(ssize_t, __readlink_chk, (const char *path, char *buf, size_t size, size_t room),
     (path, buf, size, room))
CALL(ssize_t, readlinkat, (int dir, const char *path, char *buf, size_t size),
     (dir, path, buf, size))
CALL(ssize_t, __readlinkat_chk, (int dir, const char *path, char *buf, size_t size, size_t room),
     (dir, path, buf, size, room))

CALL_HIDING(char *, realpath, (const char *path, char *resolved), (path, resolved), tree_hide)
CALL_HIDING(char *, __realpath_chk, (const char *path, char *resolved, size_t room),
	    (path, resolved, room), tree_hide)
CALL_HIDING(char *, canonicalize_file_name, (const char *path), (path), tree_hide)
