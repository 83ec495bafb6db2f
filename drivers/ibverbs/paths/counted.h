/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_PATHS_COUNTED_H
#define UROCE_PATHS_COUNTED_H

/**
 * @file
 * Reads counters of an RDMA device for any process, also for one that has not opened the device.
 */

#include <stdint.h>

/**
 * Read a counter of an RDMA device. For a process that has opened the device, the value is what the
 * device counted in this process. For any other process, such as cat or a monitor, the value is a
 * sum over all processes of this user that have a device of that name at this time. These processes
 * are queried by DPDK's telemetry. Processes that have ended, or were started with --no-telemetry,
 * are not included.
 */
uint64_t counted(const char *device, const char *name);

#endif /* UROCE_PATHS_COUNTED_H */
