/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_CM_QUEUE_H
#define UROCE_CM_QUEUE_H

/**
 * @file
 * Queues of CM ids: doubly linked lists whose links are in the ids. An id is in at most one queue
 * of each kind of link.
 */

#include "cm/context.h"

static inline void
uroce_cm_queue_init(struct uroce_cm_queue *queue)
{
	*queue = (struct uroce_cm_queue){ .first = UROCE_CM_NO_ID, .last = UROCE_CM_NO_ID };
}

/** Append a CM id to a queue. The id must not be in another queue of the kind `kind`. */
void uroce_cm_queue_push(struct uroce_cm *cm, struct uroce_cm_queue *queue, enum uroce_cm_link kind,
			 uint32_t id);

/** Remove a CM id from `queue`, which contains the id. */
void uroce_cm_queue_remove(struct uroce_cm *cm, struct uroce_cm_queue *queue,
			   enum uroce_cm_link kind, uint32_t id);

/**
 * Remove the first CM id of a queue.
 * @return the id; NULL: the queue is empty
 */
struct uroce_cm_conn *uroce_cm_queue_pop(struct uroce_cm *cm, struct uroce_cm_queue *queue,
					 enum uroce_cm_link kind);

#endif /* UROCE_CM_QUEUE_H */
