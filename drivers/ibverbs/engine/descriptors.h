/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_ENGINE_DESCRIPTORS_H
#define UROCE_ENGINE_DESCRIPTORS_H

/**
 * @file
 * The descriptors of the engine, EAL and its drivers.
 */

#include <stdbool.h>

/** Before any descriptor is made. */
void descriptors_begin(void);

/** Whether the process still has them; not after it closed all descriptors by a way that no library sees. */
bool descriptors_are_there(void);

#endif /* UROCE_ENGINE_DESCRIPTORS_H */
