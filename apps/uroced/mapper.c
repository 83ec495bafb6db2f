/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The mapper enters shared memory of clients into the page table, and unmaps it. It has a list of
 * users, and for each user a queue of areas, which are mappings of the shared memory of clients.
 * The thread of the mapper takes the first user that has a queued area, and puts this user behind
 * all other users. The thread takes the first area of the user's queue, and does a step without the
 * mapper's lock. An area with work left goes to the end of its user's queue.
 *
 * madvise() holds the lock of the address space for the time of a step, and mmap() in the control
 * thread waits for this lock. That is why a step is small.
 */

#include "mapper.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct mapper_area {
	/*
	 * the mapping, whose pages the mapper's thread enters or unmaps. If shm.mem is NULL, there
	 * is no mapping, and the thread only closes `fd`
	 */
	struct uroce_shm shm;
	int fd;
	struct mapper_user *user;
	TAILQ_ENTRY(mapper_area) next;
	/*
	 * offset in the mapping up to which the pages have been entered or, if `is_removed` is set,
	 * unmapped
	 */
	uint64_t at;
	/* the area is in the queue of its user, or the mapper's thread does a step for it */
	bool is_queued;
	/* no other thread uses the area any more, so the mapper has to unmap it */
	bool is_removed;
};

struct mapper_user {
	uid_t uid;
	struct mapper_sum sum;
	TAILQ_ENTRY(mapper_user) next;
	TAILQ_HEAD(, mapper_area) queue;
};

/* --- users, under the lock ----------------------------------------------------------------------- */

static struct mapper_user *
find_user(struct mapper *mapper, uid_t uid)
{
	struct mapper_user *user;

	TAILQ_FOREACH(user, &mapper->users, next)
	{
		if (user->uid == uid)
			return user;
	}
	return NULL;
}

/* Find the record that the mapper has of a user, or make one. @return NULL if there is no memory */
static struct mapper_user *
provide_user(struct mapper *mapper, uid_t uid)
{
	struct mapper_user *user = find_user(mapper, uid);

	if (user)
		return user;
	user = calloc(1, sizeof(*user));
	if (!user)
		return NULL;
	user->uid = uid;
	TAILQ_INIT(&user->queue);
	TAILQ_INSERT_HEAD(&mapper->users, user, next);
	return user;
}

static void
add_to_sum(struct mapper_area *area)
{
	area->user->sum.nb_areas++;
	area->user->sum.nb_bytes += area->shm.plan.size;
}

static void
free_area(struct mapper *mapper, struct mapper_area *area)
{
	struct mapper_user *user = area->user;

	user->sum.nb_areas--;
	user->sum.nb_bytes -= area->shm.plan.size;
	free(area);
	if (user->sum.nb_areas > 0)
		return;
	TAILQ_REMOVE(&mapper->users, user, next);
	free(user);
}

/* --- queues, under the lock ---------------------------------------------------------------------- */

static void
queue_area(struct mapper *mapper, struct mapper_area *area)
{
	area->at = 0;
	if (area->is_queued)
		return;
	area->is_queued = true;
	TAILQ_INSERT_TAIL(&area->user->queue, area, next);
	(void)pthread_cond_signal(&mapper->has_work);
}

/*
 * Take the next area from the queues of the mapper, and put its user behind all other users.
 * @return NULL if no area is queued
 */
static struct mapper_area *
pop_area(struct mapper *mapper)
{
	struct mapper_user *user;
	struct mapper_area *area;

	TAILQ_FOREACH(user, &mapper->users, next)
	{
		area = TAILQ_FIRST(&user->queue);
		if (!area)
			continue;
		TAILQ_REMOVE(&user->queue, area, next);
		TAILQ_REMOVE(&mapper->users, user, next);
		TAILQ_INSERT_TAIL(&mapper->users, user, next);
		return area;
	}
	return NULL;
}

/* --- the thread ---------------------------------------------------------------------------------- */

/*
 * Enter or unmap the pages of one step of the mapper. If the area has no mapping, close its
 * descriptor.
 * @return whether the area has pages left
 */
static bool
step_area(struct mapper_area *area, uint64_t at, bool is_removed)
{
	const uint64_t left = area->shm.plan.size - at;
	const uint64_t len = left < MAPPER_STEP ? left : MAPPER_STEP;

	if (!area->shm.mem) {
		(void)close(area->fd);
		return false;
	}
	(void)madvise(area->shm.mem + at, len, is_removed ? MADV_DONTNEED : MADV_POPULATE_WRITE);
	return len < left;
}

/*
 * Do one step of the mapper for the next area. The caller has the lock of the mapper, which is
 * released during the step.
 * @return false if no area is queued
 */
static bool
step_locked(struct mapper *mapper)
{
	struct mapper_area *area = pop_area(mapper);
	bool is_removed, has_more;
	uint64_t at;

	if (!area)
		return false;
	is_removed = area->is_removed;
	at = area->at;
	area->at += MAPPER_STEP;
	(void)pthread_mutex_unlock(&mapper->lock);
	has_more = step_area(area, at, is_removed);
	if (is_removed && !has_more)
		uroce_shm_unmap(&area->shm);
	(void)pthread_mutex_lock(&mapper->lock);
	if (is_removed && !has_more) {
		free_area(mapper, area);
		return true;
	}
	/*
	 * if mapper_remove() was called during the step of the mapper, the area is queued again, to
	 * be unmapped from its first page on
	 */
	area->is_queued = has_more || area->is_removed;
	if (area->is_queued)
		TAILQ_INSERT_TAIL(&area->user->queue, area, next);
	return true;
}

bool
mapper_step(struct mapper *mapper)
{
	bool has_done;

	(void)pthread_mutex_lock(&mapper->lock);
	has_done = step_locked(mapper);
	(void)pthread_mutex_unlock(&mapper->lock);
	return has_done;
}

static void *
run_mapper(void *arg)
{
	struct mapper *mapper = arg;

	(void)pthread_mutex_lock(&mapper->lock);
	while (!mapper->is_ending) {
		if (!step_locked(mapper))
			(void)pthread_cond_wait(&mapper->has_work, &mapper->lock);
	}
	(void)pthread_mutex_unlock(&mapper->lock);
	return NULL;
}

void
mapper_init(struct mapper *mapper)
{
	*mapper = (struct mapper){ .is_ending = true };
	TAILQ_INIT(&mapper->users);
	(void)pthread_mutex_init(&mapper->lock, NULL);
	(void)pthread_cond_init(&mapper->has_work, NULL);
}

int
mapper_start(struct mapper *mapper)
{
	int error;

	mapper->is_ending = false;
	error = pthread_create(&mapper->thread, NULL, run_mapper, mapper);
	if (error == 0)
		(void)pthread_setname_np(mapper->thread, "uroced-areas");
	else
		mapper->is_ending = true;
	return error;
}

void
mapper_stop(struct mapper *mapper)
{
	struct mapper_area *area;
	bool has_thread;

	(void)pthread_mutex_lock(&mapper->lock);
	has_thread = !mapper->is_ending;
	mapper->is_ending = true;
	(void)pthread_cond_signal(&mapper->has_work);
	(void)pthread_mutex_unlock(&mapper->lock);
	if (has_thread)
		(void)pthread_join(mapper->thread, NULL);
	while ((area = pop_area(mapper)))
		free_area(mapper, area);
}

/* --- functions of the control thread ------------------------------------------------------------- */

struct mapper_area *
mapper_add(struct mapper *mapper, uid_t uid, const struct uroce_shm *shm)
{
	struct mapper_area *area = calloc(1, sizeof(*area));

	if (!area)
		return NULL;
	area->shm = *shm;
	area->fd = -1;
	(void)pthread_mutex_lock(&mapper->lock);
	area->user = provide_user(mapper, uid);
	if (area->user) {
		add_to_sum(area);
	} else {
		free(area);
		area = NULL;
	}
	(void)pthread_mutex_unlock(&mapper->lock);
	return area;
}

void
mapper_populate(struct mapper *mapper, struct mapper_area *area)
{
	(void)pthread_mutex_lock(&mapper->lock);
	queue_area(mapper, area);
	(void)pthread_mutex_unlock(&mapper->lock);
}

void
mapper_close(struct mapper *mapper, uid_t uid, int fd)
{
	static const struct uroce_shm none;
	struct mapper_area *area = mapper_add(mapper, uid, &none);

	if (!area) {
		(void)close(fd);
		return;
	}
	area->fd = fd;
	mapper_remove(mapper, area);
}

void
mapper_remove(struct mapper *mapper, struct mapper_area *area)
{
	(void)pthread_mutex_lock(&mapper->lock);
	area->is_removed = true;
	queue_area(mapper, area);
	(void)pthread_mutex_unlock(&mapper->lock);
}

uint64_t
mapper_left(struct mapper *mapper, const struct mapper_area *area)
{
	uint64_t left = 0;

	(void)pthread_mutex_lock(&mapper->lock);
	if (area->is_queued && area->at < area->shm.plan.size)
		left = area->shm.plan.size - area->at;
	(void)pthread_mutex_unlock(&mapper->lock);
	return left;
}

struct mapper_sum
mapper_sum_of(struct mapper *mapper, uid_t uid)
{
	struct mapper_sum sum = { 0, 0 };
	const struct mapper_user *user;

	(void)pthread_mutex_lock(&mapper->lock);
	user = find_user(mapper, uid);
	if (user)
		sum = user->sum;
	(void)pthread_mutex_unlock(&mapper->lock);
	return sum;
}
