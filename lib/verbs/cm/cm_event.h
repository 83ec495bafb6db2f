/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_CM_CM_EVENT_H
#define UROCE_VERBS_CM_CM_EVENT_H

/**
 * @file
 * Making events of connection management, and filling in their parameters. The caller holds
 * uroce_vcm_lock.
 *
 * An event for which there is no memory is lost, as in a NIC whose event queue overflows.
 */

#include "verbs/cm/event_queue.h"

/** Add an event without parameters to the channel of an id. */
void uroce_vcm_raise(struct uroce_vcm_id *id, enum rdma_cm_event_type type, int status);

/** Make an event, which is not in a queue yet. @return the event; NULL: there is no memory */
struct uroce_vcm_event *uroce_vcm_event_new(struct uroce_vcm_id *id, enum rdma_cm_event_type type,
					    int status);

/** Copy the private data of a peer's message into the event. */
void uroce_vcm_event_fill_data(struct uroce_vcm_event *event, const struct uroce_cm_event *from);

/**
 * Fill in the event's parameters of a connection, as the local side of the connection sees them.
 */
void uroce_vcm_event_fill_conn(struct uroce_vcm_event *event, const struct uroce_cm_info *info);

/** Fill in the parameters of a datagram service: the address, the QPN and the Q_Key of its QP. */
void uroce_vcm_event_fill_ud(struct uroce_vcm_event *event, const struct uroce_cm_info *info);

/** Get the number of events that were added to channels since the process began. */
unsigned uroce_vcm_event_count(void);

/** Add an event to the channel of the id that owns the event (`owner`). */
void uroce_vcm_event_add(struct uroce_vcm_event *event);

#endif /* UROCE_VERBS_CM_CM_EVENT_H */
