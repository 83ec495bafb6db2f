/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_PATHS_DESCRIPTORS_H
#define UROCE_PATHS_DESCRIPTORS_H

/**
 * @file
 * Table of the engine's descriptors. The engine writes the table. The replacements of close(),
 * closefrom(), close_range(), dup2() and dup3() read it, and do not close or replace the engine's
 * descriptors. The table is in the preloaded library, where the engine finds it by dlsym(). Without
 * this library the engine uses a table of its own.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>
#include <unistd.h>

#define DESCRIPTORS_MAX  65536u /* this and larger descriptors are not in the table */
#define DESCRIPTORS_WORD (8 * sizeof(unsigned long))
#define DESCRIPTORS_NAME "uroce_paths_descriptors" /* symbol of the table, for dlsym() */

struct descriptors {
	/* held while the engine adds, moves or closes a descriptor, while the program closes a
	 * range, and during fork() */
	pthread_mutex_t lock;
	/* process of the engine; a child may close the descriptors that it inherited */
	_Atomic pid_t pid;
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

/** Whether a descriptor belongs to the engine, and this process is the engine's. */
static inline bool
descriptors_is_own(const struct descriptors *table, int fd)
{
	return descriptors_has(table, fd) &&
	       atomic_load_explicit(&table->pid, memory_order_relaxed) == getpid();
}

#endif /* UROCE_PATHS_DESCRIPTORS_H */
