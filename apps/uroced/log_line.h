/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_LOG_LINE_H
#define UROCED_LOG_LINE_H

/**
 * @file
 * The log of uroced: lines on standard error, one for each client that connects or leaves, and one
 * for each error.
 */

/** Write a line to the log of uroced. Any thread may call this function. */
__attribute__((format(printf, 1, 2))) void log_line(const char *format, ...);

/**
 * Write a line to the log of uroced about a client. Only a limited number of such lines is written
 * in a second, and further lines are counted. Only the control thread calls this function.
 */
__attribute__((format(printf, 1, 2))) void log_client_line(const char *format, ...);

#endif /* UROCED_LOG_LINE_H */
