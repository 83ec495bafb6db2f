/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_CM_CM_TAKE_H
#define UROCE_VERBS_CM_CM_TAKE_H

/**
 * @file
 * Taking an event from a channel, and moving the QP of the event's id. The caller must not hold
 * uroce_vcm_lock.
 */

#include "verbs/cm/event_queue.h"

/**
 * Take the oldest event of a channel, and move the QP of the event's id to the state that the event
 * requires.
 * @return the event; NULL: the channel has no event
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
 * If an id is synchronous, wait for the event that ends a call, and keep the event as `cm.event`.
 * If the id is not synchronous, do nothing.
 * @return 0, or -errno: the status of the event; -ECONNREFUSED: the peer has rejected the request;
 *         -EINTR: a signal arrived
 */
int uroce_vcm_take_end(struct uroce_vcm_id *id);

/**
 * Acknowledge the event that an earlier call has left in `cm.event` of a synchronous id, if there
 * is one.
 */
void uroce_vcm_take_forget(struct uroce_vcm_id *id);

#endif /* UROCE_VERBS_CM_CM_TAKE_H */
