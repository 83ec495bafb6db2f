/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Creates and removes the private tree of files, which replaces the kernel's files of RDMA devices.
 * Each process uses one tree: that of its parent, or one that it creates under a lock. The name of
 * a tree has the PID namespace and the PID of its creator. So the name of a tree shows whether its
 * creator has terminated.
 */

#include "tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"

#define VARIABLE "UROCE_TREE"
/* number of descriptors for nftw(): not less than the depth of the private tree of files */
#define NB_FDS 8

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(const char *)
	/*
	 * path of the private tree of files; empty if there are no devices, NULL if it is not
	 * determined yet
	 */
	tree;
/* process that created the private tree at `tree`; 0 if `tree` is the value of UROCE_TREE */
static pid_t maker;
/* this thread is creating the private tree, so its calls must not be redirected into the tree */
static __thread bool is_making;

static int
remove_one(const char *path, const struct stat *stat, int type, struct FTW *at)
{
	(void)stat;
	(void)type;
	(void)at;
	(void)remove(path);
	return 0;
}

static void
remove_tree(const char *path)
{
	(void)nftw(path, remove_one, NB_FDS, FTW_DEPTH | FTW_PHYS);
}

/* --- names ---------------------------------------------------------------------------------------- */

/*
 * Find the directory in which the private trees of files (tree.h) are created. The result has no
 * symbolic links, so that tree_hide() recognises paths in the tree which come from realpath() or
 * getcwd().
 */
static char *
parent_dir(char *parent)
{
	const char *const dir = secure_getenv("XDG_RUNTIME_DIR");

	if (dir != NULL && dir[0] == '/' && access(dir, W_OK | X_OK) == 0)
		return realpath(dir, parent);
	return realpath("/tmp", parent);
}

/*
 * Format the prefix of the directory names of private trees of files (tree.h). The prefix is the
 * same for all trees of this PID namespace.
 */
static void
name_prefix(char *prefix, size_t len)
{
	struct stat ns;

	snprintf(prefix, len, "uroce-%llu-",
		 stat("/proc/self/ns/pid", &ns) == 0 ? (unsigned long long)ns.st_ino : 0);
}

static bool
is_own_dir(const char *path)
{
	struct stat dir;

	return path[0] == '/' && lstat(path, &dir) == 0 && S_ISDIR(dir.st_mode) &&
	       dir.st_uid == geteuid();
}

static void
remove_if_dead(const char *parent, const char *prefix, const char *name)
{
	char path[PATH_MAX], *end;
	long pid;

	if (strncmp(name, prefix, strlen(prefix)) != 0)
		return;
	pid = strtol(name + strlen(prefix), &end, 10);
	if (*end != '-' || pid <= 0 || kill((pid_t)pid, 0) == 0 || errno != ESRCH)
		return;
	if (snprintf(path, sizeof(path), "%s/%s", parent, name) < (int)sizeof(path) &&
	    is_own_dir(path))
		remove_tree(path);
}

static void
remove_dead(const char *parent, const char *prefix)
{
	DIR *const dir = opendir(parent);

	if (dir == NULL)
		return;
	for (const struct dirent *at = readdir(dir); at != NULL; at = readdir(dir))
		remove_if_dead(parent, prefix, at->d_name);
	closedir(dir);
}

/* --- creation ------------------------------------------------------------------------------------- */

static void
before_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void
after_fork(void)
{
	pthread_mutex_unlock(&lock);
}

static void
watch_forks(void)
{
	static bool is_watching;

	if (!is_watching)
		is_watching = pthread_atfork(before_fork, after_fork, after_fork) == 0;
}

static const char *
make(void)
{
	char parent[PATH_MAX], prefix[64], path[TREE_PATH_MAX / 2];

	if (parent_dir(parent) == NULL)
		return "";
	name_prefix(prefix, sizeof(prefix));
	remove_dead(parent, prefix);
	if (snprintf(path, sizeof(path), "%s/%s%ld-XXXXXX", parent, prefix, (long)getpid()) >=
	    (int)sizeof(path))
		return "";
	if (mkdtemp(path) == NULL) {
		fprintf(stderr, "uroce: %s: %s\n", path, strerror(errno));
		return "";
	}
	maker = getpid();
	if (files_make(path) && setenv(VARIABLE, path, 1) == 0)
		return strdup(path);
	remove_tree(path);
	return "";
}

static const char *
find(void)
{
	const char *const given = secure_getenv(VARIABLE);

	maker = 0;
	if (given != NULL && strlen(given) < TREE_PATH_MAX / 2 && is_own_dir(given))
		return strdup(given);
	return make();
}

static bool
is_there(const char *root)
{
	return root != NULL && (root[0] == '\0' || access(root, F_OK) == 0);
}

/*
 * Get the path of the private tree of files. If a parent process created the tree and has removed
 * it, this process creates another one.
 */
static const char *
tree_root(void)
{
	const char *root = atomic_load_explicit(&tree, memory_order_acquire);

	if (is_there(root))
		return root;
	pthread_mutex_lock(&lock);
	root = atomic_load(&tree);
	if (!is_there(root)) {
		watch_forks();
		is_making = true;
		root = find();
		is_making = false;
		atomic_store(&tree, root);
	}
	pthread_mutex_unlock(&lock);
	return root;
}

/*
 * Remove the private tree of files when the process that created it exits. A child process does not
 * remove the tree, because the PID of the child is not that of the creator.
 */
__attribute__((destructor)) static void
remove_own(void)
{
	const char *const root = atomic_load(&tree);

	if (root == NULL || root[0] == '\0' || maker != getpid())
		return;
	atomic_store(&tree, "");
	remove_tree(root);
}

/* --- the interface -------------------------------------------------------------------------------- */

const char *
tree_path(const char *path, char there[TREE_PATH_MAX])
{
	const int err = errno;
	const char *const root = is_making ? NULL : tree_root();
	const size_t root_len = root != NULL ? strlen(root) : 0, len = strlen(path);

	errno = err;
	if (root_len == 0 || len >= TREE_PATH_MAX - root_len)
		return path;
	memcpy(there, root, root_len);
	memcpy(there + root_len, path, len + 1);
	return there;
}

char *
tree_hide(char *path)
{
	const char *const root = atomic_load(&tree);
	const size_t len = root != NULL ? strlen(root) : 0;

	if (path != NULL && len != 0 && strncmp(path, root, len) == 0 && path[len] == '/')
		memmove(path, path + len, strlen(path + len) + 1);
	return path;
}
