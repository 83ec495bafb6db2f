/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_CM_CM_SERVICE_H
#define UROCE_VERBS_CM_CM_SERVICE_H

/**
 * @file
 * Work of connection management that is due without a call of the program. A thread of the library
 * does this work, or the program itself. The caller must not hold uroce_vcm_lock.
 */

#include <stdbool.h>

/**
 * Count a new event channel. The first channel starts the thread of connection management, unless
 * the program does the work.
 * @return 0, or -errno
 */
int uroce_vcm_service_get(void);

/**
 * Subtract an event channel from the number of channels. When the last channel is subtracted, the
 * thread of connection management ends.
 */
void uroce_vcm_service_put(void);

/**
 * Do the work of connection management that is due.
 * @return number of events that were added to channels
 */
unsigned uroce_vcm_service_run(void);

/**
 * Wait until the channel with the descriptor `channel_fd` may have an event. If the program does
 * the work of connection management, this call does the work that is due before it waits, and also
 * returns when more work is due.
 * @return 0, or -errno: EINTR
 */
int uroce_vcm_service_wait(int channel_fd);

#endif /* UROCE_VERBS_CM_CM_SERVICE_H */
