/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_CM_TIMER_HEAP_H
#define UROCE_CM_TIMER_HEAP_H

/**
 * @file
 * The timers of CM ids: a binary heap whose first id has the earliest deadline. An id has at most
 * one timer. To arm, to move and to stop a timer takes a time that grows with the logarithm of the
 * number of timers.
 */

#include <stddef.h>
#include <stdint.h>

/** Deadline of a CM id whose timer is not armed. */
#define UROCE_TIMER_NEVER UINT64_MAX

struct uroce_timer_heap {
	uint32_t nb;
	uint32_t *heap;     /* CM ids with a timer, in the order of a binary heap */
	uint32_t *position; /* position of each CM id in `heap`; valid if the id has a timer */
	/* deadline of the timer of each CM id; UROCE_TIMER_NEVER: the id has no timer */
	uint64_t *deadline_ns;
};

/** Get the memory size in bytes of a heap for the timers of the CM ids 0 .. max_ids - 1. */
size_t uroce_timer_heap_memsize(uint32_t max_ids);

void uroce_timer_heap_init(struct uroce_timer_heap *timers, void *mem, uint32_t max_ids);

/** Arm the timer of a CM id, or move it to another time. With UROCE_TIMER_NEVER, stop the timer. */
void uroce_timer_heap_set(struct uroce_timer_heap *timers, uint32_t id, uint64_t deadline_ns);

/**
 * Get the time at which the first timer of the heap expires; UROCE_TIMER_NEVER: no timer is armed.
 */
static inline uint64_t
uroce_timer_heap_deadline(const struct uroce_timer_heap *timers)
{
	return timers->nb ? timers->deadline_ns[timers->heap[0]] : UROCE_TIMER_NEVER;
}

#endif /* UROCE_CM_TIMER_HEAP_H */
