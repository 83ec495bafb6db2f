/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The pool of blocks of resources for READs and atomics: which QP gets a block, keeps it, and loses
 * it when another QP needs one.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "pair.h"

#define NB_BLOCKS 2

static struct uroce_rd_pool *pool;
static struct uroce_resp holder[NB_BLOCKS + 1];

static int
make_pool(void **state)
{
	void *mem = aligned_alloc(64, (uroce_rd_pool_memsize(NB_BLOCKS) + 63) / 64 * 64);

	(void)state;
	assert_non_null(mem);
	memset(mem, 0xa5, uroce_rd_pool_memsize(NB_BLOCKS));
	pool = uroce_rd_pool_init(mem, NB_BLOCKS);
	memset(holder, 0, sizeof(holder));
	return 0;
}

static int
free_pool(void **state)
{
	(void)state;
	free(pool);
	return 0;
}

static bool
take(unsigned who, uint64_t now_ns)
{
	holder[who].res = uroce_rd_pool_take(pool, &holder[who], now_ns);
	return holder[who].res;
}

static void
rd_pool_take__a_block_is_empty_and_nobody_elses(void **state)
{
	static const struct uroce_rd_res empty;

	(void)state;
	assert_true(take(0, 0));
	assert_true(take(1, 0));
	assert_ptr_not_equal(holder[0].res, holder[1].res);
	assert_int_equal(uroce_rd_pool_count(pool), 2);
	for (unsigned i = 0; i < UROCE_RD_ATOMIC_MAX; i++)
		assert_memory_equal(&holder[1].res[i], &empty, sizeof(empty));
}

static void
rd_pool_take__a_block_given_back_is_empty_again(void **state)
{
	(void)state;
	assert_true(take(0, 0));
	assert_true(take(1, 0));
	struct uroce_rd_res *block = holder[0].res;

	block[3].end = 7;
	uroce_rd_pool_give(pool, block);
	assert_int_equal(uroce_rd_pool_count(pool), 1);
	assert_true(take(2, 0));
	assert_ptr_equal(holder[2].res, block);
	assert_int_equal(block[3].end, 0);
}

static void
rd_pool_take__no_block_is_taken_from_who_used_it_lately(void **state)
{
	(void)state;
	assert_true(take(0, 100));
	assert_true(take(1, 100));
	assert_false(take(2, 100 + UROCE_RD_KEEP_NS - 1));
	assert_non_null(holder[0].res);
	assert_non_null(holder[1].res);
}

static void
rd_pool_take__the_block_unused_for_longest_changes_hands(void **state)
{
	(void)state;
	assert_true(take(0, 0));
	assert_true(take(1, 1));
	uroce_rd_pool_touch(pool, holder[0].res, 2);
	assert_true(take(2, 1 + UROCE_RD_KEEP_NS));
	assert_non_null(holder[0].res);
	assert_null(holder[1].res);
	assert_int_equal(uroce_rd_pool_count(pool), 2);
}

static void
rd_pool_take__a_block_with_something_to_send_stays(void **state)
{
	(void)state;
	assert_true(take(0, 0));
	assert_true(take(1, 1));
	holder[0].pending = 1;
	assert_true(take(2, 1 + UROCE_RD_KEEP_NS));
	assert_non_null(holder[0].res);
	assert_null(holder[1].res);
	holder[2].pending = 1;
	assert_false(take(1, 2 + 2 * UROCE_RD_KEEP_NS));
}

static void
rd_pool_give__in_any_order(void **state)
{
	(void)state;
	assert_true(take(0, 0));
	assert_true(take(1, 0));
	uroce_rd_pool_give(pool, holder[1].res);
	assert_true(take(2, 0));
	uroce_rd_pool_give(pool, holder[0].res);
	uroce_rd_pool_give(pool, holder[2].res);
	uroce_rd_pool_give(pool, NULL);
	assert_int_equal(uroce_rd_pool_count(pool), 0);
	assert_true(take(0, 0));
	assert_true(take(1, 0));
	assert_false(take(2, 0));
}

/* --- the block of resources of a QP --- */

static struct pair pair;

static int
open_pair(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	(void)state;
	pair_open(&pair, &conf);
	return 0;
}

static int
close_pair(void **state)
{
	(void)state;
	pair_close(&pair);
	return 0;
}

static uint32_t
nb_held(enum pair_side side)
{
	return uroce_rd_pool_count(pair.host[side].rd_pool);
}

static void
qpc__takes_a_block_with_its_first_read_and_gives_it_back(void **state)
{
	(void)state;
	assert_int_equal(nb_held(B), 0);
	pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_RDMA_WRITE, .len = 8 });
	pair_run(&pair);
	assert_int_equal(nb_held(B), 0);
	pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_RDMA_READ, .len = 8 });
	pair_run(&pair);
	assert_int_equal(nb_held(B), 1);
	pair_set_state(&pair, B, IBV_QPS_RESET);
	assert_int_equal(nb_held(B), 0);
	assert_int_equal(nb_held(A), 0);
}

static void
qpc_fini__gives_the_block_back(void **state)
{
	(void)state;
	pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD });
	pair_run(&pair);
	assert_int_equal(nb_held(B), 1);
	uroce_qpc_fini(&pair.host[B].qpc);
	assert_int_equal(nb_held(B), 0);
}

/*
 * Without a free block a READ or atomic is not executed, and gets an RNR NAK. The peer repeats the
 * request later, when another QP may have released a block [IBA 9.7.5.2.8].
 */
static void
resp_recv__read_and_atomic_wait_while_the_pool_is_empty(void **state)
{
	struct uroce_resp other = { 0 };

	(void)state;
	other.res = uroce_rd_pool_take(pair.host[B].rd_pool, &other, 0);
	pair_post(&pair, A,
		  &(struct pair_wr){ .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD, .compare_add = 5 });
	pair_run_for(&pair, 3 * PAIR_LATENCY_NS);
	pair_expect_trace(&pair, "A>B FETCH_ADD psn 0\nB>A RNR_NAK psn 0\n");
	assert_int_equal(pair.host[B].nb_verdicts[UROCE_VERDICT_NO_RESOURCE], 1);
	assert_int_equal(pair.host[B].mem[0], 0);
	uroce_rd_pool_give(pair.host[B].rd_pool, other.res);
	pair_run(&pair);
	pair_expect_trace(&pair, "A RNR_TIMER\nA>B FETCH_ADD psn 0\nB>A ATOMIC_ACK psn 0\n");
	pair_expect_done(&pair, A, "send 0 FETCH_ADD SUCCESS\n");
	assert_int_equal(pair.host[B].mem[0], 5);
}

static void
resp_recv__duplicate_of_what_was_taken_away_is_stale(void **state)
{
	struct uroce_resp other = { 0 };

	(void)state;
	pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD });
	pair_run(&pair);
	other.res =
		uroce_rd_pool_take(pair.host[B].rd_pool, &other, pair.now_ns + UROCE_RD_KEEP_NS);
	assert_non_null(other.res);
	assert_int_equal(pair_inject(&pair, B,
				     &(struct pair_pkt){
					     .opcode = UROCE_OP_FETCH_ADD,
					     .psn = 0,
					     .va = (uintptr_t)pair.host[B].mem,
					     .rkey = pair.host[B].key,
				     }),
			 UROCE_VERDICT_STALE);
}

/*
 * Check the size of a QP context without other memory, which is what an idle connected QP needs.
 * The size of the worker's record of the QP is checked where the record is defined.
 */
static void
qpc__idle_context_leaves_room_for_the_workers_record_in_1_kib(void **state)
{
	(void)state;
	print_message("# sizeof(struct uroce_qpc): %zu bytes\n", sizeof(struct uroce_qpc));
	/*
	 * 1 KiB must have room for the worker's record as well: one cache line of lists and timers,
	 * and 32 bytes of other data
	 */
	assert_true(sizeof(struct uroce_qpc) <= 1024 - 64 - 32);
}

#define POOL_TEST(f) cmocka_unit_test_setup_teardown(f, make_pool, free_pool)
#define PAIR_TEST(f) cmocka_unit_test_setup_teardown(f, open_pair, close_pair)

static void
rd_pool_migrate__a_block_is_nobodys_to_take(void **state)
{
	(void)state;
	assert_true(take(0, 0));
	assert_true(take(1, 0));
	uroce_rd_pool_migrate(pool, holder[0].res);
	/* a second migration moves the block to a third worker */
	uroce_rd_pool_migrate(pool, holder[0].res);
	uroce_rd_pool_touch(pool, holder[0].res, 1);
	holder[0].res[2].end = 7;
	/*
	 * take the block of holder 1, although it was used more recently: the block of holder 0 has
	 * migrated
	 */
	assert_true(take(2, UROCE_RD_KEEP_NS));
	assert_non_null(holder[0].res);
	assert_null(holder[1].res);
	assert_int_equal(holder[0].res[2].end, 7);
}

static void
rd_pool_migrate__a_block_comes_home(void **state)
{
	struct uroce_rd_res *block;

	(void)state;
	assert_true(take(0, 0));
	assert_true(take(1, 0));
	block = holder[0].res;
	uroce_rd_pool_migrate(pool, block);
	assert_false(take(2, 0));
	/* another worker, which has another pool, releases the migrated block */
	uroce_rd_pool_give(NULL, block);
	assert_true(take(2, 0));
	assert_ptr_equal(holder[2].res, block);
	assert_int_equal(uroce_rd_pool_count(pool), 2);
	/* the block is back in `pool`, which accepts it like any other block */
	uroce_rd_pool_give(pool, holder[2].res);
	uroce_rd_pool_give(pool, holder[1].res);
	assert_int_equal(uroce_rd_pool_count(pool), 0);
}

static void
rd_pool_migrate__no_block_is_no_matter(void **state)
{
	(void)state;
	uroce_rd_pool_migrate(pool, NULL);
	assert_int_equal(uroce_rd_pool_count(pool), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		POOL_TEST(rd_pool_take__a_block_is_empty_and_nobody_elses),
		POOL_TEST(rd_pool_take__a_block_given_back_is_empty_again),
		POOL_TEST(rd_pool_take__no_block_is_taken_from_who_used_it_lately),
		POOL_TEST(rd_pool_take__the_block_unused_for_longest_changes_hands),
		POOL_TEST(rd_pool_take__a_block_with_something_to_send_stays),
		POOL_TEST(rd_pool_give__in_any_order),
		PAIR_TEST(qpc__takes_a_block_with_its_first_read_and_gives_it_back),
		PAIR_TEST(qpc_fini__gives_the_block_back),
		PAIR_TEST(resp_recv__read_and_atomic_wait_while_the_pool_is_empty),
		PAIR_TEST(resp_recv__duplicate_of_what_was_taken_away_is_stale),
		cmocka_unit_test(qpc__idle_context_leaves_room_for_the_workers_record_in_1_kib),
		POOL_TEST(rd_pool_migrate__a_block_is_nobodys_to_take),
		POOL_TEST(rd_pool_migrate__a_block_comes_home),
		POOL_TEST(rd_pool_migrate__no_block_is_no_matter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
