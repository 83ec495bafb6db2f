/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_ENGINE_DESCRIPTORS_H
#define UROCE_ENGINE_DESCRIPTORS_H

/**
 * @file
 * File descriptors of the engine, EAL and its drivers.
 */

#include <stdbool.h>

/** Initialise the table. Called before any descriptor is created. */
void descriptors_begin(void);

/**
 * Whether the process still has the engine's descriptors. False after the program closed all
 * descriptors by system calls that no library can intercept.
 */
bool descriptors_are_there(void);

#endif /* UROCE_ENGINE_DESCRIPTORS_H */
