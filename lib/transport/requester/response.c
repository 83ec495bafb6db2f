/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reception of responses by the requester [IBA 9.7.5.2, 9.7.6]: ACK, NAK, and responses with data.
 *
 * Each response is processed in two steps. First the window advances to the PSN of the response,
 * which completes the requests that the response acknowledges (completer.c). Then the response
 * itself is processed. If a READ or an atomic before that PSN has no response yet, the first step
 * stops there: the response of the READ or atomic was lost or is late, see ooo_response.c.
 */
#include "transport/requester/response.h"

#include <assert.h>

#include "transport/requester/completer.h"
#include "transport/error.h"
#include "transport/recovery/loss_recovery.h"
#include "transport/recovery/ooo_response.h"
#include "transport/recovery/recovery_state.h"
#include "transport/recovery/retry.h"
#include "wire/psn.h"
#include "wire/syndrome.h"

/*
 * The completion status of a request that the peer refuses, by the code of the NAK [IBA 9.7.5.2.8,
 * 11.6.2].
 */
static const uint8_t nak_status[] = {
	[UROCE_NAK_INV_REQUEST] = IBV_WC_REM_INV_REQ_ERR,
	[UROCE_NAK_REM_ACCESS] = IBV_WC_REM_ACCESS_ERR,
	[UROCE_NAK_REM_OP] = IBV_WC_REM_OP_ERR,
	[UROCE_NAK_INV_RD_REQUEST] = IBV_WC_REM_INV_RD_REQ_ERR,
};

/*
 * Go back N after an implied NAK: a response is missing, and this requester keeps no later
 * responses.
 */
static enum uroce_verdict
imply_nak(struct uroce_qpc *qpc, uint64_t now_ns)
{
	uroce_ooo_response_count_implied(qpc);
	uroce_retry_carry_out(qpc, uroce_loss_recovery_lose(qpc), now_ns);
	return UROCE_VERDICT_RESPONSE_GAP;
}

/* Process a response with data: a READ response or an atomic acknowledgement. */
static enum uroce_verdict
take_data_response(struct uroce_qpc *qpc, const struct uroce_pkt *pkt, uint64_t now_ns)
{
	if (!uroce_completer_advance(qpc, pkt->psn, now_ns)) {
		if (!qpc->is_req_gbn)
			return uroce_ooo_response_recv(qpc, pkt, now_ns);
		return imply_nak(qpc, now_ns);
	}
	if (!uroce_req_has_answer_gap(&qpc->req))
		return uroce_completer_take(qpc, pkt, now_ns);
	uroce_ooo_response_note_arrival(qpc, pkt, now_ns);
	const enum uroce_verdict verdict = uroce_completer_take(qpc, pkt, now_ns);

	uroce_ooo_response_drain(qpc, now_ns);
	return verdict;
}

/* Process an RNR NAK. @param psn  the PSN of the request that found no receive request */
static enum uroce_verdict
take_rnr_nak(struct uroce_qpc *qpc, uint32_t psn, uint8_t timer_code, uint64_t now_ns)
{
	struct uroce_req *req = &qpc->req;

	qpc->stats.naks_rnr++;
	uroce_count_in(qpc->counters, UROCE_COUNTER_RCVD_RNR_ERR, 1);
	/*
	 * RNR NAKs are ignored until rnr_ignore_ns, because earlier RNR NAKs were false. But an
	 * ignored RNR NAK may be true. It shows that the peer is alive, so the retry counter is
	 * refilled. The peer sends another RNR NAK when a probe repeats the request.
	 */
	if (now_ns < req->rnr_ignore_ns) {
		req->retry_left = qpc->attr.retry_cnt;
		uroce_retry_arm(qpc, now_ns);
		return UROCE_VERDICT_NAK_RNR;
	}
	if (!uroce_req_is_rnr_wait(req) && !req->rnr_left) {
		uroce_error_fail_request(qpc, IBV_WC_RNR_RETRY_EXC_ERR, 0, now_ns);
		return UROCE_VERDICT_NAK_RNR;
	}
	uroce_count_in(qpc->counters, UROCE_COUNTER_RNR_NAK_RETRY_ERR, 1);
	if (uroce_recovery_step(&req->loss_recovery, UROCE_RECOVERY_ON_RNR_NAK) !=
	    UROCE_RECOVERY_DO_GO_BACK_N)
		return UROCE_VERDICT_NAK_RNR;
	/* the value 7 means that RNR retries are not limited [IBA 9.7.5.2.8] */
	if (req->rnr_left != 7)
		req->rnr_left--;
	uroce_retry_rewind(qpc);
	req->rnr_ns = now_ns;
	req->rnr_psn = psn;
	req->rnr_deadline = now_ns + uroce_rnr_timer_ns(timer_code);
	req->ack_deadline = UROCE_NEVER;
	return UROCE_VERDICT_NAK_RNR;
}

static void
count_nak_seq(struct uroce_qpc *qpc)
{
	qpc->stats.naks_seq++;
	uroce_count_in(qpc->counters, UROCE_COUNTER_PACKET_SEQ_ERR, 1);
}

static enum uroce_verdict
take_nak(struct uroce_qpc *qpc, uint8_t code, uint64_t now_ns)
{
	if (code == UROCE_NAK_PSN_SEQ) {
		count_nak_seq(qpc);
		uroce_retry_carry_out(qpc, uroce_loss_recovery_nak(qpc, now_ns), now_ns);
		return UROCE_VERDICT_NAK_SEQ;
	}
	if (code >= sizeof(nak_status))
		return uroce_error_bad_response(qpc, now_ns);
	uroce_error_fail_request(qpc, (enum ibv_wc_status)nak_status[code],
				 uroce_syndrome_make(UROCE_AETH_NAK, code), now_ns);
	return UROCE_VERDICT_NAK_FATAL;
}

/*
 * Process an ACK or NAK that acknowledges all PSNs before `upto`, while the response of a READ or
 * atomic before `upto` is missing.
 */
static enum uroce_verdict
take_ack_ahead(struct uroce_qpc *qpc, const struct uroce_pkt *pkt, uint32_t upto, uint64_t now_ns)
{
	const uint8_t syndrome = uroce_pkt_aeth(pkt)->syndrome;
	const uint8_t value = uroce_syndrome_value(syndrome);
	const bool is_nak_seq =
		uroce_syndrome_kind(syndrome) == UROCE_AETH_NAK && value == UROCE_NAK_PSN_SEQ;

	if (is_nak_seq)
		count_nak_seq(qpc);
	if (qpc->is_req_gbn)
		return imply_nak(qpc, now_ns);
	uroce_ooo_response_note_executed(qpc, upto, now_ns);
	if (uroce_syndrome_kind(syndrome) == UROCE_AETH_RNR)
		return take_rnr_nak(qpc, upto, value, now_ns);
	if (is_nak_seq && !uroce_ooo_response_recv_nak(qpc, upto))
		uroce_retry_carry_out(qpc, uroce_loss_recovery_lose(qpc), now_ns);
	return UROCE_VERDICT_RESPONSE_GAP;
}

static enum uroce_verdict
take_ack(struct uroce_qpc *qpc, const struct uroce_pkt *pkt, uint64_t now_ns)
{
	const struct uroce_req *req = &qpc->req;
	const uint8_t syndrome = uroce_pkt_aeth(pkt)->syndrome;
	const enum uroce_aeth_kind kind = uroce_syndrome_kind(syndrome);
	/*
	 * an ACK acknowledges its own PSN and all PSNs before it; a NAK acknowledges only the PSNs
	 * before its own
	 */
	const uint32_t upto = uroce_psn_add(pkt->psn, kind == UROCE_AETH_ACK);

	if (!uroce_completer_advance(qpc, upto, now_ns))
		return take_ack_ahead(qpc, pkt, upto, now_ns);
	switch (kind) {
	case UROCE_AETH_ACK:
		if (uroce_req_is_fast_retx(req))
			uroce_retry_carry_out(qpc, uroce_loss_recovery_ack(qpc, now_ns), now_ns);
		return UROCE_VERDICT_RESPONSE;
	case UROCE_AETH_RNR:
		return take_rnr_nak(qpc, upto, uroce_syndrome_value(syndrome), now_ns);
	case UROCE_AETH_NAK:
		return take_nak(qpc, uroce_syndrome_value(syndrome), now_ns);
	case UROCE_AETH_RESERVED:
		break;
	}
	return uroce_error_bad_response(qpc, now_ns);
}

enum uroce_verdict
uroce_response_recv(struct uroce_qpc *qpc, const struct uroce_pkt *pkt, uint64_t now_ns)
{
	struct uroce_req *req = &qpc->req;
	const uint32_t nb_out = uroce_psn_dist(req->una_psn, req->max_psn);

	/* the QP is RC or XRC, because check_packet() drops responses for other QPs */
	assert(uroce_qpc_is_reliable(qpc) && qpc->sq);
	if (!uroce_psn_in(pkt->psn, req->una_psn, nb_out))
		return UROCE_VERDICT_GHOST;
	if (pkt->op->operation == UROCE_OPERATION_ACK)
		return take_ack(qpc, pkt, now_ns);
	return take_data_response(qpc, pkt, now_ns);
}
