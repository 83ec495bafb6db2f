/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_INTERVAL_H
#define PERF_INTERVAL_H

/**
 * @file
 * Intervals within a transfer that ends after a given time. With --margin one interval is measured,
 * between the margins. With --run_infinitely each interval is reported.
 */

#include "transfer.h"

/** Begin the intervals of a transfer, if the options request intervals. */
void interval_begin(struct transfer *transfer);

/**
 * If the time has come for an interval to begin or to end, begin or end the interval. With
 * --run_infinitely, also end the run if the user has interrupted it by a signal.
 */
void interval_check(struct transfer *transfer);

/** Check whether one interval was measured. If so, the side reports the rates of this interval. */
bool interval_is_measured(const struct transfer *transfer);

#endif /* PERF_INTERVAL_H */
