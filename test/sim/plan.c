/* SPDX-License-Identifier: BSD-3-Clause */

/* Draws requests at random. Lengths close to a multiple of the MTU are drawn especially often. */

#include "plan.h"

#include <sys/param.h>

#include "oracle.h"
#include "qp.h"
#include "shared.h"
#include "world.h"
#include "mem/mw.h"

#define MORTAL_LEN_MAX 65536u

static uint32_t
mtu_of(const struct qp *qp)
{
	return 128u << qp->conf.mtu;
}

static uint32_t
draw_len(struct rng *rng, uint32_t mtu)
{
	uint32_t len;

	switch (rng_below(rng, 12)) {
	case 0:
		return 0;
	case 1:
		return rng_between(rng, 1, 8);
	case 2:
	case 3:
		return rng_between(rng, 1, mtu);
	case 4:
	case 5:
	case 6: /* a length close to a multiple of the MTU */
		len = mtu * rng_between(rng, 1, 6);
		return len + rng_below(rng, 3) - 1;
	case 7:
	case 8:
		return rng_between(rng, 1, 32 * mtu);
	case 9:
		return rng_between(rng, 1, 320 * mtu);
	}
	return rng_between(rng, 1, 6 * mtu);
}

static enum ibv_wr_opcode
draw_opcode(struct rng *rng, enum ibv_qp_type type)
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_SEND,
		IBV_WR_SEND_WITH_IMM,
		IBV_WR_RDMA_WRITE,
		IBV_WR_RDMA_WRITE,
		IBV_WR_RDMA_WRITE_WITH_IMM,
		/* UC can use only the opcodes before this line, and UD only the first two */
		IBV_WR_RDMA_READ,
		IBV_WR_RDMA_READ,
		IBV_WR_ATOMIC_CMP_AND_SWP,
		IBV_WR_ATOMIC_FETCH_AND_ADD,
		(enum ibv_wr_opcode)UROCE_WR_ATOMIC_WRITE,
		(enum ibv_wr_opcode)UROCE_WR_FLUSH,
		IBV_WR_BIND_MW,
	};

	return opcodes[rng_below(rng, type == IBV_QPT_UD ? 2 : type == IBV_QPT_UC ? 5 : 12)];
}

/*
 * Allocate memory that no other request uses.
 * @return false: there is too little memory left
 */
static bool
take_piece(struct plan_pieces *pieces, uint32_t len, uint32_t *at)
{
	if (pieces->at + len + PLAN_GAP > pieces->end)
		return false;
	*at = pieces->at;
	pieces->at += len + PLAN_GAP;
	return true;
}

/*
 * At random, let a request use the peer's key that will be withdrawn. Only memory that no other
 * request writes is used through this key.
 * @return whether the request uses the key
 */
static bool
aim_at_mortal(const struct qp *qp, struct request *req)
{
	const struct qp *peer = qp->peer;

	if (!peer->mortal.key || peer->mortal.is_dead || !req->len || req->len > MORTAL_LEN_MAX ||
	    req->land < PLAN_ATOMICS_LEN + PLAN_OVERLAP_LEN || rng_one_in(&qp->world->rng, 2))
		return false;
	req->is_mortal = true;
	req->rkey = peer->mortal.key;
	req->remote = (peer->mortal.is_zero_based ? 0 : peer->iova) + req->land;
	return true;
}

/*
 * Whether a WRITE may be planned over the previous request, because that is a WRITE of several
 * packets in the area where WRITEs may overlap.
 */
static bool
is_worth_covering(const struct qp *qp, const struct request *req)
{
	const struct request *before = req > qp->reqs ? req - 1 : req;

	return before != req && request_is_write(before) && !before->is_mortal &&
	       before->len > 2 * mtu_of(qp) && before->land >= PLAN_ATOMICS_LEN &&
	       before->land + before->len <= PLAN_ATOMICS_LEN + PLAN_OVERLAP_LEN;
}

static void
plan_write(struct qp *qp, struct request *req, struct plan_pieces *theirs)
{
	struct rng *rng = &qp->world->rng;

	/*
	 * the destination overlaps that of the previous WRITE, is at random in the area for
	 * overlapping WRITEs, or is in memory that no other request writes
	 */
	if (is_worth_covering(qp, req) && rng_one_in(rng, 2)) {
		req->len = req[-1].len;
		req->land = req[-1].land + (rng_one_in(rng, 2) ? 0 : rng_below(rng, 100));
		req->land = MIN(req->land, PLAN_ATOMICS_LEN + PLAN_OVERLAP_LEN - req->len);
	} else if ((req->len < PLAN_OVERLAP_LEN / 2 && rng_one_in(rng, 2)) ||
		   !take_piece(theirs, req->len, &req->land)) {
		req->len = MIN(req->len, PLAN_OVERLAP_LEN);
		req->land = PLAN_ATOMICS_LEN + rng_below(rng, PLAN_OVERLAP_LEN - req->len + 1);
	}
	req->remote = qp->peer->iova + req->land;
	req->rkey = qp->peer->key;
	if (aim_at_mortal(qp, req))
		return;
	if (qp->peer->window && rng_one_in(rng, 2)) {
		req->rkey = qp->peer->window;
		req->remote -= qp->peer->is_window_zero_based ? qp->peer->iova : 0;
	}
}

/* Plan an ATOMIC_WRITE in the page of words that atomics use. */
static void
plan_atomic_write(struct qp *qp, struct request *req)
{
	req->len = 8;
	req->land = 8 * rng_below(&qp->world->rng, 16);
	req->remote = qp->peer->iova + req->land;
	req->rkey = qp->peer->key;
}

static void
plan_flush(struct qp *qp, struct request *req)
{
	struct rng *rng = &qp->world->rng;

	req->len = 0;
	req->remote = qp->peer->iova;
	req->rkey = qp->peer->key;
	req->compare_add = rng_below(rng, 4096);
	req->swap = rng_between(rng, 1, 3);
	/* flush a whole region rarely, because it takes time in proportion to its length */
	if (rng_one_in(rng, 200))
		req->swap |= UROCE_FLUSH_MR << 4;
}

/*
 * Plan a bind of the window `own_key`. If the previous local request was a bind, invalidate the
 * window instead.
 */
static void
plan_local(struct qp *qp, struct request *req)
{
	const uint32_t tag = (qp->nb_planned & 0x7f) | 0x80;

	req->len = 0;
	if (!qp->own_key) {
		req->opcode = IBV_WR_RDMA_WRITE;
	} else if (qp->own_bound && qp->window_kind == UROCE_MW_1) {
		req->imm = (qp->own_key & ~0xffu) | tag;
		req->swap = 1;
		qp->own_bound = 0;
	} else if (qp->own_bound) {
		req->opcode = IBV_WR_LOCAL_INV;
		req->imm = qp->own_bound;
		qp->own_bound = 0;
	} else {
		req->imm = (qp->own_key & ~0xffu) | tag;
		qp->own_bound = req->imm;
	}
}

/*
 * Plan a READ of the world's random bytes (the noise), or of memory that only one earlier WRITE has
 * written.
 */
static void
plan_read(struct qp *qp, struct request *req, struct plan_pieces *ours)
{
	struct rng *rng = &qp->world->rng;
	struct request *before =
		qp->nb_planned > 1 ? &qp->reqs[rng_below(rng, qp->nb_planned - 1)] : NULL;

	if (before && request_is_write(before) && !before->bad && before->len &&
	    before->land >= PLAN_ATOMICS_LEN + PLAN_OVERLAP_LEN) {
		const uint32_t skip = rng_below(rng, before->len);

		req->len = MIN(req->len, before->len - skip);
		req->src = before->src + skip;
		req->land = before->land + skip;
		req->remote = qp->peer->iova + req->land;
		req->rkey = qp->peer->key;
		before->is_needed = true;
		(void)aim_at_mortal(qp, req);
	} else {
		req->remote = NOISE_IOVA + req->src;
		req->rkey = qp->peer->host->noise_key;
	}
	if (!take_piece(ours, req->len, &req->local))
		req->len = 0;
}

static void
plan_atomic(struct qp *qp, struct request *req, struct plan_pieces *ours)
{
	struct rng *rng = &qp->world->rng;

	req->len = 8;
	if (!take_piece(ours, 8, &req->local)) {
		req->opcode = IBV_WR_RDMA_WRITE;
		req->len = 0;
		return;
	}
	req->land = 8 * rng_below(rng, 4);
	req->remote = qp->peer->iova + req->land;
	req->rkey = qp->peer->key;
	req->compare_add = rng_below(rng, 3);
	req->swap = rng_below(rng, 3);
}

/* Make a request wrong on purpose, if one of the errors can be applied to the request. */
static void
spoil(struct qp *qp, struct request *req)
{
	struct rng *rng = &qp->world->rng;
	const bool is_send = request_is_send(req);
	enum bad bad = (enum bad)rng_between(rng, BAD_KEY, BAD_RECV_KEY);

	/* a window that was invalidated is used especially often */
	if (qp->peer->dead_window && request_is_write(req) && rng_one_in(rng, 2))
		bad = BAD_DEAD_KEY;

	if (qp->conf.type == IBV_QPT_XRC_SEND && !request_is_local(req) && rng_one_in(rng, 4)) {
		req->bad = BAD_SRQ;
		return;
	}
	if (!req->is_mortal && rng_one_in(rng, 4) && (is_send || request_is_write(req)) &&
	    req->len > mtu_of(qp) && qp->conf.max_sge >= 2) {
		req->flags &= ~(uint32_t)IBV_SEND_INLINE;
		req->bad = BAD_LKEY_LATE;
		return;
	}
	if (!req->len || req->is_mortal || (qp->is_lenient && bad != BAD_LKEY))
		return;
	if (req->opcode == IBV_WR_SEND_WITH_INV || (int)req->opcode == UROCE_WR_ATOMIC_WRITE)
		return;
	if (is_send ? bad < BAD_LKEY : bad > BAD_LKEY)
		return;
	switch (bad) {
	case BAD_KEY:
		req->rkey ^= 0x77;
		break;
	case BAD_DEAD_KEY:
		req->rkey = qp->peer->host->dead_key;
		if (qp->peer->dead_window)
			req->rkey = qp->peer->dead_window;
		else
			req->remote = NOISE_IOVA;
		break;
	case BAD_PD:
		req->rkey = qp->peer->host->foreign_key;
		req->remote = NOISE_IOVA;
		break;
	case BAD_RANGE: /* the range begins before the region, or ends behind the region */
		req->remote = qp->peer->iova + ((qp->peer->conf.mem_len + 7) & ~7u);
		/*
		 * the range of a READ is completely outside of the region, because chunks of a READ
		 * that are inside the region would be executed
		 */
		if (req->len > 8 && req->opcode != IBV_WR_RDMA_READ)
			req->remote -= rng_below(rng, req->len - 8) & ~7u;
		if (rng_one_in(rng, 4))
			req->remote = qp->peer->iova - 8;
		req->rkey = qp->peer->key;
		break;
	case BAD_RIGHT:
		if (req->opcode == IBV_WR_RDMA_READ)
			return;
		req->remote = NOISE_IOVA;
		req->rkey = qp->peer->host->noise_key;
		break;
	case BAD_ALIGN:
		if (!request_is_atomic(req))
			return;
		req->remote += rng_between(rng, 1, 7);
		break;
	case BAD_LKEY:
		req->flags &= ~(uint32_t)IBV_SEND_INLINE;
		break;
	case BAD_TOO_LONG:
		req->flags &= ~(uint32_t)IBV_SEND_INLINE;
		req->len = qp_recv_len(qp->peer) + rng_between(rng, 1, 3 * mtu_of(qp));
		break;
	case BAD_RECV_KEY: {
		if (qp->peer->shared)
			return;
		uint32_t nb = 0;

		/*
		 * the number of the receive request with the invalid lkey is found by counting the
		 * requests before, so none of them may be cancelled
		 */
		for (uint32_t i = 0; i + 1 < qp->nb_planned; i++) {
			nb += request_takes_recv(&qp->reqs[i]);
			qp->reqs[i].is_needed = true;
		}
		req->is_needed = true;
		qp->peer->bad_recv = nb;
		break;
	}
	case BAD_SRQ: /* the beginning of this function handles BAD_SRQ and BAD_LKEY_LATE */
	case BAD_LKEY_LATE:
	case BAD_NONE:
	case BAD_NB:
		return;
	}
	req->bad = bad;
}

/*
 * A stream of requests of one packet with one opcode, posted one behind the other, as programs post
 * them in lists.
 */
struct stream {
	enum ibv_wr_opcode opcode;
	uint32_t left; /* number of requests that remain in the stream; 0: there is no stream */
};

static void
begin_stream(struct qp *qp, struct stream *stream)
{
	struct rng *rng = &qp->world->rng;

	stream->opcode = draw_opcode(rng, qp->conf.type);
	stream->left = rng_between(rng, 2, 32);
}

static void
plan_request(struct qp *qp, uint32_t len, struct stream *stream, struct plan_pieces *ours,
	     struct plan_pieces *theirs)
{
	struct rng *rng = &qp->world->rng;
	struct request *req = qp_plan(qp);
	const uint32_t grh = qp->conf.type == IBV_QPT_UD ? 40 : 0;

	if (stream->left > 0)
		stream->left--;
	else
		stream->opcode = draw_opcode(rng, qp->conf.type);
	req->opcode = stream->opcode;
	if (qp->conf.type == IBV_QPT_XRC_SEND)
		req->srq = (uint8_t)rng_below(rng, XRC_SRQS);
	if (len > qp->conf.recv_len - grh && request_is_send(req))
		req->opcode = qp->conf.type == IBV_QPT_UD ? req->opcode : IBV_WR_RDMA_WRITE;
	req->len = len;
	req->imm = (uint32_t)rng_next(rng);
	req->src = rng_below(rng, NOISE_LEN - PLAN_HUGE_LEN - 4096);
	if (rng_below(rng, 3))
		req->flags |= IBV_SEND_SIGNALED;
	if (rng_one_in(rng, 8))
		req->flags |= IBV_SEND_FENCE;
	if (rng_one_in(rng, 8))
		req->flags |= IBV_SEND_SOLICITED;
	if (request_is_send(req))
		req->len =
			MIN(req->len, qp->conf.type == IBV_QPT_UD ? mtu_of(qp) : qp->conf.recv_len);
	else if ((int)req->opcode == UROCE_WR_ATOMIC_WRITE)
		plan_atomic_write(qp, req);
	else if ((int)req->opcode == UROCE_WR_FLUSH)
		plan_flush(qp, req);
	else if (request_is_local(req))
		plan_local(qp, req);
	else if (request_is_write(req))
		plan_write(qp, req, theirs);
	else if (request_is_atomic(req))
		plan_atomic(qp, req, ours);
	else
		plan_read(qp, req, ours);
	/*
	 * at random, invalidate the peer's window with this SEND; later requests do not use the
	 * window
	 */
	if (req->opcode == IBV_WR_SEND && qp->peer->window && qp->peer->window_kind != UROCE_MW_1 &&
	    rng_one_in(rng, 4)) {
		req->opcode = IBV_WR_SEND_WITH_INV;
		req->imm = qp->peer->window;
		qp->peer->dead_window = qp->peer->window;
		qp->peer->window = 0;
	}
	if (req->len <= qp->conf.max_inline && !request_needs_answer(req) &&
	    !request_is_local(req) && rng_one_in(rng, 2))
		req->flags |= IBV_SEND_INLINE;
}

void
plan_requests(struct qp *qp, const struct plan_budget *budget, struct plan_pieces *ours,
	      struct plan_pieces *theirs)
{
	struct rng *rng = &qp->world->rng;
	const uint32_t huge_at = rng_below(rng, budget->requests);
	const uint32_t bad_at = rng_one_in(rng, 6) ? rng_below(rng, budget->requests) : UINT32_MAX;
	const bool has_streams = rng_one_in(rng, 2);
	struct stream stream = { .left = 0 };
	uint32_t packets = 0;

	for (uint32_t i = 0; i < budget->requests && packets < budget->packets; i++) {
		uint32_t len = draw_len(rng, mtu_of(qp));

		if (has_streams && !stream.left && rng_one_in(rng, 3))
			begin_stream(qp, &stream);
		if (stream.left > 0)
			len = rng_between(rng, 1, MIN(mtu_of(qp), rng_one_in(rng, 2) ? 64 : 4096));
		len = MIN(len, (budget->packets - packets) * mtu_of(qp));
		if (budget->huge && i == huge_at && qp->conf.type != IBV_QPT_UD)
			len = budget->huge;
		plan_request(qp, len, &stream, ours, theirs);
		if (i == bad_at)
			spoil(qp, &qp->reqs[i]);
		packets += qp_packets(qp, &qp->reqs[i]);
	}
	if (qp->nb_planned)
		qp->reqs[qp->nb_planned - 1].flags |= IBV_SEND_SIGNALED;
	for (uint32_t i = 0; i < qp->nb_planned; i++)
		qp->peer->nb_recv_planned += request_takes_recv(&qp->reqs[i]);
}

const char *
plan_bad_name(unsigned bad)
{
	static const char *const names[BAD_NB] = {
		[BAD_NONE] = "none",          [BAD_KEY] = "rkey unknown",
		[BAD_DEAD_KEY] = "rkey dead", [BAD_PD] = "rkey of another PD",
		[BAD_RANGE] = "out of range", [BAD_RIGHT] = "right not granted",
		[BAD_ALIGN] = "misaligned",   [BAD_LKEY] = "lkey unknown",
		[BAD_TOO_LONG] = "too long",  [BAD_RECV_KEY] = "lkey of the receive",
		[BAD_SRQ] = "SRQ unknown",    [BAD_LKEY_LATE] = "lkey of the second half",
	};

	return bad < BAD_NB ? names[bad] : "?";
}
