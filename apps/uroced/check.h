/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_CHECK_H
#define UROCED_CHECK_H

/**
 * @file
 * uroced --check: finds out whether uroced could start, and prints what it would do.
 */

#include "options.h"

/**
 * Check the options, the files and the port. If a uroced runs with the same socket and file of
 * leases, its port is not opened, and only the specification of the port is checked.
 * @param argc, argv  the name of the program, and the options of EAL
 * @return the exit status
 */
int check(const struct options *opt, int argc, char **argv);

#endif /* UROCED_CHECK_H */
