/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Two CM engines. The input is a sequence of steps: calls of the users, steps in time, and
 * deliveries of messages, which may be lost, repeated, delayed or changed. The test checks rules
 * that are true for any order of steps: no event occurs twice, no event follows the destruction of
 * an id, the engine does not repeat a message for ever, and no id remains in the end.
 */

#include "bytes.h"

#include "cm/cm.h"
#include "cm/service_id.h"
#include "cm/state.h"

#define NB_IDS   24
#define NB_WIRE  64
#define MSEC     UINT64_C(1000000)
#define NB_PORTS 2

struct end {
	struct uroce_cm *cm;
	void *mem;
	uint8_t gid[16];
	struct uroce_cm_addr ip;
	struct {
		bool is_owned;
		bool is_datagram;
		uint16_t events;
	} ids[NB_IDS];
};

struct flight {
	uint8_t to;
	uint8_t mad[UROCE_MAD_LEN];
};

struct duel {
	struct end ends[2];
	struct flight wire[NB_WIRE];
	unsigned nb_wire;
	uint64_t now_ns;
};

static void
start_end(struct end *end, uint8_t number)
{
	struct uroce_cm_conf conf = { .max_ids = NB_IDS, .max_backlog = 3, .ack_delay_code = 15 };

	conf.secret[0] = number;
	conf.ca_guid.b[0] = number;
	free(end->mem);
	*end = (struct end){
		.mem = malloc(uroce_cme_memsize(&conf)),
		.gid = { [10] = 0xff, [11] = 0xff, [15] = number },
		.ip = { .ip_version = 4, .ip = { [15] = number } },
	};
	expect(end->mem);
	end->cm = uroce_cme_init(end->mem, &conf);
}

static void
check_event(struct end *end, const struct uroce_cm_event *event)
{
	const uint16_t bit = (uint16_t)(1u << event->kind);
	struct uroce_cm_info info;

	expect(event->id < NB_IDS);
	if (event->kind == UROCE_CM_EVENT_CONNECT_REQUEST) {
		expect(!end->ids[event->id].is_owned);
		expect(end->ids[event->listener].is_owned);
		end->ids[event->id].is_owned = true;
		end->ids[event->id].events = 0;
	}
	expect(end->ids[event->id].is_owned);
	expect(!(end->ids[event->id].events & bit));
	expect(end->ids[event->id].events < 2 * bit);
	end->ids[event->id].events |= bit;
	uroce_cme_query(end->cm, event->id, &info);
	end->ids[event->id].is_datagram = info.is_datagram;
}

static void
take_all(struct duel *duel, unsigned who)
{
	struct end *end = &duel->ends[who];
	struct uroce_cm_event event;
	struct uroce_cm_tx tx;
	unsigned nb_sent = 0;

	while (uroce_cme_next_event(end->cm, &event))
		check_event(end, &event);
	while (uroce_cme_send(end->cm, &tx, 1, duel->now_ns)) {
		struct uroce_cm_msg msg;

		/*
		 * Each id has at most one message to send. The engine may also send replies that
		 * belong to no id.
		 */
		expect(++nb_sent <= NB_IDS + 256);
		expect(uroce_cm_parse(tx.mad, &msg) == UROCE_CM_VERDICT_ACCEPTED);
		if (duel->nb_wire == NB_WIRE)
			continue;
		duel->wire[duel->nb_wire].to =
			!memcmp(tx.av.remote_gid, duel->ends[0].gid, 16) ? 0 : 1;
		memcpy(duel->wire[duel->nb_wire++].mad, tx.mad, UROCE_MAD_LEN);
	}
	expect(!uroce_cme_has_tx(end->cm));
}

/*
 * Deliver a message of the wire. The input decides whether the message is changed, and whether it
 * stays on the wire for another delivery.
 */
static void
deliver_one(struct duel *duel, struct bytes *bytes)
{
	const uint8_t choice = bytes_u8(bytes);
	const uint8_t how = bytes_u8(bytes);
	struct flight flight;
	struct uroce_cm_av av = { 0 };
	struct uroce_cm_msg msg;
	unsigned at;

	if (!duel->nb_wire)
		return;
	at = choice % duel->nb_wire;
	flight = duel->wire[at];
	if (!(how & 1))
		duel->wire[at] = duel->wire[--duel->nb_wire];
	if (how & 2)
		flight.mad[bytes_u8(bytes)] ^= bytes_u8(bytes);
	if (how & 4) /* replace the attribute of the MAD */
		flight.mad[17] = (uint8_t)(UROCE_CM_REQ + bytes_u8(bytes) % 11);
	memcpy(av.local_gid, duel->ends[flight.to].gid, 16);
	/* The message comes from the other end, or from the host that receives it. */
	memcpy(av.remote_gid, duel->ends[how & 8 ? flight.to : !flight.to].gid, 16);
	if (uroce_cm_parse(flight.mad, &msg) == UROCE_CM_VERDICT_ACCEPTED)
		uroce_cme_recv(duel->ends[flight.to].cm, &msg, &av, duel->now_ns);
}

/* Draw the parameters of a call, and its private data. */
static struct uroce_cm_param
take_param(struct bytes *bytes, uint8_t *data)
{
	memset(data, bytes_u8(bytes), 255);
	return (struct uroce_cm_param){
		.qpn = bytes_u8(bytes) % 8,
		.transport = bytes_u8(bytes) % 4,
		.mtu_code = 3,
		.private_data = data,
		.private_len = bytes_u8(bytes),
	};
}

static void
create_one(struct duel *duel, struct bytes *bytes, unsigned who)
{
	struct end *end = &duel->ends[who];
	const uint8_t how = bytes_u8(bytes);
	const bool is_datagram = how & 1;
	struct uroce_cm_addr addr = end->ip;
	uint32_t id;

	if (uroce_cme_create(end->cm, is_datagram ? UROCE_CM_PS_UDP : UROCE_CM_PS_TCP, is_datagram,
			     how, &id))
		return;
	expect(id < NB_IDS && !end->ids[id].is_owned);
	end->ids[id].is_owned = true;
	end->ids[id].is_datagram = is_datagram;
	end->ids[id].events = 0;
	if (how & 2)
		addr.port = 1000 + (how >> 2) % NB_PORTS;
	if (!uroce_cme_bind(end->cm, id, &addr, how & 8, how & 16) && how & 2)
		(void)uroce_cme_listen(end->cm, id, how >> 6);
}

static void
call_one(struct duel *duel, struct bytes *bytes, unsigned who)
{
	struct end *end = &duel->ends[who];
	const uint8_t how = bytes_u8(bytes);
	const uint32_t id = bytes_u8(bytes) % NB_IDS;
	const unsigned peer = how & 0x80 ? who : !who;
	struct uroce_cm_addr remote = duel->ends[peer].ip;
	struct uroce_cm_av av = { .hop_limit = 64 };
	uint8_t data[255];
	struct uroce_cm_param param;
	uint64_t now_ns = duel->now_ns;

	if (!end->ids[id].is_owned)
		return;
	param = take_param(bytes, data);
	remote.port = 1000 + bytes_u8(bytes) % (NB_PORTS + 1);
	memcpy(av.local_gid, end->gid, 16);
	memcpy(av.remote_gid, duel->ends[peer].gid, 16);
	switch (how % 7) {
	case 0:
	case 1:
		(void)uroce_cme_connect(end->cm, id, &remote, &av, &param, now_ns);
		break;
	case 2:
		(void)uroce_cme_accept(end->cm, id, &param, now_ns);
		break;
	case 3:
		(void)uroce_cme_reject(end->cm, id, how, data, param.private_len, now_ns);
		break;
	case 4:
		(void)uroce_cme_establish(end->cm, id, data, param.private_len, now_ns);
		break;
	case 5:
		(void)uroce_cme_disconnect(end->cm, id, data, param.private_len, now_ns);
		break;
	case 6:
		end->ids[id].is_owned = false;
		uroce_cme_destroy(end->cm, id, now_ns);
		break;
	}
}

static void
pass_time(struct duel *duel, uint64_t ns)
{
	duel->now_ns += ns;
	for (unsigned who = 0; who < 2; who++) {
		uroce_cme_expire(duel->ends[who].cm, duel->now_ns);
		expect(uroce_cme_deadline(duel->ends[who].cm) > duel->now_ns);
	}
}

static void
take_step(struct duel *duel, struct bytes *bytes)
{
	const uint8_t step = bytes_u8(bytes);
	const unsigned who = step >> 7;

	switch (step % 8) {
	case 0:
		create_one(duel, bytes, who);
		break;
	case 1:
	case 2:
	case 3:
		call_one(duel, bytes, who);
		break;
	case 4:
		pass_time(duel, bytes_u8(bytes) * MSEC);
		break;
	case 5:
		pass_time(duel, bytes_u8(bytes) * 1000 * MSEC);
		break;
	case 6:
	case 7:
		deliver_one(duel, bytes);
		break;
	}
	/* If bit 6 of the step is set, the events and messages stay in the engines. */
	if (!(step & 0x40)) {
		take_all(duel, 0);
		take_all(duel, 1);
	}
}

/*
 * Destroy all ids of an end, and let all timers expire without a reply of the peer. Then no id and
 * no event may remain.
 */
static void
end_duel(struct duel *duel, unsigned who)
{
	struct end *end = &duel->ends[who];
	struct uroce_cm_event event;
	unsigned nb_expired = 0;
	uint32_t nb = 0;
	uint32_t id;

	take_all(duel, who);
	for (id = 0; id < NB_IDS; id++)
		if (end->ids[id].is_owned)
			uroce_cme_destroy(end->cm, id, duel->now_ns);
	memset(end->ids, 0, sizeof(end->ids));
	take_all(duel, who);
	while (uroce_cme_deadline(end->cm) != UROCE_CM_NEVER) {
		expect(++nb_expired < 1000);
		duel->now_ns = uroce_cme_deadline(end->cm);
		uroce_cme_expire(end->cm, duel->now_ns);
		take_all(duel, who);
	}
	expect(!uroce_cme_next_event(end->cm, &event));
	for (uint32_t qpn = 0; qpn < 8; qpn++)
		expect(!uroce_cme_qpn_busy_until(end->cm, qpn));
	while (!uroce_cme_create(end->cm, UROCE_CM_PS_TCP, false, 0, &id))
		nb++;
	expect(nb == NB_IDS);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct duel duel;
	struct bytes bytes = { data, len };

	duel.nb_wire = 0;
	duel.now_ns = 0;
	start_end(&duel.ends[0], 1);
	start_end(&duel.ends[1], 2);
	while (bytes.left)
		take_step(&duel, &bytes);
	end_duel(&duel, 0);
	end_duel(&duel, 1);
	return 0;
}
