/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two contexts of one device that communicate over the addresses of the device, with ports that
 * have no peer. No frame may leave the port.
 */

#include "receiver.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <rte_dev.h>
#include <rte_ethdev.h>

#define GRH      40u
#define LEN      20000u /* length of several packets */
#define LONG     (1u << 20)
#define OTHER    "198.51.100.7" /* an additional address of the device */
#define GROUP    "::ffff:239.1.2.3"
#define ANYBODY  0xffffffu
#define NB_TURNS 2000
#define UNTOLD   UINT64_MAX /* value of `nb_before`: frames leave the port in this test */

/* A port on which tests run, and its driver arguments. */
struct port {
	const char *name;
	const char *args;
};

/* a memif client without a server, so that the port has no link */
static const struct port memif = { "net_memif0", "role=client,bsize=4400,socket=uroce-test-loop" };
/* a port whose driver supports zero-copy transmission */
static const struct port null = { "net_null0", "no-rx=1" };
/* arguments of a vhost port, with a socket of this process */
static char vhost_args[64];
static const struct port vhost = { "net_vhost0", vhost_args };

static const struct port *port;
/* number of frames that the port had sent before the test; UNTOLD: frames may leave the port */
static uint64_t nb_before;

static uint64_t
nb_sent(void)
{
	struct rte_eth_stats stats;
	uint16_t port_id;

	assert_int_equal(rte_eth_dev_get_port_by_name(port->name, &port_id), 0);
	assert_int_equal(rte_eth_stats_get(port_id, &stats), 0);
	return stats.opackets;
}

static void
open_on(const struct port *on, const struct pair_conf *conf)
{
	char spec[256];

	port = on;
	assert_int_equal(rte_eal_hotplug_add("vdev", port->name, port->args), 0);
	snprintf(spec, sizeof(spec),
		 "%s,addr=192.0.2.1/24,addr=2001:db8::1/64,addr=" OTHER "/24%s%s", port->name,
		 conf->keys ? "," : "", conf->keys ? conf->keys : "");
	pair_open_on(&net, uroce_create_device(spec), conf);
	nb_before = nb_sent();
}

static int
on_memif(void **state)
{
	open_on(&memif, *state);
	return 0;
}

static int
on_null(void **state)
{
	open_on(&null, *state);
	return 0;
}

static int
on_vhost(void **state)
{
	open_on(&vhost, *state);
	return 0;
}

/*
 * Close the device and its port. Check that no frame has left the port, unless `nb_before` is
 * UNTOLD.
 */
static int
leave(void **state)
{
	const uint64_t nb_after = nb_sent();

	teardown(state);
	xrcd = NULL;
	(void)rte_eal_hotplug_remove("vdev", port->name);
	if (nb_before != UNTOLD)
		assert_int_equal(nb_after, nb_before);
	return 0;
}

/* --- requests of RC QPs -------------------------------------------------------------------------- */

static void
send_once(uint32_t len, enum ibv_wr_opcode opcode)
{
	fill(net.a.buf, len, len);
	memset(net.b.buf, 0, len);
	post_recv(&net.b, 1, sge_of(&net.b, 0, len));
	post_send(&net.a, opcode, 2, sge_of(&net.a, 0, len));
	const struct ibv_wc wc = expect_wc(&net, net.b.rcq, 1, IBV_WC_SUCCESS);

	expect_wc(&net, net.a.scq, 2, IBV_WC_SUCCESS);
	assert_int_equal(wc.byte_len, len);
	if (opcode == IBV_WR_SEND_WITH_IMM)
		assert_int_equal(wc.imm_data, 0x01020304);
	assert_memory_equal(net.b.buf, net.a.buf, len);
}

static void
write_once(uint32_t len)
{
	fill(net.a.buf, len, len + 1);
	post_rdma(&net.a, &net.b, IBV_WR_RDMA_WRITE, 3, sge_of(&net.a, 0, len), 100);
	expect_wc(&net, net.a.scq, 3, IBV_WC_SUCCESS);
	assert_memory_equal(net.b.buf + 100, net.a.buf, len);
	fill(net.a.buf, len, len + 2);
	post_recv(&net.b, 4, sge_of(&net.b, 0, 0));
	post_rdma(&net.a, &net.b, IBV_WR_RDMA_WRITE_WITH_IMM, 5, sge_of(&net.a, 0, len), 100);
	expect_wc(&net, net.b.rcq, 4, IBV_WC_SUCCESS);
	expect_wc(&net, net.a.scq, 5, IBV_WC_SUCCESS);
	assert_memory_equal(net.b.buf + 100, net.a.buf, len);
}

static void
read_once(uint32_t len)
{
	fill(net.b.buf, len, len + 3);
	post_rdma(&net.a, &net.b, IBV_WR_RDMA_READ, 6, sge_of(&net.a, 100, len), 0);
	expect_wc(&net, net.a.scq, 6, IBV_WC_SUCCESS);
	assert_memory_equal(net.a.buf + 100, net.b.buf, len);
}

static void
add_once(void)
{
	struct ibv_sge sge = sge_of(&net.a, 0, 8);
	struct ibv_send_wr *bad, wr = {
		.wr_id = 7,
		.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.atomic = { .remote_addr = (uintptr_t)net.b.buf,
			       .compare_add = 5,
			       .rkey = net.b.mr->rkey },
	};
	uint64_t word = 37;

	memcpy(net.b.buf, &word, 8);
	assert_int_equal(ibv_post_send(net.a.qp, &wr, &bad), 0);
	expect_wc(&net, net.a.scq, 7, IBV_WC_SUCCESS);
	memcpy(&word, net.a.buf, 8);
	assert_int_equal(word, 37);
	wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
	wr.wr.atomic.compare_add = 42;
	wr.wr.atomic.swap = 1;
	assert_int_equal(ibv_post_send(net.a.qp, &wr, &bad), 0);
	expect_wc(&net, net.a.scq, 7, IBV_WC_SUCCESS);
	memcpy(&word, net.b.buf, 8);
	assert_int_equal(word, 1);
}

static void
loopback__carries_every_request(void **state)
{
	static const uint32_t lens[] = { 1, 1024, LEN, LEN + 1 };

	(void)state;
	pair_connect(&net);
	for (unsigned i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		send_once(lens[i], IBV_WR_SEND);
		send_once(lens[i], IBV_WR_SEND_WITH_IMM);
		write_once(lens[i]);
		read_once(lens[i]);
		add_once();
	}
}

/* Messages of half a MiB in each direction have more packets than can wait as loopback frames. */
static void
loopback__carries_mebibytes(void **state)
{
	uint8_t *from = malloc(LONG), *to = calloc(1, LONG), *back = calloc(1, LONG);
	struct ibv_mr *mr = uroce_reg_mr(net.a.pd, from, LONG, 0);
	struct ibv_mr *back_mr = uroce_reg_mr(net.a.pd, back, LONG, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_mr *to_mr =
		uroce_reg_mr(net.b.pd, to, LONG, IBV_ACCESS_LOCAL_WRITE | ALL_REMOTE);
	struct host b = net.b;
	const struct ibv_sge sge = { (uintptr_t)from, LONG, mr->lkey };

	(void)state;
	b.buf = to;
	b.mr = to_mr;
	pair_connect(&net);
	for (unsigned round = 0; round < 4; round++) {
		fill(from, LONG, round);
		memset(back, 0, LONG);
		post_recv(&net.b, 1, (struct ibv_sge){ (uintptr_t)to, LONG, to_mr->lkey });
		post_send(&net.a, IBV_WR_SEND, 2, sge);
		post_rdma(&net.a, &b, IBV_WR_RDMA_WRITE, 3, sge, 0);
		post_rdma(&net.a, &b, IBV_WR_RDMA_READ, 4,
			  (struct ibv_sge){ (uintptr_t)back, LONG, back_mr->lkey }, 0);
		expect_wc(&net, net.a.scq, 2, IBV_WC_SUCCESS);
		expect_wc(&net, net.a.scq, 3, IBV_WC_SUCCESS);
		expect_wc(&net, net.a.scq, 4, IBV_WC_SUCCESS);
		expect_wc(&net, net.b.rcq, 1, IBV_WC_SUCCESS);
		assert_memory_equal(to, from, LONG);
		assert_memory_equal(back, from, LONG);
	}
	assert_int_equal(uroce_dereg_mr(mr), 0);
	assert_int_equal(uroce_dereg_mr(back_mr), 0);
	assert_int_equal(uroce_dereg_mr(to_mr), 0);
	free(from);
	free(to);
	free(back);
}

/* Both ends of a loopback connection send at the same time, with full send queues. */
static void
loopback__both_ways_at_once(void **state)
{
	struct host *const hosts[] = { &net.a, &net.b };

	(void)state;
	pair_connect(&net);
	for (unsigned i = 0; i < 2; i++)
		fill(hosts[i]->buf, BUF_LEN / 2, i);
	for (unsigned round = 0; round < 10; round++) {
		for (unsigned i = 0; i < 2 * NB_WR; i++)
			post_rdma(hosts[i % 2], hosts[1 - i % 2], IBV_WR_RDMA_WRITE, i,
				  sge_of(hosts[i % 2], 0, BUF_LEN / 2), BUF_LEN / 2);
		for (unsigned i = 0; i < 2 * NB_WR; i++)
			expect_wc(&net, hosts[i % 2]->scq, i, IBV_WC_SUCCESS);
	}
	for (unsigned i = 0; i < 2; i++)
		assert_memory_equal(hosts[i]->buf + BUF_LEN / 2, hosts[1 - i]->buf, BUF_LEN / 2);
}

/* A ping-pong of single messages: posts transmit inline, and ACKs are delayed. */
static void
loopback__ping_and_pong(void **state)
{
	(void)state;
	pair_connect(&net);
	for (unsigned i = 0; i < NB_TURNS; i++) {
		struct host *from = i % 2 ? &net.b : &net.a, *to = i % 2 ? &net.a : &net.b;

		post_recv(to, i, sge_of(to, 64, 64));
		fill(from->buf, 64, i);
		post_send(from, IBV_WR_SEND, i, sge_of(from, 0, 64));
		expect_wc(&net, to->rcq, i, IBV_WC_SUCCESS);
		assert_memory_equal(to->buf + 64, from->buf, 64);
	}
	for (unsigned i = 0; i < NB_TURNS; i++)
		expect_wc(&net, i % 2 ? net.b.scq : net.a.scq, i, IBV_WC_SUCCESS);
}

static void
loopback__a_receiver_that_is_not_ready_is_waited_for(void **state)
{
	(void)state;
	pair_connect(&net);
	fill(net.a.buf, LEN, 3);
	post_send(&net.a, IBV_WR_SEND, 2, sge_of(&net.a, 0, LEN));
	expect_none(&net);
	post_recv(&net.b, 1, sge_of(&net.b, 0, LEN));
	expect_wc(&net, net.b.rcq, 1, IBV_WC_SUCCESS);
	expect_wc(&net, net.a.scq, 2, IBV_WC_SUCCESS);
	assert_memory_equal(net.b.buf, net.a.buf, LEN);
}

static void
loopback__a_bad_key_is_refused(void **state)
{
	struct host b = net.b;
	struct ibv_mr bad = *net.b.mr;

	(void)state;
	bad.rkey ^= 0x55;
	b.mr = &bad;
	pair_connect(&net);
	memset(net.a.buf, 7, LEN);
	post_rdma(&net.a, &b, IBV_WR_RDMA_WRITE, 1, sge_of(&net.a, 0, LEN), 0);
	expect_wc(&net, net.a.scq, 1, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(state_of(&net.a), IBV_QPS_ERR);
	assert_int_equal(net.b.buf[0], 0);
}

/* A QP can be connected to itself. */
static void
loopback__a_queue_may_be_connected_to_itself(void **state)
{
	(void)state;
	assert_int_equal(to_init(&net.a), 0);
	assert_int_equal(to_rtr(&net, &net.a, &net.a), 0);
	assert_int_equal(to_rts(&net, &net.a), 0);
	fill(net.a.buf, LEN, 1);
	post_recv(&net.a, 1, sge_of(&net.a, LEN, LEN));
	post_send(&net.a, IBV_WR_SEND, 2, sge_of(&net.a, 0, LEN));
	expect_wc(&net, net.a.rcq, 1, IBV_WC_SUCCESS);
	expect_wc(&net, net.a.scq, 2, IBV_WC_SUCCESS);
	assert_memory_equal(net.a.buf + LEN, net.a.buf, LEN);
}

static void
loopback__carries_uc(void **state)
{
	(void)state;
	pair_connect(&net);
	send_once(LEN, IBV_WR_SEND);
	fill(net.a.buf, LEN, 9);
	post_recv(&net.b, 4, sge_of(&net.b, 0, 0));
	post_rdma(&net.a, &net.b, IBV_WR_RDMA_WRITE_WITH_IMM, 5, sge_of(&net.a, 0, LEN), 100);
	expect_wc(&net, net.a.scq, 5, IBV_WC_SUCCESS);
	expect_wc(&net, net.b.rcq, 4, IBV_WC_SUCCESS);
	assert_memory_equal(net.b.buf + 100, net.a.buf, LEN);
}

static void
loopback__carries_xrc(void **state)
{
	struct receiver to;

	(void)state;
	make_xrc();
	pair_connect(&net);
	open_receiver(&to, xrc_fd);
	for (unsigned i = 0; i < 10; i++)
		exchange(&to, i);
	close_receiver(&to);
}

static void
loopback__fills_a_shared_queue(void **state)
{
	struct ibv_srq_init_attr srq_init = { .attr = { 4, 1, 0 } };
	struct ibv_srq *srq = uroce_create_srq(net.b.pd, &srq_init);
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.send_cq = net.b.scq,
		.recv_cq = net.b.rcq,
		.srq = srq,
		.cap = { .max_send_wr = 1, .max_send_sge = 1 },
	};
	struct ibv_sge sge = sge_of(&net.b, 0, LEN);
	struct ibv_recv_wr *bad, wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 };

	(void)state;
	assert_int_equal(uroce_destroy_qp(net.b.qp), 0);
	assert_non_null(net.b.qp = uroce_create_qp(net.b.pd, &init));
	pair_connect(&net);
	fill(net.a.buf, LEN, 4);
	assert_int_equal(ibv_post_srq_recv(srq, &wr, &bad), 0);
	post_send(&net.a, IBV_WR_SEND, 2, sge_of(&net.a, 0, LEN));
	expect_wc(&net, net.b.rcq, 1, IBV_WC_SUCCESS);
	expect_wc(&net, net.a.scq, 2, IBV_WC_SUCCESS);
	assert_memory_equal(net.b.buf, net.a.buf, LEN);
	assert_int_equal(uroce_destroy_qp(net.b.qp), 0);
	net.b.qp = NULL;
	assert_int_equal(uroce_destroy_srq(srq), 0);
}

/* --- datagrams and groups ------------------------------------------------------------------------- */

static void
send_datagram(int sgid_index, union ibv_gid to, uint32_t qpn)
{
	struct ibv_ah_attr attr = ah_attr_to(&net.b, sgid_index);
	struct ibv_sge sge = sge_of(&net.a, 0, 1000);
	struct ibv_send_wr *bad, wr = {
		.wr_id = 2,
		.opcode = IBV_WR_SEND,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.ud = { .remote_qpn = qpn, .remote_qkey = QKEY },
	};

	attr.grh.dgid = to;
	fill(net.a.buf, 1000, (unsigned)sgid_index);
	memset(net.b.buf, 0, GRH + 1000);
	post_recv(&net.b, 1, sge_of(&net.b, 0, GRH + 1000));
	assert_non_null(wr.wr.ud.ah = uroce_create_ah(net.a.pd, &attr));
	assert_int_equal(ibv_post_send(net.a.qp, &wr, &bad), 0);
	expect_wc(&net, net.a.scq, 2, IBV_WC_SUCCESS);
	const struct ibv_wc wc = expect_wc(&net, net.b.rcq, 1, IBV_WC_SUCCESS);

	assert_int_equal(wc.byte_len, GRH + 1000);
	assert_int_equal(wc.wc_flags, IBV_WC_GRH);
	assert_int_equal(wc.src_qp, net.a.qp->qp_num);
	assert_memory_equal(net.b.buf + GRH, net.a.buf, 1000);
	assert_int_equal(uroce_destroy_ah(wr.wr.ud.ah), 0);
}

static void
loopback__a_datagram_has_both_addresses(void **state)
{
	const union ibv_gid v6 = gid_of(&net.b, ADDR_GID + 1), other = gid_of(&net.b, ADDR_GID + 2);
	static const uint8_t addrs[] = { 192, 0, 2, 1, 198, 51, 100, 7 };

	(void)state;
	pair_connect(&net);
	send_datagram(ADDR_GID + 1, v6, net.b.qp->qp_num);
	assert_memory_equal(net.b.buf + 8, v6.raw, 16);
	assert_memory_equal(net.b.buf + 24, v6.raw, 16);
	send_datagram(ADDR_GID, other, net.b.qp->qp_num);
	assert_memory_equal(net.b.buf + 32, addrs, 8);
	send_datagram(0, gid_of(&net.b, 0), net.b.qp->qp_num);
}

/*
 * A datagram to a multicast group is delivered once to each member on the device, and sent once to
 * the network.
 */
static void
loopback__a_group_is_as_before(void **state)
{
	union ibv_gid group;

	(void)state;
	assert_int_equal(inet_pton(AF_INET6, GROUP, group.raw), 1);
	pair_connect(&net);
	send_datagram(ADDR_GID, gid_of(&net.b, ADDR_GID), net.b.qp->qp_num);
	assert_int_equal(uroce_attach_mcast(net.b.qp, &group, 0), 0);
	/* a second copy of the datagram would complete this receive request */
	post_recv(&net.b, 1, sge_of(&net.b, 0, GRH + 1000));
	send_datagram(ADDR_GID, group, ANYBODY);
	expect_none(&net);
	assert_int_equal(uroce_detach_mcast(net.b.qp, &group, 0), 0);
	/* three frames: the datagram, and the reports of joining and of leaving the group */
	for (unsigned ms = 0; nb_sent() < nb_before + 3 && ms < 10000; ms++)
		usleep(1000);
	assert_in_range(nb_sent(), nb_before + 3, UINT64_MAX);
	nb_before = UNTOLD;
}

/* --- driving the workers, and destroying a QP ---------------------------------------------------- */

/*
 * No thread of the program polls, so the service thread processes the loopback frames of both QPs.
 */
static void
loopback__goes_on_while_the_program_sleeps(void **state)
{
	struct ibv_comp_channel *channel = uroce_create_comp_channel(net.a.context);
	struct ibv_cq *cq = uroce_create_cq(net.a.context, 16, NULL, channel, 0), *from;
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.send_cq = cq,
		.recv_cq = cq,
		.sq_sig_all = 1,
		.cap = { 4, 4, 1, 1, 0 },
	};
	void *context;

	(void)state;
	assert_int_equal(uroce_destroy_qp(net.a.qp), 0);
	assert_non_null(net.a.qp = uroce_create_qp(net.a.pd, &init));
	pair_connect(&net);
	for (unsigned i = 0; i < 20; i++) {
		fill(net.b.buf, LEN, i);
		assert_int_equal(ibv_req_notify_cq(cq, 0), 0);
		post_rdma(&net.a, &net.b, IBV_WR_RDMA_READ, i, sge_of(&net.a, 0, LEN), 0);
		assert_int_equal(uroce_get_cq_event(channel, &from, &context), 0);
		expect_wc(&net, cq, i, IBV_WC_SUCCESS);
		assert_memory_equal(net.a.buf, net.b.buf, LEN);
	}
	uroce_ack_cq_events(cq, 20);
	assert_int_equal(uroce_destroy_qp(net.a.qp), 0);
	net.a.qp = NULL;
	assert_int_equal(uroce_destroy_cq(cq), 0);
	assert_int_equal(uroce_destroy_comp_channel(channel), 0);
}

/*
 * A QP is destroyed while its peer sends to it. Frames to it are dropped, and the sender fails
 * after its retries.
 */
static void
loopback__a_queue_goes_in_midstream(void **state)
{
	unsigned nb_refused = 0;
	struct ibv_wc wc;

	(void)state;
	for (unsigned round = 0; round < 5; round++) {
		struct ibv_qp_init_attr init = {
			.qp_type = IBV_QPT_RC,
			.send_cq = net.b.scq,
			.recv_cq = net.b.rcq,
			.cap = { NB_WR, NB_WR, 1, 1, 0 },
		};

		pair_connect(&net);
		for (unsigned i = 0; i < NB_WR; i++)
			post_rdma(&net.a, &net.b, IBV_WR_RDMA_WRITE, i,
				  sge_of(&net.a, 0, BUF_LEN / 2), BUF_LEN / 2);
		expect_wc(&net, net.a.scq, 0, IBV_WC_SUCCESS);
		assert_int_equal(uroce_destroy_qp(net.b.qp), 0);
		net.b.qp = NULL;
		post_rdma(&net.a, &net.b, IBV_WR_RDMA_WRITE, NB_WR, sge_of(&net.a, 0, 1), 0);
		for (unsigned i = 1; i <= NB_WR; i++) {
			wc = wait_for(&net, net.a.scq);
			assert_int_equal(wc.wr_id, i);
			nb_refused += wc.status == IBV_WC_RETRY_EXC_ERR;
		}
		assert_int_not_equal(wc.status, IBV_WC_SUCCESS);
		assert_int_equal(nb_refused, round + 1);
		assert_int_equal(to_state(&net.a, IBV_QPS_RESET), 0);
		assert_non_null(net.b.qp = uroce_create_qp(net.b.pd, &init));
	}
	/* frames to a destroyed QP leave the port, because another host may have its number */
	nb_before = UNTOLD;
}

static struct pair_conf rc = { .type = IBV_QPT_RC };
static struct pair_conf rc_v6 = { .type = IBV_QPT_RC, .is_ipv6 = true };
static struct pair_conf uc = { .type = IBV_QPT_UC };
static struct pair_conf ud = { .type = IBV_QPT_UD, .keys = "mtu=1024" };
static struct pair_conf rc_large = { .type = IBV_QPT_RC, .mtu = IBV_MTU_4096 };
static struct pair_conf rc_many = { .type = IBV_QPT_RC, .nb_wr = NB_TURNS, .nb_cqe = NB_TURNS };
static struct pair_conf rc_impatient = {
	.type = IBV_QPT_RC, .is_impatient = true, .timeout = 12, .retry_cnt = 2
};
/* a long ACK timeout: lcores spin, and there may be more of them than CPUs, so one may respond late */
static struct pair_conf rc_lcore = { .type = IBV_QPT_RC, .keys = "drive=lcore", .timeout = 18 };
static struct pair_conf rc_none = { .type = IBV_QPT_RC, .keys = "drive=none", .is_driven = true };
static struct pair_conf crossed = { .type = IBV_QPT_RC, .keys = "workers=2", .is_crossed = true };
static struct pair_conf crossed_many = { .type = IBV_QPT_RC,
					 .keys = "workers=2",
					 .is_crossed = true,
					 .nb_wr = NB_TURNS,
					 .nb_cqe = NB_TURNS };
static struct pair_conf crossed_uc = { .type = IBV_QPT_UC,
				       .keys = "workers=2",
				       .is_crossed = true };
static struct pair_conf crossed_lcore = {
	.type = IBV_QPT_RC, .keys = "workers=2,drive=lcore", .is_crossed = true, .timeout = 18
};
static struct pair_conf crossed_none = {
	.type = IBV_QPT_RC, .keys = "workers=2,drive=none", .is_crossed = true, .is_driven = true
};

#define ON(port, test, conf)                                                                       \
	{                                                                                          \
#test " on " #port ", " #conf, loopback__##test, on_##port, leave, &(conf)         \
	}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		ON(memif, carries_every_request, rc),
		ON(memif, carries_every_request, rc_v6),
		ON(null, carries_every_request, rc),
		ON(vhost, carries_every_request, rc),
		ON(memif, carries_mebibytes, rc),
		ON(memif, carries_mebibytes, rc_large),
		ON(null, carries_mebibytes, rc_large),
		ON(vhost, carries_mebibytes, rc_large),
		ON(memif, both_ways_at_once, rc),
		ON(null, both_ways_at_once, rc_large),
		ON(memif, ping_and_pong, rc_many),
		ON(null, ping_and_pong, rc_many),
		ON(memif, a_receiver_that_is_not_ready_is_waited_for, rc),
		ON(memif, a_bad_key_is_refused, rc),
		ON(memif, a_queue_may_be_connected_to_itself, rc),
		ON(memif, carries_uc, uc),
		ON(memif, carries_xrc, rc),
		ON(memif, fills_a_shared_queue, rc),
		ON(memif, a_datagram_has_both_addresses, ud),
		ON(null, a_datagram_has_both_addresses, ud),
		ON(null, a_group_is_as_before, ud),
		ON(memif, goes_on_while_the_program_sleeps, rc),
		ON(null, goes_on_while_the_program_sleeps, rc),
		ON(memif, a_queue_goes_in_midstream, rc_impatient),
		ON(null, a_queue_goes_in_midstream, rc_impatient),
		ON(memif, carries_every_request, rc_lcore),
		ON(memif, both_ways_at_once, rc_lcore),
		ON(memif, carries_every_request, rc_none),
		ON(memif, both_ways_at_once, rc_none),
		ON(null, carries_every_request, crossed),
		ON(null, both_ways_at_once, crossed),
		ON(null, ping_and_pong, crossed_many),
		ON(null, carries_every_request, crossed_lcore),
		ON(null, both_ways_at_once, crossed_lcore),
		ON(null, carries_every_request, crossed_none),
		ON(null, both_ways_at_once, crossed_none),
		ON(null, carries_uc, crossed_uc),
		ON(vhost, carries_every_request, crossed),
	};

	net_init();
	snprintf(vhost_args, sizeof(vhost_args), "queues=2,iface=/tmp/uroce-test-loop-%d",
		 getpid());
	xrc_fd = memfd_create("loop", 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
