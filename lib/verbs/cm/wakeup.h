/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_CM_WAKEUP_H
#define UROCE_VERBS_CM_WAKEUP_H

/**
 * @file
 * The descriptor that polls readable when work of connection management is due: a connection
 * manager has events, a device has an asynchronous event, or a timer has expired.
 *
 * The descriptor is an epoll descriptor, which is made once in the life of the process.
 */

#include <stdint.h>

/**
 * Make the epoll descriptor and the descriptors that it watches, if they do not exist.
 * @return 0, or -errno
 */
int uroce_vcm_wakeup_open(void);

/**
 * Get the descriptor that polls readable when work of connection management is due; -1: it does not
 * exist yet.
 */
int uroce_vcm_wakeup_fd(void);

/**
 * Make the descriptor of uroce_vcm_wakeup_fd() readable. Any thread may call this function, which
 * takes no lock. Connection managers call it as their function notify().
 */
void uroce_vcm_wakeup_notify(void *unused);

/**
 * Clear notifications and the expired timer, so that the descriptor of uroce_vcm_wakeup_fd() is not
 * readable because of them. After this call the caller does all work that is due.
 */
void uroce_vcm_wakeup_clear(void);

/**
 * Make the descriptor of uroce_vcm_wakeup_fd() readable after `ns` nanoseconds; UROCE_CM_NEVER:
 * disarm the timer.
 */
void uroce_vcm_wakeup_in(uint64_t ns);

/**
 * Make the descriptor of uroce_vcm_wakeup_fd() readable whenever `fd` is readable, until `fd` is
 * closed.
 * @return 0, or -errno
 */
int uroce_vcm_wakeup_watch(int fd);

#endif /* UROCE_VERBS_CM_WAKEUP_H */
