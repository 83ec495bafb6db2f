/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_CM_CM_CHANNEL_H
#define UROCE_VERBS_CM_CM_CHANNEL_H

/**
 * @file
 * Creating and destroying event channels, which the service of cm_service.h fills with events. The
 * caller must not hold uroce_vcm_lock.
 */

#include "verbs/cm/event_queue.h"

/** Create a channel. @return the channel, or NULL with errno as uroce_cm_create_event_channel() */
struct uroce_vcm_channel *uroce_vcm_channel_create(void);

/** Destroy a channel that has no ids. */
void uroce_vcm_channel_destroy(struct uroce_vcm_channel *channel);

#endif /* UROCE_VERBS_CM_CM_CHANNEL_H */
