/* SPDX-License-Identifier: BSD-3-Clause */

/* Creates the victims, posts their requests and checks their completions. */

#include "victim.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rte_common.h>
#include <uroce.h>

#include "verbs/object.h"

#define NB_OUT        6 /* number of send requests that are kept outstanding */
#define RECREATE_ONCE 32
/* index of the IPv4 address in the GID table; the next entry is the IPv6 address */
#define ADDR_GID 1

#define WRITE    IBV_ACCESS_REMOTE_WRITE
#define READ     IBV_ACCESS_REMOTE_READ
#define ATOMIC   IBV_ACCESS_REMOTE_ATOMIC
#define ALL      (WRITE | READ | ATOMIC)

/* clang-format off */
static const struct victim_row rows[] = {
	/* type        state          domain         access  mtu          v6     supply */
	{ IBV_QPT_RC, IBV_QPS_RTS,   DOMAIN_OPEN,   ALL,    IBV_MTU_256,  false, SUPPLY_ALWAYS },
	{ IBV_QPT_RC, IBV_QPS_RTS,   DOMAIN_OPEN,   ALL,    IBV_MTU_256,  false, SUPPLY_ALWAYS },
	{ IBV_QPT_RC, IBV_QPS_RTS,   DOMAIN_OPEN,   ALL,    IBV_MTU_1024, false, SUPPLY_SOMETIMES },
	{ IBV_QPT_RC, IBV_QPS_RTS,   DOMAIN_OPEN,   ALL,    IBV_MTU_256,  true,  SUPPLY_ALWAYS },
	{ IBV_QPT_RC, IBV_QPS_RTS,   DOMAIN_OPEN,   ALL,    IBV_MTU_512,  true,  SUPPLY_NEVER },
	{ IBV_QPT_RC, IBV_QPS_RTS,   DOMAIN_OPEN,   WRITE,  IBV_MTU_256,  false, SUPPLY_BAD },
	{ IBV_QPT_RC, IBV_QPS_RTS,   DOMAIN_CLOSED, READ,   IBV_MTU_256,  false, SUPPLY_ALWAYS },
	{ IBV_QPT_RC, IBV_QPS_RTS,   DOMAIN_CLOSED, 0,      IBV_MTU_256,  false, SUPPLY_SOMETIMES },
	{ IBV_QPT_RC, IBV_QPS_RTR,   DOMAIN_OPEN,   ALL,    IBV_MTU_256,  false, SUPPLY_ALWAYS },
	{ IBV_QPT_RC, IBV_QPS_RTR,   DOMAIN_OPEN,   ATOMIC, IBV_MTU_256,  true,  SUPPLY_SOMETIMES },
	{ IBV_QPT_RC, IBV_QPS_SQD,   DOMAIN_OPEN,   ALL,    IBV_MTU_256,  false, SUPPLY_ALWAYS },
	{ IBV_QPT_RC, IBV_QPS_INIT,  DOMAIN_OPEN,   ALL,    IBV_MTU_256,  false, SUPPLY_ALWAYS },
	{ IBV_QPT_RC, IBV_QPS_RESET, DOMAIN_OPEN,   ALL,    IBV_MTU_256,  false, SUPPLY_NEVER },
	{ IBV_QPT_RC, IBV_QPS_ERR,   DOMAIN_OPEN,   ALL,    IBV_MTU_256,  false, SUPPLY_NEVER },
	{ IBV_QPT_UC, IBV_QPS_RTS,   DOMAIN_OPEN,   ALL,    IBV_MTU_256,  false, SUPPLY_ALWAYS },
	{ IBV_QPT_UC, IBV_QPS_RTS,   DOMAIN_OPEN,   WRITE,  IBV_MTU_1024, true,  SUPPLY_SOMETIMES },
	{ IBV_QPT_UC, IBV_QPS_RTS,   DOMAIN_CLOSED, 0,      IBV_MTU_256,  false, SUPPLY_ALWAYS },
	{ IBV_QPT_UC, IBV_QPS_RTR,   DOMAIN_OPEN,   ALL,    IBV_MTU_256,  false, SUPPLY_BAD },
	{ IBV_QPT_UC, IBV_QPS_SQE,   DOMAIN_OPEN,   ALL,    IBV_MTU_256,  false, SUPPLY_ALWAYS },
	{ IBV_QPT_UC, IBV_QPS_ERR,   DOMAIN_OPEN,   ALL,    IBV_MTU_256,  false, SUPPLY_NEVER },
	{ IBV_QPT_UC, IBV_QPS_SQD,   DOMAIN_OPEN,   ALL,    IBV_MTU_256,  false, SUPPLY_ALWAYS },
	{ IBV_QPT_UC, IBV_QPS_INIT,  DOMAIN_OPEN,   ALL,    IBV_MTU_256,  false, SUPPLY_ALWAYS },
	{ IBV_QPT_UC, IBV_QPS_RESET, DOMAIN_OPEN,   ALL,    IBV_MTU_256,  false, SUPPLY_NEVER },
	{ IBV_QPT_UD, IBV_QPS_RESET, DOMAIN_OPEN,   0,      IBV_MTU_1024, false, SUPPLY_NEVER },
	{ IBV_QPT_UD, IBV_QPS_RTS,   DOMAIN_OPEN,   0,      IBV_MTU_1024, false, SUPPLY_ALWAYS },
	{ IBV_QPT_UD, IBV_QPS_RTS,   DOMAIN_CLOSED, 0,      IBV_MTU_1024, true,  SUPPLY_SOMETIMES },
	{ IBV_QPT_UD, IBV_QPS_RTR,   DOMAIN_OPEN,   0,      IBV_MTU_1024, false, SUPPLY_BAD },
	{ IBV_QPT_UD, IBV_QPS_SQE,   DOMAIN_OPEN,   0,      IBV_MTU_1024, false, SUPPLY_ALWAYS },
	{ IBV_QPT_UD, IBV_QPS_SQD,   DOMAIN_OPEN,   0,      IBV_MTU_1024, false, SUPPLY_NEVER },
	{ IBV_QPT_UD, IBV_QPS_INIT,  DOMAIN_OPEN,   0,      IBV_MTU_1024, false, SUPPLY_ALWAYS },
	{ IBV_QPT_UD, IBV_QPS_ERR,   DOMAIN_OPEN,   0,      IBV_MTU_1024, false, SUPPLY_NEVER },
};
/* clang-format on */
static_assert(RTE_DIM(rows) <= LAND_VICTIMS, "the land has slots for every victim");

const struct uroce_qpc *
victim_qpc(const struct victim *victim)
{
	return &uroce_vqp(victim->qp)->wqp.qpc;
}

static bool
complain(struct victims *victims, const struct victim *victim, const char *what)
{
	static char text[160];

	snprintf(text, sizeof(text), "victim %u (QP type %u, to be in state %u): %s", victim->idx,
		 victim->row->type, victim->row->state, what);
	victims->violation = text;
	return false;
}

/* --- creating victims and bringing them back --------------------------------------------------- */

/*
 * Attach a UD QP to the IPv4 and the IPv6 multicast group, or detach it. QPs of other types have no
 * groups, so the function does nothing for them.
 */
static bool
change_groups(const struct victim *victim,
	      int (*change)(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid))
{
	union ibv_gid gid;
	int ret = 0;

	for (unsigned i = 0; i < 2 && victim->row->type == IBV_QPT_UD; i++) {
		memcpy(gid.raw, fabric_group(i), sizeof(gid.raw));
		ret |= change(victim->qp, &gid, 0);
	}
	return ret == 0;
}

static bool
create(struct victims *victims, struct victim *victim)
{
	struct ibv_qp_init_attr init = {
		.qp_type = victim->row->type,
		.sq_sig_all = 1,
		.send_cq = victim->send.cq,
		.recv_cq = victim->recv.cq,
		.cap = { .max_send_wr = VICTIM_WR,
			 .max_recv_wr = VICTIM_WR,
			 .max_send_sge = 2,
			 .max_recv_sge = 2 },
	};

	victim->qp = uroce_create_qp(victims->land->pd[victim->row->domain], &init);
	return victim->qp != NULL && change_groups(victim, uroce_attach_mcast);
}

static bool
destroy(const struct victim *victim)
{
	return change_groups(victim, uroce_detach_mcast) && uroce_destroy_qp(victim->qp) == 0;
}

static int
to_init(const struct victim *victim)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = victim->row->access,
		.qkey = VICTIM_QKEY,
	};
	const int own = victim->row->type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;

	return uroce_modify_qp(victim->qp, &attr,
			       IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | own);
}

/* The attributes that a QP of each type needs for the move to RTR and for the move to RTS. */
static const struct {
	int rtr;
	int rts;
} masks[] = {
	[IBV_QPT_RC] = { IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
			 IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				 IBV_QP_MAX_QP_RD_ATOMIC },
	[IBV_QPT_UC] = { IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN,
			 IBV_QP_SQ_PSN },
	[IBV_QPT_UD] = { 0, IBV_QP_SQ_PSN },
};

static struct ibv_ah_attr
to_ghost(bool is_ipv6)
{
	struct ibv_ah_attr attr = {
		.is_global = 1,
		.port_num = 1,
		.grh = { .sgid_index = (uint8_t)(ADDR_GID + is_ipv6), .hop_limit = 64 },
	};

	memcpy(attr.grh.dgid.raw, fabric_ip(HOST_GHOST, is_ipv6), 16);
	return attr;
}

/* Draw a start PSN. Half of the start PSNs are among the last ones before the wrap to 0. */
static uint32_t
pick_psn(struct rng *rng)
{
	return (uint32_t)(rng_once_in(rng, 2) ? rng_next(rng) : 0xffffff - rng_below(rng, 16)) &
	       0xffffff;
}

static int
to_rtr(const struct victims *victims, const struct victim *victim)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = victim->row->mtu,
		.dest_qp_num = GHOST_QPN(victim->idx),
		.rq_psn = pick_psn(victims->rng),
		.max_dest_rd_atomic = (uint8_t)rng_below(victims->rng, 5),
		.min_rnr_timer = 1,
		.ah_attr = to_ghost(victim->row->is_ipv6),
	};

	return uroce_modify_qp(victim->qp, &attr, IBV_QP_STATE | masks[victim->row->type].rtr);
}

static int
to_rts(const struct victims *victims, const struct victim *victim)
{
	struct rng *rng = victims->rng;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = pick_psn(rng),
		.timeout = (uint8_t)(rng_once_in(rng, 4) ? 0 : 4 + rng_below(rng, 6)),
		.retry_cnt = (uint8_t)rng_below(rng, 8),
		.rnr_retry = (uint8_t)rng_below(rng, 8),
		.max_rd_atomic = (uint8_t)(1 + rng_below(rng, 4)),
	};

	return uroce_modify_qp(victim->qp, &attr, IBV_QP_STATE | masks[victim->row->type].rts);
}

static int
to_state(const struct victim *victim, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	return uroce_modify_qp(victim->qp, &attr, IBV_QP_STATE);
}

/* Post a send request with an invalid lkey. The request fails, which moves UC and UD QPs to SQE. */
static int
post_impossible(const struct victims *victims, struct victim *victim)
{
	struct ibv_sge sge = { (uintptr_t)victims->land->dead_at, 8,
			       victims->land->dead_key[victim->row->domain] };
	struct ibv_send_wr *bad, wr = {
		.wr_id = victim->send.nb_posted,
		.opcode = IBV_WR_SEND,
		.sg_list = &sge,
		.num_sge = 1,
	};
	int ret;

	if (victim->row->type == IBV_QPT_UD) {
		wr.wr.ud.ah = victims->ah[victim->row->domain][0];
		wr.wr.ud.remote_qpn = GHOST_QPN(victim->idx);
	}
	ret = uroce_post_send(victim->qp, &wr, &bad);
	victim->send.nb_posted += ret == 0;
	return ret;
}

/*
 * Move a victim from RESET to the state of its row. If that state is SQE, the function posts a
 * request that fails later. The failure moves the victim to SQE.
 */
static int
bring_up(const struct victims *victims, struct victim *victim)
{
	const enum ibv_qp_state state = victim->row->state;
	int ret = 0;

	if (state == IBV_QPS_RESET)
		return 0;
	ret = to_init(victim);
	if (ret == 0 && state != IBV_QPS_INIT)
		ret = to_rtr(victims, victim);
	if (ret == 0 && state != IBV_QPS_INIT && state != IBV_QPS_RTR)
		ret = to_rts(victims, victim);
	if (ret == 0 && (state == IBV_QPS_SQD || state == IBV_QPS_ERR))
		ret = to_state(victim, state);
	if (ret == 0 && state == IBV_QPS_SQE)
		ret = post_impossible(victims, victim);
	return ret;
}

static void
forget_requests(struct victim_queue *queue)
{
	queue->nb_done = queue->nb_posted;
	queue->has_failed = false;
}

static bool
revive(struct victims *victims, struct victim *victim)
{
	victims->nb_revived++;
	if (!fabric_introduce(victims->fabric))
		return complain(victims, victim, "the neighbours cannot be found any more");
	if (rng_once_in(victims->rng, RECREATE_ONCE)) {
		victims->nb_recreated++;
		if (!destroy(victim) || !create(victims, victim))
			return complain(victims, victim, "cannot be created again");
	} else if (to_state(victim, IBV_QPS_RESET) != 0) {
		return complain(victims, victim, "cannot be reset");
	}
	forget_requests(&victim->send);
	forget_requests(&victim->recv);
	return bring_up(victims, victim) == 0 ||
	       complain(victims, victim, "cannot be brought to its state");
}

/* --- requests ---------------------------------------------------------------------------------- */

static int
post_recv(const struct victims *victims, struct victim *victim)
{
	const bool is_bad = victim->row->supply == SUPPLY_BAD;
	const unsigned slot = (unsigned)(victim->recv.nb_posted % VICTIM_WR);
	const uint32_t len = rng_once_in(victims->rng, 4) ? rng_below(victims->rng, 300) : 1200;
	struct ibv_recv_wr *bad, wr = { .wr_id = victim->recv.nb_posted };
	struct ibv_sge sge[2];
	int ret;

	wr.sg_list = sge;
	wr.num_sge = land_slot(victims->land, victim->row->domain, victim->idx, slot, len, sge);
	if (is_bad)
		sge[rng_below(victims->rng, (uint32_t)wr.num_sge)].lkey =
			victims->land->dead_key[victim->row->domain];
	victim->recv_len[slot] = len;
	ret = uroce_post_recv(victim->qp, &wr, &bad);
	victim->recv.nb_posted += ret == 0;
	return ret;
}

static enum ibv_wr_opcode
pick_opcode(enum ibv_qp_type type, struct rng *rng)
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_SEND,
		IBV_WR_SEND_WITH_IMM,
		IBV_WR_RDMA_WRITE,
		IBV_WR_RDMA_WRITE_WITH_IMM,
		IBV_WR_RDMA_READ,
		IBV_WR_ATOMIC_CMP_AND_SWP,
		IBV_WR_ATOMIC_FETCH_AND_ADD,
	};
	static const unsigned nb[] = { [IBV_QPT_RC] = 7, [IBV_QPT_UC] = 4, [IBV_QPT_UD] = 2 };

	return opcodes[rng_below(rng, nb[type])];
}

/*
 * Choose the memory of a send request: the memory of the data to send, or of the response.
 * @return number of scatter-gather elements
 */
static int
choose_memory(const struct victims *victims, const struct victim *victim, enum ibv_wr_opcode opcode,
	      struct ibv_sge sge[2])
{
	const enum domain domain = victim->row->domain;
	const struct plot_info *bare = &victims->land->plot[domain][PLOT_BARE];
	const unsigned slot = VICTIM_WR + (unsigned)(victim->send.nb_posted % VICTIM_WR);
	struct rng *rng = victims->rng;
	const uint32_t len = rng_once_in(rng, 8) ? 0 : 1 + rng_below(rng, 1000);
	int nb = 1;

	if (opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		nb = land_slot(victims->land, domain, victim->idx, slot, 8, sge);
	else if (opcode == IBV_WR_RDMA_READ)
		nb = land_slot(victims->land, domain, victim->idx, slot, len, sge);
	else
		sge[0] = (struct ibv_sge){ (uintptr_t)bare->at + rng_below(rng, bare->len - len),
					   len, bare->mr->lkey };
	/* An invalid lkey lets the request fail, or prevents the response from being written. */
	if (rng_once_in(rng, 256))
		sge[0].lkey = victims->land->dead_key[domain];
	return nb;
}

static int
post_send(const struct victims *victims, struct victim *victim)
{
	struct rng *rng = victims->rng;
	struct ibv_sge sge[2];
	struct ibv_send_wr *bad, wr = {
		.wr_id = victim->send.nb_posted,
		.opcode = pick_opcode(victim->row->type, rng),
		.imm_data = 0x01020304,
		.sg_list = sge,
	};
	int ret;

	wr.num_sge = choose_memory(victims, victim, wr.opcode, sge);
	if (victim->row->type == IBV_QPT_UD) {
		wr.wr.ud.ah = victims->ah[victim->row->domain][victim->row->is_ipv6];
		wr.wr.ud.remote_qpn = GHOST_QPN(victim->idx);
		wr.wr.ud.remote_qkey = VICTIM_QKEY;
	} else if (wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
		   wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = rng_next(rng) & ~UINT64_C(7);
		wr.wr.atomic.rkey = (uint32_t)rng_next(rng);
	} else {
		wr.wr.rdma.remote_addr = rng_next(rng);
		wr.wr.rdma.rkey = (uint32_t)rng_next(rng);
	}
	ret = uroce_post_send(victim->qp, &wr, &bad);
	victim->send.nb_posted += ret == 0;
	return ret;
}

static bool
supply(struct victims *victims, struct victim *victim)
{
	const struct victim_row *row = victim->row;
	struct rng *rng = victims->rng;
	int ret = 0;

	if (row->supply != SUPPLY_NEVER && row->state != IBV_QPS_RESET &&
	    (row->supply != SUPPLY_SOMETIMES || rng_once_in(rng, 16))) {
		while (ret == 0 && victim->recv.nb_posted - victim->recv.nb_done < VICTIM_WR / 2)
			ret = post_recv(victims, victim);
	}
	while (ret == 0 && row->state == IBV_QPS_RTS &&
	       victim->send.nb_posted - victim->send.nb_done < NB_OUT)
		ret = post_send(victims, victim);
	/* A victim in SQD does not start the requests that are posted here. */
	if (ret == 0 && row->state == IBV_QPS_SQD &&
	    victim->send.nb_posted - victim->send.nb_done < VICTIM_WR)
		ret = post_send(victims, victim);
	return ret == 0 || complain(victims, victim, "a request cannot be posted");
}

/* --- completions ------------------------------------------------------------------------------- */

static const char *
check_completion(struct victims *victims, const struct victim *victim, struct victim_queue *queue,
		 const struct ibv_wc *wc)
{
	const bool is_send = queue == &victim->send;

	if (wc->wr_id != queue->nb_done)
		return "a completion out of order, or one too many";
	if (queue->nb_done++ == queue->nb_posted)
		return "a completion of what was never posted";
	if (wc->qp_num != victim->qp->qp_num)
		return "a completion of another QP";
	if (wc->status == IBV_WC_SUCCESS) {
		victims->nb_completions[!is_send]++;
		if (!is_send && wc->opcode == IBV_WC_RECV &&
		    wc->byte_len > victim->recv_len[wc->wr_id % VICTIM_WR])
			return "a receive longer than its memory";
		return queue->has_failed ? "success after a failure" : NULL;
	}
	if (wc->status != IBV_WC_WR_FLUSH_ERR) {
		victims->nb_failures++;
		if (queue->has_failed)
			return "a second failure that is no flush";
	}
	queue->has_failed = true;
	return NULL;
}

static bool
take_completions(struct victims *victims, struct victim *victim, struct victim_queue *queue)
{
	struct ibv_wc wc[16];
	int nb;

	do {
		nb = uroce_poll_cq(queue->cq, RTE_DIM(wc), wc);
		if (nb < 0)
			return complain(victims, victim, "a CQ overran");
		for (int i = 0; i < nb; i++) {
			const char *wrong = check_completion(victims, victim, queue, &wc[i]);

			if (wrong)
				return complain(victims, victim, wrong);
		}
	} while (nb == (int)RTE_DIM(wc));
	return true;
}

/*
 * Whether a victim has left the state of its row. A victim that shall enter SQE may still be in
 * RTS.
 */
static bool
is_lost(const struct victim *victim)
{
	const enum ibv_qp_state now = (enum ibv_qp_state)victim_qpc(victim)->state;
	const enum ibv_qp_state wanted = victim->row->state;

	return now != wanted && !(wanted == IBV_QPS_SQE && now == IBV_QPS_RTS);
}

static void
take_events(struct victims *victims)
{
	struct ibv_async_event event;

	while (uroce_get_async_event(victims->fabric->context[HOST_TARGET], &event) == 0) {
		victims->nb_events++;
		uroce_ack_async_event(&event);
	}
}

bool
victims_tend(struct victims *victims)
{
	for (unsigned i = 0; i < victims->nb; i++) {
		struct victim *victim = &victims->all[i];
		const bool is_spent =
			victim->row->state == IBV_QPS_SQE && rng_once_in(victims->rng, 64);

		if (!take_completions(victims, victim, &victim->send) ||
		    !take_completions(victims, victim, &victim->recv))
			return false;
		if ((is_lost(victim) || is_spent || rng_once_in(victims->rng, 4096)) &&
		    !revive(victims, victim))
			return false;
		if (!supply(victims, victim))
			return false;
	}
	if (rng_once_in(victims->rng, 16))
		take_events(victims);
	return true;
}

/* --- open and close ---------------------------------------------------------------------------- */

static bool
open_one(struct victims *victims, unsigned idx)
{
	struct ibv_context *context = victims->fabric->context[HOST_TARGET];
	struct victim *victim = &victims->all[idx];

	*victim = (struct victim){
		.row = &rows[idx],
		.idx = idx,
		.worker = idx % TARGET_WORKERS,
	};
	victims->fabric->granted[idx] = victim->row->access;
	victim->send.cq = uroce_create_cq(context, 4 * VICTIM_WR, NULL, NULL, (int)victim->worker);
	victim->recv.cq = uroce_create_cq(context, 4 * VICTIM_WR, NULL, NULL, (int)victim->worker);
	return victim->send.cq && victim->recv.cq && create(victims, victim) &&
	       bring_up(victims, victim) == 0;
}

bool
victims_open(struct victims *victims, struct fabric *fabric, struct land *land, struct rng *rng)
{
	const int fd = fabric->context[HOST_TARGET]->async_fd;

	*victims = (struct victims){ .fabric = fabric, .land = land, .rng = rng };
	if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) != 0)
		return false;
	for (unsigned i = 0; i < 2 * DOMAIN_NB; i++) {
		struct ibv_ah_attr attr = to_ghost(i % 2);

		victims->ah[i / 2][i % 2] = uroce_create_ah(land->pd[i / 2], &attr);
		if (!victims->ah[i / 2][i % 2])
			return false;
	}
	victims->nb = RTE_DIM(rows);
	victims->all = calloc(victims->nb, sizeof(*victims->all));
	for (unsigned i = 0; victims->all && i < victims->nb; i++) {
		if (!open_one(victims, i))
			return false;
	}
	return victims->all != NULL;
}

void
victims_close(struct victims *victims)
{
	take_events(victims);
	for (unsigned i = 0; i < victims->nb; i++) {
		(void)destroy(&victims->all[i]);
		(void)uroce_destroy_cq(victims->all[i].send.cq);
		(void)uroce_destroy_cq(victims->all[i].recv.cq);
	}
	for (unsigned i = 0; i < 2 * DOMAIN_NB; i++)
		(void)uroce_destroy_ah(victims->ah[i / 2][i % 2]);
	free(victims->all);
}
