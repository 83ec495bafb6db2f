/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_LCORES_H
#define UROCED_LCORES_H

/**
 * @file
 * The option of EAL for processes of uroced, which have one lcore that may run on all CPUs of the
 * process.
 */

/**
 * Get the option of EAL for one lcore that may run on all CPUs of the process.
 * @return a string that stays valid until the process ends; NULL if the CPUs are not known
 */
const char *lcores_option(void);

#endif /* UROCED_LCORES_H */
