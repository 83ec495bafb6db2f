/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Composition of the messages of a CM id from the fields of the id. Values that do not come from
 * the user are those that Linux sends.
 */

#include "cm/compose.h"

#include <assert.h>
#include <string.h>

#include "cm/ip_header.h"
#include "cm/reason.h"

static bool
has_ip_header(const struct uroce_cm_conn *conn)
{
	return conn->remote.ip_version != 0;
}

/*
 * Write the private data of a REQ or a SIDR_REQ: the IP header, if there is one, and the user's
 * data.
 */
static void
compose_request_private(const struct uroce_cm_conn *conn, uint8_t *private_data)
{
	unsigned at = 0;

	if (has_ip_header(conn)) {
		struct uroce_cm_ip ip = {
			.ip_version = conn->remote.ip_version,
			.src_port = conn->local.port,
		};

		memcpy(ip.src, conn->local.ip, sizeof(ip.src));
		memcpy(ip.dst, conn->remote.ip, sizeof(ip.dst));
		uroce_cm_ip_build(&ip, private_data);
		at = UROCE_CM_IP_LEN;
	}
	memcpy(private_data + at, conn->tx, conn->tx_len);
}

static void
compose_path(const struct uroce_cm_conn *conn, struct uroce_cm_path *path)
{
	const struct uroce_cm_av *av = &conn->av;
	const bool is_routed = av->hop_limit > 1;

	path->local_lid = path->remote_lid = is_routed ? 0xffff : 0;
	memcpy(path->local_gid, av->local_gid, 16);
	memcpy(path->remote_gid, av->remote_gid, 16);
	path->flow_label = av->flow_label;
	path->traffic_class = av->traffic_class;
	path->hop_limit = av->hop_limit;
	path->is_subnet_local = !is_routed;
	path->ack_timeout_code = conn->ack_timeout_code;
}

static void
compose_req(const struct uroce_cm *cm, const struct uroce_cm_conn *conn, struct uroce_cm_msg *msg)
{
	struct uroce_cm_req *req = &msg->req;

	msg->attr_mod = conn->ece_options;
	req->local_comm_id = conn->local_comm_id;
	req->vendor_id = conn->ece_vendor_id;
	req->service_id = conn->service_id;
	req->local_ca_guid = cm->conf.ca_guid;
	req->local_qpn = conn->local_qpn;
	req->responder_resources = conn->responder_resources;
	req->initiator_depth = conn->initiator_depth;
	req->remote_timeout_code = cm->conf.timeout_code;
	req->local_timeout_code = cm->conf.timeout_code;
	req->transport = conn->transport;
	if (conn->transport == UROCE_CM_TRANSPORT_EXTENDED)
		req->extended_transport = UROCE_CM_EXTENDED_XRC;
	req->has_flow_control = conn->has_flow_control;
	req->starting_psn = conn->local_psn;
	req->retry_count = conn->retry_count;
	req->rnr_retry_count = conn->peer_rnr_retry_count;
	req->pkey = conn->pkey;
	req->mtu_code = conn->mtu_code;
	req->max_cm_retries = conn->max_retries;
	req->has_srq = conn->has_srq;
	compose_path(conn, &req->primary);
	compose_request_private(conn, req->private_data);
}

static void
compose_rep(const struct uroce_cm *cm, const struct uroce_cm_conn *conn, struct uroce_cm_msg *msg)
{
	struct uroce_cm_rep *rep = &msg->rep;

	msg->attr_mod = conn->ece_options;
	rep->local_comm_id = conn->local_comm_id;
	rep->remote_comm_id = conn->remote_comm_id;
	rep->vendor_id = conn->ece_vendor_id;
	*(conn->is_xrc_target ? &rep->local_eecn : &rep->local_qpn) = conn->local_qpn;
	rep->starting_psn = conn->local_psn;
	rep->responder_resources = conn->responder_resources;
	rep->initiator_depth = conn->initiator_depth;
	rep->ack_delay_code = cm->conf.ack_delay_code;
	rep->has_flow_control = conn->has_flow_control;
	rep->rnr_retry_count = conn->peer_rnr_retry_count;
	rep->has_srq = conn->has_srq;
	rep->local_ca_guid = cm->conf.ca_guid;
	memcpy(rep->private_data, conn->tx, conn->tx_len);
}

/*
 * Compose a REJ. A REJ with the reason TIMEOUT has the CA GUID of this side: by the GUID the peer
 * finds its CM id even if this side does not know the peer's comm id.
 */
static void
compose_rej(const struct uroce_cm *cm, const struct uroce_cm_conn *conn, struct uroce_cm_rej *rej)
{
	rej->local_comm_id = conn->local_comm_id;
	rej->remote_comm_id = conn->remote_comm_id;
	rej->about = conn->tx_about;
	rej->reason = conn->tx_reason;
	if (conn->tx_reason == UROCE_CM_REASON_TIMEOUT) {
		memcpy(rej->info, cm->conf.ca_guid.b, sizeof(cm->conf.ca_guid.b));
		rej->info_len = sizeof(cm->conf.ca_guid.b);
	}
	memcpy(rej->private_data, conn->tx, conn->tx_len);
}

static void
compose_sidr_rep(const struct uroce_cm_conn *conn, struct uroce_cm_msg *msg)
{
	struct uroce_cm_sidr_rep *rep = &msg->sidr_rep;

	msg->attr_mod = conn->ece_options;
	rep->request_id = conn->remote_comm_id;
	rep->status = (uint8_t)conn->tx_reason;
	rep->vendor_id = conn->ece_vendor_id;
	rep->service_id = conn->service_id;
	if (rep->status == UROCE_CM_SIDR_SUCCESS) {
		rep->qpn = conn->local_qpn;
		rep->qkey = conn->qkey;
	}
	memcpy(rep->private_data, conn->tx, conn->tx_len);
}

void
uroce_cm_compose(const struct uroce_cm *cm, const struct uroce_cm_conn *conn,
		 struct uroce_cm_msg *msg)
{
	*msg = (struct uroce_cm_msg){ .attr = conn->tx_attr, .tid = conn->tid };
	switch (msg->attr) {
	case UROCE_CM_REQ:
		compose_req(cm, conn, msg);
		break;
	case UROCE_CM_REP:
		compose_rep(cm, conn, msg);
		break;
	case UROCE_CM_RTU:
		msg->rtu.local_comm_id = conn->local_comm_id;
		msg->rtu.remote_comm_id = conn->remote_comm_id;
		memcpy(msg->rtu.private_data, conn->tx, conn->tx_len);
		break;
	case UROCE_CM_REJ:
		compose_rej(cm, conn, &msg->rej);
		break;
	case UROCE_CM_DREQ:
		msg->tid = conn->dreq_tid;
		msg->dreq.local_comm_id = conn->local_comm_id;
		msg->dreq.remote_comm_id = conn->remote_comm_id;
		msg->dreq.remote_qpn = conn->remote_qpn;
		memcpy(msg->dreq.private_data, conn->tx, conn->tx_len);
		break;
	case UROCE_CM_DREP:
		msg->tid = conn->dreq_tid;
		msg->drep.local_comm_id = conn->local_comm_id;
		msg->drep.remote_comm_id = conn->remote_comm_id;
		memcpy(msg->drep.private_data, conn->tx, conn->tx_len);
		break;
	case UROCE_CM_SIDR_REQ:
		msg->sidr_req.request_id = conn->local_comm_id;
		msg->sidr_req.pkey = conn->pkey;
		msg->sidr_req.service_id = conn->service_id;
		compose_request_private(conn, msg->sidr_req.private_data);
		break;
	case UROCE_CM_SIDR_REP:
		compose_sidr_rep(conn, msg);
		break;
	case UROCE_CM_MRA:
	case UROCE_CM_LAP:
	case UROCE_CM_APR:
		assert(0); /* a CM id sends neither an MRA, a LAP nor an APR */
	}
}

void
uroce_cm_compose_reply(const struct uroce_cm_reply *reply, struct uroce_cm_msg *msg)
{
	*msg = (struct uroce_cm_msg){ .attr = reply->attr, .tid = reply->tid };
	if (reply->attr == UROCE_CM_DREP) {
		msg->drep.local_comm_id = reply->local_comm_id;
		msg->drep.remote_comm_id = reply->remote_comm_id;
	} else if (reply->attr == UROCE_CM_SIDR_REP) {
		msg->sidr_rep.request_id = reply->remote_comm_id;
		msg->sidr_rep.status = (uint8_t)reply->reason;
		msg->sidr_rep.service_id = reply->service_id;
	} else if (reply->attr == UROCE_CM_APR) {
		msg->apr.local_comm_id = reply->local_comm_id;
		msg->apr.remote_comm_id = reply->remote_comm_id;
		msg->apr.status = (uint8_t)reply->reason;
	} else {
		msg->rej.local_comm_id = reply->local_comm_id;
		msg->rej.remote_comm_id = reply->remote_comm_id;
		msg->rej.about = reply->about;
		msg->rej.reason = reply->reason;
	}
}
