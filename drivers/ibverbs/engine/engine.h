/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_ENGINE_H
#define UROCE_ENGINE_H

/**
 * @file
 * Calls of the engine in addition to those of <uroce.h>: they create the devices of the
 * configuration, and get the state of the engine. The engine is liburoce linked with DPDK. The
 * engine is a shared object of its own, which the verbs library loads when a program first requests
 * devices.
 */

#include <stdbool.h>

/**
 * Make the devices of the configuration: those in the environment variable UROCE, or else those in
 * the file that the environment variable UROCE_CONFIG names. A device whose port is a --vdev of
 * EAL, a port of uroced, or `udp` is announced: programs see it before its port is open, and EAL
 * starts when a program creates the first object of a device. For any other device EAL starts in
 * this call. EAL is started once, in a thread that ends afterwards. The options of EAL are in the
 * environment variable UROCE_EAL, or else in the file.
 *
 * @mt Call this once.
 * @return 0, or an errno after one logged line
 */
int uroce_engine_open(void);

/**
 * Check whether a start of EAL was attempted in this process. After such a start a child of fork()
 * cannot use EAL.
 */
bool uroce_engine_is_started(void);

/**
 * Create an empty file in memory. The descriptor belongs to the engine (liburoce and DPDK) and
 * stays open.
 * @return the descriptor, or -1 with errno if the file cannot be created
 */
int uroce_engine_make_file(const char *name);

/**
 * Check whether the process has the descriptors of the engine (liburoce and DPDK). If the program
 * has closed them, no device works. The first call that returns false prints a line on stderr.
 */
bool uroce_engine_is_whole(void);

#endif /* UROCE_ENGINE_H */
