/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A hostile peer sends well-formed frames with a valid ICRC and otherwise random content: any
 * opcode, PSN, length, address, key and syndrome, at any time. The QP may end in ERR. It must not
 * break an invariant (pair.c checks them after each step), change memory without an access right,
 * complete a request twice or out of order, or respond without end.
 *
 *	test-transport-hostile [--seed N]
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
#include "wire/psn.h"

#define NB_SEEDS   150
#define NB_PACKETS 1500
#define MEM_LEN    (1u << 16)
#define PRIVATE    (MEM_LEN / 2) /* memory from this offset on gives the peer no access rights */

struct attack {
	uint64_t random;
	struct pair pair;
	/*
	 * rkeys of the victim: [0] has all rights, [1] only READ, both for memory below PRIVATE;
	 * [2] has no rights, and is for all of memory
	 */
	uint32_t keys[3];
	struct ibv_mw window; /* a window of the victim */
	/* wr_id that the next completion must have; [0]: send requests, [1]: receive requests */
	uint64_t next_done[2];
	uint64_t nb_verdicts[UROCE_VERDICT_NB]; /* counts of verdicts over all runs */
};

static struct attack attack;
static uint64_t first_seed = 1;
static uint64_t nb_seeds = NB_SEEDS;
static uint64_t seed_now;

static uint32_t
draw(uint32_t limit)
{
	return (uint32_t)((link_random(&attack.random) >> 8) % limit);
}

/* Draw a PSN: often close to a PSN of the QP's state, else any PSN. */
static uint32_t
draw_psn(void)
{
	const struct uroce_qpc *qpc = &attack.pair.host[B].qpc;
	const uint32_t near[] = { qpc->resp.epsn,   qpc->resp.epsn,           qpc->resp.epsn,
				  qpc->req.una_psn, qpc->req.una_psn,         qpc->req.next_psn,
				  qpc->req.max_psn, qpc->resp.epsn ^ 0x800000 };

	if (draw(20) == 0)
		return draw(1 << 24);
	const uint32_t at = near[draw(sizeof(near) / sizeof(near[0]))];

	return draw(3) ? at : uroce_psn_add(at, draw(40) - 20);
}

static uint32_t
draw_len(void)
{
	static const uint32_t lens[] = { 0, 1, 4, 8, 100, 255, 256, 257, 260, 512, 1000 };

	return lens[draw(sizeof(lens) / sizeof(lens[0]))];
}

static uint32_t
draw_dma_len(uint32_t payload_len)
{
	static const uint32_t lens[] = {
		0, 1, 8, 256, 257, 512, 1024, 4096, 30000, 1u << 31, (1u << 31) + 1, UINT32_MAX
	};

	return draw(3) ? payload_len + 256 * draw(3) : lens[draw(sizeof(lens) / sizeof(lens[0]))];
}

static uint64_t
draw_va(void)
{
	const uint64_t base = (uintptr_t)attack.pair.host[B].mem;

	switch (draw(8)) {
	case 0:
		return base + draw(PRIVATE);
	case 1:
		return base + PRIVATE - draw(600);
	case 2:
		return base - draw(20);
	case 3:
		return UINT64_MAX - draw(600);
	}
	return base + draw(PRIVATE / 8) * 8;
}

/* Draw a valid opcode, mostly of the QP's transport service. */
static uint8_t
draw_opcode(void)
{
	const uint8_t service = (uint8_t)(attack.pair.host[B].qpc.service << 5);
	uint8_t opcode;

	do
		opcode = (uint8_t)(draw(10) ? service | draw(0x20) : draw(256));
	while (!(uroce_opcode_table[opcode].flags & UROCE_OPF_VALID));
	return opcode;
}

static uint8_t
draw_syndrome(void)
{
	static const uint8_t syndromes[] = { 31,   31,   31,   31,   31,   0,   0x21,
					     0x60, 0x60, 0x60, 0x61, 0x62, 0x63 };

	return draw(20) ? syndromes[draw(sizeof(syndromes))] : (uint8_t)draw(256);
}

static uint32_t
draw_key(void)
{
	switch (draw(10)) {
	case 0:
		return draw(1u << 31);
	case 1:
		return attack.keys[draw(3)];
	case 2:
		return attack.window.rkey ^ (draw(3) ? 0 : draw(4));
	}
	return attack.keys[0];
}

static void
draw_packet(struct pair_pkt *pkt)
{
	*pkt = (struct pair_pkt){
		.opcode = draw_opcode(),
		.has_ack_req = draw(2),
		.is_solicited = draw(2),
		.is_from_stranger = draw(200) == 0,
		.pkey = draw(200) ? 0 : (uint16_t)(draw(65535) + 1),
		.psn = draw_psn(),
		.payload_len = draw_len(),
		.va = draw_va(),
		.rkey = draw_key(),
		.syndrome = draw_syndrome(),
		.msn = draw(1 << 24),
		.swap_add = draw(10),
		.compare = draw(10),
		.inv_rkey = attack.window.rkey ^ (draw(3) ? 0 : draw(4)),
		.srqn = draw(20) ? attack.pair.host[B].srq.srqn : draw(5),
		.sel_plt = draw(10) ? 1 + draw(3) : draw(64),
		.qkey = draw(10) ? attack.pair.host[B].qpc.qkey : draw(1u << 31),
	};
	const struct uroce_opcode *op = &uroce_opcode_table[pkt->opcode];

	/*
	 * give the packet a payload length that its opcode allows: the parser would drop a packet
	 * with any other length, and the test would not reach the QP
	 */
	if (!(op->flags & UROCE_OPF_PAYLOAD))
		pkt->payload_len = 0;
	if (!(op->flags & UROCE_OPF_LAST))
		pkt->payload_len = draw(8) ? 256 : 252;
	pkt->dma_len = draw_dma_len(pkt->payload_len);
}

/*
 * Poll a completion queue, and check that requests complete once and in order.
 * @param next  the wr_id that the next completion must have; advanced
 */
static void
poll_cq(struct uroce_cq *cq, uint64_t *next)
{
	struct ibv_wc wc;

	while (uroce_cq_poll(cq, 1, &wc) == 1) {
		assert_int_equal(wc.wr_id, *next);
		++*next;
	}
}

static void
poll_victim(void)
{
	poll_cq(&attack.pair.host[B].send_cq, &attack.next_done[0]);
	poll_cq(&attack.pair.host[B].recv_cq, &attack.next_done[1]);
}

/*
 * Call modify with a random state and random attributes. If the call is refused, the QP must not
 * change.
 */
static void
modify_at_random(void)
{
	static const enum ibv_qp_state states[] = { IBV_QPS_RTS, IBV_QPS_SQD, IBV_QPS_SQD,
						    IBV_QPS_RTR, IBV_QPS_ERR };
	const struct uroce_qpc before = attack.pair.host[B].qpc;
	struct ibv_qp_attr attr;

	pair_attr(&attack.pair, B, IBV_QPS_RTS, &attr);
	attr.qp_state = states[draw(5)];
	attr.min_rnr_timer = (uint8_t)draw(40);
	attr.timeout = (uint8_t)draw(40);
	attr.retry_cnt = (uint8_t)draw(9);
	if (pair_modify(&attack.pair, B, &attr, IBV_QP_STATE | (draw(2) ? 0 : (int)draw(1 << 21))))
		assert_memory_equal(&attack.pair.host[B].qpc, &before, sizeof(before));
}

/* Check that all posted requests have completed, and restart the QP. */
static void
start_again(void)
{
	struct pair *pair = &attack.pair;

	pair_flush(pair, B);
	poll_victim();
	assert_int_equal(attack.next_done[0], pair->host[B].next_send_id);
	/* requests that were posted to a shared receive queue are not flushed */
	if (pair->host[B].qpc.rq)
		assert_int_equal(attack.next_done[1], pair->host[B].next_recv_id);
	pair_set_state(pair, B, IBV_QPS_RESET);
	pair_bring_up(pair, B, IBV_QPS_RTS);
}

/* Post a request that sends no packet. If the QP is in SQD, cancel the request. */
static void
post_local(void)
{
	struct pair_host *host = &attack.pair.host[B];
	struct ibv_mr mr = { .lkey = attack.keys[0] };
	struct ibv_send_wr wr = {
		.opcode = draw(2) ? IBV_WR_BIND_MW : IBV_WR_LOCAL_INV,
		.send_flags = draw(2) ? IBV_SEND_FENCE : 0,
		.invalidate_rkey = attack.window.rkey,
	};

	if (wr.opcode == IBV_WR_BIND_MW) {
		wr.bind_mw.mw = &attack.window;
		wr.bind_mw.rkey = attack.window.rkey ^ (draw(3) ? 0 : draw(4));
		wr.bind_mw.bind_info = (struct ibv_mw_bind_info){
			.mr = &mr,
			.addr = (uintptr_t)host->mem + draw(PRIVATE),
			.length = draw(PRIVATE),
			.mw_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE,
		};
	}
	if (!host->sq.has_path)
		pair_post_raw(&attack.pair, B, &wr);
	if (host->qpc.state == IBV_QPS_SQD)
		assert_true(uroce_qpc_cancel(&host->qpc, host->next_send_id - 1) >= 0);
}

/* Let the victim's application post requests, modify its QP, and poll completions. */
static void
let_victim_act(void)
{
	static const enum ibv_wr_opcode opcodes[] = { IBV_WR_SEND, IBV_WR_RDMA_WRITE,
						      IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD,
						      (enum ibv_wr_opcode)UROCE_WR_ATOMIC_WRITE };
	struct pair *pair = &attack.pair;

	if (draw(3) == 0)
		pair_post_recv(pair, B, draw(1000), draw(2000));
	if (pair->host[B].qpc.sq && draw(20) == 0)
		post_local();
	if (pair->host[B].qpc.sq && draw(3) == 0)
		pair_post(pair, B,
			  &(struct pair_wr){ .opcode = opcodes[draw(5)],
					     .len = draw(4) ? draw(3000) : 8,
					     .local = draw(1000),
					     .flags = draw(6) ? 0 : IBV_SEND_FENCE });
	if (draw(2))
		pair_flush(pair, B);
	if (draw(50) == 0)
		pair_wait(pair, B, UINT64_C(1) << draw(30));
	pair_events(pair, B);
	if (draw(50) == 0)
		modify_at_random();
	poll_victim();
	if (pair->host[B].qpc.state == IBV_QPS_ERR)
		start_again();
	else if (pair->host[B].qpc.state == IBV_QPS_SQE || draw(3) == 0)
		pair_set_state(pair, B, IBV_QPS_RTS);
}

static void
open_attack(uint64_t seed)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_UD, IBV_QPT_RC, IBV_QPT_RC,
						  IBV_QPT_UC, IBV_QPT_RC, IBV_QPT_XRC_SEND };
	struct pair_conf conf = pair_conf(types[seed % 6]);

	seed_now = seed;
	attack.random = seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
	conf.has_srq = conf.type != IBV_QPT_XRC_SEND && draw(4) == 0;
	conf.mtu = IBV_MTU_256;
	conf.mem_len = MEM_LEN;
	conf.psn[A] = draw(2) ? 0xffffff - draw(50) : draw(1 << 24);
	conf.psn[B] = draw(2) ? 0xffffff - draw(50) : draw(1 << 24);
	conf.is_quiet = true;
	conf.burst = 1 + draw(PAIR_BURST_MAX);
	conf.max_rd_atomic = (uint8_t)draw(17);
	conf.max_dest_rd_atomic = (uint8_t)draw(17);
	conf.retry_cnt = (uint8_t)draw(8);
	conf.rnr_retry = (uint8_t)draw(8);
	pair_open(&attack.pair, &conf);
	attack.keys[0] = pair_register(&attack.pair, B, attack.pair.host[B].mem, PRIVATE,
				       conf.access | IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	assert_int_equal(uroce_mw_add(attack.pair.host[B].mrs, draw(2) ? UROCE_MW_2A : UROCE_MW_2B,
				      attack.pair.host[B].qpc.pdn, &attack.window.rkey),
			 0);
	attack.keys[1] = pair_register(&attack.pair, B, attack.pair.host[B].mem, PRIVATE,
				       IBV_ACCESS_REMOTE_READ);
	attack.keys[2] = pair_register(&attack.pair, B, attack.pair.host[B].mem, MEM_LEN, 0);
	attack.next_done[0] = attack.next_done[1] = 0;
	pair_fill(&attack.pair, B, PRIVATE, PRIVATE, 1);
	pair_fill(&attack.pair, A, PRIVATE, PRIVATE, 1);
}

static void
hostile__whatever_the_peer_sends(void **state)
{
	(void)state;
	for (uint64_t seed = first_seed; seed < first_seed + nb_seeds; seed++) {
		open_attack(seed);
		for (unsigned i = 0; i < NB_PACKETS; i++) {
			struct pair_pkt pkt;

			draw_packet(&pkt);
			attack.nb_verdicts[pair_inject(&attack.pair, B, &pkt)]++;
			let_victim_act();
		}
		/* memory to which the peer has no access rights is unchanged */
		assert_true(pair_is_equal(&attack.pair, PRIVATE, PRIVATE, PRIVATE));
		pair_close(&attack.pair);
	}
}

/* Check the quality of the random frames: every verdict that a QP can return was returned. */
static void
hostile__every_verdict_is_reached(void **state)
{
	static const enum uroce_verdict reachable[] = {
		UROCE_VERDICT_REQUEST,       UROCE_VERDICT_RESPONSE,       UROCE_VERDICT_BAD_LEN,
		UROCE_VERDICT_WRONG_SERVICE, UROCE_VERDICT_WRONG_PEER,     UROCE_VERDICT_BAD_PKEY,
		UROCE_VERDICT_DUPLICATE,     UROCE_VERDICT_STALE,          UROCE_VERDICT_PSN_GAP,
		UROCE_VERDICT_BAD_SEQUENCE,  UROCE_VERDICT_BAD_REQUEST,    UROCE_VERDICT_NO_ACCESS,
		UROCE_VERDICT_NO_RECEIVE,    UROCE_VERDICT_TOO_LONG,       UROCE_VERDICT_GHOST,
		UROCE_VERDICT_RESPONSE_GAP,  UROCE_VERDICT_NAK_SEQ,        UROCE_VERDICT_NAK_RNR,
		UROCE_VERDICT_NAK_FATAL,     UROCE_VERDICT_BAD_RESPONSE,   UROCE_VERDICT_BAD_QKEY,
		UROCE_VERDICT_DATAGRAM,      UROCE_VERDICT_BAD_INVALIDATE,
	};

	(void)state;
	if (nb_seeds < NB_SEEDS)
		skip();
	for (unsigned i = 0; i < sizeof(reachable) / sizeof(reachable[0]); i++) {
		if (!attack.nb_verdicts[reachable[i]])
			fail_msg("never: %s", uroce_verdict_name(reachable[i]));
	}
}

static int
report(void **state)
{
	(void)state;
	if (attack.pair.host[A].mem)
		print_message("# seed %llu: replay with --seed %llu\n",
			      (unsigned long long)seed_now, (unsigned long long)seed_now);
	return 0;
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(hostile__whatever_the_peer_sends, report),
		cmocka_unit_test(hostile__every_verdict_is_reached),
	};

	if (argc == 3 && !strcmp(argv[1], "--seed")) {
		first_seed = strtoull(argv[2], NULL, 10);
		nb_seeds = 1;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
