/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Address handles for responses to datagrams: they are made from the completion of a datagram and
 * from its GRH. [RDMA Aware] is the RDMA Aware Programming User Manual.
 */

#include "net.h"

#include <arpa/inet.h>

#define GRH  40u
#define LEN  64u
#define BACK 4096u /* offset in a's buffer of the response and its GRH */

/* Offset of the IPv4 header in the 40 bytes of the GRH area. */
#define IPV4    20u

#define SL_IPV4 10
#define SL_IPV6 9

static struct pair net;

static int
setup(void **state)
{
	(void)state;
	pair_open(&net, &(struct pair_conf){ .type = IBV_QPT_UD, .keys = "mtu=1024" });
	pair_connect(&net);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	pair_close(&net);
	return 0;
}

static void
post_to(const struct host *from, const struct host *to, struct ibv_ah *ah, uint64_t wr_id)
{
	struct ibv_sge sge = sge_of(from, 0, LEN);
	struct ibv_send_wr *bad, wr = {
		.wr_id = wr_id,
		.opcode = IBV_WR_SEND,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.ud = { .ah = ah, .remote_qpn = to->qp->qp_num, .remote_qkey = QKEY },
	};

	assert_int_equal(ibv_post_send(from->qp, &wr, &bad), 0);
}

/*
 * Send a datagram from a, whose source is the GID with this index, to b. The GRH is at the start of
 * b's buffer, before the data.
 */
static struct ibv_wc
ping(int gid_index, uint32_t flow_label, uint8_t tclass, uint8_t hop_limit)
{
	struct ibv_ah_attr attr = ah_attr_to(&net.b, gid_index);
	struct ibv_ah *ah;

	attr.grh.flow_label = flow_label;
	attr.grh.traffic_class = tclass;
	attr.grh.hop_limit = hop_limit;
	assert_non_null(ah = uroce_create_ah(net.a.pd, &attr));
	fill(net.a.buf, LEN, flow_label);
	post_recv(&net.b, 5, sge_of(&net.b, 0, GRH + LEN));
	post_to(&net.a, &net.b, ah, 1);
	expect_wc(&net, net.a.scq, 1, IBV_WC_SUCCESS);
	assert_int_equal(uroce_destroy_ah(ah), 0);
	return expect_wc(&net, net.b.rcq, 5, IBV_WC_SUCCESS);
}

static struct ibv_grh *
grh_of(const struct host *host)
{
	return (struct ibv_grh *)host->buf;
}

/*
 * Send a datagram to b, and let b respond by the address handle that is made from its completion.
 * Check that a receives the response.
 */
static void
expect_answer(int gid_index)
{
	struct ibv_wc wc = ping(gid_index, 0, 0, 8);
	struct ibv_ah *ah = uroce_create_ah_from_wc(net.b.pd, &wc, grh_of(&net.b), 1);
	struct ibv_wc back;

	assert_non_null(ah);
	assert_ptr_equal(ah->pd, net.b.pd);
	fill(net.b.buf, LEN, 77);
	post_recv(&net.a, 6, sge_of(&net.a, BACK, GRH + LEN));
	post_to(&net.b, &net.a, ah, 2);
	expect_wc(&net, net.b.scq, 2, IBV_WC_SUCCESS);
	back = expect_wc(&net, net.a.rcq, 6, IBV_WC_SUCCESS);
	assert_int_equal(back.src_qp, net.b.qp->qp_num);
	assert_int_equal(back.byte_len, GRH + LEN);
	assert_memory_equal(net.a.buf + BACK + GRH, net.b.buf, LEN);
	assert_int_equal(uroce_destroy_ah(ah), 0);
}

static void
create_ah_from_wc__answers_over_ipv4(void **state)
{
	(void)state;
	expect_answer(ADDR_GID);
	/* the source address of the response is the destination address of the first datagram */
	assert_memory_equal(net.a.buf + BACK + IPV4 + 12, gid_of(&net.b, ADDR_GID).raw + 12, 4);
}

static void
create_ah_from_wc__answers_over_ipv6(void **state)
{
	(void)state;
	expect_answer(ADDR_GID + 1);
	assert_memory_equal(net.a.buf + BACK + 8, gid_of(&net.b, ADDR_GID + 1).raw, 16);
	expect_answer(0);
	assert_memory_equal(net.a.buf + BACK + 8, gid_of(&net.b, 0).raw, 16);
}

/*
 * The flow label, traffic class and hop limit of an address handle are in the headers of its
 * packets.
 */
static void
create_ah__its_attributes_are_in_its_packets(void **state)
{
	(void)state;
	(void)ping(ADDR_GID + 1, 0xabcde, 0x68, 33);
	assert_int_equal(be32toh(grh_of(&net.b)->version_tclass_flow), 0x668abcde);
	assert_int_equal(grh_of(&net.b)->hop_limit, 33);
	(void)ping(ADDR_GID, 0, 0x68, 33);
	assert_int_equal(net.b.buf[IPV4 + 1], 0x68);
	assert_int_equal(net.b.buf[IPV4 + 8], 33);
}

/*
 * The service level in the completion shows whether the datagram came over IPv4 or IPv6. Calls of
 * libibverbs depend on that.
 */
static void
wc__sl_says_whether_ipv4_or_ipv6(void **state)
{
	(void)state;
	assert_int_equal(ping(ADDR_GID, 0, 0, 8).sl, SL_IPV4);
	assert_int_equal(ping(ADDR_GID + 1, 0, 0, 8).sl, SL_IPV6);
}

static void
expect_attr(struct ibv_wc *wc, const struct ibv_global_route *grh)
{
	struct ibv_ah_attr attr;

	memset(&attr, 0xff, sizeof(attr));
	assert_int_equal(uroce_init_ah_from_wc(net.b.context, 1, wc, grh_of(&net.b), &attr), 0);
	assert_int_equal(attr.is_global, 1);
	assert_int_equal(attr.port_num, 1);
	assert_int_equal(attr.sl, wc->sl);
	assert_int_equal(attr.dlid, wc->slid);
	assert_int_equal(attr.src_path_bits, 0);
	assert_int_equal(attr.static_rate, 0);
	assert_memory_equal(attr.grh.dgid.raw, grh->dgid.raw, 16);
	assert_int_equal(attr.grh.sgid_index, grh->sgid_index);
	assert_int_equal(attr.grh.flow_label, grh->flow_label);
	assert_int_equal(attr.grh.traffic_class, grh->traffic_class);
	assert_int_equal(attr.grh.hop_limit, grh->hop_limit);
}

/*
 * The attributes are those of the response: source and destination of the datagram are exchanged
 * [RDMA Aware 3.6.11].
 */
static void
init_ah_from_wc__turns_the_header_round(void **state)
{
	struct ibv_wc wc = ping(ADDR_GID + 1, 0xabcde, 0x68, 33);

	(void)state;
	expect_attr(&wc, &(struct ibv_global_route){ .dgid = gid_of(&net.a, ADDR_GID + 1),
						     .sgid_index = ADDR_GID + 1,
						     .flow_label = 0xabcde,
						     .traffic_class = 0x68,
						     .hop_limit = 33 });
	wc = ping(ADDR_GID, 0, 0x68, 33);
	expect_attr(&wc, &(struct ibv_global_route){ .dgid = gid_of(&net.a, ADDR_GID),
						     .sgid_index = ADDR_GID,
						     .traffic_class = 0x68,
						     .hop_limit = 33 });
}

/*
 * The mark ECN-CE is not copied to the traffic class of the response, because a switch on the path
 * has set the mark.
 */
static void
init_ah_from_wc__gives_no_mark_back(void **state)
{
	static const struct {
		uint8_t came, goes;
	} rows[] = { { 0x68, 0x68 }, { 0x69, 0x69 }, { 0x6a, 0x6a }, { 0x6b, 0x6a } };
	struct ibv_ah_attr attr;

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ibv_wc wc = ping(ADDR_GID, 0, rows[i].came, 8);

		assert_int_equal(
			uroce_init_ah_from_wc(net.b.context, 1, &wc, grh_of(&net.b), &attr), 0);
		assert_int_equal(attr.grh.traffic_class, rows[i].goes);
	}
}

/* Store the checksum of an IPv4 header. */
static void
seal(uint8_t *ip)
{
	uint32_t sum = 0;

	ip[10] = ip[11] = 0;
	for (unsigned i = 0; i < 20; i += 2)
		sum += (uint32_t)ip[i] << 8 | ip[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	sum = ~((sum & 0xffff) + (sum >> 16));
	ip[10] = (uint8_t)(sum >> 8);
	ip[11] = (uint8_t)sum;
}

/*
 * The GRH area of an IPv4 datagram has an IPv4 header behind undefined bytes. Such a header must
 * not be taken for IPv6, whatever the bytes are. An IPv6 header whose source address looks like an
 * IPv4 header must not be taken for IPv4.
 */
static void
init_ah_from_wc__knows_one_header_from_the_other(void **state)
{
	struct ibv_wc wc = ping(ADDR_GID, 0, 0, 8);
	struct ibv_ah_attr attr;

	(void)state;
	for (unsigned first = 0; first <= 0xff; first++) {
		memset(net.b.buf, (int)first, IPV4);
		expect_attr(&wc, &(struct ibv_global_route){ .dgid = gid_of(&net.a, ADDR_GID),
							     .sgid_index = ADDR_GID,
							     .hop_limit = 8 });
	}
	wc = ping(ADDR_GID + 1, 0, 0, 8);
	grh_of(&net.b)->sgid.raw[12] = 0x45;
	assert_int_equal(uroce_init_ah_from_wc(net.b.context, 1, &wc, grh_of(&net.b), &attr), 0);
	assert_int_equal(attr.grh.sgid_index, ADDR_GID + 1);
	assert_memory_equal(attr.grh.dgid.raw, grh_of(&net.b)->sgid.raw, 16);
}

/*
 * The checksum of the IPv4 header is checked correctly, also if the one's complement sum needs two
 * folds.
 */
static void
init_ah_from_wc__of_every_kind_of_sum(void **state)
{
	struct ibv_wc wc = ping(ADDR_GID, 0, 0, 8);

	(void)state;
	memset(net.b.buf, 0x60, IPV4);
	for (unsigned id = 0; id <= 0xffff; id += 5) {
		net.b.buf[IPV4 + 4] = (uint8_t)(id >> 8);
		net.b.buf[IPV4 + 5] = (uint8_t)id;
		seal(net.b.buf + IPV4);
		expect_attr(&wc, &(struct ibv_global_route){ .dgid = gid_of(&net.a, ADDR_GID),
							     .sgid_index = ADDR_GID,
							     .hop_limit = 8 });
	}
}

/*
 * Check that uroce_init_ah_from_wc() and uroce_create_ah_from_wc() fail with errno `err`, and write
 * nothing.
 */
static void
expect_refusal(int err, struct ibv_context *context, struct ibv_pd *pd, struct ibv_wc *wc,
	       struct ibv_grh *grh, uint8_t port_num)
{
	struct ibv_ah_attr attr, before;

	memset(&attr, 0x5a, sizeof(attr));
	before = attr;
	errno = 0;
	assert_int_equal(uroce_init_ah_from_wc(context, port_num, wc, grh, &attr), -1);
	assert_int_equal(errno, err);
	assert_memory_equal(&attr, &before, sizeof(attr));
	assert_errno(err, uroce_create_ah_from_wc(pd, wc, grh, port_num));
}

static void
init_ah_from_wc__checks_its_arguments(void **state)
{
	struct ibv_wc wc = ping(ADDR_GID, 0, 0, 8);
	struct ibv_grh *const grh = grh_of(&net.b);

	(void)state;
	expect_refusal(EINVAL, NULL, NULL, &wc, grh, 1);
	expect_refusal(EINVAL, net.b.context, net.b.pd, NULL, grh, 1);
	expect_refusal(EINVAL, net.b.context, net.b.pd, &wc, NULL, 1);
	expect_refusal(EINVAL, net.b.context, net.b.pd, &wc, grh, 0);
	expect_refusal(EINVAL, net.b.context, net.b.pd, &wc, grh, 2);
	errno = 0;
	assert_int_equal(uroce_init_ah_from_wc(net.b.context, 1, &wc, grh, NULL), -1);
	assert_int_equal(errno, EINVAL);
}

/*
 * Change byte `at` of the header of a received datagram, and check that the calls fail with errno
 * `err`.
 */
static void
expect_refusal_of(int err, int gid_index, uint32_t at, uint8_t byte)
{
	struct ibv_wc wc = ping(gid_index, 0, 0, 8);

	assert_int_not_equal(net.b.buf[at], byte);
	net.b.buf[at] = byte;
	if (gid_index == ADDR_GID)
		seal(net.b.buf + IPV4);
	expect_refusal(err, net.b.context, net.b.pd, &wc, grh_of(&net.b), 1);
}

static void
init_ah_from_wc__refuses_a_header_that_cannot_be(void **state)
{
	(void)state;
	/*
	 * the IP version is neither 4 nor 6, or there are IPv4 options, for which the GRH area has
	 * no room
	 */
	expect_refusal_of(EINVAL, ADDR_GID, IPV4, 0x55);
	expect_refusal_of(EINVAL, ADDR_GID, IPV4, 0x46);
	expect_refusal_of(EINVAL, ADDR_GID + 1, 0, 0x50);
	/* the destination of the datagram is another host or a multicast group */
	expect_refusal_of(EINVAL, ADDR_GID, IPV4 + 19, 9);
	expect_refusal_of(EINVAL, ADDR_GID, IPV4 + 16, 239);
	expect_refusal_of(EINVAL, ADDR_GID + 1, 39, 9);
	expect_refusal_of(EINVAL, ADDR_GID + 1, 24, 0xff);
	/* the protocol in the IP header is not UDP, but that of RoCEv1 or TCP */
	expect_refusal_of(EPROTONOSUPPORT, ADDR_GID + 1, 6, 0x1b);
	expect_refusal_of(EPROTONOSUPPORT, ADDR_GID, IPV4 + 9, 6);
}

/* Without the flag IBV_WC_GRH in the completion there is no GRH [RDMA Aware 3.6.11]. */
static void
init_ah_from_wc__without_a_header(void **state)
{
	struct ibv_wc wc = ping(ADDR_GID, 0, 0, 8);
	struct ibv_ah_attr attr = { .is_global = 1 };

	(void)state;
	wc.wc_flags &= ~(unsigned)IBV_WC_GRH;
	assert_int_equal(uroce_init_ah_from_wc(net.b.context, 1, &wc, NULL, &attr), 0);
	assert_int_equal(attr.is_global, 0);
	assert_int_equal(attr.port_num, 1);
	assert_errno(EINVAL, uroce_create_ah_from_wc(net.b.pd, &wc, NULL, 1));
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(create_ah_from_wc__answers_over_ipv4),
		TEST(create_ah_from_wc__answers_over_ipv6),
		TEST(create_ah__its_attributes_are_in_its_packets),
		TEST(wc__sl_says_whether_ipv4_or_ipv6),
		TEST(init_ah_from_wc__turns_the_header_round),
		TEST(init_ah_from_wc__gives_no_mark_back),
		TEST(init_ah_from_wc__knows_one_header_from_the_other),
		TEST(init_ah_from_wc__of_every_kind_of_sum),
		TEST(init_ah_from_wc__checks_its_arguments),
		TEST(init_ah_from_wc__refuses_a_header_that_cannot_be),
		TEST(init_ah_from_wc__without_a_header),
	};

	net_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
