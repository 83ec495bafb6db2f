/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of liburoce-paths.so, which is preloaded. Each intercepted call on a path of a device must
 * give the result of libc's call on the file in the tree. For other paths it must give the result
 * of libc's call on the path itself.
 *
 *	test-ibverbs-paths [calls]   with `calls`: only print the names of the intercepted calls
 */

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
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

#define TEXT_MAX 1024

/* Call `function` with a path, and describe the result in `text`. */
typedef void call_fn(void *function, const char *path, char *text);

static void *libc;
static char runtime_dir[] = "/tmp/uroce-test-paths-XXXXXX";

#define TELL(text, ...) ((void)snprintf(text, TEXT_MAX, __VA_ARGS__))

static void
tell_ret(long ret, char *text)
{
	TELL(text, "%ld, errno %d", ret, ret < 0 ? errno : 0);
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
	TELL(text, "inode %lu: %s", (unsigned long)file.st_ino, content);
	close(fd);
}

/*
 * The types of the intercepted functions. Some are variadic. Some have a directory before the path.
 */
typedef int open_fn(const char *, int, ...);
typedef int openat_fn(int, const char *, int, ...);
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
typedef int statx_fn(int, const char *, int, unsigned, void *);
typedef int access_fn(const char *, int);
typedef int faccessat_fn(int, const char *, int, int);
typedef ssize_t getxattr_fn(const char *, const char *, void *, size_t);
typedef ssize_t listxattr_fn(const char *, char *, size_t);
typedef ssize_t readlink_fn(const char *, char *, size_t);
typedef ssize_t readlink_chk_fn(const char *, char *, size_t, size_t);
typedef ssize_t readlinkat_fn(int, const char *, char *, size_t);
typedef ssize_t readlinkat_chk_fn(int, const char *, char *, size_t, size_t);
typedef char *realpath_fn(const char *, char *);
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
		(void)snprintf(text + strlen(text), TEXT_MAX - strlen(text), "%s ", at->d_name);
	closedir(dir);
}

static void
call_scandir(void *function, const char *path, char *text)
{
	struct dirent **names;
	const int nb = ((scandir_fn)function)(path, &names, NULL, alphasort);

	tell_ret(nb, text);
	for (int i = 0; i < nb; i++) {
		(void)snprintf(text + strlen(text), TEXT_MAX - strlen(text), " %s",
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
		TELL(text, "inode %lu mode %o size %ld", (unsigned long)file->st_ino, file->st_mode,
		     (long)file->st_size);
}

static void
call_stat(void *function, const char *path, char *text)
{
	struct stat file;

	tell_stat(((stat_fn *)function)(path, &file), &file, text);
}

/*
 * Call a function that has the version of the struct as its first argument, which is 1 for this
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
		TELL(text, "inode %lu mode %o", (unsigned long)file.stx_ino, file.stx_mode);
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
		TELL(text, "%.*s", (int)len, link);
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
		TELL(text, "%s", len > 0 && strncmp(path, tree, len) == 0 ? path + len : path);
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
	tell_cwd((chdir_fn *)function, path, tell_getcwd, dlsym(libc, "getcwd"), text);
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
		TELL(text, "%.*s", (int)len, content);
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

static const struct {
	const char *name;
	call_fn *call;
	/* name of the function that newer versions of libc have instead; NULL: the same */
	const char *now_name;
	call_fn *now;
} calls[] = {
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

#define NB_CALLS (sizeof(calls) / sizeof(calls[0]))

/*
 * Paths that lead into the tree: files, directories, and links to the outside and within the tree.
 * Some of the paths do not exist.
 */
static const char *const ours[] = {
	"/sys/class/infiniband/uroce0/node_type",
	"/sys/class/infiniband/uroce0/ports/1/gid_attrs/types/1",
	"/sys/class/infiniband",
	"/sys/class/infiniband/uroce0/ports/1/",
	"/sys/class/infiniband_verbs/uverbs0",
	"/sys/class/infiniband_verbs/uverbs0/device",
	"/sys/class/infiniband_verbs/uverbs0/device/numa_node",
	"/dev/infiniband/uverbs0",
	"/dev/infiniband/none",
	"/sys/class/infiniband/none",
	"/sys/class/infiniband_mad",
	"/sys/class/infiniband/uroce0/node_type/none",
};

static const char *const foreign[] = {
	"/etc/passwd", "/etc/", "/sys/class/net", "/proc/self/exe", "/dev/null", "/none", "", ".",
};

static void
expect_same(size_t call, const char *path, const char *prefix)
{
	const char *const now = calls[call].now_name;
	void *const our = dlsym(RTLD_DEFAULT, calls[call].name);
	void *const their = dlsym(libc, now != NULL ? now : calls[call].name);
	call_fn *const their_call = now != NULL ? calls[call].now : calls[call].call;
	char there[TEXT_MAX], text[2][2 * TEXT_MAX] = { "", "" };

	assert_non_null(our);
	assert_non_null(their);
	assert_ptr_not_equal(our, their); /* the preloaded library defines the call, too */
	TELL(there, "%s%s", prefix, path);
	calls[call].call(our, path, text[0]);
	their_call(their, there, text[1]);
	if (strcmp(text[0], text[1]) != 0)
		print_error("%s(\"%s\"): %s, and not %s\n", calls[call].name, path, text[0],
			    text[1]);
	assert_string_equal(text[0], text[1]);
}

static void *
look(void *is_there)
{
	*(bool *)is_there = access("/sys/class/infiniband/uroce0/node_type", R_OK) == 0;
	return NULL;
}

/* The first intercepted calls come from many threads at once: the tree is created once. */
static void
tree__is_made_once(void **state)
{
	bool is_there[8];
	pthread_t threads[8];
	struct dirent **list;
	int nb;

	(void)state;
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, look, &is_there[i]), 0);
	for (unsigned i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	for (unsigned i = 0; i < 8; i++)
		assert_true(is_there[i]);
	nb = scandir(runtime_dir, &list, NULL, alphasort);
	assert_int_equal(nb, 3); /* the tree and two other entries */
	while (nb-- > 0)
		free(list[nb]);
	free(list);
}

static void
tree__is_private(void **state)
{
	struct stat dir;

	(void)state;
	assert_int_equal(stat(getenv("UROCE_TREE"), &dir), 0);
	assert_int_equal(dir.st_mode & 07777, 0700);
	assert_int_equal(dir.st_uid, geteuid());
}

static void
calls__lead_into_the_tree(void **state)
{
	(void)state;
	for (size_t call = 0; call < NB_CALLS; call++)
		for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
			expect_same(call, ours[i], getenv("UROCE_TREE"));
}

static void
calls__lead_on_elsewhere(void **state)
{
	(void)state;
	for (size_t call = 0; call < NB_CALLS; call++)
		for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
			expect_same(call, foreign[i], "");
}

/*
 * Calls with a NULL path fail as in libc. Programs make such calls to test whether a function is
 * supported.
 */
static void
calls__take_no_path(void **state)
{
	(void)state;
	errno = 0;
	assert_int_equal(((open_fn *)dlsym(RTLD_DEFAULT, "open"))(NULL, O_RDONLY), -1);
	assert_int_equal(errno, EFAULT);
	errno = 0;
	assert_int_equal(((statx_fn *)dlsym(RTLD_DEFAULT, "statx"))(0, NULL, 0, 0, NULL), -1);
	assert_int_equal(errno, EFAULT);
	errno = 0;
	assert_null(((realpath_fn *)dlsym(RTLD_DEFAULT, "realpath"))(NULL, NULL));
	assert_int_equal(errno, EINVAL);
}

static void
open__makes_a_file_of_its_mode(void **state)
{
	static const char *const names[] = { "open", "open64" };
	static const char *const at_names[] = { "openat", "openat64" };
	struct stat file;
	char path[64];

	(void)state;
	umask(0);
	(void)snprintf(path, sizeof(path), "%s/made", runtime_dir);
	for (unsigned i = 0; i < 2; i++) {
		close(((open_fn *)dlsym(RTLD_DEFAULT, names[i]))(path, O_CREAT | O_WRONLY, 0641));
		assert_int_equal(stat(path, &file), 0);
		assert_int_equal(file.st_mode & 07777, 0641);
		assert_int_equal(remove(path), 0);
		close(((openat_fn *)dlsym(RTLD_DEFAULT, at_names[i]))(AT_FDCWD, path,
								      O_CREAT | O_WRONLY, 0614));
		assert_int_equal(stat(path, &file), 0);
		assert_int_equal(file.st_mode & 07777, 0614);
		assert_int_equal(remove(path), 0);
	}
}

/* The checks that UCX makes on the file of a verbs device. */
static void
node__is_a_character_device(void **state)
{
	struct stat node;
	int fd;

	(void)state;
	assert_int_equal(stat("/dev/infiniband/uverbs0", &node), 0);
	assert_true(S_ISCHR(node.st_mode));
	assert_int_equal(access("/dev/infiniband/uverbs0", R_OK | W_OK), 0);
	fd = open("/dev/infiniband/uverbs0", O_RDWR);
	assert_true(fd >= 0);
	close(fd);
}

/*
 * The file /dev/infiniband/rdma_cm, which librdmacm opens and waits on. Bytes that are no command
 * are refused.
 */
static void
channel__is_a_character_device_that_refuses_what_is_no_command(void **state)
{
	const char command[8] = { 0 };
	struct pollfd poll_fd = { .events = POLLIN };
	struct stat node;
	int pipe_fds[2];

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		poll_fd.fd = ((open_fn *)dlsym(RTLD_DEFAULT, i == 0 ? "open" : "open64"))(
			"/dev/infiniband/rdma_cm", O_RDWR | O_CLOEXEC);
		assert_true(poll_fd.fd >= 0);
		assert_int_equal(fstat(poll_fd.fd, &node), 0);
		assert_true(S_ISCHR(node.st_mode));
		assert_int_equal(poll(&poll_fd, 1, 0), 0);
		errno = 0;
		assert_int_equal(write(poll_fd.fd, command, sizeof(command)), -1);
		assert_int_equal(errno, EINVAL);
		close(poll_fd.fd);
	}
	assert_int_equal(pipe(pipe_fds), 0);
	assert_int_equal(fstat(pipe_fds[0], &node), 0);
	assert_true(S_ISFIFO(node.st_mode));
	close(pipe_fds[0]);
	close(pipe_fds[1]);
}

/* realpath() gives the public path of a file, and not the path in the tree. */
static void
realpath__keeps_to_public_names(void **state)
{
	static const char uverbs[] = "/sys/class/infiniband_verbs/uverbs0/device/..";
	char *(*const realpath_of)(const char *, char *) = dlsym(RTLD_DEFAULT, "realpath");
	char buf[4096];
	char *real;

	(void)state;
	assert_ptr_equal(realpath_of(uverbs, buf), buf);
	assert_string_equal(buf, "/sys/class/infiniband/uroce0");
	real = realpath_of(ours[0], NULL);
	assert_string_equal(real, ours[0]);
	free(real);
	real = realpath_of("/dev/infiniband/uverbs0", NULL);
	assert_string_equal(real, "/dev/null");
	free(real);
}

/* The parent that created the tree has removed it, as at its end: the child creates a new tree. */
static void
tree__is_made_anew_when_it_is_gone(void **state)
{
	char old[64], command[128];

	(void)state;
	(void)snprintf(old, sizeof(old), "%s", getenv("UROCE_TREE"));
	(void)snprintf(command, sizeof(command), "rm -r %s", old);
	assert_int_equal(system(command), 0);
	assert_int_equal(access("/sys/class/infiniband/uroce0", F_OK), 0);
	assert_string_not_equal(getenv("UROCE_TREE"), old);
	assert_int_equal(access(old, F_OK), -1);
}

/* Remove the directory with the tree. */
static int
remove_runtime_dir(void **state)
{
	char command[64];

	(void)state;
	(void)snprintf(command, sizeof(command), "rm -r %s", runtime_dir);
	return system(command);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tree__is_made_once),
		cmocka_unit_test(tree__is_private),
		cmocka_unit_test(calls__lead_into_the_tree),
		cmocka_unit_test(calls__lead_on_elsewhere),
		cmocka_unit_test(calls__take_no_path),
		cmocka_unit_test(open__makes_a_file_of_its_mode),
		cmocka_unit_test(node__is_a_character_device),
		cmocka_unit_test(channel__is_a_character_device_that_refuses_what_is_no_command),
		cmocka_unit_test(realpath__keeps_to_public_names),
		cmocka_unit_test(tree__is_made_anew_when_it_is_gone),
	};

	if (argc == 2 && strcmp(argv[1], "calls") == 0) {
		for (size_t i = 0; i < NB_CALLS; i++)
			puts(calls[i].name);
		return 0;
	}
	libc = dlopen("libc.so.6", RTLD_NOW | RTLD_LOCAL);
	if (libc == NULL || mkdtemp(runtime_dir) == NULL)
		return 1;
	setenv("XDG_RUNTIME_DIR", runtime_dir, 1);
	unsetenv("UROCE_TREE");
	return cmocka_run_group_tests(tests, NULL, remove_runtime_dir);
}
