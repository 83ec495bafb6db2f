/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_CLOCK_H
#define UROCE_DATAPATH_CLOCK_H

/**
 * @file
 * The clock of the data path: nanoseconds since boot, more or less, from the time stamp counter.
 * Monotonic and the same for all threads. Read once per round.
 */

#include <stdint.h>
#include <rte_cycles.h>

/** Cycles to nanoseconds, as a 32.32 fixed-point factor; 0 before uroce_clock_init(). */
extern uint64_t uroce_clock_factor;

/**
 * Nanoseconds added to what the counter says: 0. A program that wants to be its own clock, so that a
 * run can be repeated exactly, sets the factor to 0 and moves this, never backwards.
 */
extern uint64_t uroce_clock_base;

/** Learn the counter's frequency from EAL. Cheap; may be called again. */
void uroce_clock_init(void);

static inline uint64_t
uroce_clock_ns(void)
{
	return uroce_clock_base +
	       (uint64_t)((unsigned __int128)rte_rdtsc() * uroce_clock_factor >> 32);
}

#endif /* UROCE_DATAPATH_CLOCK_H */
