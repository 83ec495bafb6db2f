/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Work for test/arm64/insns, which counts the instructions of each side. Both hosts are in one
 * thread, and no other thread drives them. So a run has the same instructions each time.
 *
 *	bench-insns                  under qemu-user with the plugin of test/arm64/insn_count.c
 *
 * Each round posts a list of requests, and lets both hosts work until the completion. Before each
 * part of the work, a system call names the counter to which the plugin adds the instructions. The
 * kernel refuses this call.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <cmocka.h>
#include <rte_eal.h>

#include "net.h"

#define MARK      0x55724f43 /* known to the plugin: the second argument is a counter */
#define LIST_LEN  16
#define WARM_UP   64
#define NB_ROUNDS 256
#define NOBODY    0 /* the counter of all that is not measured */

static const struct {
	const char *name;
	enum ibv_wr_opcode opcode;
	uint32_t len;
} cases[] = {
	{ "WRITE 8 B", IBV_WR_RDMA_WRITE, 8 }, { "SEND 8 B", IBV_WR_SEND, 8 },
	{ "READ 8 B", IBV_WR_RDMA_READ, 8 },   { "WRITE 4 KiB", IBV_WR_RDMA_WRITE, 4096 },
	{ "SEND 4 KiB", IBV_WR_SEND, 4096 },   { "READ 4 KiB", IBV_WR_RDMA_READ, 4096 },
};

static struct ibv_send_wr wr[LIST_LEN];
static struct ibv_recv_wr recv_wr[LIST_LEN];
static struct ibv_sge sge[LIST_LEN], recv_sge[LIST_LEN];

static void
count_as(unsigned long counter)
{
	(void)prctl(MARK, counter, 0ul, 0ul, 0ul);
}

static void
make_lists(const struct pair *pair, enum ibv_wr_opcode opcode, uint32_t len)
{
	for (unsigned i = 0; i < LIST_LEN; i++) {
		sge[i] = sge_of(&pair->a, i * 4096, len);
		recv_sge[i] = sge_of(&pair->b, i * 4096, len);
		wr[i] = (struct ibv_send_wr){
			.wr_id = i,
			.next = i + 1 < LIST_LEN ? &wr[i + 1] : NULL,
			.sg_list = &sge[i],
			.num_sge = 1,
			.opcode = opcode,
			.send_flags = i + 1 < LIST_LEN ? 0 : IBV_SEND_SIGNALED,
			.wr.rdma = { .remote_addr = recv_sge[i].addr, .rkey = pair->b.mr->rkey },
		};
		recv_wr[i] = (struct ibv_recv_wr){
			.next = i + 1 < LIST_LEN ? &recv_wr[i + 1] : NULL,
			.sg_list = &recv_sge[i],
			.num_sge = 1,
		};
	}
}

/* Run a round. @return the number of times that the hosts worked until the completion */
static unsigned
run_round(const struct pair *pair, bool has_recv, unsigned long requester, unsigned long responder)
{
	struct uroce_worker *a = uroce_get_worker(pair->a.context, 0);
	struct uroce_worker *b = uroce_get_worker(pair->b.context, 0);
	struct ibv_send_wr *bad;
	struct ibv_recv_wr *bad_recv;
	struct ibv_wc wc[LIST_LEN];
	unsigned nb = 0;
	bool is_done;

	if (has_recv) {
		count_as(responder);
		assert_int_equal(ibv_post_recv(pair->b.qp, recv_wr, &bad_recv), 0);
	}
	count_as(requester);
	assert_int_equal(ibv_post_send(pair->a.qp, wr, &bad), 0);
	do {
		(void)uroce_worker_poll(a);
		count_as(responder);
		(void)uroce_worker_poll(b);
		if (has_recv)
			(void)ibv_poll_cq(pair->b.rcq, LIST_LEN, wc);
		count_as(requester);
		(void)uroce_worker_poll(a);
		is_done = ibv_poll_cq(pair->a.scq, 1, wc) == 1;
		nb++;
	} while (!is_done && nb < 1000);
	count_as(NOBODY);
	assert_true(is_done);
	assert_int_equal(wc[0].status, IBV_WC_SUCCESS);
	return nb;
}

static void
run_case(const struct pair *pair, unsigned idx)
{
	const bool has_recv = cases[idx].opcode == IBV_WR_SEND;
	unsigned nb = 0;

	make_lists(pair, cases[idx].opcode, cases[idx].len);
	for (unsigned i = 0; i < WARM_UP; i++)
		(void)run_round(pair, has_recv, NOBODY, NOBODY);
	for (unsigned i = 0; i < NB_ROUNDS; i++)
		nb += run_round(pair, has_recv, 2 * idx + 1, 2 * idx + 2);
	printf("case %u %u %u %s\n", 2 * idx + 1, NB_ROUNDS * LIST_LEN, nb, cases[idx].name);
}

static void
insns__all_cases(void **state)
{
	static struct pair pair;

	(void)state;
	pair_open(&pair, &(struct pair_conf){
				 .type = IBV_QPT_RC,
				 .keys = "drive=none",
				 .is_driven = true,
				 .mtu = IBV_MTU_4096,
				 .nb_wr = 2 * LIST_LEN,
				 .timeout = 20,
				 .is_quiet = true,
			 });
	pair_connect(&pair);
	/* from here on this thread drives the devices */
	atomic_store(&pair.is_closing, true);
	assert_int_equal(pthread_join(pair.driver, NULL), 0);
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		run_case(&pair, i);
	pair.conf.is_driven = false;
	pair_close(&pair);
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(insns__all_cases) };

	net_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
