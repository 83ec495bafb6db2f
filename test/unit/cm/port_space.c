/* SPDX-License-Identifier: BSD-3-Clause */

/* Port spaces: which ids may bind a port, and which listener gets a request. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "ends.h"

static const struct uroce_cm_addr any4 = { .ip_version = 4, .port = PORT };
static const struct uroce_cm_addr any6 = { .ip_version = 6, .port = PORT };
static const struct uroce_cm_addr one4 = { .ip_version = 4,
					   .port = PORT,
					   .ip = { [12] = 192, [14] = 2, [15] = 'B' } };
static const struct uroce_cm_addr two4 = { .ip_version = 4,
					   .port = PORT,
					   .ip = { [12] = 192, [14] = 2, [15] = 'C' } };
static const struct uroce_cm_addr one6 = { .ip_version = 6,
					   .port = PORT,
					   .ip = { 0x20, 1, [15] = 1 } };

static int
bind_new(struct end *end, uint16_t space, const struct uroce_cm_addr *addr, bool is_v6only,
	 bool is_shared, uint32_t *id)
{
	uint32_t made = UROCE_CM_NO_ID;
	int ret;

	assert_int_equal(uroce_cme_create(end->cm, space, false, 0, &made), 0);
	ret = uroce_cme_bind(end->cm, made, addr, is_v6only, is_shared);
	if (ret)
		uroce_cme_destroy(end->cm, made, 0);
	if (id)
		*id = made;
	return ret;
}

/*
 * Bind address `first`, and then try to bind address `second`.
 * @return 0: both addresses can be bound; else the error of the second bind
 */
static int
bind_beside(struct ends *ends, const struct uroce_cm_addr *first, bool is_v6only,
	    const struct uroce_cm_addr *second)
{
	end_restart(&ends->b);
	assert_int_equal(bind_new(&ends->b, UROCE_CM_PS_TCP, first, is_v6only, false, NULL), 0);
	return bind_new(&ends->b, UROCE_CM_PS_TCP, second, false, false, NULL);
}

static void
bind__overlapping_addresses_exclude_each_other(void **state)
{
	struct ends *ends = *state;

	assert_int_equal(bind_beside(ends, &one4, false, &one4), -EADDRINUSE);
	assert_int_equal(bind_beside(ends, &one4, false, &two4), 0);
	assert_int_equal(bind_beside(ends, &one4, false, &one6), 0);
	assert_int_equal(bind_beside(ends, &any4, false, &one4), -EADDRINUSE);
	assert_int_equal(bind_beside(ends, &one4, false, &any4), -EADDRINUSE);
	assert_int_equal(bind_beside(ends, &any6, false, &one4), -EADDRINUSE);
	assert_int_equal(bind_beside(ends, &any6, false, &any4), -EADDRINUSE);
	assert_int_equal(bind_beside(ends, &any4, false, &any6), -EADDRINUSE);
	assert_int_equal(bind_beside(ends, &any4, false, &one6), 0);
	assert_int_equal(bind_beside(ends, &any6, true, &one4), 0);
	assert_int_equal(bind_beside(ends, &any6, true, &any4), 0);
	assert_int_equal(bind_beside(ends, &any6, true, &one6), -EADDRINUSE);
}

static void
bind__port_spaces_are_separate(void **state)
{
	struct ends *ends = *state;

	assert_int_equal(bind_new(&ends->b, UROCE_CM_PS_TCP, &one4, false, false, NULL), 0);
	assert_int_equal(bind_new(&ends->b, UROCE_CM_PS_UDP, &one4, false, false, NULL), 0);
	assert_int_equal(bind_new(&ends->b, UROCE_CM_PS_IB, &one4, false, false, NULL), 0);
}

static void
bind__shared_port_until_one_listens(void **state)
{
	struct ends *ends = *state;
	uint32_t first;
	uint32_t second;

	assert_int_equal(bind_new(&ends->b, UROCE_CM_PS_TCP, &one4, false, true, &first), 0);
	assert_int_equal(bind_new(&ends->b, UROCE_CM_PS_TCP, &one4, false, false, NULL),
			 -EADDRINUSE);
	assert_int_equal(bind_new(&ends->b, UROCE_CM_PS_TCP, &one4, false, true, &second), 0);
	assert_int_equal(uroce_cme_listen(ends->b.cm, first, 0), -EADDRINUSE);
	uroce_cme_destroy(ends->b.cm, second, 0);
	assert_int_equal(uroce_cme_listen(ends->b.cm, first, 0), 0);
	assert_int_equal(bind_new(&ends->b, UROCE_CM_PS_TCP, &one4, false, true, NULL),
			 -EADDRINUSE);
}

static void
bind__twice_or_without_ip_is_refused(void **state)
{
	struct ends *ends = *state;
	const struct uroce_cm_addr none = { .port = PORT };
	uint32_t id;

	assert_int_equal(bind_new(&ends->b, UROCE_CM_PS_TCP, &none, false, false, NULL), -EINVAL);
	assert_int_equal(bind_new(&ends->b, UROCE_CM_PS_TCP, &one4, false, false, &id), 0);
	assert_int_equal(uroce_cme_bind(ends->b.cm, id, &two4, false, false), -EINVAL);
}

static void
bind__any_port_is_a_free_one(void **state)
{
	struct ends *ends = *state;
	struct uroce_cm_addr any = one4;
	uint32_t ids[8];
	unsigned seen = 0;

	any.port = 0;
	ends->b.conf.first_port = 40000;
	ends->b.conf.last_port = 40007;
	end_restart(&ends->b);
	for (unsigned i = 0; i < 8; i++) {
		struct uroce_cm_info info;

		assert_int_equal(bind_new(&ends->b, UROCE_CM_PS_TCP, &any, false, false, &ids[i]),
				 0);
		uroce_cme_query(ends->b.cm, ids[i], &info);
		assert_in_range(info.local.port, 40000, 40007);
		seen |= 1u << (info.local.port - 40000);
	}
	assert_int_equal(seen, 0xff);
	assert_int_equal(bind_new(&ends->b, UROCE_CM_PS_TCP, &any, false, false, NULL),
			 -EADDRNOTAVAIL);
	uroce_cme_destroy(ends->b.cm, ids[3], 0);
	assert_int_equal(bind_new(&ends->b, UROCE_CM_PS_TCP, &any, false, false, NULL), 0);
}

/*
 * Send a request from A to B's address.
 * @return the listener that gets the request; UROCE_CM_NO_ID: none
 */
static uint32_t
find_listener(struct ends *ends, uint32_t qpn)
{
	struct uroce_cm_event event;

	(void)end_connect(ends, &ends->a, qpn);
	ends_settle(ends);
	return uroce_cme_next_event(ends->b.cm, &event) ? event.listener : UROCE_CM_NO_ID;
}

static uint32_t
listen_at(struct end *end, const struct uroce_cm_addr *addr, bool is_v6only)
{
	uint32_t id;

	assert_int_equal(bind_new(end, UROCE_CM_PS_TCP, addr, is_v6only, false, &id), 0);
	assert_int_equal(uroce_cme_listen(end->cm, id, 0), 0);
	return id;
}

static void
listener__by_address_or_wildcard(void **state)
{
	struct ends *ends = *state;
	uint32_t id = listen_at(&ends->b, &any4, false);

	assert_int_equal(find_listener(ends, 1 << 4), id);
	uroce_cme_destroy(ends->b.cm, id, 0);
	assert_int_equal(find_listener(ends, 2 << 4), UROCE_CM_NO_ID);
	id = listen_at(&ends->b, &any6, false);
	assert_int_equal(find_listener(ends, 3 << 4), id);
	uroce_cme_destroy(ends->b.cm, id, 0);
	id = listen_at(&ends->b, &any6, true);
	assert_int_equal(find_listener(ends, 4 << 4), UROCE_CM_NO_ID);
	(void)listen_at(&ends->b, &two4, false);
	assert_int_equal(find_listener(ends, 5 << 4), UROCE_CM_NO_ID);
	id = listen_at(&ends->b, &one4, false);
	assert_int_equal(find_listener(ends, 6 << 4), id);
}

static void
listener__of_a_service_id_without_ip(void **state)
{
	struct ends *ends = *state;
	struct uroce_cm_addr addr = { .ip_version = 4, .port = 77 };
	const struct uroce_cm_addr service = { .port = 77 };
	const struct uroce_cm_param param = {
		.qpn = 0x11,
		.mtu_code = 3,
		.private_len = 92,
		.private_data = "a request without IP header has room for 92 bytes of data. "
				"none of them is an IP header....",
	};
	struct uroce_cm_av av = { .hop_limit = 1 };
	struct uroce_cm_event event;
	uint32_t listener;
	uint32_t a;

	assert_int_equal(bind_new(&ends->b, UROCE_CM_PS_IB, &addr, false, false, &listener), 0);
	assert_int_equal(uroce_cme_listen(ends->b.cm, listener, 0), 0);
	memcpy(av.local_gid, ends->a.gid, 16);
	memcpy(av.remote_gid, ends->b.gid, 16);
	assert_int_equal(uroce_cme_create(ends->a.cm, UROCE_CM_PS_IB, false, 0, &a), 0);
	assert_int_equal(uroce_cme_connect(ends->a.cm, a, &service, &av, &param, 0), 0);
	ends_settle(ends);
	event = expect_event(&ends->b, UROCE_CM_EVENT_CONNECT_REQUEST, UROCE_CM_NO_ID);
	assert_int_equal(event.listener, listener);
	assert_int_equal(event.private_len, 92);
	assert_memory_equal(event.private_data, param.private_data, 92);
}

static void
listener__in_the_port_space_of_ipoib_reads_the_ip_header(void **state)
{
	struct ends *ends = *state;
	struct uroce_cm_addr remote = one4;
	const struct uroce_cm_param param = { .private_len = 4, .private_data = "ping" };
	struct uroce_cm_av av = { .hop_limit = 64 };
	struct uroce_cm_event event;
	struct uroce_cm_info from;
	struct uroce_cm_info info;
	uint32_t listener;
	uint32_t a;

	assert_int_equal(uroce_cme_create(ends->b.cm, UROCE_CM_PS_IPOIB, true, 0, &listener), 0);
	assert_int_equal(uroce_cme_bind(ends->b.cm, listener, &one4, false, false), 0);
	assert_int_equal(uroce_cme_listen(ends->b.cm, listener, 0), 0);
	memcpy(av.local_gid, ends->a.gid, 16);
	memcpy(av.remote_gid, ends->b.gid, 16);
	assert_int_equal(uroce_cme_create(ends->a.cm, UROCE_CM_PS_IPOIB, true, 0, &a), 0);
	assert_int_equal(uroce_cme_bind(ends->a.cm, a, &ends->a.ip, false, false), 0);
	assert_int_equal(uroce_cme_connect(ends->a.cm, a, &remote, &av, &param, 0), 0);
	ends_settle(ends);
	event = expect_event(&ends->b, UROCE_CM_EVENT_CONNECT_REQUEST, UROCE_CM_NO_ID);
	assert_int_equal(event.private_len, UROCE_CM_SIDR_REQ_USER_LEN);
	assert_memory_equal(event.private_data, "ping\0", 5);
	uroce_cme_query(ends->a.cm, a, &from);
	uroce_cme_query(ends->b.cm, event.id, &info);
	assert_int_equal(info.remote.port, from.local.port);
}

/*
 * Try to connect from A to B.
 * @param space  port space of the id, which is bound to the address of A
 * @return the result of uroce_cme_connect()
 */
static int
try_connect(struct ends *ends, uint16_t space, const struct uroce_cm_addr *remote,
	    const struct uroce_cm_av *av, const void *data, uint8_t len)
{
	const struct uroce_cm_param param = {
		.qpn = 0x11, .mtu_code = 3, .private_data = data, .private_len = len
	};
	uint32_t id;
	int ret;

	assert_int_equal(uroce_cme_create(ends->a.cm, space, false, 0, &id), 0);
	assert_int_equal(uroce_cme_bind(ends->a.cm, id, &ends->a.ip, false, false), 0);
	ret = uroce_cme_connect(ends->a.cm, id, remote, av, &param, 0);
	if (ret)
		expect_state(&ends->a, id, UROCE_CM_STATE_IDLE);
	uroce_cme_destroy(ends->a.cm, id, 0);
	return ret;
}

static void
connect__without_ip_header_names_no_port(void **state)
{
	struct ends *ends = *state;
	const struct uroce_cm_addr service = { .port = PORT };
	struct uroce_cm_av av = { .hop_limit = 1 };
	uint8_t data[UROCE_CM_REQ_PRIVATE_LEN] = { 0 };

	memcpy(av.local_gid, ends->a.gid, 16);
	memcpy(av.remote_gid, ends->b.gid, 16);
	assert_int_equal(try_connect(ends, UROCE_CM_PS_TCP, &service, &av, NULL, 0), -EINVAL);
	assert_int_equal(try_connect(ends, UROCE_CM_PS_UDP, &service, &av, NULL, 0), -EINVAL);
	assert_int_equal(try_connect(ends, UROCE_CM_PS_IPOIB, &service, &av, NULL, 0), -EINVAL);
	assert_int_equal(try_connect(ends, UROCE_CM_PS_IB, &service, &av, NULL, 0), 0);
	assert_int_equal(try_connect(ends, UROCE_CM_PS_IB, &service, &av, data, sizeof(data)), 0);
	/* the peer would read an IP header: two bytes are enough, because zeros follow */
	for (uint8_t version = 4; version <= 6; version += 2) {
		data[1] = (uint8_t)(version << 4);
		assert_int_equal(try_connect(ends, UROCE_CM_PS_IB, &service, &av, data, 2),
				 -EINVAL);
		assert_int_equal(try_connect(ends, UROCE_CM_PS_IB, &service, &av, data, 92),
				 -EINVAL);
		/* no peer looks for an IP header in a port space outside of RDMA IP CM */
		assert_int_equal(try_connect(ends, 3, &service, &av, data, 92), 0);
	}
}

static void
connect__names_the_hosts_of_the_gids(void **state)
{
	struct ends *ends = *state;
	struct uroce_cm_addr remote = ends->b.ip;
	struct uroce_cm_av good = { .hop_limit = 1 };
	struct uroce_cm_av bad;

	remote.port = PORT;
	memcpy(good.local_gid, ends->a.gid, 16);
	memcpy(good.remote_gid, ends->b.gid, 16);
	bad = good, bad.local_gid[15]++;
	assert_int_equal(try_connect(ends, UROCE_CM_PS_TCP, &remote, &bad, NULL, 0), -EINVAL);
	bad = good, bad.remote_gid[15]++;
	assert_int_equal(try_connect(ends, UROCE_CM_PS_TCP, &remote, &bad, NULL, 0), -EINVAL);
	/* the last four bytes of the GID are those of the address, but the GID is an IPv6 GID */
	bad = good, bad.local_gid[0] = 0x20;
	assert_int_equal(try_connect(ends, UROCE_CM_PS_TCP, &remote, &bad, NULL, 0), -EINVAL);
	assert_int_equal(try_connect(ends, UROCE_CM_PS_TCP, &remote, &good, NULL, 0), 0);
}

static void
request__from_an_ipv4_address_in_the_form_of_ipv6_is_refused(void **state)
{
	struct ends *ends = *state;
	struct uroce_cm_msg req;

	(void)listen_at(&ends->b, &any6, false);
	(void)end_connect(ends, &ends->a, 0x11);
	assert_true(end_take(ends, &ends->a, &req));
	req.req.private_data[1] = 0x60;
	req.req.private_data[14] = req.req.private_data[15] = 0xff;
	req.req.private_data[30] = req.req.private_data[31] = 0xff;
	end_give(ends, &ends->b, &req);
	expect_no_event(&ends->b);
	ends_move(ends, &ends->b, UROCE_CM_REJ);
	assert_int_equal(ends->last.rej.reason, UROCE_CM_REASON_INVALID_GID);
}

static void
loopback__two_ids_of_one_engine(void **state)
{
	struct ends *ends = *state;
	struct uroce_cm *cm = ends->b.cm;
	const uint32_t listener = end_listen(&ends->b, PORT);
	struct uroce_cm_addr remote = ends->b.ip;
	struct uroce_cm_av av = { .hop_limit = 64 };
	struct uroce_cm_param param = { .qpn = 0x11, .mtu_code = 3 };
	struct uroce_cm_event event;
	struct uroce_cm_msg msg;
	struct uroce_cm_tx tx;
	unsigned kinds = 0;
	uint32_t a;

	(void)listener;
	remote.port = PORT;
	memcpy(av.local_gid, ends->b.gid, 16);
	memcpy(av.remote_gid, ends->b.gid, 16);
	assert_int_equal(uroce_cme_create(cm, UROCE_CM_PS_TCP, false, 0, &a), 0);
	assert_int_equal(uroce_cme_bind(cm, a, &ends->b.ip, false, false), 0);
	assert_int_equal(uroce_cme_connect(cm, a, &remote, &av, &param, 0), 0);
	while (uroce_cme_send(cm, &tx, 1, 0)) {
		assert_int_equal(uroce_cm_parse(tx.mad, &msg), UROCE_CM_VERDICT_ACCEPTED);
		uroce_cme_recv(cm, &msg, &av, 0);
		while (uroce_cme_next_event(cm, &event)) {
			kinds |= 1u << event.kind;
			param.qpn = 0x22;
			if (event.kind == UROCE_CM_EVENT_CONNECT_REQUEST)
				assert_int_equal(uroce_cme_accept(cm, event.id, &param, 0), 0);
			if (event.kind == UROCE_CM_EVENT_CONNECT_RESPONSE)
				assert_int_equal(uroce_cme_establish(cm, a, NULL, 0, 0), 0);
			if (event.kind == UROCE_CM_EVENT_ESTABLISHED)
				uroce_cme_destroy(cm, a, 0);
		}
	}
	assert_int_equal(kinds, 1u << UROCE_CM_EVENT_CONNECT_REQUEST |
					1u << UROCE_CM_EVENT_CONNECT_RESPONSE |
					1u << UROCE_CM_EVENT_ESTABLISHED |
					1u << UROCE_CM_EVENT_DISCONNECTED);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, ends_setup, ends_teardown)
	const struct CMUnitTest tests[] = {
		TEST(bind__overlapping_addresses_exclude_each_other),
		TEST(bind__port_spaces_are_separate),
		TEST(bind__shared_port_until_one_listens),
		TEST(bind__twice_or_without_ip_is_refused),
		TEST(bind__any_port_is_a_free_one),
		TEST(listener__by_address_or_wildcard),
		TEST(listener__of_a_service_id_without_ip),
		TEST(listener__in_the_port_space_of_ipoib_reads_the_ip_header),
		TEST(request__from_an_ipv4_address_in_the_form_of_ipv6_is_refused),
		TEST(connect__without_ip_header_names_no_port),
		TEST(connect__names_the_hosts_of_the_gids),
		TEST(loopback__two_ids_of_one_engine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
