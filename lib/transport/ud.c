/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Unreliable datagrams [IBA 9.8.3]. Each request is one packet to an address of its own, and
 * completes when it was sent. Each received datagram uses a receive request. The first 40 bytes of
 * the receive request's memory get the global route header: the IPv6 header, or 20 undefined bytes,
 * which this library sets to zero, and the IPv4 header [IBA A17.4.5].
 *
 * A datagram that is too long, or finds no receive request, is dropped: packets of unknown senders
 * must not end a QP.
 */
#include "transport/ud.h"

#include <string.h>

#include "transport/requester/completer.h"
#include "transport/completion.h"
#include "transport/error.h"
#include "transport/requester/local.h"
#include "transport/requester/position.h"
#include "transport/responder/recv.h"
#include "transport/requester/requester.h"
#include "transport/txd.h"
#include "wire/psn.h"

#define GRH_LEN 40

/*
 * Values of the field `sl` (service level) of a completion. From them verbs programs learn whether
 * a datagram came in an IPv4 or an IPv6 packet.
 */
#define SL_IPV4 10
#define SL_IPV6 9

/*
 * Build the datagram of a send request.
 * @return IBV_WC_SUCCESS, or the status with which the request fails
 */
static enum ibv_wc_status
put_datagram(struct uroce_qpc *qpc, struct uroce_send_wqe *wqe, struct uroce_txd *txd)
{
	const bool has_imm = wqe->opcode == IBV_WR_SEND_WITH_IMM;
	const uint8_t opcode = uroce_opcode_make(UROCE_SERVICE_UD, has_imm ? UROCE_OP_SEND_ONLY_IMM
									   : UROCE_OP_SEND_ONLY);
	void *data = uroce_send_wqe_data(wqe);

	if (wqe->len > 1u << qpc->mtu_shift)
		return IBV_WC_LOC_LEN_ERR;
	if (wqe->flags & UROCE_WQE_INLINE) {
		txd->slice[0] = (struct uroce_slice){ data, wqe->len };
		txd->nb_slices = wqe->len ? 1 : 0;
	} else {
		const int nb = uroce_sge_gather(qpc->mrs, qpc->pdn, data, wqe->nb_sge, 0, wqe->len,
						NULL, txd->slice);

		if (nb < 0)
			return IBV_WC_LOC_PROT_ERR;
		txd->nb_slices = (uint8_t)nb;
	}
	uint8_t *ext = uroce_txd_begin_on(txd, qpc, uroce_send_wqe_path(wqe), opcode,
					  wqe->ud.dest_qpn, qpc->req.next_psn, wqe->len);
	struct uroce_bth *bth = (struct uroce_bth *)(txd->hdr + txd->bth_off);
	struct uroce_deth *deth = (struct uroce_deth *)ext;

	/* a posted Q_Key with the high bit set is replaced by the QP's own Q_Key [IBA 10.2.5] */
	deth->qkey = be32_make(wqe->ud.qkey & 0x80000000u ? qpc->qkey : wqe->ud.qkey);
	deth->resv = 0;
	deth->src_qpn = be24_make(qpc->qpn);
	if (has_imm)
		memcpy(deth + 1, &wqe->imm, sizeof(wqe->imm));
	if (wqe->flags & UROCE_WQE_SOLICITED)
		bth->flags |= UROCE_BTH_SOLICITED;
	qpc->stats.tx_bytes += wqe->len;
	return IBV_WC_SUCCESS;
}

unsigned
uroce_ud_send(struct uroce_qpc *qpc, struct uroce_txd *out, unsigned max, uint64_t now_ns)
{
	struct uroce_req *req = &qpc->req;
	const uint32_t head = uroce_ring_head(&qpc->sq->ring);
	unsigned nb = 0;

	if (qpc->state != IBV_QPS_RTS)
		return 0;
	while (nb < max && req->next_idx != head && !req->fault) {
		struct uroce_send_wqe *wqe = uroce_req_wqe(qpc, req->next_idx);
		const bool is_cancelled = wqe->flags & UROCE_WQE_CANCELLED;

		wqe->first_psn = req->next_psn;
		wqe->nb_psn = !is_cancelled;
		req->fault = (uint8_t)(is_cancelled ? uroce_local_execute(qpc, wqe)
						    : put_datagram(qpc, wqe, &out[nb]));
		if (req->fault)
			break;
		uroce_position_set(req, uroce_psn_add(req->next_psn, !is_cancelled),
				   req->next_idx + 1, 0);
		nb += !is_cancelled;
	}
	if (req->is_local_done)
		uroce_completer_retire_local(qpc, now_ns);
	uroce_requester_fail_if_faulty(qpc, now_ns);
	return nb;
}

/* Build the global route header that the application gets, from the IP header of a datagram. */
static void
make_grh(const struct uroce_pkt *pkt, uint8_t grh[GRH_LEN])
{
	memset(grh, 0, GRH_LEN);
	if (pkt->is_ipv6)
		memcpy(grh, pkt->ip, sizeof(struct uroce_ipv6));
	else
		memcpy(grh + GRH_LEN - sizeof(struct uroce_ipv4), pkt->ip,
		       sizeof(struct uroce_ipv4));
}

/*
 * Place the global route header and the payload of a datagram in the memory of a receive request.
 * @return 0, or an error of uroce_sge_scatter()
 */
static int
place_datagram(struct uroce_qpc *qpc, struct uroce_recv_wqe *wqe, const struct uroce_pkt *pkt)
{
	const struct ibv_sge *sge = uroce_recv_wqe_sge(wqe);
	const uint32_t pdn = uroce_recv_pdn(qpc);
	uint8_t grh[GRH_LEN];

	make_grh(pkt, grh);
	const int rc = uroce_sge_scatter(qpc->mrs, pdn, sge, wqe->nb_sge, 0, grh, GRH_LEN, NULL);

	if (rc)
		return rc;
	return uroce_sge_scatter(qpc->mrs, pdn, sge, wqe->nb_sge, GRH_LEN, pkt->payload,
				 pkt->payload_len, NULL);
}

static enum uroce_verdict
refuse_datagram(const struct uroce_qpc *qpc, enum uroce_verdict verdict)
{
	uroce_error_count_refusal(qpc, verdict);
	return verdict;
}

enum uroce_verdict
uroce_ud_recv(struct uroce_qpc *qpc, const struct uroce_pkt *pkt, uint64_t now_ns)
{
	const struct uroce_deth *deth = uroce_pkt_deth(pkt);

	if (be32_get(deth->qkey) != qpc->qkey)
		return UROCE_VERDICT_BAD_QKEY;
	struct uroce_recv_wqe *wqe = uroce_recv_current(qpc);

	if (!wqe)
		return refuse_datagram(qpc, UROCE_VERDICT_NO_RECEIVE);
	if ((uint64_t)pkt->payload_len + GRH_LEN > wqe->len) {
		uroce_recv_put_back(qpc);
		return refuse_datagram(qpc, UROCE_VERDICT_TOO_LONG);
	}
	if (place_datagram(qpc, wqe, pkt)) {
		uroce_error_fail_receive(qpc, IBV_WC_LOC_PROT_ERR, UROCE_VERDICT_LOCAL_FAULT,
					 now_ns);
		return UROCE_VERDICT_LOCAL_FAULT;
	}
	qpc->stats.rx_bytes += pkt->payload_len;
	struct uroce_cqe *cqe = uroce_completion_recv(qpc, IBV_WC_RECV, now_ns);

	if (!cqe)
		return UROCE_VERDICT_DATAGRAM;
	cqe->byte_len = pkt->payload_len + GRH_LEN;
	cqe->src_qpn = be24_get(deth->src_qpn);
	cqe->wc_flags = IBV_WC_GRH;
	cqe->sl = pkt->is_ipv6 ? SL_IPV6 : SL_IPV4;
	cqe->is_solicited = pkt->is_solicited;
	if (pkt->op->flags & UROCE_OPF_IMM) {
		memcpy(&cqe->imm, uroce_pkt_immdt(pkt), sizeof(cqe->imm));
		cqe->wc_flags |= IBV_WC_WITH_IMM;
	}
	return UROCE_VERDICT_DATAGRAM;
}
