/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A foreign host, whose connection management behaves as that of Linux (foreign.h): its programs,
 * which connect, accept, reject and disconnect at random, and the timers of its ids.
 */

#include "foreign.h"

#include <string.h>

#include "cm/ip_header.h"
#include "cm/reason.h"
#include "cm/service_id.h"
#include "foreign_id.h"
#include "world.h"

#define REQ_TIMEOUT (6100 * MSEC)

static uint32_t
draw_qpn(struct world *world, const struct foreign *foreign)
{
	for (unsigned i = 0; i < 1000; i++) {
		const uint32_t qpn = rng_between(&world->rng, 2, world->nb_qpns);
		bool is_used = false;

		for (unsigned j = 0; j < FOREIGN_MAX_IDS; j++)
			is_used |=
				foreign->ids[j].state != FOREIGN_FREE && foreign->ids[j].qpn == qpn;
		if (!is_used)
			return qpn;
	}
	return 0;
}

static void
send_drep(struct world *world, uint8_t host, struct foreign_id *id)
{
	id->sent = foreign_message_of(id, UROCE_CM_DREP);
	foreign_send_message(world, host, id, &id->sent);
	foreign_enter_timewait(world, id);
}

void
foreign_connect(struct world *world, uint8_t host)
{
	struct host *from = &world->hosts[host];
	const uint8_t peer = (uint8_t)rng_below(&world->rng, world->nb_hosts);
	const uint8_t service = (uint8_t)rng_below(&world->rng, NB_SERVICES);
	const uint8_t version = (uint8_t)rng_below(&world->rng, NB_VERSIONS);
	const bool is_datagram = service == NB_PORTS;
	const uint32_t qpn = draw_qpn(world, &from->foreign);
	struct foreign_id *id;
	struct uroce_cm_msg msg = { .attr = is_datagram ? UROCE_CM_SIDR_REQ : UROCE_CM_REQ };
	struct uroce_cm_ip ip = { .ip_version = version ? 6 : 4, .src_port = 40000 };

	if (world->hosts[peer].is_foreign || !qpn)
		return;
	id = foreign_new_id(world, host, peer, version);
	if (!id)
		return;
	id->is_active = true;
	id->service = service;
	id->qpn = qpn;
	id->tid = msg.tid = rng_next(&world->rng);
	memcpy(ip.src, from->ip[version].ip, 16);
	memcpy(ip.dst, world->hosts[peer].ip[version].ip, 16);
	if (is_datagram) {
		msg.sidr_req.request_id = id->local_id;
		msg.sidr_req.pkey = 0xffff;
		msg.sidr_req.service_id =
			uroce_cm_service_id(UROCE_CM_PS_UDP, (uint16_t)(FIRST_PORT + service));
		uroce_cm_ip_build(&ip, msg.sidr_req.private_data);
		foreign_send_repeated(world, host, id, &msg, FOREIGN_SIDR_REQ_SENT, REQ_TIMEOUT);
		return;
	}
	msg.req = (struct uroce_cm_req){
		.local_comm_id = id->local_id,
		.service_id =
			uroce_cm_service_id(UROCE_CM_PS_TCP, (uint16_t)(FIRST_PORT + service)),
		.local_ca_guid = from->guid,
		.local_qpn = qpn,
		.responder_resources = 4,
		.initiator_depth = 3,
		.remote_timeout_code = 20,
		.starting_psn = id->psn,
		.local_timeout_code = 20,
		.retry_count = 7,
		.pkey = 0xffff,
		.mtu_code = 3,
		.max_cm_retries = FOREIGN_NB_RETRIES,
		.primary = { .hop_limit = 64, .ack_timeout_code = 19 },
	};
	memcpy(msg.req.primary.local_gid, from->gid[version], 16);
	memcpy(msg.req.primary.remote_gid, world->hosts[peer].gid[version], 16);
	uroce_cm_ip_build(&ip, msg.req.private_data);
	world->nb_connects++;
	foreign_send_repeated(world, host, id, &msg, FOREIGN_REQ_SENT, REQ_TIMEOUT);
	/* one program of ten gives up the attempt to connect after a while */
	if (rng_one_in(&world->rng, 10))
		foreign_plan_act(world, id);
}

/* Answer a connection request as its user would, at random: accept, reject, or decide later. */
static void
answer_request(struct world *world, uint8_t host, struct foreign_id *id)
{
	const uint32_t choice = rng_below(&world->rng, 100);
	struct uroce_cm_msg rep;

	if (choice >= 80 && choice < 90) {
		foreign_plan_act(world, id);
		return;
	}
	id->qpn = draw_qpn(world, &world->hosts[host].foreign);
	if (choice >= 90 || !id->qpn) {
		foreign_send_rej(world, host, id, UROCE_CM_REASON_CONSUMER_DEFINED,
				 UROCE_CM_ABOUT_REQ);
		id->state = FOREIGN_FREE;
		return;
	}
	rep = foreign_message_of(id, UROCE_CM_REP);
	rep.rep.local_qpn = id->qpn;
	rep.rep.starting_psn = id->psn;
	rep.rep.responder_resources = 2;
	rep.rep.initiator_depth = 1;
	rep.rep.ack_delay_code = 15;
	rep.rep.rnr_retry_count = 7;
	rep.rep.local_ca_guid = world->hosts[host].guid;
	foreign_send_repeated(world, host, id, &rep, FOREIGN_REP_SENT, FOREIGN_REPLY_TIMEOUT);
	if (rng_one_in(&world->rng, 10))
		foreign_plan_act(world, id);
}

/*
 * Answer a REP as the user would, at random: establish the connection by an RTU, or reject the REP.
 */
static void
answer_response(struct world *world, uint8_t host, struct foreign_id *id)
{
	struct uroce_cm_msg rtu;

	if (rng_one_in(&world->rng, 8)) {
		foreign_send_rej(world, host, id, UROCE_CM_REASON_CONSUMER_DEFINED,
				 UROCE_CM_ABOUT_REP);
		id->state = FOREIGN_FREE;
		return;
	}
	rtu = foreign_message_of(id, UROCE_CM_RTU);
	foreign_establish(world, id);
	foreign_send_message(world, host, id, &rtu);
	if (rng_one_in(&world->rng, 4))
		program_notify(world, id->peer, id->remote_id);
}

static void
answer_sidr_request(struct world *world, uint8_t host, struct foreign_id *id)
{
	struct uroce_cm_msg rep = { .attr = UROCE_CM_SIDR_REP, .tid = id->tid };

	rep.sidr_rep.request_id = id->remote_id;
	rep.sidr_rep.qpn = 5;
	rep.sidr_rep.qkey = 0x1234567;
	id->state = FOREIGN_FREE;
	foreign_send_message(world, host, id, &rep);
}

static void
act(struct world *world, uint8_t host, struct foreign_id *id)
{
	id->act_ns = FOREIGN_NEVER;
	if (world->is_ending)
		return;
	switch ((enum foreign_state)id->state) {
	case FOREIGN_REQ_SENT:
	case FOREIGN_MRA_REQ_RCVD:
		foreign_send_rej(world, host, id, UROCE_CM_REASON_TIMEOUT, UROCE_CM_ABOUT_REQ);
		id->state = FOREIGN_FREE;
		break;
	case FOREIGN_REQ_RCVD:
	case FOREIGN_MRA_REQ_SENT:
		answer_request(world, host, id);
		break;
	case FOREIGN_REP_RCVD:
	case FOREIGN_MRA_REP_SENT:
		answer_response(world, host, id);
		break;
	case FOREIGN_REP_SENT:
	case FOREIGN_MRA_REP_RCVD: /* the user destroys the id before an RTU has come */
		foreign_send_rej(world, host, id, UROCE_CM_REASON_CONSUMER_DEFINED,
				 UROCE_CM_ABOUT_OTHER);
		foreign_enter_timewait(world, id);
		break;
	case FOREIGN_ESTABLISHED:
		foreign_send_dreq(world, host, id);
		break;
	case FOREIGN_DREQ_RCVD:
		send_drep(world, host, id);
		break;
	case FOREIGN_SIDR_REQ_RCVD:
		answer_sidr_request(world, host, id);
		break;
	case FOREIGN_FREE:
	case FOREIGN_DREQ_SENT:
	case FOREIGN_TIMEWAIT:
	case FOREIGN_SIDR_REQ_SENT:
	case FOREIGN_STATE_NB:
		break;
	}
}

/*
 * Handle the expired timer of an id: repeat the message, or leave the state if no repetition is
 * left or TIMEWAIT is over.
 */
static void
expire_id(struct world *world, uint8_t host, struct foreign_id *id)
{
	if (id->state != FOREIGN_TIMEWAIT && id->nb_left) {
		id->nb_left--;
		id->timer_ns = world->now_ns + id->timeout_ns;
		foreign_send_message(world, host, id, &id->sent);
		return;
	}
	if (id->state == FOREIGN_DREQ_SENT) {
		foreign_enter_timewait(world, id);
		return;
	}
	/*
	 * An id becomes free at the end of TIMEWAIT. An id also becomes free when no repetition of
	 * its REQ or REP is left. The id sends no REJ then.
	 */
	id->state = FOREIGN_FREE;
}

static uint64_t
id_deadline(const struct foreign_id *id)
{
	if (id->state == FOREIGN_FREE)
		return FOREIGN_NEVER;
	return id->timer_ns < id->act_ns ? id->timer_ns : id->act_ns;
}

uint64_t
foreign_deadline(const struct world *world, uint8_t host)
{
	const struct foreign *foreign = &world->hosts[host].foreign;
	uint64_t first_ns = FOREIGN_NEVER;

	for (unsigned i = 0; i < FOREIGN_MAX_IDS; i++)
		if (id_deadline(&foreign->ids[i]) < first_ns)
			first_ns = id_deadline(&foreign->ids[i]);
	return first_ns;
}

void
foreign_expire(struct world *world, uint8_t host)
{
	struct foreign *foreign = &world->hosts[host].foreign;

	for (unsigned i = 0; i < FOREIGN_MAX_IDS; i++) {
		struct foreign_id *id = &foreign->ids[i];

		if (id_deadline(id) > world->now_ns)
			continue;
		if (id->act_ns <= world->now_ns)
			act(world, host, id);
		else
			expire_id(world, host, id);
	}
}
