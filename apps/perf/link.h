/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_LINK_H
#define PERF_LINK_H

/**
 * @file
 * Waits for the link of the device.
 */

#include "endpoint.h"

/**
 * Wait until the link is up. On a busy machine the link of a memif port may take longer to come up
 * than the resolution of an address waits for a response. The wait also ends if the user interrupts
 * the program.
 * @return 0, or -1 after a line on stderr
 */
int link_await(struct endpoint *endpoint);

#endif /* PERF_LINK_H */
