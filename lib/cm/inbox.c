/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Reception of CM messages. The engine looks up the CM id to which a message belongs, stores the
 * peer's values in the id, and passes the message as an input to the state machine of the id.
 *
 * A message belongs to an id if it names the comm ids of both sides and comes from the id's peer. A
 * DREQ must also name the QP of this side.
 */

#include <string.h>

#include "cm/cm.h"
#include "cm/conn.h"
#include "cm/event.h"
#include "cm/identity.h"
#include "cm/outbox.h"
#include "cm/reason.h"
#include "cm/request.h"
#include "cm/timeout.h"

/*
 * Code of the longest service timeout by which an MRA prolongs a timer, 69 s. Linux sends this
 * code.
 */
#define MAX_SERVICE_CODE 24

static void
give_input(struct uroce_cm *cm, struct uroce_cm_conn *conn, const struct uroce_cm_msg *msg,
	   enum uroce_cm_input input, int status, uint64_t now_ns)
{
	const struct uroce_cm_step *step = uroce_cm_conn_input(cm, conn, input, status, now_ns);

	if (step && step->effect == UROCE_CM_EFFECT_DUPLICATE)
		uroce_cm_count(cm->stats.nb_rx_duplicates, msg->attr);
}

/* Find the CM id to which both comm ids of a message belong. */
static struct uroce_cm_conn *
find_conn(struct uroce_cm *cm, uint32_t local_comm_id, uint32_t remote_comm_id,
	  const struct uroce_cm_av *from)
{
	struct uroce_cm_conn *conn = uroce_cm_identity_find(cm, local_comm_id, from->remote_gid);

	if (!conn || conn->is_datagram || conn->remote_comm_id != remote_comm_id)
		return NULL;
	return conn;
}

static bool
waits_for_rep(const struct uroce_cm_conn *conn)
{
	return conn->state == UROCE_CM_STATE_REQ_SENT || conn->state == UROCE_CM_STATE_REQ_ACKED;
}

/*
 * Choose the input of the state machine for a REJ "stale connection": ON_STALE makes another
 * attempt to connect, ON_REJ ends the CM id if no attempt is left.
 */
static enum uroce_cm_input
stale_input(const struct uroce_cm_conn *conn)
{
	return conn->nb_stale_left ? UROCE_CM_ON_STALE : UROCE_CM_ON_REJ;
}

/* Answer a REP or an RTU by a REJ with the reason `reason`. */
static void
reject_message(struct uroce_cm *cm, const struct uroce_cm_msg *msg, const struct uroce_cm_av *from,
	       enum uroce_cm_about about, enum uroce_cm_reason reason)
{
	/* in `msg`, the comm ids of a REP are at the same offsets as those of an RTU */
	uroce_cm_outbox_reply(cm, &(struct uroce_cm_reply){
					  .av = *from,
					  .attr = UROCE_CM_REJ,
					  .about = (uint8_t)about,
					  .reason = (uint16_t)reason,
					  .tid = msg->tid,
					  .local_comm_id = msg->rep.remote_comm_id,
					  .remote_comm_id = msg->rep.local_comm_id,
				  });
}

static void
recv_req(struct uroce_cm *cm, const struct uroce_cm_msg *msg, const struct uroce_cm_av *from,
	 uint64_t now_ns)
{
	const struct uroce_cm_req *req = &msg->req;
	struct uroce_cm_conn *conn = uroce_cm_identity_find_request(
		cm, req->local_ca_guid, from->remote_gid, req->local_comm_id, false);

	if (conn)
		give_input(cm, conn, msg, UROCE_CM_ON_REQ, 0, now_ns);
	else
		uroce_cm_request_connect(cm, msg, from, now_ns);
}

static void
recv_mra(struct uroce_cm *cm, const struct uroce_cm_msg *msg, const struct uroce_cm_av *from,
	 uint64_t now_ns)
{
	const struct uroce_cm_mra *mra = &msg->mra;
	struct uroce_cm_conn *conn =
		uroce_cm_identity_find(cm, mra->remote_comm_id, from->remote_gid);
	const uint8_t code =
		mra->timeout_code < MAX_SERVICE_CODE ? mra->timeout_code : MAX_SERVICE_CODE;

	if (!conn || conn->is_datagram)
		return;
	/*
	 * in an MRA for a REQ, the peer's comm id cannot be compared: no earlier message contains
	 * it
	 */
	if (waits_for_rep(conn) ? mra->about != UROCE_CM_ABOUT_REQ
				: mra->about != UROCE_CM_ABOUT_REP ||
					  mra->local_comm_id != conn->remote_comm_id)
		return;
	conn->service_ns = uroce_cm_timeout_ns(code);
	give_input(cm, conn, msg, UROCE_CM_ON_MRA, 0, now_ns);
}

/*
 * Compute the encoded ACK timeout of the active side: that of the path, or a longer one if the ACK
 * delay that the peer reports requires it. The time in the state TIMEWAIT contains this timeout, so
 * the peer cannot demand more than 17 s.
 */
static uint8_t
ack_timeout_with_delay(uint8_t path_code, uint8_t delay_code)
{
	unsigned code = path_code;

	if (delay_code + 1u == path_code)
		code = path_code + 1u;
	else if (delay_code + 1u > path_code)
		code = delay_code + 1u;
	if (code > UROCE_CM_PEER_TIMEOUT_CODE_MAX)
		code = UROCE_CM_PEER_TIMEOUT_CODE_MAX;
	return path_code > code ? path_code : (uint8_t)code;
}

static uint8_t
lesser_of(uint8_t a, uint8_t b)
{
	return a < b ? a : b;
}

static void
fill_from_rep(struct uroce_cm *cm, struct uroce_cm_conn *conn, const struct uroce_cm_msg *msg)
{
	const struct uroce_cm_rep *rep = &msg->rep;
	const bool is_xrc = conn->transport == UROCE_CM_TRANSPORT_EXTENDED;

	uroce_cm_identity_set_peer(cm, conn, rep->local_ca_guid, rep->local_comm_id,
				   is_xrc ? rep->local_eecn : rep->local_qpn);
	conn->remote_psn = rep->starting_psn;
	/*
	 * A REP must not request more READs and atomics than the REQ offers [IBA 12.6.8], but some
	 * devices request more. The lesser value is used, because the device of this side would
	 * refuse a QP with more than it supports.
	 */
	conn->responder_resources = lesser_of(conn->responder_resources, rep->initiator_depth);
	conn->initiator_depth = lesser_of(conn->initiator_depth, rep->responder_resources);
	conn->rnr_retry_count = rep->rnr_retry_count;
	conn->peer_has_flow_control = rep->has_flow_control;
	conn->peer_has_srq = rep->has_srq;
	conn->peer_ece_vendor_id = rep->vendor_id;
	conn->peer_ece_options = msg->attr_mod;
	conn->ack_timeout_code =
		ack_timeout_with_delay(conn->ack_timeout_code, rep->ack_delay_code);
	uroce_cm_event_set_private(conn, rep->private_data, sizeof(rep->private_data));
}

static void
recv_rep(struct uroce_cm *cm, const struct uroce_cm_msg *msg, const struct uroce_cm_av *from,
	 uint64_t now_ns)
{
	const struct uroce_cm_rep *rep = &msg->rep;
	struct uroce_cm_conn *conn =
		uroce_cm_identity_find(cm, rep->remote_comm_id, from->remote_gid);
	const uint32_t qpn = conn && conn->transport == UROCE_CM_TRANSPORT_EXTENDED
				     ? rep->local_eecn
				     : rep->local_qpn;

	if (!conn) {
		reject_message(cm, msg, from, UROCE_CM_ABOUT_REP, UROCE_CM_REASON_INVALID_COMM_ID);
		return;
	}
	if (!conn->is_active || conn->is_datagram || msg->tid != conn->tid)
		return;
	if (waits_for_rep(conn)) {
		if (qpn < 2)
			return;
		/*
		 * A REP that names the QP of an old connection is rejected, so its repetitions must
		 * be rejected, too. Therefore the next attempt to connect uses another comm id.
		 */
		if (uroce_cm_conn_supersede(cm, rep->local_ca_guid, from->remote_gid, qpn, conn,
					    now_ns)) {
			reject_message(cm, msg, from, UROCE_CM_ABOUT_REP,
				       UROCE_CM_REASON_STALE_CONN);
			give_input(cm, conn, msg, stale_input(conn), UROCE_CM_REASON_STALE_CONN,
				   now_ns);
			return;
		}
		fill_from_rep(cm, conn, msg);
	} else if (conn->state == UROCE_CM_STATE_REJ_SENT && !conn->remote_comm_id) {
		conn->remote_comm_id = rep->local_comm_id;
	} else if (conn->remote_comm_id != rep->local_comm_id) {
		return;
	}
	give_input(cm, conn, msg, UROCE_CM_ON_REP, 0, now_ns);
}

static void
recv_rtu(struct uroce_cm *cm, const struct uroce_cm_msg *msg, const struct uroce_cm_av *from,
	 uint64_t now_ns)
{
	struct uroce_cm_conn *conn =
		find_conn(cm, msg->rtu.remote_comm_id, msg->rtu.local_comm_id, from);

	if (!conn)
		reject_message(cm, msg, from, UROCE_CM_ABOUT_OTHER,
			       UROCE_CM_REASON_INVALID_COMM_ID);
	if (!conn || conn->is_active)
		return;
	conn->is_drep_doubtful = conn->state == UROCE_CM_STATE_DREQ_SENT && conn->nb_sent;
	give_input(cm, conn, msg, UROCE_CM_ON_RTU, 0, now_ns);
}

/* Find the CM id whose message a REJ rejects; NULL if there is no such id. */
static struct uroce_cm_conn *
find_rejected(struct uroce_cm *cm, const struct uroce_cm_msg *msg, const struct uroce_cm_av *from)
{
	const struct uroce_cm_rej *rej = &msg->rej;
	struct uroce_cm_conn *conn;
	be64 guid;

	/* a peer that sends a REJ because no REP arrived has no comm id of this side */
	if (rej->reason == UROCE_CM_REASON_TIMEOUT && !rej->remote_comm_id) {
		memcpy(guid.b, rej->info, sizeof(guid.b));
		return uroce_cm_identity_find_request(cm, guid, from->remote_gid,
						      rej->local_comm_id, false);
	}
	conn = uroce_cm_identity_find(cm, rej->remote_comm_id, from->remote_gid);
	if (!conn || conn->is_datagram)
		return NULL;
	if (waits_for_rep(conn))
		return msg->tid == conn->tid ? conn : NULL;
	/*
	 * a REJ that names another comm id of the peer, or none, does not belong to this connection
	 */
	return rej->local_comm_id == conn->remote_comm_id ? conn : NULL;
}

static void
recv_rej(struct uroce_cm *cm, const struct uroce_cm_msg *msg, const struct uroce_cm_av *from,
	 uint64_t now_ns)
{
	struct uroce_cm_conn *conn = find_rejected(cm, msg, from);
	enum uroce_cm_input input = UROCE_CM_ON_REJ;
	const struct uroce_cm_step *step;

	if (!conn)
		return;
	if (waits_for_rep(conn) && msg->rej.reason == UROCE_CM_REASON_STALE_CONN)
		input = stale_input(conn);
	step = uroce_cm_state_step(conn->state, input);
	/*
	 * Only the event REJECTED carries the private data of the REJ. If the REJ is reported as
	 * another event, the private data of a pending CONNECT_RESPONSE must stay.
	 */
	if (step && step->report == UROCE_CM_EVENT_REJECTED + 1)
		uroce_cm_event_set_private(conn, msg->rej.private_data,
					   sizeof(msg->rej.private_data));
	give_input(cm, conn, msg, input, msg->rej.reason, now_ns);
}

/*
 * Find the connection that a DREQ ends. If the DREQ overtakes the REP, the DREQ is the first
 * message with the peer's comm id.
 */
static struct uroce_cm_conn *
find_disconnected(struct uroce_cm *cm, const struct uroce_cm_dreq *dreq,
		  const struct uroce_cm_av *from)
{
	struct uroce_cm_conn *conn =
		uroce_cm_identity_find(cm, dreq->remote_comm_id, from->remote_gid);

	if (conn && waits_for_rep(conn) && dreq->remote_qpn == conn->local_qpn)
		conn->remote_comm_id = dreq->local_comm_id;
	return find_conn(cm, dreq->remote_comm_id, dreq->local_comm_id, from);
}

static void
recv_dreq(struct uroce_cm *cm, const struct uroce_cm_msg *msg, const struct uroce_cm_av *from,
	  uint64_t now_ns)
{
	const struct uroce_cm_dreq *dreq = &msg->dreq;
	const struct uroce_cm_conn *known =
		uroce_cm_identity_find(cm, dreq->remote_comm_id, from->remote_gid);
	struct uroce_cm_conn *conn;

	/*
	 * A DREQ with a wrong QPN is not from the peer. It is not confirmed, because the peer could
	 * interpret the DREP as the answer to another DREQ.
	 */
	if (known && dreq->remote_qpn != known->local_qpn)
		return;
	conn = find_disconnected(cm, dreq, from);
	if (conn && uroce_cm_state_step(conn->state, UROCE_CM_ON_DREQ)) {
		conn->dreq_tid = msg->tid;
		give_input(cm, conn, msg, UROCE_CM_ON_DREQ,
			   waits_for_rep(conn) ? UROCE_CM_REASON_CONSUMER_DEFINED : 0, now_ns);
		return;
	}
	uroce_cm_outbox_reply(cm, &(struct uroce_cm_reply){
					  .av = *from,
					  .attr = UROCE_CM_DREP,
					  .tid = msg->tid,
					  .local_comm_id = dreq->remote_comm_id,
					  .remote_comm_id = dreq->local_comm_id,
				  });
}

/*
 * A DREP ends the connection if it has the transaction ID of the DREQ. A DREP with another
 * transaction ID answers a DREQ that this side did not send, so the peer may still be established.
 *
 * A peer may confirm a DREQ that overtakes the REP, and be established by the REP afterwards. The
 * RTU of such a peer sets `is_drep_doubtful`, and the DREQ is sent once more.
 */
static void
recv_drep(struct uroce_cm *cm, const struct uroce_cm_msg *msg, const struct uroce_cm_av *from,
	  uint64_t now_ns)
{
	struct uroce_cm_conn *conn =
		find_conn(cm, msg->drep.remote_comm_id, msg->drep.local_comm_id, from);

	if (!conn || msg->tid != conn->dreq_tid)
		return;
	give_input(cm, conn, msg, conn->is_drep_doubtful ? UROCE_CM_ON_RETRY : UROCE_CM_ON_DREP, 0,
		   now_ns);
	conn->is_drep_doubtful = false;
}

static void
recv_sidr_req(struct uroce_cm *cm, const struct uroce_cm_msg *msg, const struct uroce_cm_av *from,
	      uint64_t now_ns)
{
	struct uroce_cm_conn *conn = uroce_cm_identity_find_request(
		cm, (be64){ 0 }, from->remote_gid, msg->sidr_req.request_id, true);

	if (conn)
		give_input(cm, conn, msg, UROCE_CM_ON_SIDR_REQ, 0, now_ns);
	else
		uroce_cm_request_resolve(cm, msg, from, now_ns);
}

static void
recv_sidr_rep(struct uroce_cm *cm, const struct uroce_cm_msg *msg, const struct uroce_cm_av *from,
	      uint64_t now_ns)
{
	const struct uroce_cm_sidr_rep *rep = &msg->sidr_rep;
	struct uroce_cm_conn *conn = uroce_cm_identity_find(cm, rep->request_id, from->remote_gid);

	if (!conn || conn->state != UROCE_CM_STATE_SIDR_REQ_SENT || msg->tid != conn->tid)
		return;
	/* QPs 0 and 1 are reserved for management datagrams, so no service uses them */
	if (rep->status == UROCE_CM_SIDR_SUCCESS && rep->qpn < 2)
		return;
	conn->remote_qpn = rep->qpn;
	conn->remote_qkey = rep->qkey;
	conn->peer_ece_vendor_id = rep->vendor_id;
	conn->peer_ece_options = msg->attr_mod;
	uroce_cm_event_set_private(conn, rep->private_data, sizeof(rep->private_data));
	give_input(cm, conn, msg,
		   rep->status == UROCE_CM_SIDR_SUCCESS ? UROCE_CM_ON_SIDR_REP
							: UROCE_CM_ON_SIDR_REFUSAL,
		   rep->status, now_ns);
}

/* Refuse an alternate path that a peer offers, because RoCE has no alternate paths. */
static void
recv_lap(struct uroce_cm *cm, const struct uroce_cm_msg *msg, const struct uroce_cm_av *from)
{
	const struct uroce_cm_lap *lap = &msg->lap;
	const bool is_known = find_conn(cm, lap->remote_comm_id, lap->local_comm_id, from);

	uroce_cm_outbox_reply(cm, &(struct uroce_cm_reply){
					  .av = *from,
					  .attr = UROCE_CM_APR,
					  .reason = is_known ? UROCE_CM_APR_UNSUPPORTED
							     : UROCE_CM_APR_INVALID_COMM_ID,
					  .tid = msg->tid,
					  .local_comm_id = lap->remote_comm_id,
					  .remote_comm_id = lap->local_comm_id,
				  });
}

void
uroce_cme_recv(struct uroce_cm *cm, const struct uroce_cm_msg *msg, const struct uroce_cm_av *from,
	       uint64_t now_ns)
{
	uroce_cm_count(cm->stats.nb_rx, msg->attr);
	switch (msg->attr) {
	case UROCE_CM_REQ:
		recv_req(cm, msg, from, now_ns);
		break;
	case UROCE_CM_MRA:
		recv_mra(cm, msg, from, now_ns);
		break;
	case UROCE_CM_REJ:
		recv_rej(cm, msg, from, now_ns);
		break;
	case UROCE_CM_REP:
		recv_rep(cm, msg, from, now_ns);
		break;
	case UROCE_CM_RTU:
		recv_rtu(cm, msg, from, now_ns);
		break;
	case UROCE_CM_DREQ:
		recv_dreq(cm, msg, from, now_ns);
		break;
	case UROCE_CM_DREP:
		recv_drep(cm, msg, from, now_ns);
		break;
	case UROCE_CM_SIDR_REQ:
		recv_sidr_req(cm, msg, from, now_ns);
		break;
	case UROCE_CM_SIDR_REP:
		recv_sidr_rep(cm, msg, from, now_ns);
		break;
	case UROCE_CM_LAP:
		recv_lap(cm, msg, from);
		break;
	case UROCE_CM_APR:
		break; /* an APR is the answer to a LAP, and this side never sends a LAP */
	}
}
