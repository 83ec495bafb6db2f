/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_LINE_HEAP_H
#define UROCE_DATAPATH_LINE_HEAP_H

/**
 * @file
 * Memory of the heap in cache lines of its own. calloc() may put two objects into one cache line.
 * If threads write to the one object, all threads that only read the other one wait for the line.
 * So objects that workers read in each round are allocated here.
 */

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/**
 * Allocate zeroed memory that begins a cache line, and shares no cache line with another object.
 * @return the memory, which the caller frees by free(); NULL: no memory
 */
static inline void *
uroce_line_heap_alloc(size_t len)
{
	const size_t whole_lines = (len + 63) / 64 * 64;
	void *const mem = aligned_alloc(64, whole_lines);

	if (mem)
		memset(mem, 0, whole_lines);
	return mem;
}

#endif /* UROCE_DATAPATH_LINE_HEAP_H */
