/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The open files of /dev/infiniband/rdma_cm. A program closes such a file by close(), but also by
 * dup2(), by closefrom(), or in a child that has inherited the descriptor. The write end of the
 * file's pipe shows that no descriptor is left, whatever closed the last one. This library checks
 * the write end when it intercepts a call that closes descriptors, and when the number of files has
 * doubled.
 */

#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "ctx.h"

#define NB_BUCKETS     256u
#define FIRST_SWEEP_AT 64u

LIST_HEAD(bucket, ucma_file);

/*
 * hash table of the open files of /dev/infiniband/rdma_cm, by the inodes of their pipes; protected
 * by ucma_lock
 */
static struct bucket buckets[NB_BUCKETS];
static unsigned nb_files;
/*
 * number of open files of /dev/infiniband/rdma_cm at which files without descriptors are next
 * searched for
 */
static unsigned sweep_at = FIRST_SWEEP_AT;

static struct bucket *
bucket_of(ino_t ino)
{
	return &buckets[ino % NB_BUCKETS];
}

/* --- fork ----------------------------------------------------------------------------------------- */

static void
before_fork(void)
{
	pthread_mutex_lock(&ucma_lock);
}

static void
after_fork_in_parent(void)
{
	pthread_mutex_unlock(&ucma_lock);
}

/*
 * Forget the parent's open files of /dev/infiniband/rdma_cm in a child of fork(). The descriptors
 * that the child has inherited keep these files open in the parent, as in the kernel, but commands
 * of the child fail with EBADF.
 */
static void
after_fork_in_child(void)
{
	for (unsigned i = 0; i < NB_BUCKETS; i++)
		LIST_INIT(&buckets[i]);
	nb_files = 0;
	ucma_ctx_forget_all();
	pthread_mutex_unlock(&ucma_lock);
}

static void
watch_forks(void)
{
	(void)pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

/* --- events: these functions are called by the library when it adds an event to a channel ------------ */

/*
 * Check whether the program can use an event of an id. The id of a CONNECT_REQUEST has no cookie
 * before the program has accepted it. Without a cookie the program could not find out to which id
 * an event belongs, so such an event is dropped.
 */
static bool
is_wanted(void *arg, const struct rdma_cm_event *event)
{
	const struct ucma_ctx *ctx;
	bool is_wanted;

	(void)arg;
	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
		return true;
	pthread_mutex_lock(&ucma_lock);
	/*
	 * before GET_EVENT has returned a new id, the field `context` of the id is that of the
	 * listener
	 */
	ctx = event->id->context;
	is_wanted = ctx->cm_id == event->id && ctx->uid != 0;
	pthread_mutex_unlock(&ucma_lock);
	return is_wanted;
}

static void
set_ready(void *arg)
{
	struct ucma_file *const file = arg;

	pthread_mutex_lock(&ucma_lock);
	ready_pipe_set(&file->pipe, -1, true);
	pthread_mutex_unlock(&ucma_lock);
}

void
ucma_file_update(struct ucma_file *file, int fd)
{
	struct pollfd channel = { .fd = file->channel->fd, .events = POLLIN };
	const int err = errno;

	ready_pipe_set(&file->pipe, fd, poll(&channel, 1, 0) > 0);
	errno = err;
}

/* --- opening -------------------------------------------------------------------------------------- */

static int
open_channel(struct ucma_file *file)
{
	file->channel = uroce_cm_create_event_channel();
	if (file->channel == NULL)
		return -errno;
	if (fcntl(file->channel->fd, F_SETFL, O_NONBLOCK) == 0)
		return 0;
	uroce_cm_destroy_event_channel(file->channel);
	return -errno;
}

static void
add(struct ucma_file *file)
{
	bool is_due;

	pthread_mutex_lock(&ucma_lock);
	LIST_INSERT_HEAD(bucket_of(file->pipe.ino), file, link);
	is_due = ++nb_files >= sweep_at;
	pthread_mutex_unlock(&ucma_lock);
	if (is_due)
		ucma_file_sweep();
}

int
ucma_file_open(int flags)
{
	static const struct uroce_cm_dv_watch watch = { .is_wanted = is_wanted,
							.notify = set_ready };
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct ucma_file *const file = calloc(1, sizeof(*file));
	int fd, ret;

	if (file == NULL)
		return -ENOMEM;
	pthread_once(&once, watch_forks);
	ret = open_channel(file);
	if (ret != 0) {
		free(file);
		return ret;
	}
	fd = ready_pipe_open(&file->pipe, flags);
	if (fd < 0) {
		uroce_cm_destroy_event_channel(file->channel);
		free(file);
		return fd;
	}
	add(file);
	(void)uroce_cm_dv_watch_channel(file->channel, &watch, file);
	return fd;
}

/* --- use and closing ------------------------------------------------------------------------------ */

struct ucma_file *
ucma_file_get(int fd)
{
	struct ucma_file *file;
	struct stat stat;

	/*
	 * fstatat() is called instead of fstat(), because the preloaded library replaces fstat() by
	 * a function that calls ucma_file_get()
	 */
	if (fstatat(fd, "", &stat, AT_EMPTY_PATH) != 0 || !S_ISFIFO(stat.st_mode))
		return NULL;
	pthread_mutex_lock(&ucma_lock);
	LIST_FOREACH(file, bucket_of(stat.st_ino), link)
	if (file->pipe.ino == stat.st_ino && file->pipe.dev == stat.st_dev)
		break;
	if (file != NULL)
		file->nb_refs++;
	pthread_mutex_unlock(&ucma_lock);
	return file;
}

/*
 * Free an open file of /dev/infiniband/rdma_cm that no command uses, and whose descriptors are
 * closed.
 */
static void
release(struct ucma_file *file)
{
	ucma_ctx_destroy_all(file);
	uroce_cm_destroy_event_channel(file->channel);
	ready_pipe_close(&file->pipe);
	free(file);
}

void
ucma_file_put(struct ucma_file *file)
{
	bool is_last;

	pthread_mutex_lock(&ucma_lock);
	is_last = --file->nb_refs == 0 && file->is_closed;
	pthread_mutex_unlock(&ucma_lock);
	if (is_last)
		release(file);
}

/*
 * Take an open file of /dev/infiniband/rdma_cm out of the hash table if it has no descriptors. The
 * caller holds ucma_lock.
 */
static void
check(struct ucma_file *file)
{
	if (file->is_closed || !ready_pipe_is_abandoned(&file->pipe))
		return;
	file->is_closed = true;
	LIST_REMOVE(file, link);
	nb_files--;
}

void
ucma_file_check(struct ucma_file *file)
{
	pthread_mutex_lock(&ucma_lock);
	check(file);
	pthread_mutex_unlock(&ucma_lock);
}

void
ucma_file_sweep(void)
{
	struct bucket closed = LIST_HEAD_INITIALIZER(closed);
	struct ucma_file *file, *next;

	pthread_mutex_lock(&ucma_lock);
	for (unsigned i = 0; i < NB_BUCKETS; i++)
		for (file = LIST_FIRST(&buckets[i]); file != NULL; file = next) {
			next = LIST_NEXT(file, link);
			check(file);
			if (file->is_closed && file->nb_refs == 0)
				LIST_INSERT_HEAD(&closed, file, link);
		}
	sweep_at = nb_files < FIRST_SWEEP_AT / 2 ? FIRST_SWEEP_AT : 2 * nb_files;
	pthread_mutex_unlock(&ucma_lock);
	while ((file = LIST_FIRST(&closed)) != NULL) {
		LIST_REMOVE(file, link);
		release(file);
	}
}
