/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Valid frames, which fuzz-frames then mutates. Each frame is built from a plan: opcode, PSN,
 * payload length, and the fields of extension headers. The opcode table gives the extension headers
 * of the frame.
 */

#include "seed.h"

#include <string.h>
#include <rte_common.h>

#include "transport/mcast.h"
#include "transport/requester/position.h"
#include "wire/icrc.h"
#include "wire/psn.h"
#include "wire/syndrome.h"

/* The fields from which a frame is built. */
struct plan {
	uint8_t opcode;
	uint8_t syndrome;
	uint32_t psn;
	uint32_t payload_len;
	uint32_t dma_len;
	uint64_t va;
	uint32_t rkey;
};

void
seeds_init(struct seeds *seeds, const struct victims *victims)
{
	*seeds = (struct seeds){ .victims = victims };
	for (unsigned i = 0; i < sizeof(seeds->noise); i++)
		seeds->noise[i] = (uint8_t)rng_next(victims->rng);
}

static uint8_t
opcode_of(const struct victim *victim, enum uroce_opcode_low low)
{
	static const uint8_t services[] = {
		[IBV_QPT_RC] = UROCE_SERVICE_RC,
		[IBV_QPT_UC] = UROCE_SERVICE_UC,
		[IBV_QPT_UD] = UROCE_SERVICE_UD,
	};

	return uroce_opcode_make((enum uroce_service)services[victim->row->type], low);
}

static uint32_t
mtu_of(const struct victim *victim)
{
	return 128u << victim->row->mtu;
}

/* Draw a PSN: in most cases `psn`, sometimes an earlier or a later PSN. */
static uint32_t
near_psn(uint32_t psn, struct rng *rng)
{
	switch (rng_below(rng, 24)) {
	case 0:
	case 1:
	case 2:
		return uroce_psn_add(psn, UROCE_PSN_MASK + 1 - (1 + rng_below(rng, 20)));
	case 3:
		return uroce_psn_add(psn, 1 + rng_below(rng, 20));
	case 4:
		return uroce_psn_add(psn, (1u << 23) + rng_below(rng, 3) - 1);
	}
	return psn;
}

/* --- requests ---------------------------------------------------------------------------------- */

static const uint8_t first_requests[] = {
	UROCE_OP_SEND_FIRST, UROCE_OP_SEND_ONLY,      UROCE_OP_SEND_ONLY_IMM, UROCE_OP_WRITE_FIRST,
	UROCE_OP_WRITE_ONLY, UROCE_OP_WRITE_ONLY_IMM, UROCE_OP_READ_REQUEST,  UROCE_OP_CMP_SWAP,
	UROCE_OP_FETCH_ADD,  UROCE_OP_SEND_ONLY_INV,  UROCE_OP_ATOMIC_WRITE,  UROCE_OP_FLUSH,
};
/* number of opcodes at the start of first_requests that also exist for UC */
#define NB_UC_REQUESTS 6
static const uint8_t first_weights[] = { 6, 6, 4, 6, 8, 4, 8, 5, 5, 1, 1, 1 };

/* Plan the next packet of the message that the victim is receiving. */
static void
plan_continuation(const struct victim *victim, struct plan *plan, struct rng *rng)
{
	const struct uroce_resp *resp = &victim_qpc(victim)->resp;
	const bool is_write = resp->operation == UROCE_OPERATION_WRITE;
	const uint32_t mtu = mtu_of(victim);
	const uint32_t left =
		is_write ? resp->write_len - resp->msg_len : 1 + rng_below(rng, 2 * mtu);
	const bool has_imm = rng_once_in(rng, 4);

	plan->payload_len = RTE_MIN(left, mtu);
	if (left > mtu)
		plan->opcode =
			opcode_of(victim, is_write ? UROCE_OP_WRITE_MIDDLE : UROCE_OP_SEND_MIDDLE);
	else if (is_write)
		plan->opcode =
			opcode_of(victim, has_imm ? UROCE_OP_WRITE_LAST_IMM : UROCE_OP_WRITE_LAST);
	else
		plan->opcode =
			opcode_of(victim, has_imm ? UROCE_OP_SEND_LAST_IMM : UROCE_OP_SEND_LAST);
}

static void
plan_message(const struct seeds *seeds, const struct victim *victim, struct plan *plan,
	     struct rng *rng)
{
	static const enum plot targets[] = {
		[UROCE_OPERATION_WRITE] = PLOT_ALL,
		[UROCE_OPERATION_READ] = PLOT_ALL,
		[UROCE_OPERATION_ATOMIC] = PLOT_ALL,
		[UROCE_OPERATION_ATOMIC_WRITE] = PLOT_ALL,
	};
	const uint32_t mtu = mtu_of(victim);
	const unsigned nb =
		victim->row->type == IBV_QPT_UC ? NB_UC_REQUESTS : RTE_DIM(first_weights);
	const uint8_t low = first_requests[rng_weighted(rng, first_weights, nb)];

	plan->opcode = opcode_of(victim, (enum uroce_opcode_low)low);
	const struct uroce_opcode *op = &uroce_opcode_table[plan->opcode];
	enum plot plot = op->operation < RTE_DIM(targets) ? targets[op->operation] : PLOT_ALL;

	if (op->operation == UROCE_OPERATION_ATOMIC_WRITE)
		plan->payload_len = UROCE_ATOMIC_WRITE_LEN;
	else if (!(op->flags & UROCE_OPF_LAST))
		plan->payload_len = mtu;
	else if (op->flags & UROCE_OPF_PAYLOAD)
		plan->payload_len = rng_once_in(rng, 8) ? 0 : rng_below(rng, mtu + 1);
	plan->dma_len = plan->payload_len;
	if (!(op->flags & UROCE_OPF_LAST))
		plan->dma_len += 1 + rng_below(rng, 3 * mtu);
	if (op->operation == UROCE_OPERATION_READ)
		plan->dma_len = rng_once_in(rng, 8) ? 0 : rng_below(rng, 4 * mtu);
	if (op->operation == UROCE_OPERATION_READ && rng_once_in(rng, 3))
		plot = PLOT_READ;
	if (op->operation == UROCE_OPERATION_ATOMIC && rng_once_in(rng, 3))
		plot = PLOT_ATOMIC;
	land_aim(seeds->victims->land, victim->row->domain, plot, RTE_MAX(plan->dma_len, 8u), rng,
		 &plan->va, &plan->rkey);
	if (rng_once_in(rng, 64)) {
		plan->va = seeds->beside_va;
		plan->rkey = seeds->beside_key;
	}
}

/*
 * Plan a duplicate of a READ or an atomic that the victim has executed.
 * @return false if the chosen resource of the responder is not in use
 */
static bool
plan_repetition(const struct victim *victim, struct plan *plan, struct rng *rng)
{
	const struct uroce_resp *resp = &victim_qpc(victim)->resp;
	const uint32_t mtu = mtu_of(victim);

	if (resp->res == NULL)
		return false;
	const struct uroce_rd_res *res = &resp->res[rng_below(rng, UROCE_RD_ATOMIC_MAX)];

	if (res->end == 0)
		return false;
	const uint32_t nth = rng_below(rng, uroce_msg_packets(victim_qpc(victim), res->len));

	plan->psn = uroce_psn_add(res->psn, nth);
	plan->opcode = res->is_atomic ? UROCE_OP_FETCH_ADD : UROCE_OP_READ_REQUEST;
	plan->va = res->va + nth * mtu;
	plan->rkey = res->rkey;
	plan->dma_len = res->len - nth * mtu;
	return true;
}

/*
 * Plan an out-of-order packet of the WRITE that the victim is receiving.
 * @return false if the victim receives no WRITE, or the WRITE has too few packets left
 */
static bool
plan_early(const struct victim *victim, struct plan *plan, struct rng *rng)
{
	const struct uroce_resp *resp = &victim_qpc(victim)->resp;
	const uint32_t mtu = mtu_of(victim);
	const uint32_t nb_left = (resp->write_len - resp->msg_len + mtu - 1) / mtu;

	if (resp->operation != UROCE_OPERATION_WRITE || nb_left < 3)
		return false;
	const uint32_t ahead = 1 + rng_below(rng, nb_left - 1);

	plan->psn = uroce_psn_add(resp->epsn, ahead);
	plan->payload_len = RTE_MIN(resp->write_len - resp->msg_len - ahead * mtu, mtu);
	plan->opcode = opcode_of(victim,
				 ahead + 1 < nb_left ? UROCE_OP_WRITE_MIDDLE : UROCE_OP_WRITE_LAST);
	return true;
}

static void
plan_request(const struct seeds *seeds, const struct victim *victim, struct plan *plan,
	     struct rng *rng)
{
	const struct uroce_resp *resp = &victim_qpc(victim)->resp;

	if (victim->row->type == IBV_QPT_RC && rng_once_in(rng, 12) &&
	    plan_repetition(victim, plan, rng))
		return;
	if (victim->row->type == IBV_QPT_RC && rng_once_in(rng, 3) && plan_early(victim, plan, rng))
		return;
	plan->psn = near_psn(resp->epsn, rng);
	if (victim->row->type == IBV_QPT_UD) {
		plan->opcode = opcode_of(victim, rng_once_in(rng, 2) ? UROCE_OP_SEND_ONLY
								     : UROCE_OP_SEND_ONLY_IMM);
		plan->payload_len = rng_once_in(rng, 4) ? 1024 : rng_below(rng, 400);
		return;
	}
	if (resp->operation != UROCE_OPERATION_NONE && !rng_once_in(rng, 12))
		plan_continuation(victim, plan, rng);
	else
		plan_message(seeds, victim, plan, rng);
}

/* --- responses --------------------------------------------------------------------------------- */

/* Plan the response that the victim's oldest request waits for. */
static void
plan_answer(const struct victim *victim, const struct uroce_send_wqe *wqe, struct plan *plan)
{
	const struct uroce_qpc *qpc = victim_qpc(victim);
	const uint32_t nth = uroce_psn_dist(wqe->first_psn, qpc->req.una_psn);
	const bool is_last = nth + 1 == wqe->nb_psn;

	plan->psn = qpc->req.una_psn;
	if (!uroce_wqe_needs_response(wqe)) {
		plan->opcode = UROCE_OP_ACK;
		return;
	}
	if (wqe->opcode != IBV_WR_RDMA_READ) {
		plan->opcode = UROCE_OP_ATOMIC_ACK;
		return;
	}
	plan->payload_len = uroce_msg_payload(qpc, wqe->len, nth);
	if (nth == 0)
		plan->opcode = is_last ? UROCE_OP_READ_RESPONSE_ONLY : UROCE_OP_READ_RESPONSE_FIRST;
	else
		plan->opcode =
			is_last ? UROCE_OP_READ_RESPONSE_LAST : UROCE_OP_READ_RESPONSE_MIDDLE;
}

/*
 * Plan a response of any kind. In most cases its PSN is that of a request that waits for a
 * response.
 */
static void
plan_any_response(const struct victim *victim, struct plan *plan, struct rng *rng)
{
	static const uint8_t opcodes[] = { UROCE_OP_ACK,
					   UROCE_OP_ACK,
					   UROCE_OP_ACK,
					   UROCE_OP_ATOMIC_ACK,
					   UROCE_OP_READ_RESPONSE_ONLY,
					   UROCE_OP_READ_RESPONSE_FIRST,
					   UROCE_OP_READ_RESPONSE_MIDDLE,
					   UROCE_OP_READ_RESPONSE_LAST };
	static const uint8_t syndromes[] = {
		0x1f, 0x1f, 0x1f, 0x00, 0x20, 0x21, 0x3f, 0x60, 0x60, 0x61, 0x62, 0x63, 0x64,
	};
	const struct uroce_req *req = &victim_qpc(victim)->req;
	const uint32_t nb_out = uroce_psn_dist(req->una_psn, req->max_psn);

	plan->opcode = opcodes[rng_below(rng, sizeof(opcodes))];
	plan->syndrome = rng_once_in(rng, 8) ? (uint8_t)rng_next(rng)
					     : syndromes[rng_below(rng, sizeof(syndromes))];
	plan->psn = near_psn(uroce_psn_add(req->una_psn, nb_out ? rng_below(rng, nb_out) : 0), rng);
	if (uroce_opcode_table[plan->opcode].flags & UROCE_OPF_PAYLOAD)
		plan->payload_len = plan->opcode == UROCE_OP_READ_RESPONSE_FIRST ||
						    plan->opcode == UROCE_OP_READ_RESPONSE_MIDDLE
					    ? mtu_of(victim)
					    : 1 + rng_below(rng, mtu_of(victim));
}

static void
plan_response(const struct victim *victim, struct plan *plan, struct rng *rng)
{
	const struct uroce_qpc *qpc = victim_qpc(victim);

	plan->syndrome = UROCE_SYNDROME_ACK;
	if (qpc->req.una_psn != qpc->req.max_psn && !rng_once_in(rng, 3))
		plan_answer(victim, uroce_req_wqe(qpc, qpc->req.una_idx), plan);
	else
		plan_any_response(victim, plan, rng);
}

/* Plan a packet with any of the 256 opcodes, and with a payload length that the opcode allows. */
static void
plan_anything(const struct victim *victim, struct plan *plan, struct rng *rng)
{
	plan->opcode = (uint8_t)(rng_once_in(rng, 4) ? UROCE_OPCODE_CNP : rng_next(rng));
	plan->psn = near_psn(victim_qpc(victim)->resp.epsn, rng);
	const struct uroce_opcode *op = &uroce_opcode_table[plan->opcode];

	if (op->operation == UROCE_OPERATION_CNP)
		plan->payload_len = UROCE_CNP_RESERVED_LEN;
	else if (op->operation == UROCE_OPERATION_ATOMIC_WRITE)
		plan->payload_len = UROCE_ATOMIC_WRITE_LEN;
	else if (op->flags & UROCE_OPF_PAYLOAD)
		plan->payload_len = mtu_of(victim);
}

/* --- building a frame from its plan ------------------------------------------------------------ */

/*
 * The attacker's path to the target, or to a multicast group with members on the target. Each path
 * is created when it is used for the first time.
 */
static const struct uroce_path *
ghost_path(bool is_ipv6, bool is_group)
{
	static struct uroce_path paths[2][2];
	struct uroce_path *path = &paths[is_group][is_ipv6];
	struct uroce_path_conf conf = {
		.smac = { 2, 0, 0, 0, 0, HOST_GHOST },
		.dmac = { 2, 0, 0, 0, 0, HOST_TARGET },
		.udp_sport = 0xc123,
	};

	if (path->hdr_len == 0) {
		memcpy(conf.sip, fabric_ip(HOST_GHOST, is_ipv6), 16);
		memcpy(conf.dip, is_group ? fabric_group(is_ipv6) : fabric_ip(HOST_TARGET, is_ipv6),
		       16);
		uroce_path_init(path, &conf);
	}
	return path;
}

static void
put_extensions(uint8_t *ext, const struct plan *plan, const struct victim *victim, struct rng *rng)
{
	const struct uroce_opcode *op = &uroce_opcode_table[plan->opcode];
	const struct uroce_reth reth = { be64_make(plan->va), be32_make(plan->rkey),
					 be32_make(plan->dma_len) };
	const struct uroce_atomiceth atomic = { be64_make(plan->va), be32_make(plan->rkey),
						be64_make(rng_next(rng)),
						be64_make(rng_next(rng)) };
	const struct uroce_aeth aeth = { plan->syndrome, be24_make(rng_below(rng, 1u << 24)) };
	const struct uroce_deth deth = { be32_make(VICTIM_QKEY), 0,
					 be24_make(GHOST_QPN(victim->idx)) };
	const uint64_t random = rng_next(rng);

	/* An extension header for which struct plan has no field gets random bytes. */
	for (uint32_t i = 0; i < op->ext_len; i += 4)
		memcpy(ext + i, &random, 4);
	if (op->ext_mask & 1 << UROCE_EXT_RETH)
		memcpy(ext + op->ext_off[UROCE_EXT_RETH], &reth, sizeof(reth));
	if (op->ext_mask & 1 << UROCE_EXT_ATOMICETH)
		memcpy(ext + op->ext_off[UROCE_EXT_ATOMICETH], &atomic, sizeof(atomic));
	if (op->ext_mask & 1 << UROCE_EXT_AETH)
		memcpy(ext + op->ext_off[UROCE_EXT_AETH], &aeth, sizeof(aeth));
	if (op->ext_mask & 1 << UROCE_EXT_DETH)
		memcpy(ext + op->ext_off[UROCE_EXT_DETH], &deth, sizeof(deth));
}

static void
build(const struct seeds *seeds, const struct plan *plan, const struct victim *victim,
      struct frame *frame, struct rng *rng)
{
	/* a UD QP receives datagrams of both address families */
	const bool is_ipv6 =
		victim->row->type == IBV_QPT_UD ? rng_once_in(rng, 2) : victim->row->is_ipv6;
	const bool is_group = victim->row->type == IBV_QPT_UD && rng_once_in(rng, 4);
	const struct uroce_path *path = ghost_path(is_ipv6, is_group);
	const uint32_t ext_len = uroce_opcode_table[plan->opcode].ext_len;
	const uint8_t pad_len = (uint8_t)(-plan->payload_len & 3);
	uint32_t icrc;
	struct uroce_bth *bth = uroce_path_put(path, frame->at,
					       (uint32_t)sizeof(*bth) + ext_len +
						       plan->payload_len + pad_len + UROCE_ICRC_LEN,
					       &icrc);
	uint8_t *at = (uint8_t *)(bth + 1);

	uroce_bth_put(bth, plan->opcode, pad_len, 0xffff,
		      is_group ? UROCE_MCAST_QPN : victim->qp->qp_num, plan->psn);
	if (!rng_once_in(rng, 4))
		bth->ack_req |= UROCE_BTH_ACK_REQ;
	put_extensions(at, plan, victim, rng);
	at += ext_len;
	memcpy(at, seeds->noise + rng_below(rng, sizeof(seeds->noise) - 2048), plan->payload_len);
	at += plan->payload_len;
	memset(at, 0, pad_len);
	at += pad_len;
	frame->is_ipv6 = is_ipv6;
	frame->ip_off = path->ip_off;
	frame->bth_off = path->bth_off;
	frame->len = (uint32_t)(at - frame->at) + UROCE_ICRC_LEN;
	(void)frame_seal(frame);
}

/* Copy a captured frame, and change its addresses so that the attacker sends it to the victim. */
static void
readdress(struct frame *frame, const struct frame *from, const struct victim *victim,
	  struct rng *rng)
{
	const struct uroce_qpc *qpc = victim_qpc(victim);

	frame->len = from->len;
	frame->ip_off = from->ip_off;
	frame->bth_off = from->bth_off;
	frame->is_ipv6 = from->is_ipv6;
	memcpy(frame->at, from->at, from->len);
	struct uroce_bth *bth = (struct uroce_bth *)(frame->at + frame->bth_off);
	const uint32_t len = frame->is_ipv6 ? 16 : 4, skip = 16 - len;
	uint8_t *src = frame->at + frame->ip_off + (frame->is_ipv6 ? 8 : 12);

	memcpy(src, fabric_ip(HOST_GHOST, frame->is_ipv6) + skip, len);
	memcpy(src + len, fabric_ip(HOST_TARGET, frame->is_ipv6) + skip, len);
	bth->dest_qpn = be24_make(victim->qp->qp_num);
	if (rng_once_in(rng, 2))
		bth->psn = be24_make(rng_once_in(rng, 2) ? qpc->resp.epsn : qpc->req.una_psn);
	(void)frame_seal(frame);
}

static bool
is_waiting(const struct victim *victim)
{
	return victim->row->type == IBV_QPT_RC &&
	       (victim->row->state == IBV_QPS_RTS || victim->row->state == IBV_QPS_SQD);
}

/* Choose a victim. Victims in a state in which they receive nothing are chosen less often. */
static const struct victim *
pick_victim(const struct victims *victims, struct rng *rng)
{
	const struct victim *victim;

	do
		victim = &victims->all[rng_below(rng, victims->nb)];
	while ((victim->row->state < IBV_QPS_RTR || victim->row->state == IBV_QPS_ERR) &&
	       !rng_once_in(rng, 4));
	return victim;
}

const struct victim *
seeds_make(struct seeds *seeds, struct frame *frame, struct rng *rng)
{
	const struct victims *victims = seeds->victims;
	const struct victim *victim = pick_victim(victims, rng);
	const struct frame *captured = rng_once_in(rng, 16) ? fabric_captured(rng) : NULL;
	struct plan plan = { 0 };

	seeds->nb_state[victim->row->type - IBV_QPT_RC][victim_qpc(victim)->state]++;
	if (captured) {
		readdress(frame, captured, victim, rng);
		return victim;
	}
	if (rng_once_in(rng, 24))
		plan_anything(victim, &plan, rng);
	else if (is_waiting(victim) && !rng_once_in(rng, 3))
		plan_response(victim, &plan, rng);
	else
		plan_request(seeds, victim, &plan, rng);
	build(seeds, &plan, victim, frame, rng);
	return victim;
}
