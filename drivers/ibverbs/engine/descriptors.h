/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_ENGINE_DESCRIPTORS_H
#define UROCE_ENGINE_DESCRIPTORS_H

/**
 * @file
 * The table of the file descriptors that liburoce, EAL and the drivers of DPDK have opened in the
 * process of the program.
 */

#include <stdbool.h>

/**
 * Initialise the table of file descriptors. The function must be called before liburoce opens any
 * descriptor.
 */
void descriptors_begin(void);

/**
 * Check whether the process still has the descriptors of liburoce and DPDK. The result is false
 * after the program has closed all descriptors by system calls that no library can intercept.
 */
bool descriptors_are_there(void);

#endif /* UROCE_ENGINE_DESCRIPTORS_H */
