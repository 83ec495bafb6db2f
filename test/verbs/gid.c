/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The GID table of a device whose addresses are those of the kernel: the table follows the kernel's
 * changes, and events report them. The interface is one end of a veth pair in a network namespace
 * of the test.
 */

#include "net.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <rte_dev.h>

static struct ibv_device *device;
static struct ibv_context *context;

static bool
run(const char *command)
{
	/* all commands are constants of this file, so system() is safe */
	return system(command) == 0;
}

/*
 * Enter a new network namespace with a veth pair. Its interfaces get no addresses that the kernel
 * assigns by itself.
 */
static bool
make_namespace(void)
{
	const int user = geteuid() == 0 ? 0 : CLONE_NEWUSER;

	return unshare(CLONE_NEWNET | user) == 0 && run("ip link add v0 type veth peer name v1") &&
	       run("ip link set v0 addrgenmode none") && run("ip link set v1 up") &&
	       run("ip link set v0 up");
}

/* Create a device on a port of its own, and open it. The port is removed with the device. */
static int
open_device(const char *keys)
{
	static unsigned nb_ports;
	char port[32], spec[64];

	snprintf(port, sizeof(port), "net_af_packet%u", nb_ports++);
	snprintf(spec, sizeof(spec), "%s%s", port, keys);
	if (rte_eal_hotplug_add("vdev", port, "iface=v0") != 0)
		return -1;
	device = uroce_create_device(spec);
	context = device ? uroce_open_device(device) : NULL;
	return context ? 0 : -1;
}

static int
setup(void **state)
{
	(void)state;
	if (!run("ip address flush dev v0") || !run("ip address add 192.0.2.1/24 dev v0"))
		return -1;
	return open_device("");
}

static int
setup_configured(void **state)
{
	(void)state;
	if (!run("ip address flush dev v0") || !run("ip address add 192.0.2.1/24 dev v0"))
		return -1;
	return open_device(",addr=192.0.2.1/24");
}

static int
teardown(void **state)
{
	(void)state;
	return uroce_close_device(context) || uroce_destroy_device(device);
}

static void
expect_change(struct ibv_context *context)
{
	struct ibv_async_event event;

	assert_int_equal(uroce_get_async_event(context, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_GID_CHANGE);
	assert_int_equal(event.element.port_num, 1);
	uroce_ack_async_event(&event);
}

/*
 * Check the GID at an index.
 * @param text  the GID; NULL: there must be none
 */
static void
expect_gid(int index, const char *text)
{
	union ibv_gid expected = { 0 }, gid;
	struct ibv_gid_entry entry;

	if (text != NULL)
		assert_int_equal(inet_pton(AF_INET6, text, expected.raw), 1);
	assert_int_equal(uroce_query_gid(context, 1, index, &gid), 0);
	assert_memory_equal(gid.raw, expected.raw, 16);
	assert_int_equal(uroce_query_gid_ex(context, 1, (uint32_t)index, &entry, 0),
			 text != NULL ? 0 : ENODATA);
	if (text != NULL)
		assert_memory_equal(entry.gid.raw, expected.raw, 16);
}

/* Whether an address handle can be created whose source is the GID with this index. */
static bool
is_usable(int index)
{
	struct ibv_ah_attr attr = {
		.is_global = 1,
		.port_num = 1,
		.grh.sgid_index = (uint8_t)index,
	};
	struct ibv_pd *pd = uroce_alloc_pd(context);
	struct ibv_ah *ah;

	/* the destination is a multicast group, so no neighbour must be resolved */
	assert_int_equal(inet_pton(AF_INET6, "::ffff:239.1.2.3", attr.grh.dgid.raw), 1);
	errno = 0;
	ah = uroce_create_ah(pd, &attr);
	assert_true(ah != NULL || errno == EINVAL);
	if (ah != NULL)
		assert_int_equal(uroce_destroy_ah(ah), 0);
	assert_int_equal(uroce_dealloc_pd(pd), 0);
	return ah != NULL;
}

static void
gid_change__tells_of_an_address_that_is_new(void **state)
{
	struct ibv_context *other = uroce_open_device(device);

	(void)state;
	expect_gid(0, "::ffff:192.0.2.1");
	expect_gid(1, NULL);
	assert_true(run("ip address add 198.51.100.7/24 dev v0"));
	expect_change(context);
	expect_change(other);
	expect_gid(0, "::ffff:192.0.2.1");
	expect_gid(1, "::ffff:198.51.100.7");
	assert_true(is_usable(1));
	assert_true(run("ip address add 2001:db8::1/64 dev v0 nodad"));
	expect_change(context);
	expect_gid(2, "2001:db8::1");
	assert_int_equal(uroce_close_device(other), 0);
}

/*
 * If an address is removed, the other addresses keep their index. The next new address gets the
 * free index.
 */
static void
gid_change__tells_of_an_address_that_went(void **state)
{
	struct ibv_gid_entry entries[2];

	(void)state;
	assert_true(run("ip address add 198.51.100.7/24 dev v0"));
	expect_change(context);
	assert_true(run("ip address add 2001:db8::1/64 dev v0 nodad"));
	expect_change(context);
	assert_true(is_usable(0));
	assert_true(run("ip address del 192.0.2.1/24 dev v0"));
	expect_change(context);
	expect_gid(0, NULL);
	expect_gid(1, "::ffff:198.51.100.7");
	expect_gid(2, "2001:db8::1");
	assert_false(is_usable(0));
	assert_int_equal(uroce_query_gid_table(context, entries, 1, 0), -EINVAL);
	assert_int_equal(uroce_query_gid_table(context, entries, 2, 0), 2);
	assert_int_equal(entries[0].gid_index, 1);
	assert_int_equal(entries[1].gid_index, 2);
	assert_true(run("ip address add 203.0.113.5/24 dev v0"));
	expect_change(context);
	expect_gid(0, "::ffff:203.0.113.5");
	expect_gid(1, "::ffff:198.51.100.7");
	assert_true(is_usable(0));
}

static void
gid_change__the_last_may_go(void **state)
{
	struct ibv_gid_entry entry;

	(void)state;
	assert_true(run("ip address flush dev v0"));
	expect_change(context);
	expect_gid(0, NULL);
	assert_int_equal(uroce_query_gid_table(context, &entry, 1, 0), 0);
	assert_false(is_usable(0));
	assert_true(run("ip address add fe80::7/64 dev v0 nodad"));
	expect_change(context);
	expect_gid(0, "fe80::7");
	assert_true(run("ip address add 192.0.2.9/24 dev v0"));
	expect_change(context);
	expect_gid(1, "::ffff:192.0.2.9");
}

/*
 * If the addresses are configured, the kernel's changes do not change the GID table, and raise no
 * event.
 */
static void
gid_change__not_of_configured_addresses(void **state)
{
	struct ibv_async_event event;

	(void)state;
	expect_gid(0, "::ffff:192.0.2.1");
	assert_true(run("ip address add 198.51.100.7/24 dev v0"));
	/*
	 * the device checks its link after the addresses, so the event of the link shows that there
	 * is no event of an address
	 */
	assert_true(run("ip link set v1 down"));
	assert_int_equal(uroce_get_async_event(context, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_PORT_ERR);
	uroce_ack_async_event(&event);
	assert_true(run("ip link set v1 up"));
	assert_int_equal(uroce_get_async_event(context, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_PORT_ACTIVE);
	uroce_ack_async_event(&event);
	expect_gid(1, NULL);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(gid_change__tells_of_an_address_that_is_new),
		TEST(gid_change__tells_of_an_address_that_went),
		TEST(gid_change__the_last_may_go),
		cmocka_unit_test_setup_teardown(gid_change__not_of_configured_addresses,
						setup_configured, teardown),
	};

	if (!make_namespace()) {
		printf("1..0 # SKIP no network namespace can be made here\n");
		return 0;
	}
	net_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
