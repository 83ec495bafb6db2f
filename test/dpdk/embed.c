/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The embedder: an application that owns its ports and drives workers in its loop. The test acts as
 * the embedder: it carries frames between two devices.
 */

#include "rig.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <rte_dev.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "datapath/clock.h"
#include "datapath/port/pool.h"
#include "neigh_frames.h"
#include "wire/hdr.h"
#include "wire/icrc.h"

static struct rte_mempool *pool;
/*
 * The number of descriptors that the replaced DPDK call reports for a TX queue. With 0, the call
 * reports an error, as of a driver that does not support it.
 */
static uint16_t tx_desc;

int __wrap_rte_eth_tx_queue_info_get(uint16_t port_id, uint16_t queue_id,
				     struct rte_eth_txq_info *info);

int
__wrap_rte_eth_tx_queue_info_get(uint16_t port_id, uint16_t queue_id, struct rte_eth_txq_info *info)
{
	(void)port_id;
	(void)queue_id;
	if (tx_desc == 0)
		return -ENOTSUP;
	info->nb_desc = tx_desc;
	return 0;
}

static struct uroce_dev *
hand_over_mtu(const char *spec, uint32_t mtu)
{
	const struct rte_eth_conf port_conf = { .rxmode.mtu = mtu };
	struct uroce_dev_conf conf;
	struct uroce_dev *dev;
	uint16_t port_id;

	assert_int_equal(uroce_dev_conf_parse(spec, &conf), 0);
	assert_int_equal(rte_eth_dev_get_port_by_name(conf.port, &port_id), 0);
	assert_int_equal(rte_eth_dev_configure(port_id, 1, 1, &port_conf), 0);
	assert_int_equal(rte_eth_rx_queue_setup(port_id, 0, 64, 0, NULL, pool), 0);
	assert_int_equal(rte_eth_tx_queue_setup(port_id, 0, 64, 0, NULL), 0);
	assert_int_equal(rte_eth_dev_start(port_id), 0);
	conf.is_handed_over = true;
	assert_int_equal(uroce_dev_create(&conf, &dev), 0);
	return dev;
}

static struct uroce_dev *
hand_over(const char *spec)
{
	return hand_over_mtu(spec, 4200);
}

/* Pass all frames that the device `from` wants to send to the device `to`. */
static void
carry(struct uroce_dev *from, struct uroce_dev *to)
{
	struct rte_mbuf *frames[100], *rest[100];
	const unsigned nb = uroce_worker_output(from->worker[0], frames, 100);
	const unsigned nb_rest = uroce_worker_input(to->worker[0], frames, nb, rest);

	rte_pktmbuf_free_bulk(rest, nb_rest);
}

static void
carry_both_ways(struct uroce_dev *peer)
{
	(void)peer;
	carry(dev_a, dev_b);
	carry(dev_b, dev_a);
}

static struct ibv_wc
carry_until(struct uroce_cq *cq)
{
	struct ibv_wc wc = { .status = IBV_WC_GENERAL_ERR };

	for (int i = 0; i < 1000000; i++) {
		if (uroce_cq_poll(cq, 1, &wc) == 1)
			break;
		carry_both_ways(NULL);
	}
	return wc;
}

static void
embed__rc_transfers_through_the_callers_hands(void **state)
{
	struct rig_qp *a = rig_qp(dev_a, 0, IBV_QPT_RC);
	struct rig_qp *b = rig_qp(dev_b, 0, IBV_QPT_RC);

	(void)state;
	rig_connect(a, b, 1);
	rig_connect(b, a, 1);
	rig_fill(a, 5);
	rig_post_send(a, IBV_WR_RDMA_WRITE, 1, 0, 60000, b, 0);
	assert_int_equal(carry_until(&a->scq).status, IBV_WC_SUCCESS);
	rig_check(b, 0, a, 0, 60000);
	rig_qp_free(a);
	rig_qp_free(b);
}

static struct rte_mbuf *
frame_of(const void *data, size_t len)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(pool);

	assert_non_null(mbuf);
	memcpy(rte_pktmbuf_append(mbuf, (uint16_t)len), data, len);
	return mbuf;
}

/*
 * Make a UDP datagram to port `dport` of 192.0.2.`host`. Only those header fields have values that
 * the parser checks first.
 */
static struct rte_mbuf *
udp_to(uint8_t host, uint16_t dport, uint16_t frag)
{
	struct {
		struct uroce_eth eth;
		struct uroce_ipv4 ip;
		struct uroce_udp udp;
		uint8_t payload[40];
	} frame = {
		.eth.type = be16_make(UROCE_ETHERTYPE_IPV4),
		.ip = { .version_ihl = 0x45,
			.total_len = be16_make(68),
			.frag = be16_make(frag),
			.protocol = UROCE_IPPROTO_UDP,
			.dst = { 192, 0, 2, host } },
		.udp = { .dport = be16_make(dport), .len = be16_make(48) },
	};

	return frame_of(&frame, sizeof(frame));
}

/*
 * The embedder passes more frames than one burst has. Some are RoCE frames for the device. The
 * device must return all other frames to the embedder, in order.
 */
static void
worker_input__what_is_not_ours_comes_back_in_order(void **state)
{
	enum { NB = 200 };
	struct rte_mbuf *frames[NB], *rest[NB], *foreign[NB];
	unsigned nb_foreign = 0, nb_rest;

	(void)state;
	for (unsigned i = 0; i < NB; i++) {
		switch (i % 5) {
		case 0: /* a RoCE frame to an address of the device */
			frames[i] = udp_to(1, 4791, 0);
			continue;
		case 1:
			frames[i] = udp_to(1, 53, 0);
			break;
		case 2: /* an ARP frame that ends after its Ethernet header */
			frames[i] = frame_of("\0\1\2\3\4\5\6\7\10\11\12\13\10\6", 14);
			break;
		case 3: /* a first fragment: RoCEv2 is never fragmented */
			frames[i] = udp_to(1, 4791, 0x2000);
			break;
		case 4:
			frames[i] = frame_of("\0", 1);
			break;
		}
		foreign[nb_foreign++] = frames[i];
	}
	nb_rest = uroce_worker_input(dev_a->worker[0], frames, NB, rest);
	assert_int_equal(nb_rest, nb_foreign);
	assert_memory_equal(rest, foreign, nb_foreign * sizeof(foreign[0]));
	rte_pktmbuf_free_bulk(rest, nb_rest);
}

/*
 * The device consumes an ARP request for its address. Its reply is the next frame that
 * uroce_worker_output() returns.
 */
static void
worker_input__questions_for_our_address_are_taken_and_answered(void **state)
{
	struct rte_mbuf *frames[8], *rest[8];
	const struct uroce_eth *eth;

	(void)state;
	frames[0] = frame_of(arp_request, sizeof(arp_request));
	assert_int_equal(uroce_worker_input(dev_a->worker[0], frames, 1, rest), 0);
	assert_int_equal(uroce_worker_output(dev_a->worker[0], frames, 8), 1);
	eth = rte_pktmbuf_mtod(frames[0], const struct uroce_eth *);
	assert_memory_equal(eth->dst, "\2\0\0\0\0\231", 6);
	assert_memory_equal(eth->src, dev_a->mac, 6);
	rte_pktmbuf_free(frames[0]);
}

/* The device returns an ARP reply to the embedder, whose own network stack may need the reply. */
static void
worker_input__answers_come_back(void **state)
{
	struct rte_mbuf *frames[1], *rest[1];

	(void)state;
	frames[0] = frame_of(arp_answer, sizeof(arp_answer));
	assert_int_equal(uroce_worker_input(dev_a->worker[0], frames, 1, rest), 1);
	rte_pktmbuf_free(rest[0]);
}

static void
worker_output__never_more_than_asked_for(void **state)
{
	struct rig_qp *a = rig_qp(dev_a, 0, IBV_QPT_RC);
	struct rig_qp *b = rig_qp(dev_b, 0, IBV_QPT_RC);
	struct rte_mbuf *frames[3];
	unsigned nb, nb_all = 0;

	(void)state;
	rig_connect(a, b, 1);
	rig_connect(b, a, 1);
	rig_post_send(a, IBV_WR_RDMA_WRITE, 1, 0, 60000, b, 0);
	while ((nb = uroce_worker_output(dev_a->worker[0], frames, 3)) > 0) {
		assert_true(nb <= 3);
		nb_all += nb;
		rte_pktmbuf_free_bulk(frames, nb);
	}
	assert_int_equal(nb_all, (60000 + 4095) / 4096);
	rig_qp_free(a);
	rig_qp_free(b);
}

/* A frame that is a chain of mbufs is copied into one mbuf. */
static void
worker_input__chained_frames_are_linearised(void **state)
{
	struct rig_qp *a = rig_qp(dev_a, 0, IBV_QPT_RC);
	struct rig_qp *b = rig_qp(dev_b, 0, IBV_QPT_RC);
	const uint64_t before = uroce_worker_counted(dev_b->worker[0], UROCE_COUNTER_RX_LINEARISED);
	struct rte_mbuf *frame, *tail, *rest[1];

	(void)state;
	rig_connect(a, b, 1);
	rig_connect(b, a, 1);
	rig_fill(a, 9);
	rig_post_send(a, IBV_WR_RDMA_WRITE, 1, 0, 1000, b, 0);
	assert_int_equal(uroce_worker_output(dev_a->worker[0], &frame, 1), 1);
	tail = frame_of(rte_pktmbuf_mtod_offset(frame, const void *, 50), frame->data_len - 50);
	assert_int_equal(rte_pktmbuf_trim(frame, (uint16_t)(frame->data_len - 50)), 0);
	assert_int_equal(rte_pktmbuf_chain(frame, tail), 0);
	assert_int_equal(uroce_worker_input(dev_b->worker[0], &frame, 1, rest), 0);
	assert_int_equal(uroce_worker_counted(dev_b->worker[0], UROCE_COUNTER_RX_LINEARISED),
			 before + 1);
	rig_check(b, 0, a, 0, 1000);
	assert_int_equal(carry_until(&a->scq).status, IBV_WC_SUCCESS);
	rig_qp_free(a);
	rig_qp_free(b);
}

/*
 * Split a frame into a chain of two mbufs. The first mbuf has no tailroom for the data of the
 * second.
 */
static void
split_without_room(struct rte_mbuf *frame, uint16_t len)
{
	struct rte_mbuf *tail = frame_of(rte_pktmbuf_mtod_offset(frame, const void *, len),
					 (size_t)frame->data_len - len);

	assert_int_equal(rte_pktmbuf_trim(frame, (uint16_t)(frame->data_len - len)), 0);
	memmove((uint8_t *)frame->buf_addr + frame->buf_len - len, rte_pktmbuf_mtod(frame, void *),
		len);
	frame->data_off = (uint16_t)(frame->buf_len - len);
	assert_int_equal(rte_pktmbuf_tailroom(frame), 0);
	assert_int_equal(rte_pktmbuf_chain(frame, tail), 0);
}

/*
 * If the mbufs of the embedder are shorter than a frame, the first mbuf of a chain has no room for
 * the data of the others. The device must copy such a frame into an mbuf of its own pool.
 */
static void
worker_input__chains_of_short_mbufs_are_received(void **state)
{
	struct rig_qp *a = rig_qp(dev_a, 0, IBV_QPT_RC);
	struct rig_qp *b = rig_qp(dev_b, 0, IBV_QPT_RC);
	const unsigned nb_before = rte_mempool_in_use_count(pool);
	struct rte_mbuf *frame, *rest[1];

	(void)state;
	rig_connect(a, b, 1);
	rig_connect(b, a, 1);
	rig_fill(a, 11);
	rig_post_send(a, IBV_WR_RDMA_WRITE, 1, 0, 4096, b, 0);
	assert_int_equal(uroce_worker_output(dev_a->worker[0], &frame, 1), 1);
	split_without_room(frame, 2000);
	assert_int_equal(uroce_worker_input(dev_b->worker[0], &frame, 1, rest), 0);
	rig_check(b, 0, a, 0, 4096);
	assert_int_equal(carry_until(&a->scq).status, IBV_WC_SUCCESS);
	assert_int_equal(rte_mempool_in_use_count(pool), nb_before);
	rig_qp_free(a);
	rig_qp_free(b);
}

/* A chain that is longer than any frame of the device comes back to the embedder unchanged. */
static void
worker_input__a_chain_longer_than_the_ports_frames_comes_back(void **state)
{
	struct rte_mbuf *frame = frame_of("", 1), *mbuf = frame, *rest[1];

	(void)state;
	assert_non_null(rte_pktmbuf_append(frame, 4000));
	split_without_room(frame, 2000);
	assert_int_equal(rte_pktmbuf_chain(frame, frame_of("", 1)), 0);
	assert_non_null(rte_pktmbuf_append(frame, 1000));
	assert_true(frame->pkt_len > dev_a->port->frame_limit);
	assert_int_equal(uroce_worker_input(dev_a->worker[0], &frame, 1, rest), 1);
	assert_ptr_equal(rest[0], mbuf);
	assert_int_equal(rest[0]->nb_segs, 3);
	rte_pktmbuf_free(rest[0]);
}

/*
 * The driver of memif reports an MTU of 1500, but its buffers have `bsize` bytes. If an embedder
 * hands a memif port over, the length of the buffers limits the frames, as on a port that the
 * library opens.
 */
static void
handed_over__the_policy_table_limits_frames(void **state)
{
	struct uroce_dev *dev;
	char args[128];

	(void)state;
	snprintf(args, sizeof(args), "role=server,bsize=4400,socket=uroce-test-embed-%d", getpid());
	assert_int_equal(rte_eal_hotplug_add("vdev", "net_memif0", args), 0);
	dev = hand_over_mtu("net_memif0,drive=none,addr=192.0.2.3/24", 0);
	assert_int_equal(dev->port->frame_limit, 4400);
	assert_int_equal(dev->limits.active_mtu, IBV_MTU_4096);
	assert_int_equal(uroce_dev_destroy(dev), 0);
}

static unsigned
pool_size_with(uint16_t nb_desc)
{
	struct uroce_dev *dev;
	uint16_t port_id;
	unsigned size;

	tx_desc = nb_desc;
	dev = hand_over("net_ring_c,drive=none,addr=192.0.2.4/24");
	tx_desc = 0;
	port_id = dev->port->id;
	size = dev->port->pool[0]->size;
	assert_int_equal(uroce_dev_destroy(dev), 0);
	assert_int_equal(rte_eth_dev_stop(port_id), 0);
	return size;
}

/*
 * A driver may keep a frame in each descriptor of a TX queue. So the pool for frames to send must
 * have more mbufs than a long queue has descriptors. A short queue does not reduce the pool.
 */
static void
handed_over__a_long_tx_queue_does_not_take_all_mbufs(void **state)
{
	const unsigned usual = pool_size_with(0);

	(void)state;
	assert_int_equal(pool_size_with(64), usual);
	assert_int_equal(pool_size_with(8192), usual + 8192 - 1024);
}

/*
 * Set the source address of a frame to the address of its receiver, as an attacker on the link
 * could.
 */
static void
forge_source(struct rte_mbuf *frame)
{
	uint8_t *ip = rte_pktmbuf_mtod_offset(frame, uint8_t *, sizeof(struct uroce_eth));
	uint8_t *icrc = rte_pktmbuf_mtod_offset(frame, uint8_t *, frame->data_len - 4);

	memcpy(ip + 12, ip + 16, 4);
	uroce_icrc_store(icrc, uroce_icrc_frame(ip, (size_t)(icrc - ip)));
}

/*
 * A device drops a frame from the link whose source address is the address of the device, because
 * frames between QPs of a device never come from the link.
 */
static void
worker_input__our_own_address_does_not_come_from_the_wire(void **state)
{
	struct rig_qp *a = rig_qp(dev_a, 0, IBV_QPT_RC);
	struct rig_qp *from = rig_qp(dev_b, 0, IBV_QPT_RC), *to = rig_qp(dev_b, 0, IBV_QPT_RC);
	const uint64_t before = uroce_worker_counted(dev_b->worker[0], UROCE_COUNTER_RX_OUR_SOURCE);
	struct rte_mbuf *frame, *rest[1];
	struct ibv_wc wc;

	(void)state;
	rig_connect(a, to, 1);
	rig_connect(from, to, 1);
	rig_connect(to, from, 1);
	rig_post_recv(to, 1, 0, 64);
	rig_post_send(a, IBV_WR_SEND, 1, 0, 64, NULL, 0);
	assert_int_equal(uroce_worker_output(dev_a->worker[0], &frame, 1), 1);
	forge_source(frame);
	rte_pktmbuf_free_bulk(rest, uroce_worker_input(dev_b->worker[0], &frame, 1, rest));
	assert_int_equal(uroce_cq_poll(&to->rcq, 1, &wc), 0);
	assert_int_equal(uroce_worker_counted(dev_b->worker[0], UROCE_COUNTER_RX_OUR_SOURCE),
			 before + 1);
	/* a SEND of a QP of the same device arrives by loopback */
	rig_post_send(from, IBV_WR_SEND, 1, 0, 64, NULL, 0);
	wc = rig_await(&to->rcq, dev_b, dev_b);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	rig_qp_free(a);
	rig_qp_free(from);
	rig_qp_free(to);
}

static int
to_error(void *arg)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	return uroce_qpc_modify(arg, &attr, IBV_QP_STATE, NULL, uroce_clock_ns());
}

/*
 * With an embedder, the end of a QP transmits nothing. The embedder owns the queues of the port,
 * and another thread of the embedder may be in a burst on the TX queue.
 */
static void
end_life__transmits_nothing_itself(void **state)
{
	struct rig_qp *a = rig_qp(dev_a, 0, IBV_QPT_RC);
	struct rig_qp *b = rig_qp(dev_b, 0, IBV_QPT_RC);
	struct rte_mbuf *frame, *rest[1];
	uint64_t before;

	(void)state;
	rig_connect(a, b, 1);
	rig_connect(b, a, 1);
	rig_post_recv(b, 1, 0, 64);
	rig_post_send(a, IBV_WR_SEND, 1, 0, 64, NULL, 0);
	assert_int_equal(uroce_worker_output(dev_a->worker[0], &frame, 1), 1);
	assert_int_equal(uroce_worker_input(dev_b->worker[0], &frame, 1, rest), 0);
	before = uroce_worker_counted(dev_b->worker[0], UROCE_COUNTER_TX_FRAMES);
	assert_int_equal(uroce_worker_qp_quiesce(&b->wqp, to_error, &b->wqp.qpc), 0);
	assert_int_equal(uroce_worker_counted(dev_b->worker[0], UROCE_COUNTER_TX_FRAMES), before);
	rig_qp_free(a);
	rig_qp_free(b);
	assert_int_equal(uroce_worker_counted(dev_b->worker[0], UROCE_COUNTER_TX_FRAMES), before);
}

static int
group_setup(void **state)
{
	const struct uroce_pool_conf conf = {
		.nb_mbuf = 1023, .data_len = 4300, .socket_id = 0, .is_virtual = true
	};

	(void)state;
	pool = uroce_pool_create(&conf);
	assert_non_null(pool);
	rig_wire("a", "b", 1, 0);
	rig_wire("c", "d", 1, 0);
	dev_a = hand_over("net_ring_a,drive=none,addr=192.0.2.1/24");
	dev_b = hand_over("net_ring_b,drive=none,addr=192.0.2.2/24");
	rig_meanwhile = carry_both_ways;
	return 0;
}

/*
 * Destroy the devices. The port of the embedder must still exist, and every mbuf must be back in
 * its pool.
 */
static int
group_teardown(void **state)
{
	uint16_t port_id;

	(void)state;
	assert_int_equal(uroce_dev_destroy(dev_a), 0);
	assert_int_equal(uroce_dev_destroy(dev_b), 0);
	assert_int_equal(rte_eth_dev_get_port_by_name("net_ring_a", &port_id), 0);
	assert_int_equal(rte_mempool_in_use_count(pool), 0);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(embed__rc_transfers_through_the_callers_hands),
		cmocka_unit_test(worker_input__what_is_not_ours_comes_back_in_order),
		cmocka_unit_test(worker_input__questions_for_our_address_are_taken_and_answered),
		cmocka_unit_test(worker_input__answers_come_back),
		cmocka_unit_test(worker_output__never_more_than_asked_for),
		cmocka_unit_test(worker_input__chained_frames_are_linearised),
		cmocka_unit_test(worker_input__chains_of_short_mbufs_are_received),
		cmocka_unit_test(worker_input__a_chain_longer_than_the_ports_frames_comes_back),
		cmocka_unit_test(handed_over__the_policy_table_limits_frames),
		cmocka_unit_test(handed_over__a_long_tx_queue_does_not_take_all_mbufs),
		cmocka_unit_test(worker_input__our_own_address_does_not_come_from_the_wire),
		cmocka_unit_test(end_life__transmits_nothing_itself),
	};

	if (!rig_init())
		return 1;
	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
