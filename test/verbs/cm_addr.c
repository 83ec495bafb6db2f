/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses of ids of <uroce_cm.h>: binding, resolution, options, names. */

#include "cm_rig.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <stdlib.h>

static struct cm_rig rig;
static struct rdma_cm_id *ids[4];

static int
setup(void **state)
{
	(void)state;
	rig_open(&rig, "gw=192.0.2.254");
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(uroce_cm_create_id(rig.channel[0], &ids[i], NULL, RDMA_PS_TCP), 0);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(ids[i] != NULL ? uroce_cm_destroy_id(ids[i]) : 0, 0);
	rig_close(&rig);
	return 0;
}

static uint16_t
port_of(struct rdma_cm_id *id)
{
	return ntohs(uroce_cm_get_src_port(id));
}

static void
bind_addr__of_a_device_binds_to_the_device(void **state)
{
	const union ibv_gid *sgid = &ids[0]->route.addr.addr.ibaddr.sgid;

	(void)state;
	assert_int_equal(uroce_cm_bind_addr(ids[0], sa_of(HOST_B, 5000)), 0);
	assert_string_equal(uroce_get_device_name(ids[0]->verbs->device),
			    uroce_get_device_name(rig.device[1]));
	assert_int_equal(ids[0]->port_num, 1);
	assert_int_equal(port_of(ids[0]), 5000);
	assert_int_equal(sgid->raw[15], 2);
	assert_int_equal(sgid->raw[11], 0xff);
	assert_int_equal(ids[0]->route.addr.addr.ibaddr.pkey, 0xffff);
	assert_non_null(ids[0]->pd);
	/* port 0 stands for any free port, so the two ids get different ports */
	assert_int_equal(uroce_cm_bind_addr(ids[1], sa_of(HOST_B, 0)), 0);
	assert_int_equal(uroce_cm_bind_addr(ids[2], sa_of(HOST_B, 0)), 0);
	assert_true(port_of(ids[1]) >= 1024 && port_of(ids[1]) != port_of(ids[2]));
	/* only one id can be bound to a port of an address; the port of another address is free */
	assert_cm_fails(EADDRINUSE, uroce_cm_bind_addr(ids[3], sa_of(HOST_B, 5000)));
	assert_int_equal(uroce_cm_bind_addr(ids[3], sa_of(HOST_A, 5000)), 0);
}

static void
bind_addr__of_the_wildcard_has_the_port_at_all_devices(void **state)
{
	(void)state;
	assert_int_equal(uroce_cm_bind_addr(ids[0], sa_of("0.0.0.0", 5000)), 0);
	assert_null(ids[0]->verbs);
	assert_int_equal(port_of(ids[0]), 5000);
	assert_cm_fails(EADDRINUSE, uroce_cm_bind_addr(ids[1], sa_of(HOST_A, 5000)));
	assert_cm_fails(EADDRINUSE, uroce_cm_bind_addr(ids[1], sa_of(HOST_B, 5000)));
	assert_int_equal(uroce_cm_bind_addr(ids[1], sa_of("0.0.0.0", 0)), 0);
	assert_true(port_of(ids[1]) != 0);
	/* a failed bind to all devices leaves nothing bound at the first device */
	assert_int_equal(uroce_cm_bind_addr(ids[2], sa_of(HOST_B, 5001)), 0);
	assert_cm_fails(EADDRINUSE, uroce_cm_bind_addr(ids[3], sa_of("0.0.0.0", 5001)));
	assert_int_equal(uroce_cm_bind_addr(ids[3], sa_of(HOST_A, 5001)), 0);
}

static void
bind_addr__ipv6_with_and_without_ipv4(void **state)
{
	int one = 1;

	(void)state;
	assert_int_equal(uroce_cm_bind_addr(ids[0], sa_of("::", 5000)), 0);
	assert_cm_fails(EADDRINUSE, uroce_cm_bind_addr(ids[1], sa_of("0.0.0.0", 5000)));
	assert_int_equal(uroce_cm_set_option(ids[2], RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &one,
					     sizeof(one)),
			 0);
	assert_int_equal(uroce_cm_bind_addr(ids[2], sa_of("::", 5001)), 0);
	assert_int_equal(uroce_cm_bind_addr(ids[1], sa_of("0.0.0.0", 5001)), 0);
	assert_int_equal(uroce_cm_bind_addr(ids[3], sa_of(HOST_A6, 5002)), 0);
	assert_ptr_equal(ids[3]->verbs->device, rig.device[0]);
}

static void
bind_addr__link_local_and_loopback(void **state)
{
	union ibv_gid gid;
	struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6 };
	struct ibv_context **list = uroce_cm_get_devices(NULL);

	(void)state;
	assert_non_null(list);
	assert_int_equal(uroce_query_gid(list[1], 1, 0, &gid), 0);
	assert_int_equal(gid.raw[0], 0xfe);
	memcpy(&sin6.sin6_addr, gid.raw, 16);
	assert_int_equal(uroce_cm_bind_addr(ids[0], (struct sockaddr *)&sin6), 0);
	assert_ptr_equal(ids[0]->verbs, list[1]);
	uroce_cm_free_devices(list);
	/* an id that is bound to a loopback address gets the first device */
	assert_int_equal(uroce_cm_bind_addr(ids[1], sa_of("127.0.0.1", 0)), 0);
	assert_ptr_equal(ids[1]->verbs->device, rig.device[0]);
	assert_int_equal(((struct sockaddr_in *)uroce_cm_get_local_addr(ids[1]))->sin_addr.s_addr,
			 inet_addr(HOST_A));
	assert_int_equal(uroce_cm_bind_addr(ids[2], sa_of("::1", 0)), 0);
	assert_ptr_equal(ids[2]->verbs->device, rig.device[0]);
}

static void
bind_addr__checks_its_arguments(void **state)
{
	struct sockaddr unix_sa = { .sa_family = AF_UNIX };

	(void)state;
	assert_cm_fails(EINVAL, uroce_cm_bind_addr(NULL, sa_of(HOST_A, 0)));
	assert_cm_fails(EINVAL, uroce_cm_bind_addr(ids[0], NULL));
	assert_cm_fails(EAFNOSUPPORT, uroce_cm_bind_addr(ids[0], &unix_sa));
	assert_cm_fails(EADDRNOTAVAIL, uroce_cm_bind_addr(ids[0], sa_of("192.0.2.3", 0)));
	assert_cm_fails(EADDRNOTAVAIL, uroce_cm_bind_addr(ids[0], sa_of("239.1.2.3", 0)));
	assert_cm_fails(EADDRNOTAVAIL, uroce_cm_bind_addr(ids[0], sa_of("2001:db8::3", 0)));
	assert_int_equal(uroce_cm_bind_addr(ids[0], sa_of(HOST_A, 0)), 0);
	assert_cm_fails(EINVAL, uroce_cm_bind_addr(ids[0], sa_of(HOST_A, 0)));
}

static void
listen__takes_the_port_alone(void **state)
{
	int one = 1;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(uroce_cm_set_option(ids[i], RDMA_OPTION_ID,
						     RDMA_OPTION_ID_REUSEADDR, &one, sizeof(one)),
				 0);
		assert_int_equal(uroce_cm_bind_addr(ids[i], sa_of(HOST_B, 5000)), 0);
	}
	assert_cm_fails(EADDRINUSE, uroce_cm_listen(ids[0], 10));
	assert_int_equal(uroce_cm_destroy_id(ids[1]), 0);
	assert_int_equal(uroce_cm_destroy_id(ids[2]), 0);
	ids[1] = ids[2] = NULL;
	assert_int_equal(uroce_cm_listen(ids[0], 10), 0);
	assert_cm_fails(EINVAL, uroce_cm_listen(ids[0], 10));
	/* listen() of an unbound id binds it to the wildcard address and any port */
	assert_int_equal(uroce_cm_listen(ids[3], 10), 0);
	assert_true(port_of(ids[3]) != 0);
}

static void
resolve_addr__fills_the_id(void **state)
{
	const struct ibv_sa_path_rec *path;
	uint8_t tos = 0x68;

	(void)state;
	assert_int_equal(uroce_cm_set_option(ids[0], RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, 1),
			 0);
	assert_int_equal(uroce_cm_resolve_addr(ids[0], sa_of(HOST_A, 0), sa_of(HOST_B, 7), 60000),
			 0);
	expect_event(rig.channel[0], RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_ptr_equal(ids[0]->verbs->device, rig.device[0]);
	assert_int_equal(ids[0]->route.addr.addr.ibaddr.dgid.raw[15], 2);
	assert_int_equal(ids[0]->route.num_paths, 0);
	assert_true(port_of(ids[0]) != 0);
	assert_cm_fails(EINVAL, uroce_cm_resolve_route(ids[0], 0));
	assert_int_equal(uroce_cm_resolve_route(ids[0], 1), 0);
	expect_event(rig.channel[0], RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	assert_int_equal(ids[0]->route.num_paths, 1);
	path = ids[0]->route.path_rec;
	assert_int_equal(path->sgid.raw[15], 1);
	assert_int_equal(path->dgid.raw[15], 2);
	assert_int_equal(path->traffic_class, tos);
	assert_int_equal(path->sl, tos >> 5);
	assert_int_equal(path->hop_limit, 64);
	assert_int_equal(path->pkey, 0xffff);
	assert_int_equal(ntohl(path->flow_label), (port_of(ids[0]) * 31u + 7) & 0xfffff);
	assert_true(path->mtu >= IBV_MTU_1024);
	assert_true(path->rate != 0);
	assert_cm_fails(EINVAL, uroce_cm_resolve_route(ids[0], 1));
	assert_cm_fails(EINVAL, uroce_cm_resolve_addr(ids[0], NULL, sa_of(HOST_B, 7), 1000));
}

static void
resolve_addr__chooses_device_and_source(void **state)
{
	(void)state;
	/*
	 * 192.0.2.77 is in the networks of both devices: the first device is chosen, and no host
	 * replies
	 */
	assert_int_equal(uroce_cm_resolve_addr(ids[0], NULL, sa_of("192.0.2.77", 7), 1), 0);
	expect_event(rig.channel[0], RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT);
	/* after an error of the resolution the program may resolve another address */
	assert_int_equal(uroce_cm_resolve_addr(ids[0], NULL, sa_of(HOST_B, 7), 60000), 0);
	expect_event(rig.channel[0], RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_ptr_equal(ids[0]->verbs->device, rig.device[1]);
	/* the loopback address resolves to the first device itself */
	assert_int_equal(uroce_cm_resolve_addr(ids[1], NULL, sa_of("127.0.0.1", 7), 60000), 0);
	expect_event(rig.channel[0], RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_ptr_equal(ids[1]->verbs->device, rig.device[0]);
	assert_int_equal(ids[1]->route.addr.addr.ibaddr.dgid.raw[15], 1);
	assert_int_equal(ids[1]->route.addr.addr.ibaddr.sgid.raw[15], 1);
	assert_int_equal(uroce_cm_bind_addr(ids[2], sa_of(HOST_B6, 0)), 0);
	assert_int_equal(uroce_cm_resolve_addr(ids[2], NULL, sa_of("::1", 7), 60000), 0);
	expect_event(rig.channel[0], RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_ptr_equal(ids[2]->verbs->device, rig.device[1]);
	/* the address is behind the gateway, which does not reply */
	assert_int_equal(uroce_cm_resolve_addr(ids[3], NULL, sa_of("198.51.100.1", 7), 1), 0);
	expect_event(rig.channel[0], RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT);
}

static void
resolve_addr__without_a_route(void **state)
{
	(void)state;
	/* the address is in no network of the devices, and there is no gateway for IPv6 */
	assert_int_equal(uroce_cm_resolve_addr(ids[0], NULL, sa_of("2001:db8:1::1", 7), 60000), 0);
	expect_event(rig.channel[0], RDMA_CM_EVENT_ADDR_ERROR, -ENETUNREACH);
	assert_int_equal(uroce_cm_resolve_addr(ids[0], NULL, sa_of(HOST_B6, 7), 60000), 0);
	expect_event(rig.channel[0], RDMA_CM_EVENT_ADDR_RESOLVED, 0);
}

static void
resolve_addr__keeps_the_port_of_the_wildcard(void **state)
{
	(void)state;
	assert_int_equal(uroce_cm_bind_addr(ids[0], sa_of("0.0.0.0", 5000)), 0);
	assert_int_equal(uroce_cm_resolve_addr(ids[0], NULL, sa_of(HOST_B, 7), 60000), 0);
	expect_event(rig.channel[0], RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_int_equal(port_of(ids[0]), 5000);
	/* the resolution has chosen a device, so the port is free at the other device */
	assert_int_equal(uroce_cm_bind_addr(ids[1], sa_of(HOST_A, 5000)), 0);
}

static void
resolve_addr__checks_its_arguments(void **state)
{
	(void)state;
	assert_cm_fails(EINVAL, uroce_cm_resolve_addr(NULL, NULL, sa_of(HOST_B, 7), 1000));
	assert_cm_fails(EINVAL, uroce_cm_resolve_addr(ids[0], NULL, NULL, 1000));
	assert_cm_fails(EINVAL, uroce_cm_resolve_addr(ids[0], NULL, sa_of(HOST_B, 7), 0));
	assert_cm_fails(EINVAL, uroce_cm_resolve_addr(ids[0], NULL, sa_of("0.0.0.0", 7), 1000));
	assert_cm_fails(EADDRNOTAVAIL, uroce_cm_resolve_addr(ids[0], sa_of("192.0.2.9", 0),
							     sa_of(HOST_B, 7), 1000));
	assert_int_equal(uroce_cm_bind_addr(ids[1], sa_of(HOST_A, 0)), 0);
	assert_cm_fails(EINVAL, uroce_cm_resolve_addr(ids[1], NULL, sa_of(HOST_B6, 7), 1000));
	expect_no_event(rig.channel[0]);
}

static void
resolve_addr__of_a_bound_id_keeps_its_address(void **state)
{
	(void)state;
	assert_int_equal(uroce_cm_bind_addr(ids[0], sa_of(HOST_A, 5000)), 0);
	assert_int_equal(
		uroce_cm_resolve_addr(ids[0], sa_of("192.0.2.9", 6000), sa_of(HOST_B, 7), 60000),
		0);
	expect_event(rig.channel[0], RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_int_equal(port_of(ids[0]), 5000);
}

/* --- synchronous ids, whose calls wait ----------------------------------------------------------- */

static void
resolve_addr__of_a_synchronous_id_waits(void **state)
{
	struct rdma_cm_id *id;

	(void)state;
	assert_int_equal(uroce_cm_create_id(NULL, &id, NULL, RDMA_PS_TCP), 0);
	assert_non_null(id->channel);
	assert_cm_fails(ENETUNREACH,
			uroce_cm_resolve_addr(id, NULL, sa_of("2001:db8:1::1", 7), 1000));
	assert_int_equal(id->event->event, RDMA_CM_EVENT_ADDR_ERROR);
	assert_int_equal(uroce_cm_resolve_addr(id, NULL, sa_of(HOST_B, 7), 60000), 0);
	assert_int_equal(id->event->event, RDMA_CM_EVENT_ADDR_RESOLVED);
	assert_int_equal(uroce_cm_resolve_route(id, 60000), 0);
	assert_int_equal(id->event->event, RDMA_CM_EVENT_ROUTE_RESOLVED);
	assert_int_equal(uroce_cm_destroy_id(id), 0);
}

/* --- options of an id ---------------------------------------------------------------------------- */

static void
set_option__checks_its_arguments(void **state)
{
	uint8_t byte = 32;
	int number = 1;

	(void)state;
	assert_cm_fails(ENOSYS, uroce_cm_set_option(ids[0], 7, 0, &byte, 1));
	assert_cm_fails(ENOSYS, uroce_cm_set_option(ids[0], RDMA_OPTION_ID, 99, &byte, 1));
	assert_cm_fails(EINVAL, uroce_cm_set_option(ids[0], RDMA_OPTION_ID, RDMA_OPTION_ID_TOS,
						    &number, sizeof(number)));
	assert_cm_fails(EINVAL,
			uroce_cm_set_option(ids[0], RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, NULL, 1));
	assert_cm_fails(EINVAL, uroce_cm_set_option(ids[0], RDMA_OPTION_ID,
						    RDMA_OPTION_ID_ACK_TIMEOUT, &byte, 1));
	assert_int_equal(uroce_cm_bind_addr(ids[0], sa_of(HOST_A, 0)), 0);
	assert_cm_fails(EINVAL,
			uroce_cm_set_option(ids[0], RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR,
					    &number, sizeof(number)));
	assert_cm_fails(EINVAL, uroce_cm_set_option(ids[0], RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY,
						    &number, sizeof(number)));
}

static void
set_option__the_program_gives_the_path(void **state)
{
	struct ibv_path_data data = {
		.flags = IBV_PATH_FLAG_GMP | IBV_PATH_FLAG_PRIMARY | IBV_PATH_FLAG_BIDIRECTIONAL,
		.path = { .flowlabel_hoplimit = htonl(0x12345 << 8 | 9), .tclass = 0x20 },
	};

	(void)state;
	assert_cm_fails(EINVAL, uroce_cm_set_option(ids[0], RDMA_OPTION_IB, RDMA_OPTION_IB_PATH,
						    &data, sizeof(data)));
	assert_int_equal(uroce_cm_resolve_addr(ids[0], NULL, sa_of(HOST_B, 7), 60000), 0);
	expect_event(rig.channel[0], RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_int_equal(uroce_cm_set_option(ids[0], RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, &data,
					     sizeof(data)),
			 0);
	expect_event(rig.channel[0], RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	assert_int_equal(ntohl(ids[0]->route.path_rec->flow_label), 0x12345);
	assert_int_equal(ids[0]->route.path_rec->hop_limit, 9);
	assert_int_equal(ids[0]->route.path_rec->traffic_class, 0x20);
}

/* --- addresses by name --------------------------------------------------------------------------- */

static void
getaddrinfo__of_a_numeric_host(void **state)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_NUMERICHOST, .ai_port_space = RDMA_PS_UDP };
	struct rdma_addrinfo *res;

	(void)state;
	assert_int_equal(uroce_cm_getaddrinfo(HOST_B, "7471", NULL, &res), 0);
	assert_int_equal(res->ai_port_space, RDMA_PS_TCP);
	assert_int_equal(res->ai_qp_type, IBV_QPT_RC);
	assert_int_equal(res->ai_family, AF_INET);
	assert_int_equal(res->ai_dst_len, sizeof(struct sockaddr_in));
	assert_memory_equal(res->ai_dst_addr, sa_of(HOST_B, RIG_PORT), res->ai_dst_len);
	assert_null(res->ai_src_addr);
	assert_null(res->ai_next);
	uroce_cm_freeaddrinfo(res);
	hints.ai_src_addr = sa_of(HOST_A6, 0);
	assert_int_equal(uroce_cm_getaddrinfo(HOST_B6, "7471", &hints, &res), 0);
	assert_int_equal(res->ai_qp_type, IBV_QPT_UD);
	assert_int_equal(res->ai_family, AF_INET6);
	assert_memory_equal(res->ai_src_addr, sa_of(HOST_A6, 0), res->ai_src_len);
	uroce_cm_freeaddrinfo(res);
	uroce_cm_freeaddrinfo(NULL);
}

static void
getaddrinfo__for_a_listener(void **state)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_PASSIVE | RAI_FAMILY, .ai_family = AF_INET };
	struct rdma_addrinfo *res;

	(void)state;
	assert_int_equal(uroce_cm_getaddrinfo(NULL, "7471", &hints, &res), 0);
	assert_memory_equal(res->ai_src_addr, sa_of("0.0.0.0", RIG_PORT), res->ai_src_len);
	assert_null(res->ai_dst_addr);
	uroce_cm_freeaddrinfo(res);
}

static void
getaddrinfo__checks_its_arguments(void **state)
{
	struct rdma_addrinfo hints = { .ai_flags = 1 << 20 }, *res = NULL;

	(void)state;
	assert_cm_fails(EINVAL, uroce_cm_getaddrinfo(NULL, NULL, NULL, &res));
	assert_cm_fails(EINVAL, uroce_cm_getaddrinfo(HOST_A, NULL, NULL, NULL));
	assert_cm_fails(EINVAL, uroce_cm_getaddrinfo(HOST_A, NULL, &hints, &res));
	hints = (struct rdma_addrinfo){ .ai_flags = RAI_FAMILY, .ai_family = AF_UNIX };
	assert_cm_fails(EINVAL, uroce_cm_getaddrinfo(HOST_A, NULL, &hints, &res));
	hints = (struct rdma_addrinfo){ .ai_flags = RAI_NUMERICHOST };
	assert_int_equal(uroce_cm_getaddrinfo("no number", NULL, &hints, &res), EAI_NONAME);
	assert_null(res);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(bind_addr__of_a_device_binds_to_the_device),
		TEST(bind_addr__of_the_wildcard_has_the_port_at_all_devices),
		TEST(bind_addr__ipv6_with_and_without_ipv4),
		TEST(bind_addr__link_local_and_loopback),
		TEST(bind_addr__checks_its_arguments),
		TEST(listen__takes_the_port_alone),
		TEST(resolve_addr__fills_the_id),
		TEST(resolve_addr__chooses_device_and_source),
		TEST(resolve_addr__without_a_route),
		TEST(resolve_addr__keeps_the_port_of_the_wildcard),
		TEST(resolve_addr__checks_its_arguments),
		TEST(resolve_addr__of_a_bound_id_keeps_its_address),
		TEST(resolve_addr__of_a_synchronous_id_waits),
		TEST(set_option__checks_its_arguments),
		TEST(set_option__the_program_gives_the_path),
		TEST(getaddrinfo__of_a_numeric_host),
		TEST(getaddrinfo__for_a_listener),
		TEST(getaddrinfo__checks_its_arguments),
	};

	net_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
