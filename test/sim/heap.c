/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A binary heap of events.
 */

#include "heap.h"

#include <assert.h>
#include <stdlib.h>

static bool
is_before(const struct event *a, const struct event *b)
{
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : (int32_t)(a->order - b->order) < 0;
}

void
heap_push(struct heap *heap, uint64_t at_ns, enum event_kind kind, uint16_t who,
	  struct frame *frame)
{
	const struct event event = { at_ns, heap->order++, (uint16_t)kind, who, frame };

	if (heap->nb == heap->room) {
		heap->room = 2 * heap->room + 256;
		heap->events = realloc(heap->events, heap->room * sizeof(event));
		assert(heap->events);
	}
	uint32_t at = heap->nb++;

	while (at > 0 && is_before(&event, &heap->events[(at - 1) / 2])) {
		heap->events[at] = heap->events[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	heap->events[at] = event;
}

bool
heap_pop(struct heap *heap, struct event *event)
{
	if (!heap->nb)
		return false;
	*event = heap->events[0];
	const struct event last = heap->events[--heap->nb];
	uint32_t at = 0;

	for (;;) {
		uint32_t child = 2 * at + 1;

		if (child >= heap->nb)
			break;
		if (child + 1 < heap->nb &&
		    is_before(&heap->events[child + 1], &heap->events[child]))
			child++;
		if (!is_before(&heap->events[child], &last))
			break;
		heap->events[at] = heap->events[child];
		at = child;
	}
	heap->events[at] = last;
	return true;
}

void
heap_clear(struct heap *heap)
{
	heap->nb = 0;
	heap->order = 0;
}

void
heap_free(struct heap *heap)
{
	free(heap->events);
	*heap = (struct heap){ 0 };
}
