/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The port policy table has one row for each supported driver. The maximum frame length of a port
 * follows from its driver and its arguments.
 */

#include "rig.h"

#include "datapath/port/port.h"

static uint32_t
limit(const char *driver, const char *args, uint32_t *raw)
{
	return uroce_port_policy_limit(uroce_port_policy_of(driver), args, raw);
}

static void
port_policy_of__each_driver_has_its_row(void **state)
{
	static const char *const drivers[] = {
		"net_memif",    "net_af_packet",   "net_af_xdp",  "net_tap",  "net_vhost",
		"net_ring",     "net_virtio_user", "net_null",    "net_pcap", "net_virtio",
		"net_e1000_em", "net_e1000_igb",   "net_vmxnet3", "uroced",   "udp",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++)
		assert_string_equal(uroce_port_policy_of(drivers[i])->driver, drivers[i]);
	assert_null(uroce_port_policy_of("net_ice")->driver);
	assert_null(uroce_port_policy_of("net_memi")->driver);
}

/* A feature that does not work with a driver must be off in the row of the driver. */
static void
port_policy_of__what_drivers_cannot_do(void **state)
{
	static const char *const no_ext_buf[] = { "net_memif", "net_af_xdp", "net_ring",
						  "unknown" };

	(void)state;
	for (size_t i = 0; i < sizeof(no_ext_buf) / sizeof(no_ext_buf[0]); i++)
		assert_false(uroce_port_policy_of(no_ext_buf[i])->has_ext_buf);
	/*
	 * The peer of virtio_user can read mbufs in shared memory only, so frames cannot have
	 * external buffers.
	 */
	assert_false(uroce_port_policy_of("net_virtio_user")->has_ext_buf);
	assert_false(uroce_port_policy_of("net_af_xdp")->has_multi_seg);
	assert_true(uroce_port_policy_of("net_af_packet")->may_block);
	assert_true(uroce_port_policy_of("net_af_packet")->is_kernel);
	assert_true(uroce_port_policy_of("net_af_xdp")->is_kernel);
	assert_false(uroce_port_policy_of("net_tap")->is_kernel);
	assert_false(uroce_port_policy_of("unknown")->is_virtual);
	assert_true(uroce_port_policy_of("net_memif")->has_peer);
	assert_int_equal(uroce_port_policy_of("net_null")->burst, UROCE_BURST_TX_ONLY);
	assert_true(uroce_port_policy_of("udp")->is_ident_unknown);
	assert_true(uroce_port_policy_of("udp")->is_udp);
	assert_true(uroce_port_policy_of("uroced+udp")->is_ident_unknown);
	assert_true(uroce_port_policy_of("uroced+udp")->is_udp);
	assert_int_equal(uroce_port_policy_of("uroced+udp")->burst, UROCE_BURST_MUX);
	assert_false(uroce_port_policy_by_name("uroced")->is_udp);
	assert_false(uroce_port_policy_of("net_af_packet")->is_ident_unknown);
}

static void
port_policy_limit__memif_is_bsize(void **state)
{
	uint32_t raw;

	(void)state;
	assert_int_equal(limit("net_memif", NULL, &raw), 2048);
	assert_int_equal(limit("net_memif", "role=client,bsize=4400,rsize=10", &raw), 4400);
	assert_int_equal(raw, 4400);
	assert_int_equal(limit("net_memif", "bsize=0", &raw), 2048);
	assert_int_equal(limit("net_memif", "bsize=70000", &raw), 2048);
	assert_int_equal(limit("net_memif", "", &raw), 2048);
}

static void
port_policy_limit__af_packet_is_framesz_less_the_kernels_part(void **state)
{
	uint32_t raw;

	(void)state;
	assert_int_equal(limit("net_af_packet", "iface=eth0", &raw), 2048 - 80);
	assert_int_equal(limit("net_af_packet", "iface=eth0,framesz=8192", &raw), 8192 - 80);
	assert_int_equal(raw, 8192);
	assert_int_equal(limit("net_af_packet", "iface=eth0,framesz=64", &raw), 0);
}

static void
port_policy_limit__others_are_fixed_or_as_the_mtu_says(void **state)
{
	uint32_t raw;

	(void)state;
	assert_int_equal(limit("net_tap", "bsize=9000", &raw), 1518);
	assert_int_equal(limit("net_ring", NULL, &raw), 0);
	assert_int_equal(limit("net_ice", NULL, &raw), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(port_policy_of__each_driver_has_its_row),
		cmocka_unit_test(port_policy_of__what_drivers_cannot_do),
		cmocka_unit_test(port_policy_limit__memif_is_bsize),
		cmocka_unit_test(port_policy_limit__af_packet_is_framesz_less_the_kernels_part),
		cmocka_unit_test(port_policy_limit__others_are_fixed_or_as_the_mtu_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
