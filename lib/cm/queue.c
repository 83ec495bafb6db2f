/* SPDX-License-Identifier: BSD-3-Clause */

/* Queues of CM ids, as lists that are linked by the numbers of the ids. */

#include "cm/queue.h"

#include <assert.h>

void
uroce_cm_queue_push(struct uroce_cm *cm, struct uroce_cm_queue *queue, enum uroce_cm_link kind,
		    uint32_t id)
{
	struct uroce_cm_conn *conn = &cm->conns[id];

	assert(!conn->link[kind].is_in);
	conn->link[kind].is_in = true;
	conn->link[kind].prev = queue->last;
	conn->link[kind].next = UROCE_CM_NO_ID;
	if (queue->last == UROCE_CM_NO_ID)
		queue->first = id;
	else
		cm->conns[queue->last].link[kind].next = id;
	queue->last = id;
	queue->nb++;
}

void
uroce_cm_queue_remove(struct uroce_cm *cm, struct uroce_cm_queue *queue, enum uroce_cm_link kind,
		      uint32_t id)
{
	struct uroce_cm_conn *conn = &cm->conns[id];
	const uint32_t prev = conn->link[kind].prev;
	const uint32_t next = conn->link[kind].next;

	assert(conn->link[kind].is_in);
	conn->link[kind].is_in = false;
	if (prev == UROCE_CM_NO_ID)
		queue->first = next;
	else
		cm->conns[prev].link[kind].next = next;
	if (next == UROCE_CM_NO_ID)
		queue->last = prev;
	else
		cm->conns[next].link[kind].prev = prev;
	queue->nb--;
}

struct uroce_cm_conn *
uroce_cm_queue_pop(struct uroce_cm *cm, struct uroce_cm_queue *queue, enum uroce_cm_link kind)
{
	const uint32_t id = queue->first;

	if (id == UROCE_CM_NO_ID)
		return NULL;
	uroce_cm_queue_remove(cm, queue, kind, id);
	return &cm->conns[id];
}
