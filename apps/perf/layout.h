/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_LAYOUT_H
#define PERF_LAYOUT_H

/**
 * @file
 * Where messages lie in the registered buffer. Both sides compute the same layout, because each
 * names places in the other's buffer.
 *
 * Each QP has two areas: `out`, which its side sends from and its peer reads from (and where the
 * word that a peer's atomics change is), and `in`, where messages arrive. An area is cut in slots:
 * with --verify one for each outstanding message, with --working-set as many as fill it, else as many
 * as fit in a page, as perftest has it (of a great many QPs one).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "options.h"

/** The layout for one message size. */
struct layout {
	size_t size;     /* of a message */
	size_t head;     /* bytes before a message in an `in` slot: 0, or the GRH area */
	size_t stride;   /* from slot to slot */
	size_t recv_len; /* of a receive request, with its head */
	unsigned slots;  /* in each area */
};

/** The largest message of this run. `mtu`: the path's, which bounds UD. */
size_t layout_size_max(const struct options *opt, size_t mtu);

struct layout layout_of(const struct options *opt, size_t mtu, size_t size);

/** Whether areas are as small as can be, and depend on the depth of the queues. */
bool layout_is_compact(const struct options *opt);

/** Bytes of an area that serves every size of this run. */
size_t layout_area_len(const struct options *opt, size_t mtu);

/** Offset in the buffer of slot `slot` of a QP's areas. */
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
