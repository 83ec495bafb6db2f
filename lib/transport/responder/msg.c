/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reception of messages. The packets of a SEND or WRITE are processed one by one, in order [IBA
 * 9.7.4.1, 9.8.2].
 *
 * All checks precede the first change: the opcode continues the message; the length of the packet
 * fits its position; keys, ranges and receive requests are valid. Then the payload is placed.
 * Acknowledgement and retransmission are the caller's task.
 */
#include "transport/responder/msg.h"

#include <string.h>

#include "base/copy.h"
#include "mem/mkey.h"
#include "mem/mw.h"
#include "transport/completion.h"
#include "transport/recovery/ddp.h"
#include "transport/error.h"
#include "transport/responder/recv.h"
#include "wire/psn.h"

/*
 * Limit of wrong keys on UC. A UC request whose key is refused is dropped, and the QP continues
 * [IBA 9.9.3]. So an attacker who can forge frames could try keys at wire speed. After BAD_KEYS_MAX
 * wrong keys within BAD_KEYS_NS, all WRITEs are refused until the period is over. At 16 keys a
 * second, trying all keys takes 8 years, and the attacker must guess an address with each key.
 */
#define BAD_KEYS_MAX 16
#define BAD_KEYS_NS  UINT64_C(1000000000)

/* The length in bytes of the longest message [IBA 9.7.4.1.6]. */
#define MSG_LEN_MAX (1u << 31)

static bool
has_invalidate(const struct uroce_pkt *pkt)
{
	return pkt->op->ext_mask & 1 << UROCE_EXT_IETH;
}

/*
 * Check that the opcode of a packet continues the message being received, and that the length of
 * the packet fits its position in the message.
 */
static enum uroce_verdict
check_sequence(const struct uroce_qpc *qpc, const struct uroce_pkt *pkt)
{
	const struct uroce_opcode *op = pkt->op;
	const bool is_first = op->flags & UROCE_OPF_FIRST;
	const bool is_last = op->flags & UROCE_OPF_LAST;
	const uint32_t mtu = 1u << qpc->mtu_shift;
	const uint8_t expected = is_first ? (uint8_t)UROCE_OPERATION_NONE : op->operation;

	if (qpc->resp.operation != expected)
		return UROCE_VERDICT_BAD_SEQUENCE;
	if (!is_last && pkt->payload_len != mtu)
		return UROCE_VERDICT_BAD_REQUEST;
	if (is_last && (pkt->payload_len > mtu || (!is_first && !pkt->payload_len)))
		return UROCE_VERDICT_BAD_REQUEST;
	return UROCE_VERDICT_REQUEST;
}

static enum uroce_verdict
place_send(struct uroce_qpc *qpc, const struct uroce_pkt *pkt)
{
	struct uroce_resp *resp = &qpc->resp;
	struct uroce_recv_wqe *wqe = uroce_recv_current(qpc);
	const uint32_t at = resp->operation == UROCE_OPERATION_NONE ? 0 : resp->msg_len;

	if (!wqe)
		return UROCE_VERDICT_NO_RECEIVE;
	if ((uint64_t)at + pkt->payload_len > wqe->len)
		return UROCE_VERDICT_TOO_LONG;
	if (uroce_sge_scatter(qpc->mrs, uroce_recv_pdn(qpc), uroce_recv_wqe_sge(wqe), wqe->nb_sge,
			      at, pkt->payload, pkt->payload_len, NULL))
		return UROCE_VERDICT_LOCAL_FAULT;
	return UROCE_VERDICT_REQUEST;
}

/*
 * Begin a WRITE. Its first packet names the memory of the whole WRITE, and access to this whole
 * memory is checked.
 */
static enum uroce_verdict
open_write(struct uroce_qpc *qpc, const struct uroce_pkt *pkt, void **dst)
{
	struct uroce_resp *resp = &qpc->resp;
	const struct uroce_reth *reth = uroce_pkt_reth(pkt);
	const uint64_t va = be64_get(reth->va);
	const uint32_t rkey = be32_get(reth->rkey);
	const uint32_t len = be32_get(reth->dma_len);

	if (len > MSG_LEN_MAX)
		return UROCE_VERDICT_BAD_REQUEST;
	if (!(qpc->access & IBV_ACCESS_REMOTE_WRITE))
		return UROCE_VERDICT_NO_ACCESS;
	/* a WRITE of length 0 touches no memory, and its key is not checked [IBA 9.7.4.1.3] */
	if (len) {
		*dst = uroce_rkey_resolve(qpc->mrs, rkey, qpc->pdn, qpc->qpn, va, len,
					  IBV_ACCESS_REMOTE_WRITE);
		if (!*dst &&
		    !uroce_mkey_may(qpc->mrs, rkey, qpc->pdn, va, len, IBV_ACCESS_REMOTE_WRITE))
			return UROCE_VERDICT_NO_ACCESS;
	}
	resp->write_va = va;
	resp->write_rkey = rkey;
	resp->write_len = len;
	return UROCE_VERDICT_REQUEST;
}

/*
 * Place the payload of a WRITE through an mkey, if the key is that of an mkey. Otherwise access is
 * refused.
 */
static __attribute__((noinline)) enum uroce_verdict
place_through(const struct uroce_qpc *qpc, const struct uroce_pkt *pkt, uint32_t at)
{
	const struct uroce_resp *resp = &qpc->resp;
	const int rc =
		uroce_mkey_write(qpc->mrs, resp->write_rkey, qpc->pdn, resp->write_va + at,
				 pkt->payload, pkt->payload_len, IBV_ACCESS_REMOTE_WRITE, NULL);

	return rc ? UROCE_VERDICT_NO_ACCESS : UROCE_VERDICT_REQUEST;
}

static enum uroce_verdict
place_write(struct uroce_qpc *qpc, const struct uroce_pkt *pkt)
{
	struct uroce_resp *resp = &qpc->resp;
	const bool is_last = pkt->op->flags & UROCE_OPF_LAST;
	const bool is_first = resp->operation == UROCE_OPERATION_NONE;
	uint32_t at = resp->msg_len;
	void *dst = NULL;

	if ((pkt->op->flags & UROCE_OPF_IMM) && !uroce_recv_current(qpc))
		return UROCE_VERDICT_NO_RECEIVE;
	if (is_first) {
		const enum uroce_verdict verdict = open_write(qpc, pkt, &dst);

		if (verdict != UROCE_VERDICT_REQUEST)
			return verdict;
		at = 0;
	}
	const uint64_t end = (uint64_t)at + pkt->payload_len;

	if (is_last ? end != resp->write_len : end >= resp->write_len)
		return UROCE_VERDICT_BAD_REQUEST;
	if (!pkt->payload_len)
		return UROCE_VERDICT_REQUEST;
	if (!dst)
		dst = uroce_rkey_resolve(qpc->mrs, resp->write_rkey, qpc->pdn, qpc->qpn,
					 resp->write_va + at, pkt->payload_len,
					 IBV_ACCESS_REMOTE_WRITE);
	if (is_first || is_last)
		uroce_copy_fence();
	if (!dst)
		return place_through(qpc, pkt, at);
	if (__builtin_expect(resp->gap && resp->gap->ddp.nb, 0))
		uroce_ddp_copy_around(qpc, pkt->psn, dst, pkt->payload, pkt->payload_len);
	else
		uroce_copy(dst, pkt->payload, pkt->payload_len);
	return UROCE_VERDICT_REQUEST;
}

/*
 * Complete the receive request of a message after its last packet. A WRITE without immediate data
 * has no receive request.
 */
static void
complete_message(struct uroce_qpc *qpc, const struct uroce_pkt *pkt, uint64_t now_ns)
{
	const bool is_send = pkt->op->operation == UROCE_OPERATION_SEND;

	if (!is_send && !(pkt->op->flags & UROCE_OPF_IMM))
		return;
	struct uroce_cqe *cqe = uroce_completion_recv(
		qpc, is_send ? IBV_WC_RECV : IBV_WC_RECV_RDMA_WITH_IMM, now_ns);

	if (!cqe)
		return;
	cqe->byte_len = qpc->resp.msg_len;
	cqe->is_solicited = pkt->is_solicited;
	if (pkt->op->flags & UROCE_OPF_IMM) {
		memcpy(&cqe->imm, uroce_pkt_immdt(pkt), sizeof(cqe->imm));
		cqe->wc_flags = IBV_WC_WITH_IMM;
	}
	if (has_invalidate(pkt)) {
		cqe->imm = be32_get(uroce_pkt_ieth(pkt)->rkey);
		cqe->wc_flags = IBV_WC_WITH_INV;
	}
}

/*
 * Invalidate the key that the peer names. The key must be that of a memory window or of an mkey.
 * @return 0; -EINVAL: the key must not be invalidated
 */
static int
invalidate_by_peer(const struct uroce_qpc *qpc, uint32_t rkey)
{
	return uroce_mw_invalidate(qpc->mrs, rkey, qpc->pdn, qpc->qpn)
		       ? uroce_mkey_invalidate(qpc->mrs, rkey, qpc->pdn, true)
		       : 0;
}

static void
begin_message(struct uroce_qpc *qpc, const struct uroce_pkt *pkt)
{
	qpc->resp.msg_len = 0;
	if (pkt->op->operation == UROCE_OPERATION_WRITE)
		uroce_count_in(qpc->counters, UROCE_COUNTER_RX_WRITE_REQUESTS, 1);
}

enum uroce_verdict
uroce_msg_recv(struct uroce_qpc *qpc, const struct uroce_pkt *pkt, uint64_t now_ns)
{
	struct uroce_resp *resp = &qpc->resp;
	enum uroce_verdict verdict = check_sequence(qpc, pkt);

	if (verdict != UROCE_VERDICT_REQUEST)
		return verdict;
	verdict = pkt->op->operation == UROCE_OPERATION_SEND ? place_send(qpc, pkt)
							     : place_write(qpc, pkt);
	if (verdict != UROCE_VERDICT_REQUEST)
		return verdict;
	/*
	 * invalidate the key after the payload was placed, because placing may use the key, and
	 * before the completion is written
	 */
	if (has_invalidate(pkt) && invalidate_by_peer(qpc, be32_get(uroce_pkt_ieth(pkt)->rkey)))
		return UROCE_VERDICT_BAD_INVALIDATE;
	if (pkt->op->flags & UROCE_OPF_FIRST)
		begin_message(qpc, pkt);
	resp->msg_len += pkt->payload_len;
	resp->operation = pkt->op->operation;
	qpc->stats.rx_bytes += pkt->payload_len;
	if (pkt->op->flags & UROCE_OPF_LAST) {
		complete_message(qpc, pkt, now_ns);
		resp->operation = UROCE_OPERATION_NONE;
	}
	return UROCE_VERDICT_REQUEST;
}

/* Whether a packet names memory by address and key (RETH). */
static bool
has_reth_memory(const struct uroce_pkt *pkt)
{
	return pkt->op->ext_mask & 1 << UROCE_EXT_RETH;
}

/* Whether the UC peer has sent too many wrong keys in the present period of BAD_KEYS_NS. */
static bool
is_key_guessing(struct uroce_qpc *qpc, uint64_t now_ns)
{
	if (now_ns - qpc->bad_key_ns >= BAD_KEYS_NS)
		qpc->nb_bad_keys = 0;
	return qpc->nb_bad_keys == BAD_KEYS_MAX;
}

static void
note_bad_key(struct uroce_qpc *qpc, uint64_t now_ns)
{
	if (!qpc->nb_bad_keys)
		qpc->bad_key_ns = now_ns;
	qpc->nb_bad_keys++;
}

/*
 * End a message whose other packets are lost or useless. The receive request of the message is put
 * back into the SRQ so that any QP can use it, because this QP may not receive packets for a long
 * time.
 */
static void
cut_off_message(struct uroce_qpc *qpc)
{
	qpc->resp.operation = UROCE_OPERATION_NONE;
	uroce_recv_put_back(qpc);
}

enum uroce_verdict
uroce_msg_recv_uc(struct uroce_qpc *qpc, const struct uroce_pkt *pkt, uint64_t now_ns)
{
	struct uroce_resp *resp = &qpc->resp;
	const bool is_first = pkt->op->flags & UROCE_OPF_FIRST;

	if (is_first) {
		/* if an earlier message has not ended, its last packets are lost */
		cut_off_message(qpc);
		resp->epsn = pkt->psn;
	} else if (pkt->psn != resp->epsn) {
		cut_off_message(qpc);
		qpc->stats.ooo_requests++;
		uroce_count_in(qpc->counters, UROCE_COUNTER_OUT_OF_SEQUENCE, 1);
		return UROCE_VERDICT_PSN_GAP;
	}
	if (qpc->nb_bad_keys && has_reth_memory(pkt) && is_key_guessing(qpc, now_ns)) {
		uroce_count_in(qpc->counters, UROCE_COUNTER_RX_WRITE_UNREAD, 1);
		qpc->events |= UROCE_QPC_KEYS_GUESSED;
		return UROCE_VERDICT_NO_ACCESS;
	}
	const enum uroce_verdict verdict = uroce_msg_recv(qpc, pkt, now_ns);

	if (verdict == UROCE_VERDICT_REQUEST) {
		resp->epsn = uroce_psn_add(pkt->psn, 1);
		return verdict;
	}
	if (verdict == UROCE_VERDICT_NO_ACCESS && has_reth_memory(pkt))
		note_bad_key(qpc, now_ns);
	uroce_error_count_refusal(qpc, verdict);
	/*
	 * an error of the peer only loses the message; a local fault, which the application has
	 * caused, puts the QP into ERR
	 */
	if (verdict == UROCE_VERDICT_LOCAL_FAULT)
		uroce_error_fail_receive(qpc, IBV_WC_LOC_PROT_ERR, verdict, now_ns);
	cut_off_message(qpc);
	return verdict;
}
