/* SPDX-License-Identifier: BSD-3-Clause */

/* The simulated network, and the heap of all events that are planned for a later virtual time. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cm/reason.h"
#include "world.h"

static bool
is_before(const struct happening *a, const struct happening *b)
{
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

static struct happening *
push_happening(struct world *world, uint64_t at_ns)
{
	uint32_t at;

	if (world->nb_heap == world->max_heap) {
		world->max_heap = world->max_heap ? 2 * world->max_heap : 256;
		world->heap = realloc(world->heap, world->max_heap * sizeof(*world->heap));
		if (!world->heap)
			abort();
	}
	at = world->nb_heap++;
	world->heap[at] = (struct happening){ .at_ns = at_ns, .order = world->order++ };
	while (at && is_before(&world->heap[at], &world->heap[(at - 1) / 2])) {
		const struct happening swap = world->heap[at];

		world->heap[at] = world->heap[(at - 1) / 2];
		world->heap[(at - 1) / 2] = swap;
		at = (at - 1) / 2;
	}
	return &world->heap[at];
}

struct happening
network_pop(struct world *world)
{
	const struct happening first = world->heap[0];
	uint32_t at = 0;

	world->heap[0] = world->heap[--world->nb_heap];
	for (;;) {
		uint32_t child = 2 * at + 1;
		struct happening swap;

		if (child >= world->nb_heap)
			break;
		if (child + 1 < world->nb_heap &&
		    is_before(&world->heap[child + 1], &world->heap[child]))
			child++;
		if (!is_before(&world->heap[child], &world->heap[at]))
			break;
		swap = world->heap[at];
		world->heap[at] = world->heap[child];
		world->heap[child] = swap;
		at = child;
	}
	return first;
}

void
world_plan(struct world *world, uint64_t delay_ns, enum happening_kind kind, uint32_t who)
{
	struct happening *happening = push_happening(world, world->now_ns + delay_ns);

	happening->kind = kind;
	happening->who = who;
}

static void
put_on_wire(struct world *world, uint8_t from, uint8_t to, uint8_t version, const uint8_t *mad)
{
	const uint64_t delay_ns =
		world->delay_ns + (world->jitter_ns ? rng_below(&world->rng, world->jitter_ns) : 0);
	struct happening *happening = push_happening(world, world->now_ns + delay_ns);

	happening->kind = HAPPENS_ARRIVAL;
	happening->who = to;
	happening->from = from;
	happening->version = version;
	memcpy(happening->mad, mad, UROCE_MAD_LEN);
}

/*
 * Add a forged message, which resembles a message of the sender's connection but has a wrong value:
 * a REQ with the QP of a connection and without an MTU, a DREQ of another QP, a REJ of another comm
 * id, or a REP with another TID.
 */
static void
forge_message(struct world *world, uint8_t from, uint8_t to, uint8_t version,
	      const struct uroce_cm_msg *msg)
{
	struct uroce_cm_msg forged = *msg;
	uint8_t mad[UROCE_MAD_LEN];

	if (msg->attr == UROCE_CM_REQ) {
		forged.req.local_comm_id ^= 0x5a5a5a5a;
		forged.req.mtu_code = 0;
	} else if (msg->attr == UROCE_CM_REP && rng_one_in(&world->rng, 3)) {
		forged.tid++;
		forged.rep.local_qpn ^= 1;
	} else if (msg->attr != UROCE_CM_REP && msg->attr != UROCE_CM_RTU &&
		   msg->attr != UROCE_CM_DREQ) {
		return;
	} else if (rng_one_in(&world->rng, 2)) {
		forged = (struct uroce_cm_msg){ .attr = UROCE_CM_REJ, .tid = 1 };
		forged.rej.local_comm_id = msg->rtu.local_comm_id + 1;
		forged.rej.remote_comm_id = msg->rtu.remote_comm_id;
		forged.rej.about = UROCE_CM_ABOUT_OTHER;
		forged.rej.reason = UROCE_CM_REASON_CONSUMER_DEFINED;
	} else {
		forged = (struct uroce_cm_msg){ .attr = UROCE_CM_DREQ, .tid = 1 };
		forged.dreq.local_comm_id = msg->rtu.local_comm_id;
		forged.dreq.remote_comm_id = msg->rtu.remote_comm_id;
		forged.dreq.remote_qpn = FORGED_QPN;
	}
	world->nb_forged++;
	uroce_cm_build(&forged, mad);
	put_on_wire(world, from, to, version, mad);
}

void
network_transmit(struct world *world, uint8_t from, uint8_t to, uint8_t version, const uint8_t *mad,
		 const struct uroce_cm_msg *msg)
{
	const bool is_away = from != to && world->now_ns >= world->outage_begin_ns &&
			     world->now_ns < world->outage_end_ns;
	const bool is_lost = is_away || (from != to && rng_chance(&world->rng, world->loss_ppm));
	/*
	 * In most messages, the first comm id is that of the sender, the second that of the
	 * receiver.
	 */
	be32 comm_ids[2];

	memcpy(comm_ids, mad + UROCE_MAD_HDR_LEN, sizeof(comm_ids));
	world->nb_messages++;
	if (world->is_traced)
		printf("%10" PRIu64 " us %u>%u %s %08x %08x%s\n", world->now_ns / 1000, from, to,
		       uroce_cm_attr_name(msg->attr), be32_get(comm_ids[0]), be32_get(comm_ids[1]),
		       is_lost ? " LOST" : "");
	if (is_lost) {
		ledger_note_loss(world, from, to, msg);
		return;
	}
	put_on_wire(world, from, to, version, mad);
	if (rng_chance(&world->rng, world->duplicate_ppm))
		put_on_wire(world, from, to, version, mad);
	if (!world->hosts[to].is_foreign && rng_chance(&world->rng, world->forge_ppm))
		forge_message(world, from, to, version, msg);
}
