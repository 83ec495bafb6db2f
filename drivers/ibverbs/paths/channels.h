/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_PATHS_CHANNELS_H
#define UROCE_PATHS_CHANNELS_H

/**
 * @file
 * Descriptors of /dev/infiniband/rdma_cm, by which librdmacm uses connection management. A program
 * that opens this file gets a descriptor of a pipe that polls readable when an event waits, see
 * ../ucma/ready_pipe.h. What the program writes to it is a command for the engine.
 */

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

/* limit of the descriptors that are recognised; an open() that would give more fails with EMFILE */
#define CHANNELS_FDS_MAX 65536u
#define CHANNELS_WORD    (sizeof(unsigned long) * CHAR_BIT)

/**
 * A bit for each descriptor that may be one of the file. Such a descriptor may have been closed
 * without a call of libc, and be used for something else. A descriptor whose bit is not set is
 * never one of the file.
 */
extern _Atomic(unsigned long) channels_noted[CHANNELS_FDS_MAX / CHANNELS_WORD];

static inline bool
channels_may_be(int fd)
{
	const unsigned at = (unsigned)fd;

	return at < CHANNELS_FDS_MAX &&
	       (atomic_load_explicit(&channels_noted[at / CHANNELS_WORD], memory_order_relaxed) >>
			at % CHANNELS_WORD &
		1) != 0;
}

/** Open the file. @return a descriptor, or -1 with errno */
int channels_open(int flags);

/** Check whether a descriptor is one of the file. */
bool channels_is(int fd);

/** Note a new descriptor of the file that `from` is a descriptor of, if it is one. */
void channels_copy(int from, int to);

/**
 * Before a descriptor is closed.
 * @return what channels_end_close() gets; NULL: nothing is to be done after the close
 */
void *channels_begin_close(int fd);
void channels_end_close(void *file);

/** After a range of descriptors was closed. */
void channels_sweep(void);

#endif /* UROCE_PATHS_CHANNELS_H */
