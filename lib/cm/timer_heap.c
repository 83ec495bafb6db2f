/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The timers of CM ids as a binary heap. The children of position i are at 2i + 1 and 2i + 2. A
 * child does not expire before its parent.
 */

#include "cm/timer_heap.h"

size_t
uroce_timer_heap_memsize(uint32_t max_ids)
{
	return (size_t)max_ids * (sizeof(uint64_t) + 2 * sizeof(uint32_t));
}

void
uroce_timer_heap_init(struct uroce_timer_heap *timers, void *mem, uint32_t max_ids)
{
	timers->nb = 0;
	timers->deadline_ns = mem;
	timers->heap = (uint32_t *)(timers->deadline_ns + max_ids);
	timers->position = timers->heap + max_ids;
	for (uint32_t id = 0; id < max_ids; id++)
		timers->deadline_ns[id] = UROCE_TIMER_NEVER;
}

static void
place_timer(struct uroce_timer_heap *timers, uint32_t position, uint32_t id)
{
	timers->heap[position] = id;
	timers->position[id] = position;
}

/* Whether the timer at position `a` of the heap expires before the timer of the CM id `id`. */
static int
expires_before(const struct uroce_timer_heap *timers, uint32_t a, uint32_t id)
{
	return timers->deadline_ns[timers->heap[a]] < timers->deadline_ns[id];
}

/*
 * Move the timer of `id` from `position` to the position in the heap that its deadline requires:
 * first upwards, and then downwards.
 */
static void
sift_timer(struct uroce_timer_heap *timers, uint32_t position, uint32_t id)
{
	while (position > 0 && !expires_before(timers, (position - 1) / 2, id)) {
		place_timer(timers, position, timers->heap[(position - 1) / 2]);
		position = (position - 1) / 2;
	}
	for (;;) {
		uint32_t child = 2 * position + 1;

		if (child >= timers->nb)
			break;
		if (child + 1 < timers->nb &&
		    expires_before(timers, child + 1, timers->heap[child]))
			child++;
		if (!expires_before(timers, child, id))
			break;
		place_timer(timers, position, timers->heap[child]);
		position = child;
	}
	place_timer(timers, position, id);
}

void
uroce_timer_heap_set(struct uroce_timer_heap *timers, uint32_t id, uint64_t deadline_ns)
{
	const uint64_t old_ns = timers->deadline_ns[id];

	if (deadline_ns == old_ns)
		return;
	timers->deadline_ns[id] = deadline_ns;
	if (deadline_ns == UROCE_TIMER_NEVER) {
		const uint32_t position = timers->position[id];
		const uint32_t last = timers->heap[--timers->nb];

		if (last != id)
			sift_timer(timers, position, last);
		return;
	}
	sift_timer(timers, old_ns == UROCE_TIMER_NEVER ? timers->nb++ : timers->position[id], id);
}
