/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Signature pipelining with random faults of the wire.
 *
 * The program posts groups of transfers, each with a SEND behind a fence that reports the whole
 * group as good. It follows mlx5dv_qp_cancel_posted_send_wrs(3): when the queue stops, the program
 * waits for the event, finds the group with the bad block, cancels the SEND of that group, and
 * continues. In every case the peer must receive the reports of the good groups, in order, and no
 * others.
 */

#include "../../draw.h"
#include "pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "mem/mkey.h"

#define NB_GROUPS 60u
#define NB_BLOCKS 12u /* maximum number of blocks of a group */
#define BLOCK     512u
#define SIGNED    (BLOCK + 4)
#define SLOT      (NB_BLOCKS * SIGNED) /* bytes in memory for the blocks of a group */
/* offset of the payload of A's SENDs, and of B's receive buffers */
#define ANSWERS      (NB_GROUPS * SLOT)
#define ANSWER_LEN   16u
#define TAKEN        (512u << 10) /* offset in A's memory of the destination of READs */
#define GROUP_WR_MAX 4u

/*
 * The mkeys. OUT is A's mkey for outgoing data, with signatures in memory. IN is A's mkey for
 * incoming data, with signatures on the wire. PEER is B's mkey, with signatures in memory.
 */
enum { OUT, IN, PEER, NB_MKEYS };

static struct pair pair;
static void *mem[NB_MKEYS];
static uint32_t mkey[NB_MKEYS];
static bool is_bad[NB_GROUPS];
static unsigned nb_stops;
static uint64_t nb_rnr;

static void
make_mkey(unsigned which)
{
	const enum pair_side side = which == PEER ? B : A;
	struct pair_host *host = &pair.host[side];
	const struct uroce_sig_domain sig = {
		.kind = UROCE_SIG_CRC32,
		.block_len = BLOCK,
		.len = 4,
		.seed = UINT32_MAX,
	};
	union {
		struct uroce_mkey_conf conf;
		uint8_t room[sizeof(struct uroce_mkey_conf) + sizeof(struct uroce_mkey_piece)];
	} made = { .conf = {
			   .parts = UROCE_MKEY_ACCESS | UROCE_MKEY_LAYOUT | UROCE_MKEY_SIG,
			   .access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				     IBV_ACCESS_REMOTE_READ,
			   .repeat = 1,
			   .nb_pieces = 1,
			   .check_mask = 0xff,
		   } };

	if (which == IN)
		made.conf.wire = sig;
	else
		made.conf.mem = sig;
	made.conf.piece[0] = (struct uroce_mkey_piece){
		.addr = (uintptr_t)host->mem + (which == IN ? TAKEN : 0),
		.len = NB_GROUPS * SLOT,
		.lkey = host->key,
	};
	assert_int_equal(posix_memalign(&mem[which], 64, uroce_mkey_memsize(1)), 0);
	assert_int_equal(uroce_mkey_add(host->mrs, mem[which], 1, UROCE_MKEY_SIGNATURE,
					host->qpc.pdn, &mkey[which]),
			 0);
	assert_int_equal(uroce_mkey_configure(host->mrs, mkey[which], host->qpc.pdn, &made.conf),
			 0);
}

static void
open_all(uint32_t nb_hold, bool has_noise)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	conf.is_quiet = true;
	conf.nb_hold = nb_hold;
	conf.sq_len = 64;
	conf.rq_len = 128;
	conf.cq_len = 256;
	conf.burst = 1 + draw(PAIR_BURST_MAX);
	conf.rnr_retry = 7;
	conf.max_rd_atomic = (uint8_t)(1 + draw(4));
	pair_open(&pair, &conf);
	pair.host[A].qpc.is_pipelined = true;
	for (unsigned i = 0; i < NB_MKEYS; i++)
		make_mkey(i);
	if (has_noise)
		pair_make_noise(&pair, &(struct pair_noise){ .seed = 1 + draw(1u << 30),
							     .lose = 30,
							     .repeat = 20,
							     .delay = 40,
							     .spoil = 10 });
}

static void
close_all(void)
{
	pair_close(&pair);
	for (unsigned i = 0; i < NB_MKEYS; i++)
		free(mem[i]);
}

/* --- the two programs ------------------------------------------------------------------------------ */

/*
 * Fill the blocks of a transfer, with signatures, in the memory of side `side`. At random one block
 * is damaged.
 * @return whether a block is damaged
 */
static bool
fill(enum pair_side side, uint32_t group, uint32_t first, uint32_t nb)
{
	struct pair_host *host = &pair.host[side];
	const bool is_spoiled = draw(4) == 0;
	uint8_t block[BLOCK];

	for (uint32_t i = 0; i < nb; i++) {
		const uint64_t nth = (uint64_t)group * NB_BLOCKS + first + i;

		for (uint32_t at = 0; at < BLOCK; at++)
			block[at] = (uint8_t)draw(256);
		assert_int_equal(uroce_mkey_write(host->mrs, mkey[side == A ? OUT : PEER],
						  host->qpc.pdn, nth * BLOCK, block, BLOCK,
						  IBV_ACCESS_LOCAL_WRITE, NULL),
				 0);
	}
	if (is_spoiled)
		host->mem[group * SLOT + (first + draw(nb)) * SIGNED + draw(SIGNED)] ^= 1;
	return is_spoiled;
}

static void
post(uint32_t group, enum ibv_wr_opcode opcode, const struct ibv_sge *sge, uint64_t remote,
     uint32_t rkey, unsigned flags)
{
	struct ibv_sge list = *sge;
	struct ibv_send_wr wr = {
		.opcode = opcode,
		.send_flags = flags,
		.sg_list = &list,
		.num_sge = 1,
		.wr.rdma = { .remote_addr = remote, .rkey = rkey },
	};

	pair.host[A].next_send_id = group;
	assert_int_equal(pair_post_raw(&pair, A, &wr), 0);
}

/*
 * Post a transfer of `nb` blocks: a WRITE, whose data A sends without signatures, or a READ, whose
 * data arrives at A with signatures.
 */
static void
transfer(uint32_t group, uint32_t first, uint32_t nb)
{
	const bool is_write = draw(2);
	const struct pair_host *b = &pair.host[B];
	const uint64_t at = (uint64_t)group * NB_BLOCKS + first;

	if (fill(is_write ? A : B, group, first, nb))
		is_bad[group] = true;
	if (is_write)
		post(group, IBV_WR_RDMA_WRITE,
		     &(struct ibv_sge){ at * BLOCK, nb * BLOCK, mkey[OUT] }, at * BLOCK, mkey[PEER],
		     0);
	else
		post(group, IBV_WR_RDMA_READ,
		     &(struct ibv_sge){ at * SIGNED, nb * SIGNED, mkey[IN] },
		     (uintptr_t)b->mem + at * SIGNED, b->key, 0);
}

/* Post the transfers of a group, and the SEND that reports the group as good. */
static void
post_group(uint32_t group)
{
	const struct pair_host *a = &pair.host[A];

	is_bad[group] = false;
	for (uint32_t first = 0, i = 0; first < NB_BLOCKS && i < GROUP_WR_MAX - 1; i++) {
		const uint32_t nb = 1 + draw(NB_BLOCKS - first);

		transfer(group, first, nb);
		first += nb;
		if (draw(2))
			break;
	}
	post(group, IBV_WR_SEND,
	     &(struct ibv_sge){ (uintptr_t)a->mem + ANSWERS + (uint64_t)group * ANSWER_LEN,
				ANSWER_LEN, a->key },
	     0, 0, IBV_SEND_FENCE);
}

/*
 * Handle a stopped send queue by steps 1 to 4 of mlx5dv_qp_cancel_posted_send_wrs(3).
 * @param nb_done  number of the last group that is handled; updated
 */
static void
go_on(uint32_t *nb_done)
{
	struct pair_host *a = &pair.host[A];
	struct ibv_wc wc;
	uint32_t last = *nb_done;

	assert_int_equal(a->qpc.req.una_idx, a->qpc.req.begun_idx);
	while (uroce_cq_poll(&a->send_cq, 1, &wc) == 1) {
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
		last = (uint32_t)wc.wr_id;
	}
	/* the queue stopped because of a bad block in the last group that has a completion */
	assert_true(is_bad[last]);
	assert_int_equal(uroce_qpc_cancel(&a->qpc, last) > 0, true);
	*nb_done = last;
	nb_stops++;
	pair_set_state(&pair, A, IBV_QPS_RTS);
}

/* Post one receive request. The test calls this rarely, so that B often sends RNR NAKs. */
static void
post_recv(uint32_t *nb)
{
	if (*nb < NB_GROUPS) {
		assert_int_equal(pair_post_recv(&pair, B, ANSWERS + *nb * ANSWER_LEN, ANSWER_LEN),
				 0);
		++*nb;
	}
}

static void
run_groups(void)
{
	struct pair_host *a = &pair.host[A];
	uint32_t posted = 0, received = 0, done = 0;
	struct ibv_wc wc;

	memset(a->mem + ANSWERS, 0, NB_GROUPS * ANSWER_LEN);
	for (uint32_t i = 0; i < NB_GROUPS; i++)
		a->mem[ANSWERS + i * ANSWER_LEN] = (uint8_t)(1 + i);
	while (posted < NB_GROUPS || a->qpc.state == IBV_QPS_SQD ||
	       uroce_ring_head(&a->sq.ring) != uroce_ring_tail(&a->sq.ring)) {
		while (posted < NB_GROUPS && uroce_ring_has_room(&a->sq.ring, GROUP_WR_MAX))
			post_group(posted++);
		pair_run_for(&pair, 1 + draw(1u << draw(20)));
		if (draw(4) == 0)
			post_recv(&received);
		const uint32_t events = pair_events(&pair, A);

		assert_int_equal(events & ~(uint32_t)UROCE_QPC_SQ_DRAINED, 0);
		assert_int_equal(events != 0, a->qpc.state == IBV_QPS_SQD &&
						      a->qpc.req.una_idx == a->qpc.req.begun_idx);
		if (events)
			go_on(&done);
		while (uroce_cq_poll(&a->send_cq, 1, &wc) == 1) {
			assert_int_equal(wc.status, IBV_WC_SUCCESS);
			done = (uint32_t)wc.wr_id;
		}
	}
}

static void
expect_good_groups(void)
{
	const struct pair_host *b = &pair.host[B];
	uint32_t nb_good = 0;

	for (uint32_t group = 0; group < NB_GROUPS; group++)
		if (!is_bad[group])
			assert_int_equal(b->mem[ANSWERS + nb_good++ * ANSWER_LEN], 1 + group);
	assert_int_equal(uroce_ring_tail(&b->rq.ring), nb_good);
}

static void
run_turns(uint32_t nb_hold, bool has_noise)
{
	nb_stops = 0;
	nb_rnr = 0;
	for (draw_seed = 1; draw_seed < 40 * 1000; draw_seed = (draw_seed / 1000 + 1) * 1000) {
		const uint64_t next = draw_seed;

		open_all(nb_hold, has_noise);
		run_groups();
		expect_good_groups();
		nb_rnr += pair.host[A].qpc.stats.naks_rnr;
		close_all();
		draw_seed = next;
	}
	assert_true(nb_stops > 20 && nb_rnr > 0);
}

static void
pipeline__only_good_groups_are_answered(void **state)
{
	(void)state;
	run_turns(0, false);
}

static void
pipeline__only_good_groups_are_answered_over_a_bad_wire(void **state)
{
	(void)state;
	run_turns(0, true);
}

static void
pipeline__only_good_groups_are_answered_by_who_holds(void **state)
{
	(void)state;
	run_turns(64, true);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pipeline__only_good_groups_are_answered),
		cmocka_unit_test(pipeline__only_good_groups_are_answered_over_a_bad_wire),
		cmocka_unit_test(pipeline__only_good_groups_are_answered_by_who_holds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
