/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What waits for the wire.
 */

#include "cm/outbox.h"

#include "cm/queue.h"

static struct uroce_cm_queue *
queue_of(struct uroce_cm *cm, const struct uroce_cm_conn *conn)
{
	return uroce_cm_outbox_is_request(conn->tx_attr) ? &cm->requests : &cm->responses;
}

void
uroce_cm_outbox_put(struct uroce_cm *cm, struct uroce_cm_conn *conn)
{
	if (!conn->link[UROCE_CM_LINK_TX].is_in)
		uroce_cm_queue_push(cm, queue_of(cm, conn), UROCE_CM_LINK_TX,
				    uroce_cm_id_of(cm, conn));
}

void
uroce_cm_outbox_cancel(struct uroce_cm *cm, struct uroce_cm_conn *conn)
{
	if (conn->link[UROCE_CM_LINK_TX].is_in)
		uroce_cm_queue_remove(cm, queue_of(cm, conn), UROCE_CM_LINK_TX,
				      uroce_cm_id_of(cm, conn));
}

void
uroce_cm_outbox_reply(struct uroce_cm *cm, const struct uroce_cm_reply *reply)
{
	if (cm->end_reply - cm->first_reply == UROCE_CM_NB_REPLIES)
		cm->stats.nb_replies_dropped++;
	else
		cm->replies[cm->end_reply++ % UROCE_CM_NB_REPLIES] = *reply;
}

const struct uroce_cm_reply *
uroce_cm_outbox_pop_reply(struct uroce_cm *cm)
{
	if (cm->first_reply == cm->end_reply)
		return NULL;
	return &cm->replies[cm->first_reply++ % UROCE_CM_NB_REPLIES];
}
