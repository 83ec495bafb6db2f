/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The requester [IBA 9.7.3, 9.7.5.2]: the packets of each request, and which packets request an
 * acknowledgement.
 */

#include "rc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#include "transport/requester/position.h"
#include "wire/psn.h"
#include "wire/syndrome.h"

/* --- the packets of each operation --- */

static void
req_send__send_of_three_packets(void **state)
{
	(void)state;
	open_pair(NULL);
	pair_fill(&pair, A, 0, 3000, 1);
	pair_post_recv(&pair, B, 0, 4096);
	pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_SEND, .len = 3000 });
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B SEND_FIRST psn 0\n"
				 "A>B SEND_MIDDLE psn 1\n"
				 "A>B SEND_LAST psn 2 A\n"
				 "B>A ACK psn 2\n");
	pair_expect_done(&pair, A, "send 0 SEND SUCCESS\n");
	pair_expect_done(&pair, B, "recv 0 RECV SUCCESS 3000\n");
	assert_true(pair_is_equal(&pair, 0, 0, 3000));
	pair_close(&pair);
}

static void
req_send__write_of_three_packets(void **state)
{
	(void)state;
	open_pair(NULL);
	pair_fill(&pair, A, 100, 3072, 1);
	pair_post(&pair, A,
		  &(struct pair_wr){
			  .opcode = IBV_WR_RDMA_WRITE, .len = 3072, .local = 100, .remote = 501 });
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B WRITE_FIRST psn 0\n"
				 "A>B WRITE_MIDDLE psn 1\n"
				 "A>B WRITE_LAST psn 2 A\n"
				 "B>A ACK psn 2\n");
	pair_expect_done(&pair, A, "send 0 RDMA_WRITE SUCCESS\n");
	pair_expect_done(&pair, B, "");
	assert_true(pair_is_equal(&pair, 100, 501, 3072));
	pair_close(&pair);
}

static void
req_send__write_with_imm_takes_a_receive(void **state)
{
	(void)state;
	open_pair(NULL);
	pair_fill(&pair, A, 0, 1025, 1);
	pair_post_recv(&pair, B, 0, 0);
	pair_post(&pair, A,
		  &(struct pair_wr){ .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
				     .len = 1025,
				     .remote = 64,
				     .imm = 0x12345678,
				     .flags = IBV_SEND_SOLICITED });
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B WRITE_FIRST psn 0\n"
				 "A>B WRITE_LAST_IMM psn 1 S A\n"
				 "B>A ACK psn 1\n");
	pair_expect_done(&pair, A, "send 0 RDMA_WRITE SUCCESS\n");
	pair_expect_done(&pair, B, "recv 0 RECV_RDMA_WITH_IMM SUCCESS 1025 imm 12345678\n");
	assert_true(pair_is_equal(&pair, 0, 64, 1025));
	pair_close(&pair);
}

static void
req_send__read_of_three_packets(void **state)
{
	(void)state;
	open_pair(NULL);
	pair_fill(&pair, B, 7, 2049, 1);
	pair_post(&pair, A,
		  &(struct pair_wr){
			  .opcode = IBV_WR_RDMA_READ, .len = 2049, .local = 3, .remote = 7 });
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B READ_REQUEST psn 0 len 2049\n"
				 "B>A READ_RESPONSE_FIRST psn 0\n"
				 "B>A READ_RESPONSE_MIDDLE psn 1\n"
				 "B>A READ_RESPONSE_LAST psn 2\n");
	pair_expect_done(&pair, A, "send 0 RDMA_READ SUCCESS\n");
	assert_true(pair_is_equal(&pair, 3, 7, 2049));
	pair_close(&pair);
}

static uint64_t *
word(enum pair_side side, uint32_t offset)
{
	return (uint64_t *)(pair.host[side].mem + offset);
}

static void
req_send__compare_and_swap_that_matches(void **state)
{
	(void)state;
	open_pair(NULL);
	*word(B, 16) = 5;
	pair_post(&pair, A,
		  &(struct pair_wr){ .opcode = IBV_WR_ATOMIC_CMP_AND_SWP,
				     .remote = 16,
				     .local = 8,
				     .compare_add = 5,
				     .swap = 77 });
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B CMP_SWAP psn 0\n"
				 "B>A ATOMIC_ACK psn 0\n");
	pair_expect_done(&pair, A, "send 0 COMP_SWAP SUCCESS\n");
	assert_int_equal(*word(B, 16), 77);
	assert_int_equal(*word(A, 8), 5);
	pair_close(&pair);
}

static void
req_send__compare_and_swap_that_differs(void **state)
{
	(void)state;
	open_pair(NULL);
	*word(B, 16) = 6;
	pair_post(&pair, A,
		  &(struct pair_wr){ .opcode = IBV_WR_ATOMIC_CMP_AND_SWP,
				     .remote = 16,
				     .compare_add = 5,
				     .swap = 77 });
	pair_run(&pair);
	pair_expect_done(&pair, A, "send 0 COMP_SWAP SUCCESS\n");
	assert_int_equal(*word(B, 16), 6);
	assert_int_equal(*word(A, 0), 6);
	pair_close(&pair);
}

static void
req_send__fetch_and_add(void **state)
{
	(void)state;
	open_pair(NULL);
	*word(B, 8) = UINT64_MAX;
	pair_post(&pair, A,
		  &(struct pair_wr){
			  .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD, .remote = 8, .compare_add = 3 });
	pair_post(&pair, A,
		  &(struct pair_wr){ .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
				     .remote = 8,
				     .local = 8,
				     .compare_add = 40 });
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B FETCH_ADD psn 0\n"
				 "A>B FETCH_ADD psn 1\n"
				 "B>A ATOMIC_ACK psn 0\n"
				 "B>A ATOMIC_ACK psn 1\n");
	pair_expect_done(&pair, A, "send 0 FETCH_ADD SUCCESS\nsend 1 FETCH_ADD SUCCESS\n");
	assert_int_equal(*word(A, 0), UINT64_MAX);
	assert_int_equal(*word(A, 8), 2);
	assert_int_equal(*word(B, 8), 42);
	pair_close(&pair);
}

/* --- each operation with each boundary length, at each MTU, across the wrap of the PSN --- */

static void
move(enum ibv_wr_opcode opcode, enum ibv_mtu mtu, uint32_t len, uint32_t psn)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	conf.mtu = mtu;
	conf.psn[A] = psn;
	conf.is_quiet = true;
	pair_open(&pair, &conf);
	pair_fill(&pair, A, 0, len + 8, 1);
	pair_fill(&pair, B, 0, len + 8, 2);
	pair_post_recv(&pair, B, 0, len);
	assert_int_equal(pair_post(&pair, A, &(struct pair_wr){ .opcode = opcode, .len = len }), 0);
	pair_run(&pair);
	assert_non_null(strstr(pair_completions(&pair, A), "SUCCESS"));
	assert_true(pair_is_equal(&pair, 0, 0, len));
	/* no byte behind the message is written */
	assert_false(pair_is_equal(&pair, len, len, 8));
	assert_int_equal(pair.host[A].qpc.req.una_psn,
			 uroce_psn_add(psn, len ? (len + (128u << mtu) - 1) / (128u << mtu) : 1));
	assert_int_equal(pair.host[B].qpc.resp.epsn, pair.host[A].qpc.req.una_psn);
	assert_int_equal(pair.host[A].qpc.stats.retransmits, 0);
	pair_close(&pair);
}

static void
req_send__every_operation_at_every_boundary(void **state)
{
	static const enum ibv_wr_opcode opcodes[] = { IBV_WR_SEND, IBV_WR_SEND_WITH_IMM,
						      IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM,
						      IBV_WR_RDMA_READ };
	static const uint32_t psns[] = { 0, 0xfffffd, 0xffffff, 0x7fffff };

	(void)state;
	for (int mtu_code = IBV_MTU_256; mtu_code <= IBV_MTU_4096; mtu_code++) {
		const uint32_t mtu = 128u << mtu_code;
		const uint32_t chunk = UROCE_READ_CHUNK_PSNS * mtu;
		const uint32_t lens[] = { 0,       1,         3,         mtu - 1,      mtu,
					  mtu + 1, 2 * mtu,   3 * mtu,   3 * mtu + 1,  chunk - 1,
					  chunk,   chunk + 1, 2 * chunk, 2 * chunk + 5 };

		for (unsigned op = 0; op < 5; op++) {
			for (unsigned i = 0; i < sizeof(lens) / sizeof(lens[0]); i++)
				move(opcodes[op], (enum ibv_mtu)mtu_code, lens[i],
				     psns[(i + op) % 4]);
		}
	}
}

/* --- SGEs, inline data and other fields of requests --- */

static void
req_send__gathers_from_many_elements(void **state)
{
	static const uint32_t lens[] = { 1, 0, 1000, 23, 2048, 0, 513, 7 };
	struct ibv_sge sge[8];
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .sg_list = sge, .num_sge = 8 };
	uint8_t expected[4096];
	uint32_t offset = 0, len = 0;

	(void)state;
	open_pair(NULL);
	pair_fill(&pair, A, 0, 8192, 1);
	for (unsigned i = 0; i < 8; i++) {
		/*
		 * an element of length 0 has an invalid address and key, which must not be checked
		 */
		sge[i] = (struct ibv_sge){ lens[i] ? (uintptr_t)pair.host[A].mem + offset : 1,
					   lens[i], lens[i] ? pair.host[A].key : 0 };
		memcpy(expected + len, pair.host[A].mem + offset, lens[i]);
		offset += lens[i] + 13;
		len += lens[i];
	}
	pair_post_recv(&pair, B, 0, 4096);
	assert_int_equal(pair_post_raw(&pair, A, &wr), 0);
	pair_run(&pair);
	pair_expect_done(&pair, B, "recv 0 RECV SUCCESS 3592\n");
	assert_memory_equal(pair.host[B].mem, expected, len);
	pair_close(&pair);
}

static void
req_recv__read_scatters_to_many_elements(void **state)
{
	struct ibv_sge sge[3];
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_READ, .sg_list = sge, .num_sge = 3 };
	const uint8_t *a, *b;

	(void)state;
	open_pair(NULL);
	pair_fill(&pair, B, 0, 3000, 1);
	a = pair.host[A].mem;
	b = pair.host[B].mem;
	sge[0] = (struct ibv_sge){ (uintptr_t)a, 1500, pair.host[A].key };
	sge[1] = (struct ibv_sge){ (uintptr_t)a + 5000, 1, pair.host[A].key };
	sge[2] = (struct ibv_sge){ (uintptr_t)a + 6001, 1499, pair.host[A].key };
	wr.wr.rdma.remote_addr = (uintptr_t)b;
	wr.wr.rdma.rkey = pair.host[B].key;
	assert_int_equal(pair_post_raw(&pair, A, &wr), 0);
	pair_run(&pair);
	pair_expect_done(&pair, A, "send 0 RDMA_READ SUCCESS\n");
	assert_memory_equal(a, b, 1500);
	assert_memory_equal(a + 5000, b + 1500, 1);
	assert_memory_equal(a + 6001, b + 1501, 1499);
	assert_int_equal(a[1500], 0);
	assert_int_equal(a[5001], 0);
	pair_close(&pair);
}

static void
req_send__inline_data_is_taken_when_posted(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);
	char text[700];
	struct ibv_sge sge[2] = { { (uintptr_t)text, 300, 0 }, { (uintptr_t)text + 300, 400, 0 } };
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE,
				  .send_flags = IBV_SEND_INLINE,
				  .sg_list = sge,
				  .num_sge = 2 };

	(void)state;
	conf.max_inline = 700;
	conf.mtu = IBV_MTU_256;
	pair_open(&pair, &conf);
	memset(text, 'x', sizeof(text));
	text[699] = 'y';
	wr.wr.rdma.remote_addr = (uintptr_t)pair.host[B].mem;
	wr.wr.rdma.rkey = pair.host[B].key;
	assert_int_equal(pair_post_raw(&pair, A, &wr), 0);
	memset(text, 'z', sizeof(text));
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B WRITE_FIRST psn 0\n"
				 "A>B WRITE_MIDDLE psn 1\n"
				 "A>B WRITE_LAST psn 2 A\n"
				 "B>A ACK psn 2\n");
	assert_int_equal(pair.host[B].mem[0], 'x');
	assert_int_equal(pair.host[B].mem[698], 'x');
	assert_int_equal(pair.host[B].mem[699], 'y');
	assert_int_equal(pair.host[B].mem[700], 0);
	/* an inline request without any data */
	wr.num_sge = 0;
	assert_int_equal(pair_post_raw(&pair, A, &wr), 0);
	pair_run(&pair);
	pair_expect_done(&pair, A, "send 0 RDMA_WRITE SUCCESS\nsend 1 RDMA_WRITE SUCCESS\n");
	pair_close(&pair);
}

static void
req_send__immediate_data_and_solicited_go_with_the_last_packet(void **state)
{
	(void)state;
	open_pair(NULL);
	pair_post_recv(&pair, B, 0, 2000);
	pair_post_recv(&pair, B, 0, 2000);
	uroce_cq_arm(&pair.host[B].recv_cq, true);
	pair_post(&pair, A,
		  &(struct pair_wr){ .opcode = IBV_WR_SEND_WITH_IMM, .len = 2000, .imm = 7 });
	pair_run(&pair);
	assert_int_equal(pair_events(&pair, B), 0);
	pair_post(&pair, A,
		  &(struct pair_wr){ .opcode = IBV_WR_SEND_WITH_IMM,
				     .len = 2000,
				     .imm = 8,
				     .flags = IBV_SEND_SOLICITED });
	pair_run(&pair);
	assert_int_equal(pair_events(&pair, B), UROCE_QPC_RECV_CQ_EVENT);
	pair_expect_trace(&pair, "A>B SEND_FIRST psn 0\n"
				 "A>B SEND_LAST_IMM psn 1 A\n"
				 "B>A ACK psn 1\n"
				 "A>B SEND_FIRST psn 2\n"
				 "A>B SEND_LAST_IMM psn 3 S A\n"
				 "B>A ACK psn 3\n");
	pair_expect_done(&pair, B,
			 "recv 0 RECV SUCCESS 2000 imm 00000007\n"
			 "recv 1 RECV SUCCESS 2000 imm 00000008\n");
	pair_close(&pair);
}

static void
req_send__send_with_invalidate_carries_the_key(void **state)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND_WITH_INV, .invalidate_rkey = 0x11223344 };
	struct uroce_txd txd;
	uint8_t hdr[UROCE_HDR_MAX];

	(void)state;
	open_pair(NULL);
	assert_int_equal(pair_post_raw(&pair, A, &wr), 0);
	txd.hdr = hdr;
	assert_int_equal(uroce_qpc_send(&pair.host[A].qpc, &txd, 1, 0), 1);
	assert_int_equal(hdr[txd.bth_off], UROCE_OP_SEND_ONLY_INV);
	assert_memory_equal(hdr + txd.bth_off + 12, "\x11\x22\x33\x44", 4);
	pair_close(&pair);
}

static void
req_send__unsignaled_requests_leave_no_entry(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	(void)state;
	conf.is_unsignaled = true;
	pair_open(&pair, &conf);
	for (unsigned i = 0; i < 6; i++)
		pair_post(&pair, A,
			  &(struct pair_wr){ .opcode = i % 2 ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE,
					     .len = 10,
					     .flags = i == 3 ? IBV_SEND_SIGNALED : 0 });
	pair_run(&pair);
	pair_expect_done(&pair, A, "send 3 RDMA_READ SUCCESS\n");
	assert_true(uroce_wq_is_empty(&pair.host[A].sq));
	pair_close(&pair);
}

/* --- which packets request an ACK --- */

static void
req_send__one_ack_for_the_queue(void **state)
{
	(void)state;
	open_pair(NULL);
	post_writes(3, 10);
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B WRITE_ONLY psn 0\n"
				 "A>B WRITE_ONLY psn 1\n"
				 "A>B WRITE_ONLY psn 2 A\n"
				 "B>A ACK psn 2\n");
	pair_expect_done(&pair, A,
			 "send 0 RDMA_WRITE SUCCESS\nsend 1 RDMA_WRITE SUCCESS\n"
			 "send 2 RDMA_WRITE SUCCESS\n");
	pair_close(&pair);
}

static void
req_send__asks_once_in_a_while_and_at_the_window_end(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);
	const char *at;
	unsigned nb = 0, nb_ack_reqs = 0;

	(void)state;
	conf.mtu = IBV_MTU_256;
	pair_open(&pair, &conf);
	post_writes(1, 256 * 1000);
	pair_flush(&pair, A);
	for (at = text_get(&pair.trace); *at; at = strchr(at, '\n') + 1, nb++)
		nb_ack_reqs += strchr(at, '\n')[-1] == 'A';
	assert_int_equal(nb, UROCE_WINDOW_PSNS);
	assert_int_equal(nb_ack_reqs, UROCE_WINDOW_PSNS / 32);
	/* the last packet that the window allows requests an ACK */
	assert_non_null(strstr(text_get(&pair.trace), "WRITE_MIDDLE psn 511 A\n"));
	assert_int_equal(pair.host[A].qpc.req.next_psn, UROCE_WINDOW_PSNS);
	pair_close(&pair);
}

static void
req_send__asks_at_the_window_end_wherever_it_falls(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	(void)state;
	conf.mtu = IBV_MTU_256;
	pair_open(&pair, &conf);
	post_read(10);
	post_writes(1, 256 * 1000);
	pair_flush(&pair, A);
	assert_non_null(strstr(text_get(&pair.trace), "WRITE_MIDDLE psn 510\n"));
	assert_non_null(strstr(text_get(&pair.trace), "WRITE_MIDDLE psn 511 A\n"));
	pair_close(&pair);
}

/* Single-packet requests are sent as one burst, which ends with the window. */
static void
req_send__run_ends_with_the_window(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);
	const struct uroce_req *req = &pair.host[A].qpc.req;

	(void)state;
	conf.window_psns = 8;
	conf.burst = PAIR_BURST_MAX;
	pair_open(&pair, &conf);
	post_writes(20, 10);
	pair_flush(&pair, A);
	assert_int_equal(uroce_psn_dist(req->una_psn, req->next_psn), 8);
	assert_non_null(strstr(text_get(&pair.trace), "WRITE_ONLY psn 7 A\n"));
	/* this ACK makes room for three packets in the window */
	pair_inject(&pair, A,
		    &(struct pair_pkt){
			    .opcode = UROCE_OP_ACK, .psn = 2, .syndrome = UROCE_SYNDROME_ACK });
	pair_flush(&pair, A);
	assert_int_equal(uroce_psn_dist(req->una_psn, req->next_psn), 8);
	assert_non_null(strstr(text_get(&pair.trace), "WRITE_ONLY psn 10 A\n"));
	pair_close(&pair);
}

/*
 * A retransmission is sent from a copy of its payload. The ACK of the original packet may complete
 * the request meanwhile, and after the completion its memory must not be read.
 */
static void
req_send__what_is_retransmitted_is_copied(void **state)
{
	struct uroce_qpc *qpc = &pair.host[A].qpc;
	uint8_t hdr[2][UROCE_HDR_MAX];
	struct uroce_txd txd[2] = { { .hdr = hdr[0] }, { .hdr = hdr[1] } };

	(void)state;
	open_pair(NULL);
	post_writes(1, 2048);
	assert_int_equal(uroce_qpc_send(qpc, txd, 2, pair.now_ns), 2);
	uroce_qpc_sent(qpc, pair.now_ns);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(txd[i].slice[0].key, pair.host[A].key);
	pair_inject(&pair, A,
		    &(struct pair_pkt){
			    .opcode = UROCE_OP_ACK,
			    .psn = 0,
			    .syndrome = uroce_syndrome_make(UROCE_AETH_NAK, UROCE_NAK_PSN_SEQ) });
	assert_true(uroce_qpc_send(qpc, txd, 2, pair.now_ns) > 0);
	uroce_qpc_sent(qpc, pair.now_ns);
	assert_int_equal(txd[0].slice[0].key, 0);
	pair_close(&pair);
}

static void
req_send__read_asks_for_what_is_before_it(void **state)
{
	(void)state;
	open_pair(NULL);
	post_writes(2, 10);
	post_read(10);
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B WRITE_ONLY psn 0\n"
				 "A>B WRITE_ONLY psn 1\n"
				 "A>B READ_REQUEST psn 2 len 10\n"
				 "B>A READ_RESPONSE_ONLY psn 2\n");
	pair_expect_done(&pair, A,
			 "send 0 RDMA_WRITE SUCCESS\nsend 1 RDMA_WRITE SUCCESS\n"
			 "send 2 RDMA_READ SUCCESS\n");
	pair_close(&pair);
}

static void
req_send__fence_waits_for_reads(void **state)
{
	(void)state;
	open_pair(NULL);
	post_read(1025);
	post_writes(1, 10);
	pair_post(&pair, A,
		  &(struct pair_wr){
			  .opcode = IBV_WR_RDMA_WRITE, .len = 10, .flags = IBV_SEND_FENCE });
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B READ_REQUEST psn 0 len 1025\n"
				 "A>B WRITE_ONLY psn 2\n"
				 "B>A READ_RESPONSE_FIRST psn 0\n"
				 "B>A READ_RESPONSE_LAST psn 1\n"
				 "A>B WRITE_ONLY psn 3 A\n"
				 "B>A ACK psn 3\n");
	pair_expect_done(&pair, A,
			 "send 0 RDMA_READ SUCCESS\nsend 1 RDMA_WRITE SUCCESS\n"
			 "send 2 RDMA_WRITE SUCCESS\n");
	pair_close(&pair);
}

static void
req_send__fence_does_not_hold_a_request_that_has_begun(void **state)
{
	(void)state;
	open_pair(NULL);
	post_read(10);
	pair_post(&pair, A,
		  &(struct pair_wr){
			  .opcode = IBV_WR_RDMA_READ, .len = 100 * 1024, .flags = IBV_SEND_FENCE });
	pair_flush(&pair, A);
	pair_expect_trace(&pair, "A>B READ_REQUEST psn 0 len 10\n");
	pair_inject(&pair, A,
		    &(struct pair_pkt){ .opcode = UROCE_OP_READ_RESPONSE_ONLY, .payload_len = 10 });
	pair_flush(&pair, A);
	pair_expect_trace(&pair, "A>B READ_REQUEST psn 1 len 65536\n"
				 "A>B READ_REQUEST psn 65 len 36864\n");
	pair_close(&pair);
}

static void
req_send__no_more_reads_at_a_time_than_agreed(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	(void)state;
	conf.max_rd_atomic = 2;
	conf.max_dest_rd_atomic = 2;
	pair_open(&pair, &conf);
	for (unsigned i = 0; i < 3; i++)
		post_read(10);
	pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD });
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B READ_REQUEST psn 0 len 10\n"
				 "A>B READ_REQUEST psn 1 len 10\n"
				 "B>A READ_RESPONSE_ONLY psn 0\n"
				 "B>A READ_RESPONSE_ONLY psn 1\n"
				 "A>B READ_REQUEST psn 2 len 10\n"
				 "A>B FETCH_ADD psn 3\n"
				 "B>A READ_RESPONSE_ONLY psn 2\n"
				 "B>A ATOMIC_ACK psn 3\n");
	pair_close(&pair);
}

static void
req_send__long_read_leaves_in_pieces(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	(void)state;
	conf.max_rd_atomic = 1;
	pair_open(&pair, &conf);
	post_read(2 * 64 * 1024 + 1);
	pair_flush(&pair, A);
	/*
	 * one READ chunk may be outstanding (max_rd_atomic), so the chunk is as long as the window
	 * allows
	 */
	pair_expect_trace(&pair, "A>B READ_REQUEST psn 0 len 131073\n");
	pair_close(&pair);
	conf.max_rd_atomic = 3;
	conf.window_psns = 300;
	pair_open(&pair, &conf);
	post_read(201 * 1024);
	pair_flush(&pair, A);
	pair_expect_trace(&pair, "A>B READ_REQUEST psn 0 len 102400\n"
				 "A>B READ_REQUEST psn 100 len 102400\n"
				 "A>B READ_REQUEST psn 200 len 1024\n");
	pair_close(&pair);
	conf.window_psns = 0;
	conf.max_rd_atomic = 16;
	pair_open(&pair, &conf);
	post_read(2 * 64 * 1024 + 1);
	pair_flush(&pair, A);
	pair_expect_trace(&pair, "A>B READ_REQUEST psn 0 len 65536\n"
				 "A>B READ_REQUEST psn 64 len 65536\n"
				 "A>B READ_REQUEST psn 128 len 1\n");
	pair_close(&pair);
}

/* A device whose receive buffer is short limits the window, and the chunks of READs with it. */
static void
req_send__window_of_a_short_buffer(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	(void)state;
	conf.window_bytes = 50 * 1024 + 1023;
	conf.max_rd_atomic = 16;
	pair_open(&pair, &conf);
	assert_int_equal(uroce_req_window(&pair.host[A].qpc), 50);
	post_read(101 * 1024);
	pair_flush(&pair, A);
	pair_expect_trace(&pair, "A>B READ_REQUEST psn 0 len 51200\n");
	pair_close(&pair);
	conf.window_bytes = 1;
	pair_open(&pair, &conf);
	assert_int_equal(uroce_req_window(&pair.host[A].qpc), 8);
	pair_close(&pair);
	conf.window_bytes = UINT32_MAX;
	pair_open(&pair, &conf);
	assert_int_equal(uroce_req_window(&pair.host[A].qpc), UROCE_WINDOW_PSNS);
	pair_close(&pair);
}

/* --- the longest message, of 2^31 bytes --- */

static void
req_send__message_of_2_to_the_31_bytes(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);
	struct uroce_mr_conf mr = { .len = 1u << 31, .access = IBV_ACCESS_LOCAL_WRITE };
	struct ibv_sge sge = { .length = 1u << 31 };
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1 };
	struct uroce_req *req;

	(void)state;
	conf.mtu = IBV_MTU_256;
	conf.psn[A] = 0xffff00;
	pair_open(&pair, &conf);
	req = &pair.host[A].qpc.req;
	/* the region has 2 GiB, but less memory exists, because the test only compares addresses */
	mr.addr = pair.host[A].mem;
	mr.pdn = pair.host[A].qpc.pdn;
	assert_int_equal(uroce_mr_add(pair.host[A].mrs, &mr, &sge.lkey), 0);
	assert_int_equal(pair_post_raw(&pair, A, &wr), 0);
	struct uroce_txd txd;
	uint8_t hdr[UROCE_HDR_MAX];

	txd.hdr = hdr;
	assert_int_equal(uroce_qpc_send(&pair.host[A].qpc, &txd, 1, 0), 1);
	assert_int_equal(hdr[txd.bth_off], UROCE_OP_WRITE_FIRST);
	assert_memory_equal(hdr + txd.bth_off + 12 + 12, "\x80\0\0\0", 4);
	/* set the state as if the peer had acknowledged all packets but the last one */
	req->next_pkt = (1u << 23) - 1;
	req->next_psn = req->una_psn = req->max_psn = 0x7ffeff;
	assert_int_equal(uroce_qpc_send(&pair.host[A].qpc, &txd, 1, 0), 1);
	assert_int_equal(hdr[txd.bth_off], UROCE_OP_WRITE_LAST);
	assert_int_equal(txd.payload_len, 256);
	assert_ptr_equal(txd.slice[0].addr, pair.host[A].mem + (1u << 31) - 256);
	assert_int_equal(req->next_psn, 0x7fff00);
	assert_int_equal(pair_inject(&pair, A,
				     &(struct pair_pkt){ .opcode = UROCE_OP_ACK,
							 .psn = 0x7ffeff,
							 .syndrome = 31 }),
			 UROCE_VERDICT_RESPONSE);
	pair_expect_done(&pair, A, "send 0 RDMA_WRITE SUCCESS\n");
	pair_close(&pair);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(req_send__send_of_three_packets),
		cmocka_unit_test(req_send__write_of_three_packets),
		cmocka_unit_test(req_send__write_with_imm_takes_a_receive),
		cmocka_unit_test(req_send__read_of_three_packets),
		cmocka_unit_test(req_send__compare_and_swap_that_matches),
		cmocka_unit_test(req_send__compare_and_swap_that_differs),
		cmocka_unit_test(req_send__fetch_and_add),
		cmocka_unit_test(req_send__every_operation_at_every_boundary),
		cmocka_unit_test(req_send__gathers_from_many_elements),
		cmocka_unit_test(req_recv__read_scatters_to_many_elements),
		cmocka_unit_test(req_send__inline_data_is_taken_when_posted),
		cmocka_unit_test(req_send__immediate_data_and_solicited_go_with_the_last_packet),
		cmocka_unit_test(req_send__send_with_invalidate_carries_the_key),
		cmocka_unit_test(req_send__unsignaled_requests_leave_no_entry),
		cmocka_unit_test(req_send__one_ack_for_the_queue),
		cmocka_unit_test(req_send__asks_once_in_a_while_and_at_the_window_end),
		cmocka_unit_test(req_send__asks_at_the_window_end_wherever_it_falls),
		cmocka_unit_test(req_send__run_ends_with_the_window),
		cmocka_unit_test(req_send__what_is_retransmitted_is_copied),
		cmocka_unit_test(req_send__read_asks_for_what_is_before_it),
		cmocka_unit_test(req_send__fence_waits_for_reads),
		cmocka_unit_test(req_send__fence_does_not_hold_a_request_that_has_begun),
		cmocka_unit_test(req_send__no_more_reads_at_a_time_than_agreed),
		cmocka_unit_test(req_send__long_read_leaves_in_pieces),
		cmocka_unit_test(req_send__message_of_2_to_the_31_bytes),
		cmocka_unit_test(req_send__window_of_a_short_buffer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
