/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Request packets [IBA 9.7.3, 9.7.5.2]: the requester builds them from the entries of the send
 * queue. A request gets its PSNs when its first packet is built: one for each packet, or, for a
 * READ, one for each packet of the response. The send position (next_idx, next_pkt, next_psn)
 * advances over these PSNs. To go back N, the send position is set back to the oldest
 * unacknowledged PSN, and advances again. Requests are not copied: a packet is built from its
 * request each time that it is sent. A READ is sent as several READ requests of at most
 * `chunk_psns` responses, so that the window also limits the responses in flight.
 *
 * The ACK rule: the last packet that can be sent now requests an ACK, because no later packet would
 * request it. Of the other packets, one in `ack_every` requests an ACK. READs and atomics need not
 * request an ACK, because they get a response in any case. Sometimes a packet is known to be the
 * last only after it was sent, because the next request cannot be sent, or may not be sent while
 * the queue is being drained. Then the last packet is sent once more, and requests an ACK.
 */
#include "transport/requester/req.h"

#include <string.h>

#include "transport/recovery/ooo_response_state.h"
#include "transport/requester/pipeline.h"
#include "transport/requester/position.h"
#include "transport/txd.h"
#include "base/newer_verbs.h"
#include "wire/psn.h"

/*
 * Opcodes of the First, Middle, Last and Only packet of a request, by the opcode of the work
 * request.
 */
static const struct {
	uint8_t first;
	uint8_t middle;
	uint8_t last;
	uint8_t only; /* opcode of the Only packet of a request; 0: the request has no packets */
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
	/*
	 * a READ is sent in chunks, each as a READ request of its own, and all have the same opcode
	 */
	[IBV_WR_RDMA_READ] = { UROCE_OP_READ_REQUEST, UROCE_OP_READ_REQUEST, UROCE_OP_READ_REQUEST,
			       UROCE_OP_READ_REQUEST },
	[IBV_WR_ATOMIC_CMP_AND_SWP] = { .only = UROCE_OP_CMP_SWAP },
	[IBV_WR_ATOMIC_FETCH_AND_ADD] = { .only = UROCE_OP_FETCH_ADD },
	[UROCE_WR_FLUSH] = { .only = UROCE_OP_FLUSH },
	[UROCE_WR_ATOMIC_WRITE] = { .only = UROCE_OP_ATOMIC_WRITE },
};

/*
 * Get the row of the opcode table for an opcode: the service of the QP determines the upper 3 bits
 * of the opcode, `low` is its lower 5 bits.
 */
static inline const struct uroce_opcode *
get_opcode(const struct uroce_qpc *qpc, uint8_t low)
{
	return &uroce_opcode_table[qpc->service << 5 | low];
}

/* Whether a packet with this opcode gets a response of its own, which an ACK cannot replace. */
static inline bool
is_rd_atomic(const struct uroce_opcode *op)
{
	return op->operation > UROCE_OPERATION_WRITE;
}

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
 * Begin a packet of a request: build the headers up to the BTH, and the XRCETH if the opcode has
 * one.
 * @return the beginning of the extension headers, to which the offsets in the opcode table refer
 */
static inline uint8_t *
begin_packet(struct uroce_qpc *qpc, const struct uroce_send_wqe *wqe, struct uroce_txd *txd,
	     const struct uroce_opcode *op, uint32_t psn, uint32_t payload_len)
{
	const uint8_t opcode = (uint8_t)(op - uroce_opcode_table);
	uint8_t *ext = uroce_txd_begin(txd, qpc, opcode, psn, payload_len);

	if (op->ext_mask & 1 << UROCE_EXT_XRCETH)
		*(struct uroce_xrceth *)ext = (struct uroce_xrceth){ 0, be24_make(wqe->srqn) };
	return ext;
}

/*
 * Collect the payload of a packet as slices, after its headers were built.
 * @param[out] is_bad  whether a signature in the payload is bad
 * @return 0; -EFAULT: access to the memory of the payload is refused
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
	 * A retransmission is copied, not sent zero-copy. Otherwise an ACK of the first
	 * transmission could complete the request while the port still transmits from the memory.
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

/*
 * Whether the request `idx` is the last in the send queue that has packets to send, because only
 * local requests follow.
 * @param next  the entry of the send queue behind this request
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
 * @return whether the packet requests an ACK
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
	const bool is_asking = uroce_ack_rule_next(&qpc->req, &rule, is_queue_end);

	req->since_ack_req = (uint8_t)rule.since;
	return is_asking;
}

static inline void
put_atomiceth(struct uroce_atomiceth *eth, const struct uroce_send_wqe *wqe)
{
	const bool is_swap = wqe->opcode == IBV_WR_ATOMIC_CMP_AND_SWP;

	eth->va = be64_make(wqe->remote_addr);
	eth->rkey = be32_make(wqe->rkey);
	eth->swap_add = be64_make(is_swap ? wqe->atomic.swap : wqe->atomic.compare_add);
	eth->compare = be64_make(is_swap ? wqe->atomic.compare_add : 0);
}

/*
 * Build the extension headers of a FLUSH: the FETH has the kind of the flush, the RETH has the
 * memory range.
 */
static void
put_feth(uint8_t *ext, const struct uroce_send_wqe *wqe, const struct uroce_opcode *op)
{
	const uint32_t type = wqe->atomic.swap & 0xf, level = (uint32_t)(wqe->atomic.swap >> 4);
	struct uroce_feth *feth = (struct uroce_feth *)(ext + op->ext_off[UROCE_EXT_FETH]);

	feth->sel_plt = be32_make(level << 4 | type);
	uroce_reth_put((struct uroce_reth *)(ext + op->ext_off[UROCE_EXT_RETH]), wqe->remote_addr,
		       wqe->rkey, (uint32_t)wqe->atomic.compare_add);
}

/* The set of the extension headers that only few requests have. */
#define RARE_HEADERS                                                                               \
	(1u << UROCE_EXT_FETH | 1u << UROCE_EXT_ATOMICETH | 1u << UROCE_EXT_IMMDT |                \
	 1u << UROCE_EXT_IETH)

static inline void
put_rare_headers(uint8_t *ext, const struct uroce_send_wqe *wqe, const struct uroce_opcode *op)
{
	if (op->ext_mask & 1 << UROCE_EXT_ATOMICETH)
		put_atomiceth((struct uroce_atomiceth *)(ext + op->ext_off[UROCE_EXT_ATOMICETH]),
			      wqe);
	if (op->ext_mask & 1 << UROCE_EXT_FETH)
		put_feth(ext, wqe, op);
	if (op->ext_mask & 1 << UROCE_EXT_IMMDT)
		memcpy(ext + op->ext_off[UROCE_EXT_IMMDT], &wqe->imm, sizeof(wqe->imm));
	if (op->ext_mask & 1 << UROCE_EXT_IETH)
		((struct uroce_ieth *)(ext + op->ext_off[UROCE_EXT_IETH]))->rkey =
			be32_make(wqe->imm);
}

/*
 * Whether a packet has the solicited event bit: its request has the flag IBV_SEND_SOLICITED, and
 * the packet is the last of a SEND or WRITE.
 */
static inline bool
is_solicited(const struct uroce_send_wqe *wqe, const struct uroce_opcode *op)
{
	return wqe->flags & UROCE_WQE_SOLICITED && op->flags & UROCE_OPF_LAST && !is_rd_atomic(op);
}

/*
 * Build the headers of a request packet with `len` bytes of payload. The RETH has the memory range
 * of the whole request.
 * @return the BTH of the packet
 */
static inline struct uroce_bth *
put_headers(struct uroce_qpc *qpc, const struct uroce_send_wqe *wqe, const struct uroce_opcode *op,
	    uint32_t psn, uint32_t len, struct uroce_txd *txd)
{
	uint8_t *ext = begin_packet(qpc, wqe, txd, op, psn, len);
	struct uroce_bth *bth = (struct uroce_bth *)ext - 1;

	if (op->ext_mask & 1 << UROCE_EXT_RETH)
		uroce_reth_put((struct uroce_reth *)(ext + op->ext_off[UROCE_EXT_RETH]),
			       wqe->remote_addr, wqe->rkey, wqe->len);
	if (op->ext_mask & RARE_HEADERS)
		put_rare_headers(ext, wqe, op);
	if (is_solicited(wqe, op))
		bth->flags |= UROCE_BTH_SOLICITED;
	return bth;
}

/* Write the memory range of the next `nb` responses into the RETH of a READ request. */
static void
put_read_range(const struct uroce_qpc *qpc, const struct uroce_send_wqe *wqe, uint32_t nb,
	       struct uroce_bth *bth)
{
	const uint32_t pkt = qpc->req.next_pkt;
	const uint64_t offset = (uint64_t)pkt << qpc->mtu_shift;
	const uint64_t offset_end = (uint64_t)(pkt + nb) << qpc->mtu_shift;
	const uint32_t len = (uint32_t)((offset_end < wqe->len ? offset_end : wqe->len) - offset);
	uint8_t *reth =
		(uint8_t *)(bth + 1) + uroce_opcode_table[bth->opcode].ext_off[UROCE_EXT_RETH];

	uroce_reth_put((struct uroce_reth *)reth, wqe->remote_addr + offset, wqe->rkey, len);
}

/*
 * Count a packet that was built at the send position, and make it request an ACK if the ACK rule
 * demands it.
 */
static void
count_packet(struct uroce_qpc *qpc, const struct uroce_send_wqe *wqe, struct uroce_bth *bth)
{
	struct uroce_req *req = &qpc->req;

	if (is_rd_atomic(&uroce_opcode_table[bth->opcode])) {
		req->nb_rd_out++;
		req->since_ack_req = 0;
	} else if (uroce_qpc_is_reliable(qpc) && wants_ack(qpc, wqe)) {
		bth->ack_req = UROCE_BTH_ACK_REQ;
	}
	if (req->next_psn != req->max_psn) {
		qpc->stats.retransmits++;
		uroce_count_in(qpc->counters, UROCE_COUNTER_RETRANSMITTED_PKTS, 1);
	}
}

bool
uroce_req_put(struct uroce_qpc *qpc, uint32_t nb, struct uroce_txd *txd)
{
	struct uroce_req *req = &qpc->req;
	struct uroce_send_wqe *wqe = uroce_req_wqe(qpc, req->next_idx);
	const struct uroce_opcode *op = get_opcode(qpc, opcode_at(wqe, req->next_pkt));
	const bool has_payload = op->flags & UROCE_OPF_PAYLOAD;
	const uint32_t len = has_payload ? uroce_msg_payload(qpc, wqe->len, req->next_pkt) : 0;
	struct uroce_bth *bth = put_headers(qpc, wqe, op, req->next_psn, len, txd);
	bool is_bad = false;

	if (op->operation == UROCE_OPERATION_READ)
		put_read_range(qpc, wqe, nb, bth);
	if (len && slice_payload(qpc, wqe, len, txd, &is_bad)) {
		req->fault = IBV_WC_LOC_PROT_ERR;
		return false;
	}
	count_packet(qpc, wqe, bth);
	qpc->stats.tx_bytes += len;
	uroce_position_move(req, wqe, nb);
	if (is_bad)
		uroce_pipeline_stop(qpc);
	return true;
}

/*
 * Find the row of the opcode table for a request that a burst of single packets may contain: a
 * SEND, WRITE, READ or atomic.
 * @return NULL: the request is of another kind, or the QP does not allow it
 */
static const struct uroce_opcode *
find_burst_opcode(const struct uroce_qpc *qpc, const struct uroce_send_wqe *wqe)
{
	const uint8_t only = ops[wqe->opcode].only;
	const struct uroce_opcode *op = get_opcode(qpc, only);

	return only && op->operation <= UROCE_OPERATION_ATOMIC && uroce_req_is_possible(qpc, wqe)
		       ? op
		       : NULL;
}

/*
 * Whether a request may be part of a burst of single packets: it is one packet, is not cancelled,
 * and has no fence.
 */
static inline bool
is_single_packet(const struct uroce_send_wqe *wqe, uint32_t mtu)
{
	return wqe->len <= mtu && !(wqe->flags & (UROCE_WQE_FENCE | UROCE_WQE_LOCAL));
}

/*
 * Collect the whole payload of a request as slices.
 * @param view  the memory region that was used last in this burst
 * @return 0; negative: access is refused, or the general path is needed
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
 * Get the number of READs and atomics that max_rd_atomic allows in a burst of `max` packets. The
 * number is 0 if the burst exceeds the window.
 */
static uint32_t
count_rd_atomic_room(const struct uroce_qpc *qpc, uint32_t max)
{
	const struct uroce_req *req = &qpc->req;

	if (uroce_psn_dist(req->una_psn, req->next_psn) + max > qpc->window_psns ||
	    req->nb_rd_out >= qpc->attr.max_rd_atomic)
		return 0;
	return qpc->attr.max_rd_atomic - req->nb_rd_out;
}

/*
 * Build a burst of requests of one packet each on the fast path. With small messages, this function
 * builds most packets. Conditions that are the same for all packets are checked once. The burst
 * ends before the first request that is longer or has to wait. Local variables hold the send
 * position until the burst ends.
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
	uint32_t psn = req->next_psn, nb_rd_atomic = 0, idx;
	uint64_t nb_bytes = 0;

	max = uroce_min(max, head - begin);
	if (is_reliable)
		max = uroce_min(max, rule.room);
	if (!max)
		return 0;
	const uint32_t rd_room = count_rd_atomic_room(qpc, max);
	struct uroce_send_wqe *wqe = uroce_req_wqe(qpc, begin), *next;
	const struct uroce_opcode *op = find_burst_opcode(qpc, wqe);
	uint8_t opcode = wqe->opcode;

	for (idx = begin; idx != begin + max; idx++, wqe = next, psn = uroce_psn_add(psn, 1)) {
		struct uroce_txd *txd = &out[idx - begin];
		uint32_t len = wqe->len;
		bool is_asking = false;

		next = uroce_req_wqe(qpc, idx + 1);
		if (wqe->opcode != opcode)
			op = find_burst_opcode(qpc, wqe);
		opcode = wqe->opcode;
		if (!op || !is_single_packet(wqe, mtu))
			break;
		if (is_rd_atomic(op)) {
			if (nb_rd_atomic == rd_room)
				break;
			nb_rd_atomic++;
			uroce_ack_rule_respond(&rule);
			len = 0;
		} else {
			/*
			 * end the burst: the general path handles a payload to which access is
			 * refused, or which the fast path cannot send
			 */
			if (slice_whole(qpc, wqe, &view, txd))
				break;
			is_asking = is_reliable &&
				    uroce_ack_rule_next(req, &rule,
							is_last_to_send(qpc, idx, next, head));
		}
		wqe->first_psn = psn;
		wqe->nb_psn = 1;
		nb_bytes += len;
		struct uroce_bth *bth = put_headers(qpc, wqe, op, psn, len, txd);

		if (is_asking)
			bth->ack_req = UROCE_BTH_ACK_REQ;
	}
	qpc->stats.tx_bytes += nb_bytes;
	req->since_ack_req = (uint8_t)rule.since;
	req->nb_rd_out = (uint8_t)(req->nb_rd_out + nb_rd_atomic);
	uroce_position_set(req, psn, idx, 0);
	return idx - begin;
}
