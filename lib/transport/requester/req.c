/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Request packets [IBA 9.7.3, 9.7.5.2]: from send queue entries to packets.
 *
 * A request gets its PSNs when its first packet is built: one for each packet, or, for a READ, one
 * for each packet of the response. The send position (next_idx, next_pkt, next_psn) advances over
 * them. To go back N, the send position is set back to the oldest unacknowledged PSN, and advances
 * again. Requests are not copied: a packet is built from its request each time that it is sent.
 *
 * A READ is sent as several READ requests of at most `chunk_psns` responses, so that the window
 * limits the responses in flight, too.
 *
 * The ACK rule: the last packet that can be sent now asks for an ACK, because no later packet
 * would. Of other packets, one in `ack_every` asks. READs and atomics get a response in any case.
 * Sometimes it is known too late which packet was the last: the next request cannot be sent, or may
 * not, because the queue is being drained. Then the last packet is sent once more, and asks for an
 * ACK.
 */
#include "transport/requester/req.h"

#include <string.h>

#include "transport/recovery/ooo_response_state.h"
#include "transport/requester/pipeline.h"
#include "transport/requester/position.h"
#include "transport/txd.h"
#include "base/newer_verbs.h"
#include "wire/psn.h"

/* Opcodes of SEND and WRITE packets, by enum ibv_wr_opcode. */
static const struct {
	uint8_t first;
	uint8_t middle;
	uint8_t last;
	uint8_t only; /* 0: the request is no SEND or WRITE */
} ops[UROCE_WR_ATOMIC_WRITE + 1] = {
	[IBV_WR_RDMA_WRITE] = { UROCE_OP_WRITE_FIRST, UROCE_OP_WRITE_MIDDLE, UROCE_OP_WRITE_LAST,
				UROCE_OP_WRITE_ONLY },
	[IBV_WR_RDMA_WRITE_WITH_IMM] = { UROCE_OP_WRITE_FIRST, UROCE_OP_WRITE_MIDDLE,
					 UROCE_OP_WRITE_LAST_IMM, UROCE_OP_WRITE_ONLY_IMM },
	[IBV_WR_SEND] = { UROCE_OP_SEND_FIRST, UROCE_OP_SEND_MIDDLE, UROCE_OP_SEND_LAST,
			  UROCE_OP_SEND_ONLY },
	[IBV_WR_SEND_WITH_IMM] = { UROCE_OP_SEND_FIRST, UROCE_OP_SEND_MIDDLE,
				   UROCE_OP_SEND_LAST_IMM, UROCE_OP_SEND_ONLY_IMM },
	[IBV_WR_SEND_WITH_INV] = { UROCE_OP_SEND_FIRST, UROCE_OP_SEND_MIDDLE,
				   UROCE_OP_SEND_LAST_INV, UROCE_OP_SEND_ONLY_INV },
};

void
uroce_req_reset(struct uroce_qpc *qpc)
{
	uroce_ooo_response_discard(qpc);
	qpc->req = (struct uroce_req){
		.ack_deadline = UROCE_NEVER,
		.loss_recovery.probe_deadline = UROCE_NEVER,
		.ooo_responses.deadline = UROCE_NEVER,
	};
}

/*
 * Advance the send position past `nb` PSNs that were just sent, and count a retransmission.
 */
static void
advance_position(struct uroce_qpc *qpc, const struct uroce_send_wqe *wqe, uint32_t nb)
{
	if (qpc->req.next_psn != qpc->req.max_psn) {
		qpc->stats.retransmits++;
		uroce_count_in(qpc->counters, UROCE_COUNTER_RETRANSMITTED_PKTS, 1);
	}
	uroce_position_move(&qpc->req, wqe, nb);
}

/*
 * Begin a packet of a request: the headers up to the BTH, and the XRCETH if the opcode has one.
 * @return where the extension headers begin, at the offsets in the opcode's table
 */
static inline uint8_t *
begin_packet(struct uroce_qpc *qpc, const struct uroce_send_wqe *wqe, struct uroce_txd *txd,
	     uint8_t opcode, uint32_t psn, uint32_t payload_len)
{
	uint8_t *ext = uroce_txd_begin(txd, qpc, opcode, psn, payload_len);

	if (uroce_opcode_table[opcode].ext_mask & 1 << UROCE_EXT_XRCETH)
		*(struct uroce_xrceth *)ext = (struct uroce_xrceth){ 0, be24_make(wqe->srqn) };
	return ext;
}

/* Begin the packet at the send position. `low` is its opcode within the QP's service. */
static void
begin_next(struct uroce_qpc *qpc, const struct uroce_send_wqe *wqe, struct uroce_txd *txd,
	   uint8_t low, uint32_t payload_len)
{
	begin_packet(qpc, wqe, txd, (uint8_t)(qpc->service << 5 | low), qpc->req.next_psn,
		     payload_len);
}

/* The address of an extension header of the packet. */
static void *
get_ext(const struct uroce_txd *txd, enum uroce_ext which)
{
	const struct uroce_bth *bth = (const struct uroce_bth *)(txd->hdr + txd->bth_off);

	return (uint8_t *)(bth + 1) + uroce_opcode_table[bth->opcode].ext_off[which];
}

void
uroce_req_put_read(struct uroce_qpc *qpc, uint32_t nb, struct uroce_txd *txd)
{
	struct uroce_req *req = &qpc->req;
	const struct uroce_send_wqe *wqe = uroce_req_wqe(qpc, req->next_idx);
	const uint64_t offset = (uint64_t)req->next_pkt << qpc->mtu_shift;
	const uint64_t offset_end = (uint64_t)(req->next_pkt + nb) << qpc->mtu_shift;
	const uint32_t len = (uint32_t)((offset_end < wqe->len ? offset_end : wqe->len) - offset);

	begin_next(qpc, wqe, txd, UROCE_OP_READ_REQUEST, 0);
	uroce_reth_put(get_ext(txd, UROCE_EXT_RETH), wqe->remote_addr + offset, wqe->rkey, len);
	req->nb_rd_out++;
	req->since_ack_req = 0;
	advance_position(qpc, wqe, nb);
}

void
uroce_req_put_atomiceth(struct uroce_atomiceth *eth, const struct uroce_send_wqe *wqe)
{
	const bool is_swap = wqe->opcode == IBV_WR_ATOMIC_CMP_AND_SWP;

	eth->va = be64_make(wqe->remote_addr);
	eth->rkey = be32_make(wqe->rkey);
	eth->swap_add = be64_make(is_swap ? wqe->atomic.swap : wqe->atomic.compare_add);
	eth->compare = be64_make(is_swap ? wqe->atomic.compare_add : 0);
}

static void
put_atomic(struct uroce_qpc *qpc, const struct uroce_send_wqe *wqe, struct uroce_txd *txd)
{
	struct uroce_req *req = &qpc->req;
	const bool is_swap = wqe->opcode == IBV_WR_ATOMIC_CMP_AND_SWP;

	begin_next(qpc, wqe, txd, is_swap ? UROCE_OP_CMP_SWAP : UROCE_OP_FETCH_ADD, 0);
	uroce_req_put_atomiceth(get_ext(txd, UROCE_EXT_ATOMICETH), wqe);
	req->nb_rd_out++;
	req->since_ack_req = 0;
	advance_position(qpc, wqe, 1);
}

/*
 * Collect the payload of a packet as slices, after its headers were built.
 * @param[out] is_bad  whether a signature in the payload is bad
 * @return 0, or -EFAULT: access is refused
 */
static int
slice_payload(struct uroce_qpc *qpc, struct uroce_send_wqe *wqe, uint32_t len,
	      struct uroce_txd *txd, bool *is_bad)
{
	struct uroce_sge_room room = {
		.at = txd->hdr + txd->hdr_len,
		.is_retransmit = qpc->req.next_psn != qpc->req.max_psn,
	};
	const uint64_t offset = (uint64_t)qpc->req.next_pkt << qpc->mtu_shift;
	void *data = uroce_send_wqe_data(wqe);

	if (wqe->flags & UROCE_WQE_INLINE) {
		txd->slice[0] = (struct uroce_slice){ (uint8_t *)data + offset, len };
		txd->nb_slices = len ? 1 : 0;
		return 0;
	}
	const int nb = uroce_sge_gather(qpc->mrs, qpc->pdn, data, wqe->nb_sge, offset, len, &room,
					txd->slice);

	if (nb < 0)
		return nb;
	*is_bad = room.is_bad;
	txd->nb_slices = (uint8_t)nb;
	/*
	 * A retransmission is copied, not sent zero-copy. The first transmission may be
	 * acknowledged, and the request complete, while the port still transmits from the memory.
	 */
	if (room.is_retransmit) {
		for (int i = 0; i < nb; i++)
			txd->slice[i].key = 0;
	}
	return 0;
}

static uint8_t
opcode_at(const struct uroce_send_wqe *wqe, uint32_t pkt)
{
	const bool is_first = pkt == 0, is_last = pkt == wqe->nb_psn - 1;

	if (is_first)
		return is_last ? ops[wqe->opcode].only : ops[wqe->opcode].first;
	return is_last ? ops[wqe->opcode].last : ops[wqe->opcode].middle;
}

/* Build a FLUSH, which has no payload. Its response says that the flush is done. */
static void
put_flush(struct uroce_qpc *qpc, const struct uroce_send_wqe *wqe, struct uroce_txd *txd)
{
	const uint32_t type = wqe->atomic.swap & 0xf, level = (uint32_t)(wqe->atomic.swap >> 4);

	begin_next(qpc, wqe, txd, UROCE_OP_FLUSH, 0);
	struct uroce_feth *feth = get_ext(txd, UROCE_EXT_FETH);

	feth->sel_plt = be32_make(level << 4 | type);
	uroce_reth_put(get_ext(txd, UROCE_EXT_RETH), wqe->remote_addr, wqe->rkey,
		       (uint32_t)wqe->atomic.compare_add);
	qpc->req.nb_rd_out++;
	qpc->req.since_ack_req = 0;
	advance_position(qpc, wqe, 1);
}

/* Build an ATOMIC_WRITE. @return false: it was not built, and the request has a fault */
static bool
put_atomic_write(struct uroce_qpc *qpc, struct uroce_send_wqe *wqe, struct uroce_txd *txd)
{
	bool is_bad;

	begin_next(qpc, wqe, txd, UROCE_OP_ATOMIC_WRITE, UROCE_ATOMIC_WRITE_LEN);
	if (slice_payload(qpc, wqe, UROCE_ATOMIC_WRITE_LEN, txd, &is_bad)) {
		qpc->req.fault = IBV_WC_LOC_PROT_ERR;
		return false;
	}
	uroce_reth_put(get_ext(txd, UROCE_EXT_RETH), wqe->remote_addr, wqe->rkey,
		       UROCE_ATOMIC_WRITE_LEN);
	qpc->req.nb_rd_out++;
	qpc->req.since_ack_req = 0;
	qpc->stats.tx_bytes += UROCE_ATOMIC_WRITE_LEN;
	advance_position(qpc, wqe, 1);
	return true;
}

/*
 * Whether the request `idx` is the last in the send queue that has packets to send: only local
 * requests follow.
 * @param next  the slot behind the request
 */
static inline bool
is_last_to_send(const struct uroce_qpc *qpc, uint32_t idx, const struct uroce_send_wqe *next,
		uint32_t head)
{
	if (idx + 1 != head && !(next->flags & UROCE_WQE_LOCAL))
		return false;
	do
		idx++;
	while (idx != head && uroce_req_wqe(qpc, idx)->flags & UROCE_WQE_LOCAL);
	return idx == head;
}

/*
 * Apply the ACK rule to the packet at the send position.
 * @return whether the packet asks for an ACK
 */
static bool
wants_ack(struct uroce_qpc *qpc, const struct uroce_send_wqe *wqe)
{
	struct uroce_req *req = &qpc->req;
	struct uroce_ack_rule rule = uroce_ack_rule_begin(qpc);
	const uint32_t head = uroce_ring_head(&qpc->sq->ring);
	const bool is_queue_end =
		req->next_pkt == wqe->nb_psn - 1 &&
		(qpc->state != IBV_QPS_RTS ||
		 is_last_to_send(qpc, req->next_idx, uroce_req_wqe(qpc, req->next_idx + 1), head));
	const bool is_asking = uroce_ack_rule_next(qpc, &rule, is_queue_end);

	req->since_ack_req = (uint8_t)rule.since;
	return is_asking;
}

/*
 * Build the extension headers that few SENDs and WRITEs have: immediate data, and the key to
 * invalidate.
 */
static void
put_rare_headers(uint8_t *ext, const struct uroce_send_wqe *wqe, const struct uroce_opcode *op)
{
	if (op->ext_mask & 1 << UROCE_EXT_IMMDT)
		memcpy(ext + op->ext_off[UROCE_EXT_IMMDT], &wqe->imm, sizeof(wqe->imm));
	if (op->ext_mask & 1 << UROCE_EXT_IETH)
		((struct uroce_ieth *)(ext + op->ext_off[UROCE_EXT_IETH]))->rkey =
			be32_make(wqe->imm);
}

/* Build the headers of a SEND or WRITE packet with `len` bytes of payload. @return its BTH */
static inline struct uroce_bth *
put_headers(struct uroce_qpc *qpc, const struct uroce_send_wqe *wqe, uint8_t low, uint32_t psn,
	    uint32_t len, struct uroce_txd *txd)
{
	const uint8_t opcode = (uint8_t)(qpc->service << 5 | low);
	const struct uroce_opcode *op = &uroce_opcode_table[opcode];
	uint8_t *ext = begin_packet(qpc, wqe, txd, opcode, psn, len);
	struct uroce_bth *bth = (struct uroce_bth *)ext - 1;

	if (op->ext_mask & 1 << UROCE_EXT_RETH)
		uroce_reth_put((struct uroce_reth *)(ext + op->ext_off[UROCE_EXT_RETH]),
			       wqe->remote_addr, wqe->rkey, wqe->len);
	if (op->ext_mask & (1 << UROCE_EXT_IMMDT | 1 << UROCE_EXT_IETH))
		put_rare_headers(ext, wqe, op);
	if ((wqe->flags & UROCE_WQE_SOLICITED) && (op->flags & UROCE_OPF_LAST))
		bth->flags |= UROCE_BTH_SOLICITED;
	return bth;
}

/*
 * Build a SEND or WRITE packet at the send position.
 * @return false: it was not built, and the request has a fault
 */
static bool
put_data(struct uroce_qpc *qpc, struct uroce_send_wqe *wqe, struct uroce_txd *txd)
{
	struct uroce_req *req = &qpc->req;
	const uint32_t pkt = req->next_pkt;
	const uint32_t len = uroce_msg_payload(qpc, wqe->len, pkt);
	struct uroce_bth *bth = put_headers(qpc, wqe, opcode_at(wqe, pkt), req->next_psn, len, txd);
	bool is_bad = false;

	if (slice_payload(qpc, wqe, len, txd, &is_bad)) {
		req->fault = IBV_WC_LOC_PROT_ERR;
		return false;
	}
	if (uroce_qpc_is_reliable(qpc) && wants_ack(qpc, wqe))
		bth->ack_req = UROCE_BTH_ACK_REQ;
	qpc->stats.tx_bytes += len;
	advance_position(qpc, wqe, 1);
	if (is_bad)
		uroce_pipeline_stop(qpc);
	return true;
}

/* Whether a request is a SEND or WRITE of one packet, without a fence. */
static inline bool
is_single_packet(const struct uroce_qpc *qpc, const struct uroce_send_wqe *wqe, uint32_t mtu)
{
	return ops[wqe->opcode].only && wqe->len <= mtu &&
	       !(wqe->flags & (UROCE_WQE_FENCE | UROCE_WQE_LOCAL)) &&
	       (uroce_qpc_is_reliable(qpc) || uroce_req_is_possible(qpc, wqe));
}

/*
 * Collect the whole payload of a request as slices.
 * @param view  the memory region that was used last in this burst
 * @return 0, or negative: access is refused, or the general path is needed
 */
static inline int
slice_whole(struct uroce_qpc *qpc, struct uroce_send_wqe *wqe, struct uroce_mr_view *view,
	    struct uroce_txd *txd)
{
	if (wqe->flags & UROCE_WQE_INLINE) {
		txd->slice[0] = (struct uroce_slice){ uroce_send_wqe_data(wqe), wqe->len };
		txd->nb_slices = wqe->len ? 1 : 0;
		return 0;
	}
	const int nb = uroce_sge_gather_all(qpc->mrs, qpc->pdn, uroce_send_wqe_data(wqe),
					    wqe->nb_sge, wqe->len, view, txd->slice);

	if (nb < 0)
		return nb;
	txd->nb_slices = (uint8_t)nb;
	return 0;
}

/*
 * Send short requests on the fast path. These are often most of what is sent. The conditions of a
 * packet are checked once for all. The burst ends before the first request that is not short. The
 * send position is in registers meanwhile.
 */
unsigned
uroce_req_put_run(struct uroce_qpc *qpc, struct uroce_txd *out, unsigned max)
{
	struct uroce_req *req = &qpc->req;
	const bool is_reliable = uroce_qpc_is_reliable(qpc);
	const uint32_t head = uroce_ring_head(&qpc->sq->ring), begin = req->next_idx;
	const uint32_t mtu = 1u << qpc->mtu_shift;
	struct uroce_mr_view view = { 0 };
	struct uroce_ack_rule rule = uroce_ack_rule_begin(qpc);
	uint32_t psn = req->next_psn, idx;
	uint64_t nb_bytes = 0;

	if (max > head - begin)
		max = head - begin;
	if (is_reliable && max > uroce_req_window_left(qpc))
		max = uroce_req_window_left(qpc);
	struct uroce_send_wqe *wqe = uroce_req_wqe(qpc, begin), *next;

	for (idx = begin; idx != begin + max; idx++, wqe = next, psn = uroce_psn_add(psn, 1)) {
		struct uroce_txd *txd = &out[idx - begin];

		next = uroce_req_wqe(qpc, idx + 1);
		if (!is_single_packet(qpc, wqe, mtu))
			break;
		wqe->first_psn = psn;
		wqe->nb_psn = 1;
		/*
		 * the general path handles a payload to which access is refused, or which the fast
		 * path cannot send
		 */
		if (slice_whole(qpc, wqe, &view, txd))
			break;
		struct uroce_bth *bth =
			put_headers(qpc, wqe, ops[wqe->opcode].only, psn, wqe->len, txd);

		nb_bytes += wqe->len;
		if (is_reliable &&
		    uroce_ack_rule_next(qpc, &rule, is_last_to_send(qpc, idx, next, head)))
			bth->ack_req = UROCE_BTH_ACK_REQ;
	}
	qpc->stats.tx_bytes += nb_bytes;
	req->since_ack_req = (uint8_t)rule.since;
	uroce_position_set(req, psn, idx, 0);
	return idx - begin;
}

bool
uroce_req_put(struct uroce_qpc *qpc, struct uroce_txd *txd)
{
	struct uroce_send_wqe *wqe = uroce_req_wqe(qpc, qpc->req.next_idx);

	switch ((int)wqe->opcode) {
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		put_atomic(qpc, wqe, txd);
		return true;
	case UROCE_WR_FLUSH:
		put_flush(qpc, wqe, txd);
		return true;
	case UROCE_WR_ATOMIC_WRITE:
		return put_atomic_write(qpc, wqe, txd);
	}
	return put_data(qpc, wqe, txd);
}
