/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_AREAS_H
#define UROCED_AREAS_H

/**
 * @file
 * What takes time for each page of an area: to enter the pages into uroced's page table, and to unmap them. A thread of its own
 * does so, a few pages of each area in turn; nobody waits for it. The pages of an area that it has not entered
 * yet are entered one by one as the data path touches them.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "mux/area.h"

/** An area that was mapped, until it is unmapped. */
struct areas_part;

struct areas {
	pthread_mutex_t lock;
	pthread_cond_t has_work;
	struct areas_part *first, **last; /* areas with something left to do */
	bool is_ending;
	pthread_t thread;
};

/** Start the thread. @return 0, or a positive errno */
int areas_start(struct areas *areas);

/** End it, whatever is left to do. */
void areas_stop(struct areas *areas);

/** An area that was mapped: its memory is the thread's to unmap. @return NULL: no memory */
struct areas_part *areas_add(const struct uroce_area *area);

/** Enter its pages, all of which are there. */
void areas_populate(struct areas *areas, struct areas_part *part);

/** Close a descriptor, by which a file may go that has many pages. */
void areas_close(struct areas *areas, int fd);

/** Unmap it, which nobody uses any more. */
void areas_remove(struct areas *areas, struct areas_part *part);

#endif /* UROCED_AREAS_H */
