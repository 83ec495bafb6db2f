/* SPDX-License-Identifier: BSD-3-Clause */
#include "command.h"

#include <errno.h>
#include <string.h>

#include "user_memory.h"

/* Size of a struct up to the end of a field. */
#define END_OF(type, field) (offsetof(type, field) + sizeof(((type *)NULL)->field))

/*
 * The commands of librdmacm. A command without a handler is unknown to the kernel as well. Programs
 * that were built with older kernel headers give shorter structs, and less room for responses: the
 * fields that <rdma/rdma_user_cm.h> got later may be missing.
 */
static const struct command {
	ucma_handler *handler;
	uint16_t in_min; /* minimum number of bytes of the command that the program must give */
	/* size of the command's struct; if the program gives more bytes, they are ignored */
	uint16_t in_len;
	/* minimum number of bytes that the program must have for the response */
	uint16_t out_min;
} commands[] = {
#define IN(type)               sizeof(struct type), sizeof(struct type)
#define IN_FROM(type, field)   END_OF(struct type, field), sizeof(struct type)
#define OUT(type)              sizeof(struct type)
#define OUT_UP_TO(type, field) offsetof(struct type, field)
	[RDMA_USER_CM_CMD_CREATE_ID] = { ucma_create_id, IN(rdma_ucm_create_id),
					 OUT(rdma_ucm_create_id_resp) },
	[RDMA_USER_CM_CMD_DESTROY_ID] = { ucma_destroy_id, IN(rdma_ucm_destroy_id),
					  OUT(rdma_ucm_destroy_id_resp) },
	[RDMA_USER_CM_CMD_BIND_IP] = { ucma_bind_ip, IN_FROM(rdma_ucm_bind_ip, id), 0 },
	[RDMA_USER_CM_CMD_RESOLVE_IP] = { ucma_resolve_ip, IN(rdma_ucm_resolve_ip), 0 },
	[RDMA_USER_CM_CMD_RESOLVE_ROUTE] = { ucma_resolve_route, IN(rdma_ucm_resolve_route), 0 },
	[RDMA_USER_CM_CMD_QUERY_ROUTE] = { ucma_query_route, IN_FROM(rdma_ucm_query, id),
					   OUT_UP_TO(rdma_ucm_query_route_resp, ibdev_index) },
	[RDMA_USER_CM_CMD_CONNECT] = { ucma_connect, IN_FROM(rdma_ucm_connect, reserved), 0 },
	[RDMA_USER_CM_CMD_LISTEN] = { ucma_listen, IN(rdma_ucm_listen), 0 },
	[RDMA_USER_CM_CMD_ACCEPT] = { ucma_accept, IN_FROM(rdma_ucm_accept, reserved), 0 },
	[RDMA_USER_CM_CMD_REJECT] = { ucma_reject, IN(rdma_ucm_reject), 0 },
	[RDMA_USER_CM_CMD_DISCONNECT] = { ucma_disconnect, IN(rdma_ucm_disconnect), 0 },
	[RDMA_USER_CM_CMD_INIT_QP_ATTR] = { ucma_init_qp_attr, IN(rdma_ucm_init_qp_attr),
					    OUT(ib_uverbs_qp_attr) },
	[RDMA_USER_CM_CMD_GET_EVENT] = { ucma_get_event, IN(rdma_ucm_get_event),
					 OUT_UP_TO(rdma_ucm_event_resp, reserved) },
	[RDMA_USER_CM_CMD_GET_OPTION] = { NULL, 0, 0, 0 },
	[RDMA_USER_CM_CMD_SET_OPTION] = { ucma_set_option, IN(rdma_ucm_set_option), 0 },
	[RDMA_USER_CM_CMD_NOTIFY] = { ucma_notify, IN(rdma_ucm_notify), 0 },
	[RDMA_USER_CM_CMD_JOIN_IP_MCAST] = { ucma_join_ip_mcast,
					     IN_FROM(rdma_ucm_join_ip_mcast, id),
					     OUT(rdma_ucm_create_id_resp) },
	[RDMA_USER_CM_CMD_LEAVE_MCAST] = { ucma_leave_mcast, IN(rdma_ucm_destroy_id),
					   OUT(rdma_ucm_destroy_id_resp) },
	[RDMA_USER_CM_CMD_MIGRATE_ID] = { ucma_migrate_id, IN(rdma_ucm_migrate_id),
					  OUT(rdma_ucm_migrate_resp) },
	[RDMA_USER_CM_CMD_QUERY] = { ucma_query, IN(rdma_ucm_query), 0 },
	[RDMA_USER_CM_CMD_BIND] = { ucma_bind, IN(rdma_ucm_bind), 0 },
	[RDMA_USER_CM_CMD_RESOLVE_ADDR] = { ucma_resolve_addr, IN(rdma_ucm_resolve_addr), 0 },
	[RDMA_USER_CM_CMD_JOIN_MCAST] = { ucma_join_mcast, IN(rdma_ucm_join_mcast),
					  OUT(rdma_ucm_create_id_resp) },
};

#define NB_COMMANDS (sizeof(commands) / sizeof(commands[0]))

/* Memory for the struct of any command of librdmacm. */
union input {
	struct rdma_ucm_resolve_addr resolve_addr;
	struct rdma_ucm_connect connect;
	struct rdma_ucm_accept accept;
};

int
ucma_respond(const struct ucma_call *call, uint64_t response, const void *from, size_t len)
{
	return user_memory_write(response, from, len < call->out_len ? len : call->out_len);
}

ssize_t
ucma_command(struct ucma_call *call, const void *buf, size_t len)
{
	union input in;
	struct rdma_ucm_cmd_hdr hdr;
	const struct command *command;
	int ret;

	if (len < sizeof(hdr))
		return -EINVAL;
	ret = user_memory_read(&hdr, buf, sizeof(hdr));
	if (ret != 0)
		return ret;
	if (hdr.cmd >= NB_COMMANDS || hdr.in > len - sizeof(hdr))
		return -EINVAL;
	command = &commands[hdr.cmd];
	if (command->handler == NULL)
		return -ENOSYS;
	if (hdr.in < command->in_min)
		return -EINVAL;
	if (hdr.out < command->out_min)
		return -ENOSPC;
	memset(&in, 0, sizeof(in));
	ret = user_memory_read(&in, (const char *)buf + sizeof(hdr),
			       hdr.in < command->in_len ? hdr.in : command->in_len);
	if (ret != 0)
		return ret;
	call->out_len = hdr.out;
	ret = command->handler(call, &in);
	return ret == 0 ? (ssize_t)len : ret;
}
