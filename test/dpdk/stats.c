/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The counters of a device, compared with the frames that the test carries: counters of the data
 * path, and counters that the library derives from other counters. test/unit/transport/counter.c
 * tests the counters of the transport.
 */

#include "rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rte_ether.h>
#include <rte_mbuf.h>

#include "datapath/port/link.h"
#include "datapath/worker/round.h"
#include "datapath/device/stats.h"
#include "wire/icrc.h"

#define LEN 30000

static struct rig_qp *a, *b;
static struct uroce_counters before[2]; /* counters of dev_a and of dev_b at the last note() */

static void
note(void)
{
	uroce_stats_read(dev_a, &before[0]);
	uroce_stats_read(dev_b, &before[1]);
}

/* Get the increase of a counter of a device since the last call of note(). */
static uint64_t
counted(const struct uroce_dev *dev, enum uroce_counter which)
{
	struct uroce_counters now;

	uroce_stats_read(dev, &now);
	return now.nb[which] - before[dev == dev_b].nb[which];
}

static int
setup(void **state)
{
	(void)state;
	a = rig_qp(dev_a, 0, IBV_QPT_RC);
	b = rig_qp(dev_b, 0, IBV_QPT_RC);
	rig_fill(a, 1);
	rig_connect(a, b, 1);
	rig_connect(b, a, 1);
	/* let the devices send their reports to routers before the counters are read */
	rig_drive(dev_a);
	rig_drive(dev_b);
	note();
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	rig_qp_free(a);
	rig_qp_free(b);
	return 0;
}

static void
await_success(struct rig_qp *qp)
{
	assert_int_equal(rig_await(&qp->scq, dev_a, dev_b).status, IBV_WC_SUCCESS);
}

/* --- counters of the port ---------------------------------------------------------------------- */

/* A number of frames, and the sum of their lengths in bytes. */
struct seen {
	uint64_t nb;
	uint64_t bytes;
};

/*
 * Pass all frames that the device `from` wants to send to the device `to`, and count them in
 * `seen`.
 */
static void
carry(struct uroce_dev *from, struct uroce_dev *to, struct seen *seen)
{
	struct rte_mbuf *frames[64], *rest[64];
	unsigned nb;

	while ((nb = uroce_worker_output(from->worker[0], frames, 64)) > 0) {
		for (unsigned i = 0; i < nb; i++)
			seen->bytes += frames[i]->pkt_len;
		seen->nb += nb;
		assert_int_equal(uroce_worker_input(to->worker[0], frames, nb, rest), 0);
	}
}

static void
stats__packets_and_octets_are_those_of_the_frames(void **state)
{
	struct seen there = { 0 }, back = { 0 };

	(void)state;
	rig_post_send(a, IBV_WR_RDMA_WRITE, 1, 0, LEN, b, 0);
	rig_post_send(a, IBV_WR_RDMA_READ, 2, 0, LEN, b, 0);
	for (unsigned i = 0; i < 10; i++) {
		carry(dev_a, dev_b, &there);
		carry(dev_b, dev_a, &back);
	}
	await_success(a);
	await_success(a);
	assert_true(there.nb >= 2 && back.nb >= 2);
	assert_int_equal(counted(dev_a, UROCE_COUNTER_PORT_XMIT_PACKETS), there.nb);
	assert_int_equal(counted(dev_a, UROCE_COUNTER_UNICAST_XMIT_PACKETS), there.nb);
	assert_int_equal(counted(dev_a, UROCE_COUNTER_SENT_PKTS), there.nb);
	assert_int_equal(counted(dev_a, UROCE_COUNTER_TX_FRAMES), there.nb);
	assert_int_equal(counted(dev_b, UROCE_COUNTER_PORT_RCV_PACKETS), there.nb);
	assert_int_equal(counted(dev_b, UROCE_COUNTER_UNICAST_RCV_PACKETS), there.nb);
	assert_int_equal(counted(dev_b, UROCE_COUNTER_RCVD_PKTS), there.nb);
	assert_int_equal(counted(dev_b, UROCE_COUNTER_RX_FRAMES), there.nb);
	assert_int_equal(counted(dev_b, UROCE_COUNTER_PORT_XMIT_PACKETS), back.nb);
	/* The counters have units of four bytes. A remainder is counted with the next frame. */
	assert_in_range(counted(dev_a, UROCE_COUNTER_PORT_XMIT_DATA), there.bytes / 4,
			there.bytes / 4 + 1);
	assert_in_range(counted(dev_b, UROCE_COUNTER_PORT_RCV_DATA), there.bytes / 4,
			there.bytes / 4 + 1);
	assert_in_range(counted(dev_b, UROCE_COUNTER_PORT_XMIT_DATA), back.bytes / 4,
			back.bytes / 4 + 1);
	assert_in_range(counted(dev_a, UROCE_COUNTER_PORT_RCV_DATA), back.bytes / 4,
			back.bytes / 4 + 1);
	assert_int_equal(counted(dev_b, UROCE_COUNTER_PORT_RCV_ERRORS), 0);
	assert_int_equal(counted(dev_b, UROCE_COUNTER_MULTICAST_RCV_PACKETS), 0);
}

#define NB_FLOODS 3 /* number of QPs whose windows together exceed a ring of the port */

static struct rig_qp *flood_a[NB_FLOODS], *flood_b[NB_FLOODS];

static int
setup_flood(void **state)
{
	for (unsigned i = 0; i < NB_FLOODS; i++) {
		flood_a[i] = rig_qp(dev_a, 0, IBV_QPT_RC);
		flood_b[i] = rig_qp(dev_b, 0, IBV_QPT_RC);
		rig_connect(flood_a[i], flood_b[i], 1);
		rig_connect(flood_b[i], flood_a[i], 1);
	}
	return setup(state);
}

static int
teardown_flood(void **state)
{
	rig_end_own_clock();
	for (unsigned i = 0; i < NB_FLOODS; i++) {
		rig_qp_free(flood_a[i]);
		rig_qp_free(flood_b[i]);
	}
	return teardown(state);
}

/*
 * Post so many WRITEs that the port of host a becomes full, because host b receives nothing. Only
 * calls of rig_drive() advance the time, so that a pause of the process causes no retransmission.
 */
static void
flood(void)
{
	rig_own_clock();
	for (unsigned i = 0; i < NB_FLOODS * RIG_WR; i++)
		rig_post_send(flood_a[i % NB_FLOODS], IBV_WR_RDMA_WRITE, i, 0, RIG_BUF_LEN,
			      flood_b[i % NB_FLOODS], 0);
	for (unsigned i = 0; i < 100 && dev_a->worker[0]->tx.nb_pending == 0; i++)
		rig_drive(dev_a);
	assert_true(dev_a->worker[0]->tx.nb_pending > 0);
}

/*
 * Drive both devices until all WRITEs of flood() have completed.
 * @return number of packets that the QPs have built
 */
static uint64_t
end_flood(void)
{
	uint64_t nb = 0;

	for (unsigned i = 0; i < NB_FLOODS * RIG_WR; i++)
		await_success(flood_a[i % NB_FLOODS]);
	for (unsigned i = 0; i < NB_FLOODS; i++)
		nb += flood_a[i]->wqp.qpc.stats.tx_packets;
	return nb;
}

/*
 * A full port accepts only a part of a burst, and accepts the other frames later. Each frame must
 * be counted once.
 */
static void
stats__a_port_that_is_full(void **state)
{
	uint64_t nb;

	(void)state;
	flood();
	nb = end_flood();
	assert_int_equal(counted(dev_a, UROCE_COUNTER_RETRANSMITTED_PKTS), 0);
	assert_true(counted(dev_a, UROCE_COUNTER_TX_FULL) > 0);
	assert_int_equal(counted(dev_a, UROCE_COUNTER_PORT_XMIT_PACKETS), nb);
	assert_int_equal(counted(dev_b, UROCE_COUNTER_PORT_RCV_PACKETS), nb);
	assert_int_equal(counted(dev_a, UROCE_COUNTER_PORT_XMIT_DATA),
			 counted(dev_b, UROCE_COUNTER_PORT_RCV_DATA));
	assert_int_equal(counted(dev_a, UROCE_COUNTER_PORT_XMIT_DISCARDS), 0);
}

/* When the link goes down, the frames that wait in the worker must be discarded and counted. */
static void
stats__what_nobody_takes_is_discarded(void **state)
{
	uint64_t nb_waiting, nb_discarded, nb;

	(void)state;
	flood();
	nb_waiting = dev_a->worker[0]->tx.nb_pending;
	assert_int_equal(counted(dev_a, UROCE_COUNTER_LINK_DOWNED), 0);
	uroce_link_set(dev_a->port, false);
	rig_drive(dev_a);
	nb_discarded = counted(dev_a, UROCE_COUNTER_PORT_XMIT_DISCARDS);
	assert_true(nb_discarded >= nb_waiting);
	assert_int_equal(counted(dev_a, UROCE_COUNTER_LINK_DOWNED), 1);
	uroce_link_set(dev_a->port, true);
	nb = end_flood();
	assert_int_equal(counted(dev_a, UROCE_COUNTER_LINK_DOWNED), 1);
	/* each packet that was built was either sent or discarded */
	assert_int_equal(counted(dev_a, UROCE_COUNTER_PORT_XMIT_PACKETS) +
				 counted(dev_a, UROCE_COUNTER_PORT_XMIT_DISCARDS),
			 nb);
	assert_int_equal(counted(dev_a, UROCE_COUNTER_PORT_XMIT_DATA),
			 counted(dev_b, UROCE_COUNTER_PORT_RCV_DATA));
}

/* --- invalid, foreign and lost frames ----------------------------------------------------------- */

/* Post a WRITE from host a to host b, and take its frame, so that host b does not receive it. */
static struct rte_mbuf *
take_frame(void)
{
	struct rte_mbuf *frame;

	rig_post_send(a, IBV_WR_RDMA_WRITE, 1, 0, 8, b, 0);
	assert_int_equal(uroce_worker_output(dev_a->worker[0], &frame, 1), 1);
	return frame;
}

static void
give(struct rte_mbuf *frame)
{
	struct rte_mbuf *rest;

	if (uroce_worker_input(dev_b->worker[0], &frame, 1, &rest) > 0)
		rte_pktmbuf_free(rest);
}

static void
stats__a_wrong_icrc_is_an_error(void **state)
{
	struct rte_mbuf *frame = take_frame();

	(void)state;
	rte_pktmbuf_mtod(frame, uint8_t *)[frame->data_len - 1] ^= 1;
	give(frame);
	assert_int_equal(counted(dev_b, UROCE_COUNTER_PORT_RCV_PACKETS), 1);
	assert_int_equal(counted(dev_b, UROCE_COUNTER_PORT_RCV_ERRORS), 1);
	assert_int_equal(counted(dev_b, UROCE_COUNTER_RX_ICRC_ENCAPSULATED), 1);
	assert_int_equal(counted(dev_b, UROCE_COUNTER_RCVD_PKTS), 0);
	await_success(a);
}

static void
stats__so_is_what_is_malformed(void **state)
{
	struct rte_mbuf *frame = take_frame();

	(void)state;
	/* set an opcode in the BTH that does not exist */
	rte_pktmbuf_mtod(frame, uint8_t *)[14 + 20 + 8] = 0x1f;
	give(frame);
	assert_int_equal(counted(dev_b, UROCE_COUNTER_PORT_RCV_ERRORS), 1);
	assert_int_equal(counted(dev_b, UROCE_COUNTER_RX_ICRC_ENCAPSULATED), 0);
	await_success(a);
}

/*
 * Frames to another address and frames that are not RoCE count as received frames of the worker,
 * but not as received packets of the device.
 */
static void
stats__others_frames_are_not_ours(void **state)
{
	struct rte_mbuf *frame = take_frame();

	(void)state;
	rte_pktmbuf_mtod(frame, uint8_t *)[14 + 16] ^= 1;
	give(frame);
	frame = rte_pktmbuf_alloc(dev_b->worker[0]->pool);
	assert_non_null(frame);
	memset(rte_pktmbuf_append(frame, 60), 0, 60);
	give(frame);
	assert_int_equal(counted(dev_b, UROCE_COUNTER_RX_FRAMES), 2);
	assert_int_equal(counted(dev_b, UROCE_COUNTER_PORT_RCV_PACKETS), 0);
	assert_int_equal(counted(dev_b, UROCE_COUNTER_PORT_RCV_DATA), 0);
	assert_int_equal(counted(dev_b, UROCE_COUNTER_PORT_RCV_ERRORS), 0);
	await_success(a);
}

/* An ARP reply counts as a frame, but not as a sent packet, because it is not RoCE. */
static void
stats__nor_are_answers_to_questions(void **state)
{
	struct rte_mbuf *frame = rte_pktmbuf_alloc(dev_b->worker[0]->pool);
	static const uint8_t question[42] = {
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0,   0, 0, 0, 9, 8, 6, 0, 1, 8, 0,   6, 4, 0,
		1,    2,    0,    0,    0,    0,    9, 192, 0, 2, 1, 0, 0, 0, 0, 0, 0, 192, 0, 2, 2,
	};

	(void)state;
	assert_non_null(frame);
	memcpy(rte_pktmbuf_append(frame, sizeof(question)), question, sizeof(question));
	give(frame);
	rig_drive(dev_b);
	assert_true(counted(dev_b, UROCE_COUNTER_TX_FRAMES) >= 1);
	assert_int_equal(counted(dev_b, UROCE_COUNTER_PORT_XMIT_PACKETS), 0);
	assert_int_equal(counted(dev_b, UROCE_COUNTER_PORT_XMIT_DATA), 0);
	rig_drive(dev_a);
}

/*
 * A packet for a QP that does not exist counts as a received packet of the port, and not as an
 * error.
 */
static void
stats__a_packet_for_nobody(void **state)
{
	struct rte_mbuf *frame = take_frame();
	uint8_t *const ip = rte_pktmbuf_mtod(frame, uint8_t *) + 14;
	uint8_t *const end = rte_pktmbuf_mtod(frame, uint8_t *) + frame->data_len - UROCE_ICRC_LEN;

	(void)state;
	ip[20 + 8 + 5] ^= 0x55; /* change a byte of the destination QP number */
	/* make the ICRC valid again, because a frame with a wrong ICRC would be dropped */
	uroce_icrc_store(end, uroce_icrc_frame(ip, (size_t)(end - ip)));
	give(frame);
	assert_int_equal(counted(dev_b, UROCE_COUNTER_PORT_RCV_PACKETS), 1);
	assert_int_equal(counted(dev_b, UROCE_COUNTER_PORT_RCV_ERRORS), 0);
	assert_int_equal(counted(dev_b, UROCE_COUNTER_RCVD_PKTS), 0);
	await_success(a);
}

/*
 * The second of three frames is lost. Two counters count the NAK that reports the loss: one has the
 * name that rxe uses, the other the name that mlx5 uses.
 */
static void
stats__a_lost_frame(void **state)
{
	struct rte_mbuf *frames[8], *rest[8];
	unsigned nb;

	(void)state;
	rig_post_send(a, IBV_WR_RDMA_WRITE, 1, 0, 3 * 4096, b, 0);
	nb = uroce_worker_output(dev_a->worker[0], frames, 8);
	assert_int_equal(nb, 3);
	rte_pktmbuf_free(frames[1]);
	frames[1] = frames[2];
	assert_int_equal(uroce_worker_input(dev_b->worker[0], frames, 2, rest), 0);
	await_success(a);
	assert_int_equal(counted(dev_a, UROCE_COUNTER_PACKET_SEQ_ERR), 1);
	assert_int_equal(counted(dev_a, UROCE_COUNTER_RCVD_SEQ_ERR), 1);
	assert_int_equal(counted(dev_b, UROCE_COUNTER_OUT_OF_SEQ_REQUEST), 1);
	assert_int_equal(counted(dev_b, UROCE_COUNTER_OUT_OF_SEQUENCE), 1);
}

/* --- loopback, pool and rounds ------------------------------------------------------------------ */

/* Loopback packets count as sent and received packets of the device, but not of its port. */
static void
stats__loopback_is_not_the_ports(void **state)
{
	struct rig_qp *c = rig_qp(dev_a, 0, IBV_QPT_RC);
	struct rig_qp *d = rig_qp(dev_a, 0, IBV_QPT_RC);

	(void)state;
	rig_connect(c, d, 1);
	rig_connect(d, c, 1);
	note();
	rig_post_send(c, IBV_WR_RDMA_WRITE, 1, 0, 8, d, 0);
	await_success(c);
	assert_int_equal(counted(dev_a, UROCE_COUNTER_SENT_PKTS), 2);
	assert_int_equal(counted(dev_a, UROCE_COUNTER_RCVD_PKTS), 2);
	assert_int_equal(counted(dev_a, UROCE_COUNTER_LOOPBACK_PKTS), 2);
	assert_int_equal(counted(dev_a, UROCE_COUNTER_PORT_XMIT_PACKETS), 0);
	assert_int_equal(counted(dev_a, UROCE_COUNTER_PORT_RCV_PACKETS), 0);
	rig_qp_free(c);
	rig_qp_free(d);
}

static void
stats__an_empty_pool(void **state)
{
	struct rte_mempool *const pool = dev_a->worker[0]->pool;
	struct rte_mbuf **taken = calloc(pool->size, sizeof(taken[0]));
	unsigned nb = 0;

	(void)state;
	assert_non_null(taken);
	while (nb < pool->size && (taken[nb] = rte_pktmbuf_alloc(pool)))
		nb++;
	/* Post WRITEs that need more mbufs than the worker has reserved for transmission. */
	for (unsigned i = 0; i < RIG_WR; i++)
		rig_post_send(a, IBV_WR_RDMA_WRITE, i, 0, RIG_BUF_LEN, b, 0);
	for (unsigned i = 0; i < 40; i++)
		rig_drive(dev_a);
	assert_true(counted(dev_a, UROCE_COUNTER_NO_MBUF) > 0);
	rte_pktmbuf_free_bulk(taken, nb);
	free(taken);
	for (unsigned i = 0; i < RIG_WR; i++)
		await_success(a);
}

static void
stats__rounds(void **state)
{
	(void)state;
	rig_drive(dev_a);
	rig_drive(dev_a);
	assert_int_equal(counted(dev_a, UROCE_COUNTER_ROUNDS), 2 * dev_a->nb_workers);
	assert_int_equal(counted(dev_a, UROCE_COUNTER_IDLE_ROUNDS), 2 * dev_a->nb_workers);
}

/* --- counters of verdicts and of QPs ------------------------------------------------------------- */

static void
stats__verdicts_are_of_all_workers(void **state)
{
	uint64_t was[UROCE_VERDICT_NB], is[UROCE_VERDICT_NB];

	(void)state;
	uroce_stats_read_verdicts(dev_b, was);
	rig_post_send(a, IBV_WR_RDMA_WRITE, 1, 0, 8, b, 0);
	await_success(a);
	uroce_stats_read_verdicts(dev_b, is);
	for (unsigned v = 0; v < UROCE_VERDICT_NB; v++)
		assert_int_equal(is[v] - was[v], v == UROCE_VERDICT_REQUEST);
}

static uint64_t
of_qp(struct rig_qp *qp, const char *name)
{
	struct uroce_stats_row rows[UROCE_STATS_QP_NB];
	uint64_t nb = UINT64_MAX;

	uroce_stats_read_qp(&qp->wqp.qpc, rows);
	for (unsigned i = 0; i < UROCE_STATS_QP_NB; i++) {
		assert_true(strlen(rows[i].text) > 7);
		if (strcmp(rows[i].name, name) == 0)
			nb = rows[i].nb;
	}
	return nb;
}

/* Each field of the statistics of a QP must be reported under the name of this field. */
static void
stats__a_qps_counters(void **state)
{
	struct uroce_qpc_stats *const stats = &a->wqp.qpc.stats;
	const struct {
		const char *name;
		uint64_t nb;
	} rows[] = {
		{ "sent_pkts", 1 },          { "sent_bytes", UINT64_C(2) << 32 },
		{ "rcvd_pkts", 3 },          { "rcvd_bytes", 4 },
		{ "retransmitted_pkts", 5 }, { "ack_timeouts", 6 },
		{ "packet_seq_err", 7 },     { "implied_nak_seq_err", 8 },
		{ "rcvd_rnr_err", 9 },       { "duplicate_request", 10 },
		{ "out_of_sequence", 11 },   { "out_of_seq_request", 12 },
		{ "send_rnr_err", 13 },      { "np_ecn_marked_roce_packets", 14 },
		{ "np_cnp_sent", 15 },       { "rp_cnp_handled", 16 },
	};

	(void)state;
	assert_int_equal(RTE_DIM(rows), UROCE_STATS_QP_NB);
	*stats = (struct uroce_qpc_stats){
		.tx_packets = 1,
		.tx_bytes = UINT64_C(2) << 32,
		.rx_packets = 3,
		.rx_bytes = 4,
		.retransmits = 5,
		.timeouts = 6,
		.naks_seq = 7,
		.implied_naks = 8,
		.naks_rnr = 9,
		.duplicates = 10,
		.ooo_requests = 11,
		.naks_seq_sent = 12,
		.naks_rnr_sent = 13,
		.ce_marked = 14,
		.cnps_sent = 15,
		.cnps_handled = 16,
	};
	for (unsigned i = 0; i < RTE_DIM(rows); i++)
		assert_int_equal(of_qp(a, rows[i].name), rows[i].nb);
}

static int
group_setup(void **state)
{
	(void)state;
	rig_pair(1, 0);
	return 0;
}

int
main(void)
{
#define WITH_QPS(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		WITH_QPS(stats__packets_and_octets_are_those_of_the_frames),
		cmocka_unit_test_setup_teardown(stats__a_port_that_is_full, setup_flood,
						teardown_flood),
		cmocka_unit_test_setup_teardown(stats__what_nobody_takes_is_discarded, setup_flood,
						teardown_flood),
		WITH_QPS(stats__a_wrong_icrc_is_an_error),
		WITH_QPS(stats__so_is_what_is_malformed),
		WITH_QPS(stats__others_frames_are_not_ours),
		WITH_QPS(stats__nor_are_answers_to_questions),
		WITH_QPS(stats__a_packet_for_nobody),
		WITH_QPS(stats__a_lost_frame),
		WITH_QPS(stats__loopback_is_not_the_ports),
		WITH_QPS(stats__an_empty_pool),
		WITH_QPS(stats__rounds),
		WITH_QPS(stats__verdicts_are_of_all_workers),
		WITH_QPS(stats__a_qps_counters),
	};

	if (!rig_init())
		return 1;
	return cmocka_run_group_tests(tests, group_setup, rig_teardown);
}
