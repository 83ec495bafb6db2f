/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_SANDBOX_H
#define UROCED_SANDBOX_H

/**
 * @file
 * The sandbox: the privileges that uroced gives up between its start and its first client. EAL and
 * the port's driver need many privileges to start. Afterwards a process that was taken over by a
 * client or by the wire has few [doc/design/multiplexer.md].
 */

/**
 * Enter the sandbox, with all threads and for ever. Only before the control thread starts.
 * @param driver  the driver of the port; NULL: an unknown one
 * @return 0, or -1 after one line of the log
 */
int sandbox_enter(const char *driver);

#endif /* UROCED_SANDBOX_H */
