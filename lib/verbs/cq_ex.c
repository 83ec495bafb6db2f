/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Extended CQs: a program takes completions one by one, and reads each field by a call.
 *
 * start_poll() and next_poll() remove an entry from the CQ, as uroce_poll_cq() does, and keep a
 * copy of the entry. So a QP can be destroyed, and the CQ can be resized, between these calls. From
 * start_poll() to end_poll() a lock protects the copy. Other calls on the CQ do not wait for this
 * lock.
 */

#include <errno.h>
#include <time.h>

#include "datapath/clock.h"
#include "verbs/errno_ret.h"
#include "verbs/fork.h"
#include "verbs/handle.h"
#include "verbs/object.h"
#include "verbs/uroce.h"

#define WC_FLAGS                                                                                   \
	(IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |                             \
	 IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)

static struct uroce_vcq *
vcq_ex(struct ibv_cq_ex *ibv)
{
	return (struct uroce_vcq *)ibv;
}

static int
take_cqe(struct uroce_vcq *cq)
{
	int ret = uroce_cq_take(&cq->queue, &cq->current);

	if (ret == -ENOENT && cq->is_app_driven) {
		(void)uroce_worker_poll(cq->worker);
		ret = uroce_cq_take(&cq->queue, &cq->current);
		if (ret == -ENOENT)
			uroce_vcq_leave(cq);
	}
	if (ret != 0)
		return -ret;
	cq->ibv_ex.status = (enum ibv_wc_status)cq->current.status;
	cq->ibv_ex.wr_id = cq->current.wr_id;
	return 0;
}

static void
end_poll(struct ibv_cq_ex *ibv)
{
	if (!vcq_ex(ibv)->is_single_threaded)
		uroce_lock_release(&vcq_ex(ibv)->batch_lock);
}

/*
 * Whether a poll of the CQ finds it empty. If the CQ is empty and the application drives the worker
 * (key drive=app), the worker runs one round (receive, doorbells, transmit, timers) before the CQ
 * is checked again.
 */
static bool
is_poll_idle(struct uroce_vcq *cq)
{
	if (!uroce_cq_has_nothing(&cq->queue))
		return false;
	if (!cq->is_app_driven)
		return true;
	(void)uroce_worker_poll(cq->worker);
	if (!uroce_cq_has_nothing(&cq->queue))
		return false;
	uroce_vcq_leave(cq);
	return true;
}

/*
 * Begin to poll. While the CQ is empty no lock is taken, so a thread that calls start_poll() in a
 * loop does not block other threads while the worker runs.
 */
static int
start_poll(struct ibv_cq_ex *ibv, struct ibv_poll_cq_attr *attr)
{
	struct uroce_vcq *const cq = vcq_ex(ibv);
	int ret;

	if (attr != NULL && attr->comp_mask != 0)
		return uroce_fail(EINVAL);
	if (uroce_is_fork_child())
		return uroce_fail(EIO);
	if (is_poll_idle(cq))
		return ENOENT;
	if (!cq->is_single_threaded)
		uroce_lock_take(&cq->batch_lock);
	ret = take_cqe(cq);
	if (ret != 0)
		end_poll(ibv);
	return ret;
}

static int
next_poll(struct ibv_cq_ex *ibv)
{
	return take_cqe(vcq_ex(ibv));
}

#define READER(type, name, field)                                                                  \
	static type read_##name(struct ibv_cq_ex *ibv)                                             \
	{                                                                                          \
		return (type)vcq_ex(ibv)->current.field;                                           \
	}
READER(enum ibv_wc_opcode, opcode, opcode)
READER(uint32_t, vendor_err, vendor_err)
READER(uint32_t, byte_len, byte_len)
READER(__be32, imm_data, imm)
READER(uint32_t, qp_num, qpn)
READER(uint32_t, src_qp, src_qpn)
READER(unsigned int, wc_flags, wc_flags)
READER(uint32_t, slid, slid)
READER(uint8_t, sl, sl)
READER(uint8_t, dlid_path_bits, dlid_path_bits)
READER(uint64_t, completion_ts, timestamp_ns)
#undef READER

static uint64_t
read_completion_wallclock_ns(struct ibv_cq_ex *ibv)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	const uint64_t age_ns = uroce_clock_ns() - vcq_ex(ibv)->current.timestamp_ns;

	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec - age_ns;
}

static void
fill_calls(struct ibv_cq_ex *ibv)
{
	ibv->start_poll = start_poll;
	ibv->next_poll = next_poll;
	ibv->end_poll = end_poll;
	ibv->read_opcode = read_opcode;
	ibv->read_vendor_err = read_vendor_err;
	ibv->read_byte_len = read_byte_len;
	ibv->read_imm_data = read_imm_data;
	ibv->read_qp_num = read_qp_num;
	ibv->read_src_qp = read_src_qp;
	ibv->read_wc_flags = read_wc_flags;
	ibv->read_slid = read_slid;
	ibv->read_sl = read_sl;
	ibv->read_dlid_path_bits = read_dlid_path_bits;
	ibv->read_completion_ts = read_completion_ts;
	ibv->read_completion_wallclock_ns = read_completion_wallclock_ns;
}

static uint32_t
get_wc_flags(const struct ibv_cq_init_attr_ex *init)
{
	return init->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS ? init->flags : 0;
}

static struct ibv_pd *
get_parent_domain(const struct ibv_cq_init_attr_ex *init)
{
	return init->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD ? init->parent_domain : NULL;
}

static int
check_cq_init(const struct ibv_context *context, const struct ibv_cq_init_attr_ex *init)
{
	const uint32_t known = IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD;
	const struct ibv_pd *const parent = get_parent_domain(init);

	if ((init->comp_mask & ~known) != 0 || (init->wc_flags & ~(uint64_t)WC_FLAGS) != 0 ||
	    (get_wc_flags(init) & ~(uint32_t)IBV_CREATE_CQ_ATTR_SINGLE_THREADED) != 0)
		return EOPNOTSUPP;
	if (!(init->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD))
		return 0;
	const int ret = uroce_vpd_check(parent);

	return ret == 0 && parent->context != context ? EINVAL : -ret;
}

struct ibv_cq_ex *
uroce_create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *init_attr)
{
	const int ret =
		context != NULL && init_attr != NULL ? check_cq_init(context, init_attr) : EINVAL;
	struct uroce_vcq *cq;

	if (ret != 0) {
		errno = ret;
		return NULL;
	}
	cq = uroce_vcq_create(context, init_attr);
	if (cq == NULL)
		return NULL;
	cq->is_single_threaded = get_wc_flags(init_attr) & IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
	cq->parent = get_parent_domain(init_attr);
	if (cq->parent != NULL)
		uroce_users_add(context, &uroce_vpd(cq->parent)->nb_users);
	fill_calls(&cq->ibv_ex);
	return &cq->ibv_ex;
}
