/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Multicast groups: membership, and the reception of a datagram by each member.
 */

#include "transport/mcast.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "pair.h"

#define NB_MAX 4

static const uint8_t group4[16] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 1, 2, 3 };
static const uint8_t group6[16] = { 0xff, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5 };

static struct uroce_mcast_table *table;
static int member[NB_MAX + 1];

static int
setup(void **state)
{
	const size_t len = (uroce_mcast_table_memsize(NB_MAX) + 63) / 64 * 64;
	void *mem = aligned_alloc(64, len);

	(void)state;
	assert_non_null(mem);
	memset(mem, 0xa5, len);
	table = uroce_mcast_table_init(mem, NB_MAX);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	free(table);
	return 0;
}

static int
attach(const uint8_t gid[16], unsigned who)
{
	return uroce_mcast_attach(table, gid, &member[who]);
}

static int
detach(const uint8_t gid[16], unsigned who)
{
	uint32_t idx;
	const int ret = uroce_mcast_detach(table, gid, &member[who], &idx);

	if (!ret)
		uroce_mcast_free(table, idx);
	return ret;
}

/* The members of a group as a bit mask. Each member must be found once. */
static unsigned
members(const uint8_t gid[16])
{
	struct uroce_mcast_walk walk;
	unsigned mask = 0;
	const int *at;

	uroce_mcast_walk_begin(&walk, table, gid);
	while ((at = uroce_mcast_walk_next(&walk))) {
		assert_int_equal(mask & 1u << (at - member), 0);
		mask |= 1u << (at - member);
	}
	return mask;
}

static void
gid_is_multicast__both_families(void **state)
{
	static const uint8_t v4_below[16] = { [10] = 0xff, 0xff, 223, 255, 255, 255 };
	static const uint8_t v4_above[16] = { [10] = 0xff, 0xff, 240, 0, 0, 0 };
	static const uint8_t v6_unicast[16] = { 0xfe, 0x80 };

	(void)state;
	assert_true(uroce_gid_is_multicast(group4));
	assert_true(uroce_gid_is_multicast(group6));
	assert_false(uroce_gid_is_multicast(v4_below));
	assert_false(uroce_gid_is_multicast(v4_above));
	assert_false(uroce_gid_is_multicast(v6_unicast));
}

static void
mcast_attach__each_group_has_its_members(void **state)
{
	(void)state;
	assert_int_equal(members(group4), 0);
	assert_int_equal(attach(group4, 0), 0);
	assert_int_equal(attach(group4, 2), 0);
	assert_int_equal(attach(group6, 2), 0);
	assert_int_equal(members(group4), 5);
	assert_int_equal(members(group6), 4);
	assert_int_equal(uroce_mcast_count(table, group4), 2);
}

static void
mcast_attach__twice_is_once(void **state)
{
	(void)state;
	assert_int_equal(attach(group4, 0), 0);
	assert_int_equal(attach(group4, 0), 0);
	assert_int_equal(uroce_mcast_count(table, group4), 1);
	assert_int_equal(detach(group4, 0), 0);
	assert_int_equal(detach(group4, 0), -EINVAL);
}

static void
mcast_attach__refusals(void **state)
{
	static const uint8_t unicast[16] = { 0x20, 0x01 };

	(void)state;
	assert_int_equal(attach(unicast, 0), -EINVAL);
	for (unsigned i = 0; i < NB_MAX; i++)
		assert_int_equal(attach(group4, i), 0);
	assert_int_equal(attach(group4, NB_MAX), -ENOMEM);
	assert_int_equal(attach(group4, 1), 0); /* the QP is already a member */
	assert_int_equal(detach(group4, 2), 0);
	assert_int_equal(attach(group4, NB_MAX), 0);
	assert_int_equal(members(group4), 0x1b);
}

static void
mcast_detach__first_middle_and_last(void **state)
{
	(void)state;
	for (unsigned gone = 0; gone < 3; gone++) {
		for (unsigned i = 0; i < 3; i++)
			assert_int_equal(attach(group6, i), 0);
		assert_int_equal(detach(group6, gone), 0);
		assert_int_equal(members(group6), 7u & ~(1u << gone));
		for (unsigned i = 0; i < 3; i++)
			assert_int_equal(detach(group6, i), i == gone ? -EINVAL : 0);
		assert_int_equal(members(group6), 0);
	}
}

/*
 * While a caller iterates over the members of a group, the current member leaves: the iteration
 * continues with the next member.
 */
static void
mcast_walk__goes_on_behind_a_member_that_leaves(void **state)
{
	struct uroce_mcast_walk walk;
	uint32_t idx;

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(attach(group4, i), 0);
	uroce_mcast_walk_begin(&walk, table, group4);
	assert_ptr_equal(uroce_mcast_walk_next(&walk), &member[2]);
	assert_int_equal(uroce_mcast_detach(table, group4, &member[1], &idx), 0);
	assert_non_null(uroce_mcast_walk_next(&walk));
	assert_ptr_equal(uroce_mcast_walk_next(&walk), &member[0]);
	assert_null(uroce_mcast_walk_next(&walk));
	uroce_mcast_free(table, idx);
}

/* --- datagrams to a group --- */

static void
qpc_recv__each_member_takes_a_receive_of_its_own(void **state)
{
	const struct pair_conf conf = pair_conf(IBV_QPT_UD);
	const struct pair_pkt pkt = {
		.opcode = UROCE_SERVICE_UD << 5 | UROCE_OP_SEND_ONLY,
		.payload_len = 5,
		.qkey = 0x11111111,
		.src_qpn = 0x77,
	};
	struct uroce_mcast_walk walk;
	struct pair_host *host;
	struct pair pair;

	(void)state;
	pair_open(&pair, &conf);
	for (unsigned side = A; side <= B; side++) {
		assert_int_equal(uroce_mcast_attach(table, group4, &pair.host[side]), 0);
		pair_post_recv(&pair, (enum pair_side)side, 0, 100);
	}
	uroce_mcast_walk_begin(&walk, table, group4);
	while ((host = uroce_mcast_walk_next(&walk)))
		assert_int_equal(pair_inject(&pair, host->side, &pkt), UROCE_VERDICT_DATAGRAM);
	pair_expect_done(&pair, A, "recv 0 RECV SUCCESS 45 from 77\n");
	pair_expect_done(&pair, B, "recv 0 RECV SUCCESS 45 from 77\n");
	pair_close(&pair);
}

static void
pkt_dgid__of_both_families(void **state)
{
	const struct uroce_ipv4 ip4 = { .dst = { 239, 1, 2, 3 } };
	struct uroce_ipv6 ip6 = { .hop_limit = 1 };
	struct uroce_pkt pkt = { .ip = (const uint8_t *)&ip4 };
	uint8_t gid[16];

	(void)state;
	uroce_pkt_dgid(&pkt, gid);
	assert_memory_equal(gid, group4, 16);
	memcpy(ip6.dst, group6, 16);
	pkt = (struct uroce_pkt){ .ip = (const uint8_t *)&ip6, .is_ipv6 = true };
	uroce_pkt_dgid(&pkt, gid);
	assert_memory_equal(gid, group6, 16);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gid_is_multicast__both_families),
		TEST(mcast_attach__each_group_has_its_members),
		TEST(mcast_attach__twice_is_once),
		TEST(mcast_attach__refusals),
		TEST(mcast_detach__first_middle_and_last),
		TEST(mcast_walk__goes_on_behind_a_member_that_leaves),
		TEST(qpc_recv__each_member_takes_a_receive_of_its_own),
		cmocka_unit_test(pkt_dgid__of_both_families),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
