/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_START_EAL_H
#define UROCED_START_EAL_H

/**
 * @file
 * Starts EAL for uroced, with uroced's default options.
 */

#include <stdbool.h>

/**
 * Start EAL. Unless the user gives other options, EAL has one lcore that may run on all CPUs of the
 * process.
 * @param argv  the name of the program, and the user's options of EAL
 * @param has_telemetry  EAL has telemetry, unless the user's options disable it
 * @return 0, or the exit status of the program, as eal_start()
 */
int start_eal(int argc, char **argv, bool has_telemetry);

#endif /* UROCED_START_EAL_H */
