/* SPDX-License-Identifier: BSD-3-Clause */

/* Size, initialisation and reset of a ring. The functions of the hot path are in ring.h. */

#include <assert.h>

#include "queue/ring.h"

uint32_t
uroce_ring_slots(uint32_t limit)
{
	assert(limit >= 1 && limit <= UINT32_C(1) << 31);
	return limit == 1 ? 1 : UINT32_C(1) << (32 - __builtin_clz(limit - 1));
}

size_t
uroce_ring_memsize(uint32_t limit, uint32_t stride)
{
	return (size_t)uroce_ring_slots(limit) * stride;
}

void
uroce_ring_init(struct uroce_ring *ring, void *mem, uint32_t limit, uint32_t stride)
{
	assert((uintptr_t)mem % 64 == 0);
	*ring = (struct uroce_ring){
		.slots = mem,
		.mask = uroce_ring_slots(limit) - 1,
		.stride = stride,
		.limit = limit,
	};
}

void
uroce_ring_reset(struct uroce_ring *ring)
{
	ring->tail_seen = 0;
	atomic_store_explicit(&ring->head, 0, memory_order_relaxed);
	atomic_store_explicit(&ring->tail, 0, memory_order_relaxed);
}
