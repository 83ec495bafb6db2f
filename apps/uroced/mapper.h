/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_MAPPER_H
#define UROCED_MAPPER_H

/**
 * @file
 * The mapper does the work that takes time for each page of a client's shared memory: entering the
 * pages into the page table of uroced, and unmapping them. The mapper has a thread of its own, and
 * no other thread waits for it. If the data path touches a page before the mapper has entered it,
 * the page fault enters the page.
 *
 * Users have turns. In each turn of a user, the thread does one step for one area (a mapping) of
 * the user, and then puts this area behind the user's other areas. A step is work on a bounded
 * number of pages. So an area waits for one step of each other user, and for one step of each other
 * area of its own user, however large these areas are.
 *
 * The mapper also counts what each user has mapped, from mapper_add() until the memory is unmapped.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "mux/shm.h"

/**
 * Number of bytes of shared memory that the mapper enters into the page table, or unmaps, in one
 * step. The number is small: an mmap() in the control thread waits for a step, but takes only some
 * tens of microseconds.
 */
#define MAPPER_STEP (UINT64_C(1) << 20)

/**
 * An area of the mapper: the mapping of a client's shared memory, from mapper_add() until it is
 * unmapped.
 */
struct mapper_area;

/** A user whose clients have shared memory that is mapped. */
struct mapper_user;

/**
 * The number and the size of the mappings of a user's shared memory. Mappings that are being
 * unmapped are included.
 */
struct mapper_sum {
	uint32_t nb_areas;
	uint64_t nb_bytes;
};

struct mapper {
	pthread_mutex_t lock;
	pthread_cond_t has_work;
	/* the users with shared memory, in the order of their turns */
	TAILQ_HEAD(mapper_users, mapper_user) users;
	bool is_ending;
	pthread_t thread;
};

void mapper_init(struct mapper *mapper);

/**
 * Start the thread of the mapper; mapper_init() was called before. @return 0, or a positive errno
 */
int mapper_start(struct mapper *mapper);

/**
 * End the thread of the mapper, if it runs, and wait for its end. Areas that still have work for
 * the thread are freed. Their pages are neither entered nor unmapped.
 */
void mapper_stop(struct mapper *mapper);

/**
 * Do one step of work of the mapper, as its thread does.
 * @return false if there was nothing to do
 */
bool mapper_step(struct mapper *mapper);

/**
 * Make an area (a record in the mapper) of the mapping of a client's shared memory. The caller
 * later has it unmapped by mapper_remove().
 * @return NULL if there is no memory
 */
struct mapper_area *mapper_add(struct mapper *mapper, uid_t uid, const struct uroce_shm *shm);

/**
 * Let the thread of the mapper enter the pages of a mapping into the page table. All pages of the
 * mapped file must be allocated.
 */
void mapper_populate(struct mapper *mapper, struct mapper_area *area);

/**
 * Let the thread of the mapper close a descriptor. If the descriptor is the last one of a file, the
 * kernel then frees all pages of the file, which takes time.
 */
void mapper_close(struct mapper *mapper, uid_t uid, int fd);

/** Let the thread of the mapper unmap a mapping, which no other thread uses any more. */
void mapper_remove(struct mapper *mapper, struct mapper_area *area);

/**
 * Get how many bytes of a mapping the mapper still has to enter into the page table, or to unmap.
 */
uint64_t mapper_left(struct mapper *mapper, const struct mapper_area *area);

struct mapper_sum mapper_sum_of(struct mapper *mapper, uid_t uid);

#endif /* UROCED_MAPPER_H */
