/* SPDX-License-Identifier: BSD-3-Clause */

/* Sends random requests to the server of the connection manager. */

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

#include "../draw.h"
#include "cm/service_id.h"
#include "cm_rig.h"

#define NB_RANDOM    6u
#define RANDOM_STEPS 20000u

/* Fill a request with values that a client may know, some of which are changed at random. */
static void
fill_random(const struct program *client, struct uroce_mux_cm_request *request)
{
	const uint32_t id = draw(ENGINE_IDS + 8);

	program_fill_connect(client, request, id);
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
		request->bind.addr = program_addr(draw(10) > 0, (uint16_t)(PORT + draw(4)));
		break;
	case UROCE_MUX_CM_LISTEN:
		request->listen.backlog = draw(8);
		request->listen.reserved = 0;
		break;
	case UROCE_MUX_CM_CONNECT:
		request->connect.remote = program_addr(1, (uint16_t)(PORT + draw(4)));
		request->connect.param.qpn += draw(200);
		request->connect.param.token += draw(20) == 0;
		break;
	case UROCE_MUX_CM_ACCEPT:
		memset(&request->accept, 0, sizeof(request->accept));
		request->accept.param.qpn = PROGRAM_QPN(client) + draw(200);
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
	/* change one byte to any value in a few requests */
	if (draw(400) == 0)
		((uint8_t *)request)[draw(sizeof(*request))] = (uint8_t)draw(256);
}

/* Check that the server and the engine agree on the owner of each id. */
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

/*
 * Read all messages for the client, and connect the client again if the server has closed the
 * connection.
 */
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
		program_hang_up(client);
		engine.nb_leases = 0;
		program_open_as(client, geteuid() == 0 ? OTHER_UID + i % 3 : geteuid(), 30 + i);
	}
	/*
	 * enter the leases of all clients again, because a new connection leaves only that of its
	 * client
	 */
	engine.nb_leases = 0;
	for (unsigned n = 0; n < NB_RANDOM; n++)
		engine.lease[engine.nb_leases++] =
			(struct cm_engine_lease){ geteuid() == 0 ? OTHER_UID + n % 3 : geteuid(),
						  30 + n, 1000 + 30 + n };
}

/*
 * Clients send random requests, which may name ids of other clients, may be valid in part or have a
 * wrong length. Clients also hang up at random, and the clock jumps. No client gets an id of
 * another one, and nothing is left at the end.
 */
static void
requests__at_random(void **state)
{
	struct program clients[NB_RANDOM];

	(void)state;
	draw_seed = 26;
	engine.nb_leases = 0;
	for (unsigned i = 0; i < NB_RANDOM; i++)
		program_open_as(&clients[i], geteuid() == 0 ? OTHER_UID + i % 3 : geteuid(),
				30 + i);
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
		program_hang_up(&clients[i]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_set_up, rig_tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(requests__at_random),
	};

	if (rig_start() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
