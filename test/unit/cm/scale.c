/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * 20,000 connections at a time. The test uses no clock. It checks how many ids a call may have to
 * look at (the length of hash chains, the depth of the timer heap), and how many ports are tried.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cm/context.h"
#include "ends.h"

#define NB_CONNS 20000u
#define MAX_IDS  65536u

/*
 * Maximum length of a chain: if there are as many buckets as ids, longer chains are very unlikely.
 */
#define MAX_CHAIN 12u

static unsigned
longest_chain(const struct uroce_id_table *table)
{
	unsigned longest = 0;

	for (uint32_t bucket = 0; bucket <= table->mask; bucket++) {
		unsigned len = 0;

		for (uint32_t id = table->first[bucket]; id != UROCE_ID_TABLE_END;
		     id = table->next[id])
			len++;
		longest = len > longest ? len : longest;
	}
	return longest;
}

static void
expect_short_chains(const struct uroce_cm *cm)
{
	assert_in_range(longest_chain(&cm->by_local), 0, MAX_CHAIN);
	assert_in_range(longest_chain(&cm->by_remote), 0, MAX_CHAIN);
	assert_in_range(longest_chain(&cm->by_peer_qpn), 0, MAX_CHAIN);
	assert_in_range(longest_chain(&cm->by_qpn), 0, MAX_CHAIN);
	assert_in_range(longest_chain(&cm->by_port), 0, MAX_CHAIN);
}

static void
make_large(struct ends *ends)
{
	ends->a.conf.max_ids = MAX_IDS;
	ends->b.conf.max_ids = MAX_IDS;
	ends->b.conf.max_backlog = NB_CONNS;
	end_restart(&ends->a);
	end_restart(&ends->b);
}

/*
 * Deliver all messages without a log. Respond to each event as a user would do, and count the
 * events.
 */
static void
exchange(struct ends *ends, unsigned nb_events[UROCE_CM_EVENT_NB])
{
	struct uroce_cm_event event;
	struct uroce_cm_param param = { .qpn = 2 };
	struct uroce_cm_msg msg;
	struct uroce_cm_tx tx;
	bool is_moving = true;

	while (is_moving) {
		is_moving = false;
		for (unsigned i = 0; i < 2; i++) {
			struct end *end = i ? &ends->b : &ends->a;
			struct end *peer = ends_peer(ends, end);

			while (uroce_cme_next_event(end->cm, &event)) {
				is_moving = true;
				nb_events[event.kind]++;
				param.qpn = 0x1000 + event.id;
				if (event.kind == UROCE_CM_EVENT_CONNECT_REQUEST)
					assert_int_equal(uroce_cme_accept(end->cm, event.id, &param,
									  ends->now_ns),
							 0);
				if (event.kind == UROCE_CM_EVENT_CONNECT_RESPONSE)
					assert_int_equal(uroce_cme_establish(end->cm, event.id,
									     NULL, 0, ends->now_ns),
							 0);
			}
			while (uroce_cme_send(end->cm, &tx, 1, ends->now_ns)) {
				is_moving = true;
				assert_int_equal(uroce_cm_parse(tx.mad, &msg),
						 UROCE_CM_VERDICT_ACCEPTED);
				end_give(ends, peer, &msg);
			}
		}
	}
}

static void
connections__20000_at_a_time(void **state)
{
	struct ends *ends = *state;
	unsigned nb_events[UROCE_CM_EVENT_NB] = { 0 };
	uint32_t *ids = calloc(NB_CONNS, sizeof(*ids));
	uint32_t listener;

	assert_non_null(ids);
	make_large(ends);
	listener = end_listen(&ends->b, PORT);
	for (uint32_t i = 0; i < NB_CONNS; i++)
		ids[i] = end_connect(ends, &ends->a, 0x1000 + i);
	/*
	 * each connection has a timer; the depth of the timer heap is the logarithm of their number
	 */
	assert_int_equal(ends->a.cm->timers.nb, NB_CONNS);
	exchange(ends, nb_events);
	assert_int_equal(nb_events[UROCE_CM_EVENT_CONNECT_REQUEST], NB_CONNS);
	assert_int_equal(nb_events[UROCE_CM_EVENT_ESTABLISHED], NB_CONNS);
	assert_true(uroce_cme_deadline(ends->a.cm) == UROCE_CM_NEVER);
	assert_true(uroce_cme_deadline(ends->b.cm) == UROCE_CM_NEVER);
	expect_short_chains(ends->a.cm);
	expect_short_chains(ends->b.cm);
	for (uint32_t i = 0; i < NB_CONNS; i++)
		uroce_cme_destroy(ends->a.cm, ids[i], ends->now_ns);
	exchange(ends, nb_events);
	assert_int_equal(nb_events[UROCE_CM_EVENT_DISCONNECTED], NB_CONNS);
	/*
	 * the user of B does not react: B sends its DREPs after 100 ms, before a DREQ of A times
	 * out
	 */
	ends->now_ns = 100 * MSEC;
	uroce_cme_expire(ends->b.cm, ends->now_ns);
	exchange(ends, nb_events);
	ends->now_ns = 3000 * MSEC;
	uroce_cme_expire(ends->a.cm, ends->now_ns);
	uroce_cme_expire(ends->b.cm, ends->now_ns);
	exchange(ends, nb_events);
	assert_int_equal(nb_events[UROCE_CM_EVENT_TIMEWAIT_EXIT], NB_CONNS);
	assert_int_equal(ends->a.cm->nb_ids, 0);
	assert_int_equal(ends->b.cm->nb_ids, NB_CONNS + 1);
	uroce_cme_destroy(ends->b.cm, listener, ends->now_ns);
	free(ids);
}

static void
services__tell_one_qp_to_20000_hosts(void **state)
{
	struct ends *ends = *state;
	struct uroce_cm_addr addr = ends->b.ip;
	struct uroce_cm_msg req = { .attr = UROCE_CM_SIDR_REQ };
	const struct uroce_cm_param param = { .qpn = 0x22, .qkey = 1 };
	struct uroce_cm_event event;
	struct uroce_cm_tx tx;
	uint32_t id;

	make_large(ends);
	addr.port = PORT;
	assert_int_equal(uroce_cme_create(ends->b.cm, UROCE_CM_PS_IB, true, 0, &id), 0);
	assert_int_equal(uroce_cme_bind(ends->b.cm, id, &addr, false, false), 0);
	assert_int_equal(uroce_cme_listen(ends->b.cm, id, 0), 0);
	req.sidr_req.service_id = uroce_cm_service_id(UROCE_CM_PS_IB, PORT);
	for (uint32_t i = 0; i < NB_CONNS; i++) {
		req.sidr_req.request_id = i + 1;
		end_give(ends, &ends->b, &req);
		assert_true(uroce_cme_next_event(ends->b.cm, &event));
		assert_int_equal(uroce_cme_accept(ends->b.cm, event.id, &param, 0), 0);
		uroce_cme_destroy(ends->b.cm, event.id, 0);
		assert_int_equal(uroce_cme_send(ends->b.cm, &tx, 1, 0), 1);
	}
	assert_int_equal(ends->b.cm->nb_ids, NB_CONNS + 1);
	expect_short_chains(ends->b.cm);
	assert_int_equal(uroce_cme_qpn_busy_until(ends->b.cm, 0x22), 0);
}

static void
rep__with_one_comm_id_for_all_makes_no_long_chain(void **state)
{
	struct ends *ends = *state;
	struct uroce_cm_msg req;
	struct uroce_cm_msg rep = { .attr = UROCE_CM_REP };

	make_large(ends);
	for (uint32_t i = 0; i < 1000; i++) {
		(void)end_connect(ends, &ends->a, 0x1000 + i);
		assert_true(end_take(ends, &ends->a, &req));
		ends->log_len = 0;
		rep.tid = req.tid;
		rep.rep.local_comm_id = 7;
		rep.rep.remote_comm_id = req.req.local_comm_id;
		rep.rep.local_qpn = 0x1000 + i;
		end_give(ends, &ends->a, &rep);
	}
	expect_short_chains(ends->a.cm);
}

static void
bind__finds_the_last_free_port(void **state)
{
	struct ends *ends = *state;
	struct uroce_cm_addr any = ends->b.ip;
	const uint32_t nb_ports = 60999 - 32768 + 1;
	struct uroce_cm_info info;
	uint32_t first = UROCE_CM_NO_ID;
	uint32_t id;

	make_large(ends);
	for (uint32_t i = 0; i < nb_ports; i++) {
		assert_int_equal(uroce_cme_create(ends->b.cm, UROCE_CM_PS_TCP, false, 0, &id), 0);
		assert_int_equal(uroce_cme_bind(ends->b.cm, id, &any, false, false), 0);
		if (i == nb_ports / 2)
			first = id;
	}
	/*
	 * all ports are in use once: when one port becomes free, the next bind finds it in the
	 * bitmap
	 */
	expect_short_chains(ends->b.cm);
	uroce_cme_query(ends->b.cm, first, &info);
	uroce_cme_destroy(ends->b.cm, first, 0);
	assert_int_equal(uroce_cme_create(ends->b.cm, UROCE_CM_PS_TCP, false, 0, &id), 0);
	assert_int_equal(uroce_cme_bind(ends->b.cm, id, &any, false, false), 0);
	{
		const uint16_t port = info.local.port;

		uroce_cme_query(ends->b.cm, id, &info);
		assert_int_equal(info.local.port, port);
	}
	assert_int_equal(uroce_cme_create(ends->b.cm, UROCE_CM_PS_TCP, false, 0, &id), 0);
	assert_int_equal(uroce_cme_bind(ends->b.cm, id, &any, false, false), -EADDRNOTAVAIL);
	/* these ports may also be bound at another address, and in another port space */
	any.ip[15]++;
	assert_int_equal(uroce_cme_bind(ends->b.cm, id, &any, false, false), 0);
	assert_int_equal(uroce_cme_create(ends->b.cm, UROCE_CM_PS_UDP, true, 0, &id), 0);
	assert_int_equal(uroce_cme_bind(ends->b.cm, id, &ends->b.ip, false, false), 0);
}

/*
 * A bind to any port does not try all ports that have an id. Here a single one of them is free at
 * the address of the bind.
 */
static void
bind__tries_few_ports_that_have_an_id(void **state)
{
	struct ends *ends = *state;
	const struct uroce_cm_addr any = { .ip_version = 4 };
	struct uroce_cm_addr one = ends->b.ip, other = ends->b.ip;
	unsigned nb_found = 0;
	uint32_t id;

	make_large(ends);
	one.port = 40000;
	other.ip[15]++;
	assert_int_equal(uroce_cme_create(ends->b.cm, UROCE_CM_PS_TCP, false, 0, &id), 0);
	assert_int_equal(uroce_cme_bind(ends->b.cm, id, &one, false, false), 0);
	for (uint32_t i = 1; i < 60999 - 32768 + 1; i++) {
		assert_int_equal(uroce_cme_create(ends->b.cm, UROCE_CM_PS_TCP, false, 0, &id), 0);
		assert_int_equal(uroce_cme_bind(ends->b.cm, id, &any, false, false), 0);
	}
	for (unsigned i = 0; i < 8; i++) {
		assert_int_equal(uroce_cme_create(ends->b.cm, UROCE_CM_PS_TCP, false, 0, &id), 0);
		nb_found += uroce_cme_bind(ends->b.cm, id, &other, false, false) == 0;
		uroce_cme_destroy(ends->b.cm, id, 0);
	}
	assert_in_range(nb_found, 0, 2);
}

/*
 * Many ids may share a port, but not so many that a look-up of the port takes long. Each port has
 * its own limit: another port, and a port that an id has left, can be bound.
 */
static void
bind__of_a_port_that_many_share_is_limited(void **state)
{
	struct ends *ends = *state;
	struct uroce_cm_addr addr = ends->b.ip;
	uint32_t nb = 0;
	uint32_t id, last = UROCE_CM_NO_ID;
	int ret;

	make_large(ends);
	addr.port = PORT;
	for (ret = 0; ret == 0; nb++) {
		assert_int_equal(uroce_cme_create(ends->b.cm, UROCE_CM_PS_TCP, false, 0, &id), 0);
		/* ids at different addresses count together for the limit of the port */
		addr.ip[14] = (uint8_t)(nb % 2);
		ret = uroce_cme_bind(ends->b.cm, id, &addr, false, true);
		last = ret == 0 ? id : last;
		assert_in_range(nb, 0, UROCE_CM_SHARE_MAX);
	}
	assert_int_equal(ret, -EADDRINUSE);
	assert_int_equal(longest_chain(&ends->b.cm->by_port), UROCE_CM_SHARE_MAX);
	addr.port++;
	assert_int_equal(uroce_cme_bind(ends->b.cm, id, &addr, false, true), 0);
	uroce_cme_destroy(ends->b.cm, last, 0);
	addr.port--;
	assert_int_equal(uroce_cme_create(ends->b.cm, UROCE_CM_PS_TCP, false, 0, &id), 0);
	assert_int_equal(uroce_cme_bind(ends->b.cm, id, &addr, false, true), 0);
}

/*
 * The number of ids with one QP number is limited as well, because a user may name any QP number.
 */
static void
qpn__that_many_share_is_limited(void **state)
{
	struct ends *ends = *state;
	const struct uroce_cm_param param = { .qpn = 0x11, .mtu_code = 3 };
	struct uroce_cm_addr remote = ends->b.ip;
	struct uroce_cm_av av = { .hop_limit = 64 };
	uint32_t id;

	make_large(ends);
	remote.port = PORT;
	memcpy(av.local_gid, ends->a.gid, 16);
	memcpy(av.remote_gid, ends->b.gid, 16);
	for (uint32_t i = 0; i <= UROCE_CM_SHARE_MAX; i++) {
		assert_int_equal(uroce_cme_create(ends->a.cm, UROCE_CM_PS_TCP, false, 0, &id), 0);
		assert_int_equal(uroce_cme_bind(ends->a.cm, id, &ends->a.ip, false, false), 0);
		assert_int_equal(uroce_cme_connect(ends->a.cm, id, &remote, &av, &param, 0),
				 i < UROCE_CM_SHARE_MAX ? 0 : -EBUSY);
	}
	expect_state(&ends->a, id, UROCE_CM_STATE_IDLE);
	assert_in_range(longest_chain(&ends->a.cm->by_qpn), UROCE_CM_SHARE_MAX,
			UROCE_CM_SHARE_MAX + MAX_CHAIN);
}

/*
 * A request finds its listener without a search of the ids that have the same port at other
 * addresses, whether those ids listen or not.
 */
static void
request__finds_its_listener_among_many_at_the_port(void **state)
{
	struct ends *ends = *state;
	struct uroce_cm_addr addr = ends->b.ip;
	struct uroce_cm_event event;
	uint32_t listener, id;

	addr.port = PORT;
	addr.ip[13] = 2;
	make_large(ends);
	listener = end_listen(&ends->b, PORT);
	for (uint32_t i = 1; i < UROCE_CM_SHARE_MAX; i++) {
		addr.ip[14] = (uint8_t)(i >> 8);
		addr.ip[15] = (uint8_t)i;
		assert_int_equal(uroce_cme_create(ends->b.cm, UROCE_CM_PS_TCP, false, 0, &id), 0);
		assert_int_equal(uroce_cme_bind(ends->b.cm, id, &addr, false, false), 0);
		if (i % 2)
			assert_int_equal(uroce_cme_listen(ends->b.cm, id, 0), 0);
	}
	assert_in_range(longest_chain(&ends->b.cm->by_listening), 1, MAX_CHAIN);
	(void)end_connect(ends, &ends->a, 0x11);
	ends_settle(ends);
	event = expect_event(&ends->b, UROCE_CM_EVENT_CONNECT_REQUEST, UROCE_CM_NO_ID);
	assert_int_equal(event.listener, listener);
	/* a listener that was destroyed does not get the request */
	uroce_cme_destroy(ends->b.cm, listener, ends->now_ns);
	(void)end_connect(ends, &ends->a, 0x12);
	ends_settle(ends);
	(void)expect_event(&ends->a, UROCE_CM_EVENT_REJECTED, UROCE_CM_NO_ID);
	expect_no_event(&ends->b);
}

/* Timers that expire at the same time are processed in parts. */
static void
timers__that_expire_at_once_are_processed_in_parts(void **state)
{
	struct ends *ends = *state;
	struct uroce_cm_tx tx[100];

	make_large(ends);
	for (uint32_t i = 0; i < 100; i++)
		(void)end_connect(ends, &ends->a, 0x1000 + i);
	assert_int_equal(uroce_cme_send(ends->a.cm, tx, 100, 0), 100);
	ends->now_ns = uroce_cme_deadline(ends->a.cm);
	for (unsigned nb = 30; nb < 100; nb += 30) {
		assert_true(uroce_cme_expire_some(ends->a.cm, ends->now_ns, 30));
		assert_int_equal(uroce_cme_send(ends->a.cm, tx, 100, ends->now_ns), 30);
	}
	assert_false(uroce_cme_expire_some(ends->a.cm, ends->now_ns, 30));
	assert_int_equal(uroce_cme_send(ends->a.cm, tx, 100, ends->now_ns), 10);
}

static void
memory__of_an_id_is_bounded(void **state)
{
	const struct uroce_cm_conf none = { .max_ids = 1 };
	const struct uroce_cm_conf many = { .max_ids = MAX_IDS };
	const size_t len = uroce_cme_memsize(&many) - uroce_cme_memsize(&none);

	(void)state;
	print_message("%zu bytes for the engine, %zu bytes for each of %u ids\n",
		      uroce_cme_memsize(&none), len / MAX_IDS, MAX_IDS);
	assert_in_range(len / MAX_IDS, 1, 1024);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, ends_setup, ends_teardown)
	const struct CMUnitTest tests[] = {
		TEST(connections__20000_at_a_time),
		TEST(services__tell_one_qp_to_20000_hosts),
		TEST(rep__with_one_comm_id_for_all_makes_no_long_chain),
		TEST(bind__finds_the_last_free_port),
		TEST(bind__tries_few_ports_that_have_an_id),
		TEST(bind__of_a_port_that_many_share_is_limited),
		TEST(qpn__that_many_share_is_limited),
		TEST(request__finds_its_listener_among_many_at_the_port),
		TEST(timers__that_expire_at_once_are_processed_in_parts),
		TEST(memory__of_an_id_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
