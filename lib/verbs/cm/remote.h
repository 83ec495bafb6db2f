/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_CM_REMOTE_H
#define UROCE_VERBS_CM_REMOTE_H

/**
 * @file
 * The connection manager of uroced, for a device that is attached to uroced. Each call is a request
 * to the connection manager's process.
 *
 * The connection manager's process may end, with uroced or alone, and be started again. The QPs of
 * connections continue to work, because their frames do not pass through this process. The state of
 * an id determines what happens to the id when the process ends:
 *
 *	no peer knows the id           the id is created and bound again
 *	listener                       the id is created and bound, and listens again
 *	connected                      the id is lost; event DISCONNECTED, status -EIO
 *	connecting                     the id is lost; event UNREACHABLE, status -EIO
 *	ended                          the id is lost, without an event
 *
 * Calls for a lost id return -EIO, except for destroy() and set_user(). Without a connection
 * manager, calls for other ids wait some seconds for one, and then return -EIO. Two calls do not
 * wait: destroy(), and next_event(), which returns 0. If an id cannot be created or bound again,
 * for example because another client has taken its port, a line is logged, and the id is lost
 * without an event.
 *
 * In a child of fork() all calls return -EIO.
 */

#include "verbs/cm/manager.h"

struct uroce_dev;

/**
 * Connect to the connection manager of a device's uroced.
 * @return as uroce_cm_manager_open()
 */
int uroce_cm_remote_open(struct uroce_dev *dev, void (*notify)(void *arg), void *arg,
			 struct uroce_cm_manager **manager);

#endif /* UROCE_VERBS_CM_REMOTE_H */
