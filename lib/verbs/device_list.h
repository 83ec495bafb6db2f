/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_DEVICE_LIST_H
#define UROCE_VERBS_DEVICE_LIST_H

/**
 * @file
 * The list of the devices in this process, sorted by their numbers.
 */

#include <pthread.h>

#include "verbs/object.h"

/** Lock that guards the list of devices. */
extern pthread_mutex_t uroce_vdevice_list_lock;
extern struct uroce_vdevice *uroce_vdevice_list;

#endif /* UROCE_VERBS_DEVICE_LIST_H */
