/* SPDX-License-Identifier: BSD-3-Clause */

/* The receive side of a foreign host: how each message changes the state of an id. */

#include <string.h>

#include "cm/reason.h"
#include "cm/service_id.h"
#include "foreign_id.h"
#include "world.h"

#define SERVICE_CODE    24
#define SERVICE_TIMEOUT (68719 * MSEC)

static struct foreign_id *
find_request(struct foreign *foreign, be64 guid, uint32_t remote_id, bool is_datagram)
{
	for (unsigned i = 0; i < FOREIGN_MAX_IDS; i++) {
		struct foreign_id *id = &foreign->ids[i];

		if (id->state != FOREIGN_FREE && !id->is_active && id->remote_id == remote_id &&
		    (id->state == FOREIGN_SIDR_REQ_RCVD) == is_datagram &&
		    !memcmp(id->remote_guid.b, guid.b, 8))
			return id;
	}
	return NULL;
}

/*
 * Find an id, other than `self`, that is connected to a QP of a peer. An id in TIMEWAIT is not
 * connected.
 */
static struct foreign_id *
find_peer_qp(struct foreign *foreign, be64 guid, uint32_t qpn, const struct foreign_id *self)
{
	for (unsigned i = 0; i < FOREIGN_MAX_IDS; i++) {
		struct foreign_id *id = &foreign->ids[i];

		if (id != self && id->state != FOREIGN_FREE && id->state != FOREIGN_TIMEWAIT &&
		    id->remote_qpn == qpn && !memcmp(id->remote_guid.b, guid.b, 8))
			return id;
	}
	return NULL;
}

/*
 * Handle a duplicate of the REQ that has made an id: reject it in TIMEWAIT, answer it by an MRA
 * while the user decides, and drop it in other states.
 */
static void
repeat_request(struct world *world, uint8_t host, struct foreign_id *id)
{
	struct uroce_cm_msg mra = foreign_message_of(id, UROCE_CM_MRA);

	if (id->state == FOREIGN_TIMEWAIT)
		foreign_send_rej(world, host, id, UROCE_CM_REASON_STALE_CONN, UROCE_CM_ABOUT_REQ);
	if (id->state != FOREIGN_MRA_REQ_SENT)
		return;
	mra.mra.about = UROCE_CM_ABOUT_REQ;
	mra.mra.timeout_code = SERVICE_CODE;
	foreign_send_message(world, host, id, &mra);
}

/* Reply to a REQ or a REP by a REJ. No id changes its state. */
static void
reject_message(struct world *world, uint8_t host, uint8_t from, uint8_t version,
	       const struct uroce_cm_msg *msg, enum uroce_cm_reason reason)
{
	struct uroce_cm_msg rej = { .attr = UROCE_CM_REJ, .tid = msg->tid };

	/* a REQ and a REP begin with the comm id of their sender, as an RTU does */
	rej.rej.remote_comm_id = msg->rtu.local_comm_id;
	rej.rej.local_comm_id = msg->attr == UROCE_CM_REP ? msg->rep.remote_comm_id : 0;
	rej.rej.about = msg->attr == UROCE_CM_REP ? UROCE_CM_ABOUT_REP : UROCE_CM_ABOUT_REQ;
	rej.rej.reason = (uint16_t)reason;
	foreign_send_to(world, host, from, version, &rej);
}

static void
recv_req(struct world *world, uint8_t host, uint8_t from, uint8_t version,
	 const struct uroce_cm_msg *msg)
{
	struct foreign *foreign = &world->hosts[host].foreign;
	const uint8_t service = (uint8_t)(uroce_cm_service_port(msg->req.service_id) - FIRST_PORT);
	struct foreign_id *id =
		find_request(foreign, msg->req.local_ca_guid, msg->req.local_comm_id, false);
	struct foreign_id *old;

	if (id) {
		repeat_request(world, host, id);
		return;
	}
	old = find_peer_qp(foreign, msg->req.local_ca_guid, msg->req.local_qpn, NULL);
	if (old) {
		reject_message(world, host, from, version, msg, UROCE_CM_REASON_STALE_CONN);
		if (old->state == FOREIGN_ESTABLISHED)
			foreign_send_dreq(world, host, old);
		return;
	}
	if (listen_expected(&world->hosts[host], service, version) < 0) {
		reject_message(world, host, from, version, msg, UROCE_CM_REASON_INVALID_SERVICE_ID);
		return;
	}
	id = foreign_new_id(world, host, from, version);
	if (!id)
		return;
	id->service = service;
	id->remote_guid = msg->req.local_ca_guid;
	id->remote_id = msg->req.local_comm_id;
	id->remote_qpn = msg->req.local_qpn;
	id->tid = msg->tid;
	/*
	 * For one REQ of four, the model assumes that rdma_cm does not have the request yet.
	 * Duplicates of this REQ get no MRA.
	 */
	id->state = rng_one_in(&world->rng, 4) ? FOREIGN_REQ_RCVD : FOREIGN_MRA_REQ_SENT;
	foreign_plan_act(world, id);
}

static void
recv_rep(struct world *world, uint8_t host, uint8_t from, uint8_t version,
	 const struct uroce_cm_msg *msg)
{
	struct foreign *foreign = &world->hosts[host].foreign;
	struct foreign_id *id = foreign_find(foreign, msg->rep.remote_comm_id);
	struct foreign_id *old;

	if (!id || id->peer != from || !id->is_active)
		return;
	if (id->state == FOREIGN_ESTABLISHED && id->remote_id == msg->rep.local_comm_id) {
		const struct uroce_cm_msg rtu = foreign_message_of(id, UROCE_CM_RTU);

		foreign_send_message(world, host, id, &rtu);
		return;
	}
	if (id->state == FOREIGN_REP_RCVD && rng_one_in(&world->rng, 4))
		id->state = FOREIGN_MRA_REP_SENT;
	if (id->state == FOREIGN_MRA_REP_SENT) {
		struct uroce_cm_msg mra = foreign_message_of(id, UROCE_CM_MRA);

		mra.mra.about = UROCE_CM_ABOUT_REP;
		mra.mra.timeout_code = SERVICE_CODE;
		foreign_send_message(world, host, id, &mra);
	}
	if ((id->state != FOREIGN_REQ_SENT && id->state != FOREIGN_MRA_REQ_RCVD) ||
	    msg->tid != id->tid)
		return;
	old = find_peer_qp(foreign, msg->rep.local_ca_guid, msg->rep.local_qpn, id);
	if (old) {
		reject_message(world, host, from, version, msg, UROCE_CM_REASON_STALE_CONN);
		if (old->state == FOREIGN_ESTABLISHED)
			foreign_send_dreq(world, host, old);
		return;
	}
	id->remote_id = msg->rep.local_comm_id;
	id->remote_qpn = msg->rep.local_qpn;
	id->remote_guid = msg->rep.local_ca_guid;
	id->state = FOREIGN_REP_RCVD;
	id->timer_ns = FOREIGN_NEVER;
	foreign_plan_act(world, id);
}

void
foreign_notify(struct world *world, uint8_t host, uint32_t local_id)
{
	struct foreign_id *id = foreign_find(&world->hosts[host].foreign, local_id);

	if (id && (id->state == FOREIGN_REP_SENT || id->state == FOREIGN_MRA_REP_RCVD))
		foreign_establish(world, id);
}

static void
recv_mra(struct world *world, struct foreign_id *id, const struct uroce_cm_msg *msg)
{
	if (id && id->state == FOREIGN_REQ_SENT && msg->mra.about == UROCE_CM_ABOUT_REQ)
		id->state = FOREIGN_MRA_REQ_RCVD;
	else if (id && id->state == FOREIGN_REP_SENT && msg->mra.about == UROCE_CM_ABOUT_REP)
		id->state = FOREIGN_MRA_REP_RCVD;
	else
		return;
	id->timer_ns = world->now_ns + SERVICE_TIMEOUT;
}

static void
recv_rej(struct world *world, uint8_t host, uint8_t from, const struct uroce_cm_msg *msg)
{
	struct foreign *foreign = &world->hosts[host].foreign;
	struct foreign_id *id;
	be64 guid;

	if (msg->rej.reason == UROCE_CM_REASON_TIMEOUT) {
		memcpy(guid.b, msg->rej.info, 8);
		id = find_request(foreign, guid, msg->rej.local_comm_id, false);
		if (!id)
			id = foreign_find_both(foreign, msg->rej.remote_comm_id,
					       msg->rej.local_comm_id, from);
	} else if (msg->rej.about == UROCE_CM_ABOUT_REQ) {
		id = foreign_find_both(foreign, msg->rej.remote_comm_id, 0, from);
	} else {
		id = foreign_find_both(foreign, msg->rej.remote_comm_id, msg->rej.local_comm_id,
				       from);
	}
	if (!id || id->state == FOREIGN_TIMEWAIT || id->state == FOREIGN_DREQ_RCVD)
		return;
	if (id->state == FOREIGN_REQ_SENT || id->state == FOREIGN_MRA_REQ_RCVD ||
	    id->state == FOREIGN_REQ_RCVD || id->state == FOREIGN_MRA_REQ_SENT)
		id->state = FOREIGN_FREE;
	else
		foreign_enter_timewait(world, id);
}

static void
recv_dreq(struct world *world, uint8_t host, uint8_t from, uint8_t version,
	  const struct uroce_cm_msg *msg)
{
	struct foreign_id *id =
		foreign_find_both(&world->hosts[host].foreign, msg->dreq.remote_comm_id,
				  msg->dreq.local_comm_id, from);
	struct uroce_cm_msg drep = { .attr = UROCE_CM_DREP, .tid = msg->tid };

	if (!id) {
		drep.drep.local_comm_id = msg->dreq.remote_comm_id;
		drep.drep.remote_comm_id = msg->dreq.local_comm_id;
		foreign_send_to(world, host, from, version, &drep);
		return;
	}
	if (msg->dreq.remote_qpn != id->qpn)
		return;
	switch (id->state) {
	case FOREIGN_REP_SENT:
	case FOREIGN_MRA_REP_RCVD:
	case FOREIGN_DREQ_SENT:
	case FOREIGN_ESTABLISHED:
		id->dreq_tid = msg->tid;
		id->state = FOREIGN_DREQ_RCVD;
		id->timer_ns = FOREIGN_NEVER;
		foreign_plan_act(world, id);
		break;
	case FOREIGN_TIMEWAIT:
		id->dreq_tid = msg->tid;
		drep = foreign_message_of(id, UROCE_CM_DREP);
		foreign_send_message(world, host, id, &drep);
		break;
	}
}

static void
recv_sidr_req(struct world *world, uint8_t host, uint8_t from, uint8_t version,
	      const struct uroce_cm_msg *msg)
{
	const uint8_t service =
		(uint8_t)(uroce_cm_service_port(msg->sidr_req.service_id) - FIRST_PORT);
	struct uroce_cm_msg rep = { .attr = UROCE_CM_SIDR_REP, .tid = msg->tid };
	/*
	 * A SIDR_REQ has no GUID. The IP version and the number of the sending host replace the
	 * GUID.
	 */
	be64 peer = { { 0xff, version, from } };
	struct foreign_id *id;

	if (find_request(&world->hosts[host].foreign, peer, msg->sidr_req.request_id, true))
		return;
	rep.sidr_rep.request_id = msg->sidr_req.request_id;
	rep.sidr_rep.status = UROCE_CM_SIDR_UNSUPPORTED;
	id = listen_expected(&world->hosts[host], service, version) < 0
		     ? NULL
		     : foreign_new_id(world, host, from, version);
	if (!id) {
		foreign_send_to(world, host, from, version, &rep);
		return;
	}
	id->state = FOREIGN_SIDR_REQ_RCVD;
	id->remote_guid = peer;
	id->remote_id = msg->sidr_req.request_id;
	id->tid = msg->tid;
	foreign_plan_act(world, id);
}

void
foreign_recv(struct world *world, uint8_t host, uint8_t from, uint8_t version,
	     const struct uroce_cm_msg *msg)
{
	struct foreign *foreign = &world->hosts[host].foreign;
	struct foreign_id *id = NULL;

	switch (msg->attr) {
	case UROCE_CM_REQ:
		recv_req(world, host, from, version, msg);
		break;
	case UROCE_CM_REP:
		recv_rep(world, host, from, version, msg);
		break;
	case UROCE_CM_MRA:
		id = foreign_find(foreign, msg->mra.remote_comm_id);
		recv_mra(world, id, msg);
		break;
	case UROCE_CM_RTU:
		id = foreign_find_both(foreign, msg->rtu.remote_comm_id, msg->rtu.local_comm_id,
				       from);
		if (id)
			foreign_notify(world, host, id->local_id);
		break;
	case UROCE_CM_REJ:
		recv_rej(world, host, from, msg);
		break;
	case UROCE_CM_DREQ:
		recv_dreq(world, host, from, version, msg);
		break;
	case UROCE_CM_DREP:
		id = foreign_find_both(foreign, msg->drep.remote_comm_id, msg->drep.local_comm_id,
				       from);
		if (id && id->state == FOREIGN_DREQ_SENT)
			foreign_enter_timewait(world, id);
		break;
	case UROCE_CM_SIDR_REQ:
		recv_sidr_req(world, host, from, version, msg);
		break;
	case UROCE_CM_SIDR_REP:
		id = foreign_find(foreign, msg->sidr_rep.request_id);
		if (id && id->state == FOREIGN_SIDR_REQ_SENT)
			id->state = FOREIGN_FREE;
		break;
	case UROCE_CM_LAP:
	case UROCE_CM_APR:
		break;
	}
}
