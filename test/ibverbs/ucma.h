/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TEST_IBVERBS_UCMA_H
#define UROCE_TEST_IBVERBS_UCMA_H

/**
 * @file
 * Functions that write commands of <rdma/rdma_user_cm.h> to /dev/infiniband/rdma_cm, as librdmacm
 * does. A function that writes a command returns 0, or the errno of write(). ADDRESS is the address
 * of the device.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <netinet/in.h>
#include <rdma/rdma_user_cm.h>

#define UCMA_PATH  "/dev/infiniband/rdma_cm"
#define ADDRESS    "192.0.2.1"
#define TIMEOUT_MS 300000         /* time limit, which only a hang exceeds */
#define UNMAPPED   ((uint64_t)16) /* an address at which no memory is mapped */
#define UNKNOWN_ID 0x7ffffffeu

/*
 * Numbers of events, as in rdma_cma.h. That header of librdmacm cannot be included together with
 * the kernel's.
 */
enum {
	EVENT_ADDR_RESOLVED = 0,
	EVENT_ADDR_ERROR = 1,
	EVENT_ROUTE_RESOLVED = 2,
	EVENT_CONNECT_REQUEST = 4,
	EVENT_CONNECT_RESPONSE = 5,
	EVENT_UNREACHABLE = 7,
	EVENT_REJECTED = 8,
	EVENT_ESTABLISHED = 9,
	EVENT_DISCONNECTED = 10,
	EVENT_MULTICAST_JOIN = 12,
	EVENT_TIMEWAIT_EXIT = 15,
};

/** Open /dev/infiniband/rdma_cm. The test fails if the open fails. */
int ucma_open(int flags);

/**
 * Write command `cmd`.
 * @param in  the struct of the command
 * @param out_len  length of the room for the response
 */
int ucma_cmd(int fd, uint32_t cmd, const void *in, size_t in_len, size_t out_len);

/**
 * Write a command as ucma_cmd() does. `cmd` is the name of the command without its prefix, and `in`
 * is its struct.
 */
#define UCMA_CMD(fd, cmd, in, out_len)                                                             \
	ucma_cmd(fd, RDMA_USER_CM_CMD_##cmd, &(in), sizeof(in), out_len)

int ucma_create_id(int fd, uint64_t uid, uint16_t ps, uint32_t *id);
int ucma_destroy_id(int fd, uint32_t id, uint32_t *nb_events);
int ucma_bind_ip(int fd, uint32_t id, const char *address, uint16_t port);
int ucma_resolve_ip(int fd, uint32_t id, const char *address, uint16_t port);
int ucma_resolve_route(int fd, uint32_t id);
int ucma_listen(int fd, uint32_t id, uint32_t backlog);
int ucma_connect(int fd, uint32_t id, uint32_t qp_num);
int ucma_accept(int fd, uint32_t id, uint64_t uid, uint32_t qp_num);
int ucma_establish(int fd, uint32_t id);
int ucma_reject(int fd, uint32_t id, uint8_t reason);
int ucma_disconnect(int fd, uint32_t id);
int ucma_migrate_id(int fd, uint32_t id, int from, uint32_t *nb_events);
int ucma_set_option(int fd, uint32_t id, uint32_t level, uint32_t name, const void *value,
		    uint32_t len);
int ucma_query_route(int fd, uint32_t id, struct rdma_ucm_query_route_resp *resp);
int ucma_query_addr(int fd, uint32_t id, struct rdma_ucm_query_addr_resp *resp);
int ucma_get_event(int fd, struct rdma_ucm_event_resp *resp);

/** Make the struct of an IPv4 address and a port that a command has. */
struct sockaddr_in6 ucma_addr(const char *address, uint16_t port);

/** Get the port to which an id is bound. */
uint16_t ucma_port(int fd, uint32_t id);

/**
 * Wait until a descriptor is readable.
 * @return false: the descriptor is not readable within `timeout_ms`
 */
bool ucma_is_ready(int fd, int timeout_ms);

/** Wait for an event. Check that it is `event`, and that its id has the cookie `uid`. */
struct rdma_ucm_event_resp ucma_expect(int fd, uint32_t event, uint64_t uid);

/** Check that no event is pending. */
void ucma_expect_none(int fd);

/** Create an id with the cookie `uid`, and resolve the route to a port of the device itself. */
uint32_t ucma_routed(int fd, uint64_t uid, uint16_t port);

/**
 * Create an id with the cookie `uid`, and listen.
 * @param[out] port port of the listener
 */
uint32_t ucma_listener(int fd, uint64_t uid, uint32_t backlog, uint16_t *port);

#endif /* UROCE_TEST_IBVERBS_UCMA_H */
