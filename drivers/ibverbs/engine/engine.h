/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_ENGINE_H
#define UROCE_ENGINE_H

/**
 * @file
 * What the engine has beside the calls of <uroce.h>: devices by configuration, and its state. The engine is liburoce
 * with DPDK in it, an object of its own that the verbs library loads when a program first asks for devices.
 */

#include <stdbool.h>

/**
 * Announce the devices of the configuration: UROCE, or what the file that UROCE_CONFIG names says. None is no error.
 * EAL is started with the first object of any of them, once for all, in a thread that ends then, with the options
 * that UROCE_EAL or the file gives.
 *
 * @mt  Once.
 * @return 0, or an errno after one logged line
 */
int uroce_engine_open(void);

/** Whether EAL was started, or tried to: from then on a child cannot use it. */
bool uroce_engine_is_started(void);

/** An empty file in memory, whose descriptor is the engine's and is kept for ever. @return -1 with errno: it cannot be had */
int uroce_engine_make_file(const char *name);

/**
 * Whether the process has the engine's descriptors. If the program has closed them, no device works any more; the first
 * call that finds it so says so in a line on stderr.
 */
bool uroce_engine_is_whole(void);

#endif /* UROCE_ENGINE_H */
