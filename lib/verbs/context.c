/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Contexts: a context is a device that a program has opened. A context holds the tables of
 * operations that the inline calls of <infiniband/verbs.h> use. An operation that uroce does not
 * have is NULL in these tables, and the inline call returns EOPNOTSUPP.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "verbs/event.h"
#include "verbs/object.h"
#include "verbs/query.h"
#include "verbs/uroce.h"

static void
fill_tables(struct uroce_vcontext *context)
{
	struct verbs_context *const verbs = &context->verbs;

	verbs->sz = sizeof(*verbs);
	verbs->query_port = uroce_query_port_sized;
	verbs->query_device_ex = uroce_query_device_sized;
	verbs->query_rt_values = uroce_query_rt_values_ex;
	verbs->alloc_td = uroce_alloc_td;
	verbs->dealloc_td = uroce_dealloc_td;
	verbs->alloc_parent_domain = uroce_alloc_parent_domain;
	verbs->create_srq_ex = uroce_create_srq_ex;
	verbs->get_srq_num = uroce_get_srq_num;
	verbs->advise_mr = uroce_advise_mr;
	verbs->alloc_null_mr = uroce_alloc_null_mr;
	verbs->open_xrcd = uroce_open_xrcd;
	verbs->close_xrcd = uroce_close_xrcd;
	verbs->create_qp_ex = uroce_create_qp_ex;
	verbs->open_qp = uroce_open_qp;
	verbs->alloc_dm = uroce_alloc_dm;
	verbs->free_dm = uroce_free_dm;
	verbs->reg_dm_mr = uroce_reg_dm_mr;
	verbs->create_cq_ex = uroce_create_cq_ex;
	verbs->context.abi_compat = __VERBS_ABI_IS_EXTENDED;
	verbs->context.ops = (struct ibv_context_ops){
		.alloc_mw = uroce_alloc_mw,
		.bind_mw = uroce_bind_mw,
		.dealloc_mw = uroce_dealloc_mw,
		.poll_cq = uroce_poll_cq,
		.req_notify_cq = uroce_req_notify_cq,
		.post_srq_recv = uroce_post_srq_recv,
		.post_send = uroce_post_send,
		.post_recv = uroce_post_recv,
	};
}

static struct ibv_context *
refuse_context(int err)
{
	errno = err;
	return NULL;
}

/*
 * Open a context whose command descriptor (`cmd_fd`) is `command_fd`. uroce_close_device() closes
 * the descriptor later.
 */
static struct ibv_context *
open_context(struct uroce_vdevice *device, int command_fd, const struct stat *command)
{
	struct uroce_vcontext *const context = calloc(1, sizeof(*context));
	int ret;

	if (context == NULL)
		return NULL;
	context->device = device;
	context->command_dev = command->st_dev;
	context->command_ino = command->st_ino;
	context->verbs.context.device = &device->ibv;
	context->verbs.context.cmd_fd = command_fd;
	context->verbs.context.num_comp_vectors = (int)device->dev->conf.nb_workers;
	fill_tables(context);
	pthread_mutex_init(&context->verbs.context.mutex, NULL);
	ret = uroce_vevent_open(context);
	if (ret != 0) {
		pthread_mutex_destroy(&context->verbs.context.mutex);
		free(context);
		return refuse_context(-ret);
	}
	return &context->verbs.context;
}

/*
 * No kernel driver receives commands, so the command descriptor is an empty file in memory. All
 * duplicates of the descriptor have the device and inode number of this file. By these numbers
 * uroce_import_device() finds the device of the context.
 */
struct ibv_context *
uroce_open_device(struct ibv_device *ibv)
{
	struct ibv_context *context = NULL;
	struct stat command;

	if (ibv == NULL)
		return refuse_context(EINVAL);
	const int fd = memfd_create(ibv->name, MFD_CLOEXEC);

	if (fd < 0)
		return NULL;
	if (fstat(fd, &command) == 0)
		context = open_context(uroce_vdevice(ibv), fd, &command);
	if (context == NULL) {
		const int err = errno;

		close(fd);
		errno = err;
	}
	return context;
}

struct ibv_context *
uroce_import_device(int cmd_fd)
{
	struct uroce_vdevice *device;
	struct stat command;

	if (fstat(cmd_fd, &command) != 0)
		return NULL;
	device = uroce_vdevice_of_command(&command);
	return device != NULL ? open_context(device, cmd_fd, &command) : refuse_context(EINVAL);
}

int
uroce_close_device(struct ibv_context *ibv)
{
	struct uroce_vcontext *context;

	if (ibv == NULL) {
		errno = EINVAL;
		return -1;
	}
	context = uroce_vcontext(ibv);
	if (uroce_users_any(ibv, &context->nb_users)) {
		errno = EBUSY;
		return -1;
	}
	uroce_vevent_close(context);
	close(ibv->cmd_fd);
	pthread_mutex_destroy(&ibv->mutex);
	free(context);
	return 0;
}

int
uroce_get_worker_count(struct ibv_context *context)
{
	if (context == NULL) {
		errno = EINVAL;
		return -1;
	}
	return (int)uroce_vcontext_dev(context)->conf.nb_workers;
}

struct uroce_worker *
uroce_get_worker(struct ibv_context *context, int idx)
{
	const struct uroce_dev *const dev = context != NULL ? uroce_vcontext_dev(context) : NULL;

	if (dev == NULL || idx < 0 || (unsigned)idx >= dev->nb_workers) {
		errno = EINVAL;
		return NULL;
	}
	return dev->worker[idx];
}
