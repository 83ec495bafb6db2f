/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_CM_OUTBOX_H
#define UROCE_CM_OUTBOX_H

/**
 * @file
 * CM messages that wait for transmission. A CM id (listener or end of a connection, see cm.h) has
 * at most one message: the one that it sent last, or has to send next. Other messages are replies
 * that belong to no id. Requests (REQ, DREQ, SIDR_REQ) wait in queues of their own (turns.h).
 */

#include "cm/context.h"

/** Whether CM messages with the attribute ID `attr` are requests, which a response answers. */
static inline bool
uroce_cm_outbox_is_request(unsigned attr)
{
	return attr == UROCE_CM_REQ || attr == UROCE_CM_DREQ || attr == UROCE_CM_SIDR_REQ;
}

/**
 * Queue a CM id, so that its last message (`tx_attr`) is transmitted when the turn of the id comes.
 */
void uroce_cm_outbox_put(struct uroce_cm *cm, struct uroce_cm_conn *conn);

/**
 * Remove a CM id from the queue of ids with a message, so that its last message is not transmitted.
 */
void uroce_cm_outbox_cancel(struct uroce_cm *cm, struct uroce_cm_conn *conn);

/**
 * Queue a reply that belongs to no CM id. If too many replies wait, the reply is dropped, because
 * the peer repeats its message. A reply to a host is queued only if fewer replies to this host wait
 * than the queue has free entries. So a host to which many replies are sent leaves room for other
 * hosts.
 */
void uroce_cm_outbox_reply(struct uroce_cm *cm, const struct uroce_cm_reply *reply);

/**
 * Dequeue the oldest reply that belongs to no CM id; NULL if no reply waits. The reply is valid
 * until the next reply is queued.
 */
const struct uroce_cm_reply *uroce_cm_outbox_pop_reply(struct uroce_cm *cm);

#endif /* UROCE_CM_OUTBOX_H */
