/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_CAPABILITY_H
#define UROCED_CAPABILITY_H

/**
 * @file
 * Capabilities. Each thread has its own [capabilities(7)].
 */

#include <stdint.h>

#define CAPABILITY(number) (UINT64_C(1) << (number))

/**
 * Give up all capabilities in all threads, except for some. Threads may start and end meanwhile.
 * Uses SIGRTMIN, which the process must not use for anything else.
 * @param kept  a mask of CAPABILITY()
 * @return 0; -EBUSY: a thread did not handle the signal; -errno
 */
int capability_drop(uint64_t kept);

#endif /* UROCED_CAPABILITY_H */
