/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_CM_REMOTE_H
#define UROCE_VERBS_CM_REMOTE_H

/**
 * @file
 * The connection manager of uroced, for a device that is attached to uroced. Each call is a request
 * to the connection manager's process.
 *
 * That process may end, with uroced or alone, and be started again. Connections go on, since their
 * frames do not pass through it. What happens to an id then:
 *
 *	not connected, or bound only   the id is created and bound again
 *	listener                       it listens again
 *	connected                      event DISCONNECTED, status -EIO
 *	before that                    event UNREACHABLE, status -EIO
 *
 * Of a lost id the calls return -EIO, except for destroy() and set_user(). Calls of other ids wait
 * for some seconds until there is a connection manager, and then return -EIO. Two calls do not wait:
 * destroy(), and next_event(), which finds no event then. If a listener cannot be bound again because
 * another client has taken its port, a line is logged. This id is lost without an event.
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
