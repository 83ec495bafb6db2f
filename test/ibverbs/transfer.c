/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two processes built for libibverbs, each with a device of its own. One process writes blocks to
 * the other, and increments a count there by atomics. The other process compares each byte and each
 * count. The QPs have long timeouts. The line `connected` says that both processes have their QPs.
 * The transfer lasts until the input ends. Run under uroce-run.
 *
 *	test-ibverbs-transfer
 */

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pair.h"

#define BLOCK (64u << 10)
#define NB    8 /* number of blocks in the buffer */
#define LEN   (NB * BLOCK + sizeof(uint64_t))
/* a timeout of 2.1 s: the retries last until uroced was started again on a busy machine */
#define ACK_TIMEOUT_CODE 19
#define PSN              0xfffff0

#define TIMEOUT_S        300 /* time limit, which only a hang exceeds */

/* The objects of a process, and the data that the two processes exchange to connect. */
struct end {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t *buf; /* NB blocks, and the word with the count behind them */
	struct card {
		uint32_t qpn, rkey;
		uint64_t addr;
		union ibv_gid gid;
	} mine, theirs;
	/* number of completed send requests, less those that await_done() has awaited */
	unsigned nb_done;
	/*
	 * the number that was received last, if await_word() has not returned it yet; -1: there is
	 * no such number
	 */
	int64_t said;
};

static void
open_end(struct end *end)
{
	struct ibv_device **const list = ibv_get_device_list(NULL);
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	check(list != NULL && list[0] != NULL, "ibv_get_device_list");
	end->context = ibv_open_device(list[0]);
	check(end->context != NULL, "ibv_open_device");
	end->pd = ibv_alloc_pd(end->context);
	check(end->pd != NULL, "ibv_alloc_pd");
	end->buf = calloc(1, LEN);
	end->mr = ibv_reg_mr(end->pd, end->buf, LEN,
			     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				     IBV_ACCESS_REMOTE_ATOMIC);
	check(end->mr != NULL, "ibv_reg_mr");
	end->cq = ibv_create_cq(end->context, 32, NULL, NULL, 0);
	check(end->cq != NULL, "ibv_create_cq");
	init.send_cq = init.recv_cq = end->cq;
	end->qp = ibv_create_qp(end->pd, &init);
	check(end->qp != NULL, "ibv_create_qp");
	end->mine = (struct card){ end->qp->qp_num, end->mr->rkey, (uintptr_t)end->buf, { { 0 } } };
	check(ibv_query_gid(end->context, 1, 1, &end->mine.gid) == 0, "ibv_query_gid");
}

static void
connect_end(struct end *end, int way)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC,
	};

	check(write(way, &end->mine, sizeof(end->mine)) == sizeof(end->mine), "write");
	check(read(way, &end->theirs, sizeof(end->theirs)) == sizeof(end->theirs), "read");
	check(ibv_modify_qp(end->qp, &attr,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) ==
		      0,
	      "to INIT");
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = end->theirs.qpn,
		.rq_psn = PSN,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = { .is_global = 1,
			     .port_num = 1,
			     .grh = { .dgid = end->theirs.gid, .sgid_index = 1, .hop_limit = 64 } },
	};
	check(ibv_modify_qp(end->qp, &attr,
			    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				    IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				    IBV_QP_MIN_RNR_TIMER) == 0,
	      "to RTR");
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS,
				     .sq_psn = PSN,
				     .timeout = ACK_TIMEOUT_CODE,
				     .retry_cnt = 7,
				     .rnr_retry = 7,
				     .max_rd_atomic = 1 };
	check(ibv_modify_qp(end->qp, &attr,
			    IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				    IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC) == 0,
	      "to RTS");
}

static void
post_recv(struct end *end)
{
	struct ibv_recv_wr wr = { .wr_id = 0 }, *bad;

	check(ibv_post_recv(end->qp, &wr, &bad) == 0, "ibv_post_recv");
}

static void
post(struct end *end, enum ibv_wr_opcode opcode, uint32_t at, uint32_t len, uint32_t imm)
{
	struct ibv_sge sge = { (uintptr_t)end->buf + at, len, end->mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.opcode = opcode,
		.sg_list = &sge,
		.num_sge = len > 0,
		.send_flags = IBV_SEND_SIGNALED,
		.imm_data = imm,
	};

	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = end->theirs.addr + at;
		wr.wr.atomic.rkey = end->theirs.rkey;
		wr.wr.atomic.compare_add = 1;
	} else {
		wr.wr.rdma.remote_addr = end->theirs.addr + at;
		wr.wr.rdma.rkey = end->theirs.rkey;
	}
	check(ibv_post_send(end->qp, &wr, &bad) == 0, "ibv_post_send");
}

static void
poll_one(struct end *end)
{
	struct ibv_wc wc;

	if (ibv_poll_cq(end->cq, 1, &wc) == 0)
		return;
	check(wc.status == IBV_WC_SUCCESS, ibv_wc_status_str(wc.status));
	if (wc.opcode & IBV_WC_RECV) {
		check(end->said < 0, "a message too many");
		end->said = wc.imm_data;
	} else {
		end->nb_done++;
	}
}

/*
 * Wait until `nb` send requests have completed. A number that arrives meanwhile is stored in
 * `said`.
 */
static void
await_done(struct end *end, unsigned nb)
{
	while (end->nb_done < nb)
		poll_one(end);
	end->nb_done -= nb;
}

/*
 * Wait until the other process sends a number.
 * @return the number
 */
static uint32_t
await_word(struct end *end)
{
	uint32_t number;

	while (end->said < 0)
		poll_one(end);
	number = (uint32_t)end->said;
	end->said = -1;
	return number;
}

static uint8_t
byte_of(uint32_t number, uint32_t i)
{
	return (uint8_t)((i + number * 31) * UINT32_C(2654435761) >> 15);
}

static bool
has_input_ended(void)
{
	struct pollfd fd = { .fd = STDIN_FILENO, .events = POLLIN };

	return poll(&fd, 1, 0) == 1;
}

/*
 * Write a block, increment the count, send the number of the block, and wait for the other process
 * to send it back. Repeat this until the input ends. Then send the number 0.
 * @return number of blocks
 */
static uint32_t
send_all(struct end *end)
{
	uint32_t number = 0;

	do {
		const uint32_t at = ++number % NB * BLOCK;

		for (uint32_t i = 0; i < BLOCK; i++)
			end->buf[at + i] = byte_of(number, i);
		post_recv(end);
		post(end, IBV_WR_RDMA_WRITE, at, BLOCK, 0);
		post(end, IBV_WR_ATOMIC_FETCH_AND_ADD, NB * BLOCK, sizeof(uint64_t), 0);
		post(end, IBV_WR_SEND_WITH_IMM, 0, 0, number);
		await_done(end, 3);
		check(await_word(end) == number, "the answer is another one's");
	} while (!has_input_ended());
	post(end, IBV_WR_SEND_WITH_IMM, 0, 0, 0);
	await_done(end, 1);
	return number;
}

static void
receive_all(struct end *end)
{
	for (uint32_t number = 1;; number++) {
		const uint8_t *const block = end->buf + number % NB * BLOCK;
		const uint32_t sent = await_word(end);
		uint64_t count;

		post_recv(end);
		memcpy(&count, end->buf + NB * BLOCK, sizeof(count));
		if (sent == 0) {
			check(count == number - 1, "the count at the end");
			return;
		}
		check(sent == number, "a message was lost, or came twice");
		check(count == number, "it was not counted once");
		for (uint32_t i = 0; i < BLOCK; i++)
			check(block[i] == byte_of(number, i), "another byte");
		post(end, IBV_WR_SEND_WITH_IMM, 0, 0, number);
		await_done(end, 1);
	}
}

int
main(void)
{
	struct end end = { .said = -1 };
	int ways[2], status = 0;
	uint32_t nb;
	pid_t child;
	char byte = 0;

	check(socketpair(AF_UNIX, SOCK_STREAM, 0, ways) == 0, "socketpair");
	child = fork();
	(void)alarm(TIMEOUT_S);
	/* close the end of the other process, so that its exit is an end of file here */
	(void)close(ways[child == 0 ? 0 : 1]);
	open_end(&end);
	if (child == 0) {
		connect_end(&end, ways[1]);
		post_recv(&end);
		check(write(ways[1], &byte, 1) == 1, "write");
		receive_all(&end);
		/* drive the QP until the parent has ended, so that a lost ACK is repeated */
		check(read(ways[1], &byte, 1) == 1, "read");
		return 0;
	}
	connect_end(&end, ways[0]);
	check(read(ways[0], &byte, 1) == 1, "read");
	printf("connected\n");
	(void)fflush(stdout);
	nb = send_all(&end);
	check(write(ways[0], &byte, 1) == 1, "write");
	check(waitpid(child, &status, 0) == child && status == 0, "the other end");
	printf("%u blocks of %u bytes\n", nb, BLOCK);
	return 0;
}
