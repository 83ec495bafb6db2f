/* SPDX-License-Identifier: BSD-3-Clause */

/* The messages that a CM id sends when it carries out a cell of the table of states. */

#include "cm/conn_send.h"

#include "cm/outbox.h"
#include "cm/reason.h"

static const uint8_t attrs[] = {
	[UROCE_CM_SEND_REQ] = UROCE_CM_REQ,           [UROCE_CM_SEND_REP] = UROCE_CM_REP,
	[UROCE_CM_SEND_RTU] = UROCE_CM_RTU,           [UROCE_CM_SEND_REJ] = UROCE_CM_REJ,
	[UROCE_CM_SEND_DREQ] = UROCE_CM_DREQ,         [UROCE_CM_SEND_DREP] = UROCE_CM_DREP,
	[UROCE_CM_SEND_SIDR_REQ] = UROCE_CM_SIDR_REQ, [UROCE_CM_SEND_SIDR_REP] = UROCE_CM_SIDR_REP,
};

static bool
is_user_call(enum uroce_cm_input input)
{
	return input <= UROCE_CM_ON_DISCONNECT;
}

/*
 * Set `tx_about` to the message of the peer that a REJ rejects. Choose the reason of the REJ, or
 * the status of a SIDR_REP, if the user has not chosen it.
 */
static void
choose_reason(struct uroce_cm_conn *conn, enum uroce_cm_input input)
{
	const bool is_asked =
		conn->state == UROCE_CM_STATE_REQ_RCVD || conn->state == UROCE_CM_STATE_REP_RCVD;

	conn->tx_about = UROCE_CM_ABOUT_OTHER;
	if (conn->state == UROCE_CM_STATE_REQ_RCVD)
		conn->tx_about = UROCE_CM_ABOUT_REQ;
	if (conn->state == UROCE_CM_STATE_REP_RCVD)
		conn->tx_about = UROCE_CM_ABOUT_REP;
	if (is_user_call(input))
		return;
	if (conn->is_datagram)
		conn->tx_reason = UROCE_CM_SIDR_REJECT;
	else
		conn->tx_reason =
			is_asked ? UROCE_CM_REASON_CONSUMER_DEFINED : UROCE_CM_REASON_TIMEOUT;
}

/* Queue a message of a CM id, and record it as the last message of the id. */
static void
put_message(struct uroce_cm *cm, struct uroce_cm_conn *conn, enum uroce_cme_send send,
	    enum uroce_cm_input input)
{
	const uint8_t attr = attrs[send];
	/* a DREP that is repeated keeps the private data of the first one */
	const bool keeps_private =
		is_user_call(input) || (attr == UROCE_CM_DREP && conn->tx_attr == UROCE_CM_DREP);

	if (attr == UROCE_CM_REJ || attr == UROCE_CM_SIDR_REP)
		choose_reason(conn, input);
	if (attr == UROCE_CM_DREQ)
		conn->dreq_tid = uroce_cm_random(cm);
	if (!keeps_private)
		conn->tx_len = 0;
	uroce_cm_outbox_cancel(cm, conn);
	if (conn->tx_attr != attr)
		conn->nb_sent = 0;
	conn->tx_attr = attr;
	uroce_cm_outbox_put(cm, conn);
}

/* Queue a reply of a CM id: it is sent once, and is not recorded as the last message of the id. */
static void
send_reply(struct uroce_cm *cm, const struct uroce_cm_conn *conn, enum uroce_cme_send send)
{
	struct uroce_cm_reply reply = {
		.av = conn->av,
		.attr = UROCE_CM_REJ,
		.tid = conn->tid,
		.local_comm_id = conn->local_comm_id,
		.remote_comm_id = conn->remote_comm_id,
	};

	if (send == UROCE_CM_SEND_LONE_DREP) {
		reply.attr = UROCE_CM_DREP;
		reply.tid = conn->dreq_tid;
	} else if (send == UROCE_CM_SEND_STALE_REJ) {
		reply.about = UROCE_CM_ABOUT_REQ;
		reply.reason = UROCE_CM_REASON_STALE_CONN;
	} else {
		reply.about = UROCE_CM_ABOUT_OTHER;
		reply.reason = UROCE_CM_REASON_INVALID_COMM_ID;
	}
	uroce_cm_outbox_reply(cm, &reply);
}

void
uroce_cm_conn_send(struct uroce_cm *cm, struct uroce_cm_conn *conn, enum uroce_cme_send send,
		   enum uroce_cm_input input)
{
	if (send == UROCE_CM_SEND_AGAIN) {
		uroce_cm_outbox_put(cm, conn);
	} else if (send >= UROCE_CM_SEND_STALE_REJ) {
		send_reply(cm, conn, send);
	} else if (send != UROCE_CM_SEND_NOTHING) {
		put_message(cm, conn, send, input);
	}
}
