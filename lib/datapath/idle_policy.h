/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_IDLE_POLICY_H
#define UROCE_DATAPATH_IDLE_POLICY_H

/**
 * @file
 * The times of the idle policy, the rules by which a thread spins or sleeps while no frames arrive
 * and no requests are posted. The service thread, which drives the workers of a device, and the
 * daemon uroced use these rules. A thread spins after activity, then sleeps for times that double,
 * then sleeps until a wake-up.
 */

#include <stdint.h>

/** Time in ns that a thread spins after activity, before its first timed sleep. */
#define UROCE_IDLE_SPIN_NS UINT64_C(50000)

/**
 * Lengths in ns of a timed sleep, which ends after this time whatever arrives: the shortest, the
 * longest, and the longest while the port has no link.
 */
#define UROCE_IDLE_TIMED_MIN_NS  UINT64_C(20000)
#define UROCE_IDLE_TIMED_MAX_NS  UINT64_C(1000000)
#define UROCE_IDLE_TIMED_DOWN_NS UINT64_C(5000000)

/**
 * Length in ns of the last timed sleep before a thread sleeps until a wake-up. A wake-up costs the
 * sender of a frame some microseconds. A program that sends at short intervals should not have this
 * cost each time.
 */
#define UROCE_IDLE_TIMED_LAST_NS UINT64_C(80000)

/**
 * Maximum length in ns of a sleep until a wake-up. After this time the thread checks the port's
 * link.
 */
#define UROCE_IDLE_WAKEUP_MAX_NS UINT64_C(100000000)

#endif /* UROCE_DATAPATH_IDLE_POLICY_H */
