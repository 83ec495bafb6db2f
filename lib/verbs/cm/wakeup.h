/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_CM_WAKEUP_H
#define UROCE_VERBS_CM_WAKEUP_H

/**
 * @file
 * The descriptor that polls readable when work of connection management is due: a connection
 * manager has events, a device has an asynchronous event, or a time has come.
 *
 * It is an epoll descriptor, made once in the life of the process.
 */

#include <stdint.h>

/** Make the descriptors, if that has not been done. @return 0, or -errno */
int uroce_vcm_wakeup_open(void);

/** The descriptor to poll; -1: it has not been made. */
int uroce_vcm_wakeup_fd(void);

/** Make the descriptor readable. Any thread, and no lock is taken: it is a manager's notify(). */
void uroce_vcm_wakeup_notify(void *unused);

/** Take back notifications and the expired timer. What is due must be looked for afterwards. */
void uroce_vcm_wakeup_clear(void);

/** Make the descriptor readable in this time; UROCE_CM_NEVER: the timer is off. */
void uroce_vcm_wakeup_in(uint64_t ns);

/** Make it readable whenever `fd` is, until `fd` is closed. @return 0, or -errno */
int uroce_vcm_wakeup_watch(int fd);

#endif /* UROCE_VERBS_CM_WAKEUP_H */
