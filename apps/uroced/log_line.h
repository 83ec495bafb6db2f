/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_LOG_LINE_H
#define UROCED_LOG_LINE_H

/**
 * @file
 * Lines on standard error, for people: one for each client that comes or goes, and for what is wrong.
 */

/** A line. Any thread. */
__attribute__((format(printf, 1, 2))) void log_line(const char *format, ...);

/** One that clients cause: so many a second, and those that are left out are counted. The control thread. */
__attribute__((format(printf, 1, 2))) void log_client_line(const char *format, ...);

#endif /* UROCED_LOG_LINE_H */
