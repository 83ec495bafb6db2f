/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The ports of listeners after the end of a connection manager: for some seconds only the user that
 * had a port binds it.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "cm/service_id.h"
#include "cm_rig.h"

#define ANY_PORT 0 /* the engine chooses a port */

static struct cm_ports_file *ports;
/* a program of another user */
static struct program eve;

static int
set_up(void **state)
{
	const int fd = cm_ports_create();

	if (fd < 0)
		return -1;
	ports = cm_ports_map(fd);
	(void)close(fd);
	if (!ports || rig_set_up(state) != 0)
		return -1;
	eve.socket = -1;
	return cm_server_keep_ports(&server, ports);
}

static int
tear_down(void **state)
{
	int ret;

	program_hang_up(&eve);
	engine.now_ns += CM_PORTS_KEPT_NS;
	ret = rig_tear_down(state);
	(void)munmap(ports, sizeof(*ports));
	return ret;
}

static void
skip_unless_root(void)
{
	if (geteuid() == 0)
		return;
	print_message("# another user needs root\n");
	skip();
}

static void
restart(void)
{
	program_hang_up(&eve);
	rig_restart(ports);
}

static void
open_eve(void)
{
	program_open_as(&eve, OTHER_UID, 30);
}

/* Create an id of a program, and bind it to an address and a port. @return the result of BIND */
static int
bind_new(struct program *client, uint8_t last, uint16_t port)
{
	uint32_t id;

	assert_int_equal(program_create(client, &id), 0);
	return program_bind_to(client, id, last, port);
}

/* Bind a new id to the wildcard of IPv6, which overlaps all addresses. */
static int
bind_any(struct program *client, uint16_t port)
{
	struct uroce_mux_cm_request request = {
		.type = UROCE_MUX_CM_BIND,
		.bind = { .addr = { .ip_version = 6, .port = port } },
	};

	assert_int_equal(program_create(client, &request.id), 0);
	return program_ask(client, &request);
}

static void
port__is_kept_for_the_user_that_had_it(void **state)
{
	(void)state;
	skip_unless_root();
	(void)program_listen_at(&bob, PORT);
	restart();
	open_eve();
	assert_int_equal(bind_new(&eve, 1, PORT), -EADDRINUSE);
	assert_int_equal(bind_any(&eve, PORT), -EADDRINUSE);
	assert_int_equal(bind_new(&eve, 1, PORT + 1), 0);
	program_open_as(&bob, geteuid(), 20);
	(void)program_listen_at(&bob, PORT);
	assert_int_equal(bind_new(&eve, 1, PORT), -EADDRINUSE);
}

/* A port that the engine has chosen is kept, too, and is not chosen for another user. */
static void
port__that_was_chosen_is_kept(void **state)
{
	uint16_t port;
	uint32_t id;

	(void)state;
	skip_unless_root();
	id = program_listen_at(&bob, ANY_PORT);
	assert_int_equal(program_request_id(&bob, UROCE_MUX_CM_QUERY, id), 0);
	port = bob.reply.info.local.port;
	restart();
	open_eve();
	assert_int_equal(bind_new(&eve, 1, port), -EADDRINUSE);
	program_open_as(&bob, geteuid(), 20);
	assert_int_equal(bind_new(&bob, 1, port), 0);
}

static void
port__is_kept_at_the_next_restart(void **state)
{
	(void)state;
	skip_unless_root();
	(void)program_listen_at(&bob, PORT);
	/* nobody binds the port before the second restart */
	restart();
	restart();
	open_eve();
	assert_int_equal(bind_new(&eve, 1, PORT), -EADDRINUSE);
	/* the user of the port binds it, and does not listen before the next restart */
	program_open_as(&bob, geteuid(), 20);
	assert_int_equal(bind_new(&bob, 1, PORT), 0);
	restart();
	open_eve();
	assert_int_equal(bind_new(&eve, 1, PORT), -EADDRINUSE);
}

static void
port__is_free_after_some_seconds(void **state)
{
	(void)state;
	skip_unless_root();
	(void)program_listen_at(&bob, PORT);
	restart();
	open_eve();
	engine.now_ns += CM_PORTS_KEPT_NS - 1;
	rig_settle();
	assert_int_equal(bind_new(&eve, 1, PORT), -EADDRINUSE);
	engine.now_ns++;
	rig_settle();
	assert_int_equal(bind_new(&eve, 1, PORT), 0);
	/* the record of the port was deleted, so any user can bind the port after a restart */
	restart();
	open_eve();
	assert_int_equal(bind_new(&eve, 1, PORT), 0);
}

static void
port__of_no_listener_is_not_kept(void **state)
{
	uint32_t id;

	(void)state;
	skip_unless_root();
	id = program_listen_at(&bob, PORT);
	assert_int_equal(program_request_id(&bob, UROCE_MUX_CM_DESTROY, id), 0);
	(void)program_listen_at(&ann, PORT + 1);
	program_hang_up(&ann);
	rig_settle();
	assert_int_equal(bind_new(&bob, 1, PORT + 2), 0);
	restart();
	open_eve();
	for (uint16_t i = 0; i < 3; i++)
		assert_int_equal(bind_new(&eve, 1, (uint16_t)(PORT + i)), 0);
}

/* The user of a kept port may bind it at another address that overlaps, as a new program does. */
static void
port__is_for_its_user_at_another_address(void **state)
{
	(void)state;
	(void)program_listen_at(&bob, PORT);
	(void)program_listen_at(&bob, PORT + 1);
	restart();
	program_open_as(&bob, geteuid(), 20);
	assert_int_equal(bind_any(&bob, PORT), 0);
	assert_int_equal(bind_any(&bob, PORT), -EADDRINUSE);
	(void)program_listen_at(&bob, PORT + 1);
}

static int
listen_at_loopback(struct program *client)
{
	struct uroce_mux_cm_request request = {
		.type = UROCE_MUX_CM_BIND,
		.bind = { .addr = { .ip_version = 4,
				    .port = PORT,
				    .ip = { [12] = 127, [15] = 1 } } },
	};

	assert_int_equal(program_create(client, &request.id), 0);
	assert_int_equal(program_ask(client, &request), 0);
	return program_request_id(client, UROCE_MUX_CM_LISTEN, request.id);
}

/* Two users may have a port at addresses that do not overlap. */
static void
port__at_two_addresses_has_two_users(void **state)
{
	(void)state;
	skip_unless_root();
	open_eve();
	(void)program_listen_at(&bob, PORT);
	assert_int_equal(listen_at_loopback(&eve), 0);
	restart();
	open_eve();
	assert_int_equal(bind_new(&eve, 1, PORT), -EADDRINUSE);
	assert_int_equal(listen_at_loopback(&eve), 0);
	program_open_as(&bob, geteuid(), 20);
	(void)program_listen_at(&bob, PORT);
}

/*
 * An attacker may have controlled the previous connection manager, so the records may have any
 * content.
 */
static void
records__of_garbage_are_harmless(void **state)
{
	uint32_t seed = 26;

	(void)state;
	for (size_t i = 0; i < sizeof(*ports) / sizeof(seed); i++) {
		seed = seed * 1664525 + 1013904223;
		((uint32_t *)(void *)ports)[i] = seed;
	}
	for (uint32_t id = 0; id < CM_PORTS_MAX; id++) {
		ports->table[ports->valid & 1][id].is_used = 1;
		if (id % 2 == 0)
			ports->table[ports->valid & 1][id].port = (struct cm_port){
				.uid = id,
				.space = UROCE_CM_PS_TCP,
				.addr = program_addr(1, (uint16_t)(PORT + id / 2)),
			};
	}
	restart();
	program_open_as(&bob, geteuid(), 20);
	engine.now_ns += CM_PORTS_KEPT_NS;
	rig_settle();
	(void)program_listen_at(&bob, PORT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(port__is_kept_for_the_user_that_had_it, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(port__that_was_chosen_is_kept, set_up, tear_down),
		cmocka_unit_test_setup_teardown(port__is_kept_at_the_next_restart, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(port__is_free_after_some_seconds, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(port__of_no_listener_is_not_kept, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(port__is_for_its_user_at_another_address, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(port__at_two_addresses_has_two_users, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(records__of_garbage_are_harmless, set_up,
						tear_down),
	};

	if (rig_start() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
