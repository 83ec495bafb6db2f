/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Random traffic: both hosts post requests of every kind and size over a wire that loses,
 * duplicates, delays and corrupts frames. Every byte must arrive where it should and nowhere else.
 * Every request must complete once and in order, and every run must end.
 *
 *	test-transport-noise [--seed N]    run one seed, and print the trace if it fails
 *	UROCE_SEEDS=N test-transport-noise  run N seeds
 *
 * Each request has memory of its own on both sides, so that all memory can be compared at the end.
 * The atomics of a side share one counter; the values that they return show their order.
 */

#include "pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "link.h"
#include "mem/mw.h"
#include "base/newer_verbs.h"

#define NB_SEEDS     150
#define OPS_MAX      120
#define MEM_LEN      (1u << 19)
#define STEPS_MAX    400000
#define LEN_MAX      20000

#define ATOMIC_WRITE ((enum ibv_wr_opcode)UROCE_WR_ATOMIC_WRITE)
#define FLUSH        ((enum ibv_wr_opcode)UROCE_WR_FLUSH)

/* A request, and where its data is at both ends. */
struct op {
	enum ibv_wr_opcode opcode;
	uint32_t len;
	uint32_t local;
	/* offset in the peer's memory; for a SEND it is set when the receive request is planned */
	uint32_t remote;
	uint32_t imm;
	uint64_t orig; /* atomics: value of the counter before the operation */
	bool is_signaled;
};

/* The requests that one side posts, and the state of the side. */
struct side {
	struct op ops[OPS_MAX];
	uint32_t nb_ops;
	uint32_t nb_posted;
	uint32_t nb_done; /* requests below this index are complete */
	/* indexes of the peer's requests that use a receive request of this side, in order */
	uint32_t takers[OPS_MAX];
	uint32_t nb_takers;
	uint32_t nb_recv_posted;
	uint32_t nb_recv_done;
	uint32_t mem_used;
	struct ibv_mw window;
	/* expected final value of the counter at offset 0 of this side's memory */
	uint64_t counter;
};

struct trial {
	uint64_t seed;
	uint64_t random;
	uint32_t recv_delay; /* delay of receive requests: 0 is the shortest, 2 the longest */
	struct pair pair;
	struct side sides[2];
};

static struct trial trial;
static uint64_t first_seed = 1;
static bool is_single;

static uint32_t
draw(struct trial *t, uint32_t limit)
{
	return (uint32_t)((link_random(&t->random) >> 4) % limit);
}

static uint32_t
draw_between(struct trial *t, uint32_t from, uint32_t to)
{
	return from + draw(t, to - from + 1);
}

/*
 * Allocate unused memory of a side at a random alignment. Behind it is a gap, which must not
 * change.
 */
static uint32_t
take_mem(struct trial *t, struct side *side, uint32_t len)
{
	const uint32_t at = side->mem_used + draw(t, 8);

	side->mem_used = at + len + 8;
	assert_true(side->mem_used <= MEM_LEN);
	return at;
}

/* Draw a length; lengths close to a multiple of the MTU are drawn often. */
static uint32_t
draw_len(struct trial *t)
{
	const uint32_t mtu = 128u << t->pair.conf.mtu;
	const uint32_t near = mtu * draw(t, 5) + draw(t, 3);

	switch (draw(t, 10)) {
	case 0:
		return draw(t, 9);
	case 1:
		return draw(t, 40 * mtu) % LEN_MAX;
	case 2:
		return draw(t, LEN_MAX);
	case 3:
	case 4:
	case 5:
		return near ? near - 1 : 0;
	}
	return draw(t, 3 * mtu);
}

static void
plan_op(struct trial *t, struct side *side, struct side *peer)
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_SEND,
		IBV_WR_SEND_WITH_IMM,
		IBV_WR_RDMA_WRITE,
		IBV_WR_RDMA_WRITE,
		IBV_WR_RDMA_WRITE_WITH_IMM,
		IBV_WR_RDMA_READ,
		IBV_WR_RDMA_READ,
		IBV_WR_ATOMIC_CMP_AND_SWP,
		IBV_WR_ATOMIC_FETCH_AND_ADD,
		IBV_WR_BIND_MW,
		ATOMIC_WRITE,
		FLUSH,
	};
	struct op *op = &side->ops[side->nb_ops];

	op->opcode = opcodes[draw(t, sizeof(opcodes) / sizeof(opcodes[0]))];
	op->imm = (uint32_t)link_random(&t->random);
	op->is_signaled = draw(t, 3) > 0;
	op->len = draw_len(t);
	switch ((int)op->opcode) {
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		op->len = 8;
		op->orig = peer->counter;
		peer->counter += op->imm;
		op->remote = 0;
		break;
	case IBV_WR_BIND_MW:
	case FLUSH:
		op->len = 0;
		break;
	case ATOMIC_WRITE:
		op->len = 8;
		op->remote = (take_mem(t, peer, 16) + 7) / 8 * 8;
		break;
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_READ:
		op->remote = take_mem(t, peer, op->len);
		break;
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		op->remote = take_mem(t, peer, op->len);
		/* fall through */
	default:
		peer->takers[peer->nb_takers++] = side->nb_ops;
	}
	op->local = take_mem(t, side, op->len);
	side->nb_ops++;
}

static bool
is_send(const struct op *op)
{
	return op->opcode == IBV_WR_SEND || op->opcode == IBV_WR_SEND_WITH_IMM;
}

/*
 * Allocate memory for each receive request of `side`, and record its offset in the SEND that will
 * use it.
 */
static void
plan_rooms(struct trial *t, struct side *side, struct side *peer)
{
	for (uint32_t i = 0; i < side->nb_takers; i++) {
		struct op *op = &peer->ops[side->takers[i]];

		if (is_send(op))
			op->remote = take_mem(t, side, op->len);
	}
}

static void
plan(struct trial *t)
{
	const uint32_t nb = draw_between(t, 1, OPS_MAX);
	/* side B posts only on RC, because an XRC target has no send queue */
	const bool is_both = draw(t, 2) && t->pair.conf.type == IBV_QPT_RC;
	const uint32_t budget = MEM_LEN - 4 * LEN_MAX;

	t->sides[A].mem_used = 64;
	t->sides[B].mem_used = 64;
	for (uint32_t i = 0; i < nb; i++) {
		for (unsigned side = A; side <= B; side++) {
			if (side == B && !is_both)
				continue;
			if (t->sides[A].mem_used + t->sides[B].mem_used > budget)
				continue;
			plan_op(t, &t->sides[side], &t->sides[!side]);
		}
	}
	plan_rooms(t, &t->sides[A], &t->sides[B]);
	plan_rooms(t, &t->sides[B], &t->sides[A]);
	for (unsigned side = A; side <= B; side++) {
		if (t->sides[side].nb_ops)
			t->sides[side].ops[t->sides[side].nb_ops - 1].is_signaled = true;
	}
}

static void
open_trial(struct trial *t, uint64_t seed)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);
	struct pair_noise noise;

	memset(t, 0, sizeof(*t));
	t->seed = seed;
	t->random = seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
	conf.mtu = (enum ibv_mtu)draw_between(t, IBV_MTU_256, IBV_MTU_4096);
	conf.is_ipv6 = draw(t, 2);
	/* runs with an odd seed have reorder buffers, of which some are too small */
	conf.nb_hold = seed % 2 ? 1 + draw(t, 200) : 0;
	conf.is_quiet = !is_single;
	conf.is_unsignaled = true;
	conf.psn[A] = draw(t, 2) ? 0xffffff - draw(t, 200) : draw(t, 1 << 24);
	conf.psn[B] = draw(t, 2) ? 0xffffff - draw(t, 200) : draw(t, 1 << 24);
	conf.mem_len = MEM_LEN;
	conf.sq_len = draw_between(t, 1, 64);
	conf.burst = draw(t, 2) ? PAIR_BURST_MAX : draw_between(t, 1, 8);
	/* timeouts of 16 us and more, of which many are shorter than a round trip */
	conf.timeout = (uint8_t)draw_between(t, 2, 14);
	conf.min_rnr_timer = (uint8_t)draw_between(t, 1, 10);
	conf.max_rd_atomic = (uint8_t)draw_between(t, 1, 16);
	conf.max_dest_rd_atomic = (uint8_t)draw_between(t, conf.max_rd_atomic, 16);
	if (draw(t, 5) == 0)
		conf.type = IBV_QPT_XRC_SEND;
	else
		conf.has_srq = draw(t, 3) == 0;
	pair_open(&t->pair, &conf);
	for (unsigned at = A; at <= B; at++)
		assert_int_equal(uroce_mw_add(t->pair.host[at].mrs, UROCE_MW_1,
					      t->pair.host[at].qpc.pdn, &t->sides[at].window.rkey),
				 0);
	noise = (struct pair_noise){
		.seed = link_random(&t->random),
		.lose = draw(t, 4) ? draw(t, 60) : 0,
		.repeat = draw(t, 3) ? draw(t, 60) : 0,
		.delay = draw(t, 3) ? draw(t, 60) : 0,
		.spoil = draw(t, 3) ? draw(t, 40) : 0,
	};
	pair_make_noise(&t->pair, &noise);
	t->recv_delay = draw(t, 3);
	plan(t);
	pair_fill(&t->pair, A, 64, MEM_LEN - 64, 1);
	pair_fill(&t->pair, B, 64, MEM_LEN - 64, 2);
}

/* Post a bind of the side's window to a new range of memory, or a FLUSH of the peer's memory. */
static int
post_raw(struct trial *t, enum pair_side at, const struct op *op, unsigned flags)
{
	const struct pair_host *host = &t->pair.host[at], *peer = &t->pair.host[!at];
	struct ibv_mr mr = { .lkey = host->key };
	struct ibv_send_wr wr = { .opcode = op->opcode, .send_flags = flags };

	if (op->opcode == IBV_WR_BIND_MW) {
		wr.bind_mw.mw = &t->sides[at].window;
		wr.bind_mw.rkey = t->sides[at].window.rkey ^ (op->imm & 0xff);
		wr.bind_mw.bind_info.mr = &mr;
		wr.bind_mw.bind_info.addr = (uintptr_t)host->mem;
		wr.bind_mw.bind_info.length = op->imm % MEM_LEN;
	} else {
		wr.wr.atomic.remote_addr = (uintptr_t)peer->mem;
		wr.wr.atomic.rkey = peer->key;
		wr.wr.atomic.compare_add = op->imm % MEM_LEN;
		wr.wr.atomic.swap = UROCE_FLUSH_GLOBAL;
		wr.qp_type.xrc.remote_srqn = peer->srq.srqn;
	}
	return pair_post_raw(&t->pair, at, &wr);
}

static void
post_next(struct trial *t, enum pair_side at)
{
	struct side *side = &t->sides[at];
	const struct op *op = &side->ops[side->nb_posted];
	unsigned flags = op->is_signaled ? IBV_SEND_SIGNALED : 0;

	if (side->nb_posted == side->nb_ops)
		return;
	if (draw(t, 8) == 0)
		flags |= IBV_SEND_FENCE;
	const struct pair_wr wr = {
		.opcode = op->opcode,
		.len = op->len,
		.local = op->local,
		.remote = op->remote,
		.flags = flags,
		.imm = op->imm,
		.compare_add = op->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ? op->orig : op->imm,
		.swap = op->orig + op->imm,
	};

	const bool is_raw = op->opcode == IBV_WR_BIND_MW || op->opcode == FLUSH;
	const int ret = is_raw ? post_raw(t, at, op, flags) : pair_post(&t->pair, at, &wr);

	if (!ret)
		side->nb_posted++;
}

static void
post_next_recv(struct trial *t, enum pair_side at)
{
	struct side *side = &t->sides[at];

	if (side->nb_recv_posted == side->nb_takers)
		return;
	const struct op *op = &t->sides[!at].ops[side->takers[side->nb_recv_posted]];

	if (!pair_post_recv(&t->pair, at, op->remote, op->len))
		side->nb_recv_posted++;
}

static const uint8_t *
mem(const struct trial *t, unsigned at, uint32_t offset)
{
	return t->pair.host[at].mem + offset;
}

static void
check_bytes(const struct trial *t, unsigned at, const struct op *op)
{
	uint64_t orig;

	if (op->opcode == IBV_WR_ATOMIC_CMP_AND_SWP || op->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		memcpy(&orig, mem(t, at, op->local), sizeof(orig));
		assert_int_equal(orig, op->orig);
		return;
	}
	if (memcmp(mem(t, at, op->local), mem(t, !at, op->remote), op->len))
		print_message("# %c: request %u, opcode %u, length %u\n", "AB"[at],
			      (unsigned)(op - t->sides[at].ops), op -> opcode, op -> len);
	assert_memory_equal(mem(t, at, op->local), mem(t, !at, op->remote), op->len);
}

/*
 * Handle the completion of a send request. The unsignaled requests before it are complete, too,
 * because requests complete in order.
 */
static void
take_send_completion(struct trial *t, unsigned at, const struct ibv_wc *wc)
{
	struct side *side = &t->sides[at];

	assert_int_equal(wc->status, IBV_WC_SUCCESS);
	while (side->nb_done < wc->wr_id) {
		assert_false(side->ops[side->nb_done].is_signaled);
		check_bytes(t, at, &side->ops[side->nb_done++]);
	}
	assert_int_equal(side->nb_done, wc->wr_id);
	assert_true(side->nb_done < side->nb_posted);
	assert_true(side->ops[side->nb_done].is_signaled);
	check_bytes(t, at, &side->ops[side->nb_done++]);
}

static void
take_recv_completion(struct trial *t, unsigned at, const struct ibv_wc *wc)
{
	struct side *side = &t->sides[at];
	const struct op *op = &t->sides[!at].ops[side->takers[side->nb_recv_done]];

	assert_int_equal(wc->status, IBV_WC_SUCCESS);
	assert_true(side->nb_recv_done < side->nb_recv_posted);
	assert_int_equal(wc->wr_id, side->nb_recv_done);
	assert_int_equal(wc->byte_len, op->len);
	if (op->opcode == IBV_WR_SEND) {
		assert_int_equal(wc->wc_flags, 0);
	} else {
		assert_int_equal(wc->wc_flags, IBV_WC_WITH_IMM);
		assert_int_equal(wc->imm_data, op->imm);
	}
	check_bytes(t, !at, op);
	side->nb_recv_done++;
}

static void
poll_all(struct trial *t, unsigned at)
{
	struct ibv_wc wc;

	while (uroce_cq_poll(&t->pair.host[at].send_cq, 1, &wc) == 1)
		take_send_completion(t, at, &wc);
	while (uroce_cq_poll(&t->pair.host[at].recv_cq, 1, &wc) == 1)
		take_recv_completion(t, at, &wc);
}

static bool
is_over(const struct trial *t)
{
	for (unsigned at = A; at <= B; at++) {
		if (t->sides[at].nb_done != t->sides[at].nb_ops ||
		    t->sides[at].nb_recv_done != t->sides[at].nb_takers)
			return false;
	}
	return true;
}

/* Check that memory of a side that no request uses has not changed. */
static void
check_gaps(struct trial *t, enum pair_side at)
{
	uint8_t *was = malloc(MEM_LEN), *is = malloc(MEM_LEN);
	uint8_t *now = t->pair.host[at].mem;

	memcpy(is, now, MEM_LEN);
	pair_fill(&t->pair, at, 64, MEM_LEN - 64, at + 1);
	memcpy(was, now, MEM_LEN);
	memcpy(was, is, 64);
	for (uint32_t i = 0; i < t->sides[!at].nb_ops; i++) {
		const struct op *op = &t->sides[!at].ops[i];

		memcpy(was + op->remote, is + op->remote, op->len);
	}
	for (uint32_t i = 0; i < t->sides[at].nb_ops; i++) {
		const struct op *op = &t->sides[at].ops[i];

		if (op->opcode != IBV_WR_RDMA_READ && !(op->opcode == IBV_WR_ATOMIC_CMP_AND_SWP) &&
		    op->opcode != IBV_WR_ATOMIC_FETCH_AND_ADD)
			continue;
		memcpy(was + op->local, is + op->local, op->len);
	}
	memcpy(now, is, MEM_LEN);
	assert_memory_equal(was, is, MEM_LEN);
	free(was);
	free(is);
}

/* At random, move a QP to SQD, or back to RTS. */
static void
drain_or_resume(struct trial *t, enum pair_side at)
{
	const bool is_sqd = t->pair.host[at].qpc.state == IBV_QPS_SQD;

	if (is_sqd ? draw(t, 8) == 0 : draw(t, 60) == 0)
		pair_set_state(&t->pair, at, is_sqd ? IBV_QPS_RTS : IBV_QPS_SQD);
}

static void
run_trial(struct trial *t)
{
	uint32_t nb_pair_steps = 0;

	while (!is_over(t)) {
		for (unsigned at = A; at <= B; at++) {
			drain_or_resume(t, (enum pair_side)at);
			for (uint32_t nb = draw(t, 6); nb > 0; nb--)
				post_next(t, (enum pair_side)at);
			for (uint32_t nb = draw(t, 4); nb > t->recv_delay; nb--)
				post_next_recv(t, (enum pair_side)at);
		}
		pair_run_for(&t->pair, draw(t, PAIR_LATENCY_NS));
		for (uint32_t nb = draw(t, 4); nb > 0; nb--)
			pair_step(&t->pair);
		poll_all(t, A);
		poll_all(t, B);
		assert_true(++nb_pair_steps < STEPS_MAX);
	}
	pair_run(&t->pair);
	for (unsigned at = A; at <= B; at++) {
		poll_all(t, at);
		for (uint32_t i = 0; i < t->sides[at].nb_ops; i++)
			check_bytes(t, at, &t->sides[at].ops[i]);
		assert_memory_equal(mem(t, at, 0), &t->sides[at].counter, 8);
		/*
		 * the event RNR_FALSE is allowed: of a frame that the wire duplicates, one copy may
		 * get an RNR NAK and the other an ACK
		 */
		assert_int_equal(pair_events(&t->pair, (enum pair_side)at) & ~UROCE_QPC_RNR_FALSE,
				 0);
	}
	check_gaps(t, A);
	check_gaps(t, B);
}

static uint64_t
nb_packets(const struct trial *t)
{
	return t->pair.host[A].qpc.stats.tx_packets + t->pair.host[B].qpc.stats.tx_packets;
}

static uint32_t
nb_seeds(void)
{
	const char *text = getenv("UROCE_SEEDS");

	if (is_single)
		return 1;
	return text ? (uint32_t)strtoul(text, NULL, 10) : NB_SEEDS;
}

static void
noise__everything_arrives_once_and_in_order(void **state)
{
	uint64_t packets = 0, timeouts = 0, naks = 0, rnrs = 0, again = 0;

	(void)state;
	for (uint64_t seed = first_seed; seed < first_seed + nb_seeds(); seed++) {
		open_trial(&trial, seed);
		run_trial(&trial);
		packets += nb_packets(&trial);
		for (unsigned at = A; at <= B; at++) {
			timeouts += trial.pair.host[at].qpc.stats.timeouts;
			naks += trial.pair.host[at].qpc.stats.naks_seq;
			rnrs += trial.pair.host[at].qpc.stats.naks_rnr;
			again += trial.pair.host[at].qpc.stats.retransmits;
		}
		pair_close(&trial.pair);
	}
	print_message("# %u seeds, %llu packets, %llu again, %llu timeouts, %llu sequence NAKs, "
		      "%llu RNR NAKs\n",
		      nb_seeds(), (unsigned long long)packets, (unsigned long long)again,
		      (unsigned long long)timeouts, (unsigned long long)naks,
		      (unsigned long long)rnrs);
}

/* --- UC and UD: messages may be lost, but the messages that arrive must be complete --- */

#define UNRELIABLE_OPS 60

static void
open_unreliable(struct trial *t, enum ibv_qp_type type, uint64_t seed)
{
	struct pair_conf conf = pair_conf(type);

	memset(t, 0, sizeof(*t));
	t->seed = seed;
	t->random = seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
	conf.mtu = (enum ibv_mtu)draw_between(t, IBV_MTU_256, IBV_MTU_4096);
	conf.is_quiet = !is_single;
	conf.psn[A] = 0xffffff - draw(t, 200);
	conf.mem_len = MEM_LEN;
	conf.burst = draw_between(t, 1, PAIR_BURST_MAX);
	pair_open(&t->pair, &conf);
	pair_fill(&t->pair, A, 0, MEM_LEN, 1);
}

/*
 * Post a message whose immediate data is its number, by which the receiver finds its expected bytes
 * and length.
 */
static void
post_numbered(struct trial *t, uint32_t nth, uint32_t len)
{
	struct op *op = &t->sides[A].ops[nth];

	*op = (struct op){ .len = len, .local = take_mem(t, &t->sides[A], len) };
	assert_int_equal(pair_post(&t->pair, A,
				   &(struct pair_wr){ .opcode = IBV_WR_SEND_WITH_IMM,
						      .len = len,
						      .local = op->local,
						      .imm = nth }),
			 0);
}

static uint32_t
check_numbered(struct trial *t, uint32_t grh_len)
{
	const uint32_t room_len = MEM_LEN / UNRELIABLE_OPS;
	uint32_t nb = 0;
	struct ibv_wc wc;

	while (uroce_cq_poll(&t->pair.host[B].recv_cq, 1, &wc) == 1) {
		const struct op *op = &t->sides[A].ops[wc.imm_data];

		assert_int_equal(wc.status, IBV_WC_SUCCESS);
		assert_int_equal(wc.wr_id, nb++);
		assert_true(wc.imm_data < UNRELIABLE_OPS);
		assert_int_equal(wc.byte_len, op->len + grh_len);
		assert_memory_equal(mem(t, A, op->local),
				    mem(t, B, (uint32_t)wc.wr_id * room_len) + grh_len, op->len);
	}
	return nb;
}

static void
run_unreliable(struct trial *t, enum ibv_qp_type type, uint64_t seed, bool is_noisy)
{
	const uint32_t room_len = MEM_LEN / UNRELIABLE_OPS;
	const uint32_t grh_len = type == IBV_QPT_UD ? 40 : 0;
	uint32_t nb;

	open_unreliable(t, type, seed);
	const uint32_t len_max = type == IBV_QPT_UD ? 4096 : room_len - 16;

	if (is_noisy)
		pair_make_noise(&t->pair, &(struct pair_noise){ .seed = link_random(&t->random),
								.lose = 30,
								.repeat = 20,
								.delay = 30,
								.spoil = 20 });
	for (uint32_t i = 0; i < UNRELIABLE_OPS; i++) {
		pair_post_recv(&t->pair, B, i * room_len, room_len);
		post_numbered(t, i, draw(t, 2) ? draw(t, len_max + 1) : draw(t, 300));
		pair_run_for(&t->pair, draw(t, 2 * PAIR_LATENCY_NS));
	}
	pair_run(&t->pair);
	for (uint32_t i = 0; i < UNRELIABLE_OPS; i++) {
		struct ibv_wc wc;

		assert_int_equal(uroce_cq_poll(&t->pair.host[A].send_cq, 1, &wc), 1);
		assert_int_equal(wc.wr_id, i);
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
	}
	nb = check_numbered(t, grh_len);
	assert_true(is_noisy || nb == UNRELIABLE_OPS);
	assert_int_equal(t->pair.host[B].qpc.state, IBV_QPS_RTS);
	pair_close(&t->pair);
}

static void
noise__what_arrives_unreliably_is_whole(void **state)
{
	(void)state;
	for (uint64_t seed = first_seed; seed < first_seed + nb_seeds(); seed++) {
		run_unreliable(&trial, IBV_QPT_UC, seed, seed % 4);
		run_unreliable(&trial, IBV_QPT_UD, seed, seed % 4);
	}
}

/*
 * Teardown function: if a test has failed, its pair is still open, so print the seed and the trace.
 */
static int
report(void **state)
{
	(void)state;
	if (!trial.pair.host[A].mem)
		return 0;
	print_message("# seed %llu: replay with --seed %llu\n", (unsigned long long)trial.seed,
		      (unsigned long long)trial.seed);
	if (is_single)
		fprintf(stderr, "%s", text_get(&trial.pair.trace));
	return 0;
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(noise__everything_arrives_once_and_in_order, report),
		cmocka_unit_test_teardown(noise__what_arrives_unreliably_is_whole, report),
	};

	if (argc == 3 && !strcmp(argv[1], "--seed")) {
		first_seed = strtoull(argv[2], NULL, 10);
		is_single = true;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
