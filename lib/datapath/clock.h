/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_CLOCK_H
#define UROCE_DATAPATH_CLOCK_H

/**
 * @file
 * The clock of the data path: approximate nanoseconds since boot, from the time stamp counter. The
 * clock is monotonic and equal for all threads. A worker reads the clock once per round, which is
 * one pass through its work.
 */

#include <stdint.h>
#include <rte_cycles.h>

/**
 * Factor that converts cycles to nanoseconds, in 32.32 fixed point; 0 before uroce_clock_init().
 */
extern uint64_t uroce_clock_factor;

/**
 * Nanoseconds that are added to the time of the time stamp counter; 0 by default.
 *
 * A program can provide its own time, so that a run can be repeated exactly. For this the program
 * sets uroce_clock_factor to 0 and increases uroce_clock_base. The base must never decrease.
 */
extern uint64_t uroce_clock_base;

/**
 * Read the frequency of the time stamp counter from EAL, for the clock. The call is cheap and may
 * be repeated.
 */
void uroce_clock_init(void);

static inline uint64_t
uroce_clock_ns(void)
{
	return uroce_clock_base +
	       (uint64_t)((unsigned __int128)rte_rdtsc() * uroce_clock_factor >> 32);
}

#endif /* UROCE_DATAPATH_CLOCK_H */
