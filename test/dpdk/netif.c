/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Multicast groups that the kernel joins for a port with a kernel interface. The test uses the
 * loopback interface, which exists on every machine and needs no privilege.
 */

#include <errno.h>
#include <net/if.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "datapath/net/netif.h"

static struct uroce_netif netif;

static int
open_loopback(void **state)
{
	(void)state;
	return uroce_netif_open(&netif, (int)if_nametoindex("lo"));
}

static int
close_loopback(void **state)
{
	(void)state;
	uroce_netif_close(&netif);
	return 0;
}

/* Whether a list of the kernel contains a multicast group, for any interface. */
static bool
is_listed(const char *list, const char *group)
{
	FILE *file = fopen(list, "r");
	char line[256];
	bool is_there = false;

	if (!file)
		return false;
	while (!is_there && fgets(line, sizeof(line), file))
		is_there = strstr(line, group);
	fclose(file);
	return is_there;
}

static void
netif_join__lasts_until_the_descriptor_is_closed(void **state)
{
	static const uint8_t gid[16] = { [10] = 0xff, 0xff, 239, 47, 91, 3 };
	static const char *const list = "/proc/self/net/igmp", *const group = "035B2FEF";
	int fd;

	(void)state;
	assert_false(is_listed(list, group));
	fd = uroce_netif_join(&netif, gid);
	assert_true(fd >= 0);
	assert_true(is_listed(list, group));
	close(fd);
	assert_false(is_listed(list, group));
}

static void
netif_join__ipv6(void **state)
{
	static const uint8_t gid[16] = { 0xff, 0x15, [14] = 0x47, 0x91 };
	static const char *const list = "/proc/self/net/igmp6";
	static const char *const group = "ff150000000000000000000000004791";
	int fd;

	(void)state;
	if (netif.fd6 < 0)
		skip(); /* the kernel of this host has no IPv6 */
	fd = uroce_netif_join(&netif, gid);
	assert_true(fd >= 0);
	assert_true(is_listed(list, group));
	close(fd);
	assert_false(is_listed(list, group));
}

static void
netif_join__says_why_not(void **state)
{
	static const uint8_t host[16] = { [10] = 0xff, 0xff, 192, 0, 2, 1 };

	(void)state;
	assert_int_equal(uroce_netif_join(&netif, host), -EINVAL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(netif_join__lasts_until_the_descriptor_is_closed),
		cmocka_unit_test(netif_join__ipv6),
		cmocka_unit_test(netif_join__says_why_not),
	};

	return cmocka_run_group_tests(tests, open_loopback, close_loopback);
}
