/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The server of the connection manager, over an engine without a device: what clients may request,
 * and what remains of a client that ends. cm_limits.c tests the limits, and cm_random.c sends
 * random requests.
 */

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "cm/ip_header.h"
#include "cm/reason.h"
#include "cm/service_id.h"
#include "cm/timeout.h"
#include "cm_rig.h"
#include "send_fd.h"

static void
clients__connect_to_each_other(void **state)
{
	struct uroce_mux_cm_request disconnect = { .type = UROCE_MUX_CM_DISCONNECT };
	uint32_t id, anns, bobs;

	(void)state;
	id = program_listen_at(&bob, PORT);
	rig_establish(&anns, &bobs);
	assert_int_equal(program_request_id(&ann, UROCE_MUX_CM_QUERY, anns), 0);
	assert_int_equal(ann.reply.info.remote_qpn, PROGRAM_QPN(&bob));
	assert_int_equal(ann.reply.info.user, 77);
	assert_int_equal(program_request_id(&bob, UROCE_MUX_CM_QUERY, bobs), 0);
	assert_int_equal(bob.reply.info.remote_qpn, PROGRAM_QPN(&ann));
	disconnect.id = anns;
	assert_int_equal(program_ask(&ann, &disconnect), 0);
	assert_int_equal(program_expect_event(&bob, UROCE_CM_EVENT_DISCONNECTED), bobs);
	assert_int_equal(program_request_id(&bob, UROCE_MUX_CM_DESTROY, bobs), 0);
	assert_int_equal(program_request_id(&bob, UROCE_MUX_CM_DESTROY, id), 0);
	assert_int_equal(program_request_id(&bob, UROCE_MUX_CM_DESTROY, id), -EINVAL);
}

/*
 * An id in TIMEWAIT outlives its client, and counts for the user, so the ACK timeout that
 * determines its time is limited.
 */
static void
ack_timeout__of_a_client_is_limited(void **state)
{
	struct uroce_mux_cm_request request;
	uint32_t anns, bobs;

	(void)state;
	(void)program_listen_at(&bob, PORT);
	assert_int_equal(program_create(&ann, &anns), 0);
	assert_int_equal(program_bind_to(&ann, anns, 1, 0), 0);
	ann.nb_qps++;
	program_fill_connect(&ann, &request, anns);
	request.connect.param.ack_timeout_code = UROCE_CM_TIMEOUT_CODE_MAX;
	assert_int_equal(program_ask(&ann, &request), 0);
	assert_int_equal(program_request_id(&ann, UROCE_MUX_CM_QUERY, anns), 0);
	assert_int_equal(ann.reply.info.ack_timeout_code, UROCE_CM_PEER_TIMEOUT_CODE_MAX);
	bobs = program_expect_event(&bob, UROCE_CM_EVENT_CONNECT_REQUEST);
	assert_int_equal(program_accept_id(&bob, bobs), 0);
	(void)program_expect_event(&ann, UROCE_CM_EVENT_CONNECT_RESPONSE);
	assert_int_equal(program_request_id(&ann, UROCE_MUX_CM_ESTABLISH, anns), 0);
	request = (struct uroce_mux_cm_request){ .type = UROCE_MUX_CM_DISCONNECT, .id = anns };
	assert_int_equal(program_ask(&ann, &request), 0);
	program_hang_up(&ann);
	program_hang_up(&bob);
	rig_settle();
	assert_int_not_equal(cm_engine_nb_open(&engine), 0);
	cm_engine_pass(&engine, 120 * SEC);
	assert_int_equal(cm_engine_nb_open(&engine), 0);
}

static void
event__brings_the_private_data(void **state)
{
	(void)state;
	(void)program_listen_at(&bob, PORT);
	(void)program_connect_id(&ann);
	(void)program_expect_event(&bob, UROCE_CM_EVENT_CONNECT_REQUEST);
	assert_memory_equal(bob.reply.event.private_data, "abc", 3);
	assert_int_equal(bob.reply.event.user, 77);
}

/*
 * Events stay in the engine until the client takes them. So one message EVENTS is enough for
 * several events, and the server needs no memory for events.
 */
static void
events__are_announced_once(void **state)
{
	(void)state;
	(void)program_listen_at(&bob, PORT);
	for (unsigned i = 0; i < 10; i++)
		(void)program_connect_id(&ann);
	rig_settle();
	for (unsigned i = 0; i < 10; i++)
		(void)program_expect_event(&bob, UROCE_CM_EVENT_CONNECT_REQUEST);
	assert_in_range(bob.nb_notices, 1, 10);
	program_expect_no_event(&bob);
	bob.nb_notices = 0;
	rig_settle();
	program_expect_no_event(&bob);
	assert_int_equal(bob.nb_notices, 0);
}

static void
hello__is_first_once_and_of_this_version(void **state)
{
	struct uroce_mux_cm_request hello = {
		.type = UROCE_MUX_CM_HELLO,
		.hello = { .version = UROCE_MUX_CM_VERSION + 1 },
	};
	struct uroce_mux_cm_request next = { .type = UROCE_MUX_CM_NEXT_EVENT };
	struct program eve;

	(void)state;
	program_connect_as(&eve, geteuid());
	program_send_request(&eve, &hello);
	program_expect_refusal(&eve, "another version");
	program_connect_as(&eve, geteuid());
	program_send_request(&eve, &next);
	program_expect_refusal(&eve, "before HELLO");
	hello.hello.version = UROCE_MUX_CM_VERSION;
	program_send_request(&ann, &hello);
	program_expect_refusal(&ann, "second HELLO");
}

static void
message__of_wrong_length_is_refused(void **state)
{
	static uint8_t bytes[4096];
	struct program eve;

	(void)state;
	for (uint32_t type = 0; type < UROCE_MUX_CM_NB_TYPES + 2; type++) {
		const size_t size = uroce_mux_cm_request_size(type);
		const size_t lens[] = { 1, 3, 4, size - 1, size + 1, sizeof(bytes) };

		memcpy(bytes, &type, sizeof(type));
		for (unsigned i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
			if (lens[i] > sizeof(bytes) || lens[i] == 0)
				continue;
			program_connect_as(&eve, geteuid());
			program_send_bytes(&eve, bytes, lens[i]);
			program_expect_refusal(&eve, "");
		}
	}
	/* messages of wrong length do not affect other clients */
	program_expect_no_event(&ann);
}

/* The server treats a message without bytes as the end of the connection. */
static void
message__without_bytes_is_an_end(void **state)
{
	(void)state;
	program_send_bytes(&ann, "", 0);
	assert_int_equal(program_receive(&ann), 0);
	program_expect_no_event(&bob);
}

static void
id__of_another_client_is_refused(void **state)
{
	static const enum uroce_mux_cm_type types[] = {
		UROCE_MUX_CM_LISTEN,     UROCE_MUX_CM_REJECT,  UROCE_MUX_CM_ESTABLISH,
		UROCE_MUX_CM_DISCONNECT, UROCE_MUX_CM_DESTROY, UROCE_MUX_CM_SET_USER,
		UROCE_MUX_CM_QUERY,
	};
	struct uroce_mux_cm_request request;
	uint32_t id, anns, bobs;

	(void)state;
	id = program_listen_at(&bob, PORT);
	rig_establish(&anns, &bobs);
	for (unsigned i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		assert_int_equal(program_request_id(&ann, types[i], id), -EINVAL);
		assert_int_equal(program_request_id(&ann, types[i], bobs), -EINVAL);
		assert_int_equal(program_request_id(&ann, types[i], ENGINE_IDS), -EINVAL);
		assert_int_equal(program_request_id(&ann, types[i], UINT32_MAX), -EINVAL);
		assert_int_equal(program_request_id(&ann, types[i], ENGINE_IDS - 1), -EINVAL);
	}
	assert_int_equal(program_bind_to(&ann, id, 1, PORT + 1), -EINVAL);
	assert_int_equal(program_accept_id(&ann, bobs), -EINVAL);
	program_fill_connect(&ann, &request, bobs);
	assert_int_equal(program_ask(&ann, &request), -EINVAL);
	assert_int_equal(program_request_id(&bob, UROCE_MUX_CM_QUERY, bobs), 0);
}

static void
qpn__needs_its_lease(void **state)
{
	struct uroce_mux_cm_request request, busy = { .type = UROCE_MUX_CM_QPN_BUSY };
	uint32_t id;

	(void)state;
	(void)program_listen_at(&bob, PORT);
	assert_int_equal(program_create(&ann, &id), 0);
	assert_int_equal(program_bind_to(&ann, id, 1, 0), 0);
	/* ann may not use the QP of bob, QP 1 or QP 0 */
	program_fill_connect(&ann, &request, id);
	request.connect.param.qpn = PROGRAM_QPN(&bob);
	assert_int_equal(program_ask(&ann, &request), -EPERM);
	request.connect.param.qpn = 1;
	assert_int_equal(program_ask(&ann, &request), -EPERM);
	request.connect.param.qpn = 0;
	assert_int_equal(program_ask(&ann, &request), -EPERM);
	program_fill_connect(&ann, &request, id);
	request.connect.param.token++;
	assert_int_equal(program_ask(&ann, &request), -EPERM);
	busy.qpn_busy.qpn = PROGRAM_QPN(&bob);
	busy.qpn_busy.token = ann.token;
	assert_int_equal(program_ask(&ann, &busy), -EPERM);
	/* the refused requests have changed nothing: the same id can still connect */
	program_fill_connect(&ann, &request, id);
	assert_int_equal(program_ask(&ann, &request), 0);
	id = program_expect_event(&bob, UROCE_CM_EVENT_CONNECT_REQUEST);
	bob.token++;
	assert_int_equal(program_accept_id(&bob, id), -EPERM);
	bob.token--;
	assert_int_equal(program_accept_id(&bob, id), 0);
	busy.qpn_busy.qpn = PROGRAM_QPN(&ann);
	assert_int_equal(program_ask(&ann, &busy), 0);
	assert_true(ann.reply.busy_ns == UROCE_CM_NEVER);
}

/* The token of a lease does not help another user. */
static void
qpn__needs_its_user(void **state)
{
	struct uroce_mux_cm_request request;
	struct program eve;
	uint32_t id;

	(void)state;
	if (geteuid() != 0) {
		print_message("# another user needs root\n");
		skip();
	}
	program_open_as(&eve, OTHER_UID, 30);
	assert_int_equal(program_create(&eve, &id), 0);
	assert_int_equal(program_bind_to(&eve, id, 1, 0), 0);
	program_fill_connect(&ann, &request, id);
	assert_int_equal(program_ask(&eve, &request), -EPERM);
	program_fill_connect(&eve, &request, id);
	assert_int_equal(program_ask(&eve, &request), 0);
	program_hang_up(&eve);
}

static void
address__is_of_this_host(void **state)
{
	struct uroce_mux_cm_request request;
	uint32_t id;

	(void)state;
	assert_int_equal(program_create(&ann, &id), 0);
	assert_int_equal(program_bind_to(&ann, id, 2, PORT), -EADDRNOTAVAIL);
	assert_int_equal(program_bind_to(&ann, id, 1, 0), 0);
	program_fill_connect(&ann, &request, id);
	request.connect.av.local_gid[15] = 2;
	assert_int_equal(program_ask(&ann, &request), -EADDRNOTAVAIL);
	/* the GID of the peer may be that of any host, but not of a multicast group */
	request.connect.av.local_gid[15] = 1;
	request.connect.av.remote_gid[12] = 224;
	program_send_request(&ann, &request);
	program_expect_refusal(&ann, "unicast");
}

static void
port__below_1024_is_for_root(void **state)
{
	struct program eve;
	uint32_t id;

	(void)state;
	if (geteuid() != 0) {
		print_message("# another user needs root\n");
		skip();
	}
	program_open_as(&eve, OTHER_UID, 30);
	assert_int_equal(program_create(&eve, &id), 0);
	assert_int_equal(program_bind_to(&eve, id, 1, 1023), -EACCES);
	assert_int_equal(program_bind_to(&eve, id, 1, 1024), 0);
	assert_int_equal(program_create(&ann, &id), 0);
	assert_int_equal(program_bind_to(&ann, id, 1, 1023), 0);
	program_hang_up(&eve);
}

struct mutation {
	enum uroce_mux_cm_type type;
	size_t at;
	uint8_t value;
};

#define MUTATION_AT(type, member, byte, value)                                                     \
	{                                                                                          \
		UROCE_MUX_CM_##type, offsetof(struct uroce_mux_cm_request, member) + (byte), value \
	}
#define MUTATION(type, member, value) MUTATION_AT(type, member, 0, value)

/*
 * A client that sends no IP header cannot write one into its private data: a listener would see a
 * connection from a port that the client does not have.
 */
static void
port__is_not_forged_by_private_data(void **state)
{
	static const uint8_t header[UROCE_CM_IP_LEN] = {
		[1] = 4 << 4, [3] = 111, [4 + 12] = 192, 0, 2, 1, [20 + 12] = 192, 0, 2, 1,
	};
	static const uint16_t spaces[] = { UROCE_CM_PS_TCP, UROCE_CM_PS_UDP, UROCE_CM_PS_IPOIB,
					   UROCE_CM_PS_IB };
	struct uroce_mux_cm_request request;

	(void)state;
	(void)program_listen_at(&bob, PORT);
	for (unsigned i = 0; i < 8; i++) {
		struct uroce_mux_cm_request create = {
			.type = UROCE_MUX_CM_CREATE,
			.create = { .space = spaces[i / 2], .is_datagram = i % 2 },
		};

		assert_int_equal(program_ask(&ann, &create), 0);
		program_fill_connect(&ann, &request, ann.reply.id);
		request.connect.remote = (struct uroce_mux_cm_addr){ .port = PORT };
		request.connect.private_data.len = sizeof(header);
		memcpy(request.connect.private_data.bytes, header, sizeof(header));
		assert_int_equal(program_ask(&ann, &request), -EINVAL);
	}
	program_expect_no_event(&bob);
}

/* Each row changes one byte of a valid request to a value that is refused. */
static void
field__out_of_range_is_refused(void **state)
{
	static const struct mutation mutations[] = {
		MUTATION(HELLO, hello.reserved, 1),
		MUTATION(CREATE, create.space, 0),
		MUTATION(CREATE, create.is_datagram, 2),
		MUTATION(CREATE, create.reserved[4], 1),
		MUTATION(BIND, bind.addr.ip_version, 5),
		MUTATION(BIND, bind.addr.reserved, 1),
		MUTATION(BIND, bind.addr.ip[0], 1),
		MUTATION(BIND, bind.is_v6only, 2),
		MUTATION(BIND, bind.is_shared, 0xff),
		MUTATION(BIND, bind.reserved, 1),
		MUTATION(LISTEN, listen.reserved, 1),
		MUTATION(CONNECT, connect.remote.ip_version, 1),
		MUTATION(CONNECT, connect.av.reserved, 1),
		MUTATION_AT(CONNECT, connect.av.flow_label, 3, 1),
		MUTATION(CONNECT, connect.av.remote_gid[12], 239),
		MUTATION_AT(CONNECT, connect.param.qpn, 3, 1),
		MUTATION(CONNECT, connect.param.transport, UROCE_CM_TRANSPORT_RD),
		MUTATION(CONNECT, connect.param.transport, 4),
		MUTATION(CONNECT, connect.param.is_xrc_target, 2),
		MUTATION(CONNECT, connect.param.has_flow_control, 2),
		MUTATION(CONNECT, connect.param.has_srq, 2),
		MUTATION(CONNECT, connect.param.retry_count, 8),
		MUTATION(CONNECT, connect.param.rnr_retry_count, 8),
		MUTATION(CONNECT, connect.param.mtu_code, 6),
		MUTATION(CONNECT, connect.param.ack_timeout_code, 32),
		MUTATION(CONNECT, connect.param.reserved[3], 1),
		MUTATION(CONNECT, connect.private_data.len, UROCE_MUX_CM_PRIVATE_MAX + 1),
		MUTATION(CONNECT, connect.private_data.reserved[6], 1),
		MUTATION(ACCEPT, accept.param.has_srq, 2),
		MUTATION(ACCEPT, accept.private_data.len, 0xff),
		MUTATION(REJECT, reject.reserved[5], 1),
		MUTATION(REJECT, reject.private_data.len, 225),
		MUTATION(ESTABLISH, establish.private_data.len, 225),
		MUTATION(DISCONNECT, disconnect.private_data.reserved[0], 1),
		MUTATION(QPN_BUSY, qpn_busy.reserved, 1),
		MUTATION_AT(QPN_BUSY, qpn_busy.qpn, 3, 1),
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(mutations) / sizeof(mutations[0]); i++) {
		const struct mutation *mutation = &mutations[i];
		struct uroce_mux_cm_request request = { .type = mutation->type };
		const size_t size = uroce_mux_cm_request_size(mutation->type);

		if (mutation->type == UROCE_MUX_CM_CONNECT)
			program_fill_connect(&ann, &request, 0);
		if (mutation->type == UROCE_MUX_CM_CREATE)
			request.create.space = UROCE_CM_PS_TCP;
		if (mutation->type == UROCE_MUX_CM_BIND)
			request.bind.addr = program_addr(1, PORT);
		assert_null(uroce_mux_cm_check(&request, size));
		((uint8_t *)&request)[mutation->at] = mutation->value;
		if (!uroce_mux_cm_check(&request, size))
			fail_msg("mutation %u is accepted", i);
	}
}

static void
client__that_dies_leaves_nothing(void **state)
{
	uint32_t anns, bobs;

	(void)state;
	/*
	 * bob ends while he has a connection, a request that he has received and not answered, and
	 * a request that he has not received
	 */
	(void)program_listen_at(&bob, PORT);
	rig_establish(&anns, &bobs);
	(void)program_connect_id(&ann);
	(void)program_expect_event(&bob, UROCE_CM_EVENT_CONNECT_REQUEST);
	(void)program_connect_id(&ann);
	program_hang_up(&bob);
	rig_settle();
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(program_request_id(&ann, UROCE_MUX_CM_NEXT_EVENT, 0), 1);
		assert_int_equal(ann.reply.event.kind, ann.reply.event.id == anns
							       ? UROCE_CM_EVENT_DISCONNECTED
							       : UROCE_CM_EVENT_REJECTED);
	}
	program_expect_no_event(&ann);
	/* the port of bob is free at once */
	(void)program_listen_at(&ann, PORT);
}

static void
client__that_dies_while_it_connects(void **state)
{
	uint32_t id;

	(void)state;
	(void)program_listen_at(&bob, PORT);
	(void)program_connect_id(&ann);
	id = program_expect_event(&bob, UROCE_CM_EVENT_CONNECT_REQUEST);
	program_hang_up(&ann);
	rig_settle();
	assert_int_equal(program_expect_event(&bob, UROCE_CM_EVENT_REJECTED), id);
	/* let ann end again, this time after bob has accepted her request */
	program_open_as(&ann, geteuid(), 10);
	(void)program_connect_id(&ann);
	id = program_expect_event(&bob, UROCE_CM_EVENT_CONNECT_REQUEST);
	assert_int_equal(program_accept_id(&bob, id), 0);
	program_hang_up(&ann);
	rig_settle();
	cm_engine_pass(&engine, SEC);
	assert_int_equal(program_expect_event(&bob, UROCE_CM_EVENT_REJECTED), id);
}

/*
 * In one round, the server finds out that bob has left when it sends him a notice, accepts a
 * client, and gets the hang-up of bob, which must not end the new client.
 */
static void
client__that_leaves_does_not_end_its_successor(void **state)
{
	struct program next;

	(void)state;
	(void)program_listen_at(&bob, PORT);
	rig_settle();
	(void)program_connect_id(&ann);
	program_connect_as(&next, geteuid());
	program_hang_up(&bob);
	assert_int_equal(program_say_hello(&next), 0);
	program_hang_up(&next);
}

static void
descriptor__is_refused_and_not_kept(void **state)
{
	struct uroce_mux_cm_request request = { .type = UROCE_MUX_CM_NEXT_EVENT };
	const size_t size = uroce_mux_cm_request_size(request.type);
	int ends[2];
	char byte;

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(send_fd(ann.socket, &request, size, ends[1]), size);
	assert_int_equal(close(ends[1]), 0);
	/*
	 * the reader may have closed the connection before ann has read the refusal with the reason
	 */
	if (program_receive(&ann) > 0) {
		assert_int_equal(ann.reply.type, UROCE_MUX_CM_REFUSED);
		assert_non_null(strstr(ann.reply.why, "descriptors"));
		assert_int_equal(program_receive(&ann), 0);
	}
	program_hang_up(&ann);
	/* the reader closes the descriptor that was sent, so the pipe ends */
	assert_int_equal(read(ends[0], &byte, 1), 0);
	assert_int_equal(close(ends[0]), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_set_up, rig_tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(clients__connect_to_each_other),
		TEST(ack_timeout__of_a_client_is_limited),
		TEST(event__brings_the_private_data),
		TEST(events__are_announced_once),
		TEST(hello__is_first_once_and_of_this_version),
		TEST(message__of_wrong_length_is_refused),
		TEST(message__without_bytes_is_an_end),
		TEST(id__of_another_client_is_refused),
		TEST(qpn__needs_its_lease),
		TEST(qpn__needs_its_user),
		TEST(address__is_of_this_host),
		TEST(port__below_1024_is_for_root),
		TEST(port__is_not_forged_by_private_data),
		TEST(field__out_of_range_is_refused),
		TEST(client__that_dies_leaves_nothing),
		TEST(client__that_dies_while_it_connects),
		TEST(client__that_leaves_does_not_end_its_successor),
		TEST(descriptor__is_refused_and_not_kept),
	};

	if (rig_start() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
