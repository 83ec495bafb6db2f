/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_PATHS_DESCRIPTORS_H
#define UROCE_PATHS_DESCRIPTORS_H

/**
 * @file
 * Table of the descriptors that the engine (liburoce and DPDK) has opened in a program. The engine
 * writes the table. The replacements of close(), closefrom(), close_range(), dup2() and dup3() read
 * it, and do not close or replace the engine's descriptors. The table is in the preloaded library,
 * where the engine finds it by dlsym(). Without this library the engine uses a table of its own.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>
#include <unistd.h>

/*
 * Limit of the table of the engine's descriptors: descriptors with this number or a larger one are
 * not in the table.
 */
#define DESCRIPTORS_MAX  65536u
#define DESCRIPTORS_WORD (8 * sizeof(unsigned long))
/* name of the symbol of the table of descriptors, by which the engine finds it with dlsym() */
#define DESCRIPTORS_NAME "uroce_paths_descriptors"

struct descriptors {
	/*
	 * The lock of the table of liburoce's file descriptors. It is held while liburoce adds,
	 * moves or closes one of them, while the program closes a range of descriptors, and during
	 * fork().
	 */
	pthread_mutex_t lock;
	/*
	 * the process that uses liburoce: a child of fork() may close the descriptors that it has
	 * inherited
	 */
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

/**
 * Check whether a descriptor belongs to the engine (liburoce and DPDK), and this process is the one
 * that uses the engine.
 */
static inline bool
descriptors_is_own(const struct descriptors *table, int fd)
{
	return descriptors_has(table, fd) &&
	       atomic_load_explicit(&table->pid, memory_order_relaxed) == getpid();
}

#endif /* UROCE_PATHS_DESCRIPTORS_H */
