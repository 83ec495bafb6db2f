/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_SIM_HEAP_H
#define TEST_SIM_HEAP_H

/**
 * @file
 * What will happen, by time; what is due at the same moment happens in the order in which it was
 * pushed, so that a run is the same each time.
 */

#include <stdbool.h>
#include <stdint.h>

struct frame;

enum event_kind {
	EVENT_SWITCH, /* a frame arrives at the switch */
	EVENT_HOST,   /* a frame arrives at host `who` */
	EVENT_ROUND,  /* host `who` makes a round */
	EVENT_LIFE,   /* something of the plan happens to object `who`: see life.h */
};

struct event {
	uint64_t at_ns;
	uint32_t order;
	uint16_t kind; /* enum event_kind */
	uint16_t who;
	struct frame *frame; /* EVENT_SWITCH, EVENT_HOST; else NULL */
};

/** All zero is empty. */
struct heap {
	struct event *events;
	uint32_t nb;
	uint32_t room;
	uint32_t order;
};

void heap_push(struct heap *heap, uint64_t at_ns, enum event_kind kind, uint16_t who,
	       struct frame *frame);

/** When the next event is; UINT64_MAX: there is none. */
static inline uint64_t
heap_next_ns(const struct heap *heap)
{
	return heap->nb ? heap->events[0].at_ns : UINT64_MAX;
}

/** Take the next event. @return false: there is none */
bool heap_pop(struct heap *heap, struct event *event);

/** Forget everything, keep the memory. */
void heap_clear(struct heap *heap);

void heap_free(struct heap *heap);

#endif /* TEST_SIM_HEAP_H */
