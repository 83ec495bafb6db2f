/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_CONFIG_H
#define UROCED_CONFIG_H

/**
 * @file
 * The configuration file of uroced: a section [uroced] of lines `NAME = VALUE`. A comment begins
 * with a semicolon.
 */

/**
 * Read a configuration file of uroced.
 * @param set  function that is called for each line; it returns 0, or -1 after one line of the log
 * @return 0, or -1 after one line of the log
 */
int config_read(const char *path, int (*set)(void *arg, const char *name, const char *value),
		void *arg);

#endif /* UROCED_CONFIG_H */
