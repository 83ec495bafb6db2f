/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_CM_EVENT_H
#define UROCE_CM_EVENT_H

/**
 * @file
 * Events of CM ids that the user of the CM engine has not received yet: a set of bits in each id,
 * and a queue of the ids that have events.
 */

#include "cm/context.h"

/**
 * Report an event of a CM id. If a REJ arrives before the user has received a CONNECT_RESPONSE,
 * REJECTED replaces the CONNECT_RESPONSE, and the private data of the CONNECT_RESPONSE is lost.
 */
void uroce_cm_event_report(struct uroce_cm *cm, struct uroce_cm_conn *conn,
			   enum uroce_cm_event_kind kind, int status);

/**
 * Whether an event of a CM id is pending: it was reported, and the user has not received it yet.
 */
static inline bool
uroce_cm_event_is_pending(const struct uroce_cm_conn *conn, enum uroce_cm_event_kind kind)
{
	return conn->events & 1u << kind;
}

/** Discard the pending events of a CM id. */
void uroce_cm_event_clear(struct uroce_cm *cm, struct uroce_cm_conn *conn);

/** Store private data that the peer has sent. The next event of the CM id carries the data. */
void uroce_cm_event_set_private(struct uroce_cm_conn *conn, const uint8_t *data, uint8_t len);

#endif /* UROCE_CM_EVENT_H */
