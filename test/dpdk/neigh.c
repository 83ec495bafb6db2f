/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The neighbour cache: frames of ARP and ND, and the replies, compared byte for byte. A host must
 * learn as little as possible from frames that it has not requested.
 */

#include "rig.h"

#include <stdlib.h>
#include <string.h>

#include "datapath/net/neigh.h"
#include "neigh_frames.h"

#define NOW  UINT64_C(1000000000000)
#define ROOM 256

static const uint8_t our_v4[16] = { [10] = 0xff, [11] = 0xff, 192, 0, 2, 1 };
static const uint8_t peer_v4[16] = { [10] = 0xff, [11] = 0xff, 192, 0, 2, 9 };
static const uint8_t our_v6[16] = { 0x20, 0x01, 0x0d, 0xb8, [15] = 1 };
static const uint8_t peer_v6[16] = { 0x20, 0x01, 0x0d, 0xb8, [15] = 9 };
static const uint8_t our_local[16] = { 0xfe, 0x80, [11] = 0xff, 0xfe, [15] = 1 };
static const uint8_t group_v4[16] = { [10] = 0xff, [11] = 0xff, 239, 1, 2, 3 };
static const uint8_t group_v6[16] = { 0xff, 0x15, [15] = 7 };
static const uint8_t peer_mac[6] = { 2, 0, 0, 0, 0, 0x99 };

static struct uroce_neigh *neigh;
static uint8_t buf[ROOM];
static uint32_t len;

static struct uroce_neigh *
make(bool has_vlan)
{
	struct uroce_neigh_conf conf = {
		.mac = { 2, 0, 0, 0, 0, 1 },
		.has_vlan = has_vlan,
		.vlan_tci = 7,
		.nb_addr = 3,
	};

	memcpy(conf.addr[0].ip, our_v4, 16);
	conf.addr[0].prefix_len = 96 + 24;
	memcpy(conf.addr[1].ip, our_v6, 16);
	memcpy(conf.addr[2].ip, our_local, 16);
	return uroce_neigh_create(&conf);
}

static int
setup(void **state)
{
	(void)state;
	neigh = make(false);
	assert_non_null(neigh);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	uroce_neigh_destroy(neigh);
	return 0;
}

static enum uroce_neigh_verdict
input(const uint8_t *frame, size_t frame_len)
{
	memset(buf, 0xee, sizeof(buf));
	memcpy(buf, frame, frame_len);
	len = (uint32_t)frame_len;
	return uroce_neigh_input(neigh, buf, &len, ROOM, NOW);
}

static bool
knows(const uint8_t ip[16], uint64_t now_ns)
{
	uint8_t mac[6];

	if (!uroce_neigh_find(neigh, ip, now_ns, mac))
		return false;
	assert_memory_equal(mac, peer_mac, sizeof(mac));
	return true;
}

#define EXPECT_REPLY(question, answer)                                                             \
	do {                                                                                       \
		assert_int_equal(input(question, sizeof(question)), UROCE_NEIGH_REPLY);            \
		assert_int_equal(len, sizeof(answer));                                             \
		assert_memory_equal(buf, answer, sizeof(answer));                                  \
	} while (0)

static void
expect_ignored(const uint8_t *frame, size_t frame_len)
{
	assert_int_equal(input(frame, frame_len), UROCE_NEIGH_IGNORED);
	assert_memory_equal(buf, frame, frame_len);
}

/* Check that a frame in which byte `at` is changed to `value` is ignored. */
static void
expect_ignored_with(const uint8_t *frame, size_t frame_len, size_t at, uint8_t value)
{
	uint8_t changed[ROOM];

	memcpy(changed, frame, frame_len);
	assert_int_not_equal(changed[at], value);
	changed[at] = value;
	expect_ignored(changed, frame_len);
}

static void
neigh_input__questions_are_answered(void **state)
{
	(void)state;
	EXPECT_REPLY(arp_request, arp_reply);
	EXPECT_REPLY(ns, na);
	EXPECT_REPLY(ns_probe, na_to_all);
	EXPECT_REPLY(ping, pong);
	EXPECT_REPLY(ping_options, pong_options);
	EXPECT_REPLY(ping6, pong6);
}

static void
neigh_input__who_asks_for_us_is_learnt(void **state)
{
	(void)state;
	assert_false(knows(peer_v4, NOW));
	(void)input(arp_request, sizeof(arp_request));
	assert_true(knows(peer_v4, NOW));
	assert_false(knows(peer_v6, NOW));
	(void)input(ns, sizeof(ns));
	assert_true(knows(peer_v6, NOW));
}

static void
neigh_input__answers_are_believed_only_when_asked_for(void **state)
{
	uint8_t frame[UROCE_NEIGH_REQUEST_MAX];

	(void)state;
	assert_int_equal(input(arp_answer, sizeof(arp_answer)), UROCE_NEIGH_IGNORED);
	assert_int_equal(input(na_answer, sizeof(na_answer)), UROCE_NEIGH_IGNORED);
	assert_false(knows(peer_v4, NOW) || knows(peer_v6, NOW));
	(void)uroce_neigh_request(neigh, our_v4, peer_v4, NOW, frame);
	(void)uroce_neigh_request(neigh, our_v6, peer_v6, NOW, frame);
	assert_false(knows(peer_v4, NOW) || knows(peer_v6, NOW));
	assert_int_equal(input(arp_answer, sizeof(arp_answer)), UROCE_NEIGH_LEARNT);
	assert_int_equal(input(na_answer, sizeof(na_answer)), UROCE_NEIGH_LEARNT);
	assert_true(knows(peer_v4, NOW) && knows(peer_v6, NOW));
}

static void
neigh_find__answers_get_stale(void **state)
{
	(void)state;
	(void)input(arp_request, sizeof(arp_request));
	assert_true(knows(peer_v4, NOW + UROCE_NEIGH_FRESH_NS - 1));
	assert_false(knows(peer_v4, NOW + UROCE_NEIGH_FRESH_NS));
}

static void
neigh_request__frames(void **state)
{
	uint8_t frame[UROCE_NEIGH_REQUEST_MAX];

	(void)state;
	assert_int_equal(uroce_neigh_request(neigh, our_v4, peer_v4, NOW, frame),
			 sizeof(arp_question));
	assert_memory_equal(frame, arp_question, sizeof(arp_question));
	assert_int_equal(uroce_neigh_request(neigh, our_v6, peer_v6, NOW, frame),
			 sizeof(ns_question));
	assert_memory_equal(frame, ns_question, sizeof(ns_question));
}

#define EXPECT_REPORT(group, report, frame)                                                        \
	do {                                                                                       \
		assert_int_equal(uroce_neigh_report(neigh, group, report, NOW, buf),               \
				 sizeof(frame));                                                   \
		assert_memory_equal(buf, frame, sizeof(frame));                                    \
	} while (0)

static void
neigh_report__frames(void **state)
{
	static const uint8_t all_hosts[16] = { [10] = 0xff, [11] = 0xff, 224, 0, 0, 1 };
	static const uint8_t all_nodes[16] = { 0xff, 2, [15] = 1 };
	static const uint8_t own[16] = { 0xff, 1, [15] = 9 };

	(void)state;
	EXPECT_REPORT(group_v4, UROCE_NEIGH_MEMBER, igmp_report);
	EXPECT_REPORT(group_v6, UROCE_NEIGH_MEMBER, mld_report);
	EXPECT_REPORT(group_v4, UROCE_NEIGH_LEFT, igmp_leave);
	EXPECT_REPORT(group_v6, UROCE_NEIGH_LEFT, mld_done);
	assert_false(uroce_neigh_is_report_due(neigh, UINT64_MAX - 1));
	EXPECT_REPORT(group_v4, UROCE_NEIGH_JOINED, igmp_report);
	assert_int_equal(uroce_neigh_report(neigh, all_hosts, UROCE_NEIGH_JOINED, NOW, buf), 0);
	assert_int_equal(uroce_neigh_report(neigh, all_nodes, UROCE_NEIGH_JOINED, NOW, buf), 0);
	assert_int_equal(uroce_neigh_report(neigh, own, UROCE_NEIGH_JOINED, NOW, buf), 0);
}

static void
neigh_report__a_new_group_is_reported_once_more(void **state)
{
	(void)state;
	EXPECT_REPORT(group_v6, UROCE_NEIGH_JOINED, mld_report);
	assert_false(uroce_neigh_is_report_due(neigh, NOW - 1));
	assert_true(uroce_neigh_is_report_due(neigh, NOW + UINT64_C(10000000000)));
	assert_false(uroce_neigh_is_report_due(neigh, UINT64_MAX - 1));
}

/*
 * Pass the query of a router to the host. Check that exactly one report becomes due, at most
 * `resp_ms` milliseconds later.
 */
static void
expect_due(const uint8_t *frame, size_t frame_len, uint64_t resp_ms)
{
	assert_int_equal(input(frame, frame_len), UROCE_NEIGH_LEARNT);
	assert_false(uroce_neigh_is_report_due(neigh, NOW - 1));
	assert_true(uroce_neigh_is_report_due(neigh, NOW + resp_ms * 1000000));
	assert_false(uroce_neigh_is_report_due(neigh, UINT64_MAX - 1));
}

static void
neigh_input__routers_get_reports_in_time(void **state)
{
	(void)state;
	expect_due(igmp_query, sizeof(igmp_query), 10000);
	expect_due(igmp_query_v1, sizeof(igmp_query_v1), 10000);
	expect_due(igmp_query_v3, sizeof(igmp_query_v3), (0x10 | 0xa) * 8 * 100);
	expect_due(mld_query, sizeof(mld_query), 2000);
	expect_due(mld_query_v2, sizeof(mld_query_v2), (0x1000 | 1) * 8);
}

/* Queries with a wrong hop limit, checksum, type or length are ignored. */
static void
neigh_input__queries_from_elsewhere_or_damaged_are_ignored(void **state)
{
	(void)state;
	expect_ignored_with(igmp_query, sizeof(igmp_query), 14 + 8, 2);
	expect_ignored_with(igmp_query, sizeof(igmp_query), 14 + 10, 0x11);
	expect_ignored_with(igmp_query, sizeof(igmp_query), 14 + 24, 0x16);
	expect_ignored_with(igmp_query, sizeof(igmp_query), 14 + 25, 1);
	expect_ignored_with(igmp_query, sizeof(igmp_query), 14 + 3, 28);
	expect_ignored_with(igmp_query, sizeof(igmp_query), 14 + 3, 200);
	expect_ignored_with(mld_query, sizeof(mld_query), 14 + 7, 2);
	expect_ignored_with(mld_query, sizeof(mld_query), 14 + 5, 24);
	expect_ignored_with(mld_query, sizeof(mld_query), 14 + 5, 200);
	expect_ignored_with(mld_query, sizeof(mld_query), 14 + 40, 17);
	expect_ignored_with(mld_query, sizeof(mld_query), 14 + 41, 1);
	expect_ignored_with(mld_query, sizeof(mld_query), 14 + 48, 131);
	expect_ignored_with(mld_query, sizeof(mld_query), 14 + 53, 1);
	assert_false(uroce_neigh_is_report_due(neigh, UINT64_MAX - 1));
}

static void
neigh_input__malformed_is_ignored(void **state)
{
	(void)state;
	expect_ignored_with(arp_request, sizeof(arp_request), 15, 6);    /* wrong hardware type */
	expect_ignored_with(arp_request, sizeof(arp_request), 16, 0x86); /* wrong protocol type */
	/* wrong length of hardware addresses */
	expect_ignored_with(arp_request, sizeof(arp_request), 18, 8);
	/* wrong length of protocol addresses */
	expect_ignored_with(arp_request, sizeof(arp_request), 19, 16);
	expect_ignored_with(arp_request, sizeof(arp_request), 21, 3); /* wrong operation */
	/* ARP request for the address of another host */
	expect_ignored_with(arp_request, sizeof(arp_request), 41, 2);
	/* MAC of the sender is a group address */
	expect_ignored_with(arp_request, sizeof(arp_request), 22, 3);
	/* A hop limit of 254 shows that a router has forwarded the frame. */
	expect_ignored_with(ns, sizeof(ns), 21, 254);
	expect_ignored_with(ns, sizeof(ns), sizeof(ns) - 1, 0x98); /* wrong checksum */
	/* a different target address; this change also makes the checksum wrong */
	expect_ignored_with(ns_probe, sizeof(ns_probe), 77, 2);
	/* a different TTL; this change makes the IPv4 checksum wrong */
	expect_ignored_with(ping, sizeof(ping), 22, 62);
	/* ping of another host */
	expect_ignored_with(ping, sizeof(ping), 33, 2);
	expect_ignored_with(ping6, sizeof(ping6), sizeof(ping6) - 1, 'x'); /* wrong checksum */
	assert_false(knows(peer_v6, NOW));
}

/* A ping from a group MAC is ignored, because the reply would go to many hosts. */
static void
neigh_input__an_echo_from_a_groups_mac_is_ignored(void **state)
{
	(void)state;
	expect_ignored_with(ping, sizeof(ping), 6, 0x33);
	expect_ignored_with(ping6, sizeof(ping6), 6, 0x33);
}

/*
 * Every frame is ignored if it is truncated. Each truncated frame has separate memory of its
 * length, so that a sanitizer detects reads behind its end.
 */
static void
neigh_input__truncated_is_ignored(void **state)
{
	static const struct {
		const uint8_t *frame;
		size_t whole; /* length of the frame without Ethernet padding */
	} cases[] = {
		{ arp_request, 42 },    { ns, sizeof(ns) },       { ns_probe, sizeof(ns_probe) },
		{ ping, sizeof(ping) }, { ping6, sizeof(ping6) }, { na_answer, sizeof(na_answer) },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (size_t cut = 0; cut < cases[i].whole; cut++) {
			uint8_t *frame = malloc(cut ? cut : 1);
			uint32_t frame_len = (uint32_t)cut;

			memcpy(frame, cases[i].frame, cut);
			assert_int_equal(
				uroce_neigh_input(neigh, frame, &frame_len, frame_len, NOW),
				UROCE_NEIGH_IGNORED);
			free(frame);
		}
	}
}

static void
neigh_input__an_answer_that_does_not_fit_is_not_given(void **state)
{
	(void)state;
	memcpy(buf, ns_probe, sizeof(ns_probe));
	len = sizeof(ns_probe);
	assert_int_equal(uroce_neigh_input(neigh, buf, &len, sizeof(na_to_all) - 1, NOW),
			 UROCE_NEIGH_IGNORED);
}

static void
neigh_input__fragments_are_ignored(void **state)
{
	uint8_t frame[sizeof(ping)];

	(void)state;
	memcpy(frame, ping, sizeof(ping));
	/* set "more fragments" instead of "do not fragment", and correct the checksum */
	frame[20] = 0x20;
	frame[24] = (uint8_t)(frame[24] + 0x20);
	expect_ignored(frame, sizeof(frame));
}

static void
neigh_input__only_our_network(void **state)
{
	(void)state;
	expect_ignored(arp_request_tagged, sizeof(arp_request_tagged));
	uroce_neigh_destroy(neigh);
	neigh = make(true);
	expect_ignored(arp_request, sizeof(arp_request));
	expect_ignored_with(arp_request_tagged, sizeof(arp_request_tagged), 15, 8);
	EXPECT_REPLY(arp_request_tagged, arp_reply_tagged);
}

/*
 * Neighbours that the host learns from forged requests replace one another in the table. They must
 * not replace a neighbour for which the host has sent a request.
 */
static void
neigh_input__a_flood_does_not_push_out_what_we_asked_for(void **state)
{
	uint8_t frame[UROCE_NEIGH_REQUEST_MAX];
	uint8_t forged[sizeof(arp_request)];

	(void)state;
	(void)uroce_neigh_request(neigh, our_v4, peer_v4, NOW, frame);
	(void)input(arp_answer, sizeof(arp_answer));
	for (uint32_t i = 0; i < 100000; i++) {
		memcpy(forged, arp_request, sizeof(forged));
		forged[28] = 10;
		forged[29] = (uint8_t)(i >> 16);
		forged[30] = (uint8_t)(i >> 8);
		forged[31] = (uint8_t)i;
		(void)input(forged, sizeof(forged));
	}
	assert_true(knows(peer_v4, NOW));
}

/* Compute and store the ICMPv6 checksum of a neighbour message after a change. */
static void
seal(uint8_t *frame, size_t frame_len)
{
	uint32_t sum = (uint32_t)(frame_len - 54) + 58;

	frame[56] = frame[57] = 0;
	for (size_t i = 22; i < frame_len; i += 2)
		sum += (uint32_t)(frame[i] << 8 | frame[i + 1]);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	frame[56] = (uint8_t)(~sum >> 8);
	frame[57] = (uint8_t)~sum;
}

static bool
has_entry(const uint8_t ip[16])
{
	uint8_t mac[6];

	return uroce_neigh_find(neigh, ip, NOW, mac);
}

/*
 * Write the address `ip` at offset `at` of a neighbour message. Check that the message creates no
 * entry for this address, although the host has sent a request for it.
 */
static void
expect_no_nd_entry(const uint8_t *frame, size_t frame_len, size_t at, const uint8_t ip[16])
{
	uint8_t question[UROCE_NEIGH_REQUEST_MAX];
	uint8_t changed[ROOM];

	memcpy(changed, frame, frame_len);
	memcpy(changed + at, ip, 16);
	seal(changed, frame_len);
	(void)uroce_neigh_request(neigh, our_v6, ip, NOW, question);
	(void)input(changed, frame_len);
	assert_false(has_entry(ip));
}

#define ND_SOURCE 22
#define ND_TARGET 62

static void
neigh_input__no_entry_of_what_is_no_other_host(void **state)
{
	static const uint8_t not_hosts[][16] = {
		{ 0 },                                /* the unspecified address */
		{ [15] = 1 },                         /* the loopback address */
		{ 0x20, 0x01, 0x0d, 0xb8, [15] = 1 }, /* the address of the tested host itself */
		{ 0xff, 2, [15] = 1 },                /* an IPv6 multicast group */
		/* an IPv4-mapped address in an IPv6 frame */
		{ [10] = 0xff, [11] = 0xff, 192, 0, 2, 9 },
		/* the IPv4 address of the tested host itself */
		{ [10] = 0xff, [11] = 0xff, 192, 0, 2, 1 },
		{ [10] = 0xff, [11] = 0xff, 0, 0, 0, 0 },   /* an IPv4 address of "this network" */
		{ [10] = 0xff, [11] = 0xff, 127, 0, 0, 1 }, /* an IPv4 loopback address */
		/* the IPv4 broadcast address of the host's network */
		{ [10] = 0xff, [11] = 0xff, 192, 0, 2, 255 },
		{ [10] = 0xff, [11] = 0xff, 224, 0, 0, 1 },      /* an IPv4 multicast group */
		{ [10] = 0xff, [11] = 0xff, 255, 255, 255, 255 } /* the limited broadcast address */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(not_hosts) / sizeof(not_hosts[0]); i++) {
		const uint8_t *const ip = not_hosts[i];

		expect_no_nd_entry(ns, sizeof(ns), ND_SOURCE, ip);
		expect_no_nd_entry(na_answer, sizeof(na_answer), ND_TARGET, ip);
		if (ip[10] != 0xff || memcmp(ip, peer_v4, 16) == 0)
			continue;
		for (unsigned is_reply = 0; is_reply < 2; is_reply++) {
			memcpy(buf, is_reply ? arp_answer : arp_request, sizeof(arp_request));
			memcpy(buf + 28, ip + 12, 4);
			len = sizeof(arp_request);
			(void)uroce_neigh_input(neigh, buf, &len, ROOM, NOW);
			assert_false(has_entry(ip));
		}
	}
}

static void
neigh_input__no_entry_of_a_groups_mac(void **state)
{
	uint8_t frame[ROOM], question[UROCE_NEIGH_REQUEST_MAX];

	(void)state;
	(void)uroce_neigh_request(neigh, our_v4, peer_v4, NOW, question);
	(void)uroce_neigh_request(neigh, our_v6, peer_v6, NOW, question);
	memcpy(frame, arp_answer, sizeof(arp_answer));
	frame[22] |= 1;
	expect_ignored(frame, sizeof(arp_answer));
	/* set the group bit in the MAC of the option and in the source MAC of the frame */
	memcpy(frame, na_answer, sizeof(na_answer));
	frame[6] |= 1;
	frame[80] |= 1;
	seal(frame, sizeof(na_answer));
	expect_ignored(frame, sizeof(na_answer));
	memcpy(frame, ns, sizeof(ns));
	frame[6] |= 1;
	expect_ignored(frame, sizeof(ns));
	assert_false(has_entry(peer_v4) || has_entry(peer_v6));
}

/*
 * Truncated and mutated frames must be processed without a fault, and a reply must never be longer
 * than the buffer.
 */
static void
neigh_input__survives_mutations(void **state)
{
	static const struct {
		const uint8_t *frame;
		size_t len;
	} seeds[] = {
		{ arp_request, sizeof(arp_request) },
		{ arp_answer, sizeof(arp_answer) },
		{ ns, sizeof(ns) },
		{ ns_probe, sizeof(ns_probe) },
		{ na_answer, sizeof(na_answer) },
		{ ping, sizeof(ping) },
		{ ping_options, sizeof(ping_options) },
		{ ping6, sizeof(ping6) },
	};

	(void)state;
	srand(2);
	for (unsigned n = 0; n < 200000; n++) {
		const size_t which = (size_t)rand() % (sizeof(seeds) / sizeof(seeds[0]));
		const size_t cut = (size_t)rand() % (seeds[which].len + 1);
		uint8_t *frame = malloc(ROOM);

		memcpy(frame, seeds[which].frame, cut);
		for (int k = rand() % 4; k > 0 && cut > 0; k--)
			frame[(size_t)rand() % cut] = (uint8_t)rand();
		len = (uint32_t)cut;
		(void)uroce_neigh_input(neigh, frame, &len, ROOM, NOW);
		assert_true(len <= ROOM);
		free(frame);
	}
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(neigh_input__questions_are_answered),
		TEST(neigh_input__who_asks_for_us_is_learnt),
		TEST(neigh_input__answers_are_believed_only_when_asked_for),
		TEST(neigh_find__answers_get_stale),
		TEST(neigh_request__frames),
		TEST(neigh_report__frames),
		TEST(neigh_report__a_new_group_is_reported_once_more),
		TEST(neigh_input__routers_get_reports_in_time),
		TEST(neigh_input__queries_from_elsewhere_or_damaged_are_ignored),
		TEST(neigh_input__malformed_is_ignored),
		TEST(neigh_input__an_echo_from_a_groups_mac_is_ignored),
		TEST(neigh_input__truncated_is_ignored),
		TEST(neigh_input__an_answer_that_does_not_fit_is_not_given),
		TEST(neigh_input__fragments_are_ignored),
		TEST(neigh_input__only_our_network),
		TEST(neigh_input__a_flood_does_not_push_out_what_we_asked_for),
		TEST(neigh_input__no_entry_of_what_is_no_other_host),
		TEST(neigh_input__no_entry_of_a_groups_mac),
		TEST(neigh_input__survives_mutations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
