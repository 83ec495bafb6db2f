/* SPDX-License-Identifier: BSD-3-Clause */
/* The multicast groups of --mcg, and the forms of --MGID. */

#include "check.h"
#include "multicast.h"

#include <string.h>

static int
group_of(const char *mgid, bool is_ipv4, bool is_client, union ibv_gid *group)
{
	const struct options opt = { .mgid = mgid };

	return multicast_group(&opt, is_ipv4, is_client, group);
}

static void
group__the_sides_have_different_ones(void **state)
{
	union ibv_gid server, client;

	(void)state;
	for (int is_ipv4 = 0; is_ipv4 < 2; is_ipv4++) {
		assert_int_equal(group_of(NULL, is_ipv4, false, &server), 0);
		assert_int_equal(group_of(NULL, is_ipv4, true, &client), 0);
		assert_memory_equal(server.raw, client.raw, 15);
		assert_int_equal(server.raw[15] ^ client.raw[15], 1);
	}
	assert_int_equal(server.raw[10], 0xff);
	assert_int_equal(server.raw[12], 239);
}

static void
group__forms_of_the_argument(void **state)
{
	static const struct {
		const char *text;
		uint8_t raw[16];
	} rows[] = {
		{ "224.1.2.4", { [10] = 0xff, [11] = 0xff, 224, 1, 2, 4 } },
		{ "ff15::6", { 0xff, 0x15, [15] = 6 } },
		{ "::ffff:239.0.0.2", { [10] = 0xff, [11] = 0xff, 239, 0, 0, 2 } },
		{ "255:1:0:0:0:2:201:133:0:0:0:0:0:0:0:0", { 255, 1, 0, 0, 0, 2, 201, 133 } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		union ibv_gid group;

		assert_int_equal(group_of(rows[i].text, true, false, &group), 0);
		assert_memory_equal(group.raw, rows[i].raw, 16);
	}
}

static void
group__others_are_refused(void **state)
{
	static const char *const texts[] = { "192.0.2.1",
					     "2001:db8::1",
					     "255:1",
					     "",
					     "host",
					     "255:256:0:0:0:2:201:133:0:0:0:0:0:0:0:0",
					     "255:1:0:0:0:2:201:133:0:0:0:0:0:0:0:0:0" };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		union ibv_gid group;

		assert_int_equal(group_of(texts[i], true, false, &group), -1);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(group__the_sides_have_different_ones),
		cmocka_unit_test(group__forms_of_the_argument),
		cmocka_unit_test(group__others_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
