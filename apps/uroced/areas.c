/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A queue of areas. The thread takes the first one, does a step of its work without the lock, and puts it behind the
 * others. A step is so small that it keeps the lock of the address space for some tens of microseconds: mmap() in the
 * control thread waits for that one.
 */

#include "areas.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define STEP (UINT64_C(1) << 20) /* bytes */

struct areas_part {
	struct uroce_area area; /* not mapped: there is a descriptor instead */
	int fd;
	struct areas_part *next;
	uint64_t at;     /* up to here the pages are entered, or removed */
	bool is_queued;  /* or in the thread's hands */
	bool is_removed; /* nobody uses it any more */
};

/* --- the queue, under its lock ------------------------------------------------------------------- */

static void
push(struct areas *areas, struct areas_part *part)
{
	part->next = NULL;
	*areas->last = part;
	areas->last = &part->next;
}

static struct areas_part *
pop(struct areas *areas)
{
	struct areas_part *part = areas->first;

	areas->first = part->next;
	if (!areas->first)
		areas->last = &areas->first;
	return part;
}

static void
queue(struct areas *areas, struct areas_part *part)
{
	part->at = 0;
	if (part->is_queued)
		return;
	part->is_queued = true;
	push(areas, part);
	(void)pthread_cond_signal(&areas->has_work);
}

/* --- the thread ---------------------------------------------------------------------------------- */

/* @return whether there is more to do */
static bool
step(struct areas_part *part, uint64_t at, bool is_removed)
{
	const uint64_t left = part->area.plan.size - at;
	const uint64_t len = left < STEP ? left : STEP;

	if (!part->area.mem) {
		(void)close(part->fd);
		return false;
	}
	(void)madvise(part->area.mem + at, len, is_removed ? MADV_DONTNEED : MADV_POPULATE_WRITE);
	return len < left;
}

static void
work(struct areas *areas)
{
	struct areas_part *part = pop(areas);
	const bool is_removed = part->is_removed;
	const uint64_t at = part->at;
	bool has_more;

	part->at += STEP;
	(void)pthread_mutex_unlock(&areas->lock);
	has_more = step(part, at, is_removed);
	if (is_removed && !has_more) {
		uroce_area_unmap(&part->area);
		free(part);
		(void)pthread_mutex_lock(&areas->lock);
		return;
	}
	(void)pthread_mutex_lock(&areas->lock);
	part->is_queued = has_more || part->is_removed;
	if (part->is_queued)
		push(areas, part);
}

static void *
serve(void *arg)
{
	struct areas *areas = arg;

	(void)pthread_mutex_lock(&areas->lock);
	while (!areas->is_ending) {
		if (areas->first)
			work(areas);
		else
			(void)pthread_cond_wait(&areas->has_work, &areas->lock);
	}
	(void)pthread_mutex_unlock(&areas->lock);
	return NULL;
}

int
areas_start(struct areas *areas)
{
	int error;

	*areas = (struct areas){ .last = &areas->first };
	(void)pthread_mutex_init(&areas->lock, NULL);
	(void)pthread_cond_init(&areas->has_work, NULL);
	error = pthread_create(&areas->thread, NULL, serve, areas);
	if (error == 0)
		(void)pthread_setname_np(areas->thread, "uroced-areas");
	return error;
}

void
areas_stop(struct areas *areas)
{
	(void)pthread_mutex_lock(&areas->lock);
	areas->is_ending = true;
	(void)pthread_cond_signal(&areas->has_work);
	(void)pthread_mutex_unlock(&areas->lock);
	(void)pthread_join(areas->thread, NULL);
	while (areas->first)
		free(pop(areas));
}

/* --- from the control thread --------------------------------------------------------------------- */

struct areas_part *
areas_add(const struct uroce_area *area)
{
	struct areas_part *part = calloc(1, sizeof(*part));

	if (part)
		part->area = *area;
	return part;
}

void
areas_populate(struct areas *areas, struct areas_part *part)
{
	(void)pthread_mutex_lock(&areas->lock);
	queue(areas, part);
	(void)pthread_mutex_unlock(&areas->lock);
}

void
areas_close(struct areas *areas, int fd)
{
	struct areas_part *part = calloc(1, sizeof(*part));

	if (!part) {
		(void)close(fd);
		return;
	}
	part->fd = fd;
	areas_remove(areas, part);
}

void
areas_remove(struct areas *areas, struct areas_part *part)
{
	(void)pthread_mutex_lock(&areas->lock);
	part->is_removed = true;
	queue(areas, part);
	(void)pthread_mutex_unlock(&areas->lock);
}
