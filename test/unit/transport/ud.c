/* SPDX-License-Identifier: BSD-3-Clause */

/* Sending and receiving UD datagrams [IBA 9.8.3]. */

#include "pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#include "wire/hdr.h"

static struct pair pair;

#define QKEY 0x11111111u /* Q_Key of both QPs */

static int
open_ud(void **state)
{
	const struct pair_conf conf = pair_conf(IBV_QPT_UD);

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

static enum uroce_verdict
datagram(uint32_t qkey, uint32_t len)
{
	return pair_inject(&pair, B,
			   &(struct pair_pkt){ .opcode = UROCE_SERVICE_UD << 5 | UROCE_OP_SEND_ONLY,
					       .qkey = qkey,
					       .src_qpn = 0x123456,
					       .payload_len = len });
}

static int
post_to(uint32_t qpn, uint32_t qkey, uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)pair.host[A].mem, len, pair.host[A].key };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1 };

	wr.wr.ud.remote_qpn = qpn;
	wr.wr.ud.remote_qkey = qkey;
	return pair_post_raw(&pair, A, &wr);
}

static int
post_send(uint32_t len)
{
	return post_to(pair.host[B].qpc.qpn, QKEY, len);
}

static void
ud_send__arrives_behind_its_grh(void **state)
{
	(void)state;
	for (int is_ipv6 = 0; is_ipv6 <= 1; is_ipv6++) {
		struct pair_conf conf = pair_conf(IBV_QPT_UD);
		const uint32_t ip_len = is_ipv6 ? 40 : 20;

		conf.is_ipv6 = is_ipv6;
		pair_open(&pair, &conf);
		pair_fill(&pair, A, 0, 1000, 1);
		pair_post_recv(&pair, B, 0, 2000);
		memset(pair.host[B].mem, 0xee, 40);
		pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_SEND, .len = 1000 });
		pair_run(&pair);
		pair_expect_trace(&pair, "A>B SEND_ONLY psn 0\n");
		pair_expect_done(&pair, A, "send 0 SEND SUCCESS\n");
		pair_expect_done(&pair, B, "recv 0 RECV SUCCESS 1040 from aaaaa1\n");
		assert_true(pair_is_equal(&pair, 0, 40, 1000));
		/* in the 40 bytes of the GRH, the IP header ends directly before the payload */
		const uint8_t *ip = pair.host[B].mem + 40 - ip_len;

		assert_int_equal(ip[0] >> 4, is_ipv6 ? 6 : 4);
		assert_memory_equal(ip + ip_len - (is_ipv6 ? 32 : 8),
				    pair.host[A].path.hdr + pair.host[A].path.udp_off -
					    (is_ipv6 ? 32 : 8),
				    is_ipv6 ? 32 : 8);
		for (uint32_t i = 0; i < 40 - ip_len; i++)
			assert_int_equal(pair.host[B].mem[i], 0);
		pair_close(&pair);
	}
}

static void
ud_send__immediate_data_and_solicited(void **state)
{
	(void)state;
	pair_post_recv(&pair, B, 0, 100);
	uroce_cq_arm(&pair.host[B].recv_cq, true);
	pair_post(&pair, A,
		  &(struct pair_wr){ .opcode = IBV_WR_SEND_WITH_IMM,
				     .len = 4,
				     .imm = 0x01020304,
				     .flags = IBV_SEND_SOLICITED });
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B SEND_ONLY_IMM psn 0 S\n");
	pair_expect_done(&pair, B, "recv 0 RECV SUCCESS 44 imm 01020304 from aaaaa1\n");
	assert_int_equal(pair_events(&pair, B), UROCE_QPC_RECV_CQ_EVENT);
}

static void
ud_send__sizes_up_to_the_mtu_of_the_port(void **state)
{
	static const uint32_t lens[] = { 0, 1, 3, 4, 255, 256, 1024, 4095, 4096 };

	(void)state;
	pair_fill(&pair, A, 0, 4096, 1);
	for (unsigned i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		pair_post_recv(&pair, B, 0, lens[i] + 40);
		assert_int_equal(post_send(lens[i]), 0);
		pair_run(&pair);
		assert_non_null(strstr(pair_completions(&pair, A), "SEND SUCCESS"));
		assert_non_null(strstr(pair_completions(&pair, B), "RECV SUCCESS"));
		assert_true(pair_is_equal(&pair, 0, 40, lens[i]));
	}
	/* each datagram has used one PSN */
	assert_int_equal(pair.host[A].qpc.req.next_psn, sizeof(lens) / sizeof(lens[0]));
}

static void
ud_send__inline(void **state)
{
	char text[] = "datagram";
	struct ibv_sge sge = { (uintptr_t)text, sizeof(text), 0 };
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_INLINE, .sg_list = &sge, .num_sge = 1
	};

	(void)state;
	wr.wr.ud.remote_qpn = pair.host[B].qpc.qpn;
	wr.wr.ud.remote_qkey = QKEY;
	pair_post_recv(&pair, B, 0, 100);
	pair_post_recv(&pair, B, 100, 100);
	assert_int_equal(pair_post_raw(&pair, A, &wr), 0);
	text[0] = 'x';
	wr.num_sge = 0;
	assert_int_equal(pair_post_raw(&pair, A, &wr), 0);
	pair_run(&pair);
	pair_expect_done(&pair, B,
			 "recv 0 RECV SUCCESS 49 from aaaaa1\n"
			 "recv 1 RECV SUCCESS 40 from aaaaa1\n");
	assert_string_equal((char *)pair.host[B].mem + 40, "datagram");
}

static void
ud_send__key_with_the_high_bit_is_the_qps_own(void **state)
{
	(void)state;
	pair_post_recv(&pair, B, 0, 100);
	assert_int_equal(post_to(pair.host[B].qpc.qpn, 0x80000000, 4), 0);
	pair_run(&pair);
	pair_expect_done(&pair, B, "recv 0 RECV SUCCESS 44 from aaaaa1\n");
	/* a Q_Key whose high bit is 0 is sent as posted, so the receiver refuses it */
	assert_int_equal(post_to(pair.host[B].qpc.qpn, QKEY + 1, 4), 0);
	pair_run(&pair);
	assert_int_equal(pair.host[B].nb_verdicts[UROCE_VERDICT_BAD_QKEY], 1);
	pair_expect_done(&pair, A, "send 0 SEND SUCCESS\nsend 1 SEND SUCCESS\n");
}

static void
ud_send__datagram_that_is_too_long(void **state)
{
	(void)state;
	pair_post_recv(&pair, A, 0, 100);
	assert_int_equal(post_send(4097), 0);
	pair_run(&pair);
	pair_expect_done(&pair, A, "send 0 LOC_LEN_ERR\n");
	pair_expect_trace(&pair, "");
	assert_int_equal(pair.host[A].qpc.state, IBV_QPS_SQE);
}

static void
ud_send__third_of_five_cannot_be_sent(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 5; i++) {
		if (i == 2)
			pair.host[A].key++;
		assert_int_equal(post_send(10), 0);
		if (i == 2)
			pair.host[A].key--;
	}
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B SEND_ONLY psn 0\nA>B SEND_ONLY psn 1\n");
	pair_expect_done(&pair, A,
			 "send 0 SEND SUCCESS\nsend 1 SEND SUCCESS\nsend 2 LOC_PROT_ERR\n"
			 "send 3 WR_FLUSH_ERR\nsend 4 WR_FLUSH_ERR\n");
	assert_int_equal(pair.host[A].qpc.state, IBV_QPS_SQE);
}

static void
ud_send__drained_queue_sends_nothing(void **state)
{
	(void)state;
	pair_set_state(&pair, A, IBV_QPS_SQD);
	assert_int_equal(post_send(10), 0);
	pair_run(&pair);
	pair_expect_trace(&pair, "");
	pair_set_state(&pair, A, IBV_QPS_RTS);
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B SEND_ONLY psn 0\n");
}

static void
ud_send__completes_when_the_frames_are_built(void **state)
{
	uint8_t hdr[2][UROCE_HDR_MAX];
	struct uroce_txd txd[2] = { { .hdr = hdr[0] }, { .hdr = hdr[1] } };

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(post_send(10), 0);
	assert_int_equal(uroce_qpc_send(&pair.host[A].qpc, txd, 2, 0), 2);
	/* the requests do not complete yet, because the frames are still built from their memory */
	pair_expect_done(&pair, A, "");
	uroce_qpc_sent(&pair.host[A].qpc, 0);
	pair_expect_done(&pair, A, "send 0 SEND SUCCESS\nsend 1 SEND SUCCESS\n");
	assert_int_equal(uroce_qpc_send(&pair.host[A].qpc, txd, 2, 0), 1);
	uroce_qpc_sent(&pair.host[A].qpc, 0);
	pair_expect_done(&pair, A, "send 2 SEND SUCCESS\n");
	uroce_qpc_sent(&pair.host[A].qpc, 0);
	pair_expect_done(&pair, A, "");
}

/* --- receiving datagrams --- */

static void
ud_recv__source_and_kind_of_address(void **state)
{
	struct ibv_wc wc;

	for (int is_ipv6 = 0; is_ipv6 <= 1; is_ipv6++) {
		struct pair_conf conf = pair_conf(IBV_QPT_UD);

		conf.is_ipv6 = is_ipv6;
		pair_open(&pair, &conf);
		pair_post_recv(&pair, B, 0, 100);
		assert_int_equal(datagram(QKEY, 5), UROCE_VERDICT_DATAGRAM);
		assert_int_equal(uroce_cq_poll(&pair.host[B].recv_cq, 1, &wc), 1);
		assert_int_equal(wc.src_qp, 0x123456);
		assert_int_equal(wc.wc_flags, IBV_WC_GRH);
		assert_int_equal(wc.byte_len, 45);
		assert_memory_equal(pair.host[B].mem + 40, "\1\2\3\4\5\0", 6);
		close_pair(state);
	}
}

static void
ud_recv__from_rtr_on(void **state)
{
	const struct pair_conf conf = pair_conf(IBV_QPT_UD);

	pair_open_reset(&pair, &conf);
	assert_int_equal(datagram(QKEY, 4), UROCE_VERDICT_NOT_READY);
	pair_bring_up(&pair, B, IBV_QPS_INIT);
	pair_post_recv(&pair, B, 0, 100);
	assert_int_equal(datagram(QKEY, 4), UROCE_VERDICT_NOT_READY);
	pair_set_state(&pair, B, IBV_QPS_RTR);
	assert_int_equal(datagram(QKEY, 4), UROCE_VERDICT_DATAGRAM);
	close_pair(state);
}

static void
ud_recv__from_anybody(void **state)
{
	(void)state;
	pair_post_recv(&pair, B, 0, 100);
	assert_int_equal(pair_inject(&pair, B,
				     &(struct pair_pkt){ .opcode = UROCE_SERVICE_UD << 5 |
								   UROCE_OP_SEND_ONLY,
							 .qkey = QKEY,
							 .is_from_stranger = true }),
			 UROCE_VERDICT_DATAGRAM);
}

static void
ud_recv__what_does_not_fit_takes_no_receive(void **state)
{
	(void)state;
	pair_post_recv(&pair, B, 0, 50);
	assert_int_equal(datagram(QKEY, 11), UROCE_VERDICT_TOO_LONG);
	assert_int_equal(datagram(QKEY - 1, 10), UROCE_VERDICT_BAD_QKEY);
	assert_int_equal(datagram(0, 10), UROCE_VERDICT_BAD_QKEY);
	pair_expect_done(&pair, B, "");
	assert_int_equal(pair.host[B].mem[0], 0);
	assert_int_equal(datagram(QKEY, 10), UROCE_VERDICT_DATAGRAM);
	pair_expect_done(&pair, B, "recv 0 RECV SUCCESS 50 from 123456\n");
	assert_int_equal(datagram(QKEY, 10), UROCE_VERDICT_NO_RECEIVE);
	/* this receive buffer is too small for the GRH */
	pair_post_recv(&pair, B, 0, 39);
	assert_int_equal(datagram(QKEY, 0), UROCE_VERDICT_TOO_LONG);
	assert_int_equal(pair.host[B].qpc.state, IBV_QPS_RTS);
}

static void
ud_recv__new_key_counts_at_once(void **state)
{
	const struct ibv_qp_attr attr = { .qkey = 42 };

	(void)state;
	pair_post_recv(&pair, B, 0, 100);
	assert_int_equal(pair_modify(&pair, B, &attr, IBV_QP_QKEY), 0);
	assert_int_equal(datagram(QKEY, 4), UROCE_VERDICT_BAD_QKEY);
	assert_int_equal(datagram(42, 4), UROCE_VERDICT_DATAGRAM);
}

static void
ud_recv__header_and_payload_across_elements(void **state)
{
	struct ibv_sge sge[3];
	struct ibv_recv_wr wr = { .sg_list = sge, .num_sge = 3 };
	const uint8_t *mem = pair.host[B].mem;

	(void)state;
	sge[0] = (struct ibv_sge){ (uintptr_t)mem, 30, pair.host[B].key };
	sge[1] = (struct ibv_sge){ (uintptr_t)mem + 100, 11, pair.host[B].key };
	sge[2] = (struct ibv_sge){ (uintptr_t)mem + 200, 11, pair.host[B].key };
	pair_post_recv_raw(&pair, B, &wr);
	assert_int_equal(datagram(QKEY, 12), UROCE_VERDICT_DATAGRAM);
	assert_int_equal(mem[20], 0x45);
	assert_int_equal(mem[30], 0);
	assert_int_equal(mem[110], 1);
	assert_int_equal(mem[111], 0);
	assert_memory_equal(mem + 200, "\2\3\4\5\6\7\10\11\12\13\14\0", 12);
}

static void
ud_recv__memory_of_our_own_that_is_refused(void **state)
{
	struct ibv_sge sge[2] = { { 0 } };
	struct ibv_recv_wr wr = { .sg_list = sge, .num_sge = 2 };

	/* the receive request has an invalid key: first for the GRH, then for the payload */
	for (unsigned i = 0; i < 2; i++) {
		open_ud(state);
		sge[0] = (struct ibv_sge){ (uintptr_t)pair.host[B].mem, 40, pair.host[B].key + !i };
		sge[1] = (struct ibv_sge){ (uintptr_t)pair.host[B].mem, 10, pair.host[B].key + i };
		pair_post_recv_raw(&pair, B, &wr);
		pair_post_recv(&pair, B, 0, 100);
		assert_int_equal(datagram(QKEY, 10), UROCE_VERDICT_LOCAL_FAULT);
		pair_expect_done(&pair, B, "recv 0 LOC_PROT_ERR\nrecv 1 WR_FLUSH_ERR\n");
		assert_int_equal(pair.host[B].qpc.state, IBV_QPS_ERR);
		close_pair(state);
	}
}

#define UD_TEST(name) cmocka_unit_test_setup_teardown(name, open_ud, close_pair)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ud_send__arrives_behind_its_grh),
		UD_TEST(ud_send__immediate_data_and_solicited),
		UD_TEST(ud_send__sizes_up_to_the_mtu_of_the_port),
		UD_TEST(ud_send__inline),
		UD_TEST(ud_send__key_with_the_high_bit_is_the_qps_own),
		UD_TEST(ud_send__datagram_that_is_too_long),
		UD_TEST(ud_send__third_of_five_cannot_be_sent),
		UD_TEST(ud_send__drained_queue_sends_nothing),
		UD_TEST(ud_send__completes_when_the_frames_are_built),
		cmocka_unit_test(ud_recv__source_and_kind_of_address),
		cmocka_unit_test(ud_recv__from_rtr_on),
		UD_TEST(ud_recv__from_anybody),
		UD_TEST(ud_recv__what_does_not_fit_takes_no_receive),
		UD_TEST(ud_recv__new_key_counts_at_once),
		UD_TEST(ud_recv__header_and_payload_across_elements),
		cmocka_unit_test(ud_recv__memory_of_our_own_that_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
