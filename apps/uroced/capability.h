/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_CAPABILITY_H
#define UROCED_CAPABILITY_H

/**
 * @file
 * Gives up capabilities of uroced in all threads. In Linux each thread has its own
 * [capabilities(7)].
 */

#include <stdint.h>

#define CAPABILITY(number) (UINT64_C(1) << (number))

/**
 * Give up all capabilities in all threads, except for those in a mask. Other threads may start and
 * end during the call. The function uses SIGRTMIN, so the process must not use this signal for
 * anything else.
 * @param kept  the mask, of bits CAPABILITY()
 * @return 0; -EBUSY if a thread did not handle the signal; another -errno
 */
int capability_drop(uint64_t kept);

#endif /* UROCED_CAPABILITY_H */
