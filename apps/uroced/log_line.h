/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_LOG_LINE_H
#define UROCED_LOG_LINE_H

/**
 * @file
 * The log: lines on standard error, one for each client that comes or goes, and one for each fault.
 */

/** Write a line. Any thread may call this. */
__attribute__((format(printf, 1, 2))) void log_line(const char *format, ...);

/**
 * Write a line that clients cause. Only a limited number is written in a second; the others are
 * counted. The control thread alone calls this.
 */
__attribute__((format(printf, 1, 2))) void log_client_line(const char *format, ...);

#endif /* UROCED_LOG_LINE_H */
