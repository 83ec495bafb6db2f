/* SPDX-License-Identifier: BSD-3-Clause */

/* Two CM engines, A and B, and the wire between them. */

#include "ends.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

void
end_restart(struct end *end)
{
	free(end->mem);
	end->conf.secret[0]++;
	end->mem = aligned_alloc(64, (uroce_cme_memsize(&end->conf) + 63) / 64 * 64);
	assert_non_null(end->mem);
	end->cm = uroce_cme_init(end->mem, &end->conf);
}

static void
init_end(struct end *end, char name)
{
	*end = (struct end){
		.name = name,
		.conf = { .max_ids = 64, .max_backlog = 4, .ack_delay_code = 15 },
		.ip = { .ip_version = 4, .ip = { [12] = 192, [14] = 2, [15] = (uint8_t)name } },
		.gid = { [10] = 0xff, [11] = 0xff, [12] = 192, [14] = 2, [15] = (uint8_t)name },
	};
	end->conf.ca_guid.b[7] = (uint8_t)name;
	memset(end->conf.secret, name, sizeof(end->conf.secret));
	end_restart(end);
}

int
ends_setup(void **state)
{
	struct ends *ends = calloc(1, sizeof(*ends));

	assert_non_null(ends);
	init_end(&ends->a, 'A');
	init_end(&ends->b, 'B');
	*state = ends;
	return 0;
}

int
ends_teardown(void **state)
{
	struct ends *ends = *state;

	free(ends->a.mem);
	free(ends->b.mem);
	free(ends);
	return 0;
}

struct end *
ends_peer(struct ends *ends, const struct end *end)
{
	return end == &ends->a ? &ends->b : &ends->a;
}

bool
end_take(struct ends *ends, struct end *from, struct uroce_cm_msg *msg)
{
	struct end *to = ends_peer(ends, from);
	struct uroce_cm_tx tx;

	if (!uroce_cme_send(from->cm, &tx, 1, ends->now_ns))
		return false;
	assert_int_equal(uroce_cm_parse(tx.mad, msg), UROCE_CM_VERDICT_ACCEPTED);
	assert_memory_equal(tx.av.local_gid, from->gid, 16);
	assert_memory_equal(tx.av.remote_gid, to->gid, 16);
	ends->log_len +=
		(size_t)snprintf(ends->log + ends->log_len, sizeof(ends->log) - ends->log_len,
				 "%" PRIu64 " %c>%c %s", ends->now_ns / MSEC, from->name, to->name,
				 uroce_cm_attr_name(msg->attr));
	if (msg->attr == UROCE_CM_REJ)
		ends->log_len +=
			(size_t)snprintf(ends->log + ends->log_len,
					 sizeof(ends->log) - ends->log_len, " %u", msg->rej.reason);
	ends->log_len += (size_t)snprintf(ends->log + ends->log_len,
					  sizeof(ends->log) - ends->log_len, "\n");
	assert_true(ends->log_len < sizeof(ends->log));
	ends->last = *msg;
	return true;
}

void
end_give(struct ends *ends, struct end *to, const struct uroce_cm_msg *msg)
{
	struct end *from = ends_peer(ends, to);
	struct uroce_cm_av av = { 0 };

	memcpy(av.local_gid, to->gid, 16);
	memcpy(av.remote_gid, from->gid, 16);
	uroce_cme_recv(to->cm, msg, &av, ends->now_ns);
}

void
ends_move(struct ends *ends, struct end *from, enum uroce_cm_attr attr)
{
	struct uroce_cm_msg msg;

	assert_true(end_take(ends, from, &msg));
	assert_int_equal(msg.attr, attr);
	end_give(ends, ends_peer(ends, from), &msg);
}

static void
mark_lost(struct ends *ends)
{
	ends->log_len--;
	ends->log_len += (size_t)snprintf(ends->log + ends->log_len,
					  sizeof(ends->log) - ends->log_len, " LOST\n");
}

void
ends_lose(struct ends *ends, struct end *from, enum uroce_cm_attr attr)
{
	struct uroce_cm_msg msg;

	assert_true(end_take(ends, from, &msg));
	assert_int_equal(msg.attr, attr);
	mark_lost(ends);
}

/* Deliver all messages, except that those sent by `deaf` are lost. */
static void
settle_deaf(struct ends *ends, const struct end *deaf)
{
	struct uroce_cm_msg msg;
	bool is_moving = true;

	while (is_moving) {
		is_moving = false;
		for (unsigned i = 0; i < 2; i++) {
			struct end *from = i ? &ends->b : &ends->a;

			if (!end_take(ends, from, &msg))
				continue;
			is_moving = true;
			if (from == deaf)
				mark_lost(ends);
			else
				end_give(ends, ends_peer(ends, from), &msg);
		}
	}
}

void
ends_settle(struct ends *ends)
{
	settle_deaf(ends, NULL);
}

void
ends_pass_deaf(struct ends *ends, uint64_t ns, const struct end *from)
{
	const uint64_t end_ns = ends->now_ns + ns;

	settle_deaf(ends, from);
	for (;;) {
		const uint64_t a_ns = uroce_cme_deadline(ends->a.cm);
		const uint64_t b_ns = uroce_cme_deadline(ends->b.cm);
		const uint64_t next_ns = a_ns < b_ns ? a_ns : b_ns;

		if (next_ns > end_ns)
			break;
		assert_true(next_ns >= ends->now_ns);
		ends->now_ns = next_ns;
		uroce_cme_expire(ends->a.cm, next_ns);
		uroce_cme_expire(ends->b.cm, next_ns);
		settle_deaf(ends, from);
	}
	ends->now_ns = end_ns;
}

void
ends_pass(struct ends *ends, uint64_t ns)
{
	ends_pass_deaf(ends, ns, NULL);
}

void
expect_log(struct ends *ends, const char *expected)
{
	ends->log[ends->log_len] = 0;
	assert_string_equal(ends->log, expected);
	ends->log_len = 0;
}

struct uroce_cm_event
expect_event(struct end *end, enum uroce_cm_event_kind kind, uint32_t id)
{
	struct uroce_cm_event event;

	assert_true(uroce_cme_next_event(end->cm, &event));
	assert_int_equal(event.kind, kind);
	if (id != UROCE_CM_NO_ID)
		assert_int_equal(event.id, id);
	return event;
}

void
expect_no_event(struct end *end)
{
	struct uroce_cm_event event;

	assert_false(uroce_cme_next_event(end->cm, &event));
}

void
expect_state(struct end *end, uint32_t id, enum uroce_cm_state state)
{
	struct uroce_cm_info info;

	uroce_cme_query(end->cm, id, &info);
	assert_string_equal(uroce_cm_state_name(info.state), uroce_cm_state_name(state));
}

uint32_t
end_listen(struct end *end, uint16_t port)
{
	struct uroce_cm_addr addr = end->ip;
	uint32_t id;

	addr.port = port;
	assert_int_equal(uroce_cme_create(end->cm, UROCE_CM_PS_TCP, false, port, &id), 0);
	assert_int_equal(uroce_cme_bind(end->cm, id, &addr, false, false), 0);
	assert_int_equal(uroce_cme_listen(end->cm, id, 0), 0);
	return id;
}

uint32_t
end_connect(struct ends *ends, struct end *from, uint32_t qpn)
{
	const struct end *to = ends_peer(ends, from);
	struct uroce_cm_addr remote = to->ip;
	struct uroce_cm_av av = { .hop_limit = 64, .flow_label = 0x12345 };
	const struct uroce_cm_param param = {
		.qpn = qpn,
		.responder_resources = 3,
		.initiator_depth = 2,
		.retry_count = 6,
		.rnr_retry_count = 7,
		.mtu_code = 3,
		.private_len = 4,
		.private_data = "ping",
	};
	uint32_t id;

	remote.port = PORT;
	memcpy(av.local_gid, from->gid, 16);
	memcpy(av.remote_gid, to->gid, 16);
	assert_int_equal(uroce_cme_create(from->cm, UROCE_CM_PS_TCP, false, qpn, &id), 0);
	assert_int_equal(uroce_cme_bind(from->cm, id, &from->ip, false, false), 0);
	assert_int_equal(uroce_cme_connect(from->cm, id, &remote, &av, &param, ends->now_ns), 0);
	return id;
}

void
end_accept(struct ends *ends, struct end *end, uint32_t id, uint32_t qpn)
{
	const struct uroce_cm_param param = {
		.qpn = qpn,
		.responder_resources = 2,
		.initiator_depth = 1,
		.rnr_retry_count = 5,
		.private_len = 4,
		.private_data = "pong",
	};

	assert_int_equal(uroce_cme_accept(end->cm, id, &param, ends->now_ns), 0);
}

void
ends_accept(struct ends *ends, uint32_t *a, uint32_t *b)
{
	(void)end_listen(&ends->b, PORT);
	*a = end_connect(ends, &ends->a, 0x11);
	ends_settle(ends);
	*b = expect_event(&ends->b, UROCE_CM_EVENT_CONNECT_REQUEST, UROCE_CM_NO_ID).id;
	end_accept(ends, &ends->b, *b, 0x22);
	ends_settle(ends);
}

struct connected
ends_connect(struct ends *ends, uint32_t qpn_a, uint32_t qpn_b)
{
	struct connected ids = { .listener = end_listen(&ends->b, PORT) };

	ids.a = end_connect(ends, &ends->a, qpn_a);
	ends_settle(ends);
	ids.b = expect_event(&ends->b, UROCE_CM_EVENT_CONNECT_REQUEST, UROCE_CM_NO_ID).id;
	end_accept(ends, &ends->b, ids.b, qpn_b);
	ends_settle(ends);
	(void)expect_event(&ends->a, UROCE_CM_EVENT_CONNECT_RESPONSE, ids.a);
	assert_int_equal(uroce_cme_establish(ends->a.cm, ids.a, NULL, 0, ends->now_ns), 0);
	ends_settle(ends);
	(void)expect_event(&ends->b, UROCE_CM_EVENT_ESTABLISHED, ids.b);
	ends->log_len = 0;
	return ids;
}
