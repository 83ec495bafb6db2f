/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_LAYOUT_H
#define PERF_LAYOUT_H

/**
 * @file
 * The layout of messages in the registered buffer. Both sides compute the same layout, because each
 * side addresses slots in the other's buffer.
 *
 * Each QP has two areas. The QP sends from `out`, and the peer's READs read from `out`; the word
 * that the peer's atomics change is in `out`, too. Messages and the results of READs and atomics
 * arrive in `in`. An area is divided into slots. A latency test has one slot. With --verify there
 * is one slot for each outstanding message, if the memory suffices. With --working-set there are as
 * many slots as fill the working set. In other runs there are as many slots as fit in a page, as in
 * perftest, or one slot if there are very many QPs.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "options.h"

/** The layout of the areas for one message size. */
struct layout {
	size_t size;     /* length of a message in bytes */
	size_t head;     /* bytes before the message in a slot of `in`: the GRH area of UD, or 0 */
	size_t stride;   /* distance in bytes between the starts of two slots */
	size_t recv_len; /* length in bytes of the buffer of a receive request, including `head` */
	unsigned slots;  /* number of slots in each area */
};

/**
 * Get the size of the largest message of this run.
 * @param mtu  path MTU in bytes, which limits messages of UD
 */
size_t layout_size_max(const struct options *opt, size_t mtu);

struct layout layout_of(const struct options *opt, size_t mtu, size_t size);

/** Check whether there are so many QPs that areas are not rounded up to pages. */
bool layout_is_compact(const struct options *opt);

/**
 * Get the length in bytes of each `in` and `out` area, which is enough for every message size of
 * this run.
 */
size_t layout_area_len(const struct options *opt, size_t mtu);

/**
 * Get the offset in the buffer of a slot in the `out` area of a QP; layout_in() gets that of a slot
 * in the `in` area.
 */
static inline size_t
layout_out(const struct layout *layout, size_t area_len, unsigned qp_idx, uint64_t slot)
{
	return 2 * area_len * qp_idx + slot * layout->stride;
}

static inline size_t
layout_in(const struct layout *layout, size_t area_len, unsigned qp_idx, uint64_t slot)
{
	return 2 * area_len * qp_idx + area_len + slot * layout->stride;
}

#endif /* PERF_LAYOUT_H */
