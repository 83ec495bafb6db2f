/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TEST_IBVERBS_UCMA_H
#define UROCE_TEST_IBVERBS_UCMA_H

/**
 * @file
 * Commands of <rdma/rdma_user_cm.h>, written to /dev/infiniband/rdma_cm as librdmacm does. Each
 * function of a command returns 0 or the errno of write(). The address of the device is ADDRESS.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <netinet/in.h>
#include <rdma/rdma_user_cm.h>

#define UCMA_PATH  "/dev/infiniband/rdma_cm"
#define ADDRESS    "192.0.2.1"
#define TIMEOUT_MS 60000          /* only a hang takes as long */
#define UNMAPPED   ((uint64_t)16) /* an address that is never mapped */
#define UNKNOWN_ID 0x7ffffffeu

/* Events of librdmacm, whose header cannot be included together with that of the kernel. */
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

/** Open the file; the test fails if that fails. */
int ucma_open(int flags);

/** Write a command: its struct and the room for the response. */
int ucma_cmd(int fd, uint32_t cmd, const void *in, size_t in_len, size_t out_len);

/** As ucma_cmd() for a struct; `out` is the struct of the response. */
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

/** The address of IPv4 in the form of a command. */
struct sockaddr_in6 ucma_addr(const char *address, uint16_t port);

/** The port to which an id is bound. */
uint16_t ucma_port(int fd, uint32_t id);

/** Whether the descriptor polls readable within this time. */
bool ucma_is_ready(int fd, int timeout_ms);

/** Wait for an event, and check that it is this one, for the id with this cookie. */
struct rdma_ucm_event_resp ucma_expect(int fd, uint32_t event, uint64_t uid);

/** Check that no event waits. */
void ucma_expect_none(int fd);

/** An id with a resolved route to the device itself. */
uint32_t ucma_routed(int fd, uint64_t uid, uint16_t port);

/** A listener. @param[out] port  its port */
uint32_t ucma_listener(int fd, uint64_t uid, uint32_t backlog, uint16_t *port);

#endif /* UROCE_TEST_IBVERBS_UCMA_H */
