/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * If a QP fails, both of its roles end: their timers are stopped, packets that arrived out of order
 * are discarded, and the send and the receive queue are flushed. Pending responses are still sent.
 */
#include "transport/error.h"

#include "transport/recovery/ooo_request_state.h"
#include "transport/completion.h"
#include "transport/requester/req.h"

void
uroce_error_enter(struct uroce_qpc *qpc, uint64_t now_ns)
{
	uroce_qpc_set_state(qpc, IBV_QPS_ERR);
	/*
	 * A thread that posts a receive request publishes the request, and then reads the state of
	 * the QP. Due to the fence, either that thread sees ERR and rings the doorbell, or the
	 * flush of the queues sees the request.
	 */
	atomic_thread_fence(memory_order_seq_cst);
	qpc->resp.operation = UROCE_OPERATION_NONE;
	uroce_cc_stop(&qpc->cc);
	uroce_ooo_request_discard(qpc);
	uroce_req_reset(qpc);
	/*
	 * If frames still refer to memory of requests, the queues are flushed later, by
	 * uroce_qpc_sent().
	 */
	if (!qpc->is_zero_copy)
		uroce_completion_flush(qpc, now_ns);
	/*
	 * IBV_EVENT_QP_LAST_WQE_REACHED: the QP takes no more receive requests from its SRQ, and
	 * those that it took have completed [IBA 11.6.3.2]
	 */
	if (qpc->srq && !qpc->srqs)
		qpc->events |= UROCE_QPC_LAST_WQE;
}

static void
count_failure(const struct uroce_qpc *qpc, enum ibv_wc_status status)
{
	if (status == IBV_WC_RETRY_EXC_ERR)
		uroce_count_in(qpc->counters, UROCE_COUNTER_RETRY_EXCEEDED_ERR, 1);
	else if (status == IBV_WC_RNR_RETRY_EXC_ERR)
		uroce_count_in(qpc->counters, UROCE_COUNTER_RETRY_RNR_EXCEEDED_ERR, 1);
	else if (status == IBV_WC_REM_INV_REQ_ERR)
		uroce_count_in(qpc->counters, UROCE_COUNTER_REQ_REMOTE_INVALID_REQUEST, 1);
	else if (status == IBV_WC_REM_ACCESS_ERR)
		uroce_count_in(qpc->counters, UROCE_COUNTER_REQ_REMOTE_ACCESS_ERRORS, 1);
}

static void
note_failure(struct uroce_qpc *qpc, struct uroce_failure failure)
{
	qpc->failure = failure;
	qpc->events |= UROCE_QPC_FAILED;
}

void
uroce_error_fail_request(struct uroce_qpc *qpc, enum ibv_wc_status status, uint32_t vendor_err,
			 uint64_t now_ns)
{
	count_failure(qpc, status);
	note_failure(qpc,
		     (struct uroce_failure){ .psn = qpc->req.una_psn, .status = (uint8_t)status });
	qpc->end_status = (uint8_t)status;
	qpc->end_vendor_err = (uint8_t)vendor_err;
	if (uroce_qpc_is_reliable(qpc)) {
		uroce_error_enter(qpc, now_ns);
		return;
	}
	/*
	 * a UC or UD QP goes to SQE: it sends nothing more, and continues to receive [IBA 10.3.1.6]
	 */
	uroce_completion_flush_sq(qpc, now_ns);
	uroce_qpc_set_state(qpc, IBV_QPS_SQE);
}

void
uroce_error_count_refusal(const struct uroce_qpc *qpc, enum uroce_verdict verdict)
{
	if (verdict == UROCE_VERDICT_NO_RECEIVE)
		uroce_count_in(qpc->counters, UROCE_COUNTER_OUT_OF_BUFFER, 1);
	else if (verdict == UROCE_VERDICT_TOO_LONG)
		uroce_count_in(qpc->counters, UROCE_COUNTER_RESP_LOCAL_LENGTH_ERROR, 1);
	else if (verdict == UROCE_VERDICT_NO_ACCESS)
		uroce_count_in(qpc->counters, UROCE_COUNTER_RESP_REMOTE_ACCESS_ERRORS, 1);
}

void
uroce_error_fail_receive(struct uroce_qpc *qpc, enum ibv_wc_status status,
			 enum uroce_verdict verdict, uint64_t now_ns)
{
	uroce_completion_recv_error(qpc, status, verdict, now_ns);
	uroce_error_refuse_request(qpc, verdict, now_ns);
}

void
uroce_error_refuse_request(struct uroce_qpc *qpc, enum uroce_verdict verdict, uint64_t now_ns)
{
	note_failure(qpc, (struct uroce_failure){ .psn = qpc->resp.epsn,
						  .verdict = (uint8_t)verdict,
						  .is_peers = true });
	uroce_error_enter(qpc, now_ns);
}

enum uroce_verdict
uroce_error_bad_response(struct uroce_qpc *qpc, uint64_t now_ns)
{
	uroce_error_fail_request(qpc, IBV_WC_BAD_RESP_ERR, UROCE_VERDICT_BAD_RESPONSE, now_ns);
	return UROCE_VERDICT_BAD_RESPONSE;
}
