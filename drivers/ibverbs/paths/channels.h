/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_PATHS_CHANNELS_H
#define UROCE_PATHS_CHANNELS_H

/**
 * @file
 * Descriptors of /dev/infiniband/rdma_cm, by which librdmacm uses connection management. A program
 * that opens this file gets a descriptor of a pipe that polls readable when an event waits, see
 * ../ucma/ready_pipe.h. What the program writes to it is a command for the engine (liburoce and
 * DPDK).
 */

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

/*
 * Limit of the descriptors that are recognised as those of /dev/infiniband/rdma_cm. An open() of
 * this file that would return this number or a larger one fails with EMFILE.
 */
#define CHANNELS_FDS_MAX 65536u
#define CHANNELS_WORD    (sizeof(unsigned long) * CHAR_BIT)

/**
 * A bit for each descriptor that may belong to the file /dev/infiniband/rdma_cm. A descriptor with
 * a set bit may have been closed without a call of libc, and be used for something else. A
 * descriptor whose bit is not set never belongs to this file.
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

/** Open the file /dev/infiniband/rdma_cm. @return a descriptor, or -1 with errno */
int channels_open(int flags);

/** Check whether a descriptor refers to the file /dev/infiniband/rdma_cm. */
bool channels_is(int fd);

/**
 * Record that `to` is a new copy of the descriptor `from`, if `from` refers to the file
 * /dev/infiniband/rdma_cm.
 */
void channels_copy(int from, int to);

/**
 * The caller calls channels_begin_close() before a descriptor of any file is closed, and
 * channels_end_close() afterwards with the result.
 * @return the argument of channels_end_close(); NULL: channels_end_close() has nothing to do
 */
void *channels_begin_close(int fd);
void channels_end_close(void *file);

/**
 * Release the open files of /dev/infiniband/rdma_cm that have no descriptors. The function must be
 * called after a range of descriptors was closed.
 */
void channels_sweep(void);

#endif /* UROCE_PATHS_CHANNELS_H */
