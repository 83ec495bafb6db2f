/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The responder of RC and XRC [IBA 9.7.4, 9.7.5.1]. The PSN of a request shows whether the request
 * is a duplicate, expected, or behind a PSN gap. The expected request is executed. The response to
 * a duplicate is repeated: a READ is executed again, an atomic gets its saved result, and other
 * requests get an ACK. A request behind a PSN gap shows the gap, for which one NAK is sent.
 *
 * Responses are sent in PSN order, because every response acknowledges all requests before it. READ
 * responses and atomic acknowledgements go first, the oldest first. One AETH follows: an ACK for
 * everything so far, or a NAK for the expected request. An ACK that was not sent yet also covers
 * the requests that arrive meanwhile, so that ACKs are coalesced.
 */
#include "transport/responder/resp.h"

#include <string.h>

#include "mem/mkey.h"
#include "transport/responder/aeth.h"
#include "transport/recovery/ooo_request_state.h"
#include "transport/responder/execute.h"
#include "transport/middle.h"
#include "transport/recovery/ooo_request.h"
#include "transport/recovery/psn_conflict.h"
#include "transport/requester/position.h"
#include "transport/responder/rd_atomic_resp.h"
#include "transport/responder/recv.h"
#include "transport/txd.h"
#include "wire/psn.h"
#include "wire/syndrome.h"

void
uroce_resp_reset(struct uroce_qpc *qpc)
{
	uroce_ooo_request_discard(qpc);
	uroce_recv_put_back(qpc);
	uroce_rd_pool_give(qpc->rd_pool, qpc->resp.res);
	qpc->ooo_window_psns = 0;
	qpc->ooo_first_psn = UROCE_OOO_PSN_NONE;
	qpc->nb_bad_keys = 0;
	qpc->resp = (struct uroce_resp){
		.epsn = qpc->attr.rq_psn,
		.nak_deadline = UROCE_NEVER,
		.dropped_end = UROCE_OOO_PSN_NONE,
	};
}

/*
 * Find the resource (record) of the READ or atomic that `psn` belongs to.
 * @return NULL: the READ or atomic is no longer remembered, or there was none
 */
static struct uroce_rd_res *
find_resource(struct uroce_qpc *qpc, uint32_t psn)
{
	struct uroce_resp *resp = &qpc->resp;

	if (!resp->res)
		return NULL;
	for (uint32_t back = 1; back <= UROCE_RD_ATOMIC_MAX; back++) {
		struct uroce_rd_res *res =
			&resp->res[(resp->res_head - back) % UROCE_RD_ATOMIC_MAX];

		if (res->end && uroce_psn_in(psn, res->psn, uroce_msg_packets(qpc, res->len)))
			return res;
	}
	return NULL;
}

/*
 * Schedule the responses `[begin, end)` of a resource (record of a READ or atomic) once more. If
 * responses of the resource are still to be sent, the range grows to include these, so that a
 * duplicate request for a part does not drop them.
 */
static void
repeat_responses(struct uroce_resp *resp, struct uroce_rd_res *res, uint32_t begin, uint32_t end)
{
	if (resp->pending & 1u << (res - resp->res)) {
		if (end < res->end)
			end = res->end;
		if (begin > res->sent)
			begin = res->sent;
	}
	res->sent = begin;
	res->end = end;
	res->is_begun = false;
	resp->pending |= 1u << (res - resp->res);
}

/*
 * Repeat a READ or a part of it, because a duplicate request arrived. The range must be within that
 * of the original request [IBA 9.7.5.1.5].
 */
static enum uroce_verdict
repeat_read(struct uroce_qpc *qpc, const struct uroce_pkt *pkt)
{
	struct uroce_rd_res *res = find_resource(qpc, pkt->psn);
	const struct uroce_reth *reth = uroce_pkt_reth(pkt);

	if (!res || res->is_atomic)
		return UROCE_VERDICT_STALE;
	const uint32_t begin = uroce_psn_dist(res->psn, pkt->psn);
	const uint64_t offset = (uint64_t)begin << qpc->mtu_shift;
	const uint32_t len = be32_get(reth->dma_len);

	if (be32_get(reth->rkey) != res->rkey || be64_get(reth->va) != res->va + offset ||
	    offset + len > res->len)
		return UROCE_VERDICT_STALE;
	/*
	 * a part that ends before the end of the original READ must be a multiple of the MTU, so
	 * that the repeated responses are as long as the original ones
	 */
	const uint32_t end = begin + uroce_msg_packets(qpc, len);
	const bool is_rest = end == uroce_msg_packets(qpc, res->len);

	if (is_rest ? offset + len != res->len : !len || len & ((1u << qpc->mtu_shift) - 1))
		return UROCE_VERDICT_STALE;
	repeat_responses(&qpc->resp, res, begin, end);
	return UROCE_VERDICT_DUPLICATE;
}

static enum uroce_verdict
repeat_atomic(struct uroce_qpc *qpc, const struct uroce_pkt *pkt)
{
	struct uroce_rd_res *res = find_resource(qpc, pkt->psn);

	if (!res || !res->is_atomic)
		return UROCE_VERDICT_STALE;
	repeat_responses(&qpc->resp, res, 0, 1);
	return UROCE_VERDICT_DUPLICATE;
}

/*
 * Repeat the response of a FLUSH or ATOMIC_WRITE. The request is not executed again, because the
 * memory may have been overwritten after the first execution.
 */
static enum uroce_verdict
repeat_empty(struct uroce_qpc *qpc, const struct uroce_pkt *pkt)
{
	struct uroce_rd_res *res = find_resource(qpc, pkt->psn);

	if (!res || res->is_atomic || res->len)
		return UROCE_VERDICT_STALE;
	repeat_responses(&qpc->resp, res, 0, 1);
	return UROCE_VERDICT_DUPLICATE;
}

static enum uroce_verdict
repeat_request(struct uroce_qpc *qpc, const struct uroce_pkt *pkt)
{
	qpc->stats.duplicates++;
	uroce_count_in(qpc->counters, UROCE_COUNTER_DUPLICATE_REQUEST, 1);
	if (pkt->psn == qpc->ooo_first_psn)
		uroce_psn_conflict_compare(qpc, pkt);
	if (pkt->op->operation == UROCE_OPERATION_READ)
		return repeat_read(qpc, pkt);
	if (pkt->op->operation == UROCE_OPERATION_ATOMIC)
		return repeat_atomic(qpc, pkt);
	if (pkt->op->operation == UROCE_OPERATION_ATOMIC_WRITE ||
	    pkt->op->operation == UROCE_OPERATION_FLUSH)
		return repeat_empty(qpc, pkt);
	uroce_aeth_schedule_ack(&qpc->resp);
	return UROCE_VERDICT_DUPLICATE;
}

enum uroce_verdict
uroce_resp_recv(struct uroce_qpc *qpc, const struct uroce_pkt *pkt, uint64_t now_ns)
{
	struct uroce_resp *resp = &qpc->resp;

	if (resp->is_fill_doubtful)
		uroce_ooo_request_classify_fill(qpc, pkt->psn);
	if (pkt->psn == resp->epsn)
		return resp->ooo_state == UROCE_OOO_REQUEST_IN_ORDER
			       ? uroce_execute_expected(qpc, pkt, now_ns)
			       : uroce_ooo_request_fill_gap(qpc, pkt, now_ns);
	if (uroce_psn_before(pkt->psn, resp->epsn))
		return repeat_request(qpc, pkt);
	return uroce_ooo_request_recv(qpc, pkt, now_ns);
}

/*
 * Begin the frame of a response: build its headers up to the BTH.
 * @return the place for the extension headers
 */
static uint8_t *
begin_response(struct uroce_qpc *qpc, struct uroce_txd *txd, uint8_t low, uint32_t psn,
	       uint32_t payload_len)
{
	return uroce_txd_begin(txd, qpc, (uint8_t)(qpc->service << 5 | low), psn, payload_len);
}

/*
 * Opcodes of READ responses. The first index is 1 if the packet follows another response to the
 * same request. The second index is 1 if the packet is the last response to the request.
 */
static const uint8_t read_opcodes[2][2] = {
	{ UROCE_OP_READ_RESPONSE_FIRST, UROCE_OP_READ_RESPONSE_ONLY },
	{ UROCE_OP_READ_RESPONSE_MIDDLE, UROCE_OP_READ_RESPONSE_LAST },
};

/*
 * Build the payload of a READ through an mkey in the frame, behind the headers. A bad signature
 * does not fail the READ, because the owner of the mkey can query the result of the check.
 * @return NULL: access is refused
 */
static __attribute__((noinline)) const void *
make_payload(const struct uroce_qpc *qpc, const struct uroce_rd_res *res, uint64_t va, uint32_t len,
	     struct uroce_txd *txd)
{
	uint8_t *at = txd->hdr + txd->hdr_len;
	bool is_bad;

	return uroce_mkey_read(qpc->mrs, res->rkey, res->pdn, va, len, IBV_ACCESS_REMOTE_READ, at,
			       res->was_answered ? NULL : &is_bad)
		       ? NULL
		       : at;
}

/*
 * Build the next response packet of a READ.
 * @return false: the memory is not accessible any more
 */
static bool
put_read_packet(struct uroce_qpc *qpc, const struct uroce_rd_res *res, struct uroce_txd *txd)
{
	const uint32_t pkt = res->sent;
	const uint32_t len = uroce_msg_payload(qpc, res->len, pkt);
	const uint64_t va = res->va + ((uint64_t)pkt << qpc->mtu_shift);
	const void *src = NULL;

	if (len)
		src = uroce_rkey_resolve(qpc->mrs, res->rkey, res->pdn, qpc->qpn, va, len,
					 IBV_ACCESS_REMOTE_READ);
	const uint8_t opcode = read_opcodes[res->is_begun][pkt + 1 == res->end];
	uint8_t *ext = begin_response(qpc, txd, opcode, uroce_psn_add(res->psn, pkt), len);

	if (uroce_opcode_table[opcode].ext_mask)
		uroce_aeth_put((struct uroce_aeth *)ext, UROCE_SYNDROME_ACK, res->msn);
	if (len && !src) {
		src = make_payload(qpc, res, va, len, txd);
		if (!src)
			return false;
	}
	txd->slice[0] = (struct uroce_slice){ src, len };
	txd->nb_slices = len ? 1 : 0;
	qpc->stats.tx_bytes += len;
	return true;
}

/*
 * Stop a READ whose memory is not accessible any more. If all responses were sent once, the
 * responses to a duplicate request were being sent. In this case the peer most likely has its data,
 * and the region was deregistered because the READ had ended. So no NAK is sent: a late duplicate
 * must not put the peer's QP into ERR. Otherwise a NAK has the PSN of the first response that
 * cannot be sent.
 */
static void
give_up_read(struct uroce_qpc *qpc, const struct uroce_rd_res *res, uint64_t now_ns)
{
	struct uroce_resp *resp = &qpc->resp;

	if (res->was_answered) {
		uroce_rd_atomic_end(resp, res);
		return;
	}
	resp->pending = 0;
	/*
	 * discard buffered packets before epsn goes back, because they are found by their distance
	 * from epsn
	 */
	uroce_ooo_request_discard(qpc);
	resp->epsn = uroce_psn_add(res->psn, res->sent);
	uroce_execute_refuse(qpc, UROCE_VERDICT_NO_ACCESS, now_ns);
}

/*
 * Build the next response packet of the oldest READ or atomic that has responses to send.
 * @return whether the packet could be built
 */
static bool
put_response(struct uroce_qpc *qpc, struct uroce_txd *txd, uint64_t now_ns)
{
	struct uroce_resp *resp = &qpc->resp;
	struct uroce_rd_res *res = uroce_rd_atomic_oldest_res(resp);

	if (res->is_atomic) {
		uroce_rd_atomic_put_ack(qpc, res, txd);
	} else if (!put_read_packet(qpc, res, txd)) {
		give_up_read(qpc, res, now_ns);
		return false;
	}
	res->sent++;
	res->is_begun = true;
	if (res->sent < res->end)
		return true;
	if (res->end == uroce_msg_packets(qpc, res->len))
		res->was_answered = true;
	uroce_rd_atomic_end(resp, res);
	return true;
}

/*
 * Begin the frame of an ACK or NAK. If the header template is in use for another opcode, the
 * template is not changed, so that the next packet with that opcode need not rebuild it.
 */
static uint8_t *
begin_aeth(struct uroce_qpc *qpc, struct uroce_txd *txd, uint32_t psn)
{
	const uint8_t opcode = (uint8_t)(qpc->service << 5 | UROCE_OP_ACK);

	if (qpc->hdr_template.payload_len == UROCE_HDR_TEMPLATE_NONE ||
	    qpc->hdr_template.opcode == opcode)
		return uroce_txd_begin(txd, qpc, opcode, psn, 0);
	return uroce_txd_begin_on(txd, qpc, &qpc->path, opcode, qpc->dest_qpn, psn, 0);
}

static void
count_nak(struct uroce_qpc *qpc)
{
	const uint8_t syndrome = qpc->resp.syndrome;

	if (uroce_syndrome_kind(syndrome) == UROCE_AETH_RNR) {
		qpc->stats.naks_rnr_sent++;
		uroce_count_in(qpc->counters, UROCE_COUNTER_SEND_RNR_ERR, 1);
	} else if (uroce_syndrome_value(syndrome) == UROCE_NAK_PSN_SEQ) {
		qpc->stats.naks_seq_sent++;
		uroce_count_in(qpc->counters, UROCE_COUNTER_OUT_OF_SEQ_REQUEST, 1);
	}
}

/*
 * Find the PSN for an ACK: the newest PSN before epsn, without READs and atomics at the end. An ACK
 * must not acknowledge READs and atomics at the end, because a requester has to repeat a READ whose
 * responses are missing when such an ACK arrives [IBA 9.7.5.1.1]. In addition, the rxe driver of
 * Linux treats an ACK with the last PSN of a READ as the last response of the READ. READs and
 * atomics that precede a request for which an ACK was already sent are not examined, because PSNs
 * wrap around, and an old PSN may be equal to a new one.
 */
static uint32_t
find_ack_psn(const struct uroce_qpc *qpc)
{
	const struct uroce_resp *resp = &qpc->resp;
	const uint32_t nb = uroce_min(resp->res_head - resp->passed_head, UROCE_RD_ATOMIC_MAX);
	uint32_t psn = resp->epsn;

	/*
	 * resp->res may be NULL: another QP may have taken the block of resources of a QP without
	 * recent READs and atomics
	 */
	for (uint32_t i = 1; resp->res && i <= nb; i++) {
		const struct uroce_rd_res *res =
			&resp->res[(resp->res_head - i) % UROCE_RD_ATOMIC_MAX];

		if (!res->end || uroce_psn_add(res->psn, uroce_msg_packets(qpc, res->len)) != psn)
			break;
		psn = res->psn;
	}
	return uroce_psn_add(psn, UROCE_PSN_MASK);
}

/*
 * Whether the pending ACK is unnecessary: the response to the newest READ or atomic was just sent,
 * and acknowledges everything that the ACK would acknowledge.
 */
static bool
is_ack_implied(const struct uroce_qpc *qpc, uint32_t was_pending)
{
	const struct uroce_resp *resp = &qpc->resp;
	const uint32_t newest = (resp->res_head - 1) % UROCE_RD_ATOMIC_MAX;

	return was_pending & 1u << newest && resp->syndrome == UROCE_SYNDROME_ACK &&
	       find_ack_psn(qpc) != uroce_psn_add(resp->epsn, UROCE_PSN_MASK);
}

static void
put_aeth_packet(struct uroce_qpc *qpc, struct uroce_txd *txd)
{
	struct uroce_resp *resp = &qpc->resp;
	const bool is_ack = resp->syndrome == UROCE_SYNDROME_ACK;
	const uint32_t psn = is_ack ? find_ack_psn(qpc) : resp->aeth_psn;
	uint8_t *ext = begin_aeth(qpc, txd, psn);

	if (!is_ack)
		count_nak(qpc);
	else if (uroce_psn_add(psn, 1) == resp->epsn)
		resp->passed_head = resp->res_head;
	uroce_aeth_put((struct uroce_aeth *)ext, resp->syndrome, resp->msn);
	resp->has_aeth = false;
}

unsigned
uroce_resp_send(struct uroce_qpc *qpc, struct uroce_txd *out, unsigned max, uint64_t now_ns)
{
	struct uroce_resp *resp = &qpc->resp;
	uint32_t was_pending = resp->pending;
	unsigned nb = 0;

	while (nb < max && resp->pending && uroce_cc_may_send(&qpc->cc, now_ns)) {
		unsigned nb_run = uroce_rd_atomic_put_responses(qpc, &out[nb], max - nb);

		if (!nb_run)
			nb_run = uroce_middle_put_responses(qpc, uroce_rd_atomic_oldest_res(resp),
							    &out[nb], max - nb);
		nb += nb_run;
		if (nb_run)
			continue;
		if (put_response(qpc, &out[nb], now_ns))
			uroce_txd_charge(qpc, &out[nb++], now_ns);
		else
			/*
			 * A pending ACK must be sent, because no response was built that would
			 * acknowledge the same requests.
			 */
			was_pending = 0;
	}
	if (resp->has_aeth && !resp->pending && is_ack_implied(qpc, was_pending))
		resp->has_aeth = false;
	if (nb < max && resp->has_aeth && !resp->pending)
		put_aeth_packet(qpc, &out[nb++]);
	return nb;
}
