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

#include "path_calls.h"

static char runtime_dir[] = "/tmp/uroce-test-paths-XXXXXX";

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
	const char *const now = path_calls[call].now_name;
	void *const our = dlsym(RTLD_DEFAULT, path_calls[call].name);
	void *const their = dlsym(path_libc, now != NULL ? now : path_calls[call].name);
	path_call_fn *const their_call = now != NULL ? path_calls[call].now : path_calls[call].call;
	char there[PATH_TEXT_MAX], text[2][2 * PATH_TEXT_MAX] = { "", "" };

	assert_non_null(our);
	assert_non_null(their);
	/* the preloaded library must define the call as well as libc */
	assert_ptr_not_equal(our, their);
	PATH_TELL(there, "%s%s", prefix, path);
	path_calls[call].call(our, path, text[0]);
	their_call(their, there, text[1]);
	if (strcmp(text[0], text[1]) != 0)
		print_error("%s(\"%s\"): %s, and not %s\n", path_calls[call].name, path, text[0],
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
	assert_int_equal(nb, 3); /* the directory has the entries . and .. and one tree */
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
	for (size_t call = 0; call < path_nb_calls; call++)
		for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
			expect_same(call, ours[i], getenv("UROCE_TREE"));
}

static void
calls__lead_on_elsewhere(void **state)
{
	(void)state;
	for (size_t call = 0; call < path_nb_calls; call++)
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
		for (size_t i = 0; i < path_nb_calls; i++)
			puts(path_calls[i].name);
		return 0;
	}
	path_libc = dlopen("libc.so.6", RTLD_NOW | RTLD_LOCAL);
	if (path_libc == NULL || mkdtemp(runtime_dir) == NULL)
		return 1;
	setenv("XDG_RUNTIME_DIR", runtime_dir, 1);
	unsetenv("UROCE_TREE");
	return cmocka_run_group_tests(tests, NULL, remove_runtime_dir);
}
