/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Two devices in one process, connected by rings. The tests cover the parts that the workers add to
 * the transport: QPs connect, ARP and neighbour discovery resolve addresses, data arrives, and
 * sleeping consumers are woken. The test drives the devices.
 */

#include "rig.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rte_ethdev.h>

#include "datapath/net/gid.h"
#include "datapath/port/port.h"
#include "datapath/worker/round.h"

#define LEN 20000

static struct rig_qp *a, *b;

static void
connect_over(uint8_t gid)
{
	rig_connect(a, b, gid);
	rig_connect(b, a, gid);
}

static int
setup(void **state)
{
	(void)state;
	a = rig_qp(dev_a, 0, IBV_QPT_RC);
	b = rig_qp(dev_b, 0, IBV_QPT_RC);
	rig_fill(a, 1);
	rig_fill(b, 2);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	rig_end_own_clock();
	rig_qp_free(a);
	rig_qp_free(b);
	return 0;
}

static void
expect(struct uroce_cq *cq, uint64_t wr_id)
{
	const struct ibv_wc wc = rig_await(cq, dev_a, dev_b);

	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.wr_id, wr_id);
}

static void
transfer_every_way(void)
{
	rig_post_recv(b, 9, 100, LEN);
	rig_post_send(a, IBV_WR_SEND, 5, 0, LEN, NULL, 0);
	expect(&a->scq, 5);
	expect(&b->rcq, 9);
	rig_check(b, 100, a, 0, LEN);
	rig_post_send(a, IBV_WR_RDMA_WRITE, 6, 7, LEN, b, 30001);
	expect(&a->scq, 6);
	rig_check(b, 30001, a, 7, LEN);
	rig_fill(b, 3);
	rig_post_send(a, IBV_WR_RDMA_READ, 7, 1, LEN, b, 2);
	expect(&a->scq, 7);
	rig_check(a, 1, b, 2, LEN);
}

static void
world__rc_over_ipv4(void **state)
{
	(void)state;
	connect_over(1);
	transfer_every_way();
}

static void
world__rc_over_ipv6(void **state)
{
	(void)state;
	connect_over(2);
	transfer_every_way();
}

static void
world__rc_over_link_local(void **state)
{
	(void)state;
	connect_over(0);
	transfer_every_way();
}

/*
 * Device A sends more frames than a ring can hold, so that its port is full at times. No frame may
 * be lost. Only the test advances the clock, so that a pause of the process causes no
 * retransmission.
 */
static void
world__back_pressure_loses_nothing(void **state)
{
	struct ibv_wc wc;

	(void)state;
	connect_over(1);
	rig_own_clock();
	for (unsigned i = 0; i < RIG_WR; i++)
		rig_post_send(a, IBV_WR_RDMA_WRITE, i, 0, RIG_BUF_LEN, b, 0);
	/* Device B is not driven, so the ring to device B becomes full. */
	for (unsigned i = 0; i < 40; i++)
		rig_drive(dev_a);
	for (unsigned i = 0; i < RIG_WR; i++) {
		wc = rig_await(&a->scq, dev_a, dev_b);
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
		assert_int_equal(wc.wr_id, i);
	}
	rig_check(b, 0, a, 0, RIG_BUF_LEN);
	assert_int_equal(a->wqp.qpc.stats.retransmits, 0);
}

static bool
is_readable(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	return poll(&pfd, 1, 0) == 1;
}

static void
world__an_armed_cq_wakes_its_consumer(void **state)
{
	struct uroce_cq_notify notify = { .event_fd = eventfd(0, EFD_NONBLOCK) };

	(void)state;
	connect_over(1);
	b->rcq.cookie = &notify;
	rig_post_recv(b, 1, 0, LEN);
	rig_post_recv(b, 2, 0, LEN);
	uroce_cq_arm(&b->rcq, false);
	rig_post_send(a, IBV_WR_SEND, 5, 0, 8, NULL, 0);
	expect(&a->scq, 5);
	assert_true(is_readable(notify.event_fd));
	assert_int_equal(notify.nb_events, 1);
	/* the CQ is not armed again, so the next completion raises no event */
	rig_post_send(a, IBV_WR_SEND, 6, 0, 8, NULL, 0);
	expect(&a->scq, 6);
	assert_int_equal(notify.nb_events, 1);
	close(notify.event_fd);
}

static void
world__events_reach_the_device_and_go_with_their_qp(void **state)
{
	struct uroce_dev_event event;

	(void)state;
	connect_over(1);
	while (uroce_dev_event_pop(dev_b, &event))
		;
	assert_false(is_readable(uroce_dev_event_fd(dev_b)));
	/* this WRITE is behind the end of the registered memory, so device B has an access error */
	rig_post_send(a, IBV_WR_RDMA_WRITE, 1, 0, 8, b, RIG_BUF_LEN);
	assert_int_equal(rig_await(&a->scq, dev_a, dev_b).status, IBV_WC_REM_ACCESS_ERR);
	assert_true(is_readable(uroce_dev_event_fd(dev_b)));
	assert_true(uroce_dev_event_pop(dev_b, &event));
	assert_ptr_equal(event.cookie, b);
	rig_qp_free(b);
	while (uroce_dev_event_pop(dev_b, &event))
		assert_ptr_not_equal(event.cookie, b);
	b = rig_qp(dev_b, 0, IBV_QPT_RC);
}

/*
 * If the peer does not respond, the first request must fail after its retries, and the other
 * requests must be flushed.
 */
static void
world__a_silent_peer_ends_in_retry_exceeded(void **state)
{
	(void)state;
	connect_over(1);
	rig_post_send(a, IBV_WR_RDMA_WRITE, 1, 0, LEN, b, 0);
	rig_post_send(a, IBV_WR_RDMA_WRITE, 2, 0, LEN, b, 0);
	assert_int_equal(rig_await(&a->scq, dev_a, dev_a).status, IBV_WC_RETRY_EXC_ERR);
	assert_int_equal(rig_await(&a->scq, dev_a, dev_a).status, IBV_WC_WR_FLUSH_ERR);
	while (uroce_worker_poll(dev_b->worker[0]) > 0)
		;
}

/* Send frames from device A until the ring to device B is full. Device B receives none of them. */
static void
fill_wire(void)
{
	struct rte_mbuf *frame = rte_pktmbuf_alloc(dev_a->worker[0]->pool);

	while (rte_eth_tx_burst(dev_a->port->id, 0, &frame, 1) == 1) {
		frame = rte_pktmbuf_alloc(dev_a->worker[0]->pool);
		assert_non_null(frame);
		memset(rte_pktmbuf_append(frame, 60), 0, 60);
	}
	rte_pktmbuf_free(frame);
}

/*
 * If the port accepts no frames, requests must fail as if the peer did not respond. Requests that
 * are posted later must be flushed.
 */
static void
world__a_peer_that_takes_nothing_ends_in_retry_exceeded(void **state)
{
	(void)state;
	connect_over(1);
	fill_wire();
	rig_post_send(a, IBV_WR_RDMA_WRITE, 1, 0, LEN, b, 0);
	(void)uroce_worker_poll(dev_a->worker[0]);
	rig_post_send(a, IBV_WR_RDMA_WRITE, 2, 0, LEN, b, 0);
	assert_int_equal(rig_await(&a->scq, dev_a, dev_a).status, IBV_WC_RETRY_EXC_ERR);
	assert_int_equal(rig_await(&a->scq, dev_a, dev_a).status, IBV_WC_WR_FLUSH_ERR);
	rig_post_send(a, IBV_WR_RDMA_WRITE, 3, 0, LEN, b, 0);
	assert_int_equal(rig_await(&a->scq, dev_a, dev_a).status, IBV_WC_WR_FLUSH_ERR);
	while (uroce_worker_poll(dev_b->worker[0]) > 0)
		;
}

static struct ibv_ah_attr
vector(uint8_t gid, const uint8_t *dgid)
{
	struct ibv_ah_attr av = { .is_global = 1, .port_num = 1, .grh.sgid_index = gid };

	memcpy(av.grh.dgid.raw, dgid, 16);
	return av;
}

static void
dev_resolve__refusals(void **state)
{
	static const uint8_t nobody[16] = { [10] = 0xff, [11] = 0xff, 192, 0, 2, 77 };
	static const uint8_t elsewhere[16] = { [10] = 0xff, [11] = 0xff, 198, 51, 100, 1 };
	static const uint8_t group[16] = { 0xff, 2, [15] = 1 };
	struct ibv_ah_attr av;
	struct uroce_path path;

	(void)state;
	av = vector(1, nobody);
	assert_int_equal(uroce_dev_resolve(dev_a, &av, 0xc000, &path), -ETIMEDOUT);
	av = vector(1, elsewhere);
	assert_int_equal(uroce_dev_resolve(dev_a, &av, 0xc000, &path), -ENETUNREACH);
	av = vector(1, group); /* an IPv4 source address for an IPv6 multicast group */
	assert_int_equal(uroce_dev_resolve(dev_a, &av, 0xc000, &path), -EINVAL);
	/* an IPv6 source address for an IPv4 destination */
	av = vector(2, dev_b->gids->addr[1].ip);
	assert_int_equal(uroce_dev_resolve(dev_a, &av, 0xc000, &path), -EINVAL);
	av = vector((uint8_t)dev_a->gids->nb, dev_b->gids->addr[1].ip);
	assert_int_equal(uroce_dev_resolve(dev_a, &av, 0xc000, &path), -EINVAL);
	av = vector(1, dev_b->gids->addr[1].ip);
	av.is_global = 0;
	assert_int_equal(uroce_dev_resolve(dev_a, &av, 0xc000, &path), -EINVAL);
}

static void
dev_resolve__nobody_is_asked_for_a_group(void **state)
{
	static const uint8_t group[16] = { 0xff, 2, [15] = 1 };
	static const uint8_t mac[6] = { 0x33, 0x33, [5] = 1 };
	struct ibv_ah_attr av = vector(2, group);
	struct uroce_path path;

	(void)state;
	assert_int_equal(uroce_dev_resolve(dev_a, &av, 0xc000, &path), 0);
	assert_memory_equal(path.hdr, mac, 6);
}

static void
dev_resolve__ourselves_is_our_own_mac(void **state)
{
	struct ibv_ah_attr av = vector(1, dev_a->gids->addr[1].ip);
	struct uroce_path path;

	(void)state;
	assert_int_equal(uroce_dev_resolve(dev_a, &av, 0xc000, &path), 0);
	assert_memory_equal(path.hdr, dev_a->mac, 6);
	assert_memory_equal(path.hdr + 6, dev_a->mac, 6);
}

static void
dev_try_resolve__asks_once_and_does_not_wait(void **state)
{
	static const uint8_t nobody[16] = { [10] = 0xff, [11] = 0xff, 192, 0, 2, 78 };
	static const uint8_t elsewhere[16] = { [10] = 0xff, [11] = 0xff, 198, 51, 100, 1 };
	struct ibv_ah_attr av = vector(1, nobody);
	uint64_t request_ns = 0;
	struct uroce_path path;

	(void)state;
	assert_int_equal(uroce_dev_try_resolve(dev_a, &av, 0xc000, &request_ns, &path), -EAGAIN);
	assert_int_not_equal(request_ns, 0);
	/* A second ARP request, which would change request_ns, must not be sent so soon. */
	request_ns = UINT64_MAX;
	assert_int_equal(uroce_dev_try_resolve(dev_a, &av, 0xc000, &request_ns, &path), -EAGAIN);
	assert_true(request_ns == UINT64_MAX);
	av = vector(1, elsewhere);
	assert_int_equal(uroce_dev_try_resolve(dev_a, &av, 0xc000, &request_ns, &path),
			 -ENETUNREACH);
}

/* When the devices are driven, the ARP reply arrives, and a later try must succeed. */
static void
dev_try_resolve__finds_the_neighbour_later(void **state)
{
	struct ibv_ah_attr av = vector(1, dev_b->gids->addr[1].ip);
	uint64_t request_ns = 0;
	struct uroce_path path;
	int ret = -EAGAIN;

	(void)state;
	for (int i = 0; i < 1000000 && ret == -EAGAIN; i++) {
		ret = uroce_dev_try_resolve(dev_a, &av, 0xc000, &request_ns, &path);
		rig_drive(dev_a);
		rig_drive(dev_b);
	}
	assert_int_equal(ret, 0);
	assert_memory_equal(path.hdr, dev_b->mac, 6);
	assert_memory_equal(path.hdr + 6, dev_a->mac, 6);
}

static void
dev__gids_and_limits(void **state)
{
	const uint8_t *mac = dev_a->mac;
	const uint8_t link_local[16] = { 0xfe, 0x80,   0,          0,      0,      0,
					 0,    0,      mac[0] ^ 2, mac[1], mac[2], 0xff,
					 0xfe, mac[3], mac[4],     mac[5] };

	(void)state;
	assert_int_equal(dev_a->gids->nb, 3);
	assert_memory_equal(dev_a->gids->addr[0].ip, link_local, 16);
	assert_int_equal(dev_a->limits.active_mtu, IBV_MTU_4096);
	assert_int_equal(dev_a->pkeys[0], 0xffff);
	assert_true(uroce_dev_is_link_up(dev_a));
	assert_memory_not_equal(dev_a->mac, dev_b->mac, 6);
}

/* With gid0=addr, the link-local address follows the configured addresses in the GID table. */
static void
gid_make__addresses_first(void **state)
{
	struct uroce_dev_conf conf;
	struct uroce_gid_table gids;

	(void)state;
	assert_int_equal(
		uroce_dev_conf_parse("p,addr=192.0.2.1/24,addr=2001:db8::1/64,gid0=addr", &conf),
		0);
	assert_int_equal(uroce_gid_make(&conf, dev_a->mac, 0, &gids), 0);
	assert_int_equal(gids.nb, 3);
	assert_memory_equal(gids.addr[0].ip, conf.addr[0].ip, 16);
	assert_memory_equal(gids.addr[1].ip, conf.addr[1].ip, 16);
	assert_memory_equal(gids.addr[2].ip, dev_a->gids->addr[0].ip, 16);
}

/*
 * Remove an address from the GID table of dev_b.
 * @return the old table, with which the test restores the address
 */
static const struct uroce_gid_table *
drop_gid(unsigned idx)
{
	static struct uroce_gid_table without;
	const struct uroce_gid_table *const with = atomic_load(&dev_b->gids);

	without = *with;
	without.addr[idx] = (struct uroce_addr){ 0 };
	atomic_store(&dev_b->gids, &without);
	return with;
}

static void
expect_silence(uint64_t wr_id)
{
	struct ibv_wc wc;

	rig_post_send(a, IBV_WR_RDMA_WRITE, wr_id, 0, 8, b, 0);
	for (unsigned i = 0; i < 100; i++) {
		rig_drive(dev_a);
		rig_drive(dev_b);
	}
	assert_int_equal(uroce_cq_poll(&a->scq, 1, &wc), 0);
	assert_int_equal(b->wqp.qpc.stats.rx_bytes, 0);
}

static void
expect_nothing_at(uint8_t gid)
{
	const struct uroce_gid_table *with;

	connect_over(gid);
	with = drop_gid(gid);
	expect_silence(4);
	atomic_store(&dev_b->gids, with);
	expect(&a->scq, 4);
}

static void
gid__what_comes_to_one_that_went_is_not_ours(void **state)
{
	(void)state;
	expect_nothing_at(1);
}

static void
gid__what_comes_to_one_of_ipv6_that_went_is_not_ours(void **state)
{
	(void)state;
	expect_nothing_at(2);
}

static int
group_setup(void **state)
{
	(void)state;
	rig_wire("a", "b", 1, 0);
	dev_a = rig_dev("net_ring_a,drive=none,addr=192.0.2.1/24,addr=2001:db8::1/64");
	dev_b = rig_dev("net_ring_b,drive=none,addr=192.0.2.2/24,addr=2001:db8::2/64");
	return 0;
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(dev__gids_and_limits),
		TEST(gid_make__addresses_first),
		TEST(world__rc_over_ipv4),
		TEST(world__rc_over_ipv6),
		TEST(world__rc_over_link_local),
		TEST(world__back_pressure_loses_nothing),
		TEST(world__an_armed_cq_wakes_its_consumer),
		TEST(world__events_reach_the_device_and_go_with_their_qp),
		TEST(world__a_silent_peer_ends_in_retry_exceeded),
		TEST(world__a_peer_that_takes_nothing_ends_in_retry_exceeded),
		TEST(dev_resolve__refusals),
		TEST(dev_resolve__nobody_is_asked_for_a_group),
		TEST(dev_resolve__ourselves_is_our_own_mac),
		TEST(dev_try_resolve__asks_once_and_does_not_wait),
		TEST(dev_try_resolve__finds_the_neighbour_later),
		TEST(gid__what_comes_to_one_that_went_is_not_ours),
		TEST(gid__what_comes_to_one_of_ipv6_that_went_is_not_ours),
	};

	if (!rig_init())
		return 1;
	return cmocka_run_group_tests(tests, group_setup, rig_teardown);
}
