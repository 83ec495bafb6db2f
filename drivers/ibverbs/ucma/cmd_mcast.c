/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Commands of librdmacm that join and leave multicast groups. The program attaches its QP when it
 * gets the event MULTICAST_JOIN.
 */

#include <errno.h>
#include <string.h>

#include "address.h"
#include "command.h"
#include "ctx.h"
#include "file.h"

/* The fields that the commands JOIN_IP_MCAST and JOIN_MCAST of librdmacm have in common. */
struct join {
	uint64_t response;
	uint64_t uid;
	uint32_t id;
	uint32_t flags;
	const void *addr;
	size_t addr_len;
};

/*
 * Join a multicast group, and write the number of the membership to the program. If the number
 * cannot be written, leave the group again.
 */
static int
join_as(struct ucma_call *call, const struct join *join, struct ucma_ctx *ctx,
	struct ucma_mcast *mcast)
{
	struct rdma_cm_join_mc_attr_ex attr = {
		.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS,
		.join_flags = join->flags,
		.addr = (struct sockaddr *)&mcast->addr,
	};
	const struct rdma_ucm_create_id_resp resp = { .id = mcast->id };
	int ret;

	memcpy(&mcast->addr, join->addr, join->addr_len);
	if (uroce_cm_join_multicast_ex(ctx->cm_id, &attr, mcast) != 0)
		return -errno;
	ret = ucma_respond(call, join->response, &resp, sizeof(resp));
	if (ret == 0)
		ucma_mcast_publish(mcast);
	else
		(void)uroce_cm_leave_multicast(ctx->cm_id, attr.addr);
	return ret;
}

static int
join_group(struct ucma_call *call, const struct join *join)
{
	struct ucma_mcast *mcast;
	struct ucma_ctx *ctx;
	int ret;

	if (join->flags >= RDMA_MC_JOIN_FLAG_RESERVED)
		return -EINVAL;
	ret = ucma_ctx_get_bound(call->file, join->id, &ctx);
	if (ret != 0)
		return ret;
	mcast = ucma_mcast_new(ctx, join->uid);
	ret = mcast != NULL ? join_as(call, join, ctx, mcast) : -ENOMEM;
	if (ret != 0 && mcast != NULL)
		ucma_mcast_free(mcast);
	ucma_ctx_put(ctx);
	return ret;
}

int
ucma_join_ip_mcast(struct ucma_call *call, const void *in)
{
	const struct rdma_ucm_join_ip_mcast *const cmd = in;
	const struct join join = {
		.response = cmd->response,
		.uid = cmd->uid,
		.id = cmd->id,
		.flags = RDMA_MC_JOIN_FLAG_FULLMEMBER,
		.addr = &cmd->addr,
		.addr_len = address_len(&cmd->addr, sizeof(cmd->addr)),
	};

	return join.addr_len != 0 ? join_group(call, &join) : -EINVAL;
}

int
ucma_join_mcast(struct ucma_call *call, const void *in)
{
	const struct rdma_ucm_join_mcast *const cmd = in;
	const struct join join = {
		.response = cmd->response,
		.uid = cmd->uid,
		.id = cmd->id,
		.flags = cmd->join_flags,
		.addr = &cmd->addr,
		.addr_len = address_len(&cmd->addr, sizeof(cmd->addr)),
	};

	if (join.addr_len == 0 || cmd->addr_size != join.addr_len)
		return -EINVAL;
	return join_group(call, &join);
}

int
ucma_leave_mcast(struct ucma_call *call, const void *in)
{
	const struct rdma_ucm_destroy_id *const cmd = in;
	struct rdma_ucm_destroy_id_resp resp;
	struct ucma_mcast *mcast;
	const int ret = ucma_mcast_take(call->file, cmd->id, &mcast);

	if (ret != 0)
		return ret;
	/*
	 * nb_events_reported is read after uroce_cm_leave_multicast(), which waits until each event
	 * of the group is acknowledged: GET_EVENT counts an event before it acknowledges the event.
	 */
	(void)uroce_cm_leave_multicast(mcast->ctx->cm_id, (struct sockaddr *)&mcast->addr);
	resp.events_reported = mcast->nb_events_reported;
	ucma_ctx_put(mcast->ctx);
	ucma_mcast_free(mcast);
	pthread_mutex_lock(&ucma_lock);
	ucma_file_update(call->file, call->fd);
	pthread_mutex_unlock(&ucma_lock);
	return ucma_respond(call, cmd->response, &resp, sizeof(resp));
}
