/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connects 65,536 queue pairs, each with one of the other process, and sends one message on each.
 * The program prints how long connections and messages took, and how much memory a QP needs. The
 * device must have room for 65,536 queue pairs: --uroce=...,qps=65536.
 *
 * See side.h for how to run this example.
 */

#include "side.h"

#include <stdio.h>
#include <rte_cycles.h>
#include <rte_lcore.h>
#include <rte_malloc.h>

#define NB_QP  65536u
#define WINDOW 256u /* number of messages in flight at a time */

static struct side side;
static struct ibv_cq *cq;
static struct ibv_mr *mr;
static struct ibv_qp *qps[NB_QP];
static uint64_t messages[NB_QP]; /* receive buffers of the server, one for each QP */
static uint32_t server_qpns[NB_QP];

/* Get the number of bytes in use in DPDK's heaps and in the heap that the library adds to them. */
static size_t
bytes_in_use(void)
{
	const int own = rte_malloc_heap_get_socket("uroce");
	struct rte_malloc_socket_stats stats;
	size_t sum = 0;

	if (own >= 0 && rte_malloc_get_socket_stats(own, &stats) == 0)
		sum += stats.heap_allocsz_bytes;
	for (unsigned i = 0; i < rte_socket_count(); i++)
		if (rte_malloc_get_socket_stats(rte_socket_id_by_idx(i), &stats) == 0)
			sum += stats.heap_allocsz_bytes;
	return sum;
}

static double
seconds(uint64_t tsc)
{
	return (double)tsc / (double)rte_get_tsc_hz();
}

static void
post_recv(unsigned i)
{
	struct ibv_sge sge = { (uintptr_t)&messages[i], sizeof(messages[i]), mr->lkey };
	struct ibv_recv_wr *bad_wr, wr = { i, NULL, &sge, 1 };

	check(ibv_post_recv(qps[i], &wr, &bad_wr) == 0, "cannot post to QP %u", i);
}

static void
connect_all(void)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.send_cq = cq,
		.recv_cq = cq,
		.sq_sig_all = 1,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	for (unsigned i = 0; i < NB_QP; i++) {
		check((qps[i] = uroce_create_qp(side.pd, &init)), "no QP %u; say qps=%u", i, NB_QP);
		const struct side_link link = side_meet(&side, qps[i]->qp_num);

		server_qpns[i] = side.is_client ? link.theirs.qpn : link.ours.qpn;
		side_raise(&link, qps[i]);
		if (!side.is_client)
			post_recv(i);
	}
	side_sync(&side);
}

/* Get the content of the message on QP `i`, which is different for each QP. */
static uint64_t
message_of(unsigned i)
{
	return (uint64_t)server_qpns[i] << 32 | i;
}

static void
send_all(void)
{
	unsigned nb_sent = 0;

	for (unsigned i = 0; i < NB_QP; i++) {
		uint64_t message = message_of(i);
		struct ibv_sge sge = { (uintptr_t)&message, sizeof(message), 0 };
		struct ibv_send_wr *bad_wr, wr = {
			.wr_id = i,
			.opcode = IBV_WR_SEND,
			.send_flags = IBV_SEND_INLINE,
			.sg_list = &sge,
			.num_sge = 1,
		};

		check(ibv_post_send(qps[i], &wr, &bad_wr) == 0, "cannot post to QP %u", i);
		for (; i - nb_sent >= WINDOW; nb_sent++)
			side_wait(&side, cq, IBV_WC_SUCCESS);
	}
	for (; nb_sent < NB_QP; nb_sent++)
		side_wait(&side, cq, IBV_WC_SUCCESS);
}

static void
receive_all(void)
{
	static bool is_received[NB_QP];

	for (unsigned nb = 0; nb < NB_QP; nb++) {
		const struct ibv_wc wc = side_wait(&side, cq, IBV_WC_SUCCESS);
		const unsigned i = (unsigned)wc.wr_id;

		check(wc.qp_num == qps[i]->qp_num && !is_received[i],
		      "QP %u has the completion of another, or a second one", i);
		check(wc.byte_len == sizeof(messages[i]) && messages[i] == message_of(i),
		      "QP %u received what was not sent to it", i);
		is_received[i] = true;
	}
}

int
main(int argc, char **argv)
{
	side_open(&side, argc, argv);
	check((mr = uroce_reg_mr(side.pd, messages, sizeof(messages), IBV_ACCESS_LOCAL_WRITE)),
	      "no region");
	check((cq = uroce_create_cq(side.context, NB_QP, NULL, NULL, 0)), "no CQ");
	const size_t before = bytes_in_use();
	const uint64_t begin = rte_rdtsc();

	connect_all();
	const uint64_t connected = rte_rdtsc();

	if (side.is_client)
		send_all();
	else
		receive_all();
	side_sync(&side);
	printf("%u QPs connected in %.2f s, a message on each in %.2f s; %zu bytes per QP\n", NB_QP,
	       seconds(connected - begin), seconds(rte_rdtsc() - connected),
	       (bytes_in_use() - before) / NB_QP);
	for (unsigned i = 0; i < NB_QP; i++)
		check(uroce_destroy_qp(qps[i]) == 0, "QP %u stays", i);
	check(bytes_in_use() <= before, "%zu bytes stay of the QPs", bytes_in_use() - before);
	check(uroce_destroy_cq(cq) == 0 && uroce_dereg_mr(mr) == 0, "CQ or region stay");
	side_close(&side);
	return 0;
}
