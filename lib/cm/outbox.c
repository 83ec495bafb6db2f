/* SPDX-License-Identifier: BSD-3-Clause */

/* The outbox of the CM engine: messages that wait for transmission. */

#include "cm/outbox.h"

#include "cm/identity.h"
#include "cm/turns.h"

static struct uroce_cm_turns *
turns_of(struct uroce_cm *cm, const struct uroce_cm_conn *conn)
{
	return uroce_cm_outbox_is_request(conn->tx_attr) ? &cm->requests : &cm->responses;
}

void
uroce_cm_outbox_put(struct uroce_cm *cm, struct uroce_cm_conn *conn)
{
	if (!conn->link[UROCE_CM_LINK_TX].is_in)
		uroce_cm_turns_push(cm, turns_of(cm, conn), conn);
}

void
uroce_cm_outbox_cancel(struct uroce_cm *cm, struct uroce_cm_conn *conn)
{
	if (conn->link[UROCE_CM_LINK_TX].is_in)
		uroce_cm_turns_remove(cm, turns_of(cm, conn), conn);
}

void
uroce_cm_outbox_reply(struct uroce_cm *cm, const struct uroce_cm_reply *reply)
{
	const uint64_t hash = uroce_cm_identity_hash_gid(cm, reply->av.remote_gid);
	const uint8_t host = (uint8_t)(hash >> 32 & (UROCE_CM_NB_REPLY_HOSTS - 1));
	const uint32_t nb_free = UROCE_CM_NB_REPLIES - (cm->end_reply - cm->first_reply);
	struct uroce_cm_reply *slot = &cm->replies[cm->end_reply % UROCE_CM_NB_REPLIES];

	if (cm->nb_replies_of[host] >= nb_free) {
		cm->stats.nb_replies_dropped++;
		return;
	}
	*slot = *reply;
	slot->host = host;
	cm->nb_replies_of[host]++;
	cm->end_reply++;
}

const struct uroce_cm_reply *
uroce_cm_outbox_pop_reply(struct uroce_cm *cm)
{
	const struct uroce_cm_reply *reply = &cm->replies[cm->first_reply % UROCE_CM_NB_REPLIES];

	if (cm->first_reply == cm->end_reply)
		return NULL;
	cm->nb_replies_of[reply->host]--;
	cm->first_reply++;
	return reply;
}
