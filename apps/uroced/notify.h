/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_NOTIFY_H
#define UROCED_NOTIFY_H

/**
 * @file
 * Messages to the service manager that started uroced, by the protocol of sd_notify(3): a datagram
 * of lines NAME=VALUE to the UNIX socket that the environment variable NOTIFY_SOCKET names.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

struct notify {
	int fd; /* socket for messages; -1 if no service manager expects messages */
	struct sockaddr_un addr;
	socklen_t addr_len;
};

/**
 * Open the socket for messages, if the environment variable NOTIFY_SOCKET names the socket of a
 * service manager. A name that is not understood is logged in one line, and no messages are sent.
 */
void notify_open(struct notify *notify);

void notify_close(struct notify *notify);

/** Whether a service manager expects messages. */
static inline bool
notify_is_open(const struct notify *notify)
{
	return notify->fd >= 0;
}

/**
 * Send a message to the service manager. This call does not wait.
 * @param lines  NAME=VALUE, separated by '\n'
 * @return false if the socket of the service manager has no room now, so the message is to be sent
 *         later. Messages that cannot be sent for another reason are dropped.
 */
bool notify_send(const struct notify *notify, const char *lines);

/**
 * Get the time within which the service manager expects a message WATCHDOG=1, from the environment
 * variables WATCHDOG_USEC and WATCHDOG_PID (sd_watchdog_enabled(3)).
 * @return the time in nanoseconds; 0 if there is no watchdog
 */
uint64_t notify_watchdog_ns(void);

#endif /* UROCED_NOTIFY_H */
