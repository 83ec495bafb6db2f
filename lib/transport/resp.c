/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The responder of RC and XRC [IBA 9.7.4, 9.7.5.1].
 *
 * A request is past, expected or ahead, by its PSN. An expected one is executed; a past one is
 * answered again (a READ by reading again, an atomic from its saved result, the others by an ACK);
 * one ahead is a gap and gets one NAK.
 *
 * What is owed to the peer leaves in PSN order, because every response acknowledges all before it:
 * first READ responses and atomic acknowledgements, oldest first; then one AETH, an ACK for
 * everything so far or a NAK for what is expected next. An ACK that is not sent yet covers whatever
 * arrives in the meantime: that is the coalescing.
 */
#include "transport/role.h"

#include <string.h>

#include "mem/mkey.h"
#include "mem/flush.h"
#include "transport/completion.h"
#include "wire/psn.h"
#include "wire/syndrome.h"

static_assert((UROCE_RD_ATOMIC_MAX & (UROCE_RD_ATOMIC_MAX - 1)) == 0, "resources are a ring");
static_assert(UROCE_RD_ATOMIC_MAX <= 32, "pending is a mask of 32 bits");

#define READ_LEN_MAX (1u << 31)

/* What a refused request leads to, by verdict [IBA 9.7.5.2.8, 9.9.3]. */
static const struct refusal {
	bool is_fatal;       /* NAK `nak`, and the QP ends in ERR */
	uint8_t nak;         /* enum uroce_nak */
	uint8_t recv_status; /* how the oldest receive request ends; 0: untouched */
	uint32_t event;      /* enum uroce_qpc_event */
} refusals[UROCE_VERDICT_NB] = {
	[UROCE_VERDICT_BAD_SEQUENCE] = { true, UROCE_NAK_INV_REQUEST, 0, UROCE_QPC_REQ_ERR },
	[UROCE_VERDICT_BAD_REQUEST] = { true, UROCE_NAK_INV_REQUEST, 0, UROCE_QPC_REQ_ERR },
	[UROCE_VERDICT_NO_ACCESS] = { true, UROCE_NAK_REM_ACCESS, 0, UROCE_QPC_ACCESS_ERR },
	[UROCE_VERDICT_LOCAL_FAULT] = { true, UROCE_NAK_REM_OP, IBV_WC_LOC_PROT_ERR, 0 },
	[UROCE_VERDICT_BAD_INVALIDATE] = { true, UROCE_NAK_REM_OP, IBV_WC_REM_INV_REQ_ERR, 0 },
	[UROCE_VERDICT_TOO_LONG] = { true, UROCE_NAK_INV_REQUEST, IBV_WC_LOC_LEN_ERR, 0 },
};

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
	};
}

/* An ACK becomes due; a NAK that waits already goes first and makes it unnecessary. */
void
uroce_resp_schedule_ack(struct uroce_resp *resp)
{
	if (resp->has_aeth)
		return;
	resp->has_aeth = true;
	resp->syndrome = UROCE_SYNDROME_ACK;
}

void
uroce_resp_schedule_nak(struct uroce_resp *resp, uint8_t syndrome, uint32_t psn)
{
	resp->has_aeth = true;
	resp->syndrome = syndrome;
	resp->aeth_psn = psn;
	resp->is_nak_sent = true;
}

void
uroce_resp_count_refusal(const struct uroce_qpc *qpc, enum uroce_verdict verdict)
{
	if (verdict == UROCE_VERDICT_NO_RECEIVE)
		uroce_count_in(qpc->counters, UROCE_COUNTER_OUT_OF_BUFFER, 1);
	else if (verdict == UROCE_VERDICT_TOO_LONG)
		uroce_count_in(qpc->counters, UROCE_COUNTER_RESP_LOCAL_LENGTH_ERROR, 1);
	else if (verdict == UROCE_VERDICT_NO_ACCESS)
		uroce_count_in(qpc->counters, UROCE_COUNTER_RESP_REMOTE_ACCESS_ERRORS, 1);
}

void
uroce_resp_fail_recv(struct uroce_qpc *qpc, enum ibv_wc_status status, enum uroce_verdict verdict,
		     uint64_t now_ns)
{
	uroce_completion_recv_error(qpc, status, verdict, now_ns);
	uroce_qpc_enter_error(qpc, now_ns);
}

/* The expected request is refused. */
static enum uroce_verdict
refuse_request(struct uroce_qpc *qpc, enum uroce_verdict verdict, uint64_t now_ns)
{
	struct uroce_resp *resp = &qpc->resp;
	const struct refusal *refusal = &refusals[verdict];

	uroce_resp_count_refusal(qpc, verdict);
	if (verdict == UROCE_VERDICT_NO_RECEIVE || verdict == UROCE_VERDICT_NO_RESOURCE) {
		uroce_resp_schedule_nak(
			resp, uroce_syndrome_make(UROCE_AETH_RNR, qpc->attr.min_rnr_timer),
			resp->epsn);
		resp->is_rnr_sent = true;
	}
	if (!refusal->is_fatal)
		return verdict;
	uroce_resp_schedule_nak(resp, uroce_syndrome_make(UROCE_AETH_NAK, refusal->nak),
				resp->epsn);
	qpc->events |= refusal->event;
	if (refusal->recv_status)
		uroce_resp_fail_recv(qpc, (enum ibv_wc_status)refusal->recv_status, verdict,
				     now_ns);
	else
		uroce_qpc_enter_error(qpc, now_ns);
	return verdict;
}

/* The oldest resource that has something to send. */
static struct uroce_rd_res *
find_oldest_pending(struct uroce_resp *resp)
{
	return &resp->res[uroce_rd_atomic_oldest(resp)];
}

static void
end_pass(struct uroce_resp *resp, const struct uroce_rd_res *res)
{
	resp->pending &= ~(1u << (res - resp->res));
}

/*
 * The slot for a new READ or atomic. A peer that asks for a new one has its answers to the old ones,
 * but for as many as were agreed; so where the agreed number is exceeded, the oldest is a repetition
 * that nobody waits for, or the peer broke the agreement.
 * @return UROCE_VERDICT_REQUEST, and the slot
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
		const struct uroce_rd_res *oldest = find_oldest_pending(resp);

		if (!oldest->was_answered)
			return UROCE_VERDICT_BAD_REQUEST;
		end_pass(resp, oldest);
	}
	uroce_rd_pool_touch(qpc->rd_pool, resp->res, now_ns);
	*out = slot;
	return UROCE_VERDICT_REQUEST;
}

/* The resource that alloc_resource() gave is filled: its responses are due. */
static void
commit_resource(struct uroce_resp *resp)
{
	resp->pending |= 1u << resp->res_head % UROCE_RD_ATOMIC_MAX;
	resp->res_head++;
	/* its responses acknowledge everything before them */
	if (resp->syndrome == UROCE_SYNDROME_ACK)
		resp->has_aeth = false;
}

bool
uroce_resp_may_read(const struct uroce_qpc *qpc, const struct uroce_pkt *pkt)
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
	if (!uroce_resp_may_read(qpc, pkt))
		return UROCE_VERDICT_NO_ACCESS;
	struct uroce_rd_res *res;
	const enum uroce_verdict verdict = alloc_resource(qpc, now_ns, &res);

	if (verdict != UROCE_VERDICT_REQUEST)
		return verdict;
	const uint32_t nb_psn = uroce_msg_packets(qpc, len);

	resp->msn = uroce_psn_add(resp->msn, 1);
	*res = (struct uroce_rd_res){
		.va = be64_get(reth->va),
		.rkey = be32_get(reth->rkey),
		.pdn = qpc->pdn,
		.len = len,
		.psn = pkt->psn,
		.end = nb_psn,
		.msn = resp->msn,
	};
	commit_resource(resp);
	uroce_count_in(qpc->counters, UROCE_COUNTER_RX_READ_REQUESTS, 1);
	uroce_ooo_request_note_read(qpc, nb_psn);
	resp->epsn = uroce_psn_add(resp->epsn, nb_psn);
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
	/* the address as the peer names it, and as our CPU needs it */
	if (va % sizeof(*at) || (uintptr_t)at % sizeof(*at))
		return UROCE_VERDICT_BAD_REQUEST;
	struct uroce_rd_res *res;
	const enum uroce_verdict verdict = alloc_resource(qpc, now_ns, &res);

	if (verdict != UROCE_VERDICT_REQUEST)
		return verdict;
	resp->msn = uroce_psn_add(resp->msn, 1);
	*res = (struct uroce_rd_res){
		.psn = pkt->psn,
		.end = 1,
		.msn = resp->msn,
		.is_atomic = true,
		.orig = uroce_rd_atomic_execute(at, eth, is_swap),
	};
	commit_resource(resp);
	uroce_count_in(qpc->counters, UROCE_COUNTER_RX_ATOMIC_REQUESTS, 1);
	resp->epsn = uroce_psn_add(resp->epsn, 1);
	return UROCE_VERDICT_REQUEST;
}

/* What is answered like a READ of nothing is remembered as one. */
static void
remember_empty(struct uroce_resp *resp, struct uroce_rd_res *res, uint32_t psn)
{
	resp->msn = uroce_psn_add(resp->msn, 1);
	*res = (struct uroce_rd_res){ .psn = psn, .end = 1, .msn = resp->msn };
	commit_resource(resp);
	resp->epsn = uroce_psn_add(resp->epsn, 1);
}

/* ATOMIC_WRITE: 8 bytes that nobody ever sees a part of [IBA A19]. */
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
	remember_empty(&qpc->resp, res, pkt->psn);
	return UROCE_VERDICT_REQUEST;
}

/* The rights that a FLUSH of this placement needs. */
static uint32_t
flush_access(uint32_t type)
{
	return (type & UROCE_FLUSH_GLOBAL ? UROCE_ACCESS_FLUSH_GLOBAL : 0) |
	       (type & UROCE_FLUSH_PERSISTENT ? UROCE_ACCESS_FLUSH_PERSISTENT : 0);
}

/* What the peer wrote before is where everybody sees it, or where it stays. */
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
	remember_empty(&qpc->resp, res, pkt->psn);
	return UROCE_VERDICT_REQUEST;
}

static enum uroce_verdict
execute_message(struct uroce_qpc *qpc, const struct uroce_pkt *pkt, uint64_t now_ns)
{
	struct uroce_resp *resp = &qpc->resp;
	const enum uroce_verdict verdict = uroce_msg_recv(qpc, pkt, now_ns);

	if (verdict != UROCE_VERDICT_REQUEST)
		return verdict;
	resp->epsn = uroce_psn_add(resp->epsn, 1);
	if (pkt->op->flags & UROCE_OPF_LAST)
		resp->msn = uroce_psn_add(resp->msn, 1);
	if (pkt->has_ack_req)
		uroce_resp_schedule_ack(resp);
	return verdict;
}

/*
 * XRC: the shared receive queue that the request names, of which it takes receive requests, and whose
 * domain its keys are of. All packets of a message name the same [IBA A14.5].
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
	/* there may be one from a request that was refused */
	if (srq != qpc->srq) {
		uroce_completion_recv_end(qpc); /* another queue, another CQ */
		uroce_recv_put_back(qpc);
	}
	qpc->srq = srq;
	qpc->pdn = srq->pdn;
	return UROCE_VERDICT_REQUEST;
}

/* What was asked for by a NAK is here; one that has not left yet is not needed any more. */
static void
end_nak_wait(struct uroce_resp *resp)
{
	if (resp->has_aeth)
		resp->syndrome = UROCE_SYNDROME_ACK;
	resp->is_nak_sent = false;
	resp->is_rnr_sent = false;
}

static enum uroce_verdict
execute_request(struct uroce_qpc *qpc, const struct uroce_pkt *pkt, uint64_t now_ns)
{
	struct uroce_resp *resp = &qpc->resp;
	enum uroce_verdict verdict = UROCE_VERDICT_BAD_REQUEST;

	if (resp->is_nak_sent)
		end_nak_wait(resp);
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

/* The request that was expected. */
enum uroce_verdict
uroce_resp_execute(struct uroce_qpc *qpc, const struct uroce_pkt *pkt, uint64_t now_ns)
{
	const enum uroce_verdict verdict = execute_request(qpc, pkt, now_ns);

	return verdict == UROCE_VERDICT_REQUEST ? verdict : refuse_request(qpc, verdict, now_ns);
}

enum uroce_verdict
uroce_resp_execute_buffered(struct uroce_qpc *qpc, const struct uroce_pkt *pkt, uint64_t now_ns)
{
	const enum uroce_verdict verdict = execute_request(qpc, pkt, now_ns);

	if (verdict == UROCE_VERDICT_REQUEST || refusals[verdict].is_fatal)
		return verdict;
	return refuse_request(qpc, verdict, now_ns);
}

/* The remembered READ or atomic that `psn` belongs to; NULL: forgotten, or never was one. */
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

/* What is still being answered goes on to its end: a part that is asked for again does not cut it. */
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

/* A READ again, or a part of it: only what the original was granted [IBA 9.7.5.1.5]. */
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
	/* a part that ends inside ends on a packet boundary, or the lengths would not fit */
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

/* A FLUSH or ATOMIC_WRITE again: what it did is done, and may have been written over since. */
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
		uroce_ooo_request_compare(qpc, pkt);
	if (pkt->op->operation == UROCE_OPERATION_READ)
		return repeat_read(qpc, pkt);
	if (pkt->op->operation == UROCE_OPERATION_ATOMIC)
		return repeat_atomic(qpc, pkt);
	if (pkt->op->operation == UROCE_OPERATION_ATOMIC_WRITE ||
	    pkt->op->operation == UROCE_OPERATION_FLUSH)
		return repeat_empty(qpc, pkt);
	uroce_resp_schedule_ack(&qpc->resp);
	return UROCE_VERDICT_DUPLICATE;
}

enum uroce_verdict
uroce_resp_recv(struct uroce_qpc *qpc, const struct uroce_pkt *pkt, uint64_t now_ns)
{
	struct uroce_resp *resp = &qpc->resp;

	if (resp->is_fill_doubtful)
		uroce_ooo_request_classify_fill(qpc, pkt->psn);
	if (pkt->psn == resp->epsn)
		return uroce_ooo_request_is_idle(resp)
			       ? uroce_resp_execute(qpc, pkt, now_ns)
			       : uroce_ooo_request_fill_gap(qpc, pkt, now_ns);
	if (uroce_psn_before(pkt->psn, resp->epsn))
		return repeat_request(qpc, pkt);
	return uroce_ooo_request_recv(qpc, pkt, now_ns);
}

/* Begin a response. @return where its extension headers go */
static uint8_t *
begin_response(struct uroce_qpc *qpc, struct uroce_txd *txd, uint8_t low, uint32_t psn,
	       uint32_t payload_len)
{
	return uroce_txd_begin(txd, qpc, (uint8_t)(qpc->service << 5 | low), psn, payload_len);
}

/* By whether its pass has begun before, and whether it ends it. */
static const uint8_t read_opcodes[2][2] = {
	{ UROCE_OP_READ_RESPONSE_FIRST, UROCE_OP_READ_RESPONSE_ONLY },
	{ UROCE_OP_READ_RESPONSE_MIDDLE, UROCE_OP_READ_RESPONSE_LAST },
};

/*
 * A payload that is not memory as it is, made where the frame has it. That a signature is bad is for the owner
 * of the mkey to ask.
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

/* @return false: the memory is gone */
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
 * The memory of a READ is gone. If this was a repetition, the peer has most likely got its answer,
 * and its region may have ended its life because of that: it must not lose its QP over a request
 * that was late. Otherwise the NAK names the first response that is not coming.
 */
static void
give_up_read(struct uroce_qpc *qpc, const struct uroce_rd_res *res, uint64_t now_ns)
{
	struct uroce_resp *resp = &qpc->resp;

	if (res->was_answered) {
		end_pass(resp, res);
		return;
	}
	resp->pending = 0;
	/* what is held is found by its distance from epsn, which is about to go back */
	uroce_ooo_request_discard(qpc);
	resp->epsn = uroce_psn_add(res->psn, res->sent);
	refuse_request(qpc, UROCE_VERDICT_NO_ACCESS, now_ns);
}

/* One response of a READ or atomic. @return whether it could be built */
static bool
put_response(struct uroce_qpc *qpc, struct uroce_txd *txd, uint64_t now_ns)
{
	struct uroce_resp *resp = &qpc->resp;
	struct uroce_rd_res *res = find_oldest_pending(resp);

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
	end_pass(resp, res);
	return true;
}

/*
 * An ACK or NAK. Where a QP asks, too, its headers stay shaped for what it asks: its next request is what
 * somebody waits for.
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
 * What an ACK names: the newest PSN, but for READs and atomics there, which only their data answers. Requesters are to
 * ask again for data that an ACK passes by [IBA 9.7.5.1.1]; rxe takes an ACK of a READ's last PSN for the end of that
 * READ, as if its last response had come. One that an ACK passed by is not looked at: PSNs come round to it again.
 */
static uint32_t
find_ack_psn(const struct uroce_qpc *qpc)
{
	const struct uroce_resp *resp = &qpc->resp;
	const uint32_t nb = uroce_min(resp->res_head - resp->passed_head, UROCE_RD_ATOMIC_MAX);
	uint32_t psn = resp->epsn;

	/* the resources of who asks for nothing are taken away */
	for (uint32_t i = 1; resp->res && i <= nb; i++) {
		const struct uroce_rd_res *res =
			&resp->res[(resp->res_head - i) % UROCE_RD_ATOMIC_MAX];

		if (!res->end || uroce_psn_add(res->psn, uroce_msg_packets(qpc, res->len)) != psn)
			break;
		psn = res->psn;
	}
	return uroce_psn_add(psn, UROCE_PSN_MASK);
}

/* The data that answers the newest request says that all before it is done, as the ACK would. */
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
			nb_run = uroce_middle_put_responses(qpc, find_oldest_pending(resp),
							    &out[nb], max - nb);
		nb += nb_run;
		if (nb_run)
			continue;
		if (put_response(qpc, &out[nb], now_ns))
			uroce_txd_charge(qpc, &out[nb++], now_ns);
		else
			was_pending = 0; /* no data says anything */
	}
	if (resp->has_aeth && !resp->pending && is_ack_implied(qpc, was_pending))
		resp->has_aeth = false;
	if (nb < max && resp->has_aeth && !resp->pending)
		put_aeth_packet(qpc, &out[nb++]);
	return nb;
}
