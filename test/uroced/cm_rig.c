/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Runs the server of the connection manager over an engine without a device, and clients of the
 * server.
 */

#include "cm_rig.h"

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

#include "cm/service_id.h"

#define ROUNDS_MAX  100000
#define TIMEOUT_SEC 400

struct cm_engine engine;
struct cm_server server;
struct program ann, bob;
int reports[2];
static char path[64];
static int listener, start;

/* --- clients ------------------------------------------------------------------------------------ */

void
program_connect_as(struct program *client, uid_t uid)
{
	*client = (struct program){ .number = 100 };
	if (uid != geteuid())
		assert_int_equal(seteuid(uid), 0);
	client->socket = uroce_mux_connect(path);
	if (uid != geteuid() || geteuid() != getuid())
		assert_int_equal(seteuid(getuid()), 0);
	assert_true(client->socket >= 0);
}

void
program_send_bytes(const struct program *client, const void *bytes, size_t len)
{
	assert_int_equal(send(client->socket, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL), len);
}

void
program_send_request(struct program *client, struct uroce_mux_cm_request *request)
{
	request->number = ++client->number;
	program_send_bytes(client, request, uroce_mux_cm_request_size(request->type));
}

ssize_t
program_receive(struct program *client)
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
		 * The server closed the connection while a request was unread. The kernel reports
		 * this once by ECONNRESET, and then returns the messages that the server has sent.
		 */
		if (errno == ECONNRESET)
			continue;
		assert_int_equal(errno, EAGAIN);
		cm_server_round(&server, 0);
	}
	fail_msg("the server does not reply");
	return 0;
}

int
program_ask(struct program *client, struct uroce_mux_cm_request *request)
{
	program_send_request(client, request);
	assert_int_equal(program_receive(client), uroce_mux_cm_reply_size(request->type));
	assert_int_equal(client->reply.type, request->type);
	assert_int_equal(client->reply.number, request->number);
	return client->reply.ret;
}

void
program_expect_refusal(struct program *client, const char *why)
{
	assert_int_equal(program_receive(client), uroce_mux_cm_reply_size(UROCE_MUX_CM_REFUSED));
	assert_int_equal(client->reply.type, UROCE_MUX_CM_REFUSED);
	if (!strstr(client->reply.why, why))
		fail_msg("refused: %s", client->reply.why);
	assert_int_equal(program_receive(client), 0);
	assert_int_equal(close(client->socket), 0);
	client->socket = -1;
}

int
program_say_hello(struct program *client)
{
	struct uroce_mux_cm_request hello = {
		.type = UROCE_MUX_CM_HELLO,
		.hello = { .version = UROCE_MUX_CM_VERSION },
	};

	return program_ask(client, &hello);
}

void
program_open_as(struct program *client, uid_t uid, uint32_t block)
{
	program_connect_as(client, uid);
	client->block = block;
	client->token = 1000 + block;
	engine.lease[engine.nb_leases++] = (struct cm_engine_lease){ uid, block, 1000 + block };
	assert_int_equal(program_say_hello(client), 0);
}

void
program_hang_up(struct program *client)
{
	if (client->socket >= 0)
		assert_int_equal(close(client->socket), 0);
	client->socket = -1;
}

void
rig_settle(void)
{
	for (unsigned i = 0; i < 2 * CM_CLIENTS_MAX; i++)
		cm_server_round(&server, 0);
}

/* --- requests ----------------------------------------------------------------------------------- */

int
program_create(struct program *client, uint32_t *id)
{
	struct uroce_mux_cm_request request = {
		.type = UROCE_MUX_CM_CREATE,
		.create = { .user = 77, .space = UROCE_CM_PS_TCP },
	};
	const int ret = program_ask(client, &request);

	*id = client->reply.id;
	return ret;
}

struct uroce_mux_cm_addr
program_addr(uint8_t last, uint16_t port)
{
	return (struct uroce_mux_cm_addr){
		.ip_version = 4,
		.port = port,
		.ip = { [12] = 192, [14] = 2, [15] = last },
	};
}

int
program_bind_to(struct program *client, uint32_t id, uint8_t last, uint16_t port)
{
	struct uroce_mux_cm_request request = {
		.type = UROCE_MUX_CM_BIND,
		.id = id,
		.bind = { .addr = program_addr(last, port) },
	};

	return program_ask(client, &request);
}

int
program_request_id(struct program *client, enum uroce_mux_cm_type type, uint32_t id)
{
	struct uroce_mux_cm_request request = { .type = type, .id = id };

	return program_ask(client, &request);
}

uint32_t
program_listen_at(struct program *client, uint16_t port)
{
	uint32_t id;

	assert_int_equal(program_create(client, &id), 0);
	assert_int_equal(program_bind_to(client, id, 1, port), 0);
	assert_int_equal(program_request_id(client, UROCE_MUX_CM_LISTEN, id), 0);
	return id;
}

void
program_fill_connect(const struct program *client, struct uroce_mux_cm_request *request,
		     uint32_t id)
{
	*request = (struct uroce_mux_cm_request){
		.type = UROCE_MUX_CM_CONNECT,
		.id = id,
		.connect = { .remote = program_addr(1, PORT),
			     .av = { .local_gid = { [10] = 0xff, 0xff, 192, 0, 2, 1 },
				     .remote_gid = { [10] = 0xff, 0xff, 192, 0, 2, 1 } },
			     .param = { .qpn = PROGRAM_QPN(client),
					.token = client->token,
					.retry_count = 7,
					.mtu_code = 3 },
			     .private_data = { .len = 3, .bytes = "abc" } },
	};
}

uint32_t
program_connect_to(struct program *client, uint16_t port)
{
	struct uroce_mux_cm_request request;
	uint32_t id;

	assert_int_equal(program_create(client, &id), 0);
	assert_int_equal(program_bind_to(client, id, 1, 0), 0);
	client->nb_qps++;
	program_fill_connect(client, &request, id);
	request.connect.remote.port = port;
	assert_int_equal(program_ask(client, &request), 0);
	return id;
}

uint32_t
program_connect_id(struct program *client)
{
	return program_connect_to(client, PORT);
}

int
program_accept_id(struct program *client, uint32_t id)
{
	struct uroce_mux_cm_request request = {
		.type = UROCE_MUX_CM_ACCEPT,
		.id = id,
		.accept = { .param = { .qpn = PROGRAM_QPN(client), .token = client->token } },
	};

	return program_ask(client, &request);
}

uint32_t
program_expect_event(struct program *client, enum uroce_cm_event_kind kind)
{
	struct uroce_mux_cm_request request = { .type = UROCE_MUX_CM_NEXT_EVENT };

	assert_int_equal(program_ask(client, &request), 1);
	assert_int_equal(client->reply.event.kind, kind);
	return client->reply.event.id;
}

void
program_expect_no_event(struct program *client)
{
	struct uroce_mux_cm_request request = { .type = UROCE_MUX_CM_NEXT_EVENT };

	assert_int_equal(program_ask(client, &request), 0);
}

void
rig_establish(uint32_t *anns, uint32_t *bobs)
{
	*anns = program_connect_id(&ann);
	*bobs = program_expect_event(&bob, UROCE_CM_EVENT_CONNECT_REQUEST);
	assert_int_equal(program_accept_id(&bob, *bobs), 0);
	assert_int_equal(program_expect_event(&ann, UROCE_CM_EVENT_CONNECT_RESPONSE), *anns);
	assert_int_equal(program_request_id(&ann, UROCE_MUX_CM_ESTABLISH, *anns), 0);
	assert_int_equal(program_expect_event(&bob, UROCE_CM_EVENT_ESTABLISHED), *bobs);
}

/* --- set-up ------------------------------------------------------------------------------------- */

int
rig_start(void)
{
	start = reader_start();
	return start < 0 ? -1 : 0;
}

/* Start the server over a new engine. */
static void
start_server(void)
{
	struct cm_host host;

	cm_engine_init(&engine);
	host = cm_engine_host(&engine);
	assert_int_equal(cm_server_init(&server, &host, listener, -1, start, reports[1]), 0);
}

void
rig_restart(struct cm_ports_file *ports)
{
	struct cm_ports_file *before = malloc(sizeof(*before));

	/*
	 * restore the records after the end of the server: the end of its clients deletes their
	 * records, but a connection manager that is killed deletes none
	 */
	assert_non_null(before);
	memcpy(before, ports, sizeof(*before));
	program_hang_up(&ann);
	program_hang_up(&bob);
	cm_server_fini(&server);
	cm_engine_fini(&engine);
	memcpy(ports, before, sizeof(*before));
	free(before);
	start_server();
	assert_int_equal(cm_server_keep_ports(&server, ports), 0);
}

int
rig_set_up(void **state)
{
	(void)state;
	(void)snprintf(path, sizeof(path), "/tmp/cm-server-%d", getpid());
	listener = uroce_mux_listen(path, 0666);
	assert_true(listener >= 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, reports), 0);
	start_server();
	program_open_as(&ann, geteuid(), 10);
	program_open_as(&bob, geteuid(), 20);
	return 0;
}

int
rig_tear_down(void **state)
{
	(void)state;
	program_hang_up(&ann);
	program_hang_up(&bob);
	engine.is_cut = false;
	rig_settle();
	for (unsigned i = 0; i < CM_CLIENTS_MAX; i++)
		assert_null(server.client[i]);
	for (unsigned i = 0; i < ENGINE_IDS; i++)
		assert_true(cm_ids_is_free(&server.ids, i));
	cm_engine_pass(&engine, TIMEOUT_SEC * SEC);
	assert_int_equal(cm_engine_nb_open(&engine), 0);
	cm_server_fini(&server);
	cm_engine_fini(&engine);
	(void)close(reports[0]);
	(void)close(reports[1]);
	assert_int_equal(close(listener), 0);
	return unlink(path);
}
