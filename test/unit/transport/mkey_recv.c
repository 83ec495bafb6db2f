/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Receive requests whose memory is an mkey, for each kind of receive queue, and for datagrams. A
 * sends data with the signatures of the wire. In B's memory the data must have the signatures that
 * the mkey has for memory.
 */

#include "pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "mem/mkey.h"

#define BLOCK_LEN 512u
#define BLOCKS    20u
#define WIRE_UNIT (BLOCK_LEN + 4)
#define MEM_UNIT  (BLOCK_LEN + 8)
#define GRH_LEN   40u
/* offset in B's memory of the GRH of datagrams, if the GRH is not in the memory of the mkey */
#define GRH_AT 65536u
#define QKEY   0x11111111u

static const struct uroce_sig_domain on_wire = {
	.kind = UROCE_SIG_CRC32C, .block_len = BLOCK_LEN, .len = 4, .seed = UINT32_MAX
};
static const struct uroce_sig_domain in_memory = { .kind = UROCE_SIG_T10_CRC,
						   .block_len = BLOCK_LEN,
						   .len = 8,
						   .app_tag = 0xabcd,
						   .ref_tag = UINT32_MAX - 3,
						   .flags = UROCE_SIG_REF_REMAP };

static struct pair pair;
static void *mem;
static uint32_t mkey;

/* Configure B's mkey: its layout begins with B's memory and has two pieces. */
static void
configure(const struct uroce_sig_domain *memory, const struct uroce_sig_domain *wire, uint32_t len)
{
	union {
		struct uroce_mkey_conf conf;
		uint8_t room[sizeof(struct uroce_mkey_conf) + 2 * sizeof(struct uroce_mkey_piece)];
	} made = { 0 };
	struct uroce_mkey_conf *conf = &made.conf;
	const struct pair_host *b = &pair.host[B];
	const uint64_t addr = (uintptr_t)b->mem;

	conf->parts = UROCE_MKEY_ACCESS | UROCE_MKEY_LAYOUT | UROCE_MKEY_SIG;
	conf->access = IBV_ACCESS_LOCAL_WRITE;
	conf->repeat = 1;
	conf->nb_pieces = 2;
	conf->mem = *memory;
	conf->wire = *wire;
	conf->check_mask = 0xff;
	conf->piece[0] = (struct uroce_mkey_piece){ .addr = addr, .len = 333, .lkey = b->key };
	conf->piece[1] =
		(struct uroce_mkey_piece){ .addr = addr + 333, .len = len - 333, .lkey = b->key };
	assert_int_equal(uroce_mkey_configure(b->mrs, mkey, b->qpc.pdn, conf), 0);
}

static void
open_pair(const struct pair_conf *conf)
{
	struct pair_conf quiet = *conf;

	quiet.is_quiet = true;
	pair_open(&pair, &quiet);
	assert_int_equal(posix_memalign(&mem, 64, uroce_mkey_memsize(2)), 0);
	assert_int_equal(uroce_mkey_add(pair.host[B].mrs, mem, 2, UROCE_MKEY_SIGNATURE,
					pair.host[B].qpc.pdn, &mkey),
			 0);
	configure(&in_memory, &on_wire, BLOCKS * MEM_UNIT);
}

static void
close_pair(void)
{
	pair_close(&pair);
	free(mem);
}

static void
put_sig(const struct uroce_sig_domain *domain, const uint8_t *block, uint32_t nth, uint8_t *to)
{
	uint8_t sig[UROCE_SIG_LEN_MAX];

	uroce_sig_end(domain,
		      uroce_sig_add(domain, uroce_sig_begin(domain), block, domain->block_len), nth,
		      sig);
	memcpy(to, sig, domain->len);
}

/* Fill A's memory with random blocks and the signatures of the wire. */
static void
fill(uint32_t seed)
{
	pair_fill(&pair, A, 0, BLOCKS * WIRE_UNIT, seed);
	memset(pair.host[B].mem, 0, BLOCKS * MEM_UNIT);
	for (uint32_t i = 0; i < BLOCKS; i++) {
		uint8_t *block = pair.host[A].mem + i * WIRE_UNIT;

		put_sig(&on_wire, block, i, block + BLOCK_LEN);
	}
}

static void
post_recv(uint32_t len)
{
	struct ibv_sge sge = { .length = len, .lkey = mkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };

	assert_int_equal(pair_post_recv_raw(&pair, B, &wr), 0);
}

static void
post_send(uint32_t len)
{
	assert_int_equal(
		pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_SEND, .len = len }), 0);
}

static void
expect_blocks(uint32_t nb)
{
	for (uint32_t i = 0; i < nb; i++) {
		const uint8_t *block = pair.host[B].mem + i * MEM_UNIT;
		uint8_t sig[UROCE_SIG_LEN_MAX];

		assert_memory_equal(block, pair.host[A].mem + i * WIRE_UNIT, BLOCK_LEN);
		put_sig(&in_memory, block, i, sig);
		assert_memory_equal(block + BLOCK_LEN, sig, in_memory.len);
	}
}

/*
 * Query the mkey twice: the first query must return this error, and the second one none.
 * @param fault  UROCE_SIG_GOOD: no error is expected
 */
static void
expect_error(uint8_t fault, uint64_t offset)
{
	struct uroce_mkey_error error;

	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(uroce_mkey_check(pair.host[B].mrs, mkey, &error), 0);
		assert_int_equal(error.sig.fault, i == 0 ? fault : UROCE_SIG_GOOD);
		assert_int_equal(error.offset, i == 0 ? offset : 0);
	}
}

/* --- messages on RC, UC and XRC ------------------------------------------------------------------- */

/*
 * Send messages through one kind of receive queue, and lose a different frame of each message. Then
 * send a message with a bad block.
 */
static void
try_queue(struct pair_conf conf)
{
	for (unsigned is_holding = 0; is_holding <= 1; is_holding++) {
		conf.nb_hold = is_holding ? 64 : 0;
		open_pair(&conf);
		for (unsigned lost = 0; lost < 14; lost++) {
			fill(lost);
			post_recv(BLOCKS * WIRE_UNIT);
			pair_lose(&pair, A, lost);
			post_send(BLOCKS * WIRE_UNIT);
			pair_run(&pair);
			pair.nb_actions = 0;
			assert_non_null(strstr(pair_completions(&pair, B), "RECV SUCCESS 10320"));
			expect_blocks(BLOCKS);
			expect_error(UROCE_SIG_GOOD, 0);
		}
		fill(1);
		pair.host[A].mem[3 * WIRE_UNIT + 5] ^= 1;
		post_recv(BLOCKS * WIRE_UNIT);
		post_send(BLOCKS * WIRE_UNIT);
		pair_run(&pair);
		expect_blocks(BLOCKS);
		expect_error(UROCE_SIG_BAD_GUARD, 3 * WIRE_UNIT);
		close_pair();
	}
}

static void
recv__of_a_shared_queue_through_an_mkey(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	(void)state;
	conf.has_srq = true;
	try_queue(conf);
}

static void
recv__of_an_xrc_queue_through_an_mkey(void **state)
{
	(void)state;
	try_queue(pair_conf(IBV_QPT_XRC_SEND));
}

/*
 * UC drops a message that has lost a packet, and discards the mkey's state of an incomplete block.
 */
static void
recv__of_uc_through_an_mkey(void **state)
{
	const struct pair_conf conf = pair_conf(IBV_QPT_UC);

	(void)state;
	for (unsigned lost = 0; lost < 11; lost++) {
		open_pair(&conf);
		fill(lost);
		post_recv(BLOCKS * WIRE_UNIT);
		pair_lose(&pair, A, lost);
		post_send(BLOCKS * WIRE_UNIT);
		pair_run(&pair);
		pair_expect_done(&pair, B, "");
		post_send(BLOCKS * WIRE_UNIT);
		pair_run(&pair);
		pair_expect_done(&pair, B, "recv 0 RECV SUCCESS 10320\n");
		expect_blocks(BLOCKS);
		expect_error(UROCE_SIG_GOOD, 0);
		close_pair();
	}
}

/* --- datagrams ------------------------------------------------------------------------------------ */

static void
post_datagram(uint32_t len, uint32_t lkey)
{
	struct ibv_sge sge = { (uintptr_t)pair.host[A].mem, len, lkey };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1 };

	wr.wr.ud.remote_qpn = pair.host[B].qpc.qpn;
	wr.wr.ud.remote_qkey = QKEY;
	assert_int_equal(pair_post_raw(&pair, A, &wr), 0);
}

static void
post_datagram_recv(uint32_t lkey)
{
	struct ibv_sge sge[] = {
		{ (uintptr_t)pair.host[B].mem + GRH_AT, GRH_LEN, pair.host[B].key },
		{ .length = 1000, .lkey = lkey },
	};
	struct ibv_recv_wr wr = { .sg_list = sge, .num_sge = 2 };

	assert_int_equal(pair_post_recv_raw(&pair, B, &wr), 0);
}

static void
open_ud(void)
{
	const struct pair_conf conf = pair_conf(IBV_QPT_UD);

	open_pair(&conf);
	fill(1);
}

/* The GRH is placed in a separate SGE, so the blocks of the mkey are the blocks of the sender. */
static void
recv__of_datagrams_through_an_mkey(void **state)
{
	(void)state;
	open_ud();
	post_datagram_recv(mkey);
	post_datagram(WIRE_UNIT, pair.host[A].key);
	pair_run(&pair);
	pair_expect_done(&pair, B, "recv 0 RECV SUCCESS 556 from aaaaa1\n");
	expect_blocks(1);
	expect_error(UROCE_SIG_GOOD, 0);

	pair.host[A].mem[7] ^= 1;
	post_datagram_recv(mkey);
	post_datagram(WIRE_UNIT, pair.host[A].key);
	pair_run(&pair);
	pair_expect_done(&pair, B, "recv 1 RECV SUCCESS 556 from aaaaa1\n");
	expect_blocks(1);
	expect_error(UROCE_SIG_BAD_GUARD, 0);
	close_pair();
}

/* A GRH that is placed in the memory of the mkey counts as data. */
static void
recv__of_datagrams_with_their_header_in_the_mkey(void **state)
{
	const struct uroce_sig_domain none = { 0 };

	(void)state;
	open_ud();
	configure(&none, &none, 1000);
	post_recv(1000);
	post_datagram(700, pair.host[A].key);
	pair_run(&pair);
	pair_expect_done(&pair, B, "recv 0 RECV SUCCESS 740 from aaaaa1\n");
	assert_true(pair_is_equal(&pair, 0, GRH_LEN, 700));
	close_pair();
}

static void
recv__of_datagrams_through_no_mkey_fails(void **state)
{
	(void)state;
	open_ud();
	assert_int_equal(uroce_mkey_invalidate(pair.host[B].mrs, mkey, pair.host[B].qpc.pdn, false),
			 0);
	post_datagram_recv(mkey);
	post_datagram(WIRE_UNIT, pair.host[A].key);
	pair_run(&pair);
	assert_non_null(strstr(pair_completions(&pair, B), "recv 0 LOC_PROT_ERR"));
	assert_int_equal(pair.host[B].mem[0], 0);
	close_pair();
}

/* A datagram cannot be sent through an mkey, because its payload must be in memory. */
static void
send__of_datagrams_takes_no_mkey(void **state)
{
	struct uroce_mr_table *mrs;
	uint32_t key;
	void *other = NULL;

	(void)state;
	open_ud();
	mrs = pair.host[A].mrs;
	assert_int_equal(posix_memalign(&other, 64, uroce_mkey_memsize(1)), 0);
	assert_int_equal(uroce_mkey_add(mrs, other, 1, 0, pair.host[A].qpc.pdn, &key), 0);
	post_datagram(16, key);
	pair_run(&pair);
	pair_expect_done(&pair, A, "send 0 LOC_PROT_ERR\n");
	uroce_mkey_remove(mrs, key);
	close_pair();
	free(other);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recv__of_a_shared_queue_through_an_mkey),
		cmocka_unit_test(recv__of_an_xrc_queue_through_an_mkey),
		cmocka_unit_test(recv__of_uc_through_an_mkey),
		cmocka_unit_test(recv__of_datagrams_through_an_mkey),
		cmocka_unit_test(recv__of_datagrams_with_their_header_in_the_mkey),
		cmocka_unit_test(recv__of_datagrams_through_no_mkey_fails),
		cmocka_unit_test(send__of_datagrams_takes_no_mkey),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
