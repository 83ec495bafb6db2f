/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_CM_CM_SERVICE_H
#define UROCE_VERBS_CM_CM_SERVICE_H

/**
 * @file
 * Who does the work that is due without a call of the program: a thread of the library, or the
 * program itself. The lock must not be held.
 */

#include <stdbool.h>

/**
 * Count a channel. The first one starts the thread, unless the program does the work.
 * @return 0, or -errno
 */
int uroce_vcm_service_get(void);

/** Take a channel back from the count. The last one ends the thread. */
void uroce_vcm_service_put(void);

/** Do the work that is due. @return number of events that were added to channels */
unsigned uroce_vcm_service_run(void);

/**
 * Wait until an event of the channel with this descriptor may be pending. If the program does the
 * work, the call does it meanwhile.
 * @return 0, or -errno: EINTR
 */
int uroce_vcm_service_wait(int channel_fd);

#endif /* UROCE_VERBS_CM_CM_SERVICE_H */
