/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The middle of long messages: packets of a SEND, a WRITE or the answer to a READ that are neither
 * its first nor its last. Of these there are most where there are many bytes, and all that distinguishes
 * one from the one before is its PSN, and where its payload is.
 *
 * How it works: what is asked of every packet elsewhere is asked here once of a run of them, within one
 * message: whether it may be sent, or is expected; where the memory is, of all of it in one piece. Then
 * the run is a loop of PSNs and addresses. Where an answer is not the common one - something was lost,
 * memory is in several pieces, or not there - there is no run, and the packets go the way of all
 * packets, which knows what to say of each.
 */
#include "transport/middle.h"

#include "mem/copy.h"
#include "transport/aeth.h"
#include "transport/ooo_request.h"
#include "transport/position.h"
#include "transport/recv.h"
#include "transport/retry.h"
#include "transport/txd.h"
#include "wire/psn.h"

/* What the middle of a request looks like on the wire, by enum ibv_wr_opcode; 0: it has none. */
static const uint8_t middles[UROCE_WR_ATOMIC_WRITE + 1] = {
	[IBV_WR_RDMA_WRITE] = UROCE_OP_WRITE_MIDDLE,
	[IBV_WR_RDMA_WRITE_WITH_IMM] = UROCE_OP_WRITE_MIDDLE,
	[IBV_WR_SEND] = UROCE_OP_SEND_MIDDLE,
	[IBV_WR_SEND_WITH_IMM] = UROCE_OP_SEND_MIDDLE,
	[IBV_WR_SEND_WITH_INV] = UROCE_OP_SEND_MIDDLE,
};

#define LINE 64u /* bytes that the cache fetches */

/* So many of the next packet's place are asked for: all, or a quarter of the largest packet's. */
#define AHEAD_LINES 16u

/* --- out --------------------------------------------------------------------------------------- */

/* A packet with `len` bytes of payload at `addr`, and nothing behind its BTH. */
static inline struct uroce_bth *
put_middle(struct uroce_qpc *qpc, struct uroce_txd *txd, uint8_t opcode, uint32_t psn,
	   const void *addr, uint32_t len, uint32_t key)
{
	uint8_t *ext = uroce_txd_begin(txd, qpc, opcode, psn, len);

	txd->slice[0] = (struct uroce_slice){ .addr = addr, .len = len, .key = key };
	txd->nb_slices = 1;
	return (struct uroce_bth *)ext - 1;
}

/*
 * Where the payload of the request's next `nb` packets is; NULL: that is to be asked for each.
 * @param[out] key  of the region, for a loan
 */
static const uint8_t *
find_payload(const struct uroce_qpc *qpc, struct uroce_send_wqe *wqe, uint32_t nb, uint32_t *key)
{
	const uint64_t begin = (uint64_t)qpc->req.next_pkt << qpc->mtu_shift;
	const struct ibv_sge *sge = uroce_send_wqe_data(wqe);

	if (wqe->flags & UROCE_WQE_INLINE || wqe->nb_sge != 1)
		return NULL;
	*key = sge->lkey;
	return uroce_mr_resolve_sge(qpc->mrs, qpc->pdn, sge, begin, (uint64_t)nb << qpc->mtu_shift,
				    0);
}

/* Of at most `max` packets: as many as are in the middle of the request, and the window has room for. */
static uint32_t
count_middle_room(const struct uroce_qpc *qpc, const struct uroce_send_wqe *wqe, uint32_t max)
{
	const struct uroce_req *req = &qpc->req;

	max = uroce_min(max, wqe->nb_psn - 1 - req->next_pkt);
	return uroce_qpc_is_reliable(qpc) ? uroce_min(max, uroce_req_window_left(qpc)) : max;
}

/* Whether nothing but the window decides about the next packet of the request at the position. */
static inline bool
is_middle_fast_path(const struct uroce_qpc *qpc)
{
	const struct uroce_req *req = &qpc->req;

	return req->next_pkt && req->next_psn == req->max_psn && !req->fault &&
	       !uroce_req_has_answer_gap(req) && !qpc->cc.is_limited;
}

unsigned
uroce_middle_put_requests(struct uroce_qpc *qpc, struct uroce_txd *out, unsigned max)
{
	struct uroce_req *req = &qpc->req;
	const uint32_t mtu = 1u << qpc->mtu_shift;

	if (!is_middle_fast_path(qpc))
		return 0;
	struct uroce_send_wqe *wqe = uroce_req_wqe(qpc, req->next_idx);
	const uint8_t opcode = (uint8_t)(qpc->service << 5 | middles[wqe->opcode]);
	const uint32_t nb = count_middle_room(qpc, wqe, max);

	if (!nb || !middles[wqe->opcode] || uroce_opcode_table[opcode].ext_mask)
		return 0;
	uint32_t key;
	const uint8_t *addr = find_payload(qpc, wqe, nb, &key);

	if (!addr)
		return 0;
	const bool is_reliable = uroce_qpc_is_reliable(qpc);
	uint32_t nb_out = uroce_psn_dist(req->una_psn, req->next_psn), since = req->since_ack_req;
	uint32_t quiet = req->is_ack_wanted ? 0 : uroce_req_nb_before_ack_req(qpc, nb_out, since);

	for (uint32_t i = 0; i < nb; i++, addr += mtu) {
		struct uroce_bth *bth = put_middle(qpc, &out[i], opcode,
						   uroce_psn_add(req->next_psn, i), addr, mtu, key);

		nb_out++;
		if (!is_reliable)
			continue;
		if (quiet) {
			quiet--;
			since++;
			continue;
		}
		bth->ack_req = UROCE_BTH_ACK_REQ;
		req->is_ack_wanted = false;
		since = 0;
		quiet = uroce_req_nb_before_ack_req(qpc, nb_out, since);
	}
	qpc->stats.tx_bytes += (uint64_t)nb << qpc->mtu_shift;
	req->since_ack_req = (uint8_t)since;
	req->next_psn = uroce_psn_add(req->next_psn, nb);
	req->max_psn = req->next_psn;
	req->next_pkt += nb;
	return nb;
}

unsigned
uroce_middle_put_responses(struct uroce_qpc *qpc, struct uroce_rd_res *res, struct uroce_txd *out,
			   unsigned max)
{
	const uint8_t opcode = (uint8_t)(qpc->service << 5 | UROCE_OP_READ_RESPONSE_MIDDLE);
	const uint32_t mtu = 1u << qpc->mtu_shift;

	/* an atomic's answer is never begun: it is one packet */
	if (!res->is_begun || qpc->cc.is_limited)
		return 0;
	const uint32_t nb = uroce_min(max, res->end - 1 - res->sent);
	const uint8_t *addr =
		uroce_rkey_resolve(qpc->mrs, res->rkey, res->pdn, qpc->qpn,
				   res->va + ((uint64_t)res->sent << qpc->mtu_shift),
				   (uint64_t)nb << qpc->mtu_shift, IBV_ACCESS_REMOTE_READ);

	if (!nb || !addr)
		return 0;
	for (uint32_t i = 0; i < nb; i++, addr += mtu)
		(void)put_middle(qpc, &out[i], opcode, uroce_psn_add(res->psn, res->sent + i), addr,
				 mtu, 0);
	qpc->stats.tx_bytes += (uint64_t)nb << qpc->mtu_shift;
	res->sent += nb;
	return nb;
}

/* --- in ---------------------------------------------------------------------------------------- */

/* How many packets, from the first on, are the next in order, of this opcode, full, and alike. */
static uint32_t
count_next_in_order(const struct uroce_qpc *qpc, uint8_t low, uint32_t psn,
		    const struct uroce_pkt *pkts, unsigned nb)
{
	const struct uroce_opcode *op = &uroce_opcode_table[qpc->service << 5 | low];
	const uint32_t mtu = 1u << qpc->mtu_shift;
	uint32_t n;

	for (n = 0; n < nb; n++) {
		const struct uroce_pkt *pkt = &pkts[n];

		if (pkt->op != op || pkt->psn != uroce_psn_add(psn, n) || pkt->payload_len != mtu ||
		    pkt->pkey != pkts->pkey || (pkt->tclass & UROCE_ECN_MASK) == UROCE_ECN_CE ||
		    !uroce_pkt_is_same_path(pkt, pkts))
			break;
	}
	return n;
}

/*
 * The place of the packet that comes next; each run is followed by one. Of a long message it is in
 * no near cache. From the lines that are asked for here the hardware sees that the others follow.
 */
static inline void
prefetch_place(const uint8_t *dst)
{
	for (unsigned i = 0; i < AHEAD_LINES; i++)
		__builtin_prefetch(dst + i * LINE, 1);
}

static void
copy_all(uint8_t *dst, const struct uroce_pkt *pkts, uint32_t nb)
{
	const uint32_t len = pkts->payload_len;

	for (uint32_t i = 0; i < nb; i++, dst += len) {
		prefetch_place(dst + len);
		uroce_copy(dst, pkts[i].payload, len);
	}
}

/* Whether the next request in order is executed and nothing else happens. */
static inline bool
is_receive_fast_path(const struct uroce_qpc *qpc)
{
	const struct uroce_resp *resp = &qpc->resp;

	return uroce_qpc_is_reliable(qpc) && !qpc->srqs && !resp->is_fill_doubtful &&
	       !resp->is_nak_sent && uroce_ooo_request_is_idle(resp);
}

/* The place of the next `len` bytes of the message; at least one more follows. */
static uint8_t *
find_middle_place(struct uroce_qpc *qpc, uint64_t len)
{
	const struct uroce_resp *resp = &qpc->resp;
	const uint64_t end = resp->msg_len + len;

	if (resp->operation == UROCE_OPERATION_WRITE)
		return end < resp->write_len
			       ? uroce_rkey_resolve(qpc->mrs, resp->write_rkey, qpc->pdn, qpc->qpn,
						    resp->write_va + resp->msg_len, len,
						    IBV_ACCESS_REMOTE_WRITE)
			       : NULL;
	struct uroce_recv_wqe *wqe = uroce_recv_current(qpc);

	if (!wqe || wqe->nb_sge != 1 || end > wqe->len)
		return NULL;
	const struct ibv_sge *sge = uroce_recv_wqe_sge(wqe);
	return uroce_mr_resolve_sge(qpc->mrs, uroce_recv_pdn(qpc), sge, resp->msg_len, len,
				    IBV_ACCESS_LOCAL_WRITE);
}

unsigned
uroce_middle_recv_requests(struct uroce_qpc *qpc, const struct uroce_pkt *pkts, unsigned nb)
{
	struct uroce_resp *resp = &qpc->resp;

	if (resp->operation == UROCE_OPERATION_NONE || !is_receive_fast_path(qpc))
		return 0;
	const uint8_t low = resp->operation == UROCE_OPERATION_WRITE ? UROCE_OP_WRITE_MIDDLE
								     : UROCE_OP_SEND_MIDDLE;
	const uint32_t n = count_next_in_order(qpc, low, resp->epsn, pkts, nb);
	const uint64_t len = (uint64_t)n << qpc->mtu_shift;
	uint8_t *dst = n ? find_middle_place(qpc, len) : NULL;

	if (!dst)
		return 0;
	copy_all(dst, pkts, n);
	resp->msg_len += (uint32_t)len;
	resp->epsn = uroce_psn_add(resp->epsn, n);
	qpc->stats.rx_packets += n;
	qpc->stats.rx_bytes += len;
	for (uint32_t i = 0; i < n; i++) {
		if (pkts[i].has_ack_req)
			uroce_aeth_schedule_ack(resp);
	}
	return n;
}

unsigned
uroce_middle_recv_responses(struct uroce_qpc *qpc, const struct uroce_pkt *pkts, unsigned nb,
			    uint64_t now_ns)
{
	struct uroce_req *req = &qpc->req;

	if (uroce_req_has_answer_gap(req) || req->una_psn == req->max_psn ||
	    req->next_psn != req->max_psn)
		return 0;
	struct uroce_send_wqe *wqe = uroce_req_wqe(qpc, req->una_idx);

	if (wqe->opcode != IBV_WR_RDMA_READ || wqe->nb_sge != 1 || wqe->flags & UROCE_WQE_LOCAL)
		return 0;
	/* those that end a chunk end a request: they are never in the middle */
	const uint32_t nth = uroce_psn_dist(wqe->first_psn, req->una_psn);
	const uint32_t in_flight = uroce_psn_dist(req->una_psn, req->max_psn);
	const uint32_t n = count_next_in_order(
		qpc, UROCE_OP_READ_RESPONSE_MIDDLE, req->una_psn, pkts,
		uroce_min(nb, uroce_min(in_flight, uroce_req_chunk_left(qpc, wqe, nth) - 1)));
	const uint64_t begin = (uint64_t)nth << qpc->mtu_shift;
	const uint64_t len = (uint64_t)n << qpc->mtu_shift;
	const struct ibv_sge *sge = uroce_send_wqe_data(wqe);

	if (!n)
		return 0;
	uint8_t *dst =
		uroce_mr_resolve_sge(qpc->mrs, qpc->pdn, sge, begin, len, IBV_ACCESS_LOCAL_WRITE);

	if (!dst)
		return 0;
	copy_all(dst, pkts, n);
	req->una_psn = uroce_psn_add(req->una_psn, n);
	qpc->stats.rx_packets += n;
	qpc->stats.rx_bytes += len;
	uroce_retry_progress(qpc, now_ns);
	return n;
}
