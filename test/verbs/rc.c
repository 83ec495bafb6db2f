/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reliable connections: every operation, with lengths around the path MTU, over IPv4 and IPv6.
 */

#include "net.h"

#include <uroce_dv.h>

#include <stdio.h>
#include <arpa/inet.h>

#define MTU 1024u

static struct pair net;

static int
setup(void **state)
{
	(void)state;
	pair_open(&net, &(struct pair_conf){ .type = IBV_QPT_RC });
	pair_connect(&net);
	return 0;
}

static int
setup_quiet(void **state)
{
	(void)state;
	pair_open(&net, &(struct pair_conf){ .type = IBV_QPT_RC, .is_quiet = true });
	pair_connect(&net);
	return 0;
}

static int
setup_ipv6(void **state)
{
	(void)state;
	pair_open(&net, &(struct pair_conf){ .type = IBV_QPT_RC, .is_ipv6 = true });
	pair_connect(&net);
	return 0;
}

static int
setup_mtu_256(void **state)
{
	(void)state;
	pair_open(&net, &(struct pair_conf){ .type = IBV_QPT_RC, .mtu = IBV_MTU_256 });
	pair_connect(&net);
	return 0;
}

static int
setup_mtu_4096(void **state)
{
	(void)state;
	pair_open(&net, &(struct pair_conf){ .type = IBV_QPT_RC, .mtu = IBV_MTU_4096 });
	pair_connect(&net);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	pair_close(&net);
	return 0;
}

static const uint32_t lens[] = { 0,       1,       2,           3,     MTU - 1,    MTU,
				 MTU + 1, 2 * MTU, 3 * MTU + 7, 65536, BUF_LEN / 2 };
#define NB_LENS (sizeof(lens) / sizeof(lens[0]))

/*
 * Offset of the message in the buffer. The AT bytes before the message and the AT bytes behind it
 * must not change.
 */
#define AT 64u

static void
prepare(uint32_t len, unsigned seed)
{
	fill(net.a.buf, AT + len + AT, seed);
	fill(net.b.buf, AT + len + AT, seed + 1);
}

static void
expect_placed(const struct host *to, const struct host *from, uint32_t len, unsigned seed_of_to)
{
	uint8_t around[2 * AT];

	assert_memory_equal(to->buf + AT, from->buf + AT, len);
	fill(around, AT, seed_of_to);
	assert_memory_equal(to->buf, around, AT);
	for (uint32_t i = 0; i < AT; i++)
		around[i] = (uint8_t)((AT + len + i + seed_of_to) * 2654435761u >> 13);
	assert_memory_equal(to->buf + AT + len, around, AT);
}

static void
send__arrives(void **state)
{
	(void)state;
	for (unsigned i = 0; i < NB_LENS; i++) {
		prepare(lens[i], i);
		post_recv(&net.b, 100 + i, sge_of(&net.b, AT, lens[i] + 5));
		post_send(&net.a, IBV_WR_SEND, i, sge_of(&net.a, AT, lens[i]));
		const struct ibv_wc sent = expect_wc(&net, net.a.scq, i, IBV_WC_SUCCESS);
		const struct ibv_wc wc = expect_wc(&net, net.b.rcq, 100 + i, IBV_WC_SUCCESS);

		assert_int_equal(sent.opcode, IBV_WC_SEND);
		assert_int_equal(sent.qp_num, net.a.qp->qp_num);
		assert_int_equal(wc.opcode, IBV_WC_RECV);
		assert_int_equal(wc.byte_len, lens[i]);
		assert_int_equal(wc.qp_num, net.b.qp->qp_num);
		assert_int_equal(wc.wc_flags, 0);
		expect_placed(&net.b, &net.a, lens[i], i + 1);
	}
	expect_none(&net);
}

static void
send_with_imm__brings_it(void **state)
{
	(void)state;
	for (unsigned i = 0; i < NB_LENS; i++) {
		prepare(lens[i], i);
		post_recv(&net.b, 100 + i, sge_of(&net.b, AT, lens[i]));
		post_send(&net.a, IBV_WR_SEND_WITH_IMM, i, sge_of(&net.a, AT, lens[i]));
		const struct ibv_wc wc = expect_wc(&net, net.b.rcq, 100 + i, IBV_WC_SUCCESS);

		assert_int_equal(wc.opcode, IBV_WC_RECV);
		assert_int_equal(wc.wc_flags, IBV_WC_WITH_IMM);
		/* imm_data is in wire order in requests and in completions, so it is unchanged */
		assert_int_equal(wc.imm_data, 0x01020304);
		expect_placed(&net.b, &net.a, lens[i], i + 1);
		expect_wc(&net, net.a.scq, i, IBV_WC_SUCCESS);
	}
}

static void
write__arrives_unnoticed(void **state)
{
	(void)state;
	for (unsigned i = 0; i < NB_LENS; i++) {
		prepare(lens[i], i);
		post_rdma(&net.a, &net.b, IBV_WR_RDMA_WRITE, i, sge_of(&net.a, AT, lens[i]), AT);
		const struct ibv_wc wc = expect_wc(&net, net.a.scq, i, IBV_WC_SUCCESS);

		assert_int_equal(wc.opcode, IBV_WC_RDMA_WRITE);
		expect_placed(&net.b, &net.a, lens[i], i + 1);
	}
	expect_none(&net);
}

static void
write_with_imm__uses_a_receive_request(void **state)
{
	(void)state;
	for (unsigned i = 0; i < NB_LENS; i++) {
		prepare(lens[i], i);
		post_recv(&net.b, 100 + i, sge_of(&net.b, 0, 0));
		post_rdma(&net.a, &net.b, IBV_WR_RDMA_WRITE_WITH_IMM, i,
			  sge_of(&net.a, AT, lens[i]), AT);
		const struct ibv_wc wc = expect_wc(&net, net.b.rcq, 100 + i, IBV_WC_SUCCESS);

		assert_int_equal(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
		assert_int_equal(wc.wc_flags, IBV_WC_WITH_IMM);
		assert_int_equal(wc.imm_data, 0x01020304);
		assert_int_equal(wc.byte_len, lens[i]);
		expect_placed(&net.b, &net.a, lens[i], i + 1);
		expect_wc(&net, net.a.scq, i, IBV_WC_SUCCESS);
	}
}

static void
read__fetches(void **state)
{
	(void)state;
	for (unsigned i = 0; i < NB_LENS; i++) {
		prepare(lens[i], i);
		post_rdma(&net.a, &net.b, IBV_WR_RDMA_READ, i, sge_of(&net.a, AT, lens[i]), AT);
		const struct ibv_wc wc = expect_wc(&net, net.a.scq, i, IBV_WC_SUCCESS);

		assert_int_equal(wc.opcode, IBV_WC_RDMA_READ);
		assert_int_equal(wc.byte_len, lens[i]);
		expect_placed(&net.a, &net.b, lens[i], i);
	}
	expect_none(&net);
}

static void
atomic(enum ibv_wr_opcode opcode, uint64_t compare_add, uint64_t swap)
{
	struct ibv_sge sge = sge_of(&net.a, 0, 8);
	struct ibv_send_wr *bad = NULL, wr = {
		.opcode = opcode,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.atomic = {
			.remote_addr = (uintptr_t)net.b.buf + 16,
			.compare_add = compare_add,
			.swap = swap,
			.rkey = net.b.mr->rkey,
		},
	};

	assert_int_equal(ibv_post_send(net.a.qp, &wr, &bad), 0);
}

static void
atomic_write__stores_8_bytes_and_flush_is_answered(void **state)
{
	struct ibv_sge sge = sge_of(&net.a, 0, 8);
	struct ibv_send_wr *bad = NULL, wr = {
		.wr_id = 1,
		.opcode = UROCE_DV_WR_ATOMIC_WRITE,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.rdma = { (uintptr_t)net.b.buf + 16, net.b.mr->rkey },
	};
	struct ibv_wc wc;

	(void)state;
	fill(net.a.buf, 8, 3);
	assert_int_equal(ibv_post_send(net.a.qp, &wr, &bad), 0);
	wc = expect_wc(&net, net.a.scq, 1, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, UROCE_DV_WC_ATOMIC_WRITE);
	assert_memory_equal(net.b.buf + 16, net.a.buf, 8);

	wr = (struct ibv_send_wr){ .wr_id = 2 };
	uroce_dv_set_flush(&wr, net.b.mr->rkey, (uintptr_t)net.b.buf, 24, UROCE_DV_FLUSH_GLOBAL,
			   UROCE_DV_FLUSH_RANGE);
	assert_int_equal(ibv_post_send(net.a.qp, &wr, &bad), 0);
	wc = expect_wc(&net, net.a.scq, 2, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, UROCE_DV_WC_FLUSH);
}

static void
atomics__return_what_was_there(void **state)
{
	uint64_t value = 40, was;
	struct ibv_wc wc;

	(void)state;
	memcpy(net.b.buf + 16, &value, 8);
	atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, 2, 0);
	wc = expect_wc(&net, net.a.scq, 0, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_FETCH_ADD);
	assert_int_equal(wc.byte_len, 8);
	memcpy(&was, net.a.buf, 8);
	memcpy(&value, net.b.buf + 16, 8);
	assert_int_equal(was, 40);
	assert_int_equal(value, 42);

	atomic(IBV_WR_ATOMIC_CMP_AND_SWP, 42, 7);
	wc = expect_wc(&net, net.a.scq, 0, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_COMP_SWAP);
	memcpy(&was, net.a.buf, 8);
	memcpy(&value, net.b.buf + 16, 8);
	assert_int_equal(was, 42);
	assert_int_equal(value, 7);

	/* the word is 7, so a compare with 42 changes nothing */
	atomic(IBV_WR_ATOMIC_CMP_AND_SWP, 42, 9);
	expect_wc(&net, net.a.scq, 0, IBV_WC_SUCCESS);
	memcpy(&was, net.a.buf, 8);
	memcpy(&value, net.b.buf + 16, 8);
	assert_int_equal(was, 7);
	assert_int_equal(value, 7);
}

#define NB_ADDS 20000u

static atomic_bool is_adding;

/* A thread that adds to the word to which the peer's atomics add, by instructions of the CPU. */
static void *
add_by_cpu(void *arg)
{
	uint64_t nb = 0;

	while (atomic_load(&is_adding)) {
		(void)__atomic_fetch_add((uint64_t *)(net.b.buf + 16), 1, __ATOMIC_RELAXED);
		nb++;
	}
	*(uint64_t *)arg = nb;
	return NULL;
}

/* Atomics of the peer are atomic with respect to the CPU (IBV_ATOMIC_GLOB): no addition is lost. */
static void
atomics__are_atomic_beside_the_cpu(void **state)
{
	uint64_t by_cpu = 0, value;
	pthread_t thread;

	(void)state;
	atomic_store(&is_adding, true);
	assert_int_equal(pthread_create(&thread, NULL, add_by_cpu, &by_cpu), 0);
	for (unsigned i = 0; i < NB_ADDS; i++) {
		atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, (uint64_t)1 << 32, 0);
		expect_wc(&net, net.a.scq, 0, IBV_WC_SUCCESS);
	}
	atomic_store(&is_adding, false);
	assert_int_equal(pthread_join(thread, NULL), 0);
	memcpy(&value, net.b.buf + 16, 8);
	assert_int_equal(value >> 32, NB_ADDS + (by_cpu >> 32));
	assert_int_equal(value & UINT32_MAX, by_cpu & UINT32_MAX);
}

static void
lists__are_gathered_and_scattered(void **state)
{
	struct ibv_sge out[NB_SGE] = {
		sge_of(&net.a, 0, 1000),
		sge_of(&net.a, 5000, 0),
		sge_of(&net.a, 1000, 1),
		sge_of(&net.a, 1001, 2999),
	};
	struct ibv_sge in[NB_SGE] = {
		sge_of(&net.b, 10000, 3),
		sge_of(&net.b, 20000, 1500),
		sge_of(&net.b, 0, 0),
		sge_of(&net.b, 30000, 4000),
	};
	struct ibv_send_wr *bad_send,
		send = { .wr_id = 1, .opcode = IBV_WR_SEND, .sg_list = out, .num_sge = NB_SGE };
	struct ibv_recv_wr *bad_recv, recv = { .wr_id = 2, .sg_list = in, .num_sge = NB_SGE };

	(void)state;
	fill(net.a.buf, 8000, 3);
	assert_int_equal(ibv_post_recv(net.b.qp, &recv, &bad_recv), 0);
	assert_int_equal(ibv_post_send(net.a.qp, &send, &bad_send), 0);
	expect_wc(&net, net.a.scq, 1, IBV_WC_SUCCESS);
	assert_int_equal(expect_wc(&net, net.b.rcq, 2, IBV_WC_SUCCESS).byte_len, 4000);
	assert_memory_equal(net.b.buf + 10000, net.a.buf, 3);
	assert_memory_equal(net.b.buf + 20000, net.a.buf + 3, 1500);
	assert_memory_equal(net.b.buf + 30000, net.a.buf + 1503, 2497);
	assert_int_equal(net.b.buf[30000 + 2497], 0);
}

static void
iova__is_what_peers_address(void **state)
{
	const uint64_t iova = 0x123456789000;
	struct ibv_mr *mr = uroce_reg_mr_iova(net.b.pd, net.b.buf, 4096, iova,
					      IBV_ACCESS_LOCAL_WRITE | ALL_REMOTE);
	struct ibv_sge sge = sge_of(&net.a, 0, 100);
	struct ibv_send_wr *bad,
		wr = { .opcode = IBV_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1 };

	(void)state;
	assert_non_null(mr);
	fill(net.a.buf, 100, 8);
	wr.wr.rdma.remote_addr = iova + 50;
	wr.wr.rdma.rkey = mr->rkey;
	assert_int_equal(ibv_post_send(net.a.qp, &wr, &bad), 0);
	expect_wc(&net, net.a.scq, 0, IBV_WC_SUCCESS);
	assert_memory_equal(net.b.buf + 50, net.a.buf, 100);
	assert_int_equal(uroce_dereg_mr(mr), 0);
}

static void
unsignaled__completes_silently_and_gives_its_slot_back(void **state)
{
	struct ibv_sge sge = sge_of(&net.a, 0, 8);
	struct ibv_send_wr *bad,
		wr = { .opcode = IBV_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1 };

	(void)state;
	wr.wr.rdma.remote_addr = (uintptr_t)net.b.buf;
	wr.wr.rdma.rkey = net.b.mr->rkey;
	for (uint64_t i = 0; i < 10 * NB_WR; i++) {
		const bool is_last = i % NB_WR == NB_WR - 1;

		wr.wr_id = i;
		wr.send_flags = is_last ? IBV_SEND_SIGNALED : 0;
		assert_int_equal(ibv_post_send(net.a.qp, &wr, &bad), 0);
		if (is_last)
			expect_wc(&net, net.a.scq, i, IBV_WC_SUCCESS);
	}
	expect_none(&net);
}

static void
requests__complete_in_order(void **state)
{
	static const enum ibv_wr_opcode opcodes[] = { IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
						      IBV_WR_SEND };

	(void)state;
	for (uint64_t i = 0; i < 12; i++)
		if (opcodes[i % 3] == IBV_WR_SEND)
			post_recv(&net.b, i, sge_of(&net.b, 0, 9000));
	for (uint64_t i = 0; i < 12; i++)
		post_rdma(&net.a, &net.b, opcodes[i % 3], i, sge_of(&net.a, 10000, 9000), 20000);
	for (uint64_t i = 0; i < 12; i++)
		expect_wc(&net, net.a.scq, i, IBV_WC_SUCCESS);
	for (uint64_t i = 2; i < 12; i += 3)
		expect_wc(&net, net.b.rcq, i, IBV_WC_SUCCESS);
}

static void
fence__reads_before_it_sends(void **state)
{
	struct ibv_sge sge = sge_of(&net.a, 0, 64);
	struct ibv_send_wr *bad, wr = { .wr_id = 2,
					.opcode = IBV_WR_SEND,
					.sg_list = &sge,
					.num_sge = 1,
					.send_flags = IBV_SEND_FENCE };

	(void)state;
	fill(net.b.buf, 64, 77);
	memcpy(net.b.buf + 4096, net.b.buf, 64);
	memset(net.b.buf + 8192, 0, 64);
	post_recv(&net.b, 9, sge_of(&net.b, 8192, 64));
	/* with IBV_SEND_FENCE, the SEND sends the data that the READ has written to the buffer */
	post_rdma(&net.a, &net.b, IBV_WR_RDMA_READ, 1, sge_of(&net.a, 0, 64), 4096);
	assert_int_equal(ibv_post_send(net.a.qp, &wr, &bad), 0);
	expect_wc(&net, net.a.scq, 1, IBV_WC_SUCCESS);
	expect_wc(&net, net.a.scq, 2, IBV_WC_SUCCESS);
	expect_wc(&net, net.b.rcq, 9, IBV_WC_SUCCESS);
	assert_memory_equal(net.b.buf + 8192, net.b.buf, 64);
}

static void
both__send_at_once(void **state)
{
	(void)state;
	fill(net.a.buf, 50000, 1);
	fill(net.b.buf, 50000, 2);
	for (uint64_t i = 0; i < 8; i++) {
		post_rdma(&net.a, &net.b, IBV_WR_RDMA_WRITE, i, sge_of(&net.a, 0, 50000), 60000);
		post_rdma(&net.b, &net.a, IBV_WR_RDMA_WRITE, i, sge_of(&net.b, 0, 50000), 60000);
	}
	for (uint64_t i = 0; i < 8; i++) {
		expect_wc(&net, net.a.scq, i, IBV_WC_SUCCESS);
		expect_wc(&net, net.b.scq, i, IBV_WC_SUCCESS);
	}
	assert_memory_equal(net.b.buf + 60000, net.a.buf, 50000);
	assert_memory_equal(net.a.buf + 60000, net.b.buf, 50000);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
#define NAMED(test, name, setup)                                                                   \
	{                                                                                          \
		name, test, setup, teardown, NULL                                                  \
	}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(send__arrives),
		TEST(send_with_imm__brings_it),
		TEST(write__arrives_unnoticed),
		TEST(write_with_imm__uses_a_receive_request),
		TEST(read__fetches),
		TEST(atomics__return_what_was_there),
		TEST(atomics__are_atomic_beside_the_cpu),
		TEST(atomic_write__stores_8_bytes_and_flush_is_answered),
		TEST(lists__are_gathered_and_scattered),
		TEST(iova__is_what_peers_address),
		cmocka_unit_test_setup_teardown(
			unsignaled__completes_silently_and_gives_its_slot_back, setup_quiet,
			teardown),
		TEST(requests__complete_in_order),
		TEST(fence__reads_before_it_sends),
		TEST(both__send_at_once),
		NAMED(send__arrives, "send__arrives_over_ipv6", setup_ipv6),
		NAMED(read__fetches, "read__fetches_over_ipv6", setup_ipv6),
		NAMED(send__arrives, "send__arrives_at_mtu_256", setup_mtu_256),
		NAMED(read__fetches, "read__fetches_at_mtu_256", setup_mtu_256),
		NAMED(write__arrives_unnoticed, "write__arrives_at_mtu_4096", setup_mtu_4096),
		NAMED(read__fetches, "read__fetches_at_mtu_4096", setup_mtu_4096),
	};

	net_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
