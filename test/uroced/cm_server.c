/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The server of the connection manager, over an engine without a device: what clients may ask for,
 * what a hostile client costs others, and what is left of a client that ends.
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

#include "cm/reason.h"
#include "cm/service_id.h"
#include "cm_engine.h"

#define PORT       7471
#define ROUNDS_MAX 100000
#define SEC        UINT64_C(1000000000)
/* the QP of the last connection of a client; each connection has another one */
#define QPN(client) ((client)->block * UROCE_MUX_BLOCK + (client)->nb_qps)
#define OTHER_UID   4711
#define FLOOD       2000
#define TIMEOUT_SEC 400

struct program {
	int socket;
	uint32_t block;
	uint64_t token;
	uint64_t number;
	unsigned nb_notices;
	uint32_t nb_qps;
	struct uroce_mux_cm_reply reply; /* the last reply */
};

static struct cm_engine engine;
static struct cm_server server;
static char path[64];
static int listener, start;
static struct program ann, bob;

/* --- clients ------------------------------------------------------------------------------------ */

static void
connect_as(struct program *client, uid_t uid)
{
	*client = (struct program){ .number = 100 };
	if (uid != geteuid())
		assert_int_equal(seteuid(uid), 0);
	client->socket = uroce_mux_connect(path);
	if (uid != geteuid() || geteuid() != getuid())
		assert_int_equal(seteuid(getuid()), 0);
	assert_true(client->socket >= 0);
}

static void
send_bytes(const struct program *client, const void *bytes, size_t len)
{
	assert_int_equal(send(client->socket, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL), len);
}

static void
send_request(struct program *client, struct uroce_mux_cm_request *request)
{
	request->number = ++client->number;
	send_bytes(client, request, uroce_mux_cm_request_size(request->type));
}

/* Let the server run until a client has a message. @return its length; 0: the server hung up */
static ssize_t
receive(struct program *client)
{
	for (unsigned i = 0; i < ROUNDS_MAX; i++) {
		const ssize_t len =
			recv(client->socket, &client->reply, sizeof(client->reply), MSG_DONTWAIT);

		if (len > 0 && client->reply.type == UROCE_MUX_CM_EVENTS) {
			client->nb_notices++;
			continue;
		}
		if (len >= 0)
			return len;
		/*
		 * The server has closed the connection with a request unread. The kernel tells this
		 * once, before it gives what the server has sent.
		 */
		if (errno == ECONNRESET)
			continue;
		assert_int_equal(errno, EAGAIN);
		cm_server_round(&server, 0);
	}
	fail_msg("the server does not reply");
	return 0;
}

static int
ask(struct program *client, struct uroce_mux_cm_request *request)
{
	send_request(client, request);
	assert_int_equal(receive(client), uroce_mux_cm_reply_size(request->type));
	assert_int_equal(client->reply.type, request->type);
	assert_int_equal(client->reply.number, request->number);
	return client->reply.ret;
}

/* Expect REFUSED, and the end of the connection. */
static void
expect_refusal(struct program *client, const char *why)
{
	assert_int_equal(receive(client), uroce_mux_cm_reply_size(UROCE_MUX_CM_REFUSED));
	assert_int_equal(client->reply.type, UROCE_MUX_CM_REFUSED);
	if (!strstr(client->reply.why, why))
		fail_msg("refused: %s", client->reply.why);
	assert_int_equal(receive(client), 0);
	assert_int_equal(close(client->socket), 0);
	client->socket = -1;
}

static int
say_hello(struct program *client)
{
	struct uroce_mux_cm_request hello = {
		.type = UROCE_MUX_CM_HELLO,
		.hello = { .version = UROCE_MUX_CM_VERSION },
	};

	return ask(client, &hello);
}

/* Connect as a user, with the lease of a block. */
static void
open_as(struct program *client, uid_t uid, uint32_t block)
{
	connect_as(client, uid);
	client->block = block;
	client->token = 1000 + block;
	engine.lease[engine.nb_leases++] = (struct cm_engine_lease){ uid, block, 1000 + block };
	assert_int_equal(say_hello(client), 0);
}

static void
hang_up(struct program *client)
{
	if (client->socket >= 0)
		assert_int_equal(close(client->socket), 0);
	client->socket = -1;
}

/* Let the server do all that it can do. */
static void
settle(void)
{
	for (unsigned i = 0; i < 2 * CM_CLIENTS_MAX; i++)
		cm_server_round(&server, 0);
}

/* --- requests ----------------------------------------------------------------------------------- */

static int
create(struct program *client, uint32_t *id)
{
	struct uroce_mux_cm_request request = {
		.type = UROCE_MUX_CM_CREATE,
		.create = { .user = 77, .space = UROCE_CM_PS_TCP },
	};
	const int ret = ask(client, &request);

	*id = client->reply.id;
	return ret;
}

static struct uroce_mux_cm_addr
addr_of(uint8_t last, uint16_t port)
{
	return (struct uroce_mux_cm_addr){
		.ip_version = 4,
		.port = port,
		.ip = { [12] = 192, [14] = 2, [15] = last },
	};
}

static int
bind_to(struct program *client, uint32_t id, uint8_t last, uint16_t port)
{
	struct uroce_mux_cm_request request = {
		.type = UROCE_MUX_CM_BIND,
		.id = id,
		.bind = { .addr = addr_of(last, port) },
	};

	return ask(client, &request);
}

static int
request_id(struct program *client, enum uroce_mux_cm_type type, uint32_t id)
{
	struct uroce_mux_cm_request request = { .type = type, .id = id };

	return ask(client, &request);
}

static uint32_t
listen_at(struct program *client, uint16_t port)
{
	uint32_t id;

	assert_int_equal(create(client, &id), 0);
	assert_int_equal(bind_to(client, id, 1, port), 0);
	assert_int_equal(request_id(client, UROCE_MUX_CM_LISTEN, id), 0);
	return id;
}

static void
fill_connect(const struct program *client, struct uroce_mux_cm_request *request, uint32_t id)
{
	*request = (struct uroce_mux_cm_request){
		.type = UROCE_MUX_CM_CONNECT,
		.id = id,
		.connect = { .remote = addr_of(1, PORT),
			     .av = { .local_gid = { [10] = 0xff, 0xff, 192, 0, 2, 1 },
				     .remote_gid = { [10] = 0xff, 0xff, 192, 0, 2, 1 } },
			     .param = { .qpn = QPN(client),
					.token = client->token,
					.retry_count = 7,
					.mtu_code = 3 },
			     .private_data = { .len = 3, .bytes = "abc" } },
	};
}

static uint32_t
connect_to(struct program *client, uint16_t port)
{
	struct uroce_mux_cm_request request;
	uint32_t id;

	assert_int_equal(create(client, &id), 0);
	assert_int_equal(bind_to(client, id, 1, 0), 0);
	client->nb_qps++;
	fill_connect(client, &request, id);
	request.connect.remote.port = port;
	assert_int_equal(ask(client, &request), 0);
	return id;
}

static uint32_t
connect_id(struct program *client)
{
	return connect_to(client, PORT);
}

static int
accept_id(struct program *client, uint32_t id)
{
	struct uroce_mux_cm_request request = {
		.type = UROCE_MUX_CM_ACCEPT,
		.id = id,
		.accept = { .param = { .qpn = QPN(client), .token = client->token } },
	};

	return ask(client, &request);
}

/* Expect an event. @return the id that it is about */
static uint32_t
expect_event(struct program *client, enum uroce_cm_event_kind kind)
{
	struct uroce_mux_cm_request request = { .type = UROCE_MUX_CM_NEXT_EVENT };

	assert_int_equal(ask(client, &request), 1);
	assert_int_equal(client->reply.event.kind, kind);
	return client->reply.event.id;
}

static void
expect_no_event(struct program *client)
{
	struct uroce_mux_cm_request request = { .type = UROCE_MUX_CM_NEXT_EVENT };

	assert_int_equal(ask(client, &request), 0);
}

/* Connect ann to a listener of bob. */
static void
establish(uint32_t *anns, uint32_t *bobs)
{
	*anns = connect_id(&ann);
	*bobs = expect_event(&bob, UROCE_CM_EVENT_CONNECT_REQUEST);
	assert_int_equal(accept_id(&bob, *bobs), 0);
	assert_int_equal(expect_event(&ann, UROCE_CM_EVENT_CONNECT_RESPONSE), *anns);
	assert_int_equal(request_id(&ann, UROCE_MUX_CM_ESTABLISH, *anns), 0);
	assert_int_equal(expect_event(&bob, UROCE_CM_EVENT_ESTABLISHED), *bobs);
}

/* --- set-up ------------------------------------------------------------------------------------- */

static int
set_up(void **state)
{
	struct cm_host host;

	(void)state;
	cm_engine_init(&engine);
	host = cm_engine_host(&engine);
	(void)snprintf(path, sizeof(path), "/tmp/cm-server-%d", getpid());
	listener = uroce_mux_listen(path, 0666);
	assert_true(listener >= 0);
	assert_int_equal(cm_server_init(&server, &host, listener, -1, start), 0);
	open_as(&ann, geteuid(), 10);
	open_as(&bob, geteuid(), 20);
	return 0;
}

/* After each test, everything that clients had is gone. */
static int
tear_down(void **state)
{
	(void)state;
	hang_up(&ann);
	hang_up(&bob);
	engine.is_cut = false;
	settle();
	for (unsigned i = 0; i < CM_CLIENTS_MAX; i++)
		assert_null(server.client[i]);
	for (unsigned i = 0; i < ENGINE_IDS; i++)
		assert_true(cm_ids_is_free(&server.ids, i));
	cm_engine_pass(&engine, TIMEOUT_SEC * SEC);
	assert_int_equal(cm_engine_nb_open(&engine), 0);
	cm_server_fini(&server);
	cm_engine_fini(&engine);
	assert_int_equal(close(listener), 0);
	return unlink(path);
}

/* --- tests -------------------------------------------------------------------------------------- */

static void
clients__connect_to_each_other(void **state)
{
	struct uroce_mux_cm_request disconnect = { .type = UROCE_MUX_CM_DISCONNECT };
	uint32_t id, anns, bobs;

	(void)state;
	id = listen_at(&bob, PORT);
	establish(&anns, &bobs);
	assert_int_equal(request_id(&ann, UROCE_MUX_CM_QUERY, anns), 0);
	assert_int_equal(ann.reply.info.remote_qpn, QPN(&bob));
	assert_int_equal(ann.reply.info.user, 77);
	assert_int_equal(request_id(&bob, UROCE_MUX_CM_QUERY, bobs), 0);
	assert_int_equal(bob.reply.info.remote_qpn, QPN(&ann));
	disconnect.id = anns;
	assert_int_equal(ask(&ann, &disconnect), 0);
	assert_int_equal(expect_event(&bob, UROCE_CM_EVENT_DISCONNECTED), bobs);
	assert_int_equal(request_id(&bob, UROCE_MUX_CM_DESTROY, bobs), 0);
	assert_int_equal(request_id(&bob, UROCE_MUX_CM_DESTROY, id), 0);
	assert_int_equal(request_id(&bob, UROCE_MUX_CM_DESTROY, id), -EINVAL);
}

static void
event__brings_the_private_data(void **state)
{
	(void)state;
	(void)listen_at(&bob, PORT);
	(void)connect_id(&ann);
	(void)expect_event(&bob, UROCE_CM_EVENT_CONNECT_REQUEST);
	assert_memory_equal(bob.reply.event.private_data, "abc", 3);
	assert_int_equal(bob.reply.event.user, 77);
}

/* Events stay in the engine, so one notice is enough, and no memory is needed for them. */
static void
events__are_announced_once(void **state)
{
	(void)state;
	(void)listen_at(&bob, PORT);
	for (unsigned i = 0; i < 10; i++)
		(void)connect_id(&ann);
	settle();
	for (unsigned i = 0; i < 10; i++)
		(void)expect_event(&bob, UROCE_CM_EVENT_CONNECT_REQUEST);
	assert_in_range(bob.nb_notices, 1, 10);
	expect_no_event(&bob);
	bob.nb_notices = 0;
	settle();
	expect_no_event(&bob);
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
	connect_as(&eve, geteuid());
	send_request(&eve, &hello);
	expect_refusal(&eve, "another version");
	connect_as(&eve, geteuid());
	send_request(&eve, &next);
	expect_refusal(&eve, "before HELLO");
	hello.hello.version = UROCE_MUX_CM_VERSION;
	send_request(&ann, &hello);
	expect_refusal(&ann, "second HELLO");
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
			connect_as(&eve, geteuid());
			send_bytes(&eve, bytes, lens[i]);
			expect_refusal(&eve, "");
		}
	}
	/* others are not affected */
	expect_no_event(&ann);
}

/* An empty message is an end. */
static void
message__without_bytes_is_an_end(void **state)
{
	(void)state;
	send_bytes(&ann, "", 0);
	assert_int_equal(receive(&ann), 0);
	expect_no_event(&bob);
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
	id = listen_at(&bob, PORT);
	establish(&anns, &bobs);
	for (unsigned i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		assert_int_equal(request_id(&ann, types[i], id), -EINVAL);
		assert_int_equal(request_id(&ann, types[i], bobs), -EINVAL);
		assert_int_equal(request_id(&ann, types[i], ENGINE_IDS), -EINVAL);
		assert_int_equal(request_id(&ann, types[i], UINT32_MAX), -EINVAL);
		assert_int_equal(request_id(&ann, types[i], ENGINE_IDS - 1), -EINVAL);
	}
	assert_int_equal(bind_to(&ann, id, 1, PORT + 1), -EINVAL);
	assert_int_equal(accept_id(&ann, bobs), -EINVAL);
	fill_connect(&ann, &request, bobs);
	assert_int_equal(ask(&ann, &request), -EINVAL);
	assert_int_equal(request_id(&bob, UROCE_MUX_CM_QUERY, bobs), 0);
}

static void
qpn__needs_its_lease(void **state)
{
	struct uroce_mux_cm_request request, busy = { .type = UROCE_MUX_CM_QPN_BUSY };
	uint32_t id;

	(void)state;
	(void)listen_at(&bob, PORT);
	assert_int_equal(create(&ann, &id), 0);
	assert_int_equal(bind_to(&ann, id, 1, 0), 0);
	/* the QP of bob, and QP 1 */
	fill_connect(&ann, &request, id);
	request.connect.param.qpn = QPN(&bob);
	assert_int_equal(ask(&ann, &request), -EPERM);
	request.connect.param.qpn = 1;
	assert_int_equal(ask(&ann, &request), -EPERM);
	request.connect.param.qpn = 0;
	assert_int_equal(ask(&ann, &request), -EPERM);
	fill_connect(&ann, &request, id);
	request.connect.param.token++;
	assert_int_equal(ask(&ann, &request), -EPERM);
	busy.qpn_busy.qpn = QPN(&bob);
	busy.qpn_busy.token = ann.token;
	assert_int_equal(ask(&ann, &busy), -EPERM);
	/* nothing has changed */
	fill_connect(&ann, &request, id);
	assert_int_equal(ask(&ann, &request), 0);
	id = expect_event(&bob, UROCE_CM_EVENT_CONNECT_REQUEST);
	bob.token++;
	assert_int_equal(accept_id(&bob, id), -EPERM);
	bob.token--;
	assert_int_equal(accept_id(&bob, id), 0);
	busy.qpn_busy.qpn = QPN(&ann);
	assert_int_equal(ask(&ann, &busy), 0);
	assert_true(ann.reply.busy_ns == UROCE_CM_NEVER);
}

/* A token is worth nothing to another user. */
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
	open_as(&eve, OTHER_UID, 30);
	assert_int_equal(create(&eve, &id), 0);
	assert_int_equal(bind_to(&eve, id, 1, 0), 0);
	fill_connect(&ann, &request, id);
	assert_int_equal(ask(&eve, &request), -EPERM);
	fill_connect(&eve, &request, id);
	assert_int_equal(ask(&eve, &request), 0);
	hang_up(&eve);
}

static void
address__is_of_this_host(void **state)
{
	struct uroce_mux_cm_request request;
	uint32_t id;

	(void)state;
	assert_int_equal(create(&ann, &id), 0);
	assert_int_equal(bind_to(&ann, id, 2, PORT), -EADDRNOTAVAIL);
	assert_int_equal(bind_to(&ann, id, 1, 0), 0);
	fill_connect(&ann, &request, id);
	request.connect.av.local_gid[15] = 2;
	assert_int_equal(ask(&ann, &request), -EADDRNOTAVAIL);
	/* the peer may be any host, but no group */
	request.connect.av.local_gid[15] = 1;
	request.connect.av.remote_gid[12] = 224;
	send_request(&ann, &request);
	expect_refusal(&ann, "unicast");
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
	open_as(&eve, OTHER_UID, 30);
	assert_int_equal(create(&eve, &id), 0);
	assert_int_equal(bind_to(&eve, id, 1, 1023), -EACCES);
	assert_int_equal(bind_to(&eve, id, 1, 1024), 0);
	assert_int_equal(create(&ann, &id), 0);
	assert_int_equal(bind_to(&ann, id, 1, 1023), 0);
	hang_up(&eve);
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

/* Each of these members has values that are refused. */
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
			fill_connect(&ann, &request, 0);
		if (mutation->type == UROCE_MUX_CM_CREATE)
			request.create.space = UROCE_CM_PS_TCP;
		if (mutation->type == UROCE_MUX_CM_BIND)
			request.bind.addr = addr_of(1, PORT);
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
	/* as a listener with a request, before the answer to another one, and in a connection */
	(void)listen_at(&bob, PORT);
	establish(&anns, &bobs);
	(void)connect_id(&ann);
	(void)expect_event(&bob, UROCE_CM_EVENT_CONNECT_REQUEST);
	(void)connect_id(&ann);
	hang_up(&bob);
	settle();
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(request_id(&ann, UROCE_MUX_CM_NEXT_EVENT, 0), 1);
		assert_int_equal(ann.reply.event.kind, ann.reply.event.id == anns
							       ? UROCE_CM_EVENT_DISCONNECTED
							       : UROCE_CM_EVENT_REJECTED);
	}
	expect_no_event(&ann);
	/* the port is free at once */
	(void)listen_at(&ann, PORT);
}

static void
client__that_dies_while_it_connects(void **state)
{
	uint32_t id;

	(void)state;
	(void)listen_at(&bob, PORT);
	(void)connect_id(&ann);
	id = expect_event(&bob, UROCE_CM_EVENT_CONNECT_REQUEST);
	hang_up(&ann);
	settle();
	assert_int_equal(expect_event(&bob, UROCE_CM_EVENT_REJECTED), id);
	/* with the REP on its way */
	open_as(&ann, geteuid(), 10);
	(void)connect_id(&ann);
	id = expect_event(&bob, UROCE_CM_EVENT_CONNECT_REQUEST);
	assert_int_equal(accept_id(&bob, id), 0);
	hang_up(&ann);
	settle();
	cm_engine_pass(&engine, SEC);
	assert_int_equal(expect_event(&bob, UROCE_CM_EVENT_REJECTED), id);
}

/* A client that does not read is not served any more, and others are. */
static void
client__that_does_not_read_costs_itself_alone(void **state)
{
	struct uroce_mux_cm_request request = { .type = UROCE_MUX_CM_NEXT_EVENT };
	const size_t size = uroce_mux_cm_request_size(request.type);
	unsigned nb_sent = 0, nb_replies = 0;
	uint64_t nb_served;

	(void)state;
	for (unsigned i = 0; i < 100 * FLOOD; i++) {
		request.number = i;
		if (send(ann.socket, &request, size, MSG_DONTWAIT) < 0) {
			assert_int_equal(errno, EAGAIN);
			cm_server_round(&server, 0);
			if (send(ann.socket, &request, size, MSG_DONTWAIT) < 0)
				break;
		}
		nb_sent++;
		if (i % 64 == 0)
			cm_server_round(&server, 0);
	}
	settle();
	nb_served = server.nb_served;
	settle();
	assert_int_equal(server.nb_served, nb_served);
	for (unsigned i = 0; i < 100; i++)
		expect_no_event(&bob);
	/* when it reads, it gets all replies, in order */
	for (; nb_replies < nb_sent; nb_replies++) {
		assert_int_equal(receive(&ann), uroce_mux_cm_reply_size(request.type));
		assert_int_equal(ann.reply.number, nb_replies);
	}
}

/* A client that has ended leaves, although its own end of the connection waits in its socket. */
static void
client__that_does_not_read_is_ended(void **state)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} room = { .header = { CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
	struct iovec iov = { "x", 1 };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &room,
			      .msg_controllen = sizeof(room) };
	struct uroce_mux_cm_request request = { .type = UROCE_MUX_CM_NEXT_EVENT };

	(void)state;
	(void)listen_at(&ann, PORT);
	while (server.nb_full == 0) {
		send_request(&ann, &request);
		cm_server_round(&server, 0);
	}
	memcpy(CMSG_DATA(&room.header), &ann.socket, sizeof(int));
	assert_true(sendmsg(ann.socket, &msg, 0) > 0);
	hang_up(&ann);
	settle();
	assert_int_equal(server.nb_full, 1);
	engine.now_ns += CM_FULL_MAX_NS - 1;
	settle();
	assert_int_equal(server.nb_full, 1);
	/* others are served meanwhile, and the port is not free */
	expect_no_event(&bob);
	engine.now_ns++;
	settle();
	assert_int_equal(server.nb_full, 0);
	(void)listen_at(&bob, PORT);
}

/* Each user has a turn, so the requests of one user do not delay those of another one. */
static void
client__that_floods_gives_turns_to_others(void **state)
{
	struct uroce_mux_cm_request request = { .type = UROCE_MUX_CM_NEXT_EVENT };
	struct program eve, floods[8];

	(void)state;
	if (geteuid() != 0) {
		print_message("# another user needs root\n");
		skip();
	}
	open_as(&eve, OTHER_UID, 30);
	for (unsigned i = 0; i < 8; i++) {
		connect_as(&floods[i], geteuid());
		assert_int_equal(say_hello(&floods[i]), 0);
	}
	for (unsigned i = 0; i < 8; i++) {
		for (unsigned n = 0; n < 100; n++)
			send_request(&floods[i], &request);
	}
	for (unsigned n = 0; n < 50; n++) {
		send_request(&eve, &request);
		/* one round serves her, and one of the others */
		cm_server_round(&server, 0);
		assert_int_equal(recv(eve.socket, &eve.reply, sizeof(eve.reply), MSG_DONTWAIT),
				 uroce_mux_cm_reply_size(request.type));
	}
	for (unsigned i = 0; i < 8; i++)
		hang_up(&floods[i]);
	hang_up(&eve);
}

static void
ids__of_a_user_are_limited(void **state)
{
	struct program eve;
	uint32_t id;

	(void)state;
	for (unsigned i = 0; i < ENGINE_IDS / 2; i++)
		assert_int_equal(create(i % 2 ? &ann : &bob, &id), 0);
	assert_int_equal(create(&ann, &id), -EDQUOT);
	assert_int_equal(create(&bob, &id), -EDQUOT);
	if (geteuid() != 0)
		return;
	open_as(&eve, OTHER_UID, 30);
	for (unsigned i = 0; i < ENGINE_IDS / 4; i++)
		assert_int_equal(create(&eve, &id), 0);
	assert_int_equal(create(&eve, &id), -EDQUOT);
	hang_up(&eve);
}

/* A user that floods its own listener with requests leaves ids for the connecting of others. */
static void
requests__above_the_limit_are_rejected(void **state)
{
	struct uroce_mux_cm_request next = { .type = UROCE_MUX_CM_NEXT_EVENT };
	unsigned nb_rejected = 0, nb_requests = 0;
	struct program eve, joe;
	uint32_t id;

	(void)state;
	(void)listen_at(&bob, PORT);
	for (unsigned i = 0; i < ENGINE_IDS / 4; i++)
		(void)connect_id(&ann);
	while (ask(&ann, &next) == 1) {
		assert_int_equal(ann.reply.event.kind, UROCE_CM_EVENT_REJECTED);
		assert_int_equal(ann.reply.event.status, UROCE_CM_REASON_NO_RESOURCES);
		nb_rejected++;
	}
	while (ask(&bob, &next) == 1)
		nb_requests++;
	assert_true(nb_rejected > 0);
	assert_int_equal(nb_rejected + nb_requests, ENGINE_IDS / 4);
	while (create(&ann, &id) == 0)
		;
	if (geteuid() != 0)
		return;
	open_as(&eve, OTHER_UID, 30);
	open_as(&joe, OTHER_UID + 1, 40);
	(void)listen_at(&eve, PORT + 1);
	for (unsigned i = 0; i < 10; i++) {
		(void)connect_to(&joe, PORT + 1);
		(void)expect_event(&eve, UROCE_CM_EVENT_CONNECT_REQUEST);
	}
	hang_up(&eve);
	hang_up(&joe);
}

/* What a client has left to the engine, to end it without owner, counts for its user. */
static void
ids__that_wait_for_a_peer_are_limited(void **state)
{
	unsigned nb = 0;
	uint32_t id, anns, bobs;

	(void)state;
	(void)listen_at(&bob, PORT);
	for (; nb < 20; nb++) {
		bob.nb_qps++;
		establish(&anns, &bobs);
		engine.is_cut = true;
		assert_int_equal(request_id(&ann, UROCE_MUX_CM_DESTROY, anns), 0);
		engine.is_cut = false;
	}
	hang_up(&ann);
	settle();
	open_as(&ann, geteuid(), 10);
	/* bob has a listener and as many ends of connections */
	for (unsigned i = 0; i < ENGINE_IDS / 2 - 2 * nb - 1; i++)
		assert_int_equal(create(&ann, &id), 0);
	assert_int_equal(create(&ann, &id), -EDQUOT);
}

/* --- random requests ----------------------------------------------------------------------------- */

#define NB_RANDOM    6u
#define RANDOM_STEPS 20000u

static uint64_t random_state;

static uint32_t
draw(uint32_t below)
{
	random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (uint32_t)(random_state >> 33) % below;
}

/* Fill a request with what a client may know, and change some of it. */
static void
fill_random(const struct program *client, struct uroce_mux_cm_request *request)
{
	const uint32_t id = draw(ENGINE_IDS + 8);

	fill_connect(client, request, id);
	request->type = 1 + draw(UROCE_MUX_CM_NB_REQUESTS - 1);
	request->number = draw(1000);
	switch (request->type) {
	case UROCE_MUX_CM_HELLO:
		/* a second HELLO ends the connection, so it is rare */
		if (draw(50) > 0)
			request->type = UROCE_MUX_CM_NEXT_EVENT;
		break;
	case UROCE_MUX_CM_CREATE:
		request->create.space = UROCE_CM_PS_TCP;
		request->create.is_datagram = draw(4) == 0;
		memset(request->create.reserved, 0, sizeof(request->create.reserved));
		break;
	case UROCE_MUX_CM_BIND:
		memset(&request->bind, 0, sizeof(request->bind));
		request->bind.addr = addr_of(draw(10) > 0, (uint16_t)(PORT + draw(4)));
		break;
	case UROCE_MUX_CM_LISTEN:
		request->listen.backlog = draw(8);
		request->listen.reserved = 0;
		break;
	case UROCE_MUX_CM_CONNECT:
		request->connect.remote = addr_of(1, (uint16_t)(PORT + draw(4)));
		request->connect.param.qpn += draw(200);
		request->connect.param.token += draw(20) == 0;
		break;
	case UROCE_MUX_CM_ACCEPT:
		memset(&request->accept, 0, sizeof(request->accept));
		request->accept.param.qpn = QPN(client) + draw(200);
		request->accept.param.token = client->token;
		break;
	case UROCE_MUX_CM_REJECT:
		memset(&request->reject, 0, sizeof(request->reject));
		request->reject.reason = (uint16_t)draw(40);
		break;
	default:
		memset(&request->hello, 0,
		       sizeof(*request) - offsetof(struct uroce_mux_cm_request, hello));
		request->establish.private_data.len =
			request->type == UROCE_MUX_CM_ESTABLISH ? (uint8_t)draw(225) : 0;
		break;
	}
	/* a byte that may be anything */
	if (draw(400) == 0)
		((uint8_t *)request)[draw(sizeof(*request))] = (uint8_t)draw(256);
}

/* The server and the engine agree on the owner of each id. */
static void
check_owners(void)
{
	for (uint32_t id = 0; id < ENGINE_IDS; id++) {
		unsigned nb = 0;

		for (uint16_t slot = 0; slot < CM_CLIENTS_MAX; slot++) {
			const struct cm_client *client = server.client[slot];
			const bool is_of = client && cm_ids_is_of(&server.ids, id, slot);
			const bool is_engines =
				client && client->manager &&
				uroce_cme_is_owner(engine.cm, id, cm_engine_owner(client->manager));

			assert_int_equal(is_of, is_engines);
			nb += is_of;
		}
		assert_true(nb <= 1);
		assert_int_equal(nb == 0, cm_ids_is_free(&server.ids, id));
	}
}

/* Read what came, and connect again if the server has refused the client. */
static void
read_random(struct program *client, unsigned i)
{
	ssize_t len;

	while ((len = recv(client->socket, &client->reply, sizeof(client->reply), MSG_DONTWAIT)) >
	       0) {
		const struct uroce_mux_cm_reply *reply = &client->reply;

		assert_int_equal(len, uroce_mux_cm_reply_size(reply->type));
		assert_true(uroce_mux_cm_is_reply(reply, (size_t)len));
	}
	if (len == 0) {
		hang_up(client);
		engine.nb_leases = 0;
		open_as(client, geteuid() == 0 ? OTHER_UID + i % 3 : geteuid(), 30 + i);
	}
	/* all blocks stay leased */
	engine.nb_leases = 0;
	for (unsigned n = 0; n < NB_RANDOM; n++)
		engine.lease[engine.nb_leases++] =
			(struct cm_engine_lease){ geteuid() == 0 ? OTHER_UID + n % 3 : geteuid(),
						  30 + n, 1000 + 30 + n };
}

/*
 * Clients that ask for anything, with ids of each other, half-valid messages, hang-ups, and a clock
 * that jumps. No client gets an id of another one, and nothing is left at the end.
 */
static void
requests__at_random(void **state)
{
	struct program clients[NB_RANDOM];

	(void)state;
	random_state = 26;
	engine.nb_leases = 0;
	for (unsigned i = 0; i < NB_RANDOM; i++)
		open_as(&clients[i], geteuid() == 0 ? OTHER_UID + i % 3 : geteuid(), 30 + i);
	for (unsigned step = 0; step < RANDOM_STEPS; step++) {
		const unsigned i = draw(NB_RANDOM);
		struct program *client = &clients[i];
		struct uroce_mux_cm_request request;
		size_t size;

		fill_random(client, &request);
		size = uroce_mux_cm_request_size(request.type);
		if (size == 0 || draw(1000) == 0)
			size = draw(sizeof(request) + 1);
		(void)send(client->socket, &request, size, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (draw(1000) == 0)
			(void)shutdown(client->socket, SHUT_RDWR);
		cm_server_round(&server, 0);
		engine.is_cut = draw(100) == 0 ? !engine.is_cut : engine.is_cut;
		if (draw(50) == 0)
			cm_engine_pass(&engine, draw(1000) * (SEC / 100));
		read_random(client, i);
		if (step % 500 == 0)
			check_owners();
	}
	check_owners();
	for (unsigned i = 0; i < NB_RANDOM; i++)
		hang_up(&clients[i]);
}

static void
connections__of_a_user_are_limited(void **state)
{
	static struct program many[CM_CLIENTS_MAX / 2 + 1];
	unsigned nb = 0;

	(void)state;
	/* ann and bob are two of them */
	for (; nb < CM_CLIENTS_MAX / 2 - 2; nb++) {
		connect_as(&many[nb], geteuid());
		assert_int_equal(say_hello(&many[nb]), 0);
	}
	connect_as(&many[nb], geteuid());
	expect_refusal(&many[nb], "too many clients");
	while (nb > 0)
		hang_up(&many[--nb]);
}

static void
descriptor__is_refused_and_not_kept(void **state)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} room = { .header = { CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
	struct uroce_mux_cm_request request = { .type = UROCE_MUX_CM_NEXT_EVENT };
	struct iovec iov = { &request, uroce_mux_cm_request_size(request.type) };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &room,
			      .msg_controllen = sizeof(room) };
	int ends[2];
	char byte;

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	memcpy(CMSG_DATA(&room.header), &ends[1], sizeof(int));
	assert_true(sendmsg(ann.socket, &msg, 0) > 0);
	assert_int_equal(close(ends[1]), 0);
	/* the reader may have closed the connection before its end, and the reason, were read */
	if (receive(&ann) > 0) {
		assert_int_equal(ann.reply.type, UROCE_MUX_CM_REFUSED);
		assert_non_null(strstr(ann.reply.why, "descriptors"));
		assert_int_equal(receive(&ann), 0);
	}
	hang_up(&ann);
	/* the reader closes it */
	assert_int_equal(read(ends[0], &byte, 1), 0);
	assert_int_equal(close(ends[0]), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(clients__connect_to_each_other),
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
		TEST(field__out_of_range_is_refused),
		TEST(client__that_dies_leaves_nothing),
		TEST(client__that_dies_while_it_connects),
		TEST(client__that_does_not_read_costs_itself_alone),
		TEST(client__that_does_not_read_is_ended),
		TEST(client__that_floods_gives_turns_to_others),
		TEST(ids__of_a_user_are_limited),
		TEST(requests__above_the_limit_are_rejected),
		TEST(ids__that_wait_for_a_peer_are_limited),
		TEST(requests__at_random),
		TEST(connections__of_a_user_are_limited),
		TEST(descriptor__is_refused_and_not_kept),
	};

	start = reader_start();
	if (start < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
