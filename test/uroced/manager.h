/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_UROCED_MANAGER_H
#define TEST_UROCED_MANAGER_H

/**
 * @file
 * A service manager: a socket that receives the messages of sd_notify(3).
 */

#include <stdbool.h>
#include <sys/types.h>

/** Make the socket in a folder, or with an abstract name, and set NOTIFY_SOCKET to its name. */
void manager_open(const char *folder);
void manager_open_abstract(void);

/** Close the socket, and remove the environment variables of a service manager. */
void manager_close(void);

/**
 * Set the environment variables of a watchdog, for the process `pid`, or for any process if `pid`
 * is 0.
 */
void manager_set_watchdog(unsigned long us, pid_t pid);

/** Receive a message if there is one. @return its lines; NULL if there is no message */
const char *manager_poll(void);

/** Wait for a message that contains a text. @return its lines */
const char *manager_await(const char *text);

/** The PID of the sender of the last message. */
pid_t manager_sender(void);

/** Drop the messages that have arrived. @return the number of these messages that contain `text` */
unsigned manager_drain(const char *text);

#endif /* TEST_UROCED_MANAGER_H */
