/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The fast path for the Middle packets of long messages. The packets of a message arrive as one
 * burst, and the Middle packets are handled together. A packet that differs from its neighbours in
 * any way must be handled as if it had arrived alone.
 */

#include "pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "wire/psn.h"

#define MTU     256u
#define NB      6u /* number of packets: First, four Middle packets, Last */
#define ODD_ONE 3u
#define LEN     (NB * MTU)

static struct pair pair;
static struct uroce_pkt pkts[NB];
static uint8_t verdicts[NB];

/*
 * The types of messages: the operation, the side that receives the packets, and the verdict for
 * them.
 */
static const struct way {
	enum ibv_wr_opcode opcode;
	enum pair_side taker;
	enum uroce_verdict verdict;
} ways[] = {
	{ IBV_WR_RDMA_WRITE, B, UROCE_VERDICT_REQUEST },
	{ IBV_WR_SEND, B, UROCE_VERDICT_REQUEST },
	{ IBV_WR_RDMA_READ, A, UROCE_VERDICT_RESPONSE },
};

#define NB_WAYS (sizeof(ways) / sizeof(ways[0]))

static struct pair_conf
small_mtu(void)
{
	struct pair_conf conf = pair_conf(IBV_QPT_RC);

	conf.mtu = IBV_MTU_256;
	return conf;
}

/* Send a message (for a READ: its responses) between the hosts, and parse its packets. */
static void
send_message(const struct pair_conf *conf, const struct way *way)
{
	pair_open(&pair, conf);
	pair_fill(&pair, A, 0, LEN, 1);
	pair_fill(&pair, B, 0, LEN, 2);
	if (way->opcode == IBV_WR_SEND)
		assert_int_equal(pair_post_recv(&pair, B, 0, LEN), 0);
	assert_int_equal(
		pair_post(&pair, A, &(struct pair_wr){ .opcode = way->opcode, .len = LEN }), 0);
	pair_run_for(&pair, way->taker == A ? PAIR_LATENCY_NS : 0);
	assert_int_equal(pair.nb_flights, NB);
	for (unsigned i = 0; i < NB; i++)
		assert_int_equal(uroce_parse(pair.flights[i].frame, pair.flights[i].len, &pkts[i]),
				 way->verdict);
}

static void
arrive(const struct way *way)
{
	unsigned n = 0;

	while (n < NB)
		n += uroce_qpc_recv_burst(&pair.host[way->taker].qpc, &pkts[n], NB - n,
					  &verdicts[n], pair.now_ns);
	assert_int_equal(n, NB);
}

/*
 * Check that the first `nb` packets were received and are in memory, and that the others are not.
 */
static void
expect_taken(const struct way *way, unsigned nb)
{
	const struct uroce_qpc *qpc = &pair.host[way->taker].qpc;

	for (unsigned i = 0; i < nb; i++)
		assert_int_equal(verdicts[i], way->verdict);
	for (unsigned i = 0; i < NB; i++)
		assert_int_equal(pair_is_equal(&pair, i * MTU, i * MTU, MTU), i < nb);
	assert_int_equal(qpc->stats.rx_bytes, nb * MTU);
}

static void
land(const struct pair_conf *conf)
{
	for (unsigned i = 0; i < NB_WAYS; i++) {
		send_message(conf, &ways[i]);
		arrive(&ways[i]);
		expect_taken(&ways[i], NB);
		assert_int_equal(pair.host[ways[i].taker].qpc.stats.rx_packets, NB);
		pair_close(&pair);
	}
}

static void
middle__lands(void **state)
{
	const struct pair_conf conf = small_mtu();

	(void)state;
	land(&conf);
}

static void
middle__of_ipv6(void **state)
{
	struct pair_conf conf = small_mtu();

	(void)state;
	conf.is_ipv6 = true;
	land(&conf);
}

static void
middle__psn_wraps(void **state)
{
	struct pair_conf conf = small_mtu();

	(void)state;
	conf.psn[A] = 0xfffffd;
	land(&conf);
}

static void
middle__of_a_shared_queue(void **state)
{
	struct pair_conf conf = small_mtu();

	(void)state;
	conf.has_srq = true;
	land(&conf);
}

/* The responses of a READ are placed in the memory of two SGEs. */
static void
middle__in_two_pieces(void **state)
{
	const struct pair_conf conf = small_mtu();
	struct ibv_sge sge[2];
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_READ, .sg_list = sge, .num_sge = 2 };

	(void)state;
	pair_open(&pair, &conf);
	pair_fill(&pair, B, 0, LEN, 2);
	for (unsigned i = 0; i < 2; i++)
		sge[i] = (struct ibv_sge){
			.addr = (uintptr_t)pair.host[A].mem + i * LEN / 2,
			.length = LEN / 2,
			.lkey = pair.host[A].key,
		};
	wr.wr.rdma.remote_addr = (uintptr_t)pair.host[B].mem;
	wr.wr.rdma.rkey = pair.host[B].key;
	assert_int_equal(pair_post_raw(&pair, A, &wr), 0);
	pair_run(&pair);
	assert_true(pair_is_equal(&pair, 0, 0, LEN));
	pair_close(&pair);
}

/* --- bursts with one packet that differs from the others --- */

static void
make_gap(void)
{
	pkts[ODD_ONE].psn = uroce_psn_add(pkts[ODD_ONE].psn, 100);
}

static void
make_stranger(void)
{
	((struct uroce_ipv4 *)pkts[ODD_ONE].ip)->src[3] ^= 1;
}

static void
make_other_partition(void)
{
	pkts[ODD_ONE].pkey ^= 1;
}

static void
make_short(void)
{
	pkts[ODD_ONE].payload_len--;
}

static void
make_other_service(void)
{
	pkts[ODD_ONE].op =
		&uroce_opcode_table[uroce_opcode_make(UROCE_SERVICE_UC, UROCE_OP_WRITE_MIDDLE)];
}

static void
middle__what_is_different_is_asked_everything(void **state)
{
	static const struct {
		void (*make)(void);
		enum uroce_verdict verdicts[NB_WAYS];
	} rows[] = {
		{ make_gap, { UROCE_VERDICT_PSN_GAP, UROCE_VERDICT_PSN_GAP, UROCE_VERDICT_GHOST } },
		{ make_stranger,
		  { UROCE_VERDICT_WRONG_PEER, UROCE_VERDICT_WRONG_PEER,
		    UROCE_VERDICT_WRONG_PEER } },
		{ make_other_partition,
		  { UROCE_VERDICT_BAD_PKEY, UROCE_VERDICT_BAD_PKEY, UROCE_VERDICT_BAD_PKEY } },
		{ make_short,
		  { UROCE_VERDICT_BAD_REQUEST, UROCE_VERDICT_BAD_REQUEST,
		    UROCE_VERDICT_BAD_RESPONSE } },
		{ make_other_service,
		  { UROCE_VERDICT_WRONG_SERVICE, UROCE_VERDICT_WRONG_SERVICE,
		    UROCE_VERDICT_WRONG_SERVICE } },
	};
	struct pair_conf conf = small_mtu();

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (unsigned way = 0; way < NB_WAYS; way++) {
			/* without direct data placement, packets behind a gap change no memory */
			conf.is_req_gbn = true;
			send_message(&conf, &ways[way]);
			rows[i].make();
			arrive(&ways[way]);
			assert_int_equal(verdicts[ODD_ONE], rows[i].verdicts[way]);
			expect_taken(&ways[way], ODD_ONE);
			pair_close(&pair);
		}
	}
}

static void
middle__marks_are_counted(void **state)
{
	const struct pair_conf conf = small_mtu();

	(void)state;
	for (unsigned i = 0; i < NB_WAYS; i++) {
		send_message(&conf, &ways[i]);
		pkts[ODD_ONE].tclass |= UROCE_ECN_CE;
		arrive(&ways[i]);
		expect_taken(&ways[i], NB);
		assert_int_equal(pair.host[ways[i].taker].qpc.stats.ce_marked, 1);
		pair_close(&pair);
	}
}

static void
middle__owes_an_ack(void **state)
{
	const struct pair_conf conf = small_mtu();

	(void)state;
	send_message(&conf, &ways[0]);
	for (unsigned i = 0; i < NB; i++)
		pkts[i].has_ack_req = i == ODD_ONE;
	arrive(&ways[0]);
	assert_true(uroce_qpc_has_work(&pair.host[B].qpc));
	pair_close(&pair);
}

/* --- ACK requests, lengths and memory --- */

/*
 * Send a message of 128 packets with a send queue of `sq_len` entries, and compare the PSNs of the
 * packets that request an ACK.
 */
static void
expect_asking(uint32_t sq_len, const char *psns)
{
	struct pair_conf conf = small_mtu();
	struct text requests = { 0 };

	conf.sq_len = sq_len;
	pair_open(&pair, &conf);
	pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_RDMA_WRITE, .len = 128 * MTU });
	pair_run(&pair);
	for (char *line = strtok(pair.trace.at, "\n"); line; line = strtok(NULL, "\n")) {
		const char *psn = strstr(line, " psn ");

		if (strncmp(line, "A>B", 3) == 0 && strcmp(line + strlen(line) - 2, " A") == 0)
			text_add(&requests, "%lu ", strtoul(psn + 5, NULL, 10));
	}
	assert_string_equal(text_get(&requests), psns);
	text_free(&requests);
	pair_close(&pair);
}

static void
middle__a_deep_queue_asks_less_often(void **state)
{
	(void)state;
	expect_asking(64, "31 63 95 127 ");
	expect_asking(128, "31 63 95 127 ");
	expect_asking(192, "47 95 127 ");
	expect_asking(256, "63 127 ");
	expect_asking(1024, "63 127 ");
}

static void
middle__longer_than_announced(void **state)
{
	const struct pair_conf conf = small_mtu();

	(void)state;
	send_message(&conf, &ways[0]);
	((struct uroce_reth *)uroce_pkt_reth(&pkts[0]))->dma_len = be32_make(ODD_ONE * MTU + 1);
	arrive(&ways[0]);
	assert_int_equal(verdicts[ODD_ONE], UROCE_VERDICT_BAD_REQUEST);
	expect_taken(&ways[0], ODD_ONE);
	pair_close(&pair);
}

/* The last packet of the announced length is a Middle packet instead of a Last packet. */
static void
middle__is_no_end(void **state)
{
	const struct pair_conf conf = small_mtu();

	(void)state;
	send_message(&conf, &ways[0]);
	((struct uroce_reth *)uroce_pkt_reth(&pkts[0]))->dma_len = be32_make((ODD_ONE + 1) * MTU);
	arrive(&ways[0]);
	assert_int_equal(verdicts[ODD_ONE], UROCE_VERDICT_BAD_REQUEST);
	expect_taken(&ways[0], ODD_ONE);
	pair_close(&pair);
}

static void
middle__receive_too_short(void **state)
{
	const struct pair_conf conf = small_mtu();
	struct uroce_recv_wqe *wqe;

	(void)state;
	send_message(&conf, &ways[1]);
	wqe = uroce_ring_at(&pair.host[B].rq.ring, 0);
	wqe->len = (ODD_ONE + 1) * MTU - 1;
	uroce_recv_wqe_sge(wqe)->length = wqe->len;
	arrive(&ways[1]);
	assert_int_equal(verdicts[ODD_ONE], UROCE_VERDICT_TOO_LONG);
	expect_taken(&ways[1], ODD_ONE);
	pair_close(&pair);
}

/* The region is invalidated after the first packets of a message. */
static void
middle__key_is_gone(void **state)
{
	static const enum uroce_verdict refused[NB_WAYS] = {
		UROCE_VERDICT_NO_ACCESS,
		UROCE_VERDICT_LOCAL_FAULT,
		UROCE_VERDICT_LOCAL_FAULT,
	};
	const struct pair_conf conf = small_mtu();

	(void)state;
	for (unsigned i = 0; i < NB_WAYS; i++) {
		struct pair_host *host = &pair.host[ways[i].taker];

		send_message(&conf, &ways[i]);
		(void)uroce_qpc_recv_burst(&host->qpc, pkts, ODD_ONE, verdicts, pair.now_ns);
		assert_int_equal(uroce_mr_invalidate(host->mrs, host->key), 0);
		(void)uroce_qpc_recv_burst(&host->qpc, &pkts[ODD_ONE], NB - ODD_ONE,
					   &verdicts[ODD_ONE], pair.now_ns);
		assert_int_equal(verdicts[ODD_ONE], refused[i]);
		expect_taken(&ways[i], ODD_ONE);
		pair_close(&pair);
	}
}

/* --- sending Middle packets --- */

static void
middle__stops_at_the_window(void **state)
{
	struct pair_conf conf = small_mtu();

	(void)state;
	conf.window_psns = 4;
	pair_open(&pair, &conf);
	assert_int_equal(
		pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_RDMA_WRITE, .len = LEN }),
		0);
	pair_run(&pair);
	pair_expect_trace(&pair, "A>B WRITE_FIRST psn 0\n"
				 "A>B WRITE_MIDDLE psn 1\n"
				 "A>B WRITE_MIDDLE psn 2\n"
				 "A>B WRITE_MIDDLE psn 3 A\n"
				 "B>A ACK psn 3\n"
				 "A>B WRITE_MIDDLE psn 4\n"
				 "A>B WRITE_LAST psn 5 A\n"
				 "B>A ACK psn 5\n");
	pair_close(&pair);
}

/*
 * A packet that is sent for the first time is sent without a copy: its slice has the key of the
 * region. A retransmitted packet is copied: its slice has key 0.
 */
static void
middle__names_its_region(void **state)
{
	const struct pair_conf conf = small_mtu();
	uint8_t hdr[NB][UROCE_HDR_MAX];
	struct uroce_txd txd[NB];

	(void)state;
	pair_open(&pair, &conf);
	assert_int_equal(
		pair_post(&pair, A, &(struct pair_wr){ .opcode = IBV_WR_RDMA_WRITE, .len = LEN }),
		0);
	for (unsigned i = 0; i < NB; i++)
		txd[i].hdr = hdr[i];
	assert_int_equal(uroce_qpc_send(&pair.host[A].qpc, txd, NB, pair.now_ns), NB);
	for (unsigned i = 0; i < NB; i++) {
		assert_int_equal(txd[i].nb_slices, 1);
		assert_int_equal(txd[i].slice[0].key, pair.host[A].key);
		assert_ptr_equal(txd[i].slice[0].addr, pair.host[A].mem + i * MTU);
	}
	uroce_qpc_expire(&pair.host[A].qpc, uroce_qpc_deadline(&pair.host[A].qpc));
	assert_int_equal(uroce_qpc_send(&pair.host[A].qpc, txd, NB, pair.now_ns), NB);
	for (unsigned i = 0; i < NB; i++)
		assert_int_equal(txd[i].slice[0].key, 0);
	pair_close(&pair);
}

/*
 * The region of a request ends inside the message: the packets before that end are sent, and then
 * the request fails.
 */
static void
middle__payload_is_not_there(void **state)
{
	const struct pair_conf conf = small_mtu();

	(void)state;
	pair_open(&pair, &conf);
	const uint32_t key = pair_register(&pair, A, pair.host[A].mem, ODD_ONE * MTU, 0);
	struct ibv_sge sge = { .addr = (uintptr_t)pair.host[A].mem, .length = LEN, .lkey = key };
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1 };

	wr.wr.rdma.remote_addr = (uintptr_t)pair.host[B].mem;
	wr.wr.rdma.rkey = pair.host[B].key;
	assert_int_equal(pair_post_raw(&pair, A, &wr), 0);
	pair_run(&pair);
	pair_expect_done(&pair, A, "send 0 LOC_PROT_ERR\n");
	assert_int_equal(pair.host[B].qpc.resp.msg_len, ODD_ONE * MTU);
	pair_close(&pair);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(middle__lands),
		cmocka_unit_test(middle__of_ipv6),
		cmocka_unit_test(middle__psn_wraps),
		cmocka_unit_test(middle__of_a_shared_queue),
		cmocka_unit_test(middle__in_two_pieces),
		cmocka_unit_test(middle__what_is_different_is_asked_everything),
		cmocka_unit_test(middle__marks_are_counted),
		cmocka_unit_test(middle__owes_an_ack),
		cmocka_unit_test(middle__a_deep_queue_asks_less_often),
		cmocka_unit_test(middle__longer_than_announced),
		cmocka_unit_test(middle__is_no_end),
		cmocka_unit_test(middle__receive_too_short),
		cmocka_unit_test(middle__key_is_gone),
		cmocka_unit_test(middle__stops_at_the_window),
		cmocka_unit_test(middle__names_its_region),
		cmocka_unit_test(middle__payload_is_not_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
