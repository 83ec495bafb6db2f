/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_PATHS_COUNTED_H
#define UROCE_PATHS_COUNTED_H

/**
 * @file
 * What a device has counted, for a process that may not have it.
 */

#include <stdint.h>

/**
 * A counter of a device. A process that has opened the device is told what the device counted in this process. Any
 * other, such as cat or a monitor, is told the sum over the processes of this user that have a device of that name
 * now, by DPDK's telemetry: those that have ended, or were started with --no-telemetry, are not in it.
 */
uint64_t counted(const char *device, const char *name);

#endif /* UROCE_PATHS_COUNTED_H */
