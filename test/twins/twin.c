/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A twin receives frames as the data path does (datapath/worker/rx.c). It passes the frames of a
 * burst to the QP in one call, or each frame alone. In bursts, it also parses each frame by the
 * template of an earlier frame. Copies of frames have the exact length of the frames, so that a
 * sanitizer detects reads behind the end.
 */

#include "twin.h"

#include <assert.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "link.h"
#include "mem/mw.h"
#include "wire/parse.h"

static uint32_t
pdn_of(struct twin *twin)
{
	const struct pair_host *host = twin_host(twin);

	return host->srqs ? host->srq.pdn : host->qpc.pdn;
}

static uint32_t
add_region(struct twin *twin, uint64_t len, uint32_t access)
{
	const struct uroce_mr_conf conf = {
		.addr = twin_host(twin)->mem,
		.iova = TWIN_IOVA,
		.len = len,
		.pdn = pdn_of(twin),
		.access = access,
	};
	uint32_t key;

	assert_int_equal(uroce_mr_add(twin_host(twin)->mrs, &conf, &key), 0);
	return key;
}

int
twin_bind(struct twin *twin, uint8_t tag)
{
	const uint32_t rkey = (twin->keys.window & ~UINT32_C(0xff)) | tag;
	const struct uroce_mw_bind bind = {
		.rkey = rkey,
		.mr_key = twin->keys.all,
		.addr = TWIN_IOVA,
		.len = TWIN_MEM_LEN / 2,
		.access =
			IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
		.pdn = pdn_of(twin),
		.qpn = twin_qpc(twin)->qpn,
	};
	const int ret = uroce_mw_bind(twin_host(twin)->mrs, &bind);

	if (ret == 0)
		twin->keys.window = rkey;
	return ret;
}

void
twin_open(struct twin *twin, const struct pair_conf *conf, enum pair_side side)
{
	const uint32_t all = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			     IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND;

	twin->side = side;
	pair_open(&twin->pair, conf);
	pair_fill(&twin->pair, side, 0, TWIN_MEM_LEN, 1);
	twin->keys.all = add_region(twin, TWIN_MEM_LEN, all);
	twin->keys.readable = add_region(twin, TWIN_MEM_LEN, IBV_ACCESS_REMOTE_READ);
	twin->keys.some = add_region(twin, TWIN_MEM_LEN / 4, all);
	assert_int_equal(
		uroce_mw_add(twin_host(twin)->mrs, UROCE_MW_2B, pdn_of(twin), &twin->keys.window),
		0);
	assert_int_equal(twin_bind(twin, 1), 0);
}

void
twin_close(struct twin *twin)
{
	pair_close(&twin->pair);
}

/* --- receiving frames -------------------------------------------------------------------------- */

/* Frames of a burst that the parser has accepted, and that were not passed to the QP yet. */
struct run {
	unsigned nb;
	unsigned at[TWIN_BURST]; /* index of each frame in the burst */
	struct uroce_pkt pkts[TWIN_BURST];
};

static void
hand_over(struct twin *twin, struct run *run)
{
	struct uroce_qpc *qpc = twin_qpc(twin);
	uint8_t verdicts[TWIN_BURST];
	unsigned nb = 0;

	while (nb < run->nb) {
		const unsigned n = uroce_qpc_recv_burst(qpc, &run->pkts[nb], run->nb - nb,
							&verdicts[nb], twin->pair.now_ns);

		assert_true(n >= 1 && n <= run->nb - nb);
		nb += n;
	}
	for (unsigned i = 0; i < nb; i++) {
		twin->verdicts[run->at[i]] = verdicts[i];
		if (verdicts[i] != UROCE_VERDICT_OOO_BUFFERED)
			free(run->pkts[i].owner);
	}
	link_reap(twin_host(twin));
	run->nb = 0;
}

static bool
is_same_view(const struct uroce_pkt *a, const struct uroce_pkt *b)
{
	return a->op == b->op && a->frame == b->frame && a->ip == b->ip && a->bth == b->bth &&
	       a->ext == b->ext && a->payload == b->payload && a->payload_len == b->payload_len &&
	       a->psn == b->psn && a->dest_qpn == b->dest_qpn && a->pkey == b->pkey &&
	       a->udp_sport == b->udp_sport && a->vlan_tci == b->vlan_tci &&
	       a->opcode == b->opcode && a->pad_len == b->pad_len && a->tclass == b->tclass &&
	       a->is_ipv6 == b->is_ipv6 && a->has_vlan == b->has_vlan &&
	       a->is_solicited == b->is_solicited && a->has_ack_req == b->has_ack_req &&
	       a->has_becn == b->has_becn;
}

/*
 * If a frame matches a header template, check that the template gives the same result as the
 * parser.
 */
static void
check_template_match(const uint8_t *frame, uint32_t len, const struct uroce_pkt *model,
		     enum uroce_verdict verdict, const struct uroce_pkt *pkt)
{
	struct uroce_pkt like;

	if (!uroce_parse_by_template(frame, len, model, &like))
		return;
	assert_true(verdict <= UROCE_VERDICT_DATAGRAM);
	assert_true(is_same_view(&like, pkt));
}

void
twin_receive(struct twin *twin, const struct twin_frame *frames, unsigned nb)
{
	struct run run = { .nb = 0 };
	const struct uroce_pkt *model = NULL;
	struct uroce_pkt views[TWIN_BURST];

	assert(nb <= TWIN_BURST);
	for (unsigned i = 0; i < nb; i++) {
		struct uroce_pkt *pkt = &run.pkts[run.nb];
		const uint32_t len = frames[i].len;
		uint8_t *bytes = malloc(len ? len : 1);

		assert(bytes);
		memcpy(bytes, frames[i].bytes, len);
		enum uroce_verdict verdict = uroce_parse(bytes, len, pkt);

		if (twin->is_in_bursts && model)
			check_template_match(bytes, len, model, verdict, pkt);
		/*
		 * a template is a view of the original frame, because the copy may be freed before
		 * the burst ends
		 */
		if (uroce_parse(frames[i].bytes, len, &views[i]) <= UROCE_VERDICT_DATAGRAM &&
		    (!model || i % 4 == 0))
			model = &views[i];
		if (verdict <= UROCE_VERDICT_DATAGRAM && !uroce_pkt_check_icrc(pkt))
			verdict = UROCE_VERDICT_BAD_ICRC;
		else if (verdict <= UROCE_VERDICT_DATAGRAM && pkt->dest_qpn != twin_qpc(twin)->qpn)
			verdict = UROCE_VERDICT_NO_QP;
		if (verdict > UROCE_VERDICT_DATAGRAM) {
			twin->verdicts[i] = (uint8_t)verdict;
			free(bytes);
		} else {
			pkt->owner = bytes;
			run.at[run.nb++] = i;
		}
		if (!twin->is_in_bursts || frames[i].is_cut)
			hand_over(twin, &run);
	}
	hand_over(twin, &run);
	if (twin_qpc(twin)->events & (UROCE_QPC_SEND_CQ_OVERRUN | UROCE_QPC_RECV_CQ_OVERRUN))
		uroce_qpc_fail(twin_qpc(twin), twin->pair.now_ns);
}

/* --- sending frames, and timers ---------------------------------------------------------------- */

unsigned
twin_send(struct twin *twin, unsigned max)
{
	uint8_t hdr[TWIN_BURST][UROCE_HDR_MAX];
	struct uroce_txd txd[TWIN_BURST];

	assert(max <= TWIN_BURST);
	memset(hdr, 0, sizeof(hdr));
	for (unsigned i = 0; i < max; i++)
		txd[i] = (struct uroce_txd){ .hdr = hdr[i] };
	const unsigned nb = uroce_qpc_send(twin_qpc(twin), txd, max, twin->pair.now_ns);

	for (unsigned i = 0; i < nb; i++)
		twin->sent_len[i] = link_build(&txd[i], twin->sent[i]);
	uroce_qpc_sent(twin_qpc(twin), twin->pair.now_ns);
	return nb;
}

void
twin_expire(struct twin *twin)
{
	if (uroce_qpc_deadline(twin_qpc(twin)) <= twin->pair.now_ns)
		uroce_qpc_expire(twin_qpc(twin), twin->pair.now_ns);
	link_reap(twin_host(twin));
}

/* --- comparing the two QPs --------------------------------------------------------------------- */

#define DIFFERS(field)                                                                             \
	do {                                                                                       \
		if (memcmp(&(a->field), &(b->field), sizeof(a->field)) != 0)                       \
			return #field;                                                             \
	} while (0)

static const char *
compare_requester(const struct uroce_qpc *a, const struct uroce_qpc *b)
{
	DIFFERS(req.una_psn);
	DIFFERS(req.next_psn);
	DIFFERS(req.max_psn);
	DIFFERS(req.una_idx);
	DIFFERS(req.next_idx);
	DIFFERS(req.next_pkt);
	DIFFERS(req.begun_idx);
	DIFFERS(req.since_ack_req);
	DIFFERS(req.nb_rd_out);
	DIFFERS(req.nb_probes);
	DIFFERS(req.retry_left);
	DIFFERS(req.rnr_left);
	DIFFERS(req.fault);
	DIFFERS(req.is_ack_wanted);
	DIFFERS(req.is_draining);
	DIFFERS(req.is_local_done);
	DIFFERS(req.ack_deadline);
	DIFFERS(req.armed_ns);
	DIFFERS(req.rnr_deadline);
	DIFFERS(req.rtt);
	DIFFERS(req.loss_recovery.probe_deadline);
	DIFFERS(req.loss_recovery.state);
	DIFFERS(req.loss_recovery.due);
	DIFFERS(req.loss_recovery.peer);
	DIFFERS(req.loss_recovery.nb_gaps);
	DIFFERS(req.ooo_responses.state);
	DIFFERS(req.ooo_responses.due);
	DIFFERS(req.ooo_responses.deadline);
	DIFFERS(req.ooo_responses.reorder_window);
	return NULL;
}

/*
 * Compare the fields of the message that is being received. They have no meaning if there is no
 * such message.
 */
static const char *
compare_message(const struct uroce_resp *a, const struct uroce_resp *b)
{
	if (a->operation == UROCE_OPERATION_NONE)
		return NULL;
	DIFFERS(msg_len);
	if (a->operation != UROCE_OPERATION_WRITE)
		return NULL;
	DIFFERS(write_va);
	DIFFERS(write_rkey);
	DIFFERS(write_len);
	return NULL;
}

static const char *
compare_responder(const struct uroce_resp *a, const struct uroce_resp *b)
{
	DIFFERS(operation);
	DIFFERS(epsn);
	DIFFERS(msn);
	DIFFERS(has_aeth);
	DIFFERS(ooo_state);
	DIFFERS(is_fill_doubtful);
	DIFFERS(is_peer_gbn);
	DIFFERS(dropped_end);
	DIFFERS(nak_deadline);
	DIFFERS(pending);
	DIFFERS(res_head);
	DIFFERS(reorder_window);
	if (!a->gap != !b->gap || !a->res != !b->res || !a->recv != !b->recv)
		return "gap, resources or shared request";
	if (a->has_aeth) {
		DIFFERS(syndrome);
		if (a->syndrome >> 5 != 0)
			DIFFERS(aeth_psn);
	}
	if (a->gap)
		DIFFERS(gap->nb);
	for (unsigned i = 0; a->res && i < UROCE_RD_ATOMIC_MAX; i++)
		DIFFERS(res[i]);
	return compare_message(a, b);
}

static const char *
compare_contexts(const struct uroce_qpc *a, const struct uroce_qpc *b)
{
	const char *what;

	DIFFERS(state);
	DIFFERS(is_established);
	DIFFERS(is_zero_copy);
	DIFFERS(is_recv_open);
	DIFFERS(is_req_turn);
	DIFFERS(end_status);
	DIFFERS(end_vendor_err);
	DIFFERS(events);
	DIFFERS(pdn);
	DIFFERS(access);
	DIFFERS(stats);
	DIFFERS(cc.is_limited);
	DIFFERS(cc.has_cnp);
	DIFFERS(cc.pace_deadline);
	DIFFERS(cc.cnp_deadline);
	what = compare_responder(&a->resp, &b->resp);
	return what ? what : compare_requester(a, b);
}

/*
 * Compare the entries of two CQs that were not polled yet, in all fields but the QP. Then poll them
 * if `is_polled`.
 */
static const char *
compare_cqs(struct uroce_cq *a, struct uroce_cq *b, bool is_polled)
{
	const uint32_t tail = uroce_ring_tail(&a->ring);
	const uint32_t nb = uroce_ring_head(&a->ring) - tail;
	struct ibv_wc wc[2];

	if (tail != uroce_ring_tail(&b->ring) || nb != uroce_ring_head(&b->ring) - tail)
		return "number of completions";
	for (uint32_t i = 0; i < nb; i++) {
		struct uroce_cqe of_a = *(struct uroce_cqe *)uroce_ring_at(&a->ring, tail + i);
		struct uroce_cqe of_b = *(struct uroce_cqe *)uroce_ring_at(&b->ring, tail + i);

		of_a.qp = of_b.qp = NULL;
		if (memcmp(&of_a, &of_b, sizeof(of_a)) != 0)
			return "a completion";
	}
	DIFFERS(arm);
	DIFFERS(is_overrun);
	while (is_polled && uroce_cq_poll(a, 1, &wc[0]) == 1)
		(void)uroce_cq_poll(b, 1, &wc[1]);
	return NULL;
}

static const char *
compare_queues(const struct pair_host *a, const struct pair_host *b)
{
	if (uroce_ring_tail(&a->sq.ring) != uroce_ring_tail(&b->sq.ring))
		return "send queue";
	if (uroce_ring_tail(&a->rq.ring) != uroce_ring_tail(&b->rq.ring))
		return "receive queue";
	if (!a->srq.slots)
		return NULL;
	DIFFERS(srq.free_idx);
	DIFFERS(srq.first_idx);
	DIFFERS(srq.nb_posted);
	DIFFERS(srq.limit);
	DIFFERS(srq.is_limit_due);
	DIFFERS(srq.events);
	return NULL;
}

static const char *
compare_pools(const struct pair_host *a, const struct pair_host *b)
{
	if (!a->reorder_buffer)
		return NULL;
	if (uroce_reorder_buffer_count_gaps(a->reorder_buffer) !=
	    (unsigned)(a->qpc.resp.gap != NULL) + (a->qpc.req.ooo_responses.gap != NULL))
		return "gaps that nobody has";
	if (uroce_reorder_buffer_count(a->reorder_buffer) > 0 &&
	    uroce_reorder_buffer_count_gaps(a->reorder_buffer) == 0)
		return "frames that nobody holds";
	if (uroce_reorder_buffer_count(a->reorder_buffer) !=
		    uroce_reorder_buffer_count(b->reorder_buffer) ||
	    uroce_reorder_buffer_count_gaps(a->reorder_buffer) !=
		    uroce_reorder_buffer_count_gaps(b->reorder_buffer) ||
	    uroce_reorder_buffer_has_ready(a->reorder_buffer) !=
		    uroce_reorder_buffer_has_ready(b->reorder_buffer))
		return "held frames";
	return NULL;
}

const char *
twin_compare(struct twin *a, struct twin *b, unsigned nb_received, bool is_polled)
{
	struct pair_host *of_a = twin_host(a), *of_b = twin_host(b);
	const char *what = compare_contexts(&of_a->qpc, &of_b->qpc);

	if (!what)
		what = compare_queues(of_a, of_b);
	if (!what)
		what = compare_pools(of_a, of_b);
	if (!what)
		what = compare_cqs(&of_a->send_cq, &of_b->send_cq, is_polled);
	if (!what)
		what = compare_cqs(&of_a->recv_cq, &of_b->recv_cq, is_polled);
	if (!what && memcmp(of_a->mem, of_b->mem, TWIN_MEM_LEN) != 0)
		what = "memory";
	if (!what && memcmp(a->verdicts, b->verdicts, nb_received) != 0)
		what = "verdicts";
	of_a->qpc.events = 0;
	of_b->qpc.events = 0;
	return what;
}
