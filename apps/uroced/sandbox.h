/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_SANDBOX_H
#define UROCED_SANDBOX_H

/**
 * @file
 * The sandbox: the privileges that uroced gives up between its start and its first client. EAL and
 * the port's driver need many privileges to start. So an attacker who takes over the process by a
 * frame or a message has few privileges [doc/design/multiplexer.md].
 */

/**
 * Enter the sandbox of uroced with all threads; no thread can leave it. The function must be called
 * before the control thread starts.
 * @param driver  the driver of the port; NULL if the driver is unknown
 * @return 0, or -1 after one line of the log
 */
int sandbox_enter(const char *driver);

/**
 * Enter the sandbox of the connection manager with all threads. This sandbox is narrower than that
 * of uroced: no file can be opened, and no socket except pairs of sockets.
 * @return 0, or -1 after one line of the log
 */
int sandbox_enter_cm(void);

#endif /* UROCED_SANDBOX_H */
