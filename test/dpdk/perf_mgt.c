/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The request Get(ClassPortInfo) of the class PerfMgt, sent to QP 1. A device whose program has no
 * QP 1 responds to this request, at a limited rate, and to no other datagram to QP 1.
 */

#include "rig.h"

#include <string.h>
#include <rte_mbuf.h>

#include "datapath/clock.h"
#include "datapath/net/perf_mgt.h"
#include "datapath/port/pool.h"
#include "wire/build.h"
#include "wire/icrc.h"

#define MAD_LEN     256
#define QKEY        0x80010000u
#define SRC_QPN     0x123456u
#define NB_REQUESTS 500u /* more requests than a device answers in a burst */
#define TIMEOUT_NS  UINT64_C(60000000000)

static const uint8_t peer_mac[6] = { 2, 0, 0, 0, 0, 0x99 };

static const uint8_t addr_v4[2][16] = { { [10] = 0xff, [11] = 0xff, 192, 0, 2, 9 },
					{ [10] = 0xff, [11] = 0xff, 192, 0, 2, 1 } };
static const uint8_t addr_v6[2][16] = { { 0x20, 0x01, 0x0d, 0xb8, [15] = 9 },
					{ 0x20, 0x01, 0x0d, 0xb8, [15] = 1 } };

/* A frame with the request Get(ClassPortInfo), and pointers to its headers. */
struct request {
	uint8_t frame[512];
	uint32_t len;
	struct uroce_path path;
	struct uroce_bth *bth;
	struct uroce_deth *deth;
	uint8_t *mad;
};

/* Compute and store the ICRC of a request after a change behind its UDP header. */
static void
seal(struct request *request)
{
	const uint8_t *const ip = request->frame + request->path.ip_off;
	uint8_t *const icrc = request->mad + MAD_LEN;

	uroce_icrc_store(icrc, uroce_icrc_frame(ip, (size_t)(icrc - ip)));
}

static void
make_request(struct request *request, const uint8_t addr[2][16])
{
	struct uroce_path_conf conf = { .udp_sport = 0xc001 };
	uint32_t icrc;

	*request = (struct request){ 0 };
	memcpy(conf.smac, peer_mac, 6);
	memcpy(conf.dmac, dev_a->mac, 6);
	memcpy(conf.sip, addr[0], 16);
	memcpy(conf.dip, addr[1], 16);
	uroce_path_init(&request->path, &conf);
	request->bth = uroce_path_put(&request->path, request->frame, 12 + 8 + MAD_LEN + 4, &icrc);
	uroce_bth_put(request->bth, UROCE_SERVICE_UD << 5 | UROCE_OP_SEND_ONLY, 0, 0xffff, 1, 7);
	request->deth = (struct uroce_deth *)(request->bth + 1);
	request->deth->qkey = be32_make(QKEY);
	request->deth->src_qpn = be24_make(SRC_QPN);
	request->mad = (uint8_t *)(request->deth + 1);
	memcpy(request->mad, "\1\4\1\1\0\0\0\0\1\2\3\4\5\6\7\10\0\1", 18);
	request->len = (uint32_t)(request->mad + MAD_LEN + 4 - request->frame);
	seal(request);
}

/*
 * Pass the frame of a request to dev_a.
 * @return the frame that dev_a transmits, or NULL if it transmits none
 */
static struct rte_mbuf *
pass_in(const struct request *request)
{
	struct rte_mbuf *frame = rte_pktmbuf_alloc(dev_a->port->pool[0]), *rest[1], *out = NULL;

	assert_non_null(frame);
	memcpy(rte_pktmbuf_append(frame, (uint16_t)request->len), request->frame, request->len);
	rte_pktmbuf_free_bulk(rest, uroce_worker_input(dev_a->worker[0], &frame, 1, rest));
	return uroce_worker_output(dev_a->worker[0], &out, 1) == 1 ? out : NULL;
}

static void
expect_silence(struct request *request)
{
	seal(request);
	assert_null(pass_in(request));
}

static void
expect_response(const uint8_t addr[2][16])
{
	struct request request;
	const struct uroce_eth *eth;
	struct uroce_pkt pkt;
	struct rte_mbuf *out;

	make_request(&request, addr);
	out = pass_in(&request);
	assert_non_null(out);
	assert_int_equal(out->pkt_len, request.len);
	eth = rte_pktmbuf_mtod(out, const struct uroce_eth *);
	assert_memory_equal(eth->dst, peer_mac, 6);
	assert_memory_equal(eth->src, dev_a->mac, 6);
	assert_int_equal(uroce_parse((const uint8_t *)eth, out->data_len, &pkt),
			 UROCE_VERDICT_DATAGRAM);
	assert_true(uroce_pkt_check_icrc(&pkt));
	if (pkt.is_ipv6) {
		assert_memory_equal(((const struct uroce_ipv6 *)pkt.ip)->src, addr[1], 16);
		assert_memory_equal(((const struct uroce_ipv6 *)pkt.ip)->dst, addr[0], 16);
	} else {
		const struct uroce_ipv4 *ip = (const struct uroce_ipv4 *)pkt.ip;
		uint32_t sum = 0;

		assert_memory_equal(ip->src, addr[1] + 12, 4);
		assert_memory_equal(ip->dst, addr[0] + 12, 4);
		for (unsigned i = 0; i < 20; i += 2)
			sum += (uint32_t)pkt.ip[i] << 8 | pkt.ip[i + 1];
		assert_int_equal((sum & 0xffff) + (sum >> 16), 0xffff);
	}
	assert_int_equal(pkt.dest_qpn, SRC_QPN);
	assert_int_equal(be24_get(uroce_pkt_deth(&pkt)->src_qpn), 1);
	assert_int_equal(be32_get(uroce_pkt_deth(&pkt)->qkey), QKEY);
	/*
	 * The response has the method GetResp, status 0, and the transaction ID and attribute ID of
	 * the request.
	 */
	assert_memory_equal(pkt.payload, "\1\4\1\x81\0\0\0\0\1\2\3\4\5\6\7\10\0\1", 18);
	assert_memory_equal(pkt.payload + 64, "\1\1\0\0\0\0\0\10", 8);
	rte_pktmbuf_free(out);
}

static void
perf_mgt__a_device_says_that_it_is_there(void **state)
{
	(void)state;
	expect_response(addr_v4);
	expect_response(addr_v6);
}

/* A datagram to QP 1 gets no response if one of its fields differs from Get(ClassPortInfo). */
static void
perf_mgt__anything_else_gets_no_response(void **state)
{
	struct request request;

	(void)state;
	make_request(&request, addr_v4);
	request.mad[1] = 3; /* a different management class */
	expect_silence(&request);
	make_request(&request, addr_v4);
	request.mad[3] = 2; /* method Set instead of Get */
	expect_silence(&request);
	make_request(&request, addr_v4);
	/*
	 * The method GetResp marks a response. If devices replied to responses, two devices would
	 * reply to each other for ever.
	 */
	request.mad[3] = 0x81;
	expect_silence(&request);
	make_request(&request, addr_v4);
	request.mad[17] = 2; /* a different attribute ID */
	expect_silence(&request);
	make_request(&request, addr_v4);
	request.deth->qkey = be32_make(1);
	expect_silence(&request);
	make_request(&request, addr_v4);
	request.bth->pkey = be16_make(0x8001);
	expect_silence(&request);
	make_request(&request, addr_v4);
	request.bth->dest_qpn = be24_make(2);
	expect_silence(&request);
}

static void
perf_mgt__a_damaged_request_gets_no_response(void **state)
{
	struct request request;

	(void)state;
	make_request(&request, addr_v4);
	request.mad[MAD_LEN - 1] ^= 1;
	assert_null(pass_in(&request));
}

static void
perf_mgt__a_request_to_another_host_gets_no_response(void **state)
{
	uint8_t addr[2][16];
	struct request request;

	(void)state;
	memcpy(addr, addr_v4, sizeof(addr));
	addr[1][15] = 77;
	make_request(&request, addr);
	expect_silence(&request);
}

/*
 * If more requests arrive than the device may answer, the others get no response, and are counted.
 * After a time there is another response.
 */
static void
perf_mgt__the_rate_of_responses_is_limited(void **state)
{
	const uint64_t *limited =
		&uroce_worker_stats(dev_a->worker[0])->verdict[UROCE_VERDICT_LIMITED];
	const uint64_t begin_ns = uroce_clock_ns();
	struct request request;
	struct rte_mbuf *out;
	unsigned nb = 0;

	(void)state;
	make_request(&request, addr_v4);
	for (unsigned i = 0; i < NB_REQUESTS; i++) {
		out = pass_in(&request);
		nb += out != NULL;
		rte_pktmbuf_free(out);
	}
	assert_in_range(nb, 1,
			UROCE_PERF_MGT_BURST + 1 +
				(uroce_clock_ns() - begin_ns) / UROCE_PERF_MGT_INTERVAL_NS);
	assert_int_equal(uroce_counted(limited), NB_REQUESTS - nb);
	while (!(out = pass_in(&request)))
		assert_true(uroce_clock_ns() - begin_ns < TIMEOUT_NS);
	rte_pktmbuf_free(out);
}

static int
setup(void **state)
{
	(void)state;
	rig_wire("a", "b", 1, 0);
	dev_a = rig_dev("net_ring_a,addr=192.0.2.1/24,addr=2001:db8::1/64,drive=none");
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	assert_int_equal(uroce_dev_destroy(dev_a), 0);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(perf_mgt__a_device_says_that_it_is_there),
		cmocka_unit_test(perf_mgt__anything_else_gets_no_response),
		cmocka_unit_test(perf_mgt__a_damaged_request_gets_no_response),
		cmocka_unit_test(perf_mgt__a_request_to_another_host_gets_no_response),
		cmocka_unit_test(perf_mgt__the_rate_of_responses_is_limited),
	};

	if (!rig_init())
		return 1;
	return cmocka_run_group_tests(tests, setup, teardown);
}
