/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A context: a device opened by a program. It carries the tables that verbs' inline calls go
 * through; what is not there answers "not supported" by itself, or by the functions below.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/event.h"
#include "verbs/object.h"
#include "verbs/query.h"
#include "verbs/uroce.h"

/* The inline call jumps through this without a look: it must not be NULL. */

static int
refuse_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	(void)srq;
	*bad_wr = wr;
	return EOPNOTSUPP;
}

static void
fill_tables(struct uroce_vcontext *context)
{
	struct verbs_context *const verbs = &context->verbs;

	verbs->sz = sizeof(*verbs);
	verbs->query_port = uroce_query_port_sized;
	verbs->query_device_ex = uroce_query_device_sized;
	verbs->context.abi_compat = __VERBS_ABI_IS_EXTENDED;
	verbs->context.ops = (struct ibv_context_ops){
		.alloc_mw = uroce_alloc_mw,
		.bind_mw = uroce_bind_mw,
		.dealloc_mw = uroce_dealloc_mw,
		.poll_cq = uroce_poll_cq,
		.req_notify_cq = uroce_req_notify_cq,
		.post_srq_recv = refuse_post_srq_recv,
		.post_send = uroce_post_send,
		.post_recv = uroce_post_recv,
	};
}

struct ibv_context *
uroce_open_device(struct ibv_device *ibv)
{
	struct uroce_vcontext *context;
	int ret;

	if (ibv == NULL) {
		errno = EINVAL;
		return NULL;
	}
	context = calloc(1, sizeof(*context));
	if (context == NULL)
		return NULL;
	context->device = uroce_vdevice(ibv);
	context->verbs.context.device = ibv;
	context->verbs.context.cmd_fd = -1;
	context->verbs.context.num_comp_vectors = (int)context->device->dev->nb_workers;
	fill_tables(context);
	pthread_mutex_init(&context->verbs.context.mutex, NULL);
	ret = uroce_vevent_open(context);
	if (ret != 0) {
		pthread_mutex_destroy(&context->verbs.context.mutex);
		free(context);
		errno = -ret;
		return NULL;
	}
	return &context->verbs.context;
}

int
uroce_close_device(struct ibv_context *ibv)
{
	struct uroce_vcontext *const context = uroce_vcontext(ibv);

	if (uroce_users_any(ibv, &context->nb_users)) {
		errno = EBUSY;
		return -1;
	}
	uroce_vevent_close(context);
	pthread_mutex_destroy(&ibv->mutex);
	free(context);
	return 0;
}

int
uroce_get_worker_count(struct ibv_context *context)
{
	return (int)uroce_vcontext_dev(context)->nb_workers;
}

struct uroce_worker *
uroce_get_worker(struct ibv_context *context, int idx)
{
	const struct uroce_dev *const dev = uroce_vcontext_dev(context);

	if (idx < 0 || (unsigned)idx >= dev->nb_workers) {
		errno = EINVAL;
		return NULL;
	}
	return dev->worker[idx];
}
