/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The header of RDMA IP CM, and the service IDs that announce it.
 */

#include "cm/ip_header.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "cm/service_id.h"

static const uint8_t v4_header[UROCE_CM_IP_LEN] = {
	0x00, 0x40, 0xc5, 0x53, [16] = 10, 77, 0, 2, [32] = 10, 77, 0, 1,
};

static const uint8_t v6_header[UROCE_CM_IP_LEN] = {
	0x00, 0x60, 0x1c, 0x06, 0x20, 0x01, 0x0d, 0xb8, [19] = 2, 0x20, 0x01, 0x0d, 0xb8, [35] = 1,
};

static void
expect_rebuilt(const struct uroce_cm_ip *ip, const uint8_t header[UROCE_CM_IP_LEN])
{
	uint8_t again[UROCE_CM_IP_LEN];

	memset(again, 0xee, sizeof(again));
	uroce_cm_ip_build(ip, again);
	assert_memory_equal(again, header, sizeof(again));
}

static void
ip_parse__ipv4_is_in_the_last_four_bytes(void **state)
{
	const uint8_t src[16] = { [12] = 10, 77, 0, 2 }, dst[16] = { [12] = 10, 77, 0, 1 };
	struct uroce_cm_ip ip;

	(void)state;
	assert_int_equal(uroce_cm_ip_parse(v4_header, &ip), UROCE_CM_VERDICT_ACCEPTED);
	assert_int_equal(ip.ip_version, 4);
	assert_int_equal(ip.src_port, 0xc553);
	assert_memory_equal(ip.src, src, sizeof(src));
	assert_memory_equal(ip.dst, dst, sizeof(dst));
	expect_rebuilt(&ip, v4_header);
}

static void
ip_parse__ipv6(void **state)
{
	const uint8_t src[16] = { 0x20, 0x01, 0x0d, 0xb8, [15] = 2 };
	const uint8_t dst[16] = { 0x20, 0x01, 0x0d, 0xb8, [15] = 1 };
	struct uroce_cm_ip ip;

	(void)state;
	assert_int_equal(uroce_cm_ip_parse(v6_header, &ip), UROCE_CM_VERDICT_ACCEPTED);
	assert_int_equal(ip.ip_version, 6);
	assert_int_equal(ip.src_port, 7174);
	assert_memory_equal(ip.src, src, sizeof(src));
	assert_memory_equal(ip.dst, dst, sizeof(dst));
	expect_rebuilt(&ip, v6_header);
}

static void
ip_parse__what_is_reserved_is_ignored(void **state)
{
	uint8_t header[UROCE_CM_IP_LEN];
	struct uroce_cm_ip ip;

	(void)state;
	memcpy(header, v4_header, sizeof(header));
	header[1] |= 0x0f;
	memset(header + 4, 0xff, 12);
	memset(header + 20, 0xff, 12);
	assert_int_equal(uroce_cm_ip_parse(header, &ip), UROCE_CM_VERDICT_ACCEPTED);
	expect_rebuilt(&ip, v4_header);
}

static void
ip_parse__other_versions_are_refused(void **state)
{
	struct uroce_cm_ip ip, untouched;

	(void)state;
	memset(&untouched, 0x5a, sizeof(untouched));
	ip = untouched;
	for (unsigned value = 0; value < 256; value++) {
		uint8_t header[UROCE_CM_IP_LEN];

		memcpy(header, v4_header, sizeof(header));
		header[0] = (uint8_t)value;
		if (value != 0)
			assert_int_equal(uroce_cm_ip_parse(header, &ip),
					 UROCE_CM_VERDICT_BAD_IP_CM_VERSION);
		header[0] = 0;
		header[1] = (uint8_t)value;
		if (value >> 4 != 4 && value >> 4 != 6)
			assert_int_equal(uroce_cm_ip_parse(header, &ip),
					 UROCE_CM_VERDICT_BAD_IP_VERSION);
	}
	assert_memory_equal(&ip, &untouched, sizeof(ip));
}

static void
service_id__port_space_and_port(void **state)
{
	const uint64_t tcp = uroce_cm_service_id(UROCE_CM_PS_TCP, 7174);

	(void)state;
	assert_int_equal(tcp, 0x0000000001061c06);
	assert_int_equal(uroce_cm_service_port_space(tcp), UROCE_CM_PS_TCP);
	assert_int_equal(uroce_cm_service_port(tcp), 7174);
	assert_int_equal(uroce_cm_service_id(UROCE_CM_PS_UDP, 0), 0x01110000);
	assert_int_equal(uroce_cm_service_id(UROCE_CM_PS_IB, 0xffff), 0x013fffff);
	assert_int_equal(uroce_cm_service_port_space(UINT64_C(0x1000000001061c06)),
			 UINT64_C(0x100000000106));
}

static void
service_id__of_ip_has_a_header(void **state)
{
	(void)state;
	assert_true(uroce_cm_service_has_ip(uroce_cm_service_id(UROCE_CM_PS_TCP, 1)));
	assert_true(uroce_cm_service_has_ip(uroce_cm_service_id(UROCE_CM_PS_UDP, 1)));
	assert_true(uroce_cm_service_has_ip(uroce_cm_service_id(UROCE_CM_PS_IB, 1)));
	assert_true(uroce_cm_service_has_ip(uroce_cm_service_id(UROCE_CM_PS_IPOIB, 1)));
	assert_false(uroce_cm_service_has_ip(UINT64_C(0x1000000001061c06)));
	assert_false(uroce_cm_service_has_ip(0));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ip_parse__ipv4_is_in_the_last_four_bytes),
		cmocka_unit_test(ip_parse__ipv6),
		cmocka_unit_test(ip_parse__what_is_reserved_is_ignored),
		cmocka_unit_test(ip_parse__other_versions_are_refused),
		cmocka_unit_test(service_id__port_space_and_port),
		cmocka_unit_test(service_id__of_ip_has_a_header),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
