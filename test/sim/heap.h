/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_SIM_HEAP_H
#define TEST_SIM_HEAP_H

/**
 * @file
 * Future events, ordered by time. Events of one time occur in the order in which they were pushed,
 * so that every run of a seed is the same.
 */

#include <stdbool.h>
#include <stdint.h>

struct frame;

enum event_kind {
	EVENT_SWITCH, /* a frame arrives at the switch */
	EVENT_HOST,   /* a frame arrives at host `who` */
	EVENT_ROUND,  /* host `who` executes a round */
	EVENT_LIFE,   /* planned event number `who` (life.h) occurs */
};

struct event {
	uint64_t at_ns;
	uint32_t order;
	uint16_t kind; /* kind of the event, enum event_kind */
	uint16_t who;
	struct frame *frame; /* frame of EVENT_SWITCH and EVENT_HOST; else NULL */
};

/** A heap of events. All zero: an empty heap. */
struct heap {
	struct event *events;
	uint32_t nb;
	uint32_t room;
	uint32_t order;
};

void heap_push(struct heap *heap, uint64_t at_ns, enum event_kind kind, uint16_t who,
	       struct frame *frame);

/** Time of the next event; UINT64_MAX: there is none. */
static inline uint64_t
heap_next_ns(const struct heap *heap)
{
	return heap->nb ? heap->events[0].at_ns : UINT64_MAX;
}

/**
 * Remove the next event.
 * @return false: the heap is empty
 */
bool heap_pop(struct heap *heap, struct event *event);

/** Remove all events, but keep the memory of the heap. */
void heap_clear(struct heap *heap);

void heap_free(struct heap *heap);

#endif /* TEST_SIM_HEAP_H */
