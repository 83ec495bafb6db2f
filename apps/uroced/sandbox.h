/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_SANDBOX_H
#define UROCED_SANDBOX_H

/**
 * @file
 * What uroced gives up between its start, for which EAL and the port's driver need much, and its first client: whoever gets
 * hold of it afterwards by what a client or the wire says has little [doc/design/multiplexer.md].
 */

/**
 * Enter it, for ever, with all threads. Only before the control thread starts.
 * @param driver  of the port; NULL: one of which nothing is known
 * @return 0, or -1 after one line
 */
int sandbox_enter(const char *driver);

#endif /* UROCED_SANDBOX_H */
