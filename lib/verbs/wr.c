/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ibv_wr_*() calls, which build send requests. wr_start() locks the send queue. Each builder
 * begins a request, and setters add to it. wr_complete() publishes all requests, or none of them.
 *
 * A request is collected in a struct ibv_send_wr. It is written to its slot when the next request
 * begins, or by wr_complete(), after the same checks as in uroce_post_send(). After the first error
 * no request is written to a slot.
 */

#include <errno.h>
#include <string.h>
#include <rte_common.h>

#include "verbs/errno_ret.h"
#include "verbs/post.h"
#include "verbs/uroce.h"
#include "verbs/uroce_dv.h"
#include "verbs/wr.h"
#include "base/newer_verbs.h"

static struct uroce_vqp *
vqp_ex(struct ibv_qp_ex *ibv)
{
	return (struct uroce_vqp *)ibv;
}

struct uroce_vwr uroce_vwr_nowhere;

static struct uroce_vwr *
get_wr(struct ibv_qp_ex *ibv)
{
	return uroce_vwr_of(vqp_ex(ibv));
}

/*
 * Write the request that is being built to its slot in the send queue. The configuration of an mkey
 * (IBV_WR_DRIVER1) is accepted only if its builder and setters made it, because only these
 * functions check it. uroce_post_send() refuses this opcode.
 */
static int
fill_wqe(struct uroce_vqp *qp)
{
	const struct uroce_vwr *const vwr = qp->vwr;

	if (vwr->wr.opcode != IBV_WR_DRIVER1)
		return uroce_vqp_fill_send(qp, vwr->nb, &vwr->wr);
	if (vwr->nb_setters != 0 || !uroce_vwr_is_conf(vwr))
		return -EINVAL;
	return uroce_sq_fill(&qp->sq, vwr->nb, &vwr->wr, NULL, qp->sq.is_all_signaled);
}

static void
finish_wr(struct uroce_vqp *qp)
{
	struct uroce_vwr *const vwr = qp->vwr;

	if (!vwr->is_open || uroce_is_fork_child())
		return;
	vwr->is_open = false;
	if (vwr->err == 0)
		vwr->err = fill_wqe(qp);
	if (vwr->err == 0)
		vwr->nb++;
}

struct ibv_send_wr *
uroce_vwr_begin(struct ibv_qp_ex *ibv, enum ibv_wr_opcode opcode)
{
	struct uroce_vwr *const vwr = get_wr(ibv);

	finish_wr(vqp_ex(ibv));
	vwr->is_open = true;
	vwr->wr = (struct ibv_send_wr){
		.wr_id = ibv->wr_id,
		.sg_list = vwr->sge,
		.opcode = opcode,
		/*
		 * IBV_SEND_INLINE is removed from the flags of the program, because only a setter
		 * of inline data sets this flag
		 */
		.send_flags = ibv->wr_flags & ~(unsigned)IBV_SEND_INLINE,
	};
	return &vwr->wr;
}

static void
wr_start(struct ibv_qp_ex *ibv)
{
	struct uroce_vqp *const qp = vqp_ex(ibv);

	if (uroce_is_fork_child())
		return;
	uroce_wq_begin(&qp->sq);
	atomic_store_explicit(&qp->is_building, true, memory_order_relaxed);
	qp->vwr->nb = 0;
	qp->vwr->is_open = false;
	qp->vwr->err = uroce_vqp_check_send(qp);
}

static void
wr_abort(struct ibv_qp_ex *ibv)
{
	struct uroce_vqp *const qp = vqp_ex(ibv);

	if (uroce_is_fork_child())
		return;
	atomic_store_explicit(&qp->is_building, false, memory_order_relaxed);
	uroce_wq_end(&qp->sq);
}

static int
wr_complete(struct ibv_qp_ex *ibv)
{
	struct uroce_vqp *const qp = vqp_ex(ibv);

	if (uroce_is_fork_child())
		return uroce_fail(EIO);
	finish_wr(qp);
	const int err = qp->vwr->err;

	atomic_store_explicit(&qp->is_building, false, memory_order_relaxed);
	uroce_vqp_end_send(qp, err == 0 ? qp->vwr->nb : 0);
	return uroce_errno_ret(err);
}

/* --- builders of requests -------------------------------------------------------------------------- */

static void
wr_send(struct ibv_qp_ex *ibv)
{
	uroce_vwr_begin(ibv, IBV_WR_SEND);
}

static void
wr_send_imm(struct ibv_qp_ex *ibv, __be32 imm_data)
{
	uroce_vwr_begin(ibv, IBV_WR_SEND_WITH_IMM)->imm_data = imm_data;
}

static void
wr_send_inv(struct ibv_qp_ex *ibv, uint32_t invalidate_rkey)
{
	uroce_vwr_begin(ibv, IBV_WR_SEND_WITH_INV)->invalidate_rkey = invalidate_rkey;
}

static struct ibv_send_wr *
begin_rdma(struct ibv_qp_ex *ibv, enum ibv_wr_opcode opcode, uint32_t rkey, uint64_t remote_addr)
{
	struct ibv_send_wr *const wr = uroce_vwr_begin(ibv, opcode);

	wr->wr.rdma.remote_addr = remote_addr;
	wr->wr.rdma.rkey = rkey;
	return wr;
}

static void
wr_rdma_read(struct ibv_qp_ex *ibv, uint32_t rkey, uint64_t remote_addr)
{
	begin_rdma(ibv, IBV_WR_RDMA_READ, rkey, remote_addr);
}

static void
wr_rdma_write(struct ibv_qp_ex *ibv, uint32_t rkey, uint64_t remote_addr)
{
	begin_rdma(ibv, IBV_WR_RDMA_WRITE, rkey, remote_addr);
}

static void
wr_rdma_write_imm(struct ibv_qp_ex *ibv, uint32_t rkey, uint64_t remote_addr, __be32 imm_data)
{
	begin_rdma(ibv, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, remote_addr)->imm_data = imm_data;
}

static void
begin_atomic(struct ibv_qp_ex *ibv, enum ibv_wr_opcode opcode, uint32_t rkey, uint64_t remote_addr,
	     uint64_t compare_add, uint64_t swap)
{
	struct ibv_send_wr *const wr = uroce_vwr_begin(ibv, opcode);

	wr->wr.atomic.remote_addr = remote_addr;
	wr->wr.atomic.rkey = rkey;
	wr->wr.atomic.compare_add = compare_add;
	wr->wr.atomic.swap = swap;
}

static void
wr_atomic_cmp_swp(struct ibv_qp_ex *ibv, uint32_t rkey, uint64_t remote_addr, uint64_t compare,
		  uint64_t swap)
{
	begin_atomic(ibv, IBV_WR_ATOMIC_CMP_AND_SWP, rkey, remote_addr, compare, swap);
}

static void
wr_atomic_fetch_add(struct ibv_qp_ex *ibv, uint32_t rkey, uint64_t remote_addr, uint64_t add)
{
	begin_atomic(ibv, IBV_WR_ATOMIC_FETCH_AND_ADD, rkey, remote_addr, add, 0);
}

static void
wr_local_inv(struct ibv_qp_ex *ibv, uint32_t invalidate_rkey)
{
	uroce_vwr_begin(ibv, IBV_WR_LOCAL_INV)->invalidate_rkey = invalidate_rkey;
}

static void
wr_bind_mw(struct ibv_qp_ex *ibv, struct ibv_mw *mw, uint32_t rkey,
	   const struct ibv_mw_bind_info *bind_info)
{
	struct ibv_send_wr *const wr = uroce_vwr_begin(ibv, IBV_WR_BIND_MW);

	wr->bind_mw.mw = mw;
	wr->bind_mw.rkey = rkey;
	wr->bind_mw.bind_info = *bind_info;
}

/* --- setters of the data of a request -------------------------------------------------------------- */

static void
wr_set_sge(struct ibv_qp_ex *ibv, uint32_t lkey, uint64_t addr, uint32_t length)
{
	struct uroce_vwr *const vwr = get_wr(ibv);

	vwr->sge[0] = (struct ibv_sge){ .addr = addr, .length = length, .lkey = lkey };
	vwr->wr.num_sge = 1;
}

static void
wr_set_sge_list(struct ibv_qp_ex *ibv, size_t num_sge, const struct ibv_sge *sg_list)
{
	struct uroce_vwr *const vwr = get_wr(ibv);

	if (num_sge > UROCE_SGE_MAX || (num_sge > 0 && sg_list == NULL)) {
		uroce_vwr_fail(vwr, -EINVAL);
		return;
	}
	if (num_sge > 0)
		memcpy(vwr->sge, sg_list, num_sge * sizeof(*sg_list));
	vwr->wr.num_sge = (int)num_sge;
}

static void
wr_set_inline_data_list(struct ibv_qp_ex *ibv, size_t num_buf, const struct ibv_data_buf *buf_list)
{
	struct uroce_vwr *const vwr = get_wr(ibv);
	size_t len = 0;

	for (size_t i = 0; i < num_buf; i++) {
		if (buf_list[i].length > sizeof(vwr->data) - len) {
			uroce_vwr_fail(vwr, -EINVAL);
			return;
		}
		if (buf_list[i].length > 0)
			memcpy(vwr->data + len, buf_list[i].addr, buf_list[i].length);
		len += buf_list[i].length;
	}
	wr_set_sge(ibv, 0, (uintptr_t)vwr->data, (uint32_t)len);
	vwr->wr.send_flags |= IBV_SEND_INLINE;
}

static void
wr_set_inline_data(struct ibv_qp_ex *ibv, void *addr, size_t length)
{
	wr_set_inline_data_list(ibv, 1, &(struct ibv_data_buf){ .addr = addr, .length = length });
}

static void
wr_set_ud_addr(struct ibv_qp_ex *ibv, struct ibv_ah *ah, uint32_t remote_qpn, uint32_t remote_qkey)
{
	struct ibv_send_wr *const wr = &get_wr(ibv)->wr;

	wr->wr.ud.ah = ah;
	wr->wr.ud.remote_qpn = remote_qpn;
	wr->wr.ud.remote_qkey = remote_qkey;
}

static void
wr_set_xrc_srqn(struct ibv_qp_ex *ibv, uint32_t remote_srqn)
{
	get_wr(ibv)->wr.qp_type.xrc.remote_srqn = remote_srqn;
}

/* Build an ATOMIC_WRITE, and set its data of 8 bytes. */
static void
wr_atomic_write(struct ibv_qp_ex *ibv, uint32_t rkey, uint64_t remote_addr, const void *atomic_wr)
{
	const struct ibv_data_buf buf = { .addr = (void *)(uintptr_t)atomic_wr, .length = 8 };

	begin_rdma(ibv, UROCE_DV_WR_ATOMIC_WRITE, rkey, remote_addr);
	wr_set_inline_data_list(ibv, 1, &buf);
}

void
uroce_dv_wr_flush(struct ibv_qp_ex *ibv, uint32_t rkey, uint64_t remote_addr, size_t len,
		  uint8_t type, uint8_t level)
{
	uroce_vwr_begin(ibv, UROCE_DV_WR_FLUSH);
	uroce_dv_set_flush(&get_wr(ibv)->wr, rkey, remote_addr, len, type, level);
}

#ifdef UROCE_VERBS_HAS_FLUSH
static void
wr_flush(struct ibv_qp_ex *ibv, uint32_t rkey, uint64_t remote_addr, size_t len, uint8_t type,
	 uint8_t level)
{
	uroce_dv_wr_flush(ibv, rkey, remote_addr, len, type, level);
}
#endif

/* --- operations of a QP ---------------------------------------------------------------------------- */

#define OP(flag, opcode, member)                                                                   \
	{                                                                                          \
		flag, opcode, offsetof(struct ibv_qp_ex, member), (void (*)(void))member           \
	}
static const struct {
	uint64_t flag; /* bit of enum ibv_qp_create_send_ops_flags that allows the opcode */
	uint8_t opcode;
	size_t member;
	void (*builder)(void);
} ops[] = {
	OP(IBV_QP_EX_WITH_RDMA_WRITE, IBV_WR_RDMA_WRITE, wr_rdma_write),
	OP(IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_WRITE_WITH_IMM, wr_rdma_write_imm),
	OP(IBV_QP_EX_WITH_SEND, IBV_WR_SEND, wr_send),
	OP(IBV_QP_EX_WITH_SEND_WITH_IMM, IBV_WR_SEND_WITH_IMM, wr_send_imm),
	OP(IBV_QP_EX_WITH_RDMA_READ, IBV_WR_RDMA_READ, wr_rdma_read),
	OP(IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_CMP_AND_SWP, wr_atomic_cmp_swp),
	OP(IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD, IBV_WR_ATOMIC_FETCH_AND_ADD, wr_atomic_fetch_add),
	OP(IBV_QP_EX_WITH_LOCAL_INV, IBV_WR_LOCAL_INV, wr_local_inv),
	OP(IBV_QP_EX_WITH_BIND_MW, IBV_WR_BIND_MW, wr_bind_mw),
	OP(IBV_QP_EX_WITH_SEND_WITH_INV, IBV_WR_SEND_WITH_INV, wr_send_inv),
	OP(IBV_QP_EX_WITH_ATOMIC_WRITE, UROCE_WR_ATOMIC_WRITE, wr_atomic_write),
#ifdef UROCE_VERBS_HAS_FLUSH
	OP(IBV_QP_EX_WITH_FLUSH, UROCE_WR_FLUSH, wr_flush),
#endif
};
#undef OP

uint64_t
uroce_vwr_flags(uint32_t opcodes)
{
	uint64_t flags = 0;

	for (unsigned i = 0; i < RTE_DIM(ops); i++)
		if (opcodes & 1u << ops[i].opcode)
			flags |= ops[i].flag;
	return flags;
}

size_t
uroce_vwr_memsize(void)
{
	return RTE_CACHE_LINE_ROUNDUP(sizeof(struct uroce_vwr));
}

void
uroce_vwr_init(struct uroce_vqp *qp, void *mem, uint64_t send_ops_flags)
{
	struct ibv_qp_ex *const ibv = &qp->ibv_ex;

	qp->vwr = mem;
	ibv->wr_start = wr_start;
	ibv->wr_complete = wr_complete;
	ibv->wr_abort = wr_abort;
	ibv->wr_set_sge = wr_set_sge;
	ibv->wr_set_sge_list = wr_set_sge_list;
	ibv->wr_set_inline_data = wr_set_inline_data;
	ibv->wr_set_inline_data_list = wr_set_inline_data_list;
	if (qp->sq.has_path)
		ibv->wr_set_ud_addr = wr_set_ud_addr;
	if (qp->sq.is_xrc)
		ibv->wr_set_xrc_srqn = wr_set_xrc_srqn;
	for (unsigned i = 0; i < RTE_DIM(ops); i++)
		if (send_ops_flags & ops[i].flag)
			memcpy((uint8_t *)ibv + ops[i].member, &ops[i].builder,
			       sizeof(ops[i].builder));
}

struct ibv_qp_ex *
uroce_qp_to_qp_ex(struct ibv_qp *qp)
{
	return qp != NULL && uroce_vqp(qp)->vwr != NULL ? &uroce_vqp(qp)->ibv_ex : NULL;
}
