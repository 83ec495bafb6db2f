/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Posting of work requests. A request is checked with a table that has the properties of each
 * opcode, and then copied into its slot. The queue is not written before all checks have passed.
 */

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "queue/wq.h"

#include "base/newer_verbs.h"

/** Maximum length of a message of every transport service, in bytes. */
#define MSG_LEN_MAX (UINT64_C(1) << 31)

/** Number of bytes that an atomic operation returns. */
#define ATOMIC_LEN 8

/**
 * Properties of a send opcode, or-ed. ON_CONNECTED and ON_DATAGRAM name the kinds of QP to which
 * the opcode may be posted.
 */
enum opcode_fact {
	ON_CONNECTED = 1 << 0,
	ON_DATAGRAM = 1 << 1,
	CAN_INLINE = 1 << 2,
	/*
	 * the last packet of the message may request a solicited event at the receiver [IBA 9.2.3]
	 */
	CAN_SOLICIT = 1 << 3,
	/*
	 * the request uses `wr.rdma`, which names memory of the peer, or the mkey that DRIVER1
	 * configures
	 */
	IS_RDMA = 1 << 4,
	IS_ATOMIC = 1 << 5,
	/* the request sends no packet, and so has no message and no scatter list */
	IS_LOCAL = 1 << 6,
	IS_BIND = 1 << 7,
	IS_8_BYTES = 1 << 8, /* the message of the request has exactly 8 bytes */
	/* the request names a range of the peer's memory, and has no message */
	IS_FLUSH = 1 << 9,
	/* the inline data of the request is the configuration of the mkey that the rkey names */
	IS_CONF = 1 << 10,
	IS_SEND = 1 << 11, /* the request is one of the SEND opcodes */
};

#define SEND_FACTS (ON_CONNECTED | CAN_INLINE | CAN_SOLICIT)

static const uint16_t opcode_table[] = {
	[IBV_WR_RDMA_WRITE] = ON_CONNECTED | CAN_INLINE | IS_RDMA,
	[IBV_WR_RDMA_WRITE_WITH_IMM] = SEND_FACTS | IS_RDMA,
	[IBV_WR_SEND] = SEND_FACTS | ON_DATAGRAM | IS_SEND,
	[IBV_WR_SEND_WITH_IMM] = SEND_FACTS | ON_DATAGRAM | IS_SEND,
	[IBV_WR_SEND_WITH_INV] = SEND_FACTS | IS_SEND,
	[IBV_WR_RDMA_READ] = ON_CONNECTED | IS_RDMA,
	[IBV_WR_ATOMIC_CMP_AND_SWP] = ON_CONNECTED | IS_ATOMIC | IS_8_BYTES,
	[IBV_WR_ATOMIC_FETCH_AND_ADD] = ON_CONNECTED | IS_ATOMIC | IS_8_BYTES,
	[IBV_WR_LOCAL_INV] = ON_CONNECTED | IS_LOCAL,
	[IBV_WR_BIND_MW] = ON_CONNECTED | IS_LOCAL | IS_BIND,
	[IBV_WR_DRIVER1] = ON_CONNECTED | CAN_INLINE | IS_LOCAL | IS_CONF | IS_RDMA,
	[UROCE_WR_FLUSH] = ON_CONNECTED | IS_FLUSH,
	[UROCE_WR_ATOMIC_WRITE] = ON_CONNECTED | CAN_INLINE | IS_RDMA | IS_8_BYTES,
};

static const unsigned send_flags_known =
	IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_INLINE;

static uint32_t
round_up_len(uint32_t len, uint32_t unit)
{
	return (len + unit - 1) / unit * unit;
}

uint32_t
uroce_send_wqe_stride(uint32_t max_sge, uint32_t max_inline, bool has_path)
{
	const uint32_t list_len = max_sge * (uint32_t)sizeof(struct ibv_sge);
	const uint32_t data_len = list_len > max_inline ? list_len : max_inline;
	const uint32_t path_len = has_path ? UROCE_WQE_PATH_LEN : 0;

	return round_up_len((uint32_t)sizeof(struct uroce_send_wqe) + path_len + data_len, 64);
}

uint32_t
uroce_recv_wqe_stride(uint32_t max_sge)
{
	return (uint32_t)(sizeof(struct uroce_recv_wqe) + max_sge * sizeof(struct ibv_sge));
}

void
uroce_sq_init(struct uroce_wq *sq, void *mem, uint32_t max_wr, uint32_t max_sge,
	      uint32_t max_inline, bool has_path)
{
	*sq = (struct uroce_wq){
		.max_sge = max_sge,
		.max_inline = max_inline,
		.has_path = has_path,
	};
	uroce_ring_init(&sq->ring, mem, max_wr,
			uroce_send_wqe_stride(max_sge, max_inline, has_path));
}

void
uroce_rq_init(struct uroce_wq *rq, void *mem, uint32_t max_wr, uint32_t max_sge)
{
	*rq = (struct uroce_wq){ .max_sge = max_sge };
	uroce_ring_init(&rq->ring, mem, max_wr, uroce_recv_wqe_stride(max_sge));
}

static uint64_t
list_len(const struct ibv_sge *sge, unsigned nb_sge)
{
	uint64_t len = 0;

	for (unsigned i = 0; i < nb_sge; i++)
		len += sge[i].length;
	return len;
}

/*
 * Get the properties of an opcode (enum opcode_fact). The result is 0 if the opcode may not be
 * posted to this kind of QP: UD, or connected.
 */
static unsigned
opcode_facts(bool is_ud, enum ibv_wr_opcode opcode)
{
	const unsigned row = (unsigned)opcode;
	const unsigned needed = is_ud ? ON_DATAGRAM : ON_CONNECTED;

	if (row >= sizeof(opcode_table) / sizeof(opcode_table[0]) ||
	    (opcode_table[row] & needed) == 0)
		return 0;
	return opcode_table[row];
}

/*
 * Whether a bind of a memory window is valid. The program chooses the low 8 bits of a window's new
 * key; the upper bits belong to the window.
 */
static bool
is_bind_sound(const struct ibv_send_wr *wr)
{
	const struct ibv_mw *mw = wr->bind_mw.mw;

	if (mw == NULL)
		return false;
	/*
	 * The load is atomic, because another thread may change the rkey of the window `mw` at the
	 * same time.
	 */
	const uint32_t rkey = __atomic_load_n(&mw->rkey, __ATOMIC_RELAXED);

	if (((rkey ^ wr->bind_mw.rkey) & ~UINT32_C(0xff)) != 0)
		return false;
	return wr->bind_mw.bind_info.mr != NULL || wr->bind_mw.bind_info.length == 0;
}

/*
 * Whether the range, placement type and selectivity level of a FLUSH are valid, encoded as in
 * <uroce_dv.h>.
 */
static bool
is_flush_sound(const struct ibv_send_wr *wr)
{
	const uint64_t type = wr->wr.atomic.swap & 0xf, level = wr->wr.atomic.swap >> 4;

	return wr->wr.atomic.compare_add <= UINT32_MAX && type >= UROCE_FLUSH_GLOBAL &&
	       type <= (UROCE_FLUSH_GLOBAL | UROCE_FLUSH_PERSISTENT) && level <= UROCE_FLUSH_MR;
}

static bool
is_wr_allowed(const struct uroce_wq *sq, const struct ibv_send_wr *wr, unsigned facts, uint64_t len)
{
	if (facts == 0 || (wr->send_flags & ~send_flags_known) != 0)
		return false;
	if ((wr->send_flags & IBV_SEND_INLINE) != 0 &&
	    ((facts & CAN_INLINE) == 0 || len > sq->max_inline))
		return false;
	if ((facts & (IS_BIND | IS_CONF | IS_FLUSH | IS_8_BYTES)) == 0)
		return len <= MSG_LEN_MAX;
	if ((facts & IS_CONF) != 0)
		return (wr->send_flags & IBV_SEND_INLINE) != 0;
	if ((facts & IS_BIND) != 0)
		return is_bind_sound(wr);
	if ((facts & IS_FLUSH) != 0)
		return is_flush_sound(wr);
	return len == ATOMIC_LEN;
}

/*
 * Compute the flags of a send queue entry from the posted flags. Flags that the opcode cannot have
 * are left out.
 */
static uint8_t
wqe_flags(unsigned send_flags, unsigned facts, bool all_signaled)
{
	unsigned flags = send_flags | (all_signaled ? UROCE_WQE_SIGNALED : 0) |
			 (facts & IS_SEND) / (IS_SEND / UROCE_WQE_SEND);

	if ((facts & CAN_SOLICIT) == 0)
		flags &= ~(unsigned)UROCE_WQE_SOLICITED;
	if ((facts & IS_LOCAL) != 0)
		flags |= UROCE_WQE_LOCAL;
	return (uint8_t)flags;
}

/*
 * Compute the offset of the scatter list or inline data in an entry of a send queue. The list or
 * data follows the operands, if the opcode has any, and the path, if the QP is a UD QP.
 */
static uint8_t
data_off(bool is_ud, unsigned facts)
{
	if (is_ud)
		return sizeof(struct uroce_send_wqe) + UROCE_WQE_PATH_LEN;
	return (facts & (IS_ATOMIC | IS_FLUSH | IS_BIND)) != 0
		       ? sizeof(struct uroce_send_wqe)
		       : offsetof(struct uroce_send_wqe, sge);
}

/*
 * Copy the fields of the union `wr` of struct ibv_send_wr that the opcode uses. These fields name
 * the target of the request.
 */
static void
put_target(struct uroce_send_wqe *wqe, const struct ibv_send_wr *wr, unsigned facts, bool is_ud)
{
	if ((facts & IS_RDMA) != 0) {
		wqe->remote_addr = wr->wr.rdma.remote_addr;
		wqe->rkey = wr->wr.rdma.rkey;
	} else if ((facts & (IS_ATOMIC | IS_FLUSH)) != 0) {
		wqe->remote_addr = wr->wr.atomic.remote_addr;
		wqe->rkey = wr->wr.atomic.rkey;
		wqe->atomic.compare_add = wr->wr.atomic.compare_add;
		wqe->atomic.swap = wr->wr.atomic.swap;
	} else if ((facts & IS_BIND) != 0) {
		const struct ibv_mw_bind_info *info = &wr->bind_mw.bind_info;

		wqe->rkey = wr->bind_mw.rkey;
		wqe->remote_addr = info->addr;
		wqe->bind.len = info->length;
		wqe->bind.mr_key = info->mr != NULL ? info->mr->lkey : 0;
		wqe->bind.access = info->mw_access_flags;
	} else {
		wqe->remote_addr = 0;
		wqe->rkey = 0;
	}
	if (is_ud) {
		wqe->ud.dest_qpn = wr->wr.ud.remote_qpn;
		wqe->ud.qkey = wr->wr.ud.remote_qkey;
	}
}

static void
put_inline(uint8_t *to, const struct ibv_sge *sge, unsigned nb_sge)
{
	for (unsigned i = 0; i < nb_sge; i++) {
		/*
		 * a scatter/gather element of length 0 is skipped, because its address may be
		 * invalid
		 */
		if (sge[i].length == 0)
			continue;
		memcpy(to, (const void *)(uintptr_t)sge[i].addr, sge[i].length);
		to += sge[i].length;
	}
}

/*
 * Copy a scatter list that has one element, as most lists have. The fields are copied one by one:
 * the application has just stored each field, and one wide load would wait for these stores.
 */
static void
put_sge(struct ibv_sge *to, const struct ibv_sge *sge)
{
	to->addr = sge->addr;
	to->length = sge->length;
	to->lkey = sge->lkey;
}

int
uroce_sq_fill(struct uroce_wq *sq, uint32_t nth, const struct ibv_send_wr *wr,
	      const struct uroce_path *path, bool all_signaled)
{
	assert(sq->has_path == (path != NULL));
	if (!uroce_ring_has_room(&sq->ring, nth))
		return -ENOMEM;
	const bool is_ud = path != NULL;
	const unsigned facts = opcode_facts(is_ud, wr->opcode);
	const bool has_list = (facts & IS_CONF) != 0 || (facts & (IS_LOCAL | IS_FLUSH)) == 0;
	const unsigned nb_sge = has_list ? (unsigned)wr->num_sge : 0;

	/*
	 * A negative `num_sge` is refused by this check, because as an unsigned number it is above
	 * max_sge.
	 */
	if (nb_sge > sq->max_sge || (nb_sge > 0 && wr->sg_list == NULL))
		return -EINVAL;
	const uint64_t len = nb_sge == 1 ? wr->sg_list->length : list_len(wr->sg_list, nb_sge);

	if (!is_wr_allowed(sq, wr, facts, len))
		return -EINVAL;
	const bool is_inline = (wr->send_flags & IBV_SEND_INLINE) != 0;
	struct uroce_send_wqe *wqe = uroce_ring_free_slot(&sq->ring, nth);

	/*
	 * Each field of the send queue entry is written once. Fields of `wr` that the opcode does
	 * not use are not read.
	 */
	wqe->wr_id = wr->wr_id;
	wqe->len = (uint32_t)len;
	/*
	 * `imm_data` and `invalidate_rkey` share their bytes in a union of struct ibv_send_wr, so
	 * one copy is enough for both
	 */
	wqe->imm = wr->imm_data;
	wqe->srqn = sq->is_xrc ? wr->qp_type.xrc.remote_srqn : 0;
	wqe->first_psn = 0;
	wqe->nb_psn = 0;
	wqe->opcode = (uint8_t)wr->opcode;
	wqe->flags = wqe_flags(wr->send_flags, facts, all_signaled);
	wqe->nb_sge = is_inline ? 0 : (uint8_t)nb_sge;
	wqe->data_off = data_off(is_ud, facts);
	put_target(wqe, wr, facts, is_ud);
	if (is_ud)
		*uroce_send_wqe_path(wqe) = *path;
	if (is_inline)
		put_inline(uroce_send_wqe_data(wqe), wr->sg_list, nb_sge);
	else if (nb_sge == 1)
		put_sge(uroce_send_wqe_data(wqe), wr->sg_list);
	else if (nb_sge > 0)
		memcpy(uroce_send_wqe_data(wqe), wr->sg_list, nb_sge * sizeof(*wr->sg_list));
	return 0;
}

/*
 * Copy a scatter list that does not have exactly one element. The function is not inlined, so that
 * its callers need not save registers in the common case.
 */
static __attribute__((noinline)) void
put_list(struct uroce_recv_wqe *wqe, const struct ibv_recv_wr *wr)
{
	const uint64_t len = list_len(wr->sg_list, wqe->nb_sge);

	wqe->len = len < UINT32_MAX ? (uint32_t)len : UINT32_MAX;
	if (wqe->nb_sge > 0)
		memcpy(uroce_recv_wqe_sge(wqe), wr->sg_list, wqe->nb_sge * sizeof(*wr->sg_list));
}

static inline void
put_recv_wqe(struct uroce_recv_wqe *wqe, const struct ibv_recv_wr *wr)
{
	wqe->wr_id = wr->wr_id;
	wqe->nb_sge = (uint32_t)wr->num_sge;
	if (wqe->nb_sge != 1) {
		put_list(wqe, wr);
		return;
	}
	wqe->len = wr->sg_list->length;
	put_sge(uroce_recv_wqe_sge(wqe), wr->sg_list);
}

void
uroce_recv_wqe_fill(struct uroce_recv_wqe *wqe, const struct ibv_recv_wr *wr)
{
	put_recv_wqe(wqe, wr);
}

int
uroce_rq_fill(struct uroce_wq *rq, uint32_t nth, const struct ibv_recv_wr *wr)
{
	if (!uroce_ring_has_room(&rq->ring, nth))
		return -ENOMEM;
	if (!uroce_recv_is_allowed(wr, rq->max_sge))
		return -EINVAL;
	put_recv_wqe(uroce_ring_free_slot(&rq->ring, nth), wr);
	return 0;
}
