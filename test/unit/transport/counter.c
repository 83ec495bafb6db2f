/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The counters of the transport. Each test causes events and compares all counters of both hosts
 * that are not 0. So a counter that should not have changed fails the test as well.
 */

#include "request.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#include "transport/counter.h"
#include "base/newer_verbs.h"

#define MTU 1024u

static void
expect_counted(enum pair_side side, const char *expected)
{
	struct uroce_counters *counters = &pair.host[side].counters;
	struct text text = { 0 };

	for (unsigned c = 0; c < UROCE_COUNTER_NB; c++) {
		if (counters->nb[c])
			text_add(&text, "%s %lu\n", uroce_counter_name(c),
				 (unsigned long)counters->nb[c]);
	}
	assert_string_equal(text_get(&text), expected);
	text_free(&text);
	*counters = (struct uroce_counters){ 0 };
}

static void
post(enum ibv_wr_opcode opcode, uint32_t len)
{
	assert_int_equal(pair_post(&pair, A, &(struct pair_wr){ .opcode = opcode, .len = len }), 0);
}

static void
open_with(struct pair_conf conf)
{
	pair_open(&pair, &conf);
}

/* --- the list of counters --- */

static const char *const upper[] = {
#define UPPER(name, source, text) #name,
	UROCE_COUNTER_LIST(UPPER)
#undef UPPER
};

static void
counter_name__is_the_enum_in_lower_case(void **state)
{
	(void)state;
	for (unsigned c = 0; c < UROCE_COUNTER_NB; c++) {
		const char *name = uroce_counter_name(c);

		assert_int_equal(strlen(name), strlen(upper[c]));
		for (size_t i = 0; name[i] != '\0'; i++)
			assert_int_equal(name[i], tolower(upper[c][i]));
		for (unsigned d = 0; d < c; d++)
			assert_string_not_equal(name, uroce_counter_name(d));
		assert_true(strlen(uroce_counter_text(c)) >= 8);
	}
	assert_string_equal(uroce_counter_name(UROCE_COUNTER_REQ_REMOTE_INVALID_REQUEST),
			    "req_remote_invalid_request");
	assert_string_equal(uroce_counter_name(UROCE_COUNTER_NB), "?");
	assert_string_equal(uroce_counter_text(UROCE_COUNTER_NB), "?");
}

static void
counter_source__is_whose_name_it_is(void **state)
{
	(void)state;
	assert_int_equal(uroce_counter_source(UROCE_COUNTER_PORT_RCV_DATA), UROCE_COUNTER_OF_IBTA);
	assert_int_equal(uroce_counter_source(UROCE_COUNTER_SENT_PKTS), UROCE_COUNTER_OF_RXE);
	assert_int_equal(uroce_counter_source(UROCE_COUNTER_OUT_OF_BUFFER), UROCE_COUNTER_OF_MLX5);
	assert_int_equal(uroce_counter_source(UROCE_COUNTER_ROUNDS), UROCE_COUNTER_OF_UROCE);
}

static void
count_in__nobody(void **state)
{
	(void)state;
	uroce_count_in(NULL, UROCE_COUNTER_ROUNDS, 1);
}

/* --- counters of messages --- */

static void
messages__are_counted_when_they_complete(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 8; i++) {
		pair_post_recv(&pair, B, 0, 100);
		post(IBV_WR_SEND, 8);
	}
	pair_run(&pair);
	expect_counted(A, "rdma_sends 8\n");
	expect_counted(B, "rdma_recvs 8\n");
	/* a message of several packets counts once */
	pair_post_recv(&pair, B, 0, 5 * MTU);
	post(IBV_WR_SEND_WITH_IMM, 5 * MTU);
	pair_run(&pair);
	expect_counted(A, "rdma_sends 1\n");
	expect_counted(B, "rdma_recvs 1\n");
}

static void
messages__unreliable_ones_too(void **state)
{
	close_pair(state);
	for (unsigned is_ud = 0; is_ud < 2; is_ud++) {
		open_with(pair_conf(is_ud ? IBV_QPT_UD : IBV_QPT_UC));
		for (unsigned i = 0; i < 3 && !is_ud; i++) {
			pair_post_recv(&pair, B, 0, 100);
			post(IBV_WR_SEND, 8);
		}
		pair_run(&pair);
		expect_counted(A, is_ud ? "" : "rdma_sends 3\n");
		expect_counted(B, is_ud ? "" : "rdma_recvs 3\n");
		close_pair(state);
	}
	open_pair(state);
}

/* A cancelled request completes with the opcode of the request, but is not counted as sent. */
static void
messages__that_are_cancelled_are_none(void **state)
{
	(void)state;
	pair_set_state(&pair, A, IBV_QPS_SQD);
	post(IBV_WR_SEND, 8);
	assert_int_equal(uroce_qpc_cancel(&pair.host[A].qpc, 0), 1);
	pair_set_state(&pair, A, IBV_QPS_RTS);
	pair_run(&pair);
	pair_expect_done(&pair, A, "send 0 SEND SUCCESS\n");
	expect_counted(A, "");
}

static void
writes__are_counted_when_they_begin(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 5; i++)
		post(IBV_WR_RDMA_WRITE, 8);
	post(IBV_WR_RDMA_WRITE, 3 * MTU);
	pair_post_recv(&pair, B, 0, 0);
	post(IBV_WR_RDMA_WRITE_WITH_IMM, 8);
	pair_run(&pair);
	expect_counted(A, "");
	expect_counted(B, "rdma_recvs 1\nrx_write_requests 7\n");
}

static void
fetches__are_counted_as_they_ask(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++)
		post(IBV_WR_RDMA_READ, 8);
	for (unsigned i = 0; i < 3; i++)
		post(IBV_WR_ATOMIC_FETCH_AND_ADD, 8);
	post((enum ibv_wr_opcode)UROCE_WR_ATOMIC_WRITE, 8);
	/* this READ is sent as two READ requests, because it is longer than one chunk */
	post(IBV_WR_RDMA_READ, (UROCE_READ_CHUNK_PSNS + 1) * MTU);
	pair_run(&pair);
	expect_counted(A, "");
	expect_counted(B, "rx_read_requests 6\nrx_atomic_requests 4\n");
	assert_true(pair_is_equal(&pair, 0, 0, 8));
}

/* --- counters of losses --- */

static void
loss__of_a_request(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	close_pair(state);
	for (unsigned nb_hold = 0; nb_hold <= 64; nb_hold += 64) {
		conf.nb_hold = nb_hold;
		open_with(conf);
		pair_lose(&pair, A, 1);
		post(IBV_WR_RDMA_WRITE, 4 * MTU);
		pair_run(&pair);
		/*
		 * without a reorder buffer the lost packet and the two packets behind it are
		 * retransmitted
		 */
		expect_counted(A, nb_hold ? "retransmitted_pkts 1\npacket_seq_err 1\n"
					  : "retransmitted_pkts 3\npacket_seq_err 1\n");
		expect_counted(B, "rx_write_requests 1\nout_of_sequence 2\n"
				  "out_of_seq_request 1\n");
		assert_int_equal(pair.host[A].qpc.stats.naks_seq, 1);
		assert_int_equal(pair.host[B].qpc.stats.ooo_requests, 2);
		assert_int_equal(pair.host[B].qpc.stats.naks_seq_sent, 1);
		close_pair(state);
	}
	open_pair(state);
}

static void
loss__of_an_ack(void **state)
{
	(void)state;
	pair_lose(&pair, B, 0);
	post(IBV_WR_RDMA_WRITE, 8);
	pair_run(&pair);
	expect_counted(A, "retransmitted_pkts 1\nlocal_ack_timeout_err 1\nack_timeouts 1\n");
	expect_counted(B, "rx_write_requests 1\nduplicate_request 1\n");
	assert_int_equal(pair.host[B].qpc.stats.duplicates, 1);
}

static void
loss__of_an_answer(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	close_pair(state);
	for (unsigned nb_hold = 0; nb_hold <= 64; nb_hold += 64) {
		conf.nb_hold = nb_hold;
		open_with(conf);
		pair_lose(&pair, B, 0);
		post(IBV_WR_RDMA_READ, 8);
		post(IBV_WR_RDMA_READ, 8);
		pair_run(&pair);
		expect_counted(A, nb_hold ? "retransmitted_pkts 1\nimplied_nak_seq_err 1\n"
					  : "retransmitted_pkts 2\nimplied_nak_seq_err 1\n");
		expect_counted(B, nb_hold ? "rx_read_requests 2\nduplicate_request 1\n"
					  : "rx_read_requests 2\nduplicate_request 2\n");
		assert_int_equal(pair.host[A].qpc.stats.implied_naks, 1);
		close_pair(state);
	}
	open_pair(state);
}

static void
loss__of_everything(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	close_pair(state);
	conf.retry_cnt = 2;
	open_with(conf);
	for (unsigned i = 0; i < 8; i++)
		pair_lose(&pair, A, i);
	post(IBV_WR_RDMA_WRITE, 8);
	post(IBV_WR_RDMA_WRITE, 8);
	pair_run(&pair);
	expect_counted(A, "retransmitted_pkts 4\nlocal_ack_timeout_err 2\nack_timeouts 3\n"
			  "retry_exceeded_err 1\nreq_cqe_error 2\nreq_cqe_flush_error 1\n");
	expect_counted(B, "");
}

static void
loss__unreliable(void **state)
{
	close_pair(state);
	open_with(pair_conf(IBV_QPT_UC));
	pair_lose(&pair, A, 1);
	post(IBV_WR_RDMA_WRITE, 4 * MTU);
	pair_run(&pair);
	expect_counted(A, "");
	/* after a loss UC drops the remaining packets of the message */
	expect_counted(B, "rx_write_requests 1\nout_of_sequence 2\n");
}

/* --- counters of refused requests --- */

static void
refusal__no_receive_request(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	close_pair(state);
	conf.rnr_retry = 1;
	open_with(conf);
	post(IBV_WR_SEND, 8);
	pair_run(&pair);
	expect_counted(A, "retransmitted_pkts 1\nrcvd_rnr_err 2\nrnr_nak_retry_err 1\n"
			  "retry_rnr_exceeded_err 1\nreq_cqe_error 1\n");
	expect_counted(B, "out_of_buffer 2\nsend_rnr_err 2\n");
	assert_int_equal(pair.host[B].qpc.stats.naks_rnr_sent, 2);
}

/*
 * A request behind a PSN gap is checked when the gap is filled, so it is refused, and counted as
 * refused, only then.
 */
static void
refusal__of_what_was_held(void **state)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	close_pair(state);
	conf.nb_hold = 64;
	conf.rnr_retry = 7;
	open_with(conf);
	pair_lose(&pair, A, 0);
	post(IBV_WR_RDMA_WRITE, 8);
	post(IBV_WR_SEND, 8);
	pair_run_for(&pair, 100000);
	expect_counted(A, "retransmitted_pkts 1\npacket_seq_err 1\nrcvd_rnr_err 1\n"
			  "rnr_nak_retry_err 1\n");
	expect_counted(B, "rx_write_requests 1\nout_of_sequence 1\nout_of_seq_request 1\n"
			  "out_of_buffer 1\nsend_rnr_err 1\n");
}

static void
refusal__no_access(void **state)
{
	const struct pair_wr wr = { .opcode = IBV_WR_RDMA_WRITE,
				    .len = 8,
				    .remote = pair.conf.mem_len };

	(void)state;
	pair_post_recv(&pair, B, 0, 8);
	pair_post(&pair, A, &wr);
	pair_run(&pair);
	expect_counted(A, "req_remote_access_errors 1\nreq_cqe_error 1\n");
	expect_counted(B, "resp_remote_access_errors 1\nresp_cqe_error 1\n"
			  "resp_cqe_flush_error 1\n");
}

static void
refusal__too_long(void **state)
{
	(void)state;
	pair_post_recv(&pair, B, 0, 8);
	post(IBV_WR_SEND, 9);
	pair_run(&pair);
	expect_counted(A, "req_remote_invalid_request 1\nreq_cqe_error 1\n");
	expect_counted(B, "resp_local_length_error 1\nresp_cqe_error 1\n");
}

/* A refused request of an unreliable service is counted and has no other effect. */
static void
refusal__unreliable(void **state)
{
	const struct pair_wr wr = { .opcode = IBV_WR_RDMA_WRITE,
				    .len = 8,
				    .remote = pair.conf.mem_len };

	close_pair(state);
	open_with(pair_conf(IBV_QPT_UC));
	post(IBV_WR_SEND, 8);
	pair_post(&pair, A, &wr);
	pair_run(&pair);
	expect_counted(A, "rdma_sends 1\n");
	expect_counted(B, "out_of_buffer 1\nresp_remote_access_errors 1\n");
}

static void
refusal__of_a_datagram(void **state)
{
	const struct pair_pkt pkt = {
		.opcode = uroce_opcode_make(UROCE_SERVICE_UD, UROCE_OP_SEND_ONLY), .payload_len = 8
	};
	struct pair_pkt right = pkt;

	close_pair(state);
	open_with(pair_conf(IBV_QPT_UD));
	right.qkey = pair.host[B].qpc.qkey;
	assert_int_equal(pair_inject(&pair, B, &right), UROCE_VERDICT_NO_RECEIVE);
	pair_post_recv(&pair, B, 0, 47);
	assert_int_equal(pair_inject(&pair, B, &right), UROCE_VERDICT_TOO_LONG);
	expect_counted(B, "out_of_buffer 1\nresp_local_length_error 1\n");
	pair_post_recv(&pair, B, 0, 48);
}

/* --- counters of congestion control --- */

static void
congestion__notifications(void **state)
{
	const struct pair_pkt cnp = { .opcode = UROCE_OPCODE_CNP,
				      .payload_len = UROCE_CNP_RESERVED_LEN };
	struct pair_conf conf = pair_conf(IBV_QPT_RC);
	struct uroce_cc_conf cc;

	(void)state;
	/* a QP without congestion control ignores a CNP */
	assert_int_equal(pair_inject(&pair, A, &cnp), UROCE_VERDICT_CNP);
	expect_counted(A, "rp_cnp_ignored 1\n");
	close_pair(state);

	uroce_cc_conf_init(&cc);
	assert_true(uroce_cc_find("dcqcn", &cc.ops));
	conf.cc = &cc;
	conf.tclass = UROCE_ECN_CE;
	open_with(conf);
	post(IBV_WR_RDMA_WRITE, 8);
	pair_run_for(&pair, 10000);
	assert_int_equal(write_only(1, 0, 8), UROCE_VERDICT_REQUEST);
	pair_run_for(&pair, 10000);
	expect_counted(A, "rp_cnp_handled 1\n");
	expect_counted(B, "rx_write_requests 2\nnp_cnp_sent 1\n");
	/*
	 * two forged CNPs: the CNP to A arrives sooner than a peer may send it, the CNP to B at a
	 * QP that has sent nothing
	 */
	assert_int_equal(pair_inject(&pair, A, &cnp), UROCE_VERDICT_CNP);
	assert_int_equal(pair_inject(&pair, B, &cnp), UROCE_VERDICT_CNP);
	expect_counted(A, "rp_cnp_ignored 1\nrp_cnp_implausible 1\n");
	expect_counted(B, "rp_cnp_ignored 1\nrp_cnp_implausible 1\n");
}

int
main(void)
{
#define WITH_PAIR(test) cmocka_unit_test_setup_teardown(test, open_pair, close_pair)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counter_name__is_the_enum_in_lower_case),
		cmocka_unit_test(counter_source__is_whose_name_it_is),
		cmocka_unit_test(count_in__nobody),
		WITH_PAIR(messages__are_counted_when_they_complete),
		WITH_PAIR(messages__unreliable_ones_too),
		WITH_PAIR(messages__that_are_cancelled_are_none),
		WITH_PAIR(writes__are_counted_when_they_begin),
		WITH_PAIR(fetches__are_counted_as_they_ask),
		WITH_PAIR(loss__of_a_request),
		WITH_PAIR(loss__of_an_ack),
		WITH_PAIR(loss__of_an_answer),
		WITH_PAIR(loss__of_everything),
		WITH_PAIR(loss__unreliable),
		WITH_PAIR(refusal__no_receive_request),
		WITH_PAIR(refusal__of_what_was_held),
		WITH_PAIR(refusal__no_access),
		WITH_PAIR(refusal__too_long),
		WITH_PAIR(refusal__unreliable),
		WITH_PAIR(refusal__of_a_datagram),
		WITH_PAIR(congestion__notifications),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
