/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fast path of long messages: Middle packets of a SEND, a WRITE or a READ response. Most packets of
 * long messages are Middle packets. Two consecutive Middle packets of a message differ only in
 * their PSN and in the address of the payload.
 *
 * How it works: conditions that the general path, which handles packets of every kind, checks for
 * each packet are checked once for a burst of packets of one message. These conditions are: the
 * packets may be sent, or are expected; and their memory is one piece. For each packet, only the
 * PSN and the address have to be advanced. If a condition is false (a packet was lost, or the
 * memory is in several pieces or not accessible), the fast path processes no packet, and the
 * general path processes each packet.
 */
#include "transport/middle.h"

#include "base/copy.h"
#include "transport/responder/aeth.h"
#include "transport/fast_path.h"
#include "transport/recovery/ooo_request.h"
#include "transport/requester/position.h"
#include "transport/responder/recv.h"
#include "transport/recovery/retry.h"
#include "transport/txd.h"
#include "wire/psn.h"

/*
 * Opcodes of Middle packets, by the opcode of the work request; 0: requests with this opcode have
 * no Middle packets.
 */
static const uint8_t middles[UROCE_WR_ATOMIC_WRITE + 1] = {
	[IBV_WR_RDMA_WRITE] = UROCE_OP_WRITE_MIDDLE,
	[IBV_WR_RDMA_WRITE_WITH_IMM] = UROCE_OP_WRITE_MIDDLE,
	[IBV_WR_SEND] = UROCE_OP_SEND_MIDDLE,
	[IBV_WR_SEND_WITH_IMM] = UROCE_OP_SEND_MIDDLE,
	[IBV_WR_SEND_WITH_INV] = UROCE_OP_SEND_MIDDLE,
};

#define LINE 64u /* size of a cache line in bytes */

/*
 * Number of cache lines that are prefetched of the destination of the next packet's payload: enough
 * for a payload of 1 KiB, or a quarter of the largest payload.
 */
#define AHEAD_LINES 16u

/* --- transmit -------------------------------------------------------------------------------- */

/*
 * Build a packet without extension headers, whose payload is the `len` bytes at `addr`. `key` is
 * the key of the memory region, for zero-copy transmit; 0: the payload has to be copied.
 */
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
 * Find the payload of the next `nb` packets of a request, if the payload is one piece of memory.
 * @param[out] key  the key of the memory region, for zero-copy transmit
 * @return NULL: the payload is not one piece of memory, or the memory is not accessible
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

unsigned
uroce_middle_put_requests(struct uroce_qpc *qpc, struct uroce_txd *out, unsigned max)
{
	struct uroce_req *req = &qpc->req;
	const uint32_t mtu = 1u << qpc->mtu_shift;

	struct uroce_send_wqe *wqe = uroce_req_wqe(qpc, req->next_idx);
	const uint8_t opcode = (uint8_t)(qpc->service << 5 | middles[wqe->opcode]);
	struct uroce_ack_rule rule = uroce_ack_rule_begin(qpc);
	const bool is_reliable = uroce_qpc_is_reliable(qpc);
	const uint32_t left = uroce_min(max, wqe->nb_psn - 1 - req->next_pkt);
	const uint32_t nb = is_reliable ? uroce_min(left, rule.room) : left;

	if (!nb || !middles[wqe->opcode] || uroce_opcode_table[opcode].ext_mask)
		return 0;
	uint32_t key;
	const uint8_t *addr = find_payload(qpc, wqe, nb, &key);

	if (!addr)
		return 0;
	for (uint32_t i = 0; i < nb; i++, addr += mtu) {
		struct uroce_bth *bth = put_middle(qpc, &out[i], opcode,
						   uroce_psn_add(req->next_psn, i), addr, mtu, key);

		if (is_reliable && uroce_ack_rule_next(req, &rule, false))
			bth->ack_req = UROCE_BTH_ACK_REQ;
	}
	qpc->stats.tx_bytes += (uint64_t)nb << qpc->mtu_shift;
	req->since_ack_req = (uint8_t)rule.since;
	uroce_position_move(req, wqe, nb);
	return nb;
}

unsigned
uroce_middle_put_responses(struct uroce_qpc *qpc, struct uroce_rd_res *res, struct uroce_txd *out,
			   unsigned max)
{
	const uint8_t opcode = (uint8_t)(qpc->service << 5 | UROCE_OP_READ_RESPONSE_MIDDLE);
	const uint32_t mtu = 1u << qpc->mtu_shift;

	/*
	 * an atomic has a single response, so a resource that has sent a response and has more to
	 * send is that of a READ
	 */
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

/* --- receive --------------------------------------------------------------------------------- */

/*
 * Count the packets from pkts[0] on that follow each other in order from `psn` on, have `low` as
 * the lower five bits of the opcode, have a full MTU of payload, and come from the same peer.
 */
static uint32_t
count_next_in_order(const struct uroce_qpc *qpc, uint8_t low, uint32_t psn,
		    const struct uroce_pkt *pkts, unsigned nb)
{
	const uint32_t mtu = 1u << qpc->mtu_shift;
	uint32_t n;

	if (pkts->op != &uroce_opcode_table[qpc->service << 5 | low])
		return 0;
	for (n = 0; n < nb; n++) {
		const struct uroce_pkt *pkt = &pkts[n];

		if (pkt->psn != uroce_psn_add(psn, n) || pkt->payload_len != mtu ||
		    !uroce_fast_path_matches(pkt, pkts))
			break;
	}
	return n;
}

/*
 * Prefetch the memory where the payload of the next packet will be placed, because another Middle
 * or Last packet follows. The memory of a long message is usually not in the L1 and L2 caches. From
 * the prefetched lines the hardware predicts the lines that follow.
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

/*
 * Find the memory of the next `len` bytes of the message being received. The last bytes of the
 * message must not be among them.
 * @return NULL: the memory is not one accessible piece, and the caller has to use the general path
 */
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

	if (resp->operation == UROCE_OPERATION_NONE || !uroce_ooo_request_is_fast_path(qpc))
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
	qpc->stats.rx_packets += n;
	qpc->stats.rx_bytes += len;
	bool has_ack_req = false;

	for (uint32_t i = 0; i < n; i++)
		has_ack_req |= pkts[i].has_ack_req;
	uroce_aeth_advance(resp, n, 0, has_ack_req);
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
	/*
	 * the last packet of a READ chunk is not counted: a READ chunk is a READ request of its own
	 * on the wire, so its last response does not have the opcode of a Middle packet
	 */
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
