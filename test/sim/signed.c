/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Connections with block signatures. All requests of a connection have one format of signatures on
 * the wire; each mkey has its own format in memory.
 */

#include "signed.h"

#include <string.h>
#include <sys/param.h>

#include "app_ops.h"
#include "mkey.h"
#include "oracle.h"
#include "world.h"
#include "wire/parse.h"

#define DATA_MAX (20u << 10)
/* block length from which data lengths are drawn if the format on the wire has no blocks */
#define BLOCK_LEN  512u
#define BLOCKS_MAX 5

bool
signed_is_in(uint64_t seed)
{
	/*
	 * do not draw from the world's generator: then the other random decisions of a world do not
	 * depend on this one
	 */
	return rng_mix(seed ^ 0x5167) % 12 == 0;
}

static uint32_t
mtu_of(const struct qp *qp)
{
	return 128u << qp->conf.mtu;
}

/* --- planning requests with mkeys --- */

/*
 * Give each receive buffer an mkey for messages of at least a quarter of the buffer. More might not
 * fit, because a layout has gaps and may repeat more often than needed.
 */
static void
make_buffers(struct qp *qp)
{
	qp->recv_mkeys = world_alloc(qp->world, qp->conf.nb_bufs * sizeof(*qp->recv_mkeys));
	for (uint32_t i = 0; i < qp->conf.nb_bufs; i++) {
		mkey_draw(&qp->recv_mkeys[i], qp, &qp->on_wire, qp->conf.recv_len / 3);
		while (qp->recv_mkeys[i].extent > qp->conf.recv_len)
			mkey_draw(&qp->recv_mkeys[i], qp, &qp->on_wire, qp->conf.recv_len / 4);
		mkey_make(&qp->recv_mkeys[i], qp_recv_at(qp, i));
	}
}

void
signed_begin(struct qp *a, struct qp *b)
{
	struct rng *rng = &a->world->rng;

	a->on_wire = b->on_wire = mkey_draw_domain(rng);
	a->is_signed = b->is_signed = true;
	if (!rng_one_in(rng, 3))
		make_buffers(a);
	if (!rng_one_in(rng, 3))
		make_buffers(b);
}

/* The longest data of a message for which every receive buffer of the QP has room. */
static uint32_t
room_of(const struct qp *qp)
{
	/*
	 * signatures take up to an eighth of a buffer: with 64-byte blocks they have 8 bytes for
	 * each block
	 */
	uint32_t room = qp->conf.recv_len / 8 * 7;

	for (uint32_t i = 0; qp->recv_mkeys && i < qp->conf.nb_bufs; i++)
		room = MIN(room, mkey_room(&qp->recv_mkeys[i]));
	return room;
}

static uint32_t
draw_data_len(const struct qp *qp, bool is_send)
{
	struct rng *rng = &qp->world->rng;
	const uint32_t block_len = qp->on_wire.block_len ? qp->on_wire.block_len : BLOCK_LEN;
	uint32_t len = block_len * rng_below(rng, rng_one_in(rng, 3) ? 16 : BLOCKS_MAX);

	if (rng_one_in(rng, 3))
		len += rng_below(rng, block_len);
	return MIN(len, is_send ? room_of(qp->peer) : DATA_MAX);
}

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
 * Create an mkey in memory that no other request uses.
 * @return the mkey; NULL: there is too little memory left
 */
static struct mkey *
make_mkey(struct qp *owner, uint32_t data_len, struct plan_pieces *pieces)
{
	struct mkey *mkey = world_alloc(owner->world, sizeof(*mkey));
	uint32_t at;

	mkey_draw(mkey, owner, &owner->on_wire, data_len);
	if (!take_piece(pieces, mkey->extent, &at))
		return NULL;
	mkey_make(mkey, at);
	owner->world->tally.mkeys++;
	return mkey;
}

/*
 * Plan the source of the data of a request: an mkey, or plain memory that already contains the
 * signatures which the wire has.
 * @return the offset of the source in the owner's memory; UINT32_MAX: there is too little memory
 * left
 */
static uint32_t
plan_source(struct qp *owner, struct request *req, uint32_t data_len, struct plan_pieces *pieces)
{
	struct world *world = owner->world;
	const uint8_t *data = world->noise + req->src;
	const bool is_damaged = rng_one_in(&world->rng, 4);
	uint32_t at;

	req->len = mkey_spread(&owner->on_wire, data_len);
	req->bytes = world_alloc(world, req->len);
	if (data_len && !rng_one_in(&world->rng, 4)) {
		req->from = make_mkey(owner, data_len, pieces);
		if (!req->from)
			return UINT32_MAX;
		mkey_load(req->from, data, data_len, is_damaged, req->bytes);
		return req->from->at;
	}
	if (!take_piece(pieces, req->len, &at))
		return UINT32_MAX;
	mkey_join(&owner->on_wire, data, data_len, req->bytes);
	if (is_damaged)
		mkey_damage(&world->rng, &owner->on_wire, req->bytes, req->len);
	memcpy(owner->mem + at, req->bytes, req->len);
	memcpy(owner->shadow + at, req->bytes, req->len);
	return at;
}

/*
 * Plan the destination of the data of a request that is no SEND: an mkey, or plain memory.
 * @return the offset of the destination in the owner's memory; UINT32_MAX: too little memory is
 * left
 */
static uint32_t
plan_landing(struct qp *owner, struct request *req, uint32_t data_len, struct plan_pieces *pieces)
{
	uint32_t at;

	if (data_len && !rng_one_in(&owner->world->rng, 4)) {
		req->into = make_mkey(owner, data_len, pieces);
		if (!req->into)
			return UINT32_MAX;
		mkey_expect(req->into, req->bytes, req->len);
		return req->into->at;
	}
	return take_piece(pieces, req->len, &at) ? at : UINT32_MAX;
}

/* Set the remote address and key of a request to the peer's mkey or memory. */
static void
aim(struct request *req, const struct qp *peer, const struct mkey *mkey, uint32_t at)
{
	req->remote = mkey ? 0 : peer->iova + at;
	req->rkey = mkey ? mkey->key : peer->key;
}

/*
 * Plan one request of a QP whose requests use mkeys.
 * @return false: there is too little memory left for the request
 */
static bool
plan_one(struct qp *qp, struct request *req, struct plan_pieces *ours, struct plan_pieces *theirs)
{
	static const enum ibv_wr_opcode opcodes[] = { IBV_WR_SEND,       IBV_WR_SEND_WITH_IMM,
						      IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE,
						      IBV_WR_RDMA_READ,  IBV_WR_RDMA_READ };
	struct rng *rng = &qp->world->rng;

	req->opcode = opcodes[rng_below(rng, 6)];
	req->imm = (uint32_t)rng_next(rng);
	req->src = rng_below(rng, NOISE_LEN - DATA_MAX);
	if (rng_below(rng, 3))
		req->flags |= IBV_SEND_SIGNALED;
	if (rng_one_in(rng, qp->conf.is_pipelined ? 2 : 4))
		req->flags |= IBV_SEND_FENCE;
	const uint32_t data_len = draw_data_len(qp, request_is_send(req));

	if (req->opcode == IBV_WR_RDMA_READ) {
		req->land = plan_source(qp->peer, req, data_len, theirs);
		if (req->land == UINT32_MAX)
			return false;
		aim(req, qp->peer, req->from, req->land);
		req->local = plan_landing(qp, req, data_len, ours);
		return req->local != UINT32_MAX;
	}
	req->local = plan_source(qp, req, data_len, ours);
	if (req->local == UINT32_MAX || request_is_send(req))
		return req->local != UINT32_MAX;
	req->land = plan_landing(qp->peer, req, data_len, theirs);
	aim(req, qp->peer, req->into, req->land);
	return req->land != UINT32_MAX;
}

void
signed_plan(struct qp *qp, uint32_t nb, struct plan_pieces *ours, struct plan_pieces *theirs)
{
	for (uint32_t i = 0; i < nb; i++) {
		struct request *req = qp_plan(qp);

		if (!req || !plan_one(qp, req, ours, theirs)) {
			qp->nb_planned -= req != NULL;
			break;
		}
		qp->world->tally.damaged += (req->from && req->from->due.sig.fault) ||
					    (req->into && req->into->due.sig.fault);
		qp->peer->nb_recv_planned += request_takes_recv(req);
	}
	if (qp->nb_planned)
		qp->reqs[qp->nb_planned - 1].flags |= IBV_SEND_SIGNALED;
}

/* --- stopping behind a bad block --- */

/* Whether packet `idx` contains a byte that reveals a bad block. */
static bool
brings_out(const struct qp *qp, const struct request *req, const struct mkey *mkey, uint32_t idx)
{
	const uint32_t nth = idx - req->first;

	for (uint32_t i = 0; mkey && i < mkey->nb_bad; i++)
		if (mkey->bad_at[i] / mtu_of(qp) == nth)
			return true;
	return false;
}

/* Note that the QP must stop because of a bad block: no packet from `limit` on may be sent. */
static void
stop(struct qp *qp, uint32_t limit)
{
	if (!qp->conf.is_pipelined || qp->qpc.state == IBV_QPS_ERR)
		return;
	qp->is_stopped = true;
	qp->sqd_limit = MIN(qp->sqd_limit, limit);
	qp->world->tally.stops++;
}

void
signed_sent(struct qp *qp, const struct request *req, const struct uroce_pkt *pkt, uint32_t idx)
{
	const uint32_t off = (idx - req->first) * mtu_of(qp);

	if (!req->bytes || request_needs_answer(req))
		return;
	if (memcmp(pkt->payload, req->bytes + off, pkt->payload_len))
		world_complain(qp->world, "qp 0x%x: packet %u is not what its mkey makes", qp->qpn,
			       idx);
	if (idx >= qp->sent && brings_out(qp, req, req->from, idx))
		stop(qp, req->first + req->nb_psn);
}

void
signed_settled(struct qp *qp, const struct request *req, uint32_t idx)
{
	const struct request *newest = qp->sent ? qp_request_at(qp, qp->sent - 1) : NULL;

	if (newest && brings_out(qp, req, req->into, idx))
		stop(qp, newest->first + newest->nb_psn);
}

void
signed_check(struct qp *qp)
{
	const enum ibv_qp_state state = (enum ibv_qp_state)qp->qpc.state;

	if (qp->is_stopped && state == IBV_QPS_RTS)
		world_complain(qp->world, "qp 0x%x has a bad block, and goes on", qp->qpn);
	if (state == IBV_QPS_SQD && qp->sqd_limit == UINT32_MAX && !qp->is_lenient)
		world_complain(qp->world, "qp 0x%x stopped for no reason", qp->qpn);
}

bool
signed_can_go_on(const struct qp *qp)
{
	return qp->is_stopped && qp->is_drained && qp->qpc.state == IBV_QPS_SQD;
}

void
signed_go_on(struct qp *qp)
{
	if (!qp->is_stopped || qp->qpc.state != IBV_QPS_SQD)
		return;
	/* most applications wait in SQD until all requests that the QP had begun are complete */
	if (!qp->is_drained && !rng_one_in(&qp->world->rng, 8))
		return;
	while (qp->qpc.req.begun_idx < qp->nb_posted && !rng_one_in(&qp->world->rng, 3))
		qp->world->tally.stopped_cancels += conduct_cancel(qp);
	qp_modify(qp, IBV_QPS_RTS);
}

/* --- errors that mkeys report --- */

static const struct uroce_mkey_error nothing;

/*
 * Check the errors that the mkeys of a completed request report: the first bad block, or none. A
 * cancelled request has transferred nothing.
 */
void
signed_done(struct qp *qp, struct request *req)
{
	(void)qp;
	req->is_reported = true;
	if (req->from)
		mkey_ask(req->from, req->is_cancelled ? &nothing : &req->from->due);
	if (req->into)
		mkey_ask(req->into, req->is_cancelled ? &nothing : &req->into->due);
}

void
signed_received(struct qp *qp, const struct request *req, uint32_t nth)
{
	struct mkey *mkey = &qp->recv_mkeys[nth % qp->conf.nb_bufs];

	if (!request_is_send(req))
		return;
	mkey_expect(mkey, req->bytes, req->len);
	mkey_apply(mkey, 0, req->len);
	if (!mkey_is_there(mkey, 0, req->len))
		world_complain(qp->world, "qp 0x%x: a message is not what its mkey makes", qp->qpn);
	mkey_ask(mkey, &mkey->due);
}

void
signed_recv_failed(struct qp *qp, uint32_t nth)
{
	struct uroce_mkey_error error;

	(void)uroce_mkey_check(qp->host->mrs, qp->recv_mkeys[nth % qp->conf.nb_bufs].key, &error);
}

/*
 * Check the error of an mkey at the end of a run. An mkey whose request failed may report its bad
 * block or not.
 */
static void
end_one(struct mkey *mkey, bool is_done)
{
	struct uroce_mkey_error error;

	if (!mkey)
		return;
	if (is_done)
		mkey_ask(mkey, &nothing);
	else if (!uroce_mkey_check(mkey->owner->host->mrs, mkey->key, &error) && error.sig.fault &&
		 (error.sig.fault != mkey->due.sig.fault || error.offset != mkey->due.offset))
		world_complain(mkey->owner->world, "mkey 0x%x has found what is not there",
			       mkey->key);
}

void
signed_end(struct qp *qp)
{
	for (uint32_t i = 0; qp->is_signed && i < qp->nb_planned; i++) {
		end_one(qp->reqs[i].from, qp->reqs[i].is_reported);
		end_one(qp->reqs[i].into, qp->reqs[i].is_reported);
	}
}
