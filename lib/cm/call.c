/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Calls of the user of the engine, such as connect, accept and reject. A call checks its arguments
 * and stores the values that the user passes. Then the call becomes an input of the state machine
 * of the CM id.
 */

#include <assert.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <string.h>

#include "cm/addr.h"
#include "cm/cm.h"
#include "cm/conn.h"
#include "cm/event.h"
#include "cm/identity.h"
#include "cm/ip_header.h"
#include "cm/owner.h"
#include "cm/port_space.h"
#include "cm/reason.h"
#include "cm/service_id.h"
#include "cm/timeout.h"

/* The ACK timeout that Linux sends, encoded: 2.15 s, twice a packet life time of 1.07 s. */
#define DEFAULT_ACK_TIMEOUT_CODE 19

#define DEFAULT_PKEY             0xffff

static struct uroce_cm_conn *
conn_of(struct uroce_cm *cm, uint32_t id)
{
	assert(id < cm->nb_begun && cm->conns[id].is_used && cm->conns[id].has_owner);
	return &cm->conns[id];
}

/*
 * Get the maximum number of bytes of private data that the user may pass for the message `send`. In
 * a REQ or SIDR_REQ with an IP header (RDMA IP CM), the header takes the first bytes of the private
 * data.
 */
static unsigned
max_private(enum uroce_cme_send send, bool has_ip)
{
	const unsigned ip_len = has_ip ? UROCE_CM_REQ_PRIVATE_LEN - UROCE_CM_REQ_USER_LEN : 0;

	switch (send) {
	case UROCE_CM_SEND_REQ:
		return UROCE_CM_REQ_PRIVATE_LEN - ip_len;
	case UROCE_CM_SEND_SIDR_REQ:
		return UROCE_CM_SIDR_REQ_PRIVATE_LEN - ip_len;
	case UROCE_CM_SEND_REP:
		return UROCE_CM_REP_PRIVATE_LEN;
	case UROCE_CM_SEND_RTU:
		return UROCE_CM_RTU_PRIVATE_LEN;
	case UROCE_CM_SEND_REJ:
		return UROCE_CM_REJ_PRIVATE_LEN;
	case UROCE_CM_SEND_DREQ:
		return UROCE_CM_DREQ_PRIVATE_LEN;
	case UROCE_CM_SEND_DREP:
		return UROCE_CM_DREP_PRIVATE_LEN;
	case UROCE_CM_SEND_SIDR_REP:
		return UROCE_CM_SIDR_REP_PRIVATE_LEN;
	case UROCE_CM_SEND_NOTHING:
	case UROCE_CM_SEND_AGAIN:
	case UROCE_CM_SEND_STALE_REJ:
	case UROCE_CM_SEND_LATE_REJ:
	case UROCE_CM_SEND_LONE_DREP:
		break;
	}
	return 0;
}

static bool
is_valid_qpn(uint32_t qpn)
{
	/* QPs 0 and 1 are reserved for management datagrams, so no connection uses them */
	return qpn >= 2 && qpn <= 0xffffff;
}

/*
 * Whether the parameters of a connection fit the fields of a REQ, and have values that a peer may
 * accept.
 */
static bool
is_valid_connect(const struct uroce_cm_param *param)
{
	const bool is_known = param->transport == UROCE_CM_TRANSPORT_RC ||
			      param->transport == UROCE_CM_TRANSPORT_UC ||
			      param->transport == UROCE_CM_TRANSPORT_EXTENDED;

	return is_known && is_valid_qpn(param->qpn) && param->mtu_code >= IBV_MTU_256 &&
	       param->mtu_code <= IBV_MTU_4096 &&
	       param->ack_timeout_code <= UROCE_CM_TIMEOUT_CODE_MAX;
}

/*
 * Check that a call of the user is possible in the state of a CM id, and that the private data fits
 * the message.
 * @return 0, or -EINVAL if one of the two conditions is not met
 */
static int
check_call(const struct uroce_cm_conn *conn, enum uroce_cm_input input, bool has_ip,
	   uint8_t private_len)
{
	const struct uroce_cm_step *step = uroce_cm_state_step(conn->state, input);

	if (!step)
		return -EINVAL;
	/* private data is ignored if the call sends no message */
	if (step->send != UROCE_CM_SEND_NOTHING && private_len > max_private(step->send, has_ip))
		return -EINVAL;
	return 0;
}

/* Carry out a call of the user that check_call() has accepted. */
static void
do_call(struct uroce_cm *cm, struct uroce_cm_conn *conn, enum uroce_cm_input input,
	const void *private_data, uint8_t private_len, uint64_t now_ns)
{
	if (uroce_cm_state_step(conn->state, input)->send != UROCE_CM_SEND_NOTHING) {
		if (private_len)
			memcpy(conn->tx, private_data, private_len);
		conn->tx_len = private_len;
	}
	(void)uroce_cm_conn_input(cm, conn, input, 0, now_ns);
}

int
uroce_cme_create(struct uroce_cm *cm, uint16_t space, bool is_datagram, uint64_t user, uint32_t *id)
{
	struct uroce_cm_conn *conn = uroce_cm_conn_new(cm, 0);

	if (!conn)
		return -ENOMEM;
	conn->space = space;
	conn->is_datagram = is_datagram;
	conn->user = user;
	*id = uroce_cm_id_of(cm, conn);
	return 0;
}

int
uroce_cme_bind(struct uroce_cm *cm, uint32_t id, const struct uroce_cm_addr *addr, bool is_v6only,
	       bool is_shared)
{
	struct uroce_cm_conn *conn = conn_of(cm, id);

	if (conn->state != UROCE_CM_STATE_IDLE)
		return -EINVAL;
	return uroce_cm_port_bind(cm, conn, addr, is_v6only, is_shared);
}

int
uroce_cme_listen(struct uroce_cm *cm, uint32_t id, uint32_t backlog)
{
	struct uroce_cm_conn *conn = conn_of(cm, id);
	const uint32_t limit =
		cm->conf.max_backlog < cm->conf.max_ids ? cm->conf.max_backlog : cm->conf.max_ids;

	if (!conn->is_bound || !uroce_cm_state_step(conn->state, UROCE_CM_ON_LISTEN))
		return -EINVAL;
	if (!uroce_cm_port_may_listen(cm, conn))
		return -EADDRINUSE;
	conn->max_backlog = backlog && backlog < limit ? backlog : limit;
	uroce_cm_port_listen(cm, conn);
	(void)uroce_cm_conn_input(cm, conn, UROCE_CM_ON_LISTEN, 0, 0);
	return 0;
}

/*
 * Store the parameters that the user passes for its end of a connection or of a datagram service.
 */
static void
fill_from_param(struct uroce_cm *cm, struct uroce_cm_conn *conn, const struct uroce_cm_param *param)
{
	conn->responder_resources = param->responder_resources;
	conn->initiator_depth = param->initiator_depth;
	conn->has_flow_control = param->has_flow_control;
	conn->has_srq = param->has_srq;
	conn->peer_rnr_retry_count = param->rnr_retry_count & 7;
	conn->ece_vendor_id = param->ece_vendor_id;
	conn->ece_options = param->ece_options;
	conn->qkey = param->qkey;
	uroce_cm_identity_set_qpn(cm, conn, param->qpn);
}

static void
fill_from_connect(struct uroce_cm *cm, struct uroce_cm_conn *conn,
		  const struct uroce_cm_addr *remote, const struct uroce_cm_av *av,
		  const struct uroce_cm_param *param)
{
	conn->is_active = true;
	conn->remote = *remote;
	conn->av = *av;
	conn->service_id = uroce_cm_service_id(conn->space, remote->port);
	conn->transport = param->transport;
	conn->mtu_code = param->mtu_code;
	conn->pkey = param->pkey ? param->pkey : DEFAULT_PKEY;
	conn->retry_count = param->retry_count & 7;
	conn->ack_timeout_code =
		param->ack_timeout_code ? param->ack_timeout_code : DEFAULT_ACK_TIMEOUT_CODE;
	conn->local_psn = (uint32_t)uroce_cm_random(cm) & 0xffffff;
	uroce_cm_identity_renew(cm, conn);
	if (!conn->is_datagram)
		fill_from_param(cm, conn, param);
}

/*
 * Whether a REQ or SIDR_REQ may have an IP header with the addresses of a CM id and of its peer.
 * The addresses must be those of the GIDs in `av`, because the peer refuses a request whose IP
 * header names other hosts.
 */
static bool
is_valid_route(const struct uroce_cm_conn *conn, const struct uroce_cm_addr *remote,
	       const struct uroce_cm_av *av)
{
	static const uint8_t any_ip[16];

	return conn->is_bound && conn->local.ip_version == remote->ip_version &&
	       memcmp(conn->local.ip, any_ip, sizeof(any_ip)) &&
	       uroce_cm_addr_is_of_gid(&conn->local, av->local_gid) &&
	       uroce_cm_addr_is_of_gid(remote, av->remote_gid);
}

/* Whether a peer would interpret the user's private data as an IP header. */
static bool
looks_like_ip(const struct uroce_cm_param *param)
{
	uint8_t head[UROCE_CM_IP_LEN] = { 0 };
	struct uroce_cm_ip ip;

	if (param->private_len)
		memcpy(head, param->private_data,
		       param->private_len < sizeof(head) ? param->private_len : sizeof(head));
	return uroce_cm_ip_parse(head, &ip) == UROCE_CM_VERDICT_ACCEPTED;
}

/*
 * Whether a request for a service ID may be sent without an IP header. The private data must not
 * look like an IP header, because the user could claim any source port with such data.
 */
static bool
may_omit_ip(uint64_t service_id, const struct uroce_cm_param *param)
{
	if (uroce_cm_service_needs_ip(service_id))
		return false;
	return !uroce_cm_service_has_ip(service_id) || !looks_like_ip(param);
}

int
uroce_cme_connect(struct uroce_cm *cm, uint32_t id, const struct uroce_cm_addr *remote,
		  const struct uroce_cm_av *av, const struct uroce_cm_param *param, uint64_t now_ns)
{
	struct uroce_cm_conn *conn = conn_of(cm, id);
	const enum uroce_cm_input input =
		conn->is_datagram ? UROCE_CM_ON_RESOLVE : UROCE_CM_ON_CONNECT;
	const uint64_t service_id = uroce_cm_service_id(conn->space, remote->port);
	const bool has_ip = remote->ip_version != 0;
	int ret;

	if (has_ip ? !is_valid_route(conn, remote, av) : !may_omit_ip(service_id, param))
		return -EINVAL;
	if (!conn->is_datagram && !is_valid_connect(param))
		return -EINVAL;
	ret = check_call(conn, input, has_ip, param->private_len);
	if (ret)
		return ret;
	if (!conn->is_datagram && uroce_cm_identity_is_qpn_full(cm, param->qpn))
		return -EBUSY;
	fill_from_connect(cm, conn, remote, av, param);
	do_call(cm, conn, input, param->private_data, param->private_len, now_ns);
	return 0;
}

int
uroce_cme_accept(struct uroce_cm *cm, uint32_t id, const struct uroce_cm_param *param,
		 uint64_t now_ns)
{
	struct uroce_cm_conn *conn = conn_of(cm, id);
	const int ret = check_call(conn, UROCE_CM_ON_ACCEPT, false, param->private_len);

	if (ret)
		return ret;
	if (!is_valid_qpn(param->qpn))
		return -EINVAL;
	if (!conn->is_datagram && uroce_cm_identity_is_qpn_full(cm, param->qpn))
		return -EBUSY;
	fill_from_param(cm, conn, param);
	conn->is_xrc_target = param->is_xrc_target;
	conn->tx_reason = UROCE_CM_SIDR_SUCCESS;
	do_call(cm, conn, UROCE_CM_ON_ACCEPT, param->private_data, param->private_len, now_ns);
	return 0;
}

int
uroce_cme_reject(struct uroce_cm *cm, uint32_t id, uint16_t reason, const void *private_data,
		 uint8_t private_len, uint64_t now_ns)
{
	struct uroce_cm_conn *conn = conn_of(cm, id);
	const int ret = check_call(conn, UROCE_CM_ON_REJECT, false, private_len);

	if (ret)
		return ret;
	/*
	 * a REJ has no reason 0; in a SIDR_REP, 0 means success, and the field of the status has 8
	 * bits
	 */
	if (!reason || (conn->is_datagram && reason > UINT8_MAX))
		return -EINVAL;
	conn->tx_reason = reason;
	do_call(cm, conn, UROCE_CM_ON_REJECT, private_data, private_len, now_ns);
	return 0;
}

int
uroce_cme_establish(struct uroce_cm *cm, uint32_t id, const void *private_data, uint8_t private_len,
		    uint64_t now_ns)
{
	struct uroce_cm_conn *conn = conn_of(cm, id);
	const int ret = check_call(conn, UROCE_CM_ON_ESTABLISH, false, private_len);

	if (!ret)
		do_call(cm, conn, UROCE_CM_ON_ESTABLISH, private_data, private_len, now_ns);
	return ret;
}

int
uroce_cme_disconnect(struct uroce_cm *cm, uint32_t id, const void *private_data,
		     uint8_t private_len, uint64_t now_ns)
{
	struct uroce_cm_conn *conn = conn_of(cm, id);
	const int ret = check_call(conn, UROCE_CM_ON_DISCONNECT, false, private_len);

	if (!ret)
		do_call(cm, conn, UROCE_CM_ON_DISCONNECT, private_data, private_len, now_ns);
	return ret;
}

void
uroce_cme_destroy(struct uroce_cm *cm, uint32_t id, uint64_t now_ns)
{
	struct uroce_cm_conn *conn = conn_of(cm, id);

	/* if the CM id is a listener, reject its requests that the user has not received yet */
	while (conn->waiting.nb)
		uroce_cm_conn_destroy(cm, &cm->conns[conn->waiting.first], now_ns);
	uroce_cm_conn_destroy(cm, conn, now_ns);
}

void
uroce_cme_set_owner(struct uroce_cm *cm, uint32_t id, uint16_t owner)
{
	struct uroce_cm_conn *conn = conn_of(cm, id);

	assert(!conn->events);
	uroce_cm_owner_take(cm, conn, owner);
}

bool
uroce_cme_is_owner(const struct uroce_cm *cm, uint32_t id, uint16_t owner)
{
	const struct uroce_cm_conn *conn = &cm->conns[id];

	return id < cm->nb_begun && conn->is_used && conn->has_owner && conn->owner == owner &&
	       !uroce_cm_event_is_pending(conn, UROCE_CM_EVENT_CONNECT_REQUEST);
}

void
uroce_cme_destroy_owned(struct uroce_cm *cm, uint16_t owner, uint64_t now_ns)
{
	while (cm->owners[owner].ids.nb)
		uroce_cme_destroy(cm, cm->owners[owner].ids.first, now_ns);
}

void
uroce_cme_set_user(struct uroce_cm *cm, uint32_t id, uint64_t user)
{
	conn_of(cm, id)->user = user;
}
