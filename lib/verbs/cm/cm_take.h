/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_CM_CM_TAKE_H
#define UROCE_VERBS_CM_CM_TAKE_H

/**
 * @file
 * Taking an event from a channel, with what the event means for the QP of its id. The lock must not
 * be held.
 */

#include "verbs/cm/event_queue.h"

/**
 * Take the oldest event of a channel, and move the QP of its id.
 * @return NULL: there is none
 */
struct uroce_vcm_event *uroce_vcm_take(struct uroce_vcm_channel *channel);

/**
 * Wait for an event of a channel, and take it.
 * @return 0, or -errno: EINTR
 */
int uroce_vcm_take_wait(struct uroce_vcm_channel *channel, struct uroce_vcm_event **event);

/** Acknowledge and free an event. */
void uroce_vcm_take_ack(struct uroce_vcm_event *event);

/**
 * Of a synchronous id: wait for the end of a call, and keep the event as `cm.event`. Of another id
 * the call does nothing.
 * @return 0, or -errno: the status of the event; -ECONNREFUSED: rejected; -EINTR
 */
int uroce_vcm_take_end(struct uroce_vcm_id *id);

/** Of a synchronous id: acknowledge the event that is left from an earlier call. */
void uroce_vcm_take_forget(struct uroce_vcm_id *id);

#endif /* UROCE_VERBS_CM_CM_TAKE_H */
