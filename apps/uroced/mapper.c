/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A queue of areas. The thread takes the first one, does a step of its work without the lock, and puts it behind the
 * others. A step is so small that it keeps the lock of the address space for some tens of microseconds: mmap() in the
 * control thread waits for that one.
 */

#include "mapper.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define STEP (UINT64_C(1) << 20) /* bytes */

struct mapper_area {
	struct uroce_shm shm; /* not mapped: there is a descriptor instead */
	int fd;
	struct mapper_area *next;
	uint64_t at;     /* up to here the pages are entered, or removed */
	bool is_queued;  /* or in the thread's hands */
	bool is_removed; /* nobody uses it any more */
};

/* --- the queue, under its lock ------------------------------------------------------------------- */

static void
push_area(struct mapper *mapper, struct mapper_area *part)
{
	part->next = NULL;
	*mapper->last = part;
	mapper->last = &part->next;
}

static struct mapper_area *
pop_area(struct mapper *mapper)
{
	struct mapper_area *part = mapper->first;

	mapper->first = part->next;
	if (!mapper->first)
		mapper->last = &mapper->first;
	return part;
}

static void
queue_area(struct mapper *mapper, struct mapper_area *part)
{
	part->at = 0;
	if (part->is_queued)
		return;
	part->is_queued = true;
	push_area(mapper, part);
	(void)pthread_cond_signal(&mapper->has_work);
}

/* --- the thread ---------------------------------------------------------------------------------- */

/* @return whether there is more to do */
static bool
step_area(struct mapper_area *part, uint64_t at, bool is_removed)
{
	const uint64_t left = part->shm.plan.size - at;
	const uint64_t len = left < STEP ? left : STEP;

	if (!part->shm.mem) {
		(void)close(part->fd);
		return false;
	}
	(void)madvise(part->shm.mem + at, len, is_removed ? MADV_DONTNEED : MADV_POPULATE_WRITE);
	return len < left;
}

static void
map_queued(struct mapper *mapper)
{
	struct mapper_area *part = pop_area(mapper);
	const bool is_removed = part->is_removed;
	const uint64_t at = part->at;
	bool has_more;

	part->at += STEP;
	(void)pthread_mutex_unlock(&mapper->lock);
	has_more = step_area(part, at, is_removed);
	if (is_removed && !has_more) {
		uroce_shm_unmap(&part->shm);
		free(part);
		(void)pthread_mutex_lock(&mapper->lock);
		return;
	}
	(void)pthread_mutex_lock(&mapper->lock);
	part->is_queued = has_more || part->is_removed;
	if (part->is_queued)
		push_area(mapper, part);
}

static void *
run_mapper(void *arg)
{
	struct mapper *mapper = arg;

	(void)pthread_mutex_lock(&mapper->lock);
	while (!mapper->is_ending) {
		if (mapper->first)
			map_queued(mapper);
		else
			(void)pthread_cond_wait(&mapper->has_work, &mapper->lock);
	}
	(void)pthread_mutex_unlock(&mapper->lock);
	return NULL;
}

int
mapper_start(struct mapper *mapper)
{
	int error;

	*mapper = (struct mapper){ .last = &mapper->first };
	(void)pthread_mutex_init(&mapper->lock, NULL);
	(void)pthread_cond_init(&mapper->has_work, NULL);
	error = pthread_create(&mapper->thread, NULL, run_mapper, mapper);
	if (error == 0)
		(void)pthread_setname_np(mapper->thread, "uroced-areas");
	return error;
}

void
mapper_stop(struct mapper *mapper)
{
	(void)pthread_mutex_lock(&mapper->lock);
	mapper->is_ending = true;
	(void)pthread_cond_signal(&mapper->has_work);
	(void)pthread_mutex_unlock(&mapper->lock);
	(void)pthread_join(mapper->thread, NULL);
	while (mapper->first)
		free(pop_area(mapper));
}

/* --- from the control thread --------------------------------------------------------------------- */

struct mapper_area *
mapper_add(const struct uroce_shm *shm)
{
	struct mapper_area *part = calloc(1, sizeof(*part));

	if (part)
		part->shm = *shm;
	return part;
}

void
mapper_populate(struct mapper *mapper, struct mapper_area *part)
{
	(void)pthread_mutex_lock(&mapper->lock);
	queue_area(mapper, part);
	(void)pthread_mutex_unlock(&mapper->lock);
}

void
mapper_close(struct mapper *mapper, int fd)
{
	struct mapper_area *part = calloc(1, sizeof(*part));

	if (!part) {
		(void)close(fd);
		return;
	}
	part->fd = fd;
	mapper_remove(mapper, part);
}

void
mapper_remove(struct mapper *mapper, struct mapper_area *part)
{
	(void)pthread_mutex_lock(&mapper->lock);
	part->is_removed = true;
	queue_area(mapper, part);
	(void)pthread_mutex_unlock(&mapper->lock);
}
