/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The commands of /dev/infiniband/rdma_cm, as the kernel documents them in <rdma/rdma_user_cm.h>:
 * each command with bad input, and the effect of each command. ucma_connect.c tests the commands
 * for connections. Run under uroce-run with the device `loopback`.
 */

#include "ucma.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>
#include <infiniband/ib.h>
#include <infiniband/sa.h>

#define UID   0x1234567890ull
#define GROUP "224.1.2.3"

/* --- commands with bad input ------------------------------------------------------------------------ */

/* Memory for the largest struct of a command and for the largest response. */
static uint8_t command_buf[512];
static uint8_t response_buf[1024];

static void
put_addr(struct __kernel_sockaddr_storage *to, const char *address)
{
	const struct sockaddr_in6 addr = ucma_addr(address, 0);

	memcpy(to, &addr, sizeof(struct sockaddr_in));
}

static void
fill_bind_ip(void *buf)
{
	((struct rdma_ucm_bind_ip *)buf)->addr = ucma_addr(ADDRESS, 0);
}

static void
fill_bind(void *buf)
{
	struct rdma_ucm_bind *const cmd = buf;

	put_addr(&cmd->addr, ADDRESS);
	cmd->addr_size = sizeof(struct sockaddr_in);
}

static void
fill_resolve_ip(void *buf)
{
	struct rdma_ucm_resolve_ip *const cmd = buf;

	cmd->dst_addr = ucma_addr(ADDRESS, 7);
	cmd->timeout_ms = 1000;
}

static void
fill_resolve_addr(void *buf)
{
	struct rdma_ucm_resolve_addr *const cmd = buf;

	put_addr(&cmd->dst_addr, ADDRESS);
	cmd->dst_size = sizeof(struct sockaddr_in);
	cmd->timeout_ms = 1000;
}

static void
fill_connect(void *buf)
{
	((struct rdma_ucm_connect *)buf)->conn_param.valid = 1;
}

static void
fill_join_ip(void *buf)
{
	((struct rdma_ucm_join_ip_mcast *)buf)->addr = ucma_addr(GROUP, 0);
}

static void
fill_join(void *buf)
{
	struct rdma_ucm_join_mcast *const cmd = buf;

	put_addr(&cmd->addr, GROUP);
	cmd->addr_size = sizeof(struct sockaddr_in);
}

static void
fill_migrate(void *buf)
{
	/* build() sets the descriptor of the command */
	(void)buf;
}

#define NO_FIELD         SIZE_MAX
#define END(type, field) (offsetof(struct type, field) + sizeof(((struct type *)NULL)->field))
#define AT(type, field)  offsetof(struct type, field)

/* A command: its number, and the required fields and lengths. */
static const struct command {
	uint32_t cmd;
	size_t len;    /* length of the command's struct */
	size_t in_min; /* minimum length that the command accepts */
	size_t out_min;
	size_t id;       /* offset of the id in the struct */
	size_t response; /* offset in the struct of the pointer to the response */
	bool needs_device;
	void (*fill)(void *buf); /* sets further fields to valid values; NULL: zeros are valid */
} commands[] = {
#define ROW(name, type, min, out, id, resp, dev, fill)                                             \
	{                                                                                          \
		RDMA_USER_CM_CMD_##name, sizeof(struct type), min, out, id, resp, dev, fill        \
	}
	ROW(DESTROY_ID, rdma_ucm_destroy_id, sizeof(struct rdma_ucm_destroy_id), 4,
	    AT(rdma_ucm_destroy_id, id), AT(rdma_ucm_destroy_id, response), false, NULL),
	ROW(BIND_IP, rdma_ucm_bind_ip, END(rdma_ucm_bind_ip, id), 0, AT(rdma_ucm_bind_ip, id),
	    NO_FIELD, false, fill_bind_ip),
	ROW(RESOLVE_IP, rdma_ucm_resolve_ip, sizeof(struct rdma_ucm_resolve_ip), 0,
	    AT(rdma_ucm_resolve_ip, id), NO_FIELD, false, fill_resolve_ip),
	ROW(RESOLVE_ROUTE, rdma_ucm_resolve_route, sizeof(struct rdma_ucm_resolve_route), 0,
	    AT(rdma_ucm_resolve_route, id), NO_FIELD, true, NULL),
	ROW(QUERY_ROUTE, rdma_ucm_query, END(rdma_ucm_query, id),
	    AT(rdma_ucm_query_route_resp, ibdev_index), AT(rdma_ucm_query, id),
	    AT(rdma_ucm_query, response), false, NULL),
	ROW(CONNECT, rdma_ucm_connect, END(rdma_ucm_connect, reserved), 0, AT(rdma_ucm_connect, id),
	    NO_FIELD, true, fill_connect),
	ROW(LISTEN, rdma_ucm_listen, sizeof(struct rdma_ucm_listen), 0, AT(rdma_ucm_listen, id),
	    NO_FIELD, false, NULL),
	ROW(ACCEPT, rdma_ucm_accept, END(rdma_ucm_accept, reserved), 0, AT(rdma_ucm_accept, id),
	    NO_FIELD, true, NULL),
	ROW(REJECT, rdma_ucm_reject, sizeof(struct rdma_ucm_reject), 0, AT(rdma_ucm_reject, id),
	    NO_FIELD, true, NULL),
	ROW(DISCONNECT, rdma_ucm_disconnect, sizeof(struct rdma_ucm_disconnect), 0,
	    AT(rdma_ucm_disconnect, id), NO_FIELD, true, NULL),
	ROW(INIT_QP_ATTR, rdma_ucm_init_qp_attr, sizeof(struct rdma_ucm_init_qp_attr),
	    sizeof(struct ib_uverbs_qp_attr), AT(rdma_ucm_init_qp_attr, id),
	    AT(rdma_ucm_init_qp_attr, response), true, NULL),
	ROW(SET_OPTION, rdma_ucm_set_option, sizeof(struct rdma_ucm_set_option), 0,
	    AT(rdma_ucm_set_option, id), NO_FIELD, false, NULL),
	ROW(NOTIFY, rdma_ucm_notify, sizeof(struct rdma_ucm_notify), 0, AT(rdma_ucm_notify, id),
	    NO_FIELD, true, NULL),
	ROW(JOIN_IP_MCAST, rdma_ucm_join_ip_mcast, END(rdma_ucm_join_ip_mcast, id), 4,
	    AT(rdma_ucm_join_ip_mcast, id), AT(rdma_ucm_join_ip_mcast, response), true,
	    fill_join_ip),
	ROW(LEAVE_MCAST, rdma_ucm_destroy_id, sizeof(struct rdma_ucm_destroy_id), 4,
	    AT(rdma_ucm_destroy_id, id), AT(rdma_ucm_destroy_id, response), false, NULL),
	ROW(MIGRATE_ID, rdma_ucm_migrate_id, sizeof(struct rdma_ucm_migrate_id), 4,
	    AT(rdma_ucm_migrate_id, id), AT(rdma_ucm_migrate_id, response), false, fill_migrate),
	ROW(QUERY, rdma_ucm_query, sizeof(struct rdma_ucm_query), 0, AT(rdma_ucm_query, id),
	    AT(rdma_ucm_query, response), false, NULL),
	ROW(BIND, rdma_ucm_bind, sizeof(struct rdma_ucm_bind), 0, AT(rdma_ucm_bind, id), NO_FIELD,
	    false, fill_bind),
	ROW(RESOLVE_ADDR, rdma_ucm_resolve_addr, sizeof(struct rdma_ucm_resolve_addr), 0,
	    AT(rdma_ucm_resolve_addr, id), NO_FIELD, false, fill_resolve_addr),
	ROW(JOIN_MCAST, rdma_ucm_join_mcast, sizeof(struct rdma_ucm_join_mcast), 4,
	    AT(rdma_ucm_join_mcast, id), AT(rdma_ucm_join_mcast, response), true, fill_join),
#undef ROW
};

#define NB_COMMANDS (sizeof(commands) / sizeof(commands[0]))

/* Build a valid command. MIGRATE_ID gets `fd` as the descriptor of the id's old file. */
static void
build(const struct command *command, int fd, uint32_t id)
{
	const uint64_t response = (uintptr_t)response_buf;

	memset(command_buf, 0, sizeof(command_buf));
	if (command->fill != NULL)
		command->fill(command_buf);
	if (command->cmd == RDMA_USER_CM_CMD_MIGRATE_ID)
		((struct rdma_ucm_migrate_id *)command_buf)->fd = (uint32_t)fd;
	memcpy(command_buf + command->id, &id, sizeof(id));
	if (command->response != NO_FIELD)
		memcpy(command_buf + command->response, &response, sizeof(response));
}

static int
run(const struct command *command, int fd, size_t in_len, size_t out_len)
{
	return ucma_cmd(fd, command->cmd, command_buf, in_len, out_len);
}

static void
command__that_is_too_short_is_refused(void **state)
{
	const int fd = ucma_open(0);

	(void)state;
	for (const struct command *at = commands; at < commands + NB_COMMANDS; at++) {
		build(at, fd, UNKNOWN_ID);
		assert_int_equal(run(at, fd, at->in_min - 1, sizeof(response_buf)), EINVAL);
		assert_int_equal(run(at, fd, at->in_min, sizeof(response_buf)), ENOENT);
	}
	close(fd);
}

static void
command__without_room_for_the_response_is_refused(void **state)
{
	const int fd = ucma_open(0);

	(void)state;
	for (const struct command *at = commands; at < commands + NB_COMMANDS; at++) {
		build(at, fd, UNKNOWN_ID);
		if (at->out_min != 0)
			assert_int_equal(run(at, fd, at->len, at->out_min - 1), ENOSPC);
		assert_int_equal(run(at, fd, at->len, at->out_min), ENOENT);
	}
	close(fd);
}

static void
command__finds_only_ids_of_its_file(void **state)
{
	const int fd = ucma_open(0), other = ucma_open(0);
	uint32_t id;

	(void)state;
	assert_int_equal(ucma_create_id(other, UID, RDMA_PS_UDP, &id), 0);
	for (const struct command *at = commands; at < commands + NB_COMMANDS; at++) {
		build(at, fd, id);
		assert_int_equal(run(at, fd, at->len, sizeof(response_buf)),
				 at->cmd == RDMA_USER_CM_CMD_LEAVE_MCAST ? ENOENT : EINVAL);
	}
	assert_int_equal(ucma_destroy_id(other, id, NULL), 0);
	close(fd);
	close(other);
}

static void
command__of_a_connection_needs_a_device(void **state)
{
	const int fd = ucma_open(0);
	uint32_t id;

	(void)state;
	assert_int_equal(ucma_create_id(fd, UID, RDMA_PS_UDP, &id), 0);
	for (const struct command *at = commands; at < commands + NB_COMMANDS; at++) {
		build(at, fd, id);
		if (at->needs_device)
			assert_int_equal(run(at, fd, at->len, sizeof(response_buf)), EINVAL);
	}
	assert_int_equal(ucma_destroy_id(fd, id, NULL), 0);
	close(fd);
}

/*
 * A bad pointer for the response is an error, but as in the kernel the command is executed first.
 */
static void
command__reports_a_bad_pointer_for_the_response(void **state)
{
	static const uint64_t unmapped = UNMAPPED;
	const int fd = ucma_open(0);

	(void)state;
	for (const struct command *at = commands; at < commands + NB_COMMANDS; at++) {
		uint32_t id;

		if (at->response == NO_FIELD || at->cmd == RDMA_USER_CM_CMD_LEAVE_MCAST)
			continue;
		assert_int_equal(ucma_create_id(fd, UID, RDMA_PS_UDP, &id), 0);
		assert_int_equal(ucma_bind_ip(fd, id, ADDRESS, 0), 0);
		build(at, fd, id);
		if (at->cmd == RDMA_USER_CM_CMD_INIT_QP_ATTR)
			((struct rdma_ucm_init_qp_attr *)command_buf)->qp_state = IBV_QPS_INIT;
		memcpy(command_buf + at->response, &unmapped, sizeof(unmapped));
		assert_int_equal(run(at, fd, at->len, sizeof(response_buf)), EFAULT);
		assert_int_equal(ucma_destroy_id(fd, id, NULL),
				 at->cmd == RDMA_USER_CM_CMD_DESTROY_ID ? ENOENT : 0);
	}
	close(fd);
}

static int
write_raw(int fd, const void *buf, size_t len)
{
	return write(fd, buf, len) == (ssize_t)len ? 0 : errno;
}

static void
write__of_no_command_is_refused(void **state)
{
	struct {
		struct rdma_ucm_cmd_hdr hdr;
		struct rdma_ucm_listen cmd;
	} listen = { { RDMA_USER_CM_CMD_LISTEN, sizeof(listen.cmd), 0 }, { .id = UNKNOWN_ID } };
	const int fd = ucma_open(0);
	uint8_t *const pages =
		mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_ptr_not_equal(pages, MAP_FAILED);
	assert_int_equal(munmap(pages + 4096, 4096), 0);
	assert_int_equal(write_raw(fd, &listen, sizeof(listen)), ENOENT);
	assert_int_equal(write_raw(fd, &listen, 0), EINVAL);
	assert_int_equal(write_raw(fd, &listen, sizeof(listen.hdr) - 1), EINVAL);
	/* the length in the header exceeds the length of the write */
	assert_int_equal(write_raw(fd, &listen, sizeof(listen) - 1), EINVAL);
	listen.hdr.in = UINT16_MAX;
	assert_int_equal(write_raw(fd, &listen, sizeof(listen)), EINVAL);
	listen.hdr.in = sizeof(listen.cmd);
	listen.hdr.cmd = RDMA_USER_CM_CMD_GET_OPTION;
	assert_int_equal(write_raw(fd, &listen, sizeof(listen)), ENOSYS);
	for (unsigned i = 0; i < 2; i++) {
		listen.hdr.cmd = i == 0 ? RDMA_USER_CM_CMD_JOIN_MCAST + 1 : UINT32_MAX;
		assert_int_equal(write_raw(fd, &listen, sizeof(listen)), EINVAL);
	}
	/* the memory of the command is not mapped: all of it, or the part behind the header */
	assert_int_equal(write_raw(fd, pages + 4096, sizeof(listen)), EFAULT);
	listen.hdr.cmd = RDMA_USER_CM_CMD_LISTEN;
	memcpy(pages + 4096 - sizeof(listen.hdr), &listen.hdr, sizeof(listen.hdr));
	assert_int_equal(write_raw(fd, pages + 4096 - sizeof(listen.hdr), sizeof(listen)), EFAULT);
	munmap(pages, 4096);
	close(fd);
}

/* --- commands that create, destroy and change ids ------------------------------------------------- */

static void
create_id__checks_its_arguments(void **state)
{
	const int fd = ucma_open(0);
	struct rdma_ucm_create_id cmd = { .uid = UID, .response = UNMAPPED, .ps = RDMA_PS_TCP };
	uint32_t ids[2];

	(void)state;
	assert_int_equal(ucma_create_id(fd, UID, 0, &ids[0]), EINVAL);
	assert_int_equal(ucma_create_id(fd, UID, 0x107, &ids[0]), EINVAL);
	assert_int_equal(ucma_create_id(fd, UID, RDMA_PS_TCP, &ids[0]), 0);
	assert_int_equal(ucma_destroy_id(fd, ids[0], NULL), 0);
	assert_int_equal(UCMA_CMD(fd, CREATE_ID, cmd, 4), EFAULT);
	assert_int_equal(UCMA_CMD(fd, CREATE_ID, cmd, 3), ENOSPC);
	/* the failed commands have created no id, so the number of ids[0] is free */
	assert_int_equal(ucma_create_id(fd, UID, RDMA_PS_TCP, &ids[1]), 0);
	assert_int_equal(ids[0], ids[1]);
	assert_int_equal(ucma_destroy_id(fd, ids[1], NULL), 0);
	cmd.response = (uintptr_t)response_buf;
	cmd.ps = RDMA_PS_IB;
	cmd.qp_type = IBV_QPT_RAW_PACKET;
	assert_int_equal(UCMA_CMD(fd, CREATE_ID, cmd, 4), EINVAL);
	cmd.qp_type = IBV_QPT_XRC_SEND;
	assert_int_equal(UCMA_CMD(fd, CREATE_ID, cmd, 4), 0);
	close(fd);
}

static void
destroy_id__counts_the_events_that_were_taken(void **state)
{
	const int fd = ucma_open(0);
	uint32_t id, nb_events;

	(void)state;
	id = ucma_routed(fd, UID, 7);
	assert_int_equal(ucma_destroy_id(fd, id, &nb_events), 0);
	assert_int_equal(nb_events, 2);
	assert_int_equal(ucma_destroy_id(fd, id, &nb_events), ENOENT);
	assert_int_equal(ucma_create_id(fd, UID, RDMA_PS_TCP, &id), 0);
	assert_int_equal(ucma_resolve_ip(fd, id, ADDRESS, 7), 0);
	assert_true(ucma_is_ready(fd, TIMEOUT_MS));
	assert_int_equal(ucma_destroy_id(fd, id, &nb_events), 0);
	assert_int_equal(nb_events, 0);
	close(fd);
}

static void
create_id__makes_thousands(void **state)
{
	enum { NB = 3000 };
	static uint32_t ids[NB];
	const int fd = ucma_open(0);

	(void)state;
	for (unsigned i = 0; i < NB; i++)
		assert_int_equal(ucma_create_id(fd, UID + i, RDMA_PS_TCP, &ids[i]), 0);
	for (unsigned i = 0; i < NB; i += 2)
		assert_int_equal(ucma_destroy_id(fd, ids[i], NULL), 0);
	for (unsigned i = 0; i < NB; i++)
		assert_int_equal(ucma_set_option(fd, ids[i], RDMA_OPTION_ID, RDMA_OPTION_ID_TOS,
						 &(uint8_t){ 0 }, 1),
				 i % 2 == 0 ? ENOENT : 0);
	close(fd);
}

static void
migrate_id__takes_its_events_along(void **state)
{
	const int from = ucma_open(O_NONBLOCK), to = ucma_open(O_NONBLOCK);
	struct rdma_ucm_event_resp resp;
	uint32_t id, nb_events;

	(void)state;
	assert_int_equal(ucma_create_id(from, UID, RDMA_PS_TCP, &id), 0);
	assert_int_equal(ucma_resolve_ip(from, id, ADDRESS, 7), 0);
	assert_true(ucma_is_ready(from, TIMEOUT_MS));
	assert_int_equal(ucma_migrate_id(to, id, -1, NULL), ENOENT);
	assert_int_equal(ucma_migrate_id(to, id, 0, NULL), EINVAL);
	assert_int_equal(ucma_migrate_id(to, id, to, NULL), EINVAL);
	assert_int_equal(ucma_migrate_id(to, UNKNOWN_ID, from, NULL), ENOENT);
	assert_int_equal(ucma_migrate_id(to, id, from, &nb_events), 0);
	assert_int_equal(nb_events, 0);
	ucma_expect_none(from);
	assert_int_equal(ucma_get_event(from, &resp), EAGAIN);
	resp = ucma_expect(to, EVENT_ADDR_RESOLVED, UID);
	assert_int_equal(resp.id, id);
	assert_int_equal(ucma_resolve_route(from, id), EINVAL);
	assert_int_equal(ucma_migrate_id(to, id, to, &nb_events), 0);
	assert_int_equal(nb_events, 1);
	close(from);
	assert_int_equal(ucma_resolve_route(to, id), 0);
	(void)ucma_expect(to, EVENT_ROUTE_RESOLVED, UID);
	close(to);
}

static void
set_option__checks_level_name_and_length(void **state)
{
	static const struct {
		uint32_t level, name, len;
		int err;
	} rows[] = {
		{ RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, 1, 0 },
		{ RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, 4, EINVAL },
		{ RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, 0, EINVAL },
		{ RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, 4, 0 },
		{ RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, 1, EINVAL },
		{ RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, 4, 0 },
		{ RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, 8, EINVAL },
		{ RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, 1, 0 },
		{ RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, 2, EINVAL },
		{ RDMA_OPTION_ID, 4, 1, ENOSYS },
		{ RDMA_OPTION_IB, 0, 1, ENOSYS },
		{ 2, 0, 1, ENOSYS },
		{ RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, UINT32_MAX, EINVAL },
	};
	static const uint8_t value[8] = { 14 };
	const int fd = ucma_open(0);
	uint32_t id;

	(void)state;
	assert_int_equal(ucma_create_id(fd, UID, RDMA_PS_TCP, &id), 0);
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(
			ucma_set_option(fd, id, rows[i].level, rows[i].name, value, rows[i].len),
			rows[i].err);
	assert_int_equal(ucma_set_option(fd, id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS,
					 (void *)(uintptr_t)UNMAPPED, 1),
			 EFAULT);
	close(fd);
}

/* --- addresses of ids, and queries ------------------------------------------------------------------ */

static void
bind__checks_the_address(void **state)
{
	const int fd = ucma_open(0);
	struct rdma_ucm_bind cmd = { .addr_size = sizeof(struct sockaddr_in) };
	struct rdma_ucm_bind_ip cmd_ip = { .addr = { .sin6_family = AF_UNIX } };
	uint32_t ids[2];
	uint16_t port;

	(void)state;
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(ucma_create_id(fd, UID, RDMA_PS_TCP, &ids[i]), 0);
	cmd.id = cmd_ip.id = ids[0];
	assert_int_equal(UCMA_CMD(fd, BIND, cmd, 0), EINVAL);
	assert_int_equal(UCMA_CMD(fd, BIND_IP, cmd_ip, 0), EINVAL);
	put_addr(&cmd.addr, ADDRESS);
	cmd.addr_size = sizeof(struct sockaddr_in6);
	assert_int_equal(UCMA_CMD(fd, BIND, cmd, 0), EINVAL);
	cmd.addr_size = sizeof(struct sockaddr_in);
	cmd.reserved = 1;
	assert_int_equal(UCMA_CMD(fd, BIND, cmd, 0), EINVAL);
	cmd.reserved = 0;
	assert_int_equal(ucma_bind_ip(fd, ids[0], "198.51.100.1", 0), EADDRNOTAVAIL);
	assert_int_equal(UCMA_CMD(fd, BIND, cmd, 0), 0);
	port = ucma_port(fd, ids[0]);
	assert_int_not_equal(port, 0);
	assert_int_equal(ucma_bind_ip(fd, ids[0], ADDRESS, 0), EINVAL);
	assert_int_equal(ucma_bind_ip(fd, ids[1], ADDRESS, port), EADDRINUSE);
	close(fd);
}

static void
resolve_addr__checks_the_addresses(void **state)
{
	const int fd = ucma_open(0);
	struct rdma_ucm_resolve_addr cmd = { .timeout_ms = 1000 };

	(void)state;
	assert_int_equal(ucma_create_id(fd, UID, RDMA_PS_TCP, &cmd.id), 0);
	assert_int_equal(UCMA_CMD(fd, RESOLVE_ADDR, cmd, 0), EINVAL);
	put_addr(&cmd.dst_addr, ADDRESS);
	assert_int_equal(UCMA_CMD(fd, RESOLVE_ADDR, cmd, 0), EINVAL);
	cmd.dst_size = sizeof(struct sockaddr_in);
	cmd.src_size = sizeof(struct sockaddr_in);
	assert_int_equal(UCMA_CMD(fd, RESOLVE_ADDR, cmd, 0), EINVAL);
	put_addr(&cmd.src_addr, ADDRESS);
	cmd.reserved = 1;
	assert_int_equal(UCMA_CMD(fd, RESOLVE_ADDR, cmd, 0), EINVAL);
	cmd.reserved = 0;
	assert_int_equal(UCMA_CMD(fd, RESOLVE_ADDR, cmd, 0), 0);
	(void)ucma_expect(fd, EVENT_ADDR_RESOLVED, UID);
	close(fd);
}

static void
expect_mapped(const uint8_t gid[16], const char *address)
{
	uint8_t expected[16] = { [10] = 0xff, [11] = 0xff };

	assert_int_equal(inet_pton(AF_INET, address, expected + 12), 1);
	assert_memory_equal(gid, expected, 16);
}

static void
query_route__tells_what_is_known(void **state)
{
	const int fd = ucma_open(0);
	struct rdma_ucm_query_route_resp resp;
	uint32_t id;

	(void)state;
	assert_int_equal(ucma_create_id(fd, UID, RDMA_PS_TCP, &id), 0);
	assert_int_equal(ucma_query_route(fd, id, &resp), 0);
	assert_int_equal(resp.node_guid, 0);
	assert_int_equal(resp.port_num, 0);
	assert_int_equal(resp.src_addr.sin6_family, 0);
	assert_int_equal(ucma_bind_ip(fd, id, ADDRESS, 0), 0);
	assert_int_equal(ucma_query_route(fd, id, &resp), 0);
	assert_int_not_equal(resp.node_guid, 0);
	assert_int_equal(resp.port_num, 1);
	assert_int_equal(resp.src_addr.sin6_family, AF_INET);
	assert_int_equal(resp.num_paths, 0);
	expect_mapped(resp.ib_route[0].sgid, ADDRESS);
	assert_int_equal(ucma_destroy_id(fd, id, NULL), 0);
	id = ucma_routed(fd, UID, 7);
	assert_int_equal(ucma_query_route(fd, id, &resp), 0);
	assert_int_equal(resp.num_paths, 1);
	assert_int_equal(ntohs(resp.dst_addr.sin6_port), 7);
	expect_mapped(resp.ib_route[0].sgid, ADDRESS);
	expect_mapped(resp.ib_route[0].dgid, ADDRESS);
	assert_int_equal(resp.ib_route[0].pkey, 0xffff);
	close(fd);
}

static void
query__tells_parts(void **state)
{
	const int fd = ucma_open(0);
	union {
		struct rdma_ucm_query_path_resp head;
		uint8_t bytes[sizeof(struct rdma_ucm_query_path_resp) +
			      6 * sizeof(struct ib_path_rec_data)];
	} paths;
	struct rdma_ucm_query_addr_resp resp;
	struct rdma_ucm_query cmd = { .response = (uintptr_t)&resp };
	struct ibv_path_record record;
	struct sockaddr_ib ib;

	(void)state;
	cmd.id = ucma_routed(fd, UID, 7);
	assert_int_equal(ucma_query_addr(fd, cmd.id, &resp), 0);
	assert_int_equal(resp.port_num, 1);
	assert_int_equal(resp.src_size, sizeof(struct sockaddr_in));
	assert_int_equal(resp.dst_size, sizeof(struct sockaddr_in));
	assert_int_equal(resp.dst_addr.ss_family, AF_INET);
	cmd.option = RDMA_USER_CM_QUERY_GID;
	assert_int_equal(UCMA_CMD(fd, QUERY, cmd, sizeof(resp)), 0);
	memcpy(&ib, &resp.dst_addr, sizeof(ib));
	assert_int_equal(ib.sib_family, AF_IB);
	expect_mapped(ib.sib_addr.sib_raw, ADDRESS);
	assert_int_equal(be64toh(ib.sib_sid), 0x1060007);
	cmd.option = RDMA_USER_CM_QUERY_PATH;
	cmd.response = (uintptr_t)&paths;
	assert_int_equal(UCMA_CMD(fd, QUERY, cmd, sizeof(paths)), 0);
	assert_int_equal(paths.head.num_paths, 1);
	memcpy(&record, paths.head.path_data[0].path_rec, sizeof(record));
	expect_mapped(record.dgid.raw, ADDRESS);
	assert_int_equal(record.pkey, 0xffff);
	assert_int_equal(record.mtu >> 6, 2);
	cmd.option = RDMA_USER_CM_QUERY_GID + 1;
	assert_int_equal(UCMA_CMD(fd, QUERY, cmd, sizeof(paths)), ENOSYS);
	for (cmd.option = 0; cmd.option <= RDMA_USER_CM_QUERY_GID; cmd.option++)
		assert_int_equal(UCMA_CMD(fd, QUERY, cmd, 7), ENOSPC);
	close(fd);
}

/*
 * A program that was built with older headers has no room for the last fields of a response, so
 * these fields are not written.
 */
static void
query__writes_no_more_than_there_is_room(void **state)
{
	const size_t room = offsetof(struct rdma_ucm_query_route_resp, ibdev_index);
	const int fd = ucma_open(0);
	struct rdma_ucm_query_route_resp resp = { .ibdev_index = 0xabcdef };
	struct rdma_ucm_query cmd = { .response = (uintptr_t)&resp };

	(void)state;
	cmd.id = ucma_routed(fd, UID, 7);
	assert_int_equal(UCMA_CMD(fd, QUERY_ROUTE, cmd, room), 0);
	assert_int_equal(resp.num_paths, 1);
	assert_int_equal(resp.ibdev_index, 0xabcdef);
	close(fd);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(command__that_is_too_short_is_refused),
		cmocka_unit_test(command__without_room_for_the_response_is_refused),
		cmocka_unit_test(command__finds_only_ids_of_its_file),
		cmocka_unit_test(command__of_a_connection_needs_a_device),
		cmocka_unit_test(command__reports_a_bad_pointer_for_the_response),
		cmocka_unit_test(write__of_no_command_is_refused),
		cmocka_unit_test(create_id__checks_its_arguments),
		cmocka_unit_test(create_id__makes_thousands),
		cmocka_unit_test(destroy_id__counts_the_events_that_were_taken),
		cmocka_unit_test(migrate_id__takes_its_events_along),
		cmocka_unit_test(set_option__checks_level_name_and_length),
		cmocka_unit_test(bind__checks_the_address),
		cmocka_unit_test(resolve_addr__checks_the_addresses),
		cmocka_unit_test(query_route__tells_what_is_known),
		cmocka_unit_test(query__tells_parts),
		cmocka_unit_test(query__writes_no_more_than_there_is_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
