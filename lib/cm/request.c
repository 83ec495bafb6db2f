/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * REQs and SIDR_REQs of peers, which create a new CM id. For a refused request no id is allocated;
 * only a reply is queued. The requests that wait at a listener are limited by its backlog, so that
 * a flood of requests at one listener leaves ids for other listeners.
 */

#include "cm/request.h"

#include <infiniband/verbs.h>
#include <string.h>

#include "cm/addr.h"
#include "cm/admission.h"
#include "cm/conn.h"
#include "cm/event.h"
#include "cm/identity.h"
#include "cm/ip_header.h"
#include "cm/outbox.h"
#include "cm/port_space.h"
#include "cm/reason.h"
#include "cm/service_id.h"
#include "cm/timeout.h"

/* The addresses in a REQ or SIDR_REQ of a peer, and the offset of the user's private data. */
struct request_addr {
	struct uroce_cm_addr src;
	struct uroce_cm_addr dst;
	uint8_t offset; /* offset of the user's private data in the private data of the message */
};

/* Whether an address in the IP header of a request is the address of `host`. */
static bool
names_host(const struct uroce_cm_ip *header, const uint8_t ip[16], const struct uroce_cm_addr *host)
{
	const unsigned skip = header->ip_version == 4 ? 12 : 0;

	return header->ip_version == host->ip_version &&
	       !memcmp(ip + skip, host->ip + skip, 16 - skip);
}

/*
 * Read the addresses of a request: those of the IP header in its private data if there is one,
 * otherwise those of the GIDs of both hosts.
 * @return 0; INVALID_GID: the IP header names other hosts than the GIDs; CONSUMER_DEFINED, the
 *	reason that Linux sends: the service ID needs an IP header, and the private data has no
 *	valid one
 */
static enum uroce_cm_reason
read_addresses(uint64_t service_id, const uint8_t *private_data, const struct uroce_cm_av *from,
	       struct request_addr *addr)
{
	struct uroce_cm_addr src = uroce_cm_addr_of_gid(from->remote_gid);
	struct uroce_cm_addr dst = uroce_cm_addr_of_gid(from->local_gid);
	struct uroce_cm_ip ip;

	addr->offset = 0;
	addr->dst.port = dst.port = uroce_cm_service_port(service_id);
	if (uroce_cm_service_has_ip(service_id) &&
	    uroce_cm_ip_parse(private_data, &ip) == UROCE_CM_VERDICT_ACCEPTED) {
		if (!names_host(&ip, ip.src, &src) || !names_host(&ip, ip.dst, &dst))
			return UROCE_CM_REASON_INVALID_GID;
		src.port = ip.src_port;
		addr->offset = UROCE_CM_IP_LEN;
	} else if (uroce_cm_service_needs_ip(service_id)) {
		return UROCE_CM_REASON_CONSUMER_DEFINED;
	}
	addr->src = src;
	addr->dst = dst;
	return 0;
}

/*
 * Check the values of a REQ that can be checked without a look-up.
 * @return the reason why the REQ is refused; 0: the values are valid
 */
static enum uroce_cm_reason
check_req(const struct uroce_cm_req *req, const struct uroce_cm_av *from)
{
	const bool is_extended = req->transport == UROCE_CM_TRANSPORT_EXTENDED;

	if (req->transport == UROCE_CM_TRANSPORT_RD ||
	    (is_extended && req->extended_transport != UROCE_CM_EXTENDED_XRC))
		return UROCE_CM_REASON_INVALID_TRANSPORT;
	if (memcmp(req->primary.local_gid, from->remote_gid, 16) ||
	    memcmp(req->primary.remote_gid, from->local_gid, 16))
		return UROCE_CM_REASON_INVALID_GID;
	/* QP numbers 0 and 1 are reserved for management datagrams */
	if (req->local_qpn < 2)
		return UROCE_CM_REASON_NO_QP;
	if (req->mtu_code < IBV_MTU_256 || req->mtu_code > IBV_MTU_4096)
		return UROCE_CM_REASON_INVALID_MTU;
	return 0;
}

static void
refuse_req(struct uroce_cm *cm, const struct uroce_cm_msg *msg, const struct uroce_cm_av *from,
	   enum uroce_cm_reason reason)
{
	uroce_cm_outbox_reply(cm, &(struct uroce_cm_reply){
					  .av = *from,
					  .attr = UROCE_CM_REJ,
					  .about = UROCE_CM_ABOUT_REQ,
					  .reason = (uint16_t)reason,
					  .tid = msg->tid,
					  .remote_comm_id = msg->req.local_comm_id,
				  });
}

void
uroce_cme_await_listeners(struct uroce_cm *cm, uint64_t until_ns)
{
	cm->listeners_until_ns = until_ns;
}

/*
 * Whether a request for which there is no listener is dropped without an answer, because a
 * restarted program may still create the listener (uroce_cme_await_listeners()).
 */
static bool
expects_listeners(const struct uroce_cm *cm, uint64_t now_ns)
{
	return now_ns < cm->listeners_until_ns;
}

/* Allocate a CM id for a request at a listener. @return NULL: the request has to be refused */
static struct uroce_cm_conn *
take_id_for_request(struct uroce_cm *cm, uint32_t listener, const struct uroce_cm_av *from)
{
	struct uroce_cm_conn *conn;

	if (!uroce_cm_admission_check(cm, listener, from))
		return NULL;
	conn = uroce_cm_conn_new(cm, cm->conns[listener].owner);
	if (!conn)
		return NULL;
	conn->listener = listener;
	conn->user = cm->conns[listener].user;
	conn->space = cm->conns[listener].space;
	conn->av = *from;
	uroce_cm_admission_begin(cm, conn);
	return conn;
}

/* Limit an encoded time that a peer requests to UROCE_CM_PEER_TIMEOUT_CODE_MAX. */
static uint8_t
limit_code(uint8_t code)
{
	return code < UROCE_CM_PEER_TIMEOUT_CODE_MAX ? code : UROCE_CM_PEER_TIMEOUT_CODE_MAX;
}

static void
fill_from_req(struct uroce_cm_conn *conn, const struct uroce_cm_msg *msg)
{
	const struct uroce_cm_req *req = &msg->req;

	conn->av.flow_label = req->primary.flow_label;
	conn->av.traffic_class = req->primary.traffic_class;
	conn->av.hop_limit = req->primary.hop_limit;
	conn->service_id = req->service_id;
	conn->tid = msg->tid;
	conn->transport = req->transport;
	conn->pkey = req->pkey;
	conn->mtu_code = req->mtu_code;
	conn->remote_psn = req->starting_psn;
	conn->responder_resources = req->initiator_depth;
	conn->initiator_depth = req->responder_resources;
	conn->ack_timeout_code = limit_code(req->primary.ack_timeout_code);
	conn->retry_count = req->retry_count;
	conn->rnr_retry_count = req->rnr_retry_count;
	conn->peer_has_flow_control = req->has_flow_control;
	conn->peer_has_srq = req->has_srq;
	conn->peer_ece_vendor_id = req->vendor_id;
	conn->peer_ece_options = msg->attr_mod;
	conn->timeout_ns = uroce_cm_timeout_ns(limit_code(req->local_timeout_code));
	conn->max_retries = req->max_cm_retries;
}

/*
 * Check a REQ that may create a new CM id, and find its listener. A valid REQ ends an older
 * connection of the peer's QP whose number it contains. A REQ that no listener can accept ends no
 * connection.
 * @return the reason why the REQ is refused; 0 if the REQ is not refused
 */
static enum uroce_cm_reason
check_new_req(struct uroce_cm *cm, const struct uroce_cm_req *req, const struct uroce_cm_av *from,
	      uint64_t now_ns, struct request_addr *addr, uint32_t *listener)
{
	enum uroce_cm_reason reason = check_req(req, from);

	if (!reason)
		reason = read_addresses(req->service_id, req->private_data, from, addr);
	if (reason)
		return reason;
	*listener = uroce_cm_port_find_listener(cm, req->service_id, &addr->dst, false);
	if (*listener == UROCE_CM_NO_ID)
		return UROCE_CM_REASON_INVALID_SERVICE_ID;
	if (uroce_cm_conn_supersede(cm, req->local_ca_guid, from->remote_gid, req->local_qpn, NULL,
				    now_ns))
		return UROCE_CM_REASON_STALE_CONN;
	return 0;
}

void
uroce_cm_request_connect(struct uroce_cm *cm, const struct uroce_cm_msg *msg,
			 const struct uroce_cm_av *from, uint64_t now_ns)
{
	const struct uroce_cm_req *req = &msg->req;
	struct request_addr addr = { 0 };
	uint32_t listener = UROCE_CM_NO_ID;
	const enum uroce_cm_reason reason = check_new_req(cm, req, from, now_ns, &addr, &listener);
	struct uroce_cm_conn *conn;

	if (reason == UROCE_CM_REASON_INVALID_SERVICE_ID && expects_listeners(cm, now_ns))
		return;
	if (reason) {
		refuse_req(cm, msg, from, reason);
		return;
	}
	conn = take_id_for_request(cm, listener, from);
	if (!conn) {
		refuse_req(cm, msg, from, UROCE_CM_REASON_NO_RESOURCES);
		return;
	}
	conn->state = UROCE_CM_STATE_REQ_RCVD;
	conn->local = addr.dst;
	conn->remote = addr.src;
	uroce_cm_identity_renew(cm, conn);
	conn->local_psn = (uint32_t)uroce_cm_random(cm) & 0xffffff;
	fill_from_req(conn, msg);
	uroce_cm_identity_set_peer(cm, conn, req->local_ca_guid, req->local_comm_id,
				   req->local_qpn);
	uroce_cm_event_set_private(conn, req->private_data + addr.offset,
				   (uint8_t)(sizeof(req->private_data) - addr.offset));
	uroce_cm_event_report(cm, conn, UROCE_CM_EVENT_CONNECT_REQUEST, 0);
}

static void
refuse_sidr_req(struct uroce_cm *cm, const struct uroce_cm_msg *msg, const struct uroce_cm_av *from,
		enum uroce_cm_sidr_status status)
{
	uroce_cm_outbox_reply(cm, &(struct uroce_cm_reply){
					  .av = *from,
					  .attr = UROCE_CM_SIDR_REP,
					  .reason = (uint16_t)status,
					  .tid = msg->tid,
					  .remote_comm_id = msg->sidr_req.request_id,
					  .service_id = msg->sidr_req.service_id,
				  });
}

void
uroce_cm_request_resolve(struct uroce_cm *cm, const struct uroce_cm_msg *msg,
			 const struct uroce_cm_av *from, uint64_t now_ns)
{
	const struct uroce_cm_sidr_req *req = &msg->sidr_req;
	struct request_addr addr = { 0 };
	uint32_t listener = UROCE_CM_NO_ID;
	struct uroce_cm_conn *conn;

	if (!read_addresses(req->service_id, req->private_data, from, &addr))
		listener = uroce_cm_port_find_listener(cm, req->service_id, &addr.dst, true);
	if (listener == UROCE_CM_NO_ID && expects_listeners(cm, now_ns))
		return;
	if (listener == UROCE_CM_NO_ID) {
		refuse_sidr_req(cm, msg, from, UROCE_CM_SIDR_UNSUPPORTED);
		return;
	}
	conn = take_id_for_request(cm, listener, from);
	if (!conn) {
		refuse_sidr_req(cm, msg, from, UROCE_CM_SIDR_REJECT);
		return;
	}
	conn->state = UROCE_CM_STATE_SIDR_REQ_RCVD;
	conn->is_datagram = true;
	conn->local = addr.dst;
	conn->remote = addr.src;
	conn->service_id = req->service_id;
	conn->tid = msg->tid;
	conn->pkey = req->pkey;
	uroce_cm_identity_set_peer(cm, conn, (be64){ 0 }, req->request_id, 0);
	uroce_cm_event_set_private(conn, req->private_data + addr.offset,
				   (uint8_t)(sizeof(req->private_data) - addr.offset));
	uroce_cm_event_report(cm, conn, UROCE_CM_EVENT_CONNECT_REQUEST, 0);
}
