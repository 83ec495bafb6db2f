/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The ids of a foreign host, and the messages that they send.
 */

#include "foreign_id.h"

#include <string.h>

#include "world.h"

#define TIMEWAIT (2147 * MSEC)

void
foreign_begin(struct foreign *foreign)
{
	memset(foreign, 0, sizeof(*foreign));
}

struct foreign_id *
foreign_find(struct foreign *foreign, uint32_t local_id)
{
	for (unsigned i = 0; local_id && i < FOREIGN_MAX_IDS; i++)
		if (foreign->ids[i].state != FOREIGN_FREE && foreign->ids[i].local_id == local_id)
			return &foreign->ids[i];
	return NULL;
}

/* Find the id that has both comm ids, and whose peer is host `from`. */
struct foreign_id *
foreign_find_both(struct foreign *foreign, uint32_t local_id, uint32_t remote_id, uint8_t from)
{
	struct foreign_id *id = foreign_find(foreign, local_id);

	return id && id->remote_id == remote_id && id->peer == from ? id : NULL;
}

struct foreign_id *
foreign_new_id(struct world *world, uint8_t host, uint8_t peer, uint8_t version)
{
	struct foreign *foreign = &world->hosts[host].foreign;

	for (unsigned i = 0; i < FOREIGN_MAX_IDS; i++) {
		struct foreign_id *id = &foreign->ids[i];

		if (id->state != FOREIGN_FREE)
			continue;
		*id = (struct foreign_id){ .peer = peer,
					   .version = version,
					   .local_id = (uint32_t)rng_next(&world->rng) | 1,
					   .psn = rng_below(&world->rng, 0x1000000),
					   .timer_ns = FOREIGN_NEVER,
					   .act_ns = FOREIGN_NEVER };
		return id;
	}
	return NULL;
}

void
foreign_send_to(struct world *world, uint8_t host, uint8_t peer, uint8_t version,
		const struct uroce_cm_msg *msg)
{
	uint8_t mad[UROCE_MAD_LEN];

	uroce_cm_build(msg, mad);
	ledger_note(world, host, peer, msg, mad);
	network_transmit(world, host, peer, version, mad, msg);
}

/* Begin a message of an id: set the TID and both comm ids. */
struct uroce_cm_msg
foreign_message_of(const struct foreign_id *id, enum uroce_cm_attr attr)
{
	struct uroce_cm_msg msg = { .attr = attr, .tid = id->tid };

	msg.rtu.local_comm_id = id->local_id;
	msg.rtu.remote_comm_id = id->remote_id;
	if (attr == UROCE_CM_DREQ || attr == UROCE_CM_DREP)
		msg.tid = id->dreq_tid;
	return msg;
}

void
foreign_send_message(struct world *world, uint8_t host, const struct foreign_id *id,
		     const struct uroce_cm_msg *msg)
{
	foreign_send_to(world, host, id->peer, id->version, msg);
}

/*
 * Send a message of an id, let the timer of the id repeat the message, and move the id to `state`.
 */
void
foreign_send_repeated(struct world *world, uint8_t host, struct foreign_id *id,
		      const struct uroce_cm_msg *msg, enum foreign_state state, uint64_t timeout_ns)
{
	id->sent = *msg;
	id->state = (uint8_t)state;
	id->nb_left = FOREIGN_NB_RETRIES;
	id->timeout_ns = timeout_ns;
	id->timer_ns = world->now_ns + timeout_ns;
	foreign_send_message(world, host, id, msg);
}

void
foreign_plan_act(struct world *world, struct foreign_id *id)
{
	id->act_ns = world->now_ns + world_draw_delay(world) + 1;
}

void
foreign_enter_timewait(struct world *world, struct foreign_id *id)
{
	id->state = FOREIGN_TIMEWAIT;
	id->timer_ns = world->now_ns + TIMEWAIT;
	id->act_ns = FOREIGN_NEVER;
}

void
foreign_establish(struct world *world, struct foreign_id *id)
{
	id->state = FOREIGN_ESTABLISHED;
	id->timer_ns = FOREIGN_NEVER;
	world->nb_foreign++;
	if (rng_below(&world->rng, 10) < 7)
		foreign_plan_act(world, id);
}

/* Send a REJ, which is never repeated. */
void
foreign_send_rej(struct world *world, uint8_t host, const struct foreign_id *id,
		 enum uroce_cm_reason reason, enum uroce_cm_about about)
{
	struct uroce_cm_msg rej = foreign_message_of(id, UROCE_CM_REJ);

	rej.rej.about = (uint8_t)about;
	rej.rej.reason = (uint16_t)reason;
	if (reason == UROCE_CM_REASON_TIMEOUT) {
		memcpy(rej.rej.info, world->hosts[host].guid.b, 8);
		rej.rej.info_len = 8;
	}
	foreign_send_message(world, host, id, &rej);
}

void
foreign_send_dreq(struct world *world, uint8_t host, struct foreign_id *id)
{
	struct uroce_cm_msg dreq;

	id->dreq_tid = rng_next(&world->rng);
	dreq = foreign_message_of(id, UROCE_CM_DREQ);
	dreq.dreq.remote_qpn = id->remote_qpn;
	foreign_send_repeated(world, host, id, &dreq, FOREIGN_DREQ_SENT, FOREIGN_REPLY_TIMEOUT);
}
