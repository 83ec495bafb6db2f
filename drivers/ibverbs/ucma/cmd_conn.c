/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Commands of librdmacm that connect and disconnect ids. The program itself moves its QP through
 * the states, with the attributes that the command INIT_QP_ATTR returns.
 */

#include <errno.h>

#include "command.h"
#include "ctx.h"
#include "kern.h"

/* Reasons of a REJ that a program may give in the command REJECT [IBA 12.6.7.2]. */
#define REASON_CONSUMER_DEFINED            28
#define REASON_VENDOR_OPTION_NOT_SUPPORTED 35

/*
 * Convert the result of a call of <uroce_cm.h> to the result of a command of librdmacm.
 * @param ret  the result of the call; if it is not 0, the call has set errno
 * @return 0, or -errno
 */
static int
end(struct ucma_ctx *ctx, int ret)
{
	const int err = ret != 0 ? -errno : 0;

	ucma_ctx_put(ctx);
	return err;
}

static void
copy_conn_param(struct rdma_conn_param *to, const struct rdma_ucm_conn_param *from)
{
	*to = (struct rdma_conn_param){
		.private_data = from->private_data,
		.private_data_len = from->private_data_len,
		.responder_resources = from->responder_resources,
		.initiator_depth = from->initiator_depth,
		.flow_control = from->flow_control,
		.retry_count = from->retry_count,
		.rnr_retry_count = from->rnr_retry_count,
		.srq = from->srq,
		.qp_num = from->qp_num & 0xffffff,
	};
}

/*
 * Set the ECE options that the connection request or the reply of an id carries, if the command of
 * librdmacm has such options.
 */
static int
set_ece(struct ucma_ctx *ctx, const struct rdma_ucm_ece *from)
{
	struct ibv_ece ece = { .vendor_id = from->vendor_id, .options = from->attr_mod };

	return ece.vendor_id != 0 ? uroce_cm_set_local_ece(ctx->cm_id, &ece) : 0;
}

int
ucma_connect(struct ucma_call *call, const void *in)
{
	const struct rdma_ucm_connect *const cmd = in;
	struct rdma_conn_param param;
	struct ucma_ctx *ctx;
	int ret;

	if (!cmd->conn_param.valid)
		return -EINVAL;
	ret = ucma_ctx_get_bound(call->file, cmd->id, &ctx);
	if (ret != 0)
		return ret;
	copy_conn_param(&param, &cmd->conn_param);
	ret = set_ece(ctx, &cmd->ece);
	if (ret == 0)
		ret = uroce_cm_connect(ctx->cm_id, &param);
	return end(ctx, ret);
}

int
ucma_listen(struct ucma_call *call, const void *in)
{
	const struct rdma_ucm_listen *const cmd = in;
	struct ucma_ctx *ctx;
	const int ret = ucma_ctx_get(call->file, cmd->id, &ctx);

	if (ret != 0)
		return ret;
	return end(ctx, uroce_cm_listen(ctx->cm_id, (int)cmd->backlog));
}

static uint64_t
set_uid(struct ucma_ctx *ctx, uint64_t uid)
{
	uint64_t before;

	pthread_mutex_lock(&ucma_lock);
	before = ctx->uid;
	ctx->uid = uid;
	pthread_mutex_unlock(&ucma_lock);
	return before;
}

/*
 * Accept a connection request, or complete a connection that the id has requested. The cookie of
 * the id is set before uroce_cm_accept() is called, because an event of the id may follow at once.
 */
static int
accept_with(struct ucma_ctx *ctx, const struct rdma_ucm_accept *cmd)
{
	struct rdma_conn_param param;
	uint64_t before;

	if (set_ece(ctx, &cmd->ece) != 0)
		return -1;
	copy_conn_param(&param, &cmd->conn_param);
	before = set_uid(ctx, cmd->uid);
	if (uroce_cm_accept(ctx->cm_id, &param) == 0)
		return 0;
	(void)set_uid(ctx, before);
	return -1;
}

int
ucma_accept(struct ucma_call *call, const void *in)
{
	const struct rdma_ucm_accept *const cmd = in;
	struct ucma_ctx *ctx;
	const int ret = ucma_ctx_get_bound(call->file, cmd->id, &ctx);

	if (ret != 0)
		return ret;
	return end(ctx, cmd->conn_param.valid ? accept_with(ctx, cmd)
					      : uroce_cm_accept(ctx->cm_id, NULL));
}

int
ucma_reject(struct ucma_call *call, const void *in)
{
	const struct rdma_ucm_reject *const cmd = in;
	const bool is_ece = cmd->reason == REASON_VENDOR_OPTION_NOT_SUPPORTED;
	struct ucma_ctx *ctx;
	int ret;

	if (cmd->reason != 0 && cmd->reason != REASON_CONSUMER_DEFINED && !is_ece)
		return -EINVAL;
	ret = ucma_ctx_get_bound(call->file, cmd->id, &ctx);
	if (ret != 0)
		return ret;
	return end(ctx, (is_ece ? uroce_cm_reject_ece : uroce_cm_reject)(
				ctx->cm_id, cmd->private_data, cmd->private_data_len));
}

int
ucma_disconnect(struct ucma_call *call, const void *in)
{
	const struct rdma_ucm_disconnect *const cmd = in;
	struct ucma_ctx *ctx;
	const int ret = ucma_ctx_get_bound(call->file, cmd->id, &ctx);

	if (ret != 0)
		return ret;
	return end(ctx, uroce_cm_disconnect(ctx->cm_id));
}

int
ucma_notify(struct ucma_call *call, const void *in)
{
	const struct rdma_ucm_notify *const cmd = in;
	struct ucma_ctx *ctx;
	const int ret = ucma_ctx_get_bound(call->file, cmd->id, &ctx);

	if (ret != 0)
		return ret;
	return end(ctx, uroce_cm_notify(ctx->cm_id, (enum ibv_event_type)cmd->event));
}

int
ucma_init_qp_attr(struct ucma_call *call, const void *in)
{
	const struct rdma_ucm_init_qp_attr *const cmd = in;
	struct ibv_qp_attr attr = { .qp_state = (enum ibv_qp_state)cmd->qp_state };
	struct ib_uverbs_qp_attr resp = { .qp_attr_mask = 0 };
	struct ucma_ctx *ctx;
	int mask = 0, ret;

	if (cmd->qp_state > IBV_QPS_ERR)
		return -EINVAL;
	ret = ucma_ctx_get_bound(call->file, cmd->id, &ctx);
	if (ret != 0)
		return ret;
	ret = end(ctx, uroce_cm_init_qp_attr(ctx->cm_id, &attr, &mask));
	if (ret != 0)
		return ret;
	kern_copy_qp_attr(&resp, &attr);
	resp.qp_attr_mask = (uint32_t)mask;
	return ucma_respond(call, cmd->response, &resp, sizeof(resp));
}
