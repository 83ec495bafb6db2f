/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_BUFFER_H
#define PERF_BUFFER_H

/**
 * @file
 * The memory of the messages of one side. By default it is ordinary memory, like the buffers of an
 * application, which the kernel may put into huge pages. Options choose reserved huge pages, or a
 * part of a file.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "options.h"

struct buffer {
	uint8_t *at; /* start of the memory; NULL if no memory is mapped */
	size_t len;
};

/**
 * Map memory of at least `len` bytes.
 * @return 0, or -1 after a line on stderr
 */
int buffer_map(struct buffer *buffer, const struct options *opt, size_t len);

/** Unmap the memory of a buffer, if it has any. */
void buffer_unmap(struct buffer *buffer);

#endif /* PERF_BUFFER_H */
