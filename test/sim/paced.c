/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Checks congestion control: the frames that a QP sends are compared with its configuration and
 * with the rate that the transport reports. If the rate has changed since the previous frame, the
 * highest rate of that time counts.
 */

#include "paced.h"

#include <string.h>

#include "frame.h"
#include "world.h"

#define ECN_OF(tclass) ((tclass)&UROCE_ECN_MASK)

void
paced_received(struct qp *qp, const struct uroce_pkt *pkt)
{
	if (ECN_OF(pkt->tclass) == UROCE_ECN_CE && pkt->payload_len &&
	    pkt->op->operation != UROCE_OPERATION_CNP && qp->qpc.state != IBV_QPS_ERR)
		qp->is_marked = true;
}

static void
check_cnp(struct qp *qp, const struct uroce_pkt *pkt)
{
	static const uint8_t zeros[UROCE_CNP_RESERVED_LEN];
	const struct uroce_cc_conf *conf = qp->qpc.cc.conf;
	struct world *world = qp->world;

	if (!conf || !qp->is_marked)
		world_complain(world, "qp 0x%x sends a CNP, and nobody had marked a packet",
			       qp->qpn);
	else if (qp->cnp_ns && world->now_ns - qp->cnp_ns < conf->cnp_us * 1000u)
		world_complain(world, "qp 0x%x sends a CNP %llu ns after the last", qp->qpn,
			       (unsigned long long)(world->now_ns - qp->cnp_ns));
	else if (pkt->tclass != conf->cnp_dscp << UROCE_DSCP_SHIFT || pkt->bth->flags ||
		 pkt->bth->fecn_becn != UROCE_BTH_BECN || pkt->psn ||
		 pkt->dest_qpn != qp->peer->qpn || memcmp(pkt->payload, zeros, sizeof(zeros)))
		world_complain(world, "qp 0x%x sends a CNP that is none", qp->qpn);
	qp->is_marked = false;
	qp->cnp_ns = world->now_ns;
	world->tally.cnps++;
}

static void
check_rate(struct qp *qp, const struct frame *frame)
{
	const struct uroce_cc *cc = &qp->qpc.cc;
	const uint64_t now_ns = qp->world->now_ns;
	const double burst_bits = cc->conf->burst_kb * 8000.0;

	if (!cc->is_limited) {
		qp->paced_bps = 0;
		return;
	}
	const double bps = (double)(qp->paced_bps > cc->rate_bps ? qp->paced_bps : cc->rate_bps);

	if (qp->paced_bps)
		qp->credit_bits += (double)(now_ns - qp->paced_ns) * bps / 1e9;
	if (!qp->paced_bps || qp->credit_bits > burst_bits)
		qp->credit_bits = burst_bits;
	qp->paced_ns = now_ns;
	qp->paced_bps = cc->rate_bps;
	/* when a frame is sent, the credit must not be negative; one bit is allowed for rounding */
	if (qp->credit_bits < -1)
		world_complain(qp->world, "qp 0x%x sends faster than %llu bit/s: %.0f bits ahead",
			       qp->qpn, (unsigned long long)cc->rate_bps, -qp->credit_bits);
	qp->credit_bits -= frame->len * 8.0;
}

void
paced_check(struct qp *qp)
{
	const struct uroce_cc *cc = &qp->qpc.cc;

	if (qp->paced_bps && cc->is_limited && cc->rate_bps > qp->paced_bps)
		qp->paced_bps = cc->rate_bps;
}

void
paced_sent(struct qp *qp, const struct frame *frame, const struct uroce_pkt *pkt)
{
	const bool is_reacting = qp->qpc.cc.conf;

	if (qp->is_forged)
		return;
	if (pkt->op->operation == UROCE_OPERATION_CNP) {
		check_cnp(qp, pkt);
		return;
	}
	if (pkt->tclass !=
	    (is_reacting ? (qp->conf.tclass & ~UROCE_ECN_MASK) | UROCE_ECN_ECT0 : qp->conf.tclass))
		world_complain(qp->world, "qp 0x%x sends traffic class 0x%02x", qp->qpn,
			       pkt->tclass);
	if (is_reacting && pkt->op->operation != UROCE_OPERATION_ACK)
		check_rate(qp, frame);
}

void
paced_end(const struct qp *qp)
{
	const enum ibv_qp_state state = (enum ibv_qp_state)qp->qpc.state;

	if (qp->is_gone || qp->is_forged || !qp->qpc.cc.conf)
		return;
	if (state >= IBV_QPS_RTR && state <= IBV_QPS_SQE && qp->is_marked)
		world_complain(qp->world, "qp 0x%x never told its peer of a mark", qp->qpn);
}
