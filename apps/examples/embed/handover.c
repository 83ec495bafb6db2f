/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two DPDK applications that have a port, a mempool, a loop and traffic of their own, and use RDMA
 * on the same port. Each application configures and starts its port, and hands it over to the
 * library, which makes a device with a worker for each queue of the port.
 *
 * The loop polls each queue: it receives a burst, passes it to the worker of the queue, handles the
 * frames that are not RoCE, and transmits the frames of the worker. The traffic of the application
 * is UDP: the client sends datagrams, and the server echoes them. Frames of the worker that the
 * port does not accept stay in the array `pending` of the queue, and uroce_worker_output() is not
 * called for this queue until they are transmitted.
 *
 * A separate thread calls verbs, because some calls wait for a response of the peer, which the loop
 * must receive. There is a queue pair for each worker. The client writes to the server's memory,
 * and reads it back. The server checks every byte that was written, and the client every byte that
 * was read.
 *
 * See side.h for how to run this example. To build it:
 *
 *	cc embed/handover.c side.c -o handover $(pkg-config --cflags --libs liburoce)
 */

#define _GNU_SOURCE 1 /* required by asprintf */

#include "../side.h"

#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rte_alarm.h>
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_ethdev.h>

#include "control.h"
#include "datagram.h"

#define BURST     32
#define NB_QUEUES 2
/* Number of descriptors of an RX queue and of a TX queue. */
#define NB_DESC    1024
#define POOL_CACHE 256
/* Number of mbufs: those in the queues, in bursts, and in the mempool caches of two threads. */
#define NB_MBUFS (NB_QUEUES * (2 * NB_DESC + 2 * BURST) + 2 * POOL_CACHE * 3 / 2)
/* IP MTU of a network with path MTU 4096, and the length of an Ethernet header with a VLAN tag */
#define MTU          4200u
#define L2_LEN       18u
#define NB_DATAGRAMS 100
#define CHUNK_LEN    (64u << 10)
#define NB_CHUNKS    64u
#define DATA_LEN     (NB_CHUNKS * CHUNK_LEN)

struct queue {
	struct uroce_worker *worker;
	/* frames of the worker that the port has not accepted yet */
	struct rte_mbuf *pending[BURST];
	unsigned nb_pending;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr, *copy_mr;
	/* in the client: the data that it writes; in the server: the memory that is written */
	uint8_t data[DATA_LEN];
	uint8_t copy[DATA_LEN]; /* the data that the client reads back */
};

static struct side side;
static uint16_t port_id;
static struct rte_mempool *pool;
static struct queue queues[NB_QUEUES];

static struct datagram_path path; /* addresses of the datagrams to the other process */
static atomic_bool has_path;      /* `path` is written, so datagrams can be sent */
static atomic_uint nb_echoes;     /* number of echoes that the client received, in order */
static uint64_t sent_tsc;         /* time when the client sent the latest datagram */
static atomic_bool is_finished;   /* true if the loop must end */

/* --- the port ------------------------------------------------------------------------------------ */

/*
 * Configure the port. If the port supports RSS over UDP, it distributes received frames over its
 * queues by their IP addresses and UDP ports.
 */
static void
configure_port(void)
{
	const uint64_t rss = RTE_ETH_RSS_NONFRAG_IPV4_UDP | RTE_ETH_RSS_NONFRAG_IPV6_UDP;
	struct rte_eth_dev_info info;
	struct rte_eth_conf conf = { 0 };

	check(rte_eth_dev_info_get(port_id, &info) == 0, "the port has no properties");
	conf.rxmode.mtu = RTE_MIN(MTU, info.max_rx_pktlen - L2_LEN);
	if (info.flow_type_rss_offloads & rss) {
		conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
		conf.rx_adv_conf.rss_conf.rss_hf = info.flow_type_rss_offloads & rss;
	}
	check(rte_eth_dev_configure(port_id, NB_QUEUES, NB_QUEUES, &conf) == 0,
	      "the port cannot be configured");
}

/*
 * Start the port. A memif port with role=client can be started only after the port with
 * role=server. So the client process first connects to the server process by TCP, because the
 * server process listens only after its port has started.
 */
static void
start_port(const char *name)
{
	const int socket = SOCKET_ID_ANY;

	check(rte_eth_dev_get_port_by_name(name, &port_id) == 0, "there is no port %s", name);
	pool = rte_pktmbuf_pool_create("frames", NB_MBUFS, POOL_CACHE, 0,
				       RTE_PKTMBUF_HEADROOM + MTU + L2_LEN, socket);
	check(pool, "no memory for mbufs");
	configure_port();
	for (uint16_t i = 0; i < NB_QUEUES; i++)
		check(rte_eth_rx_queue_setup(port_id, i, NB_DESC, (unsigned)socket, NULL, pool) ==
				      0 &&
			      rte_eth_tx_queue_setup(port_id, i, NB_DESC, (unsigned)socket, NULL) ==
				      0,
		      "queue %u cannot be set up", i);
	if (side.is_client)
		side_call(&side);
	check(rte_eth_dev_start(port_id) == 0, "the port cannot be started");
	/*
	 * IPv6 neighbour discovery needs multicast frames; a port without filters refuses the call
	 */
	(void)rte_eth_allmulticast_enable(port_id);
}

/* Make a device on the port, with a worker for each queue. */
static void
hand_port_over(const char *spec)
{
	const char *comma = strchr(spec, ',');
	char *keys;

	check(asprintf(&keys, "workers=%d%s", NB_QUEUES, comma ? comma : "") > 0, "no memory");
	side_open_device(&side, uroce_create_device_on_port(port_id, keys));
	free(keys);
	for (int i = 0; i < NB_QUEUES; i++)
		queues[i].worker = uroce_get_worker(side.context, i);
}

/* --- the loop ------------------------------------------------------------------------------------ */

/* Transmit frames of the application. Frames that the port does not accept are lost. */
static void
transmit(uint16_t queue, struct rte_mbuf *frame)
{
	if (rte_eth_tx_burst(port_id, queue, &frame, 1) == 0)
		rte_pktmbuf_free(frame);
}

static void
handle(uint16_t queue, struct rte_mbuf *frame)
{
	struct datagram *datagram = datagram_of(frame);

	if (datagram && datagram_is_request(datagram)) {
		datagram_turn_round(datagram);
		transmit(queue, frame);
		return;
	}
	if (datagram && datagram->number == rte_cpu_to_be_16((uint16_t)atomic_load(&nb_echoes)))
		atomic_fetch_add(&nb_echoes, 1);
	rte_pktmbuf_free(frame);
}

/* Transmit the frames of a worker, in their order. @return number of transmitted frames */
static unsigned
transmit_pending(uint16_t idx)
{
	struct queue *queue = &queues[idx];
	unsigned nb;

	if (queue->nb_pending == 0)
		queue->nb_pending = uroce_worker_output(queue->worker, queue->pending, BURST);
	nb = rte_eth_tx_burst(port_id, idx, queue->pending, (uint16_t)queue->nb_pending);
	queue->nb_pending -= nb;
	memmove(queue->pending, queue->pending + nb, queue->nb_pending * sizeof(*queue->pending));
	return nb;
}

/*
 * Poll a queue of the port once.
 * @return number of frames that were received and transmitted
 */
static unsigned
serve_queue(uint16_t idx)
{
	struct rte_mbuf *frames[BURST];
	const unsigned nb_rx = rte_eth_rx_burst(port_id, idx, frames, BURST);
	const unsigned nb = uroce_worker_input(queues[idx].worker, frames, nb_rx, frames);

	for (unsigned i = 0; i < nb; i++)
		handle(idx, frames[i]);
	return nb_rx + transmit_pending(idx);
}

/*
 * Send the datagram whose echo the client has not received yet. It is retransmitted after 10 ms,
 * because a datagram or its echo may be lost.
 */
static void
send_datagram(void)
{
	static unsigned nb_sent;
	const unsigned number = atomic_load(&nb_echoes);
	const uint64_t now = rte_get_tsc_cycles();
	struct rte_mbuf *frame;

	if (number == NB_DATAGRAMS || (nb_sent > number && now - sent_tsc < rte_get_tsc_hz() / 100))
		return;
	frame = datagram_make(pool, &path, (uint16_t)number);
	if (!frame)
		return;
	nb_sent = number + 1;
	sent_tsc = now;
	transmit(0, frame);
}

static void
loop(void)
{
	while (!atomic_load(&is_finished)) {
		unsigned nb = 0;

		for (uint16_t i = 0; i < NB_QUEUES; i++)
			nb += serve_queue(i);
		if (side.is_client && atomic_load(&has_path))
			send_datagram();
		if (nb == 0)
			sched_yield(); /* let the other process run, which may be on the same CPU */
	}
	for (unsigned i = 0; i < NB_QUEUES; i++)
		rte_pktmbuf_free_bulk(queues[i].pending, queues[i].nb_pending);
}

/* --- the verbs thread ---------------------------------------------------------------------------- */

/* Get the addresses of the other process. */
static void
find_path(void)
{
	const struct side_link link = side_meet(&side, 0);
	uint64_t ours = 0, theirs;

	check(rte_eth_macaddr_get(port_id, &path.src_mac) == 0, "the port has no MAC");
	memcpy(&ours, &path.src_mac, sizeof(path.src_mac));
	theirs = side_swap(&side, ours);
	memcpy(&path.dst_mac, &theirs, sizeof(path.dst_mac));
	memcpy(&path.src_ip, link.ours.gid.raw + 12, sizeof(path.src_ip));
	memcpy(&path.dst_ip, link.theirs.gid.raw + 12, sizeof(path.dst_ip));
	atomic_store(&has_path, true);
}

/*
 * Create and connect a queue pair. The CQ determines the worker. A QP of the client's first worker
 * is connected with a QP of the server's last worker. So frames can arrive in the RX queue of a
 * worker that does not own the QP. This worker forwards the frames to the owner, until the QP moves
 * to this worker.
 */
static void
connect_queue(int idx)
{
	struct queue *queue = &queues[side.is_client ? idx : NB_QUEUES - 1 - idx];

	queue->cq = uroce_create_cq(side.context, 1, NULL, NULL, (int)(queue - queues));
	check(queue->cq, "no completion queue");
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.send_cq = queue->cq,
		.recv_cq = queue->cq,
		.cap = { .max_send_wr = NB_CHUNKS, .max_send_sge = 1 },
	};

	queue->mr = uroce_reg_mr(side.pd, queue->data, DATA_LEN, SIDE_ACCESS);
	queue->copy_mr = uroce_reg_mr(side.pd, queue->copy, DATA_LEN, SIDE_ACCESS);
	queue->qp = uroce_create_qp(side.pd, &init);
	check(queue->mr && queue->copy_mr && queue->qp, "no region or queue pair");
	side_connect(&side, queue->qp);
}

/* The memory of the other process that a queue pair accesses. */
struct remote {
	uint64_t addr;
	uint32_t rkey;
};

/*
 * Post one request for each chunk of the data of a queue pair. Only the request of the last chunk
 * is signaled.
 */
static void
post_all(struct queue *queue, enum ibv_wr_opcode opcode, const struct remote *remote)
{
	const bool is_read = opcode == IBV_WR_RDMA_READ;
	uint8_t *local = is_read ? queue->copy : queue->data;

	for (unsigned i = 0; i < NB_CHUNKS; i++) {
		const uint64_t offset = (uint64_t)i * CHUNK_LEN;
		struct ibv_sge sge = { (uintptr_t)local + offset, CHUNK_LEN,
				       is_read ? queue->copy_mr->lkey : queue->mr->lkey };
		struct ibv_send_wr *bad_wr, wr = {
			.opcode = opcode,
			.sg_list = &sge,
			.num_sge = 1,
			.send_flags = i == NB_CHUNKS - 1 ? IBV_SEND_SIGNALED : 0,
			.wr.rdma = { remote->addr + offset, remote->rkey },
		};

		check(ibv_post_send(queue->qp, &wr, &bad_wr) == 0, "a request is not queued");
	}
}

static void
await_last(const struct queue *queue)
{
	struct ibv_wc wc;
	int nb;

	while ((nb = ibv_poll_cq(queue->cq, 1, &wc)) == 0) {
		side_idle(&side);
		sched_yield(); /* let the thread of the loop run, which may be on the same CPU */
	}
	check(nb > 0, "the completion queue is lost");
	check(wc.status == IBV_WC_SUCCESS, "%s", uroce_wc_status_str(wc.status));
}

/*
 * Write the data of all queue pairs at the same time, and read the data back. Then wait for the
 * echoes of the datagrams. Each step ends with a message to the server, so that the alarm of the
 * server limits the time of one step.
 */
static void
transfer(const struct remote *remote)
{
	static const enum ibv_wr_opcode opcodes[] = { IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ };

	for (unsigned i = 0; i < NB_QUEUES; i++)
		fill(queues[i].data, DATA_LEN, i);
	for (unsigned step = 0; step < RTE_DIM(opcodes); step++) {
		for (unsigned i = 0; i < NB_QUEUES; i++)
			post_all(&queues[i], opcodes[step], &remote[i]);
		for (unsigned i = 0; i < NB_QUEUES; i++)
			await_last(&queues[i]);
		side_sync(&side);
	}
	for (unsigned i = 0; i < NB_QUEUES; i++)
		check(is_filled(queues[i].copy, DATA_LEN, i), "wrong bytes were read");
	while (atomic_load(&nb_echoes) < NB_DATAGRAMS) {
		side_idle(&side);
		sched_yield();
	}
}

/*
 * Run the server: wait for the client's writes and check the written bytes, then wait for the
 * client's reads.
 */
static void
serve(void)
{
	side_sync(&side);
	for (unsigned i = 0; i < NB_QUEUES; i++)
		check(is_filled(queues[NB_QUEUES - 1 - i].data, DATA_LEN, i),
		      "wrong bytes were written");
	side_sync(&side);
}

static void
use_verbs(void)
{
	struct remote remote[NB_QUEUES];

	side_join(&side);
	find_path();
	for (int i = 0; i < NB_QUEUES; i++) {
		const struct queue *queue = &queues[side.is_client ? i : NB_QUEUES - 1 - i];

		connect_queue(i);
		remote[i].addr = side_swap(&side, (uintptr_t)queue->data);
		remote[i].rkey = (uint32_t)side_swap(&side, queue->mr->rkey);
	}
	if (side.is_client)
		transfer(remote);
	else
		serve();
	side_sync(&side);
}

static control_result_t
run_verbs(void *unused)
{
	(void)unused;
	use_verbs();
	atomic_store(&is_finished, true);
	return 0;
}

/* --- begin and end ------------------------------------------------------------------------------- */

static atomic_bool is_stopped; /* the port is stopped */

static void
stop_now(void *unused)
{
	(void)unused;
	rte_eth_dev_stop(port_id);
	atomic_store(&is_stopped, true);
}

/*
 * Stop the port in EAL's interrupt thread. The driver of memif handles the end of its peer in this
 * thread, and a stop at the same time in another thread would free the rings twice.
 *
 * The example does not call rte_eal_cleanup(). That function unmaps the memory of the interrupt
 * sources of memif, which the interrupt thread may still read.
 */
static void
stop_port(void)
{
	check(rte_eal_alarm_set(1, stop_now, NULL) == 0, "no alarm");
	while (!atomic_load(&is_stopped))
		rte_delay_us_sleep(100);
}

static void
destroy_queues(void)
{
	for (unsigned i = 0; i < NB_QUEUES; i++) {
		check(uroce_destroy_qp(queues[i].qp) == 0 && uroce_destroy_cq(queues[i].cq) == 0 &&
			      uroce_dereg_mr(queues[i].mr) == 0 &&
			      uroce_dereg_mr(queues[i].copy_mr) == 0,
		      "an object of queue %u is in use", i);
	}
}

int
main(int argc, char **argv)
{
	const char *spec = side_begin(&side, argc, argv);
	char name[RTE_ETH_NAME_MAX_LEN] = "";
	control_thread_t thread;

	/* ignore SIGPIPE: a driver may raise it when it notifies a peer that has ended */
	signal(SIGPIPE, SIG_IGN);
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(spec, ","), spec);
	start_port(name);
	hand_port_over(spec);
	check(control_create(&thread, "verbs", run_verbs) == 0, "no thread");

	loop();

	control_join(thread);
	printf("RDMA: %u bytes were %s over each of %d queue pairs; UDP: %u echoes\n", DATA_LEN,
	       side.is_client ? "written and read back" : "received and sent", NB_QUEUES,
	       atomic_load(&nb_echoes));
	destroy_queues();
	side_close_device(&side);
	stop_port();
	return 0;
}
