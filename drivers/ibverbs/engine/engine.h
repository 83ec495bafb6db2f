/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_ENGINE_H
#define UROCE_ENGINE_H

/**
 * @file
 * Calls of the engine in addition to those of <uroce.h>: devices by configuration, and the
 * engine's state. The engine is liburoce linked with DPDK. It is a shared object of its own, which
 * the verbs library loads when a program first requests devices.
 */

#include <stdbool.h>

/**
 * Announce the devices of the configuration: UROCE, or the file that UROCE_CONFIG names. A
 * configuration without devices is no error. EAL is started once, in a thread that then ends: by
 * this call if a device's port is neither a --vdev of EAL nor of uroced, otherwise with the first
 * object of any device. UROCE_EAL or the file gives EAL's options.
 *
 * @mt Once.
 * @return 0, or an errno after one logged line
 */
int uroce_engine_open(void);

/** Whether a start of EAL was attempted. From then on a child of fork() cannot use EAL. */
bool uroce_engine_is_started(void);

/**
 * Create an empty file in memory. The descriptor belongs to the engine and stays open.
 * @return -1 with errno: the file cannot be created
 */
int uroce_engine_make_file(const char *name);

/**
 * Whether the process has the engine's descriptors. If the program has closed them, no device
 * works any more. The first call that returns false prints a line on stderr.
 */
bool uroce_engine_is_whole(void);

#endif /* UROCE_ENGINE_H */
