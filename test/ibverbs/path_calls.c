/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The calls that liburoce-paths.so intercepts. Each is made with a path, and its result is
 * described.
 */

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "path_calls.h"

void *path_libc;

static void
tell_ret(long ret, char *text)
{
	PATH_TELL(text, "%ld, errno %d", ret, ret < 0 ? errno : 0);
}

static void
tell_fd(int fd, char *text)
{
	char content[64] = "";
	struct stat file;

	if (fd < 0) {
		tell_ret(fd, text);
		return;
	}
	assert_int_equal(fstat(fd, &file), 0);
	if (read(fd, content, sizeof(content) - 1) < 0)
		(void)snprintf(content, sizeof(content), "errno %d", errno);
	PATH_TELL(text, "inode %lu: %s", (unsigned long)file.st_ino, content);
	close(fd);
}

/*
 * The types of the intercepted functions. Some are variadic. Some have a directory before the path.
 */
typedef int open_2_fn(const char *, int);
typedef int openat_2_fn(int, const char *, int);
typedef FILE *fopen_fn(const char *, const char *);
typedef DIR *opendir_fn(const char *);
typedef __typeof__(&scandir) scandir_fn;
typedef int stat_fn(const char *, void *);
typedef int xstat_fn(int, const char *, void *);
typedef int fstatat_fn(int, const char *, void *, int);
typedef int fxstatat_fn(int, int, const char *, void *, int);
typedef int fstat_fn(int, void *);
typedef int fxstat_fn(int, int, void *);
typedef int access_fn(const char *, int);
typedef int faccessat_fn(int, const char *, int, int);
typedef ssize_t getxattr_fn(const char *, const char *, void *, size_t);
typedef ssize_t listxattr_fn(const char *, char *, size_t);
typedef ssize_t readlink_fn(const char *, char *, size_t);
typedef ssize_t readlink_chk_fn(const char *, char *, size_t, size_t);
typedef ssize_t readlinkat_fn(int, const char *, char *, size_t);
typedef ssize_t readlinkat_chk_fn(int, const char *, char *, size_t, size_t);
typedef char *realpath_chk_fn(const char *, char *, size_t);
typedef char *canonicalize_fn(const char *);

static void
call_open(void *function, const char *path, char *text)
{
	tell_fd(((open_fn *)function)(path, O_RDONLY), text);
	tell_fd(((open_fn *)function)(path, O_RDONLY | O_DIRECTORY), text + strlen(text));
}

static void
call_openat(void *function, const char *path, char *text)
{
	tell_fd(((openat_fn *)function)(AT_FDCWD, path, O_RDONLY), text);
}

static void
call_open_2(void *function, const char *path, char *text)
{
	tell_fd(((open_2_fn *)function)(path, O_RDONLY), text);
}

static void
call_openat_2(void *function, const char *path, char *text)
{
	tell_fd(((openat_2_fn *)function)(AT_FDCWD, path, O_RDONLY), text);
}

static void
call_fopen(void *function, const char *path, char *text)
{
	FILE *const file = ((fopen_fn *)function)(path, "r");

	tell_fd(file != NULL ? dup(fileno(file)) : -1, text);
	if (file != NULL)
		fclose(file);
}

/*
 * Open a directory, and write the names of its entries to `text`, in the order of readdir(), as far
 * as there is room.
 */
static void
call_opendir(void *function, const char *path, char *text)
{
	DIR *const dir = ((opendir_fn *)function)(path);

	if (dir == NULL) {
		tell_ret(-1, text);
		return;
	}
	for (const struct dirent *at = readdir(dir); at != NULL; at = readdir(dir))
		(void)snprintf(text + strlen(text), PATH_TEXT_MAX - strlen(text), "%s ",
			       at->d_name);
	closedir(dir);
}

static void
call_scandir(void *function, const char *path, char *text)
{
	struct dirent **names;
	const int nb = ((scandir_fn)function)(path, &names, NULL, alphasort);

	tell_ret(nb, text);
	for (int i = 0; i < nb; i++) {
		(void)snprintf(text + strlen(text), PATH_TEXT_MAX - strlen(text), " %s",
			       names[i]->d_name);
		free(names[i]);
	}
	if (nb >= 0)
		free(names);
}

static void
tell_stat(int ret, const struct stat *file, char *text)
{
	tell_ret(ret, text);
	if (ret == 0)
		PATH_TELL(text, "inode %lu mode %o size %ld", (unsigned long)file->st_ino,
			  file->st_mode, (long)file->st_size);
}

static void
call_stat(void *function, const char *path, char *text)
{
	struct stat file;

	tell_stat(((stat_fn *)function)(path, &file), &file, text);
}

/*
 * Call a function whose first argument is the version of the struct. The version is 1 for this
 * libc.
 */
static void
call_xstat(void *function, const char *path, char *text)
{
	struct stat file;

	tell_stat(((xstat_fn *)function)(1, path, &file), &file, text);
}

static void
call_fstatat(void *function, const char *path, char *text)
{
	struct stat file;

	tell_stat(((fstatat_fn *)function)(AT_FDCWD, path, &file, AT_SYMLINK_NOFOLLOW), &file,
		  text);
}

static void
call_fxstatat(void *function, const char *path, char *text)
{
	struct stat file;

	tell_stat(((fxstatat_fn *)function)(1, AT_FDCWD, path, &file, AT_SYMLINK_NOFOLLOW), &file,
		  text);
}

/* Call fstat() on the opened file. */
static void
call_fstat(void *function, const char *path, char *text)
{
	const int fd = open(path, O_RDONLY);
	struct stat file;

	tell_stat(((fstat_fn *)function)(fd, &file), &file, text);
	if (fd >= 0)
		close(fd);
}

static void
call_fxstat(void *function, const char *path, char *text)
{
	const int fd = open(path, O_RDONLY);
	struct stat file;

	tell_stat(((fxstat_fn *)function)(1, fd, &file), &file, text);
	if (fd >= 0)
		close(fd);
}

static void
call_statx(void *function, const char *path, char *text)
{
	struct statx file;
	const int ret = ((statx_fn *)function)(AT_FDCWD, path, 0, STATX_BASIC_STATS, &file);

	tell_ret(ret, text);
	if (ret == 0)
		PATH_TELL(text, "inode %lu mode %o", (unsigned long)file.stx_ino, file.stx_mode);
}

static void
call_access(void *function, const char *path, char *text)
{
	tell_ret(((access_fn *)function)(path, R_OK | X_OK), text);
}

static void
call_faccessat(void *function, const char *path, char *text)
{
	tell_ret(((faccessat_fn *)function)(AT_FDCWD, path, R_OK | X_OK, 0), text);
}

static void
call_getxattr(void *function, const char *path, char *text)
{
	char value[64];

	tell_ret(((getxattr_fn *)function)(path, "user.none", value, sizeof(value)), text);
}

static void
call_listxattr(void *function, const char *path, char *text)
{
	char names[256];

	tell_ret(((listxattr_fn *)function)(path, names, sizeof(names)), text);
}

static void
tell_link(ssize_t len, const char *link, char *text)
{
	tell_ret(len, text);
	if (len >= 0)
		PATH_TELL(text, "%.*s", (int)len, link);
}

static void
call_readlink(void *function, const char *path, char *text)
{
	char link[256];

	tell_link(((readlink_fn *)function)(path, link, sizeof(link)), link, text);
}

static void
call_readlink_chk(void *function, const char *path, char *text)
{
	char link[256];

	tell_link(((readlink_chk_fn *)function)(path, link, sizeof(link), sizeof(link)), link,
		  text);
}

static void
call_readlinkat(void *function, const char *path, char *text)
{
	char link[256];

	tell_link(((readlinkat_fn *)function)(AT_FDCWD, path, link, sizeof(link)), link, text);
}

static void
call_readlinkat_chk(void *function, const char *path, char *text)
{
	char link[256];

	tell_link(((readlinkat_chk_fn *)function)(AT_FDCWD, path, link, sizeof(link), sizeof(link)),
		  link, text);
}

/*
 * Write a path to `text`, without the path of the tree at its beginning, so that it can be compared
 * with a path that names no tree.
 */
static void
tell_path(const char *path, char *text)
{
	const char *const tree = getenv("UROCE_TREE");
	const size_t len = path != NULL && tree != NULL ? strlen(tree) : 0;

	if (path == NULL)
		tell_ret(-1, text);
	else
		PATH_TELL(text, "%s", len > 0 && strncmp(path, tree, len) == 0 ? path + len : path);
}

static void
call_realpath(void *function, const char *path, char *text)
{
	char *const real = ((realpath_fn *)function)(path, NULL);

	tell_path(real, text);
	free(real);
}

static void
call_realpath_chk(void *function, const char *path, char *text)
{
	char real[4096];

	tell_path(((realpath_chk_fn *)function)(path, real, sizeof(real)), text);
}

static void
call_canonicalize(void *function, const char *path, char *text)
{
	char *const real = ((canonicalize_fn *)function)(path);

	tell_path(real, text);
	free(real);
}

typedef int chdir_fn(const char *);
typedef char *getcwd_fn(char *, size_t);
typedef char *getcwd_chk_fn(char *, size_t, size_t);
typedef char *get_current_dir_name_fn(void);
typedef ssize_t read_fn(int, void *, size_t);
typedef ssize_t read_chk_fn(int, void *, size_t, size_t);
typedef ssize_t pread_fn(int, void *, size_t, off_t);
typedef ssize_t pread_chk_fn(int, void *, size_t, off_t, size_t);

/*
 * Change the working directory by `enter`, and let `tell` write the working directory to `text`.
 * Then change back.
 */
static void
tell_cwd(chdir_fn *enter, const char *path, void (*tell)(void *, char *), void *function,
	 char *text)
{
	const int before = open(".", O_RDONLY | O_DIRECTORY);
	const int ret = enter(path);

	tell_ret(ret, text);
	if (ret == 0)
		tell(function, text + strlen(text));
	assert_int_equal(fchdir(before), 0);
	close(before);
}

static void
tell_getcwd(void *function, char *text)
{
	char path[4096];

	tell_path(((getcwd_fn *)function)(path, sizeof(path)), text);
}

static void
tell_getcwd_chk(void *function, char *text)
{
	char path[4096];

	tell_path(((getcwd_chk_fn *)function)(path, sizeof(path), sizeof(path)), text);
}

static void
tell_current_dir(void *function, char *text)
{
	char *const path = ((get_current_dir_name_fn *)function)();

	tell_path(path, text);
	free(path);
}

static void
call_chdir(void *function, const char *path, char *text)
{
	tell_cwd((chdir_fn *)function, path, tell_getcwd, dlsym(path_libc, "getcwd"), text);
}

static void
call_getcwd(void *function, const char *path, char *text)
{
	tell_cwd(chdir, path, tell_getcwd, function, text);
}

static void
call_getcwd_chk(void *function, const char *path, char *text)
{
	tell_cwd(chdir, path, tell_getcwd_chk, function, text);
}

static void
call_current_dir(void *function, const char *path, char *text)
{
	tell_cwd(chdir, path, tell_current_dir, function, text);
}

static void
tell_content(ssize_t len, const char *content, char *text)
{
	tell_ret(len, text);
	if (len > 0)
		PATH_TELL(text, "%.*s", (int)len, content);
}

static void
call_read(void *function, const char *path, char *text)
{
	const int fd = open(path, O_RDONLY);
	char content[64];

	tell_content(((read_fn *)function)(fd, content, sizeof(content)), content, text);
	close(fd);
}

static void
call_read_chk(void *function, const char *path, char *text)
{
	const int fd = open(path, O_RDONLY);
	char content[64];

	tell_content(((read_chk_fn *)function)(fd, content, sizeof(content), sizeof(content)),
		     content, text);
	close(fd);
}

static void
call_pread(void *function, const char *path, char *text)
{
	const int fd = open(path, O_RDONLY);
	char content[64];

	tell_content(((pread_fn *)function)(fd, content, sizeof(content), 1), content, text);
	close(fd);
}

static void
call_pread_chk(void *function, const char *path, char *text)
{
	const int fd = open(path, O_RDONLY);
	char content[64];

	tell_content(((pread_chk_fn *)function)(fd, content, sizeof(content), 1, sizeof(content)),
		     content, text);
	close(fd);
}

const struct path_call path_calls[] = {
	{ "open", call_open },
	{ "open64", call_open },
	{ "openat", call_openat },
	{ "openat64", call_openat },
	{ "__open_2", call_open_2 },
	{ "__open64_2", call_open_2 },
	{ "__openat_2", call_openat_2 },
	{ "__openat64_2", call_openat_2 },
	{ "fopen", call_fopen },
	{ "fopen64", call_fopen },
	{ "opendir", call_opendir },
	{ "scandir", call_scandir },
	{ "scandir64", call_scandir },
	{ "stat", call_stat },
	{ "stat64", call_stat },
	{ "lstat", call_stat },
	{ "lstat64", call_stat },
	{ "fstatat", call_fstatat },
	{ "fstatat64", call_fstatat },
	{ "statx", call_statx },
	{ "__xstat", call_xstat, "stat", call_stat },
	{ "__xstat64", call_xstat, "stat64", call_stat },
	{ "__lxstat", call_xstat, "lstat", call_stat },
	{ "__lxstat64", call_xstat, "lstat64", call_stat },
	{ "__fxstatat", call_fxstatat, "fstatat", call_fstatat },
	{ "__fxstatat64", call_fxstatat, "fstatat64", call_fstatat },
	{ "fstat", call_fstat },
	{ "fstat64", call_fstat },
	{ "__fxstat", call_fxstat, "fstat", call_fstat },
	{ "__fxstat64", call_fxstat, "fstat64", call_fstat },
	{ "access", call_access },
	{ "eaccess", call_access },
	{ "euidaccess", call_access },
	{ "faccessat", call_faccessat },
	{ "getxattr", call_getxattr },
	{ "lgetxattr", call_getxattr },
	{ "listxattr", call_listxattr },
	{ "llistxattr", call_listxattr },
	{ "readlink", call_readlink },
	{ "__readlink_chk", call_readlink_chk },
	{ "readlinkat", call_readlinkat },
	{ "__readlinkat_chk", call_readlinkat_chk },
	{ "realpath", call_realpath },
	{ "__realpath_chk", call_realpath_chk },
	{ "canonicalize_file_name", call_canonicalize },
	{ "chdir", call_chdir },
	{ "getcwd", call_getcwd },
	{ "__getcwd_chk", call_getcwd_chk },
	{ "get_current_dir_name", call_current_dir },
	{ "read", call_read },
	{ "__read_chk", call_read_chk },
	{ "pread", call_pread },
	{ "pread64", call_pread },
	{ "__pread_chk", call_pread_chk },
	{ "__pread64_chk", call_pread_chk },
};

const size_t path_nb_calls = sizeof(path_calls) / sizeof(path_calls[0]);
