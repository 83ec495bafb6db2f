/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The responder executes or refuses the expected request (PSN epsn) of an RC or XRC QP [IBA 9.7.4,
 * 9.7.5.1].
 */
#include "transport/responder/execute.h"

#include <string.h>

#include "mem/flush.h"
#include "mem/mkey.h"
#include "transport/responder/aeth.h"
#include "transport/recovery/ahead.h"
#include "transport/recovery/ooo_request_state.h"
#include "transport/completion.h"
#include "transport/error.h"
#include "transport/responder/msg.h"
#include "transport/requester/position.h"
#include "transport/responder/rd_atomic_resp.h"
#include "transport/responder/recv.h"
#include "wire/psn.h"
#include "wire/syndrome.h"

static_assert((UROCE_RD_ATOMIC_MAX & (UROCE_RD_ATOMIC_MAX - 1)) == 0, "resources are a ring");
static_assert(UROCE_RD_ATOMIC_MAX <= 32, "pending is a mask of 32 bits");

#define READ_LEN_MAX (1u << 31)

/* The reaction of the responder to a refused request, for each verdict [IBA 9.7.5.2.8, 9.9.3]. */
static const struct refusal {
	/* the responder sends a NAK with the code `nak`, and the QP goes to ERR */
	bool is_fatal;
	uint8_t nak; /* code of the NAK, an enum uroce_nak */
	/* error status of the oldest receive request; 0: no receive request fails */
	uint8_t recv_status;
	/* event of the QP that is raised, an enum uroce_qpc_event; 0: no event is raised */
	uint32_t event;
} refusals[UROCE_VERDICT_NB] = {
	[UROCE_VERDICT_BAD_SEQUENCE] = { true, UROCE_NAK_INV_REQUEST, 0, UROCE_QPC_REQ_ERR },
	[UROCE_VERDICT_BAD_REQUEST] = { true, UROCE_NAK_INV_REQUEST, 0, UROCE_QPC_REQ_ERR },
	[UROCE_VERDICT_NO_ACCESS] = { true, UROCE_NAK_REM_ACCESS, 0, UROCE_QPC_ACCESS_ERR },
	[UROCE_VERDICT_LOCAL_FAULT] = { true, UROCE_NAK_REM_OP, IBV_WC_LOC_PROT_ERR, 0 },
	[UROCE_VERDICT_BAD_INVALIDATE] = { true, UROCE_NAK_REM_OP, IBV_WC_REM_INV_REQ_ERR, 0 },
	[UROCE_VERDICT_TOO_LONG] = { true, UROCE_NAK_INV_REQUEST, IBV_WC_LOC_LEN_ERR, 0 },
};

enum uroce_verdict
uroce_execute_refuse(struct uroce_qpc *qpc, enum uroce_verdict verdict, uint64_t now_ns)
{
	struct uroce_resp *resp = &qpc->resp;
	const struct refusal *refusal = &refusals[verdict];

	uroce_error_count_refusal(qpc, verdict);
	if (verdict == UROCE_VERDICT_NO_RECEIVE || verdict == UROCE_VERDICT_NO_RESOURCE) {
		uroce_aeth_schedule_nak(
			resp, uroce_syndrome_make(UROCE_AETH_RNR, qpc->attr.min_rnr_timer),
			resp->epsn);
		(void)uroce_ooo_request_step(qpc, UROCE_OOO_REQUEST_ON_RNR);
	}
	if (!refusal->is_fatal)
		return verdict;
	uroce_aeth_schedule_nak(resp, uroce_syndrome_make(UROCE_AETH_NAK, refusal->nak),
				resp->epsn);
	qpc->events |= refusal->event;
	if (refusal->recv_status)
		uroce_error_fail_receive(qpc, (enum ibv_wc_status)refusal->recv_status, verdict,
					 now_ns);
	else
		uroce_error_refuse_request(qpc, verdict, now_ns);
	return verdict;
}

/*
 * Allocate a slot in the QP's ring of resources for a new READ or atomic. A correct peer sends a
 * new READ or atomic only if it waits for the responses of fewer than max_dest_rd_atomic others. So
 * if more responses are pending, there are two cases. If the responses of the oldest READ or atomic
 * are a repetition, this repetition is dropped, because the peer does not need it. Otherwise the
 * peer has sent more than max_dest_rd_atomic allows.
 * @param[out] out  the slot of the resource
 * @return UROCE_VERDICT_REQUEST, or why the request is refused
 */
static enum uroce_verdict
alloc_resource(struct uroce_qpc *qpc, uint64_t now_ns, struct uroce_rd_res **out)
{
	struct uroce_resp *resp = &qpc->resp;

	if (!qpc->attr.max_dest_rd_atomic || !qpc->rd_pool)
		return UROCE_VERDICT_BAD_REQUEST;
	if (!resp->res)
		resp->res = uroce_rd_pool_take(qpc->rd_pool, resp, now_ns);
	if (!resp->res)
		return UROCE_VERDICT_NO_RESOURCE;
	struct uroce_rd_res *slot = &resp->res[resp->res_head % UROCE_RD_ATOMIC_MAX];

	while ((unsigned)__builtin_popcount(resp->pending) >= qpc->attr.max_dest_rd_atomic ||
	       resp->pending & 1u << (slot - resp->res)) {
		const struct uroce_rd_res *oldest = uroce_rd_atomic_oldest_res(resp);

		if (!oldest->was_answered)
			return UROCE_VERDICT_BAD_REQUEST;
		uroce_rd_atomic_end(resp, oldest);
	}
	uroce_rd_pool_touch(qpc->rd_pool, resp->res, now_ns);
	*out = slot;
	return UROCE_VERDICT_REQUEST;
}

bool
uroce_execute_may_read(const struct uroce_qpc *qpc, const struct uroce_pkt *pkt)
{
	const struct uroce_reth *reth = uroce_pkt_reth(pkt);
	const uint64_t va = be64_get(reth->va);
	const uint32_t rkey = be32_get(reth->rkey);
	const uint32_t len = be32_get(reth->dma_len);

	if (!(qpc->access & IBV_ACCESS_REMOTE_READ))
		return false;
	return !len ||
	       uroce_rkey_resolve(qpc->mrs, rkey, qpc->pdn, qpc->qpn, va, len,
				  IBV_ACCESS_REMOTE_READ) ||
	       uroce_mkey_may(qpc->mrs, rkey, qpc->pdn, va, len, IBV_ACCESS_REMOTE_READ);
}

static enum uroce_verdict
execute_read(struct uroce_qpc *qpc, const struct uroce_pkt *pkt, uint64_t now_ns)
{
	struct uroce_resp *resp = &qpc->resp;
	const struct uroce_reth *reth = uroce_pkt_reth(pkt);
	const uint32_t len = be32_get(reth->dma_len);

	if (resp->operation != UROCE_OPERATION_NONE)
		return UROCE_VERDICT_BAD_SEQUENCE;
	if (len > READ_LEN_MAX)
		return UROCE_VERDICT_BAD_REQUEST;
	if (!uroce_execute_may_read(qpc, pkt))
		return UROCE_VERDICT_NO_ACCESS;
	struct uroce_rd_res *res;
	const enum uroce_verdict verdict = alloc_resource(qpc, now_ns, &res);

	if (verdict != UROCE_VERDICT_REQUEST)
		return verdict;
	const uint32_t nb_psn = uroce_msg_packets(qpc, len);

	*res = (struct uroce_rd_res){
		.va = be64_get(reth->va),
		.rkey = be32_get(reth->rkey),
		.pdn = qpc->pdn,
		.len = len,
	};
	uroce_rd_atomic_begin(resp, res, nb_psn);
	uroce_count_in(qpc->counters, UROCE_COUNTER_RX_READ_REQUESTS, 1);
	uroce_ahead_note_read(qpc, nb_psn);
	return UROCE_VERDICT_REQUEST;
}

static enum uroce_verdict
execute_atomic(struct uroce_qpc *qpc, const struct uroce_pkt *pkt, uint64_t now_ns)
{
	struct uroce_resp *resp = &qpc->resp;
	const struct uroce_atomiceth *eth = uroce_pkt_atomiceth(pkt);
	const uint64_t va = be64_get(eth->va);
	const bool is_swap = (pkt->opcode & 0x1f) == UROCE_OP_CMP_SWAP;

	if (resp->operation != UROCE_OPERATION_NONE)
		return UROCE_VERDICT_BAD_SEQUENCE;
	if (!(qpc->access & IBV_ACCESS_REMOTE_ATOMIC))
		return UROCE_VERDICT_NO_ACCESS;
	uint64_t *at = uroce_rkey_resolve(qpc->mrs, be32_get(eth->rkey), qpc->pdn, qpc->qpn, va,
					  sizeof(*at), IBV_ACCESS_REMOTE_ATOMIC);

	if (!at)
		return UROCE_VERDICT_NO_ACCESS;
	/*
	 * both the virtual address that the peer sent and the address in this process must be
	 * aligned
	 */
	if (va % sizeof(*at) || (uintptr_t)at % sizeof(*at))
		return UROCE_VERDICT_BAD_REQUEST;
	struct uroce_rd_res *res;
	const enum uroce_verdict verdict = alloc_resource(qpc, now_ns, &res);

	if (verdict != UROCE_VERDICT_REQUEST)
		return verdict;
	*res = (struct uroce_rd_res){
		.is_atomic = true,
		.orig = uroce_rd_atomic_execute(at, eth, is_swap),
	};
	uroce_rd_atomic_begin(resp, res, 1);
	uroce_count_in(qpc->counters, UROCE_COUNTER_RX_ATOMIC_REQUESTS, 1);
	return UROCE_VERDICT_REQUEST;
}

/*
 * Record a FLUSH or ATOMIC_WRITE in its resource like a READ of length 0, because the responses to
 * all three have the same form.
 */
static void
remember_empty(struct uroce_resp *resp, struct uroce_rd_res *res)
{
	*res = (struct uroce_rd_res){ 0 };
	uroce_rd_atomic_begin(resp, res, 1);
}

/* Execute an ATOMIC_WRITE: whoever reads the memory sees all 8 bytes change at once [IBA A19]. */
static enum uroce_verdict
execute_atomic_write(struct uroce_qpc *qpc, const struct uroce_pkt *pkt, uint64_t now_ns)
{
	const struct uroce_reth *reth = uroce_pkt_reth(pkt);
	const uint64_t va = be64_get(reth->va);
	uint64_t value;

	if (qpc->resp.operation != UROCE_OPERATION_NONE)
		return UROCE_VERDICT_BAD_SEQUENCE;
	if (be32_get(reth->dma_len) != sizeof(value))
		return UROCE_VERDICT_BAD_REQUEST;
	if (!(qpc->access & IBV_ACCESS_REMOTE_WRITE))
		return UROCE_VERDICT_NO_ACCESS;
	uint64_t *at = uroce_rkey_resolve(qpc->mrs, be32_get(reth->rkey), qpc->pdn, qpc->qpn, va,
					  sizeof(value), IBV_ACCESS_REMOTE_WRITE);

	if (!at)
		return UROCE_VERDICT_NO_ACCESS;
	if (va % sizeof(value) || (uintptr_t)at % sizeof(value))
		return UROCE_VERDICT_BAD_REQUEST;
	struct uroce_rd_res *res;
	const enum uroce_verdict verdict = alloc_resource(qpc, now_ns, &res);

	if (verdict != UROCE_VERDICT_REQUEST)
		return verdict;
	memcpy(&value, pkt->payload, sizeof(value));
	__atomic_store_n(at, value, __ATOMIC_SEQ_CST);
	qpc->stats.rx_bytes += sizeof(value);
	uroce_count_in(qpc->counters, UROCE_COUNTER_RX_ATOMIC_REQUESTS, 1);
	remember_empty(&qpc->resp, res);
	return UROCE_VERDICT_REQUEST;
}

/* Get the access rights that a FLUSH needs, by its placement type. */
static uint32_t
flush_access(uint32_t type)
{
	return (type & UROCE_FLUSH_GLOBAL ? UROCE_ACCESS_FLUSH_GLOBAL : 0) |
	       (type & UROCE_FLUSH_PERSISTENT ? UROCE_ACCESS_FLUSH_PERSISTENT : 0);
}

/* Execute a FLUSH: make the peer's earlier WRITEs globally visible, or persistent. */
static enum uroce_verdict
execute_flush(struct uroce_qpc *qpc, const struct uroce_pkt *pkt, uint64_t now_ns)
{
	const struct uroce_reth *reth = uroce_pkt_reth(pkt);
	const uint32_t sel_plt = be32_get(uroce_pkt_feth(pkt)->sel_plt);
	const uint32_t type = sel_plt & 0xf, level = sel_plt >> 4 & 3;
	const uint32_t access = flush_access(type);
	uint64_t len = be32_get(reth->dma_len);
	const void *at;

	if (qpc->resp.operation != UROCE_OPERATION_NONE)
		return UROCE_VERDICT_BAD_SEQUENCE;
	if (!access || type & ~(uint32_t)(UROCE_FLUSH_GLOBAL | UROCE_FLUSH_PERSISTENT) ||
	    level > UROCE_FLUSH_MR)
		return UROCE_VERDICT_BAD_REQUEST;
	if (access & ~qpc->access)
		return UROCE_VERDICT_BAD_REQUEST;
	if (level == UROCE_FLUSH_MR)
		at = uroce_rkey_region(qpc->mrs, be32_get(reth->rkey), qpc->pdn, access, &len);
	else
		at = uroce_rkey_resolve(qpc->mrs, be32_get(reth->rkey), qpc->pdn, qpc->qpn,
					be64_get(reth->va), len, access);
	if (!at)
		return UROCE_VERDICT_NO_ACCESS;
	struct uroce_rd_res *res;
	const enum uroce_verdict verdict = alloc_resource(qpc, now_ns, &res);

	if (verdict != UROCE_VERDICT_REQUEST)
		return verdict;
	uroce_mem_flush(at, len, type & UROCE_FLUSH_PERSISTENT);
	remember_empty(&qpc->resp, res);
	return UROCE_VERDICT_REQUEST;
}

static enum uroce_verdict
execute_message(struct uroce_qpc *qpc, const struct uroce_pkt *pkt, uint64_t now_ns)
{
	struct uroce_resp *resp = &qpc->resp;
	const enum uroce_verdict verdict = uroce_msg_recv(qpc, pkt, now_ns);

	if (verdict != UROCE_VERDICT_REQUEST)
		return verdict;
	uroce_aeth_advance(resp, 1, (pkt->op->flags & UROCE_OPF_LAST) != 0, pkt->has_ack_req);
	return verdict;
}

/*
 * XRC: select the SRQ that the request names. Receive requests are taken from this SRQ, and keys
 * must belong to its protection domain. All packets of a message must name the same SRQ [IBA
 * A14.5].
 */
static enum uroce_verdict
select_srq(struct uroce_qpc *qpc, const struct uroce_pkt *pkt)
{
	const struct uroce_xrceth *eth = uroce_pkt_xrceth(pkt);
	struct uroce_srq *srq = uroce_srq_table_find(qpc->srqs, be24_get(eth->srqn));

	if (!srq || srq->xrcd != qpc->xrcd)
		return UROCE_VERDICT_BAD_REQUEST;
	if (qpc->resp.operation != UROCE_OPERATION_NONE && srq != qpc->srq)
		return UROCE_VERDICT_BAD_REQUEST;
	/*
	 * put back the receive request that an earlier request may have taken from the old SRQ
	 * before the earlier request was refused
	 */
	if (srq != qpc->srq) {
		/*
		 * The SRQ of this XRC request may have another CQ than the SRQ of the request
		 * before it. So publish the receive completions that were written to that CQ.
		 */
		uroce_completion_recv_end(qpc);
		uroce_recv_put_back(qpc);
	}
	qpc->srq = srq;
	qpc->pdn = srq->pdn;
	return UROCE_VERDICT_REQUEST;
}

/*
 * Handle the arrival of the request at epsn, which is not missing any more: a pending NAK for this
 * request becomes an ACK.
 */
static void
end_gap_wait(struct uroce_qpc *qpc)
{
	struct uroce_resp *resp = &qpc->resp;

	if (uroce_ooo_request_step(qpc, UROCE_OOO_REQUEST_ON_EXPECTED) ==
		    UROCE_OOO_REQUEST_DO_CANCEL_NAK &&
	    resp->has_aeth)
		resp->syndrome = UROCE_SYNDROME_ACK;
}

static enum uroce_verdict
execute_request(struct uroce_qpc *qpc, const struct uroce_pkt *pkt, uint64_t now_ns)
{
	enum uroce_verdict verdict = UROCE_VERDICT_BAD_REQUEST;

	if (qpc->resp.ooo_state != UROCE_OOO_REQUEST_IN_ORDER)
		end_gap_wait(qpc);
	if (qpc->type == IBV_QPT_XRC_RECV) {
		const enum uroce_verdict named = select_srq(qpc, pkt);

		if (named != UROCE_VERDICT_REQUEST)
			return named;
	}
	switch (pkt->op->operation) {
	case UROCE_OPERATION_SEND:
	case UROCE_OPERATION_WRITE:
		verdict = execute_message(qpc, pkt, now_ns);
		break;
	case UROCE_OPERATION_READ:
		verdict = execute_read(qpc, pkt, now_ns);
		break;
	case UROCE_OPERATION_ATOMIC:
		verdict = execute_atomic(qpc, pkt, now_ns);
		break;
	case UROCE_OPERATION_ATOMIC_WRITE:
		verdict = execute_atomic_write(qpc, pkt, now_ns);
		break;
	case UROCE_OPERATION_FLUSH:
		verdict = execute_flush(qpc, pkt, now_ns);
		break;
	}
	return verdict;
}

enum uroce_verdict
uroce_execute_expected(struct uroce_qpc *qpc, const struct uroce_pkt *pkt, uint64_t now_ns)
{
	const enum uroce_verdict verdict = execute_request(qpc, pkt, now_ns);

	return verdict == UROCE_VERDICT_REQUEST ? verdict
						: uroce_execute_refuse(qpc, verdict, now_ns);
}

enum uroce_verdict
uroce_execute_held(struct uroce_qpc *qpc, const struct uroce_pkt *pkt, uint64_t now_ns)
{
	const enum uroce_verdict verdict = execute_request(qpc, pkt, now_ns);

	if (verdict == UROCE_VERDICT_REQUEST || refusals[verdict].is_fatal)
		return verdict;
	return uroce_execute_refuse(qpc, verdict, now_ns);
}
