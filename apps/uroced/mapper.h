/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_MAPPER_H
#define UROCED_MAPPER_H

/**
 * @file
 * What takes time for each page of an area: to enter the pages into uroced's page table, and to unmap them. A thread of its own
 * does so, a few pages of each area in turn; nobody waits for it. The pages of an area that it has not entered
 * yet are entered one by one as the data path touches them.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "mux/shm.h"

/** An area that was mapped, until it is unmapped. */
struct mapper_area;

struct mapper {
	pthread_mutex_t lock;
	pthread_cond_t has_work;
	struct mapper_area *first, **last; /* areas with something left to do */
	bool is_ending;
	pthread_t thread;
};

/** Start the thread. @return 0, or a positive errno */
int mapper_start(struct mapper *mapper);

/** End it, whatever is left to do. */
void mapper_stop(struct mapper *mapper);

/** An area that was mapped: its memory is the thread's to unmap. @return NULL: no memory */
struct mapper_area *mapper_add(const struct uroce_shm *shm);

/** Enter its pages, all of which are there. */
void mapper_populate(struct mapper *mapper, struct mapper_area *part);

/** Close a descriptor, by which a file may go that has many pages. */
void mapper_close(struct mapper *mapper, int fd);

/** Unmap it, which nobody uses any more. */
void mapper_remove(struct mapper *mapper, struct mapper_area *part);

#endif /* UROCED_MAPPER_H */
