/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Commands of librdmacm that query the addresses, the device and the path of an id. Programs that
 * were built with older kernel headers have no room for the index of the device, the last field of
 * a response.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <infiniband/ib.h>
#include <uroce.h>

#include "address.h"
#include "command.h"
#include "ctx.h"
#include "kern.h"

/* The P_Key of a device on RoCE: the default P_Key with full membership. */
#define PKEY 0xffff

/* Flags of the path of a connection. On RoCE a connection has only this path. */
#define PATH_FLAGS (IB_PATH_GMP | IB_PATH_PRIMARY | IB_PATH_BIDIRECTIONAL)

/* Selector of a path record: the value that follows is exact [IBA 15.2.5.16]. */
#define SELECT_EXACTLY 2

/*
 * The function of a command that queries an id.
 * @param response  address of the program's memory for the response
 * @param id        the id, which is bound to a device if `id->verbs` is not NULL
 */
typedef int query_fn(struct ucma_call *call, uint64_t response, const struct rdma_cm_id *id);

static int
query_id(struct ucma_call *call, uint32_t id, uint64_t response, query_fn *query)
{
	struct ucma_ctx *ctx;
	int ret = ucma_ctx_get(call->file, id, &ctx);

	if (ret != 0)
		return ret;
	ret = query(call, response, ctx->cm_id);
	ucma_ctx_put(ctx);
	return ret;
}

/* --- addresses and path in one response ------------------------------------------------------------ */

/*
 * Copy the path of an id into the response of a command. Before the route is resolved the id has no
 * path, but its GIDs are known.
 */
static void
copy_paths(struct rdma_ucm_query_route_resp *to, const struct rdma_cm_id *id)
{
	const struct rdma_route *const route = &id->route;

	if (route->num_paths > 0) {
		to->num_paths = 1;
		ibv_copy_path_rec_to_kern(&to->ib_route[0], route->path_rec);
		return;
	}
	address_gid(&route->addr.dst_addr, to->ib_route[0].dgid);
	address_gid(&route->addr.src_addr, to->ib_route[0].sgid);
	to->ib_route[0].pkey = htobe16(PKEY);
}

static int
query_route(struct ucma_call *call, uint64_t response, const struct rdma_cm_id *id)
{
	const struct rdma_addr *const addr = &id->route.addr;
	struct rdma_ucm_query_route_resp resp;

	memset(&resp, 0, sizeof(resp));
	memcpy(&resp.src_addr, &addr->src_storage,
	       address_len(&addr->src_storage, sizeof(resp.src_addr)));
	memcpy(&resp.dst_addr, &addr->dst_storage,
	       address_len(&addr->dst_storage, sizeof(resp.dst_addr)));
	if (id->verbs != NULL) {
		resp.node_guid = uroce_get_device_guid(id->verbs->device);
		resp.ibdev_index = (uint32_t)uroce_get_device_index(id->verbs->device);
		resp.port_num = id->port_num;
		copy_paths(&resp, id);
	}
	return ucma_respond(call, response, &resp, sizeof(resp));
}

int
ucma_query_route(struct ucma_call *call, const void *in)
{
	const struct rdma_ucm_query *const cmd = in;

	return query_id(call, cmd->id, cmd->response, query_route);
}

/* --- addresses, path or GIDs in separate responses -------------------------------------------- */

static void
copy_device(struct rdma_ucm_query_addr_resp *to, const struct rdma_cm_id *id)
{
	if (id->verbs == NULL)
		return;
	to->node_guid = uroce_get_device_guid(id->verbs->device);
	to->ibdev_index = (uint32_t)uroce_get_device_index(id->verbs->device);
	to->port_num = id->port_num;
	to->pkey = PKEY;
}

static int
query_addr(struct ucma_call *call, uint64_t response, const struct rdma_cm_id *id)
{
	const struct rdma_addr *const addr = &id->route.addr;
	struct rdma_ucm_query_addr_resp resp;

	if (call->out_len < offsetof(struct rdma_ucm_query_addr_resp, ibdev_index))
		return -ENOSPC;
	memset(&resp, 0, sizeof(resp));
	resp.src_size = (uint16_t)address_len(&addr->src_storage, sizeof(resp.src_addr));
	memcpy(&resp.src_addr, &addr->src_storage, resp.src_size);
	resp.dst_size = (uint16_t)address_len(&addr->dst_storage, sizeof(resp.dst_addr));
	memcpy(&resp.dst_addr, &addr->dst_storage, resp.dst_size);
	copy_device(&resp, id);
	return ucma_respond(call, response, &resp, sizeof(resp));
}

/*
 * Write the local or the remote address of an id as a sockaddr_ib: the GID, and the service ID of
 * the port.
 */
static void
fill_ib_addr(struct __kernel_sockaddr_storage *to, const struct rdma_cm_id *id, const void *ip)
{
	struct sockaddr_ib ib = {
		.sib_family = AF_IB,
		.sib_pkey = htobe16(PKEY),
		.sib_sid = htobe64(((uint64_t)id->ps << 16) + address_port(ip)),
	};

	address_gid(ip, ib.sib_addr.sib_raw);
	memcpy(to, &ib, sizeof(ib));
}

static int
query_gid(struct ucma_call *call, uint64_t response, const struct rdma_cm_id *id)
{
	struct rdma_ucm_query_addr_resp resp;

	if (call->out_len < offsetof(struct rdma_ucm_query_addr_resp, ibdev_index))
		return -ENOSPC;
	memset(&resp, 0, sizeof(resp));
	copy_device(&resp, id);
	resp.src_size = resp.dst_size = sizeof(struct sockaddr_ib);
	fill_ib_addr(&resp.src_addr, id, &id->route.addr.src_storage);
	fill_ib_addr(&resp.dst_addr, id, &id->route.addr.dst_storage);
	return ucma_respond(call, response, &resp, sizeof(resp));
}

static uint8_t
select_exactly(uint8_t value)
{
	return (uint8_t)(SELECT_EXACTLY << 6 | (value & 0x3f));
}

/* Build the record of an id's path in the format of the wire [IBA 15.2.5.16]. */
static void
pack_path(struct ibv_path_record *to, const struct ibv_sa_path_rec *from)
{
	*to = (struct ibv_path_record){
		.dgid = from->dgid,
		.sgid = from->sgid,
		.flowlabel_hoplimit =
			htobe32((be32toh(from->flow_label) & 0xfffff) << 8 | from->hop_limit),
		.tclass = from->traffic_class,
		.reversible_numpath =
			(uint8_t)(from->reversible != 0 ? IBV_PATH_RECORD_REVERSIBLE : 0) |
			(from->numb_path & 0x7f),
		.pkey = from->pkey,
		.qosclass_sl = htobe16(from->sl & 0xf),
		.mtu = select_exactly(from->mtu),
		.rate = select_exactly(from->rate),
		.packetlifetime = select_exactly(from->packet_life_time),
		.preference = from->preference,
	};
}

static int
query_path(struct ucma_call *call, uint64_t response, const struct rdma_cm_id *id)
{
	union {
		struct rdma_ucm_query_path_resp head;
		/* memory for the fixed fields of the response, and for one path */
		uint8_t bytes[sizeof(struct rdma_ucm_query_path_resp) +
			      sizeof(struct ib_path_rec_data)];
	} resp;
	struct ib_path_rec_data *const path = resp.head.path_data;

	if (call->out_len < sizeof(resp.head))
		return -ENOSPC;
	memset(&resp, 0, sizeof(resp));
	if (id->route.num_paths == 0)
		return ucma_respond(call, response, &resp, sizeof(resp.head));
	resp.head.num_paths = 1;
	path->flags = PATH_FLAGS;
	_Static_assert(sizeof(path->path_rec) == sizeof(struct ibv_path_record),
		       "a path record has 64 bytes");
	pack_path((struct ibv_path_record *)path->path_rec, id->route.path_rec);
	/*
	 * if the program's buffer for the response is too short for the path record, the response
	 * has no byte of it
	 */
	return ucma_respond(call, response, &resp,
			    call->out_len < sizeof(resp) ? sizeof(resp.head) : sizeof(resp));
}

static int
refuse_query(struct ucma_call *call, uint64_t response, const struct rdma_cm_id *id)
{
	(void)call;
	(void)response;
	(void)id;
	return -ENOSYS;
}

int
ucma_query(struct ucma_call *call, const void *in)
{
	static query_fn *const queries[] = {
		[RDMA_USER_CM_QUERY_ADDR] = query_addr,
		[RDMA_USER_CM_QUERY_PATH] = query_path,
		[RDMA_USER_CM_QUERY_GID] = query_gid,
	};
	const struct rdma_ucm_query *const cmd = in;

	if (cmd->option < sizeof(queries) / sizeof(queries[0]))
		return query_id(call, cmd->id, cmd->response, queries[cmd->option]);
	return query_id(call, cmd->id, cmd->response, refuse_query);
}
