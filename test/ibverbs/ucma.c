/* SPDX-License-Identifier: BSD-3-Clause */
#include "ucma.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include <infiniband/verbs.h>

/* timeout of a resolution of an address or a route in ms, which only a hang exceeds */
#define RESOLVE_MS 60000

int
ucma_open(int flags)
{
	const int fd = open(UCMA_PATH, O_RDWR | flags);

	assert_true(fd >= 0);
	return fd;
}

int
ucma_cmd(int fd, uint32_t cmd, const void *in, size_t in_len, size_t out_len)
{
	uint8_t buf[1024];
	const struct rdma_ucm_cmd_hdr hdr = {
		.cmd = cmd,
		.in = (uint16_t)in_len,
		.out = (uint16_t)out_len,
	};
	ssize_t len;

	assert_true(sizeof(hdr) + in_len <= sizeof(buf));
	memcpy(buf, &hdr, sizeof(hdr));
	memcpy(buf + sizeof(hdr), in, in_len);
	len = write(fd, buf, sizeof(hdr) + in_len);
	if (len < 0)
		return errno;
	assert_int_equal(len, sizeof(hdr) + in_len);
	return 0;
}

struct sockaddr_in6
ucma_addr(const char *address, uint16_t port)
{
	struct sockaddr_in ip = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct sockaddr_in6 addr = { .sin6_family = 0 };

	assert_int_equal(inet_pton(AF_INET, address, &ip.sin_addr), 1);
	memcpy(&addr, &ip, sizeof(ip));
	return addr;
}

/* --- commands of /dev/infiniband/rdma_cm ---------------------------------------------------------- */

int
ucma_create_id(int fd, uint64_t uid, uint16_t ps, uint32_t *id)
{
	struct rdma_ucm_create_id_resp resp = { .id = UNKNOWN_ID };
	const struct rdma_ucm_create_id cmd = {
		.uid = uid,
		.response = (uintptr_t)&resp,
		.ps = ps,
		.qp_type = IBV_QPT_RC,
	};
	const int err = UCMA_CMD(fd, CREATE_ID, cmd, sizeof(resp));

	*id = resp.id;
	return err;
}

int
ucma_destroy_id(int fd, uint32_t id, uint32_t *nb_events)
{
	struct rdma_ucm_destroy_id_resp resp = { .events_reported = UINT32_MAX };
	const struct rdma_ucm_destroy_id cmd = { .response = (uintptr_t)&resp, .id = id };
	const int err = UCMA_CMD(fd, DESTROY_ID, cmd, sizeof(resp));

	if (nb_events != NULL)
		*nb_events = resp.events_reported;
	return err;
}

int
ucma_bind_ip(int fd, uint32_t id, const char *address, uint16_t port)
{
	const struct rdma_ucm_bind_ip cmd = { .addr = ucma_addr(address, port), .id = id };

	return UCMA_CMD(fd, BIND_IP, cmd, 0);
}

int
ucma_resolve_ip(int fd, uint32_t id, const char *address, uint16_t port)
{
	const struct rdma_ucm_resolve_ip cmd = {
		.dst_addr = ucma_addr(address, port),
		.id = id,
		.timeout_ms = RESOLVE_MS,
	};

	return UCMA_CMD(fd, RESOLVE_IP, cmd, 0);
}

int
ucma_resolve_route(int fd, uint32_t id)
{
	const struct rdma_ucm_resolve_route cmd = { .id = id, .timeout_ms = RESOLVE_MS };

	return UCMA_CMD(fd, RESOLVE_ROUTE, cmd, 0);
}

int
ucma_listen(int fd, uint32_t id, uint32_t backlog)
{
	const struct rdma_ucm_listen cmd = { .id = id, .backlog = backlog };

	return UCMA_CMD(fd, LISTEN, cmd, 0);
}

static struct rdma_ucm_conn_param
conn_param(uint32_t qp_num)
{
	return (struct rdma_ucm_conn_param){
		.qp_num = qp_num,
		.private_data = "hello",
		.private_data_len = 6,
		.responder_resources = 1,
		.initiator_depth = 1,
		.retry_count = 7,
		.rnr_retry_count = 7,
		.valid = 1,
	};
}

int
ucma_connect(int fd, uint32_t id, uint32_t qp_num)
{
	const struct rdma_ucm_connect cmd = { .conn_param = conn_param(qp_num), .id = id };

	return UCMA_CMD(fd, CONNECT, cmd, 0);
}

int
ucma_accept(int fd, uint32_t id, uint64_t uid, uint32_t qp_num)
{
	const struct rdma_ucm_accept cmd = { .uid = uid,
					     .conn_param = conn_param(qp_num),
					     .id = id };

	return UCMA_CMD(fd, ACCEPT, cmd, 0);
}

int
ucma_establish(int fd, uint32_t id)
{
	const struct rdma_ucm_accept cmd = { .id = id };

	return UCMA_CMD(fd, ACCEPT, cmd, 0);
}

int
ucma_reject(int fd, uint32_t id, uint8_t reason)
{
	const struct rdma_ucm_reject cmd = {
		.id = id,
		.reason = reason,
		.private_data = "no",
		.private_data_len = 3,
	};

	return UCMA_CMD(fd, REJECT, cmd, 0);
}

int
ucma_disconnect(int fd, uint32_t id)
{
	const struct rdma_ucm_disconnect cmd = { .id = id };

	return UCMA_CMD(fd, DISCONNECT, cmd, 0);
}

int
ucma_migrate_id(int fd, uint32_t id, int from, uint32_t *nb_events)
{
	struct rdma_ucm_migrate_resp resp = { .events_reported = UINT32_MAX };
	const struct rdma_ucm_migrate_id cmd = {
		.response = (uintptr_t)&resp,
		.id = id,
		.fd = (uint32_t)from,
	};
	const int err = UCMA_CMD(fd, MIGRATE_ID, cmd, sizeof(resp));

	if (nb_events != NULL)
		*nb_events = resp.events_reported;
	return err;
}

int
ucma_set_option(int fd, uint32_t id, uint32_t level, uint32_t name, const void *value, uint32_t len)
{
	const struct rdma_ucm_set_option cmd = {
		.optval = (uintptr_t)value,
		.id = id,
		.level = level,
		.optname = name,
		.optlen = len,
	};

	return UCMA_CMD(fd, SET_OPTION, cmd, 0);
}

int
ucma_query_route(int fd, uint32_t id, struct rdma_ucm_query_route_resp *resp)
{
	const struct rdma_ucm_query cmd = { .response = (uintptr_t)resp, .id = id };

	return UCMA_CMD(fd, QUERY_ROUTE, cmd, sizeof(*resp));
}

int
ucma_query_addr(int fd, uint32_t id, struct rdma_ucm_query_addr_resp *resp)
{
	const struct rdma_ucm_query cmd = {
		.response = (uintptr_t)resp,
		.id = id,
		.option = RDMA_USER_CM_QUERY_ADDR,
	};

	return UCMA_CMD(fd, QUERY, cmd, sizeof(*resp));
}

int
ucma_get_event(int fd, struct rdma_ucm_event_resp *resp)
{
	const struct rdma_ucm_get_event cmd = { .response = (uintptr_t)resp };

	return UCMA_CMD(fd, GET_EVENT, cmd, sizeof(*resp));
}

/* --- sequences of commands that several tests need ------------------------------------------------ */

uint16_t
ucma_port(int fd, uint32_t id)
{
	struct rdma_ucm_query_route_resp resp;

	assert_int_equal(ucma_query_route(fd, id, &resp), 0);
	return ntohs(resp.src_addr.sin6_port);
}

bool
ucma_is_ready(int fd, int timeout_ms)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

	return poll(&poll_fd, 1, timeout_ms) == 1 && poll_fd.revents == POLLIN;
}

struct rdma_ucm_event_resp
ucma_expect(int fd, uint32_t event, uint64_t uid)
{
	struct rdma_ucm_event_resp resp;

	assert_true(ucma_is_ready(fd, TIMEOUT_MS));
	assert_int_equal(ucma_get_event(fd, &resp), 0);
	assert_int_equal(resp.event, event);
	assert_int_equal(resp.uid, uid);
	return resp;
}

void
ucma_expect_none(int fd)
{
	assert_false(ucma_is_ready(fd, 0));
}

uint32_t
ucma_routed(int fd, uint64_t uid, uint16_t port)
{
	uint32_t id;

	assert_int_equal(ucma_create_id(fd, uid, RDMA_PS_TCP, &id), 0);
	assert_int_equal(ucma_resolve_ip(fd, id, ADDRESS, port), 0);
	(void)ucma_expect(fd, EVENT_ADDR_RESOLVED, uid);
	assert_int_equal(ucma_resolve_route(fd, id), 0);
	(void)ucma_expect(fd, EVENT_ROUTE_RESOLVED, uid);
	return id;
}

uint32_t
ucma_listener(int fd, uint64_t uid, uint32_t backlog, uint16_t *port)
{
	uint32_t id;

	assert_int_equal(ucma_create_id(fd, uid, RDMA_PS_TCP, &id), 0);
	assert_int_equal(ucma_bind_ip(fd, id, ADDRESS, 0), 0);
	assert_int_equal(ucma_listen(fd, id, backlog), 0);
	*port = ucma_port(fd, id);
	assert_int_not_equal(*port, 0);
	return id;
}
