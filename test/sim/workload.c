/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Draws worlds at random. Initial PSNs are often shortly before the wrap of PSNs. Most networks
 * have only one or two kinds of faults.
 */

#include "workload.h"

#include <assert.h>
#include <string.h>
#include <sys/param.h>

#include "app_ops.h"
#include "mcast.h"
#include "host.h"
#include "life.h"
#include "oracle.h"
#include "plan.h"
#include "shared.h"
#include "signed.h"
#include "mem/mw.h"

#define PIECES_LEN   (1u << 20)
#define SIGNED_LEN   (256u << 10)
#define REQUESTS_MAX 160

#define US           1000u
#define MS           1000000u

#define ACCESS_ALL                                                                                 \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND | UROCE_ACCESS_FLUSH_GLOBAL |               \
	 UROCE_ACCESS_FLUSH_PERSISTENT)

/* --- drawing the network --- */

static void
draw_faults(struct world *world, struct link *link)
{
	static const uint32_t levels[] = { 100, 1000, 5000, 20000, 60000 };
	struct rng *rng = &world->rng;
	const unsigned nb_levels = sizeof(levels) / sizeof(levels[0]);

	if (!rng_one_in(rng, 3)) {
		link->lose_ppm = levels[rng_below(rng, nb_levels)];
		link->burst_len = rng_one_in(rng, 4) ? rng_between(rng, 1, 12) : 0;
	}
	if (rng_one_in(rng, 3))
		link->repeat_ppm = levels[rng_below(rng, nb_levels)];
	if (rng_one_in(rng, 3))
		link->late_ppm = levels[rng_below(rng, nb_levels)];
	link->late_ns = rng_between(rng, 1, rng_one_in(rng, 3) ? 200 * US : 8 * US);
	if (rng_one_in(rng, 4))
		link->spoil_ppm = levels[rng_below(rng, nb_levels - 1)];
	while (link->nb_blackouts < BLACKOUTS_MAX && rng_one_in(rng, 8)) {
		const uint64_t begin_ns = rng_below(rng, 5 * MS);
		const uint32_t len_ns =
			rng_between(rng, 1 * US, rng_one_in(rng, 4) ? 100 * MS : 500 * US);

		link->blackouts[link->nb_blackouts].begin_ns = begin_ns;
		link->blackouts[link->nb_blackouts++].end_ns = begin_ns + len_ns;
	}
}

static void
draw_network(struct world *world)
{
	static const uint64_t rates_gbps[] = { 1, 10, 25, 40, 100, 100, 200 };
	struct rng *rng = &world->rng;
	const uint32_t nb_hosts = rng_one_in(rng, 3) ? rng_between(rng, 3, 5) : 2;
	const uint64_t rate = rates_gbps[rng_below(rng, 7)] * 1000000000;
	const uint32_t delay_ns =
		rng_one_in(rng, 8) ? rng_below(rng, 500 * US) : rng_below(rng, 10 * US);
	const bool is_hostile = !rng_one_in(rng, 10);

	for (uint32_t i = 0; i < nb_hosts; i++) {
		struct host *host = world_add_host(world);
		struct link *link = &host->link;

		link->rate_bps = rate;
		link->delay_ns = delay_ns;
		if (rng_one_in(rng, 3))
			link->queue_len = rng_between(rng, 10000, 400000);
		if (rng_one_in(rng, 2)) {
			link->mark_min = rng_between(rng, 1000, 50000);
			link->mark_max = 2 * link->mark_min;
			link->mark_ppm = 500000;
		}
		if (is_hostile)
			draw_faults(world, link);
		host->gap_ns = rng_between(rng, 50, rng_one_in(rng, 3) ? 5000 : 500);
		host->burst = rng_one_in(rng, 3) ? rng_between(rng, 1, 8) : 32;
		host->run_max = rng_one_in(rng, 2) ? rng_between(rng, 2, 64) : 1;
		if (rng_one_in(rng, 5))
			host->rx_room = rng_between(rng, 16, 256);
		/* small reorder buffers are drawn often, so that their entries run out */
		if (!rng_one_in(rng, 5)) {
			const uint32_t nb_gaps = rng_one_in(rng, 3) ? rng_between(rng, 1, 3) : 16;

			host_add_hold(world, host, nb_gaps,
				      rng_one_in(rng, 3) ? rng_between(rng, 1, 30) : 512);
		}
	}
	world->calm_ns = rng_between(rng, 1 * MS, rng_one_in(rng, 2) ? 5 * MS : 400 * MS);
	if (!is_hostile)
		world->calm_ns = 0;
}

/* --- drawing and creating connections --- */

static uint32_t
draw_psn(struct rng *rng)
{
	return rng_one_in(rng, 2) ? 0xffffff - rng_below(rng, 600) : rng_below(rng, 1 << 24);
}

static struct qp_conf
draw_conf(struct world *world, const struct plan_budget *budget)
{
	struct rng *rng = &world->rng;
	const uint32_t kind = rng_below(rng, 20);
	struct qp_conf conf = {
		.type = kind < 11   ? IBV_QPT_RC
			: kind < 15 ? IBV_QPT_XRC_SEND
			: kind < 18 ? IBV_QPT_UC
				    : IBV_QPT_UD,
		.max_requests = REQUESTS_MAX,
		.access = ACCESS_ALL,
	};

	/*
	 * The following fields are set in separate statements, because C does not define the order
	 * in which initialisers are evaluated.
	 */
	conf.mtu = (enum ibv_mtu)rng_between(rng, IBV_MTU_256, IBV_MTU_4096);
	conf.is_ipv6 = rng_one_in(rng, 3);
	conf.all_signaled = rng_one_in(rng, 4);
	conf.tclass = (uint8_t)rng_below(rng, 255);
	conf.sq_len = rng_between(rng, 1, 64);
	conf.max_sge = rng_between(rng, 1, 6);
	conf.max_inline = rng_one_in(rng, 2) ? 220 : 0;
	conf.timeout = (uint8_t)rng_between(rng, 4, 14);
	conf.retry_cnt = rng_one_in(rng, 6) ? (uint8_t)rng_below(rng, 7) : 7;
	conf.rnr_retry = rng_one_in(rng, 6) ? (uint8_t)rng_below(rng, 7) : 7;
	conf.min_rnr_timer = (uint8_t)rng_between(rng, 1, 14);
	conf.max_rd_atomic = (uint8_t)rng_between(rng, 1, UROCE_RD_ATOMIC_MAX);
	if (budget->huge)
		conf.mtu = rng_one_in(rng, 4) ? IBV_MTU_2048 : IBV_MTU_4096;
	conf.is_req_gbn = rng_one_in(rng, 4);
	conf.is_resp_gbn = rng_one_in(rng, 4);
	if (rng_one_in(rng, 3))
		conf.window_psns = (uint16_t)(rng_one_in(rng, 3)
						      /*
						       * fewer packets than the send queue has
						       * requests
						       */
						      ? rng_between(rng, 4, 64)
						      : rng_between(rng, 128, UROCE_WINDOW_MAX));
	conf.max_dest_rd_atomic =
		(uint8_t)rng_between(rng, conf.max_rd_atomic, UROCE_RD_ATOMIC_MAX);
	/* avoid timeouts shorter than the round trip: they cause retransmissions without loss */
	if (world->hosts[0].link.delay_ns > 20 * US && conf.timeout < 9)
		conf.timeout = 11;
	return conf;
}

static void
draw_pace(struct qp *qp)
{
	struct rng *rng = &qp->world->rng;
	const uint64_t now_ns = qp->world->now_ns;

	qp->post_ns = now_ns + rng_below(rng, 20 * US);
	if (rng_one_in(rng, 3))
		qp->pace_ns = rng_between(rng, 1, 20 * US);
	if (!rng_one_in(rng, 4))
		return;
	qp->recv_ns = now_ns + rng_below(rng, 300 * US);
	qp->recv_pace_ns = rng_between(rng, 1, 100 * US);
}

static struct host *
draw_host(struct world *world, const struct host *other)
{
	for (uint32_t i = 0; i < 20; i++) {
		struct host *host = &world->hosts[rng_below(&world->rng, world->nb_hosts)];

		if (!host->is_dead && host != other)
			return host;
	}
	return NULL;
}

static struct qp *
make_end(struct world *world, struct host *host, struct qp_conf conf)
{
	conf.psn = draw_psn(&world->rng);
	return qp_create(world, host, &conf);
}

/* Create the host's shared receive queue, unless the host has one. */
static void
share(struct world *world, struct host *host, uint32_t buf_len)
{
	if (!host->shared)
		host->shared = shared_create(world, host, rng_between(&world->rng, 2, 16),
					     MIN(buf_len, 65536), false);
}

/*
 * Create the host's XRC shared receive queues, unless the host has them. All have buffers of one
 * length.
 */
static void
share_xrc(struct world *world, struct host *host, uint32_t buf_len)
{
	for (unsigned i = 0; i < XRC_SRQS && !host->xrc[XRC_SRQS - 1]; i++)
		host->xrc[i] = shared_create(world, host, rng_between(&world->rng, 2, 16),
					     MIN(buf_len, 65536), true);
}

/*
 * Draw parameters of congestion control with short times and small amounts of data, so that every
 * phase occurs within milliseconds.
 */
static const struct uroce_cc_conf *
draw_cc(struct world *world)
{
	struct rng *rng = &world->rng;
	struct uroce_cc_conf *cc = world_alloc(world, sizeof(*cc));

	uroce_cc_conf_init(cc);
	(void)uroce_cc_find("dcqcn", &cc->ops);
	cc->rate_mbps = (uint32_t)(world->hosts[0].link.rate_bps / 1000000);
	cc->min_mbps = rng_between(rng, 100, 1000);
	cc->ai_mbps = rng_between(rng, 1, cc->rate_mbps / 20);
	cc->hai_mbps = rng_between(rng, 1, cc->rate_mbps / 10);
	cc->gain = rng_one_in(rng, 2) ? 256 : rng_between(rng, 2, 64);
	cc->cnp_us = rng_between(rng, 1, 50);
	cc->alpha_us = cc->cnp_us + rng_between(rng, 1, 50);
	cc->timer_us = rng_between(rng, 5, 200);
	cc->byte_kb = rng_between(rng, 10, 500);
	cc->stages = rng_between(rng, 1, 5);
	cc->cnp_dscp = rng_below(rng, 64);
	cc->burst_kb = rng_between(rng, 1, 64);
	cc->reduce_us = cc->cnp_us / 2;
	return cc;
}

static void
plan_traffic(struct qp *a, struct qp *b, const struct plan_budget *budget, bool is_both)
{
	const uint32_t area = PLAN_ATOMICS_LEN + PLAN_OVERLAP_LEN + PLAN_GAP;
	struct plan_pieces of_a = { area, a->pieces_end }, of_b = { area, b->pieces_end };

	plan_requests(a, budget, &of_a, &of_b);
	if (is_both && a->conf.type != IBV_QPT_XRC_SEND)
		plan_requests(b, budget, &of_b, &of_a);
	draw_pace(a);
	draw_pace(b);
	host_wake(a->world, a->host, a->post_ns);
	host_wake(b->world, b->host, b->post_ns);
}

static void
connect_ends(struct world *world, const struct plan_budget *budget)
{
	struct host *host_a = draw_host(world, NULL), *host_b = draw_host(world, host_a);
	struct qp_conf conf = draw_conf(world, budget);
	const bool is_both = rng_one_in(&world->rng, 2);

	if (!host_a || !host_b)
		return;
	const uint32_t pieces_len = PIECES_LEN + (budget->huge ? PLAN_HUGE_LEN + 65536 : 0);

	conf.recv_len = conf.type == IBV_QPT_UD ? (128u << conf.mtu) + 40
						: rng_between(&world->rng, 1, 40) << 10;
	if (budget->huge && conf.type == IBV_QPT_RC && rng_one_in(&world->rng, 2))
		conf.recv_len = budget->huge;
	conf.nb_bufs = conf.recv_len > 65536 ? 1 : rng_between(&world->rng, 1, 24);
	conf.rq_len = conf.nb_bufs;
	const uint32_t area = PLAN_ATOMICS_LEN + PLAN_OVERLAP_LEN + PLAN_GAP;

	if (conf.type == IBV_QPT_XRC_SEND) {
		share_xrc(world, host_b, conf.recv_len);
		conf.recv_len = MIN(conf.recv_len, host_b->xrc[0]->buf_len);
	} else if (conf.type != IBV_QPT_UD && rng_one_in(&world->rng, 3)) {
		conf.is_shared = true;
		share(world, host_a, conf.recv_len);
		share(world, host_b, conf.recv_len);
		/* limit messages to the buffers of both hosts' shared queues */
		conf.recv_len =
			MIN(conf.recv_len, MIN(host_a->shared->buf_len, host_b->shared->buf_len));
	}
	conf.mem_len = area + pieces_len + conf.nb_bufs * (conf.recv_len + 16);
	/*
	 * a responder at the lowest rate sends slowly: its response must arrive within the
	 * requester's timeout
	 */
	if (conf.type != IBV_QPT_UD && rng_one_in(&world->rng, 3)) {
		conf.cc = draw_cc(world);
		conf.timeout = conf.timeout < 11 ? 11 : conf.timeout;
	}
	struct qp *a = make_end(world, host_a, conf);

	if (conf.type == IBV_QPT_XRC_SEND)
		conf.type = IBV_QPT_XRC_RECV;
	struct qp *b = make_end(world, host_b, conf);

	a->pieces_end = b->pieces_end = area + pieces_len;
	if (rng_one_in(&world->rng, 8)) {
		qp_connect_half(a, b);
		life_plan(world, LIFE_READY, world->nb_qps - 1,
			  world->now_ns + rng_below(&world->rng, 200 * US), 0);
	} else {
		qp_connect(a, b);
	}
	if (qp_is_reliable(a) && rng_one_in(&world->rng, 2)) {
		const enum uroce_mw_kind kind =
			(enum uroce_mw_kind)rng_between(&world->rng, UROCE_MW_1, UROCE_MW_2B);

		a->is_window_zero_based = b->is_window_zero_based = rng_one_in(&world->rng, 3);
		qp_make_windows(a, kind);
		qp_make_windows(b, kind);
	}
	if (conf.type != IBV_QPT_UD && rng_one_in(&world->rng, 5)) {
		const uint8_t mortal = (uint8_t)rng_below(&world->rng, 4);

		conduct_make_mortal(b, mortal, rng_one_in(&world->rng, 2));
		life_plan(world, LIFE_WITHDRAW, world->nb_qps - 1,
			  world->now_ns + rng_below(&world->rng, 1 * MS), 0);
	}
	plan_traffic(a, b, budget, is_both);
}

/*
 * Create a multicast group: one QP sends; its members are on the sender's host and on other hosts.
 */
static void
connect_group(struct world *world)
{
	struct rng *rng = &world->rng;
	const struct plan_budget budget = { .requests = 1 };
	struct plan_budget group = { .requests = rng_between(rng, 5, 80), .packets = 80 };
	struct qp_conf conf = draw_conf(world, &budget);
	const uint32_t nb = rng_between(rng, 1, 5), first = world->nb_qps;
	struct plan_pieces none = { 0, 0 };

	conf.type = IBV_QPT_UD;
	conf.recv_len = (128u << conf.mtu) + 40;
	conf.nb_bufs = rng_between(rng, 1, 24);
	conf.rq_len = conf.nb_bufs;
	conf.mem_len = PLAN_ATOMICS_LEN + PLAN_OVERLAP_LEN + PLAN_GAP +
		       conf.nb_bufs * (conf.recv_len + 16);
	struct qp *sender = make_end(world, draw_host(world, NULL), conf);

	sender->is_to_group = true;
	for (uint32_t i = 0; i < nb; i++) {
		struct qp *member = make_end(world, draw_host(world, NULL), conf);

		qp_link(sender, member);
		group_join(member);
	}
	for (uint32_t i = first; i < world->nb_qps; i++) {
		for (int state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++)
			qp_modify(world->qps[i], (enum ibv_qp_state)state);
	}
	plan_requests(sender, &group, &none, &none);
	for (uint32_t i = first; i < world->nb_qps; i++) {
		world->qps[i]->nb_recv_planned = sender->peer->nb_recv_planned;
		draw_pace(world->qps[i]);
		host_wake(world, world->qps[i]->host, world->qps[i]->post_ns);
	}
	while (rng_one_in(rng, 2)) {
		const uint32_t whom = first + 1 + rng_below(rng, nb);
		const uint64_t at_ns = rng_below(rng, 1 * MS);

		life_plan(world, LIFE_LEAVE, whom, at_ns, 0);
		life_plan(world, LIFE_JOIN, whom, at_ns + rng_below(rng, 1 * MS), 0);
	}
}

/* Connect two ends whose requests use mkeys. */
static void
connect_signed(struct world *world)
{
	struct rng *rng = &world->rng;
	const struct plan_budget budget = { .requests = 1 };
	struct host *host_a = draw_host(world, NULL), *host_b = draw_host(world, host_a);
	struct qp_conf conf = draw_conf(world, &budget);
	const uint32_t area = PLAN_ATOMICS_LEN + PLAN_OVERLAP_LEN + PLAN_GAP;
	struct plan_pieces ours = { area, area + SIGNED_LEN }, theirs = ours;

	conf.type = IBV_QPT_RC;
	conf.is_pipelined = rng_one_in(rng, 2);
	conf.recv_len = rng_between(rng, 1, 24) << 10;
	conf.nb_bufs = rng_between(rng, 1, 8);
	conf.rq_len = conf.nb_bufs;
	conf.mem_len = area + SIGNED_LEN + conf.nb_bufs * (conf.recv_len + 16);
	struct qp *a = make_end(world, host_a, conf), *b = make_end(world, host_b, conf);

	a->pieces_end = b->pieces_end = area + SIGNED_LEN;
	qp_connect(a, b);
	signed_begin(a, b);
	signed_plan(a, rng_between(rng, 4, 40), &ours, &theirs);
	if (rng_one_in(rng, 2))
		signed_plan(b, rng_between(rng, 4, 40), &theirs, &ours);
	draw_pace(a);
	draw_pace(b);
	host_wake(world, a->host, a->post_ns);
	host_wake(world, b->host, b->post_ns);
}

void
workload_connect(struct world *world)
{
	struct plan_budget budget = { .huge = 0 };

	budget.requests = rng_between(&world->rng, 1, 40);
	budget.packets = rng_between(&world->rng, 10, 400);
	if (world->nb_qps + 2 <= 40)
		connect_ends(world, &budget);
}

/*
 * Choose an initial PSN that is far, in either direction, from all PSNs of the previous connection.
 */
static void
renumber(struct qp *qp)
{
	struct rng *rng = &qp->world->rng;
	const uint32_t distance = rng_between(rng, 0x300000, 0x600000);

	qp->conf.psn = (qp->conf.psn + (rng_one_in(rng, 2) ? distance : -distance)) & 0xffffff;
}

static bool
is_reconnectable(const struct qp *a, const struct qp *b)
{
	/*
	 * UC and UD are not reconnected, because they cannot tell a late message of the old
	 * connection from a new one
	 */
	return !a->is_gone && !b->is_gone && b->peer == a && !a->is_lenient && !a->is_signed;
}

/* Connect two QPs in RESET, which were connected before, and plan new requests. */
static void
begin_life(struct world *world, struct qp *a, struct qp *b)
{
	struct plan_budget budget = { .huge = 0 };

	/*
	 * do not reuse the windows, because the number of their binds and invalidations that were
	 * executed is unknown
	 */
	a->window = b->window = a->own_key = b->own_key = 0;
	a->dead_window = b->dead_window = 0;
	a->own_bound = b->own_bound = 0;
	qp_connect(a, b);
	budget.requests = rng_between(&world->rng, 1, 40);
	budget.packets = rng_between(&world->rng, 10, 800);
	plan_traffic(a, b, &budget, rng_one_in(&world->rng, 2));
}

bool
workload_reconnect(struct world *world, struct qp *qp)
{
	struct qp *a = qp->conf.type == IBV_QPT_XRC_RECV ? qp->peer : qp, *b = a->peer;

	if (!is_reconnectable(a, b))
		return false;
	qp_modify(a, IBV_QPS_RESET);
	qp_modify(b, IBV_QPS_RESET);
	oracle_buried(a, b);
	oracle_reborn(a);
	oracle_reborn(b);
	renumber(a);
	renumber(b);
	begin_life(world, a, b);
	return true;
}

bool
workload_reuse(struct world *world, struct qp *qp, void (*settle)(struct world *world))
{
	struct qp *a = qp, *b = a->peer;

	if (!is_reconnectable(a, b))
		return false;
	settle(world);
	qp_modify(a, IBV_QPS_RESET);
	settle(world);
	qp_modify(b, IBV_QPS_RESET);
	settle(world);
	oracle_buried(a, b);
	oracle_reborn(a);
	oracle_reborn(b);
	begin_life(world, a, b);
	return true;
}

/* --- events of hosts and QPs (life.h) --- */

static void
plan_lives(struct world *world)
{
	struct rng *rng = &world->rng;

	while (rng_one_in(rng, 3)) {
		const uint32_t whom = rng_below(rng, world->nb_hosts);
		const uint64_t at_ns = rng_below(rng, 3 * MS);

		life_plan(world, LIFE_STALL, whom, at_ns, rng_between(rng, 1 * US, 5 * MS));
	}
	while (rng_one_in(rng, 3)) {
		const uint32_t whom = rng_below(rng, world->nb_qps);
		const uint64_t at_ns = rng_below(rng, 1 * MS);

		life_plan(world, LIFE_DRAIN, whom, at_ns, 0);
		const uint32_t sqd_ns = rng_below(rng, 3 * MS);

		while (rng_one_in(rng, 2))
			life_plan(world, LIFE_CANCEL, whom, at_ns + rng_below(rng, sqd_ns + 1), 0);
		while (rng_one_in(rng, 3))
			life_plan(world, LIFE_TUNE, whom, at_ns + rng_below(rng, sqd_ns + 1), 0);
		life_plan(world, LIFE_RESUME, whom, at_ns + sqd_ns, 0);
		/*
		 * if the send queue had not drained when the QP was to leave SQD, try again at a
		 * time when it has certainly drained
		 */
		life_plan(world, LIFE_RESUME, whom, 10000 * (uint64_t)MS, 0);
	}
	if (rng_one_in(rng, 8)) {
		const enum life_kind kind = rng_one_in(rng, 2) ? LIFE_KILL : LIFE_DESTROY;
		const uint32_t whom = rng_below(rng, world->nb_qps);

		life_plan(world, kind, whom, rng_below(rng, 1 * MS), 0);
	}
	while (rng_one_in(rng, 8)) {
		const uint32_t whom = rng_below(rng, world->nb_qps);
		const uint64_t at_ns = rng_below(rng, 2 * MS);

		if (rng_one_in(rng, 2))
			life_plan(world, LIFE_RESET, whom, at_ns, 0);
		life_plan(world, LIFE_RECONNECT, whom, at_ns + rng_below(rng, 2 * MS), 0);
	}
	if (rng_one_in(rng, 20)) {
		const uint32_t whom = rng_below(rng, world->nb_hosts);
		const uint64_t at_ns = rng_below(rng, 1 * MS);

		life_plan(world, LIFE_DIE, whom, at_ns, 0);
		life_plan(world, LIFE_RETURN, whom, at_ns + rng_below(rng, 2 * MS), 0);
	}
	while (rng_one_in(rng, 4))
		life_plan(world, LIFE_BIRTH, 0, rng_below(rng, 4 * MS), 0);
	while (rng_one_in(rng, 3)) {
		const uint32_t whom = rng_below(rng, world->nb_hosts);
		const uint64_t at_ns = rng_below(rng, 2 * MS);

		life_plan(world, LIFE_BLOCK, whom, at_ns, rng_between(rng, 1 * US, 5 * MS));
	}
}

static uint32_t
draw_huge(struct rng *rng)
{
	if (!rng_one_in(rng, 40))
		return 0;
	return rng_one_in(rng, 3) ? PLAN_HUGE_LEN : rng_between(rng, 1 << 18, PLAN_HUGE_LEN);
}

void
workload_make(struct world *world)
{
	struct rng *rng = &world->rng;

	draw_network(world);
	const uint32_t nb = rng_one_in(rng, 3) ? rng_between(rng, 2, 6) : rng_between(rng, 1, 2);

	for (uint32_t i = 0; i < nb; i++) {
		struct plan_budget budget = { .huge = i == 0 ? draw_huge(rng) : 0 };

		budget.requests = rng_between(rng, 8, 150);
		budget.packets = rng_between(rng, 2200, 6600) / nb;
		connect_ends(world, &budget);
	}
	if (rng_one_in(rng, 6))
		connect_group(world);
	if (signed_is_in(world->seed))
		connect_signed(world);
	plan_lives(world);
}
