/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_LCORES_H
#define UROCED_LCORES_H

/**
 * @file
 * The EAL lcore of a process of uroced, which may run on all CPUs of the process.
 */

/**
 * Get the option of EAL for one lcore that may run on all CPUs of the process.
 * @return a string that stays valid; NULL if the CPUs are not known
 */
const char *lcores_option(void);

#endif /* UROCED_LCORES_H */
