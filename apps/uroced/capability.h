/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_CAPABILITY_H
#define UROCED_CAPABILITY_H

/**
 * @file
 * Capabilities, of which each thread has its own [capabilities(7)].
 */

#include <stdint.h>

#define CAPABILITY(number) (UINT64_C(1) << (number))

/**
 * Give up all capabilities in all threads, but these. Threads may come and go. Uses SIGRTMIN, which the
 * process is not to have another use for.
 * @param kept  a mask of CAPABILITY()
 * @return 0; -errno; -EBUSY: a thread did not take the signal
 */
int capability_drop(uint64_t kept);

#endif /* UROCED_CAPABILITY_H */
