/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_SOCKETS_RSOCKETS_H
#define UROCE_SOCKETS_RSOCKETS_H

/**
 * @file
 * The set of descriptors that librspreload serves. For the kernel such a descriptor is an open
 * /dev/null. librspreload maps it to an rsocket, and passes calls on the descriptor to this
 * rsocket. A libc call that librspreload does not replace would reach /dev/null, so this library
 * replaces such calls.
 *
 * The functions may be called by any thread.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <limits.h>

/** Only descriptors with a number below this limit can be rsockets that librspreload serves. */
#define RSOCKETS_FDS_MAX 65536

/** Number of descriptors in a word of rsockets_set. */
#define RSOCKETS_WORD (sizeof(unsigned long) * CHAR_BIT)

/** The descriptors that librspreload serves: a bit for each descriptor. */
extern _Atomic(unsigned long) rsockets_set[RSOCKETS_FDS_MAX / RSOCKETS_WORD];

/** Check whether librspreload serves a descriptor. The result is false for a negative number. */
static inline bool
rsockets_has(int fd)
{
	const unsigned at = (unsigned)fd;

	return at < RSOCKETS_FDS_MAX &&
	       (atomic_load_explicit(&rsockets_set[at / RSOCKETS_WORD], memory_order_relaxed) >>
			at % RSOCKETS_WORD &
		1) != 0;
}

/**
 * Add a descriptor to the set of those that librspreload serves.
 * @return whether the descriptor was added; false: the number is too large
 */
bool rsockets_add(int fd);

/**
 * Remove a descriptor from the set of those that librspreload serves. A descriptor that is not in
 * the set is ignored.
 */
void rsockets_remove(int fd);

/**
 * Print why a call on an rsocket fails, or does not do what the program expects. Only the first
 * call of this function in a process prints a line.
 * @param what     what the program does; the line has the program's name before this text
 * @param allowed  what the program could do instead
 */
void rsockets_warn(const char *what, const char *allowed);

#endif /* UROCE_SOCKETS_RSOCKETS_H */
