/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes the contexts of an engine (liburoce and DPDK) that has stopped working unusable. The inline
 * calls of a context are function pointers. When the engine stops working, by fork() or because the
 * program closed the descriptors of the engine, these pointers are set to the functions of this
 * file.
 */

#include "fork.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "refusal.h"

static int
dead_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	(void)qp;
	*bad = wr;
	return refuse(EIO);
}

static int
dead_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	(void)qp;
	*bad = wr;
	return refuse(EIO);
}

static int
dead_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	(void)srq;
	*bad = wr;
	return refuse(EIO);
}

static int
dead_poll_cq(struct ibv_cq *cq, int nb, struct ibv_wc *wc)
{
	(void)cq;
	(void)nb;
	(void)wc;
	return -refuse(EIO);
}

static int
dead_req_notify_cq(struct ibv_cq *cq, int is_solicited)
{
	(void)cq;
	(void)is_solicited;
	return refuse(EIO);
}

static struct ibv_mw *
dead_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	(void)pd;
	(void)type;
	errno = EIO;
	return NULL;
}

static int
dead_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	(void)qp;
	(void)mw;
	(void)bind;
	return refuse(EIO);
}

static int
dead_dealloc_mw(struct ibv_mw *mw)
{
	(void)mw;
	return refuse(EIO);
}

/*
 * Device memory (ibv_alloc_dm) that a program allocates after liburoce stopped working in this
 * process (fork.h). It is plain memory, which needs no liburoce. No memory region can be registered
 * in it.
 */
struct own_dm {
	struct ibv_dm ibv;
	size_t len;
	uint8_t mem[];
};

static bool
is_inside(const struct own_dm *dm, uint64_t offset, size_t len)
{
	return (offset | len) % 4 == 0 && offset <= dm->len && len <= dm->len - offset;
}

static int
own_memcpy_to(struct ibv_dm *ibv, uint64_t offset, const void *from, size_t len)
{
	struct own_dm *const dm = (struct own_dm *)ibv;

	if (!is_inside(dm, offset, len))
		return refuse(EINVAL);
	memcpy(dm->mem + offset, from, len);
	return 0;
}

static int
own_memcpy_from(void *to, struct ibv_dm *ibv, uint64_t offset, size_t len)
{
	const struct own_dm *const dm = (const struct own_dm *)ibv;

	if (!is_inside(dm, offset, len))
		return refuse(EINVAL);
	memcpy(to, dm->mem + offset, len);
	return 0;
}

static struct ibv_dm *
own_alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr)
{
	struct own_dm *const dm =
		attr->comp_mask == 0 ? calloc(1, sizeof(*dm) + attr->length) : NULL;

	if (dm == NULL) {
		errno = attr->comp_mask == 0 ? ENOMEM : EINVAL;
		return NULL;
	}
	dm->len = attr->length;
	dm->ibv.context = context;
	dm->ibv.memcpy_to_dm = own_memcpy_to;
	dm->ibv.memcpy_from_dm = own_memcpy_from;
	return &dm->ibv;
}

/*
 * Free device memory that own_alloc_dm() has allocated. Device memory that liburoce allocated
 * before it stopped working is not freed.
 */
static int
own_free_dm(struct ibv_dm *ibv)
{
	if (ibv->memcpy_to_dm != own_memcpy_to)
		return refuse(EIO);
	free(ibv);
	return 0;
}

/*
 * Replace all inline calls of a device context of liburoce, which has stopped working. The pointers
 * of extended calls are removed, which means "not supported", except for query_device_ex and the
 * calls for device memory. The other calls fail with EIO.
 */
void
fork_kill_context(struct ibv_context *context)
{
	struct verbs_context *const verbs = verbs_get_ctx(context);
	struct verbs_context dead = {
		/*
		 * query_device_ex stays the function of liburoce, because it reads only constant
		 * data
		 */
		.query_device_ex = verbs->query_device_ex,
		.alloc_dm = own_alloc_dm,
		.free_dm = own_free_dm,
		.priv = verbs->priv,
		.sz = sizeof(dead),
		.context = verbs->context,
	};

	dead.context.ops = (struct ibv_context_ops){
		.alloc_mw = dead_alloc_mw,
		.bind_mw = dead_bind_mw,
		.dealloc_mw = dead_dealloc_mw,
		.poll_cq = dead_poll_cq,
		.req_notify_cq = dead_req_notify_cq,
		.post_srq_recv = dead_post_srq_recv,
		.post_send = dead_post_send,
		.post_recv = dead_post_recv,
	};
	*verbs = dead;
}
