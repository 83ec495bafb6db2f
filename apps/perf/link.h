/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_LINK_H
#define PERF_LINK_H

/**
 * @file
 * Waits for the link of the device.
 */

#include "endpoint.h"

/**
 * Wait until the link is up. The link of a memif port on a busy machine may need more time than a
 * reachable host needs for a response. The wait also ends if the user interrupts the program.
 * @return 0, or -1 after a line on stderr
 */
int link_await(struct endpoint *endpoint);

#endif /* PERF_LINK_H */
