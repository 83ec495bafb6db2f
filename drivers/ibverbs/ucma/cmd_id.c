/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands of librdmacm that create, destroy and move ids, and set their options. */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "command.h"
#include "ctx.h"
#include "file.h"
#include "user_memory.h"

/* Maximum length in bytes of the value that the command SET_OPTION has, as in the kernel. */
#define OPTION_LEN_MAX (4u << 20)

/*
 * Check whether a program may give a QP type to an id of RDMA_PS_IB. For an id of any other port
 * space, the port space determines the QP type.
 */
static bool
is_type(uint8_t qp_type)
{
	return qp_type == IBV_QPT_RC || qp_type == IBV_QPT_UC || qp_type == IBV_QPT_UD ||
	       qp_type == IBV_QPT_XRC_SEND || qp_type == IBV_QPT_XRC_RECV;
}

static int
create_cm_id(struct ucma_file *file, const struct rdma_ucm_create_id *cmd,
	     struct rdma_cm_id **cm_id)
{
	if (cmd->ps == RDMA_PS_IB && !is_type(cmd->qp_type))
		return -EINVAL;
	if (uroce_cm_create_id(file->channel, cm_id, NULL, cmd->ps) != 0)
		return -errno;
	if (cmd->ps == RDMA_PS_IB)
		(*cm_id)->qp_type = cmd->qp_type;
	return 0;
}

int
ucma_create_id(struct ucma_call *call, const void *in)
{
	const struct rdma_ucm_create_id *const cmd = in;
	struct ucma_ctx *const ctx = ucma_ctx_new(cmd->uid);
	struct rdma_ucm_create_id_resp resp;
	int ret;

	if (ctx == NULL)
		return -ENOMEM;
	ret = create_cm_id(call->file, cmd, &ctx->cm_id);
	if (ret != 0) {
		ucma_ctx_free(ctx);
		return ret;
	}
	resp.id = ctx->id;
	ret = ucma_respond(call, cmd->response, &resp, sizeof(resp));
	if (ret != 0) {
		(void)uroce_cm_destroy_id(ctx->cm_id);
		ucma_ctx_free(ctx);
		return ret;
	}
	pthread_mutex_lock(&ucma_lock);
	ucma_ctx_publish(ctx, call->file);
	pthread_mutex_unlock(&ucma_lock);
	return 0;
}

int
ucma_destroy_id(struct ucma_call *call, const void *in)
{
	const struct rdma_ucm_destroy_id *const cmd = in;
	struct rdma_ucm_destroy_id_resp resp;
	const int ret = ucma_ctx_destroy(call->file, cmd->id, &resp.events_reported);

	if (ret != 0)
		return ret;
	pthread_mutex_lock(&ucma_lock);
	ucma_file_update(call->file, call->fd);
	pthread_mutex_unlock(&ucma_lock);
	return ucma_respond(call, cmd->response, &resp, sizeof(resp));
}

/*
 * Move an id, for which a command is in progress, to another open file of /dev/infiniband/rdma_cm.
 */
static int
move(struct ucma_ctx *ctx, struct ucma_file *to)
{
	if (ctx->file == to)
		return 0;
	if (uroce_cm_migrate_id(ctx->cm_id, to->channel) != 0)
		return -errno;
	pthread_mutex_lock(&ucma_lock);
	LIST_REMOVE(ctx, link);
	ctx->file = to;
	LIST_INSERT_HEAD(&to->ctxs, ctx, link);
	pthread_mutex_unlock(&ucma_lock);
	return 0;
}

int
ucma_migrate_id(struct ucma_call *call, const void *in)
{
	const struct rdma_ucm_migrate_id *const cmd = in;
	const int fd = (int)cmd->fd;
	struct ucma_file *const from = ucma_file_get(fd);
	struct rdma_ucm_migrate_resp resp;
	struct ucma_ctx *ctx;
	int ret;

	if (from == NULL)
		return fcntl(fd, F_GETFD) < 0 ? -ENOENT : -EINVAL;
	ret = ucma_ctx_get(from, cmd->id, &ctx);
	if (ret == 0) {
		ret = move(ctx, call->file);
		pthread_mutex_lock(&ucma_lock);
		resp.events_reported = ctx->nb_events_reported;
		ucma_file_update(from, fd);
		ucma_file_update(call->file, call->fd);
		pthread_mutex_unlock(&ucma_lock);
		ucma_ctx_put(ctx);
	}
	ucma_file_put(from);
	return ret == 0 ? ucma_respond(call, cmd->response, &resp, sizeof(resp)) : ret;
}

int
ucma_set_option(struct ucma_call *call, const void *in)
{
	const struct rdma_ucm_set_option *const cmd = in;
	struct ucma_ctx *ctx;
	void *value;
	int ret;

	if (cmd->optlen > OPTION_LEN_MAX)
		return -EINVAL;
	ret = ucma_ctx_get(call->file, cmd->id, &ctx);
	if (ret != 0)
		return ret;
	value = malloc(cmd->optlen + 1);
	if (value == NULL)
		ret = -ENOMEM;
	else
		ret = user_memory_read(value, (const void *)(uintptr_t)cmd->optval, cmd->optlen);
	if (ret == 0 && uroce_cm_set_option(ctx->cm_id, (int)cmd->level, (int)cmd->optname, value,
					    cmd->optlen) != 0)
		ret = -errno;
	ucma_ctx_put(ctx);
	free(value);
	return ret;
}
