/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The functions that qpc.h declares: they make the checks that are common to all packets, and pass
 * each event to the requester or the responder.
 */
#include "transport/qpc.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "transport/recovery/ooo_request_state.h"
#include "transport/completion.h"
#include "transport/error.h"
#include "transport/middle.h"
#include "transport/responder/msg.h"
#include "transport/recovery/ooo_request.h"
#include "transport/recovery/ooo_response.h"
#include "transport/recovery/ooo_response_state.h"
#include "transport/requester/position.h"
#include "transport/requester/rd_atomic_req.h"
#include "transport/responder/recv.h"
#include "transport/requester/req.h"
#include "transport/requester/requester.h"
#include "transport/responder/resp.h"
#include "transport/requester/response.h"
#include "transport/recovery/retry.h"
#include "transport/responder/single_packet.h"
#include "transport/txd.h"
#include "transport/ud.h"
#include "wire/syndrome.h"

static const uint8_t services[] = {
	[IBV_QPT_RC] = UROCE_SERVICE_RC,        [IBV_QPT_UC] = UROCE_SERVICE_UC,
	[IBV_QPT_UD] = UROCE_SERVICE_UD,        [IBV_QPT_XRC_SEND] = UROCE_SERVICE_XRC,
	[IBV_QPT_XRC_RECV] = UROCE_SERVICE_XRC,
};

static uint8_t
choose_ack_every(const struct uroce_wq *sq)
{
	const uint32_t share = sq->ring.limit / 4;

	if (share <= UROCE_ACK_EVERY_MIN)
		return UROCE_ACK_EVERY_MIN;
	return share < UROCE_ACK_EVERY_MAX ? (uint8_t)share : UROCE_ACK_EVERY_MAX;
}

void
uroce_qpc_init(struct uroce_qpc *qpc, const struct uroce_qpc_conf *conf)
{
	assert(!conf->rq || !conf->srq);
	*qpc = (struct uroce_qpc){
		.type = (uint8_t)conf->type,
		.state = IBV_QPS_RESET,
		.service = services[conf->type],
		.qpn = conf->qpn,
		.pdn = conf->pdn,
		.sq = conf->sq,
		.rq = conf->rq,
		.srq = conf->srq,
		.srqs = conf->srqs,
		.xrcd = conf->xrcd,
		.send_cq = conf->send_cq,
		.recv_cq = conf->recv_cq,
		.mrs = conf->mrs,
		.rd_pool = conf->rd_pool,
		.reorder_buffer = conf->reorder_buffer,
		.counters = conf->counters,
		.unpublished = conf->unpublished,
		.window_psns = conf->window_psns ? conf->window_psns : UROCE_WINDOW_PSNS,
		.ack_every = conf->sq ? choose_ack_every(conf->sq) : UROCE_ACK_EVERY_MIN,
		.is_req_gbn = conf->is_req_gbn || !conf->reorder_buffer ||
			      (services[conf->type] != UROCE_SERVICE_RC &&
			       services[conf->type] != UROCE_SERVICE_XRC),
		.is_resp_gbn = conf->is_resp_gbn || !conf->reorder_buffer,
		.is_pipelined = conf->is_pipelined,
		.cookie = conf->cookie,
		.limits = conf->limits,
		.pkeys = conf->pkeys,
	};
	uroce_cc_init(&qpc->cc, conf->type == IBV_QPT_UD ? NULL : conf->cc);
	uroce_req_reset(qpc);
	uroce_resp_reset(qpc);
}

void
uroce_qpc_fini(struct uroce_qpc *qpc)
{
	uroce_ooo_request_discard(qpc);
	uroce_ooo_response_discard(qpc);
	uroce_recv_put_back(qpc);
	uroce_rd_pool_give(qpc->rd_pool, qpc->resp.res);
	qpc->resp.res = NULL;
	qpc->resp.pending = 0;
}

void
uroce_qpc_migrate(struct uroce_qpc *qpc, struct uroce_rd_pool *rd_pool,
		  struct uroce_reorder_buffer *reorder_buffer, struct uroce_counters *counters,
		  struct uroce_cq_list *unpublished)
{
	assert(uroce_qpc_is_migratable(qpc));
	uroce_rd_pool_migrate(qpc->rd_pool, qpc->resp.res);
	qpc->rd_pool = rd_pool;
	qpc->reorder_buffer = reorder_buffer;
	qpc->counters = counters;
	qpc->unpublished = unpublished;
}

/*
 * Whether two P_Keys match: their partitions are equal, and at least one is a full member [IBA
 * 10.9.3].
 */
static bool
is_pkey_match(uint16_t a, uint16_t b)
{
	return ((a ^ b) & 0x7fff) == 0 && ((a | b) & 0x8000);
}

/* Get the source and destination address of an IPv4 header, which are adjacent, as one word. */
static uint64_t
addresses_of(const struct uroce_ipv4 *ip)
{
	uint64_t addresses;

	memcpy(&addresses, ip->src, sizeof(addresses));
	return addresses;
}

/* Whether a frame came from the IP address of the peer to the IP address of this QP. */
static bool
is_from_peer(const struct uroce_qpc *qpc, const struct uroce_pkt *pkt)
{
	const uint8_t *ours = qpc->path.hdr + qpc->path.ip_off;

	if (pkt->is_ipv6 != qpc->path.is_ipv6)
		return false;
	if (pkt->is_ipv6) {
		const struct uroce_ipv6 *theirs = (const struct uroce_ipv6 *)pkt->ip;
		const struct uroce_ipv6 *path = (const struct uroce_ipv6 *)ours;

		return !memcmp(theirs->src, path->dst, 16) && !memcmp(theirs->dst, path->src, 16);
	}
	const uint64_t theirs = addresses_of((const struct uroce_ipv4 *)pkt->ip);
	const uint64_t path = addresses_of((const struct uroce_ipv4 *)ours);

	return theirs == (path << 32 | path >> 32);
}

/* Whether a QP accepts requests, responses, both or none in each QP state. */
static const uint8_t taken[] = {
	[IBV_QPS_RTR] = UROCE_OPF_REQUEST,
	[IBV_QPS_RTS] = UROCE_OPF_REQUEST | UROCE_OPF_RESPONSE,
	[IBV_QPS_SQD] = UROCE_OPF_REQUEST | UROCE_OPF_RESPONSE,
	[IBV_QPS_SQE] = UROCE_OPF_REQUEST,
	[IBV_QPS_ERR] = 0,
};

static enum uroce_verdict
check_packet(const struct uroce_qpc *qpc, const struct uroce_pkt *pkt)
{
	const bool is_response = pkt->op->flags & UROCE_OPF_RESPONSE;

	if (!(taken[qpc->state] & (is_response ? UROCE_OPF_RESPONSE : UROCE_OPF_REQUEST)))
		return UROCE_VERDICT_NOT_READY;
	if (pkt->op->service != qpc->service && pkt->op->service != UROCE_SERVICE_CNP)
		return UROCE_VERDICT_WRONG_SERVICE;
	/* an XRC QP has only one role: it receives either requests or responses */
	if (qpc->service == UROCE_SERVICE_XRC && pkt->op->service == UROCE_SERVICE_XRC &&
	    is_response != (qpc->type == IBV_QPT_XRC_SEND))
		return UROCE_VERDICT_WRONG_SERVICE;
	if (qpc->type != IBV_QPT_UD && !is_from_peer(qpc, pkt))
		return UROCE_VERDICT_WRONG_PEER;
	if (!is_pkey_match(pkt->pkey, qpc->pkey))
		return UROCE_VERDICT_BAD_PKEY;
	return UROCE_VERDICT_REQUEST;
}

/*
 * Count a packet with a congestion mark (CE). Only packets with payload lead to a CNP, because a
 * CNP makes the peer slow down only packets with payload.
 */
static void
note_ce(struct uroce_qpc *qpc, const struct uroce_pkt *pkt, uint64_t now_ns)
{
	qpc->stats.ce_marked++;
	if (pkt->payload_len)
		uroce_cc_marked(&qpc->cc, now_ns);
}

/*
 * Process a received CNP. A CNP is implausible if this QP has sent no payload, because a CNP is a
 * reaction to payload.
 */
static void
recv_cnp(struct uroce_qpc *qpc, uint64_t now_ns)
{
	const bool is_handled = qpc->stats.tx_bytes && uroce_cc_notified(&qpc->cc, now_ns);

	qpc->stats.cnps_handled += is_handled;
	uroce_count_in(qpc->counters,
		       is_handled ? UROCE_COUNTER_RP_CNP_HANDLED : UROCE_COUNTER_RP_CNP_IGNORED, 1);
	if (is_handled || !uroce_cc_is_reacting(&qpc->cc))
		return;
	uroce_count_in(qpc->counters, UROCE_COUNTER_RP_CNP_IMPLAUSIBLE, 1);
	qpc->events |= UROCE_QPC_CNP_IMPLAUSIBLE;
}

/* Process a packet that has passed check_packet(). */
static enum uroce_verdict
recv_packet(struct uroce_qpc *qpc, const struct uroce_pkt *pkt, uint64_t now_ns)
{
	qpc->stats.rx_packets++;
	if (pkt->op->service == UROCE_SERVICE_CNP) {
		recv_cnp(qpc, now_ns);
		return UROCE_VERDICT_CNP;
	}
	if ((pkt->tclass & UROCE_ECN_MASK) == UROCE_ECN_CE)
		note_ce(qpc, pkt, now_ns);
	if (pkt->op->flags & UROCE_OPF_RESPONSE)
		return uroce_response_recv(qpc, pkt, now_ns);
	if (qpc->state == IBV_QPS_RTR && !qpc->is_established) {
		qpc->is_established = true;
		qpc->events |= UROCE_QPC_COMM_EST;
	}
	if (uroce_qpc_is_reliable(qpc))
		return uroce_resp_recv(qpc, pkt, now_ns);
	if (qpc->type == IBV_QPT_UC)
		return uroce_msg_recv_uc(qpc, pkt, now_ns);
	return uroce_ud_recv(qpc, pkt, now_ns);
}

/*
 * Process Middle packets of a long message on the fast path. The first of the packets has passed
 * check_packet().
 * @return the number of packets that were processed
 */
static unsigned
recv_middle(struct uroce_qpc *qpc, const struct uroce_pkt *pkts, unsigned nb, uint8_t *verdicts,
	    uint64_t now_ns)
{
	const bool is_response = pkts->op->flags & UROCE_OPF_RESPONSE;
	unsigned n;

	if (pkts->op->flags & (UROCE_OPF_FIRST | UROCE_OPF_LAST))
		return 0;
	n = is_response ? uroce_middle_recv_responses(qpc, pkts, nb, now_ns)
			: uroce_middle_recv_requests(qpc, pkts, nb);
	memset(verdicts, is_response ? UROCE_VERDICT_RESPONSE : UROCE_VERDICT_REQUEST, n);
	return n;
}

unsigned
uroce_qpc_recv_burst(struct uroce_qpc *qpc, const struct uroce_pkt *pkts, unsigned nb,
		     uint8_t *verdicts, uint64_t now_ns)
{
	unsigned n = 0;

	while (n < nb) {
		const struct uroce_pkt *pkt = &pkts[n];
		enum uroce_verdict verdict = check_packet(qpc, pkt);
		unsigned nb_middle;

		if (verdict == UROCE_VERDICT_REQUEST) {
			nb_middle = recv_middle(qpc, pkt, nb - n, &verdicts[n], now_ns);
			n += nb_middle;
			if (nb_middle > 0)
				continue;
			verdict = recv_packet(qpc, pkt, now_ns);
		}
		verdicts[n++] = (uint8_t)verdict;
		if (verdict == UROCE_VERDICT_OOO_BUFFERED)
			break;
		nb_middle = 0;
		if (verdict == UROCE_VERDICT_REQUEST && n < nb)
			nb_middle = uroce_single_packet_recv(qpc, pkt, &pkts[n], nb - n, now_ns);
		else if (verdict == UROCE_VERDICT_RESPONSE && n < nb)
			nb_middle =
				uroce_rd_atomic_recv_responses(qpc, pkt, &pkts[n], nb - n, now_ns);
		memset(&verdicts[n], verdict, nb_middle);
		n += nb_middle;
	}
	uroce_completion_recv_end(qpc);
	return n;
}

enum uroce_verdict
uroce_qpc_recv(struct uroce_qpc *qpc, const struct uroce_pkt *pkt, uint64_t now_ns)
{
	uint8_t verdict;

	(void)uroce_qpc_recv_burst(qpc, pkt, 1, &verdict, now_ns);
	return verdict;
}

static unsigned
send_requests(struct uroce_qpc *qpc, struct uroce_txd *out, unsigned max, uint64_t now_ns)
{
	if (!qpc->sq)
		return 0;
	if (qpc->state == IBV_QPS_ERR)
		uroce_completion_flush(qpc, now_ns);
	else if (qpc->state == IBV_QPS_SQE)
		uroce_completion_flush_sq(qpc, now_ns);
	else if (qpc->type == IBV_QPT_UD)
		return uroce_ud_send(qpc, out, max, now_ns);
	else if (qpc->state >= IBV_QPS_RTS)
		return uroce_requester_send(qpc, out, max, now_ns);
	return 0;
}

/*
 * Build a CNP to the peer that sent the marked packets. A CNP has a traffic class of its own, so
 * that it does not wait in congested queues [IBA A17.9.3]. The bytes behind the BTH are reserved
 * and zero, and are built as a part of the headers.
 */
static void
put_cnp(struct uroce_qpc *qpc, struct uroce_txd *txd, uint64_t now_ns)
{
	struct uroce_path path = qpc->path;

	uroce_path_set_tclass(&path, (uint8_t)(qpc->cc.conf->cnp_dscp << UROCE_DSCP_SHIFT));
	uint8_t *reserved = uroce_txd_begin_on(txd, qpc, &path, UROCE_OPCODE_CNP, qpc->dest_qpn, 0,
					       UROCE_CNP_RESERVED_LEN);
	struct uroce_bth *bth = (struct uroce_bth *)(txd->hdr + txd->bth_off);

	bth->flags = 0;
	bth->fecn_becn = UROCE_BTH_BECN;
	memset(reserved, 0, UROCE_CNP_RESERVED_LEN);
	txd->hdr_len += UROCE_CNP_RESERVED_LEN;
	txd->payload_len = 0;
	txd->nb_slices = 0;
	qpc->stats.cnps_sent++;
	uroce_count_in(qpc->counters, UROCE_COUNTER_NP_CNP_SENT, 1);
	uroce_cc_cnp_sent(&qpc->cc, now_ns);
}

static bool
has_only_ack(const struct uroce_resp *resp)
{
	return resp->has_aeth && !resp->pending && resp->syndrome == UROCE_SYNDROME_ACK;
}

bool
uroce_qpc_has_only_ack(const struct uroce_qpc *qpc)
{
	const struct uroce_req *req = &qpc->req;

	return qpc->state == IBV_QPS_RTS && has_only_ack(&qpc->resp) && !qpc->cc.has_cnp &&
	       !uroce_req_has_retransmit(req) &&
	       (!qpc->sq || req->next_idx == uroce_ring_head(&qpc->sq->ring));
}

/* Build responses and requests; each kind gets a share of the burst. */
static unsigned
send_both(struct uroce_qpc *qpc, struct uroce_txd *out, unsigned max, uint64_t now_ns)
{
	const bool is_rc = uroce_qpc_is_reliable(qpc);
	/* only the peer's requester waits for an ACK, so an ACK is sent after the requests */
	const bool is_ack_last = max > 1 && has_only_ack(&qpc->resp);
	unsigned nb = 0;

	/*
	 * Responses get only half of the burst, so that a long READ of the peer does not stop the
	 * requests of this QP. If the burst has an odd number of frames, responses and requests get
	 * the odd frame alternately, because each burst may be a single frame.
	 */
	if (is_rc && !is_ack_last)
		nb = uroce_resp_send(qpc, out, (max + !qpc->is_req_turn) / 2, now_ns);
	qpc->is_req_turn ^= max & 1;
	const unsigned nb_req = send_requests(qpc, out + nb, max - nb - is_ack_last, now_ns);

	nb += nb_req;
	if (is_rc) {
		/*
		 * uroce_resp_send() may put the QP into ERR; is_zero_copy then prevents the flush
		 * of requests whose frames in `out` the caller has not gathered yet
		 */
		qpc->is_zero_copy = nb_req > 0;
		nb += uroce_resp_send(qpc, out + nb, max - nb, now_ns);
		qpc->is_zero_copy = false;
	}
	return nb;
}

unsigned
uroce_qpc_send(struct uroce_qpc *qpc, struct uroce_txd *out, unsigned max, uint64_t now_ns)
{
	unsigned nb = 0;

	if (qpc->cc.has_cnp && max)
		put_cnp(qpc, &out[nb++], now_ns);
	if (qpc->cc.is_limited)
		uroce_cc_begin(&qpc->cc, now_ns);
	nb += send_both(qpc, out + nb, max - nb, now_ns);
	if (!uroce_cc_may_send(&qpc->cc, now_ns) && uroce_qpc_has_work(qpc))
		uroce_cc_wait(&qpc->cc);
	qpc->stats.tx_packets += nb;
	return nb;
}

unsigned
uroce_qpc_send_requests(struct uroce_qpc *qpc, struct uroce_txd *out, unsigned max, uint64_t now_ns)
{
	unsigned nb;

	if (qpc->cc.is_limited)
		uroce_cc_begin(&qpc->cc, now_ns);
	nb = send_requests(qpc, out, max, now_ns);
	if (!uroce_cc_may_send(&qpc->cc, now_ns) && uroce_qpc_has_work(qpc))
		uroce_cc_wait(&qpc->cc);
	qpc->stats.tx_packets += nb;
	return nb;
}

unsigned
uroce_qpc_send_responses(struct uroce_qpc *qpc, struct uroce_txd *out, unsigned max,
			 uint64_t now_ns)
{
	assert(uroce_qpc_is_fast_path(qpc));
	const unsigned nb = uroce_qpc_is_reliable(qpc) ? uroce_resp_send(qpc, out, max, now_ns) : 0;

	qpc->stats.tx_packets += nb;
	return nb;
}

void
uroce_qpc_sent(struct uroce_qpc *qpc, uint64_t now_ns)
{
	const bool is_sending = qpc->state == IBV_QPS_RTS || qpc->state == IBV_QPS_SQD;

	if (qpc->state == IBV_QPS_ERR)
		uroce_completion_flush(qpc, now_ns);
	else if (is_sending && uroce_qpc_is_reliable(qpc))
		uroce_requester_fail_if_faulty(qpc, now_ns);
	else if (is_sending)
		uroce_requester_sent(qpc, now_ns);
}

uint64_t
uroce_qpc_deadline(const struct uroce_qpc *qpc)
{
	const struct uroce_req *req = &qpc->req;

	const uint64_t req_ns = uroce_req_is_rnr_wait(req) ? req->rnr_deadline : req->ack_deadline;

	const uint64_t probe_ns =
		uroce_req_is_rnr_wait(req) ? UROCE_NEVER : req->loss_recovery.probe_deadline;
	const uint64_t answer_ns =
		uroce_req_is_rnr_wait(req) ? UROCE_NEVER : req->ooo_responses.deadline;
	const uint64_t again_ns = probe_ns < answer_ns ? probe_ns : answer_ns;
	const uint64_t ask_ns = req_ns < again_ns ? req_ns : again_ns;
	const uint64_t role_ns = ask_ns < qpc->resp.nak_deadline ? ask_ns : qpc->resp.nak_deadline;
	const uint64_t pace_ns = qpc->cc.pace_deadline;
	const uint64_t cnp_ns = qpc->cc.cnp_deadline;
	const uint64_t cc_ns = pace_ns < cnp_ns ? pace_ns : cnp_ns;

	return role_ns < cc_ns ? role_ns : cc_ns;
}

void
uroce_qpc_expire(struct uroce_qpc *qpc, uint64_t now_ns)
{
	uroce_cc_expire(&qpc->cc, now_ns);
	uroce_ooo_request_expire(qpc, now_ns);
	uroce_ooo_response_expire(qpc, now_ns);
	uroce_retry_expire(qpc, now_ns);
}

void
uroce_qpc_fail(struct uroce_qpc *qpc, uint64_t now_ns)
{
	if (qpc->state == IBV_QPS_RESET || qpc->state == IBV_QPS_ERR)
		return;
	qpc->resp.pending = 0;
	qpc->resp.has_aeth = false;
	uroce_error_enter(qpc, now_ns);
}
