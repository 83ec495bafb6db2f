/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_STOP_H
#define PERF_STOP_H

/**
 * @file
 * A request to stop the run. SIGINT and SIGTERM make this request, and every loop that may take
 * long checks whether it was made.
 */

#include <stdbool.h>

/** Catch SIGINT and SIGTERM from now on. */
void stop_catch_signals(void);

/** Request a stop from inside the program: in loopback, a side that failed stops the other side. */
void stop_ask(void);

/**
 * Withdraw the request to stop the run, because the run ends in order. stop_signal() returns 0
 * afterwards.
 */
void stop_withdraw(void);

bool stop_is_asked(void);

/** Get the number of the signal that requested to stop the run; 0 if no signal did. */
int stop_signal(void);

#endif /* PERF_STOP_H */
