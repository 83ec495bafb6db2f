/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The public calls of libibverbs. Each call is passed to the call of the same name in the engine,
 * the library that contains liburoce and DPDK. verbs.h declares some of the calls as inline
 * functions or macros. This file undefines those macros.
 */

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "engine_calls.h"
#include "refusal.h"

#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

/* The context of a verbs object; NULL if there is no object. */
#define OF(object) ((object) != NULL ? (object)->context : NULL)

/*
 * Define a public call of libibverbs that passes its arguments to liburoce. If liburoce stopped
 * working for the context (fork.h), the call returns `dead`, and errno is EIO.
 */
#define PASS(type, name, params, args, context, dead)                                              \
	type ibv_##name params                                                                     \
	{                                                                                          \
		const struct engine_calls *const calls = engine_of(context);                       \
                                                                                                   \
		return calls != NULL ? calls->name args : (dead);                                  \
	}

/*
 * Variants of PASS, which defines a public call of libibverbs. If liburoce stopped working for the
 * context, PASS_OBJECT returns NULL, PASS_ERRNO returns errno, and PASS_MINUS returns -1.
 */
#define PASS_OBJECT(type, name, params, args, context)                                             \
	PASS(type *, name, params, args, context, NULL)
#define PASS_ERRNO(name, params, args, context) PASS(int, name, params, args, context, errno)
#define PASS_MINUS(name, params, args, context) PASS(int, name, params, args, context, -1)

/* --- devices ------------------------------------------------------------------------------------- */

struct ibv_device **
ibv_get_device_list(int *num_devices)
{
	const struct engine_calls *const calls = engine();

	if (calls != NULL)
		return calls->get_device_list(num_devices);
	if (num_devices != NULL)
		*num_devices = 0;
	return NULL;
}

void
ibv_free_device_list(struct ibv_device **list)
{
	const struct engine_calls *const calls = engine();

	if (calls != NULL)
		calls->free_device_list(list);
}

const char *
ibv_get_device_name(struct ibv_device *device)
{
	return device != NULL ? device->name : NULL;
}

__be64
ibv_get_device_guid(struct ibv_device *device)
{
	const struct engine_calls *const calls = engine();
	struct ibv_device *const own_device = calls != NULL ? engine_device(calls, device) : NULL;

	return own_device != NULL ? calls->get_device_guid(own_device) : 0;
}

int
ibv_get_device_index(struct ibv_device *device)
{
	const struct engine_calls *const calls = engine();
	struct ibv_device *const own_device = calls != NULL ? engine_device(calls, device) : NULL;

	return own_device != NULL ? calls->get_device_index(own_device) : -1;
}

struct ibv_context *
ibv_open_device(struct ibv_device *device)
{
	const struct engine_calls *const calls = engine();
	struct ibv_device *const own_device = calls != NULL ? engine_device(calls, device) : NULL;

	if (calls == NULL)
		return NULL;
	if (own_device == NULL) {
		errno = ENODEV;
		return NULL;
	}
	return engine_keep(calls, calls->open_device(own_device));
}

struct ibv_context *
ibv_import_device(int cmd_fd)
{
	const struct engine_calls *const calls = engine();

	return calls != NULL ? engine_keep(calls, calls->import_device(cmd_fd)) : NULL;
}

/*
 * Close a context. With the kernel, a program may close a context that still has objects, because
 * the kernel closes the objects as well. Programs rely on the kernel's behaviour. In this library
 * the objects of such a context, and the context, stay open until the process ends. If liburoce
 * stopped working for the context (fork.h), the call fails with EIO, and the context's memory is
 * not freed.
 */
int
ibv_close_device(struct ibv_context *context)
{
	const struct engine_calls *const calls = engine_of(context);

	if (calls == NULL)
		return -1;
	engine_drop(context);
	if (calls->close_device(context) != 0)
		(void)engine_keep(calls, context);
	return 0;
}

PASS_ERRNO(query_device, (struct ibv_context * context, struct ibv_device_attr *attr),
	   (context, attr), context)

/*
 * Query a port for a program that was built with an old version of libibverbs. The struct
 * ibv_port_attr of such a program has only the first fields, without those that libibverbs added
 * later.
 */
int
ibv_query_port(struct ibv_context *context, uint8_t port_num, struct _compat_ibv_port_attr *attr)
{
	const struct engine_calls *const calls = engine_of(context);
	struct ibv_port_attr whole;
	int ret;

	if (calls == NULL || attr == NULL)
		return attr == NULL ? refuse(EINVAL) : errno;
	ret = calls->query_port(context, port_num, &whole);
	if (ret == 0)
		memcpy(attr, &whole, offsetof(struct ibv_port_attr, port_cap_flags2));
	return ret;
}

PASS_MINUS(query_gid,
	   (struct ibv_context * context, uint8_t port_num, int index, union ibv_gid *gid),
	   (context, port_num, index, gid), context)
PASS_MINUS(query_pkey, (struct ibv_context * context, uint8_t port_num, int index, __be16 *pkey),
	   (context, port_num, index, pkey), context)
PASS_MINUS(get_pkey_index, (struct ibv_context * context, uint8_t port_num, __be16 pkey),
	   (context, port_num, pkey), context)

int
_ibv_query_gid_ex(struct ibv_context *context, uint32_t port_num, uint32_t gid_index,
		  struct ibv_gid_entry *entry, uint32_t flags, size_t entry_size)
{
	const struct engine_calls *const calls = engine_of(context);

	if (calls == NULL)
		return errno;
	if (entry_size != sizeof(*entry))
		return refuse(EINVAL);
	return calls->query_gid_ex(context, port_num, gid_index, entry, flags);
}

ssize_t
_ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries, size_t max_entries,
		     uint32_t flags, size_t entry_size)
{
	const struct engine_calls *const calls = engine_of(context);

	if (calls == NULL)
		return -errno;
	if (entry_size != sizeof(*entries))
		return -refuse(EINVAL);
	return calls->query_gid_table(context, entries, max_entries, flags);
}

/* --- protection domains and memory ------------------------------------------------------------------- */

PASS_OBJECT(struct ibv_pd, alloc_pd, (struct ibv_context * context), (context), context)
PASS_ERRNO(dealloc_pd, (struct ibv_pd * pd), (pd), OF(pd))
PASS_OBJECT(struct ibv_pd, import_pd, (struct ibv_context * context, uint32_t handle),
	    (context, handle), context)
PASS_OBJECT(struct ibv_mr, reg_mr, (struct ibv_pd * pd, void *addr, size_t length, int access),
	    (pd, addr, length, access), OF(pd))
PASS_OBJECT(struct ibv_mr, reg_mr_iova,
	    (struct ibv_pd * pd, void *addr, size_t length, uint64_t iova, int access),
	    (pd, addr, length, iova, access), OF(pd))
PASS_OBJECT(struct ibv_mr, reg_mr_iova2,
	    (struct ibv_pd * pd, void *addr, size_t length, uint64_t iova, unsigned access),
	    (pd, addr, length, iova, access), OF(pd))
PASS_OBJECT(struct ibv_mr, reg_dmabuf_mr,
	    (struct ibv_pd * pd, uint64_t offset, size_t length, uint64_t iova, int fd, int access),
	    (pd, offset, length, iova, fd, access), OF(pd))
PASS(int, rereg_mr,
     (struct ibv_mr * mr, int flags, struct ibv_pd *pd, void *addr, size_t length, int access),
     (mr, flags, pd, addr, length, access), OF(mr), IBV_REREG_MR_ERR_CMD)
PASS_ERRNO(dereg_mr, (struct ibv_mr * mr), (mr), OF(mr))
PASS_OBJECT(struct ibv_mr, import_mr, (struct ibv_pd * pd, uint32_t handle), (pd, handle), OF(pd))

void
ibv_unimport_pd(struct ibv_pd *pd)
{
	const struct engine_calls *const calls = engine_of(OF(pd));

	if (calls != NULL)
		calls->unimport_pd(pd);
}

void
ibv_unimport_mr(struct ibv_mr *mr)
{
	const struct engine_calls *const calls = engine_of(OF(mr));

	if (calls != NULL)
		calls->unimport_mr(mr);
}

/*
 * ibv_import_dm() always fails: device memory belongs to its context, so another context cannot
 * import it.
 */
struct ibv_dm *
ibv_import_dm(struct ibv_context *context, uint32_t dm_handle)
{
	(void)context;
	(void)dm_handle;
	errno = EOPNOTSUPP;
	return NULL;
}

void
ibv_unimport_dm(struct ibv_dm *dm)
{
	(void)dm;
}

/* --- completions and events ---------------------------------------------------------------------------- */

PASS_OBJECT(struct ibv_comp_channel, create_comp_channel, (struct ibv_context * context), (context),
	    context)
PASS_ERRNO(destroy_comp_channel, (struct ibv_comp_channel * channel), (channel), OF(channel))
PASS_OBJECT(struct ibv_cq, create_cq,
	    (struct ibv_context * context, int cqe, void *cq_context,
	     struct ibv_comp_channel *channel, int comp_vector),
	    (context, cqe, cq_context, channel, comp_vector), context)
PASS_ERRNO(resize_cq, (struct ibv_cq * cq, int cqe), (cq, cqe), OF(cq))
PASS_ERRNO(destroy_cq, (struct ibv_cq * cq), (cq), OF(cq))
PASS_MINUS(get_cq_event, (struct ibv_comp_channel * channel, struct ibv_cq **cq, void **cq_context),
	   (channel, cq, cq_context), OF(channel))
PASS_MINUS(get_async_event, (struct ibv_context * context, struct ibv_async_event *event),
	   (context, event), context)

void
ibv_ack_cq_events(struct ibv_cq *cq, unsigned nb)
{
	const struct engine_calls *const calls = engine_of(OF(cq));

	if (calls != NULL)
		calls->ack_cq_events(cq, nb);
}

/*
 * Acknowledge an asynchronous event. A port event does not name its context, so the call goes to
 * the engine (liburoce and DPDK) that the process uses now. The event must be of this engine, and
 * not of an engine that has stopped working (fork.h).
 */
void
ibv_ack_async_event(struct ibv_async_event *event)
{
	const struct engine_calls *const calls = engine();

	if (calls != NULL)
		calls->ack_async_event(event);
}

/* --- queues -------------------------------------------------------------------------------------------- */

PASS_OBJECT(struct ibv_srq, create_srq, (struct ibv_pd * pd, struct ibv_srq_init_attr *init),
	    (pd, init), OF(pd))
PASS_ERRNO(modify_srq, (struct ibv_srq * srq, struct ibv_srq_attr *attr, int mask),
	   (srq, attr, mask), OF(srq))
PASS_ERRNO(query_srq, (struct ibv_srq * srq, struct ibv_srq_attr *attr), (srq, attr), OF(srq))
PASS_ERRNO(destroy_srq, (struct ibv_srq * srq), (srq), OF(srq))
PASS_OBJECT(struct ibv_qp, create_qp, (struct ibv_pd * pd, struct ibv_qp_init_attr *init),
	    (pd, init), OF(pd))

/*
 * Remove from a mask the attributes that an XRC QP does not have, because it can only send or only
 * receive. Some programs (perftest) nevertheless give it all attributes of an RC QP.
 */
static int
of_its_half(const struct ibv_qp *qp, int mask)
{
	if (qp != NULL && qp->qp_type == IBV_QPT_XRC_SEND)
		return mask & ~(IBV_QP_MIN_RNR_TIMER | IBV_QP_MAX_DEST_RD_ATOMIC);
	if (qp != NULL && qp->qp_type == IBV_QPT_XRC_RECV)
		return mask & ~(IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
	return mask;
}

PASS_ERRNO(modify_qp, (struct ibv_qp * qp, struct ibv_qp_attr *attr, int mask),
	   (qp, attr, of_its_half(qp, mask)), OF(qp))
PASS_ERRNO(query_qp,
	   (struct ibv_qp * qp, struct ibv_qp_attr *attr, int mask, struct ibv_qp_init_attr *init),
	   (qp, attr, mask, init), OF(qp))
PASS_ERRNO(destroy_qp, (struct ibv_qp * qp), (qp), OF(qp))
PASS_OBJECT(struct ibv_qp_ex, qp_to_qp_ex, (struct ibv_qp * qp), (qp), OF(qp))
PASS_ERRNO(query_ece, (struct ibv_qp * qp, struct ibv_ece *ece), (qp, ece), OF(qp))
PASS_ERRNO(set_ece, (struct ibv_qp * qp, struct ibv_ece *ece), (qp, ece), OF(qp))
PASS(int, query_qp_data_in_order, (struct ibv_qp * qp, enum ibv_wr_opcode op, uint32_t flags),
     (qp, op, flags), OF(qp), 0)
PASS_ERRNO(attach_mcast, (struct ibv_qp * qp, const union ibv_gid *gid, uint16_t lid),
	   (qp, gid, lid), OF(qp))
PASS_ERRNO(detach_mcast, (struct ibv_qp * qp, const union ibv_gid *gid, uint16_t lid),
	   (qp, gid, lid), OF(qp))

/* --- addresses ------------------------------------------------------------------------------------------ */

PASS_OBJECT(struct ibv_ah, create_ah, (struct ibv_pd * pd, struct ibv_ah_attr *attr), (pd, attr),
	    OF(pd))
PASS_MINUS(init_ah_from_wc,
	   (struct ibv_context * context, uint8_t port_num, struct ibv_wc *wc, struct ibv_grh *grh,
	    struct ibv_ah_attr *attr),
	   (context, port_num, wc, grh, attr), context)
PASS_OBJECT(struct ibv_ah, create_ah_from_wc,
	    (struct ibv_pd * pd, struct ibv_wc *wc, struct ibv_grh *grh, uint8_t port_num),
	    (pd, wc, grh, port_num), OF(pd))
PASS_ERRNO(destroy_ah, (struct ibv_ah * ah), (ah), OF(ah))

/*
 * ibv_resolve_eth_l2_from_gid() always fails. Vendor libraries call this function for contexts of
 * their own devices; a uroce context needs no such call.
 */
int
ibv_resolve_eth_l2_from_gid(struct ibv_context *context, struct ibv_ah_attr *attr, uint8_t mac[6],
			    uint16_t *vid)
{
	(void)context;
	(void)attr;
	(void)mac;
	(void)vid;
	return -refuse(EOPNOTSUPP);
}

/* --- calls without a context ------------------------------------------------------------------------------- */

/*
 * Define a public call of libibverbs that returns a text. If liburoce is not loaded, the text is
 * "unknown".
 */
#define PASS_TEXT(name, type)                                                                      \
	const char *ibv_##name(type value)                                                         \
	{                                                                                          \
		const struct engine_calls *const calls = engine();                                 \
                                                                                                   \
		return calls != NULL ? calls->name(value) : "unknown";                             \
	}

PASS_TEXT(node_type_str, enum ibv_node_type)
PASS_TEXT(port_state_str, enum ibv_port_state)
PASS_TEXT(event_type_str, enum ibv_event_type)
PASS_TEXT(wc_status_str, enum ibv_wc_status)

int
ibv_fork_init(void)
{
	return 0;
}

enum ibv_fork_status
ibv_is_fork_initialized(void)
{
	return IBV_FORK_UNNEEDED;
}

/* The following old calls of libibverbs for the support of fork() are not declared in verbs.h. */
int ibv_dontfork_range(void *base, size_t size);
int ibv_dofork_range(void *base, size_t size);

int
ibv_dontfork_range(void *base, size_t size)
{
	(void)base;
	(void)size;
	return 0;
}

int
ibv_dofork_range(void *base, size_t size)
{
	(void)base;
	(void)size;
	return 0;
}
