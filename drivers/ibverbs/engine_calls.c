/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loads the engine, the library that contains liburoce and DPDK. The file of the engine is in the
 * same directory as this library. A second engine in a process is loaded from a copy of the file,
 * because the loader would not load the same inode again.
 */

#include "engine_calls.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fork.h"
#include "xrcd.h"

#define FILE_NAME "liburoce-engine.so"
/* size of the array for the counters of a device; it is more than the number of counters */
#define NB_COUNTERS_MAX 128

/* An entry in the list of open device contexts of the process. */
struct kept {
	struct ibv_context *context;
	struct kept *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(const struct engine_calls *) current;
static struct kept *kept;
/*
 * liburoce stopped working in this process (fork.h), so the next instance of liburoce is loaded
 * from a copy of its file
 */
static bool is_second;
/*
 * liburoce has stopped working (fork.h), but its threads still run, so no other instance can be
 * loaded
 */
static bool is_over;

static void *
fail(const char *what, const char *why)
{
	fprintf(stderr, "uroce: %s: %s\n", what, why);
	errno = ENOSYS;
	return NULL;
}

/* Compute the path of the engine's file, which is in the directory of this library. */
static bool
find_file(char *path, size_t len)
{
	Dl_info self;
	const char *slash;

	if (dladdr((void *)(uintptr_t)engine, &self) == 0)
		return false;
	slash = strrchr(self.dli_fname, '/');
	return snprintf(path, len, "%.*s" FILE_NAME,
			slash != NULL ? (int)(slash - self.dli_fname + 1) : 0,
			self.dli_fname) < (int)len;
}

static int
copy_file(const char *path)
{
	const int from = open(path, O_RDONLY | O_CLOEXEC);
	const int to = memfd_create(FILE_NAME, MFD_CLOEXEC);
	struct stat stat;
	off_t at = 0;
	bool is_whole = from >= 0 && to >= 0 && fstat(from, &stat) == 0;

	while (is_whole && at < stat.st_size)
		is_whole = sendfile(to, from, &at, (size_t)(stat.st_size - at)) > 0;
	if (from >= 0)
		close(from);
	if (is_whole)
		return to;
	if (to >= 0)
		close(to);
	return -1;
}

static void *
load_copy(const char *path)
{
	char name[32];
	const int fd = copy_file(path);
	void *handle;

	if (fd < 0)
		return NULL;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	close(fd);
	return handle;
}

static bool
resolve(void *handle, struct engine_calls *calls)
{
#define X(name) calls->name = (__typeof__(calls->name))dlsym(handle, "uroce_" #name);
	ENGINE_CALLS(X)
#undef X
#define X(name) calls->name = (__typeof__(calls->name))dlsym(handle, "uroce_engine_" #name);
	ENGINE_OWN_CALLS(X)
#undef X
	for (size_t i = 0; i < sizeof(*calls) / sizeof(void *); i++)
		if (((void **)calls)[i] == NULL)
			return false;
	return true;
}

static const struct engine_calls *
load(void)
{
	struct engine_calls *const calls = calloc(1, sizeof(*calls));
	char path[PATH_MAX];
	void *handle;
	int ret;

	if (calls == NULL)
		return NULL;
	if (!find_file(path, sizeof(path)))
		return fail(FILE_NAME, "this library does not know where it is itself");
	handle = is_second ? load_copy(path) : dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (handle == NULL || !resolve(handle, calls)) {
		free(calls);
		return fail(path, handle == NULL ? dlerror() : "it is of another version");
	}
	ret = calls->open();
	if (ret == 0)
		return calls;
	free(calls);
	errno = ret;
	return NULL;
}

/* --- the end of an engine ------------------------------------------------------------------------ */

/*
 * Stop the use of the current engine (the loaded library with liburoce and DPDK), and make the
 * calls on all its contexts fail. The caller holds `lock`. The next engine is loaded from a copy of
 * the file, because dlopen() of the same file would return the current engine.
 */
static void
end_engine(void)
{
	for (const struct kept *at = kept; at != NULL; at = at->next)
		fork_kill_context(at->context);
	kept = NULL;
	is_second = true;
	atomic_store(&current, NULL);
}

/*
 * Check that the engine (liburoce and DPDK) still has its file descriptors, and stop its use if
 * not. If EAL was started in this engine, its threads cannot be ended, so no other engine can be
 * loaded.
 */
static const struct engine_calls *
end_engine_unless_whole(const struct engine_calls *calls)
{
	if (calls == NULL || calls->is_whole())
		return calls;
	pthread_mutex_lock(&lock);
	if (atomic_load(&current) == calls)
		end_engine();
	is_over |= calls->is_started();
	pthread_mutex_unlock(&lock);
	return NULL;
}

/* --- fork ---------------------------------------------------------------------------------------- */

static void
before_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void
after_fork_in_parent(void)
{
	pthread_mutex_unlock(&lock);
}

/*
 * The handler of fork() in the child. If EAL was not started in the engine (liburoce and DPDK),
 * there are no threads and no memory of EAL, so the child may use the engine. Otherwise the engine
 * does not work in the child.
 */
static void
after_fork_in_child(void)
{
	const struct engine_calls *const calls = atomic_load(&current);

	if (calls != NULL && calls->is_started())
		end_engine();
	is_over = false;
	pthread_mutex_unlock(&lock);
}

static void
watch_forks(void)
{
	static bool is_watching;

	if (!is_watching)
		is_watching =
			pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) == 0;
}

/* --- the interface --------------------------------------------------------------------------------- */

const struct engine_calls *
engine(void)
{
	const struct engine_calls *calls =
		end_engine_unless_whole(atomic_load_explicit(&current, memory_order_acquire));

	if (calls != NULL)
		return calls;
	pthread_mutex_lock(&lock);
	calls = atomic_load(&current);
	if (calls == NULL && is_over) {
		errno = EIO;
	} else if (calls == NULL) {
		watch_forks();
		calls = load();
		atomic_store(&current, calls);
	}
	pthread_mutex_unlock(&lock);
	return calls;
}

const struct engine_calls *
engine_if_loaded(void)
{
	return end_engine_unless_whole(atomic_load_explicit(&current, memory_order_acquire));
}

const struct engine_calls *
engine_of(const struct ibv_context *context)
{
	const struct engine_calls *const calls =
		end_engine_unless_whole(atomic_load_explicit(&current, memory_order_acquire));

	/*
	 * Without a context the current engine (liburoce and DPDK) is returned, whose call then
	 * reports the error to the program.
	 */
	if (context == NULL)
		return engine();
	if (calls != NULL &&
	    verbs_get_ctx((struct ibv_context *)(uintptr_t)context)->priv == (const void *)calls)
		return calls;
	errno = EIO;
	return NULL;
}

struct ibv_device *
engine_device(const struct engine_calls *calls, struct ibv_device *device)
{
	struct ibv_device **const list = calls->get_device_list(NULL);
	struct ibv_device *found = NULL;

	for (struct ibv_device **at = list; device != NULL && at != NULL && *at != NULL; at++)
		if (*at == device || (found == NULL && strcmp((*at)->name, device->name) == 0))
			found = *at;
	calls->free_device_list(list);
	return found;
}

struct ibv_context *
engine_keep(const struct engine_calls *calls, struct ibv_context *context)
{
	struct kept *const entry = context != NULL ? malloc(sizeof(*entry)) : NULL;

	if (context == NULL)
		return NULL;
	if (entry == NULL) {
		(void)calls->close_device(context);
		errno = ENOMEM;
		return NULL;
	}
	verbs_get_ctx(context)->priv = (void *)(uintptr_t)calls;
	verbs_get_ctx(context)->open_xrcd = xrcd_open;
	entry->context = context;
	pthread_mutex_lock(&lock);
	entry->next = kept;
	kept = entry;
	pthread_mutex_unlock(&lock);
	return context;
}

void
engine_drop(struct ibv_context *context)
{
	struct kept **link = &kept, *entry;

	pthread_mutex_lock(&lock);
	while (*link != NULL && (*link)->context != context)
		link = &(*link)->next;
	entry = *link;
	if (entry != NULL)
		*link = entry->next;
	pthread_mutex_unlock(&lock);
	free(entry);
}

/* --- counters ------------------------------------------------------------------------------------- */

static bool
find_counter(const struct uroce_dv_counter *counters, unsigned nb, const char *name,
	     uint64_t *value)
{
	for (unsigned i = 0; i < nb; i++) {
		if (strcmp(counters[i].name, name) != 0)
			continue;
		*value = counters[i].value;
		return true;
	}
	return false;
}

bool
uroce_ibverbs_counter(const char *device, const char *name, uint64_t *value)
{
	struct uroce_dv_counter counters[NB_COUNTERS_MAX];
	const struct engine_calls *calls;
	const struct kept *at;
	unsigned nb = 0;

	pthread_mutex_lock(&lock);
	calls = atomic_load(&current);
	at = calls != NULL ? kept : NULL;
	while (at != NULL && strcmp(at->context->device->name, device) != 0)
		at = at->next;
	if (at != NULL)
		nb = calls->query_counters(at->context, counters, NB_COUNTERS_MAX);
	pthread_mutex_unlock(&lock);
	return find_counter(counters, nb < NB_COUNTERS_MAX ? nb : NB_COUNTERS_MAX, name, value);
}
