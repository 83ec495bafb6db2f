/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shows RDMA inside a DPDK application that has its own ports, loop and traffic.
 *
 *	uroce-embed [EAL options]    for instance --no-huge --no-pci -m 256 --no-shconf
 *
 * The application owns two ports and is both hosts of a network: each port receives what the other
 * port sends. Its own traffic is UDP. Host 0 sends datagrams, host 1 echoes them. The usual loop of
 * such an application (receive a burst, handle it, transmit a burst) has two more lines.
 * uroce_worker_input() takes the RoCE frames out of the received burst, and uroce_worker_output()
 * returns RoCE frames to transmit.
 *
 * A separate thread calls verbs, because a call that changes a connection waits for a response of
 * the peer, which the loop must receive meanwhile. The thread writes memory from host 0 to host 1,
 * reads the memory back and compares.
 *
 * Exit status: 0 when every byte arrived and every datagram came back.
 *
 * To build it, add the library of the driver net_ring:
 *
 *	cc embed.c -o embed $(pkg-config --cflags --libs liburoce) -lrte_net_ring
 */

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rte_eal.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_random.h>
#include <uroce.h>

#include "control.h"
#include "datagram.h"

#define BURST    32
#define RING_LEN 1024
#define POOL_LEN 8191
/* bytes of an mbuf: a frame of the MTU of the network, and the headroom */
#define FRAME_ROOM   2176
#define NB_DATAGRAMS 1000
#define DATA_LEN     (4u << 20)
#define CHUNK_LEN    (64u << 10)
#define NB_CHUNKS    (DATA_LEN / CHUNK_LEN)

struct host {
	uint16_t port_id;
	const char *keys; /* configuration of the RoCE device of this host */
	struct ibv_device *device;
	struct ibv_context *context;
	struct uroce_worker *worker;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	unsigned nb_datagrams; /* number of received datagrams */
	unsigned nb_others;    /* number of received frames that are neither RoCE nor UDP */
	uint8_t data[DATA_LEN];
};

static struct host hosts[2] = {
	{ .keys = "addr=192.0.2.1/24,mtu=1024" },
	{ .keys = "addr=192.0.2.2/24,mtu=1024" },
};
static uint8_t copy[DATA_LEN]; /* the data that host 0 reads back from host 1 */
static struct ibv_mr *copy_mr;
static struct rte_mempool *pool;
static unsigned nb_datagrams_sent;
/*
 * Whether the data arrived unchanged. The verbs thread writes this flag, and the main thread reads
 * it after is_finished is set.
 */
static bool is_verified;
static atomic_bool is_finished;

static void
check(bool is_ok, const char *complaint)
{
	if (is_ok)
		return;
	fprintf(stderr, "uroce-embed: %s\n", complaint);
	exit(EXIT_FAILURE);
}

/* --- the application's part: two connected ports, and UDP traffic -------------------------------- */

static void
start_port(struct host *host, const char *name, struct rte_ring *rx, struct rte_ring *tx)
{
	const struct rte_eth_conf conf = { 0 };
	const int port_id = rte_eth_from_rings(name, &rx, 1, &tx, 1, rte_socket_id());

	check(port_id >= 0, "cannot make a ring port");
	host->port_id = (uint16_t)port_id;
	check(rte_eth_dev_configure(host->port_id, 1, 1, &conf) == 0 &&
		      rte_eth_rx_queue_setup(host->port_id, 0, RING_LEN, rte_socket_id(), NULL,
					     pool) == 0 &&
		      rte_eth_tx_queue_setup(host->port_id, 0, RING_LEN, rte_socket_id(), NULL) ==
			      0 &&
		      rte_eth_dev_start(host->port_id) == 0,
	      "cannot start a ring port");
}

static void
start_ports(void)
{
	struct rte_ring *there = rte_ring_create("there", RING_LEN, rte_socket_id(), 0);
	struct rte_ring *back = rte_ring_create("back", RING_LEN, rte_socket_id(), 0);

	pool = rte_pktmbuf_pool_create("embed", POOL_LEN, 250, 0, FRAME_ROOM, rte_socket_id());
	check(there && back && pool, "no memory");
	start_port(&hosts[0], "host0", back, there);
	start_port(&hosts[1], "host1", there, back);
}

static void
transmit(struct host *host, struct rte_mbuf **frames, unsigned nb)
{
	const unsigned nb_sent = rte_eth_tx_burst(host->port_id, 0, frames, (uint16_t)nb);

	rte_pktmbuf_free_bulk(frames + nb_sent, nb - nb_sent);
}

/* Send one UDP datagram from host 0. */
static void
send_datagram(struct host *host)
{
	static const struct datagram_path path = { .src_ip = RTE_BE32(0xc0000201),
						   .dst_ip = RTE_BE32(0xc0000202) };
	struct rte_mbuf *frame = datagram_make(pool, &path, (uint16_t)nb_datagrams_sent);

	if (!frame)
		return;
	nb_datagrams_sent++;
	transmit(host, &frame, 1);
}

static void
handle(struct host *host, struct rte_mbuf *frame)
{
	struct datagram *datagram = datagram_of(frame);

	if (!datagram) {
		host->nb_others++;
		rte_pktmbuf_free(frame);
		return;
	}
	host->nb_datagrams++;
	if (!datagram_is_request(datagram)) {
		rte_pktmbuf_free(frame);
		return;
	}
	datagram_turn_round(datagram);
	transmit(host, &frame, 1);
}

/* --- the loop of the application, with two calls for RoCE ------------------------------------- */

static void
serve(struct host *host)
{
	struct rte_mbuf *frames[BURST];
	unsigned nb = rte_eth_rx_burst(host->port_id, 0, frames, BURST);

	/* uroce_worker_input() handles the RoCE frames, and leaves the other frames in `frames` */
	nb = uroce_worker_input(host->worker, frames, nb, frames);
	for (unsigned i = 0; i < nb; i++)
		handle(host, frames[i]);
	/* uroce_worker_output() fills `frames` with RoCE frames to transmit */
	nb = uroce_worker_output(host->worker, frames, BURST);
	transmit(host, frames, nb);
}

/*
 * Run the loop until the verbs thread has finished and all datagrams have come back as echoes. Only
 * one datagram is in flight at a time.
 */
static void
loop(void)
{
	while (!atomic_load(&is_finished) || hosts[0].nb_datagrams < NB_DATAGRAMS) {
		serve(&hosts[0]);
		serve(&hosts[1]);
		if (nb_datagrams_sent == hosts[0].nb_datagrams && nb_datagrams_sent < NB_DATAGRAMS)
			send_datagram(&hosts[0]);
	}
}

/* --- the verbs thread ------------------------------------------------------------------------------ */

static void
open_host(struct host *host)
{
	host->device = uroce_create_device_on_port(host->port_id, host->keys);
	check(host->device, "no device");
	host->context = uroce_open_device(host->device);
	check(host->context, "cannot open the device");
	host->worker = uroce_get_worker(host->context, 0);
	host->pd = uroce_alloc_pd(host->context);
	host->cq = uroce_create_cq(host->context, 2 * NB_CHUNKS, NULL, NULL, 0);
	check(host->pd && host->cq, "no memory");
	host->mr = uroce_reg_mr(host->pd, host->data, DATA_LEN,
				IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
					IBV_ACCESS_REMOTE_READ);
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.send_cq = host->cq,
		.recv_cq = host->cq,
		.cap = { .max_send_wr = 2 * NB_CHUNKS, .max_send_sge = 1 },
	};

	host->qp = uroce_create_qp(host->pd, &init);
	check(host->mr && host->qp, "no region or queue pair");
}

static void
connect_host(struct host *host, const struct host *peer, uint32_t psn, uint32_t peer_psn)
{
	struct ibv_qp_attr attr = {
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh.sgid_index = 1 },
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer->qp->qp_num,
		.rq_psn = peer_psn,
		.sq_psn = psn,
		.max_rd_atomic = 4,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 12,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
	};
	const struct {
		enum ibv_qp_state state;
		int mask;
	} steps[] = {
		{ IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS },
		{ IBV_QPS_RTR, IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER },
		{ IBV_QPS_RTS, IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				       IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC },
	};

	uroce_query_gid(peer->context, 1, 1, &attr.ah_attr.grh.dgid);
	for (unsigned i = 0; i < RTE_DIM(steps); i++) {
		attr.qp_state = steps[i].state;
		check(uroce_modify_qp(host->qp, &attr, IBV_QP_STATE | steps[i].mask) == 0,
		      "cannot connect");
	}
}

/*
 * Post a request that transfers one chunk of the data. Only the request of the last chunk is
 * signaled.
 */
static void
post(enum ibv_wr_opcode opcode, uint8_t *local, uint32_t lkey, unsigned chunk)
{
	const uint64_t offset = (uint64_t)chunk * CHUNK_LEN;
	struct ibv_sge sge = { (uintptr_t)local + offset, CHUNK_LEN, lkey };
	struct ibv_send_wr *bad_wr, wr = {
		.opcode = opcode,
		.sg_list = &sge,
		.num_sge = 1,
		.send_flags = chunk == NB_CHUNKS - 1 ? IBV_SEND_SIGNALED : 0,
		.wr.rdma = { (uintptr_t)hosts[1].data + offset, hosts[1].mr->rkey },
	};

	check(ibv_post_send(hosts[0].qp, &wr, &bad_wr) == 0, "cannot post");
}

static void
wait_for_one(void)
{
	struct ibv_wc wc;
	int nb;

	while ((nb = ibv_poll_cq(hosts[0].cq, 1, &wc)) == 0)
		/* let the thread of the loop run, which may be on the same CPU */
		sched_yield();
	check(nb > 0, "the completion queue is lost");
	check(wc.status == IBV_WC_SUCCESS, uroce_wc_status_str(wc.status));
}

static control_result_t
use_verbs(void *unused)
{
	const uint32_t psn[2] = { (uint32_t)rte_rand() & 0xffffff,
				  (uint32_t)rte_rand() & 0xffffff };

	(void)unused;
	connect_host(&hosts[0], &hosts[1], psn[0], psn[1]);
	connect_host(&hosts[1], &hosts[0], psn[1], psn[0]);
	for (unsigned i = 0; i < DATA_LEN; i++)
		hosts[0].data[i] = (uint8_t)(i * 167 >> 7);

	for (unsigned chunk = 0; chunk < NB_CHUNKS; chunk++)
		post(IBV_WR_RDMA_WRITE, hosts[0].data, hosts[0].mr->lkey, chunk);
	wait_for_one();
	is_verified = memcmp(hosts[0].data, hosts[1].data, DATA_LEN) == 0;

	for (unsigned chunk = 0; chunk < NB_CHUNKS; chunk++)
		post(IBV_WR_RDMA_READ, copy, copy_mr->lkey, chunk);
	wait_for_one();
	is_verified = is_verified && memcmp(hosts[0].data, copy, DATA_LEN) == 0;
	atomic_store(&is_finished, true);
	return 0;
}

static void
close_host(struct host *host)
{
	uroce_destroy_qp(host->qp);
	uroce_destroy_cq(host->cq);
	uroce_dereg_mr(host->mr);
	uroce_dealloc_pd(host->pd);
	uroce_close_device(host->context);
	uroce_destroy_device(host->device);
	rte_eth_dev_stop(host->port_id);
	rte_eth_dev_close(host->port_id);
}

int
main(int argc, char **argv)
{
	control_thread_t thread;

	if (rte_eal_init(argc, argv) < 0)
		return EXIT_FAILURE;
	start_ports();
	open_host(&hosts[0]);
	open_host(&hosts[1]);
	copy_mr = uroce_reg_mr(hosts[0].pd, copy, DATA_LEN, IBV_ACCESS_LOCAL_WRITE);
	check(copy_mr, "no region");
	check(control_create(&thread, "verbs", use_verbs) == 0, "no thread");

	loop();

	control_join(thread);
	printf("RDMA: %u bytes written and read back, %s; UDP: %u datagrams sent, %u echoed\n",
	       DATA_LEN, is_verified ? "all right" : "NOT the same", nb_datagrams_sent,
	       hosts[0].nb_datagrams);
	uroce_dereg_mr(copy_mr);
	close_host(&hosts[0]);
	close_host(&hosts[1]);
	rte_eal_cleanup();
	return is_verified ? EXIT_SUCCESS : EXIT_FAILURE;
}
