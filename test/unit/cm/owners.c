/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Several users (owners) that share a CM engine: each gets the events of its own ids only, and has
 * at most as many ids as its account allows.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "ends.h"

#define NB_OWNERS 3

static int
setup(void **state)
{
	struct ends *ends;

	(void)ends_setup(state);
	ends = *state;
	ends->b.conf.max_owners = NB_OWNERS;
	end_restart(&ends->b);
	return 0;
}

/* Create a listener at B that belongs to `owner`. */
static uint32_t
listen_for(struct ends *ends, uint16_t port, uint16_t owner)
{
	const uint32_t id = end_listen(&ends->b, port);

	uroce_cme_set_owner(ends->b.cm, id, owner);
	return id;
}

static void
request__goes_to_the_owner_of_its_listener(void **state)
{
	struct ends *ends = *state;
	const uint32_t listener = listen_for(ends, PORT, 2);
	struct uroce_cm_event event;

	(void)end_connect(ends, &ends->a, 0x11);
	ends_settle(ends);
	assert_false(uroce_cme_has_owner_event(ends->b.cm, 0));
	assert_false(uroce_cme_has_owner_event(ends->b.cm, 1));
	assert_true(uroce_cme_has_owner_event(ends->b.cm, 2));
	assert_false(uroce_cme_next_event(ends->b.cm, &event));
	assert_false(uroce_cme_next_owner_event(ends->b.cm, 1, &event));
	assert_true(uroce_cme_next_owner_event(ends->b.cm, 2, &event));
	assert_int_equal(event.kind, UROCE_CM_EVENT_CONNECT_REQUEST);
	assert_int_equal(event.listener, listener);
	assert_false(uroce_cme_has_owner_event(ends->b.cm, 2));
	/* the new id belongs to owner 2, who also gets its later events */
	assert_true(uroce_cme_is_owner(ends->b.cm, event.id, 2));
	end_accept(ends, &ends->b, event.id, 0x22);
	ends_settle(ends);
	assert_int_equal(uroce_cme_establish(ends->b.cm, event.id, NULL, 0, ends->now_ns), 0);
	assert_true(uroce_cme_next_owner_event(ends->b.cm, 2, &event));
	assert_int_equal(event.kind, UROCE_CM_EVENT_ESTABLISHED);
}

static void
is_owner__of_ids_that_the_user_knows(void **state)
{
	struct ends *ends = *state;
	const uint32_t listener = listen_for(ends, PORT, 1);
	struct uroce_cm_event event;
	uint32_t nb_owned = 0;

	assert_true(uroce_cme_is_owner(ends->b.cm, listener, 1));
	assert_false(uroce_cme_is_owner(ends->b.cm, listener, 0));
	assert_false(uroce_cme_is_owner(ends->b.cm, UROCE_CM_NO_ID, 1));
	assert_false(uroce_cme_is_owner(ends->b.cm, ends->b.conf.max_ids, 1));
	/* the id of a request belongs to no user before the event of the request is taken */
	(void)end_connect(ends, &ends->a, 0x11);
	ends_settle(ends);
	for (uint32_t id = 0; id < ends->b.conf.max_ids; id++)
		nb_owned += uroce_cme_is_owner(ends->b.cm, id, 1);
	assert_int_equal(nb_owned, 1);
	assert_true(uroce_cme_next_owner_event(ends->b.cm, 1, &event));
	assert_true(uroce_cme_is_owner(ends->b.cm, event.id, 1));
	uroce_cme_destroy(ends->b.cm, event.id, ends->now_ns);
	assert_false(uroce_cme_is_owner(ends->b.cm, event.id, 1));
}

static void
destroy_owned__leaves_the_ids_of_others(void **state)
{
	struct ends *ends = *state;
	const uint32_t kept = listen_for(ends, PORT + 1, 0);
	const uint32_t listener = listen_for(ends, PORT, 1);
	struct uroce_cm_event event;
	uint32_t a[2];

	/* two requests arrive, and the owner takes the event of one of them */
	for (unsigned i = 0; i < 2; i++)
		a[i] = end_connect(ends, &ends->a, 0x11 + i);
	ends_settle(ends);
	assert_true(uroce_cme_next_owner_event(ends->b.cm, 1, &event));
	uroce_cme_destroy_owned(ends->b.cm, 1, ends->now_ns);
	assert_false(uroce_cme_has_owner_event(ends->b.cm, 1));
	assert_false(uroce_cme_is_owner(ends->b.cm, listener, 1));
	assert_false(uroce_cme_is_owner(ends->b.cm, event.id, 1));
	assert_true(uroce_cme_is_owner(ends->b.cm, kept, 0));
	ends_settle(ends);
	for (unsigned i = 0; i < 2; i++)
		(void)expect_event(&ends->a, UROCE_CM_EVENT_REJECTED, UROCE_CM_NO_ID);
	for (unsigned i = 0; i < 2; i++)
		expect_state(&ends->a, a[i], UROCE_CM_STATE_CLOSED);
}

/* --- ids of accounts ----------------------------------------------------------------------------- */

#define NB_IDS      64u
#define NB_REQUESTS 40u /* more than an account may have, and fewer than NB_IDS */

/*
 * Setup function: the engine of B limits the ids of accounts; owners 1 and 2 have one account each.
 */
static int
setup_accounts(void **state)
{
	struct ends *ends;

	(void)setup(state);
	ends = *state;
	ends->b.conf.max_ids = NB_IDS;
	ends->b.conf.max_backlog = NB_IDS;
	ends->b.conf.has_accounts = true;
	end_restart(&ends->b);
	uroce_cme_set_account(ends->b.cm, 1, 1000);
	uroce_cme_set_account(ends->b.cm, 2, 1001);
	return 0;
}

/*
 * Create ids for an owner until its account allows no more.
 * @return the number of ids that were created
 */
static unsigned
create_all(struct ends *ends, uint16_t owner)
{
	unsigned nb = 0;
	uint32_t id;

	while (uroce_cme_check_account(ends->b.cm, owner) == 0) {
		assert_int_equal(uroce_cme_create(ends->b.cm, UROCE_CM_PS_TCP, false, 0, &id), 0);
		uroce_cme_set_owner(ends->b.cm, id, owner);
		nb++;
	}
	assert_int_equal(uroce_cme_check_account(ends->b.cm, owner), -EDQUOT);
	return nb;
}

static void
account__has_as_many_ids_as_are_free(void **state)
{
	struct ends *ends = *state;

	assert_int_equal(create_all(ends, 1), NB_IDS / 2);
	assert_int_equal(create_all(ends, 2), NB_IDS / 4);
	/*
	 * owner 0 has its own account at first; then it shares the account of owner 1, which is
	 * full
	 */
	assert_int_equal(uroce_cme_check_account(ends->b.cm, 0), 0);
	uroce_cme_set_account(ends->b.cm, 0, 1000);
	assert_int_equal(uroce_cme_check_account(ends->b.cm, 0), -EDQUOT);
	uroce_cme_destroy_owned(ends->b.cm, 1, ends->now_ns);
	assert_int_equal(create_all(ends, 0), (NB_IDS - NB_IDS / 4) / 2);
}

static void
account__is_not_limited_by_default(void **state)
{
	struct ends *ends = *state;
	uint32_t id;

	ends->b.conf.max_ids = NB_IDS;
	end_restart(&ends->b);
	for (unsigned i = 0; i < NB_IDS; i++) {
		assert_int_equal(uroce_cme_check_account(ends->b.cm, 0), 0);
		assert_int_equal(uroce_cme_create(ends->b.cm, UROCE_CM_PS_TCP, false, 0, &id), 0);
	}
	assert_int_equal(uroce_cme_create(ends->b.cm, UROCE_CM_PS_TCP, false, 0, &id), -ENOMEM);
}

/*
 * A destroyed id counts for its account until the peer has confirmed the DREQ, or the DREQ has
 * timed out.
 */
static void
account__has_destroyed_ids_that_wait_for_the_peer(void **state)
{
	struct ends *ends = *state;
	const uint32_t listener = listen_for(ends, PORT, 1);
	struct uroce_cm_event event;
	unsigned nb = 0;

	for (; nb < NB_IDS / 4; nb++) {
		const uint32_t a = end_connect(ends, &ends->a, 0x11 + nb);

		ends_settle(ends);
		assert_true(uroce_cme_next_owner_event(ends->b.cm, 1, &event));
		end_accept(ends, &ends->b, event.id, 0x22 + nb);
		ends_settle(ends);
		assert_int_equal(uroce_cme_establish(ends->a.cm, a, NULL, 0, ends->now_ns), 0);
		ends_settle(ends);
		uroce_cme_destroy(ends->b.cm, event.id, ends->now_ns);
		/* lose the messages of B, so that the peer never confirms */
		while (uroce_cme_has_tx(ends->b.cm)) {
			struct uroce_cm_msg msg;

			assert_true(end_take(ends, &ends->b, &msg));
		}
	}
	assert_int_equal(create_all(ends, 1), NB_IDS / 2 - nb - 1);
	assert_true(uroce_cme_is_owner(ends->b.cm, listener, 1));
	uroce_cme_destroy_owned(ends->b.cm, 1, ends->now_ns);
	assert_int_equal(create_all(ends, 1), NB_IDS / 2 - nb);
	uroce_cme_destroy_owned(ends->b.cm, 1, ends->now_ns);
	ends_pass_deaf(ends, 200 * 1000 * MSEC, &ends->b);
	assert_int_equal(create_all(ends, 1), NB_IDS / 2);
}

/*
 * A request counts for the account of its listener, also before the owner takes the event. So
 * requests to one listener do not use up the ids that other accounts need.
 */
static void
account__has_the_requests_of_its_listeners(void **state)
{
	struct ends *ends = *state;
	unsigned nb_rejected = 0;
	struct uroce_cm_event event;

	(void)listen_for(ends, PORT, 1);
	for (unsigned i = 0; i < NB_REQUESTS; i++)
		(void)end_connect(ends, &ends->a, 0x11 + i);
	ends_settle(ends);
	while (uroce_cme_next_event(ends->a.cm, &event)) {
		assert_int_equal(event.kind, UROCE_CM_EVENT_REJECTED);
		assert_int_equal(event.status, UROCE_CM_REASON_NO_RESOURCES);
		nb_rejected++;
	}
	/*
	 * an eighth of the ids is reserved for users; one account gets half of the rest, and the
	 * listener uses one
	 */
	assert_int_equal(NB_REQUESTS - nb_rejected, (NB_IDS - NB_IDS / 8) / 2 - 1);
	assert_int_equal(uroce_cme_stats(ends->b.cm)->nb_no_id, nb_rejected);
	/*
	 * free the port and the ids of the first account: a listener of the second account gets
	 * requests
	 */
	uroce_cme_destroy_owned(ends->b.cm, 1, ends->now_ns);
	(void)listen_for(ends, PORT, 2);
	(void)end_connect(ends, &ends->a, 0x100);
	ends_settle(ends);
	assert_true(uroce_cme_next_owner_event(ends->b.cm, 2, &event));
	assert_int_equal(event.kind, UROCE_CM_EVENT_CONNECT_REQUEST);
}

/* --- ports of accounts --------------------------------------------------------------------------- */

#define FIRST_PORT 40000u
#define NB_PORTS   16u

/* Setup function: setup_accounts(), and NB_PORTS ephemeral ports. */
static int
setup_ports(void **state)
{
	struct ends *ends;

	(void)setup_accounts(state);
	ends = *state;
	ends->b.conf.first_port = FIRST_PORT;
	ends->b.conf.last_port = FIRST_PORT + NB_PORTS - 1;
	end_restart(&ends->b);
	uroce_cme_set_account(ends->b.cm, 1, 1000);
	uroce_cme_set_account(ends->b.cm, 2, 1001);
	return 0;
}

/* Create an id of an owner, and bind it to a port. @return the result of uroce_cme_bind() */
static int
bind_for(struct ends *ends, uint16_t owner, uint16_t space, uint16_t port, uint32_t *id)
{
	struct uroce_cm_addr addr = ends->b.ip;
	int ret;

	addr.port = port;
	assert_int_equal(uroce_cme_create(ends->b.cm, space, false, 0, id), 0);
	uroce_cme_set_owner(ends->b.cm, *id, owner);
	ret = uroce_cme_bind(ends->b.cm, *id, &addr, false, false);
	if (ret)
		uroce_cme_destroy(ends->b.cm, *id, ends->now_ns);
	return ret;
}

/*
 * Bind ids of an owner to any port until its account allows no more.
 * @return the number of ports
 */
static unsigned
bind_all(struct ends *ends, uint16_t owner, uint16_t space)
{
	unsigned nb = 0;
	uint32_t id;
	int ret;

	while ((ret = bind_for(ends, owner, space, 0, &id)) == 0)
		nb++;
	assert_int_equal(ret, -EDQUOT);
	return nb;
}

static void
account__has_as_many_ports_as_are_free(void **state)
{
	struct ends *ends = *state;
	uint32_t named, other;
	uint16_t port;

	/* a port that is named in the bind counts as well, if it is in the ephemeral range */
	assert_int_equal(bind_for(ends, 1, UROCE_CM_PS_TCP, FIRST_PORT, &named), 0);
	assert_int_equal(bind_all(ends, 1, UROCE_CM_PS_TCP), NB_PORTS / 2 - 1);
	for (port = FIRST_PORT; port < FIRST_PORT + NB_PORTS; port++)
		assert_int_equal(bind_for(ends, 1, UROCE_CM_PS_TCP, port, &other), -EDQUOT);
	/* ports outside of the range are not limited, and each port space has its own limit */
	assert_int_equal(bind_for(ends, 1, UROCE_CM_PS_TCP, FIRST_PORT - 1, &other), 0);
	assert_int_equal(bind_for(ends, 1, UROCE_CM_PS_TCP, port, &other), 0);
	assert_int_equal(bind_all(ends, 1, UROCE_CM_PS_UDP), NB_PORTS / 2);
	assert_int_equal(bind_all(ends, 2, UROCE_CM_PS_TCP), NB_PORTS / 4);
	/* the port of a destroyed id is free */
	uroce_cme_destroy(ends->b.cm, named, ends->now_ns);
	assert_int_equal(bind_all(ends, 1, UROCE_CM_PS_TCP), 0);
	assert_int_equal(bind_all(ends, 2, UROCE_CM_PS_TCP), 1);
	uroce_cme_destroy_owned(ends->b.cm, 1, ends->now_ns);
	assert_int_equal(bind_all(ends, 2, UROCE_CM_PS_TCP), NB_PORTS / 2 - NB_PORTS / 4 - 1);
}

/*
 * If ids share one port, the other ports stay free. Each of the ids counts as if it had a port
 * alone.
 */
static void
account__has_ids_that_share_a_port(void **state)
{
	struct ends *ends = *state;
	struct uroce_cm_addr addr = ends->b.ip;
	unsigned nb = 0;
	uint32_t id;

	addr.port = FIRST_PORT;
	for (int ret = 0; ret == 0; nb++) {
		assert_int_equal(uroce_cme_create(ends->b.cm, UROCE_CM_PS_TCP, false, 0, &id), 0);
		uroce_cme_set_owner(ends->b.cm, id, 1);
		ret = uroce_cme_bind(ends->b.cm, id, &addr, false, true);
		assert_true(ret == 0 || ret == -EDQUOT);
	}
	assert_int_equal(nb - 1, NB_PORTS - 1);
	assert_int_equal(bind_all(ends, 2, UROCE_CM_PS_TCP), (NB_PORTS - 1) / 2 + 1);
}

/* Ports are not limited in an engine without accounts. */
static void
port__is_not_limited_by_default(void **state)
{
	struct ends *ends = *state;
	unsigned nb = 0;
	uint32_t id;
	int ret;

	ends->b.conf.max_ids = NB_IDS;
	ends->b.conf.first_port = FIRST_PORT;
	ends->b.conf.last_port = FIRST_PORT + NB_PORTS - 1;
	end_restart(&ends->b);
	while ((ret = bind_for(ends, 0, UROCE_CM_PS_TCP, 0, &id)) == 0)
		nb++;
	assert_int_equal(ret, -EADDRNOTAVAIL);
	assert_int_equal(nb, NB_PORTS);
}

/*
 * A message to transmit names the account of its id. A reply to a peer without an id names no
 * account.
 */
static void
send__names_the_account(void **state)
{
	struct ends *ends = *state;
	struct uroce_cm_tx tx[3];

	for (unsigned i = 0; i < 2; i++) {
		uroce_cme_set_account(ends->b.cm, 0, 1000 + i);
		(void)end_connect(ends, &ends->b, 0x11 + i);
	}
	assert_int_equal(uroce_cme_send(ends->b.cm, tx, 3, ends->now_ns), 2);
	assert_true(tx[0].has_id && tx[0].is_request && tx[1].has_id && tx[1].is_request);
	assert_int_not_equal(tx[0].account_idx, tx[1].account_idx);
	assert_in_range(tx[0].account_idx, 0, UROCE_CM_NB_ACCOUNTS - 1);
	/* no id listens at B, so B replies with a REJ that belongs to no id */
	(void)end_connect(ends, &ends->a, 0x21);
	ends_move(ends, &ends->a, UROCE_CM_REQ);
	assert_int_equal(uroce_cme_send(ends->b.cm, tx, 3, ends->now_ns), 1);
	assert_false(tx[0].has_id || tx[0].is_request || tx[0].account_idx);
}

/* Check that the next messages of B are REQs of these QPs. */
static void
expect_reqs(struct ends *ends, const uint32_t *qpns, unsigned nb)
{
	struct uroce_cm_msg msg;

	for (unsigned i = 0; i < nb; i++) {
		assert_true(end_take(ends, &ends->b, &msg));
		assert_int_equal(msg.attr, UROCE_CM_REQ);
		assert_int_equal(msg.req.local_qpn, qpns[i]);
	}
}

/* Connect from B with the QPs from `qpn` on, for an account. @return the first id */
static uint32_t
connect_many(struct ends *ends, uint32_t account, uint32_t qpn, unsigned nb)
{
	uint32_t id;

	uroce_cme_set_account(ends->b.cm, 0, account);
	id = end_connect(ends, &ends->b, qpn);
	for (unsigned i = 1; i < nb; i++)
		(void)end_connect(ends, &ends->b, qpn + i);
	return id;
}

static void
requests__of_accounts_take_turns(void **state)
{
	static const uint32_t turns[] = { 0x100, 0x200, 0x300, 0x101, 0x201, 0x102, 0x103 };
	static const uint32_t later[] = { 0x104, 0x202, 0x105 };
	struct ends *ends = *state;

	(void)connect_many(ends, 1000, 0x100, 20);
	(void)connect_many(ends, 1001, 0x200, 2);
	(void)connect_many(ends, 1002, 0x300, 1);
	expect_reqs(ends, turns, 7);
	/* after all requests of an account were sent, a new request of the account gets a turn */
	(void)connect_many(ends, 1001, 0x202, 1);
	expect_reqs(ends, later, 3);
}

static void
requests__that_are_withdrawn_take_no_turn(void **state)
{
	static const uint32_t turns[] = { 0x101, 0x300, 0x102, 0x301, 0x302 };
	struct ends *ends = *state;
	const uint32_t first = connect_many(ends, 1000, 0x100, 3);
	const uint32_t only = connect_many(ends, 1001, 0x200, 1);

	(void)connect_many(ends, 1002, 0x300, 3);
	/* the account of an id may change while its request waits */
	uroce_cme_set_owner(ends->b.cm, only, 1);
	uroce_cme_destroy(ends->b.cm, first, ends->now_ns);
	uroce_cme_destroy(ends->b.cm, only, ends->now_ns);
	expect_reqs(ends, turns, 5);
	assert_false(uroce_cme_has_tx(ends->b.cm));
}

/*
 * Accounts take turns with responses as well: an account with many REPs does not delay the REPs of
 * others.
 */
static void
responses__of_accounts_take_turns(void **state)
{
	static const uint32_t turns[] = { 0x100, 0x200, 0x101, 0x201, 0x102, 0x103 };
	struct ends *ends = *state;
	struct uroce_cm_event event;
	struct uroce_cm_msg msg;

	(void)listen_for(ends, PORT, 0);
	for (uint32_t i = 0; i < 6; i++)
		(void)end_connect(ends, &ends->a, 0x11 + i);
	ends_settle(ends);
	for (uint32_t i = 0; i < 6; i++) {
		assert_true(uroce_cme_next_owner_event(ends->b.cm, 0, &event));
		uroce_cme_set_owner(ends->b.cm, event.id, i < 4 ? 1 : 2);
		end_accept(ends, &ends->b, event.id, i < 4 ? 0x100 + i : 0x200 + i - 4);
	}
	for (unsigned i = 0; i < 6; i++) {
		assert_true(end_take(ends, &ends->b, &msg));
		assert_int_equal(msg.attr, UROCE_CM_REP);
		assert_int_equal(msg.rep.local_qpn, turns[i]);
	}
	assert_false(uroce_cme_has_tx(ends->b.cm));
}

/*
 * uroce_cme_init() does not write the memory of ids that are not in use, so the bytes of that
 * memory do not change.
 */
static void
init__does_not_write_ids_that_are_not_used(void **state)
{
	struct ends *ends = *state;
	const struct uroce_cm_conf conf = { .max_ids = 64 };
	const size_t len = uroce_cme_memsize(&conf);
	size_t nb_same = 0;

	memset(ends->b.mem, 0xa5, len);
	(void)uroce_cme_init(ends->b.mem, &conf);
	for (size_t i = 0; i < len; i++)
		nb_same += ((const uint8_t *)ends->b.mem)[i] == 0xa5;
	assert_true(nb_same >= 64 * 700);
}

int
main(void)
{
#define TEST(name)          cmocka_unit_test_setup_teardown(name, setup, ends_teardown)
#define TEST_ACCOUNTS(name) cmocka_unit_test_setup_teardown(name, setup_accounts, ends_teardown)
#define TEST_PORTS(name)    cmocka_unit_test_setup_teardown(name, setup_ports, ends_teardown)
	const struct CMUnitTest tests[] = {
		TEST(request__goes_to_the_owner_of_its_listener),
		TEST(is_owner__of_ids_that_the_user_knows),
		TEST(destroy_owned__leaves_the_ids_of_others),
		TEST(init__does_not_write_ids_that_are_not_used),
		TEST(account__is_not_limited_by_default),
		TEST_ACCOUNTS(account__has_as_many_ids_as_are_free),
		TEST_ACCOUNTS(account__has_destroyed_ids_that_wait_for_the_peer),
		TEST_ACCOUNTS(account__has_the_requests_of_its_listeners),
		TEST(port__is_not_limited_by_default),
		TEST_PORTS(account__has_as_many_ports_as_are_free),
		TEST_PORTS(account__has_ids_that_share_a_port),
		TEST_ACCOUNTS(send__names_the_account),
		TEST_ACCOUNTS(requests__of_accounts_take_turns),
		TEST_ACCOUNTS(requests__that_are_withdrawn_take_no_turn),
		TEST_ACCOUNTS(responses__of_accounts_take_turns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
