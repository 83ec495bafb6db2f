/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Commands of librdmacm that bind ids to addresses, and resolve addresses and routes. The older
 * commands, whose names end with IP, only have room for an IP address.
 */

#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "address.h"
#include "command.h"
#include "ctx.h"

static int
bind_id(struct ucma_call *call, uint32_t id, const void *addr)
{
	struct ucma_ctx *ctx;
	int ret = ucma_ctx_get(call->file, id, &ctx);

	if (ret != 0)
		return ret;
	ret = uroce_cm_bind_addr(ctx->cm_id, (struct sockaddr *)(uintptr_t)addr) != 0 ? -errno : 0;
	ucma_ctx_put(ctx);
	return ret;
}

int
ucma_bind_ip(struct ucma_call *call, const void *in)
{
	const struct rdma_ucm_bind_ip *const cmd = in;

	if (address_len(&cmd->addr, sizeof(cmd->addr)) == 0)
		return -EINVAL;
	return bind_id(call, cmd->id, &cmd->addr);
}

int
ucma_bind(struct ucma_call *call, const void *in)
{
	const struct rdma_ucm_bind *const cmd = in;
	const size_t len = address_len(&cmd->addr, sizeof(cmd->addr));

	if (cmd->reserved != 0 || len == 0 || cmd->addr_size != len)
		return -EINVAL;
	return bind_id(call, cmd->id, &cmd->addr);
}

/*
 * Resolve the destination address `dst` for an id.
 * @param src  the address to which the id is bound; NULL: the command names no such address
 */
static int
resolve(struct ucma_call *call, uint32_t id, const void *src, const void *dst, uint32_t timeout_ms)
{
	struct ucma_ctx *ctx;
	int ret = ucma_ctx_get(call->file, id, &ctx);

	if (ret != 0)
		return ret;
	if (uroce_cm_resolve_addr(ctx->cm_id, (struct sockaddr *)(uintptr_t)src,
				  (struct sockaddr *)(uintptr_t)dst, (int)timeout_ms) != 0)
		ret = -errno;
	ucma_ctx_put(ctx);
	return ret;
}

int
ucma_resolve_ip(struct ucma_call *call, const void *in)
{
	const struct rdma_ucm_resolve_ip *const cmd = in;
	const bool has_src = cmd->src_addr.sin6_family != 0;

	if ((has_src && address_len(&cmd->src_addr, sizeof(cmd->src_addr)) == 0) ||
	    address_len(&cmd->dst_addr, sizeof(cmd->dst_addr)) == 0)
		return -EINVAL;
	return resolve(call, cmd->id, has_src ? &cmd->src_addr : NULL, &cmd->dst_addr,
		       cmd->timeout_ms);
}

int
ucma_resolve_addr(struct ucma_call *call, const void *in)
{
	const struct rdma_ucm_resolve_addr *const cmd = in;
	const size_t src_len = address_len(&cmd->src_addr, sizeof(cmd->src_addr));
	const size_t dst_len = address_len(&cmd->dst_addr, sizeof(cmd->dst_addr));

	if (cmd->reserved != 0 || (cmd->src_size != 0 && cmd->src_size != src_len) ||
	    cmd->dst_size == 0 || cmd->dst_size != dst_len)
		return -EINVAL;
	return resolve(call, cmd->id, cmd->src_size != 0 ? &cmd->src_addr : NULL, &cmd->dst_addr,
		       cmd->timeout_ms);
}

int
ucma_resolve_route(struct ucma_call *call, const void *in)
{
	const struct rdma_ucm_resolve_route *const cmd = in;
	struct ucma_ctx *ctx;
	int ret = ucma_ctx_get_bound(call->file, cmd->id, &ctx);

	if (ret != 0)
		return ret;
	if (uroce_cm_resolve_route(ctx->cm_id, (int)cmd->timeout_ms) != 0)
		ret = -errno;
	ucma_ctx_put(ctx);
	return ret;
}
