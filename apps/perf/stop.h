/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_STOP_H
#define PERF_STOP_H

/**
 * @file
 * The wish to stop: SIGINT and SIGTERM ask for it, and every loop that may last looks here.
 */

#include <stdbool.h>

/** Catch SIGINT and SIGTERM from now on. */
void stop_catch_signals(void);

/** Ask from inside: in loopback, one end tells the other that it has failed. */
void stop_ask(void);

bool stop_is_asked(void);

/** The signal that asked; 0: none. */
int stop_signal(void);

#endif /* PERF_STOP_H */
