/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_PATHS_DESCRIPTORS_H
#define UROCE_PATHS_DESCRIPTORS_H

/**
 * @file
 * Which descriptors of the process are the engine's. The engine writes, and the calls of libc that close descriptors
 * read: close(), closefrom(), close_range(), dup2() and dup3() of the program leave these alone. The engine finds the
 * table by dlsym(); without the preloaded library it has one of its own.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>
#include <unistd.h>

#define DESCRIPTORS_MAX  65536u /* descriptors of larger numbers are in no table */
#define DESCRIPTORS_WORD (8 * sizeof(unsigned long))
#define DESCRIPTORS_NAME "uroce_paths_descriptors" /* of the table, for dlsym() */

struct descriptors {
	/* while a descriptor is made, moved or closed by the engine, and while a range is closed by the program */
	pthread_mutex_t lock;
	_Atomic pid_t pid; /* whose they are: what a child inherits is the child's to close */
	_Atomic(unsigned long) bits[DESCRIPTORS_MAX / DESCRIPTORS_WORD];
};

static inline bool
descriptors_has(const struct descriptors *table, int fd)
{
	const unsigned at = (unsigned)fd;

	return at < DESCRIPTORS_MAX &&
	       (atomic_load_explicit(&table->bits[at / DESCRIPTORS_WORD], memory_order_relaxed) >>
			at % DESCRIPTORS_WORD &
		1) != 0;
}

/** Whether it is the engine's in this very process. */
static inline bool
descriptors_is_own(const struct descriptors *table, int fd)
{
	return descriptors_has(table, fd) &&
	       atomic_load_explicit(&table->pid, memory_order_relaxed) == getpid();
}

#endif /* UROCE_PATHS_DESCRIPTORS_H */
