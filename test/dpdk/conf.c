/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The configuration string of a device: the effect of each key, and the refusal of invalid strings.
 * A refused string leaves the caller's struct unchanged.
 */

#include "rig.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rte_log.h>

static struct uroce_dev_conf
parse(const char *spec)
{
	struct uroce_dev_conf conf;

	assert_int_equal(uroce_dev_conf_parse(spec, &conf), 0);
	return conf;
}

static void
dev_conf_parse__port_alone_gets_defaults(void **state)
{
	const struct uroce_dev_conf conf = parse("net_memif0");

	(void)state;
	assert_string_equal(conf.port, "net_memif0");
	assert_int_equal(conf.nb_addr, 0);
	assert_int_equal(conf.path_mtu, 0);
	assert_false(conf.has_vlan);
	assert_int_equal(conf.nb_workers, 1);
	assert_int_equal(conf.drive, UROCE_DRIVE_APP);
	assert_int_equal(conf.max_qp, 16384);
	assert_int_equal(conf.max_mr, 16384);
	assert_false(conf.is_handed_over);
}

static void
dev_conf_parse__all_keys(void **state)
{
	static const uint8_t v4[16] = { [10] = 0xff, [11] = 0xff, 192, 0, 2, 1 };
	static const uint8_t v6[16] = { 0x20, 0x01, 0x0d, 0xb8, [15] = 1 };
	static const uint8_t gw4[16] = { [10] = 0xff, [11] = 0xff, 192, 0, 2, 254 };
	static const uint8_t gw6[16] = { 0xfe, 0x80, [15] = 9 };
	const struct uroce_dev_conf conf =
		parse("0000:01:00.0,addr=192.0.2.1/24,addr=2001:db8::1/64,gw=192.0.2.254,"
		      "gw=fe80::9,mtu=1024,vlan=4094,workers=32,drive=lcore,qps=100,mrs=16777216");

	(void)state;
	assert_string_equal(conf.port, "0000:01:00.0");
	assert_int_equal(conf.nb_addr, 2);
	assert_memory_equal(conf.addr[0].ip, v4, 16);
	assert_int_equal(conf.addr[0].prefix_len, 96 + 24);
	assert_memory_equal(conf.addr[1].ip, v6, 16);
	assert_int_equal(conf.addr[1].prefix_len, 64);
	assert_memory_equal(conf.gw4, gw4, 16);
	assert_memory_equal(conf.gw6, gw6, 16);
	assert_int_equal(conf.path_mtu, 1024);
	assert_true(conf.has_vlan);
	assert_int_equal(conf.vlan_tci, 4094);
	assert_int_equal(conf.nb_workers, 32);
	assert_int_equal(conf.drive, UROCE_DRIVE_LCORE);
	assert_int_equal(conf.max_qp, 100);
	assert_int_equal(conf.max_mr, 16777216);
	assert_false(conf.is_addr_first);
	assert_true(parse("p,gid0=addr").is_addr_first);
	assert_false(parse("p,gid0=link-local").is_addr_first);
}

static void
dev_conf_parse__congestion_control(void **state)
{
	const struct uroce_dev_conf none = parse("p"), also_none = parse("p,cc=none");
	const struct uroce_dev_conf preset = parse("p,cc=dcqcn");
	const struct uroce_dev_conf all =
		parse("p,cc_gain=16,cc=dcqcn,cc_rate_mbps=40000,cc_min_mbps=1,cc_ai_mbps=2,"
		      "cc_hai_mbps=3,cc_alpha_us=40,cc_timer_us=5,cc_byte_kb=60,cc_stages=7,"
		      "cc_cnp_us=8,cc_reduce_us=6,cc_cnp_dscp=0,cc_burst_kb=9");

	(void)state;
	assert_null(none.cc.ops);
	assert_null(also_none.cc.ops);
	assert_string_equal(preset.cc.ops->name, "dcqcn");
	assert_int_equal(preset.cc.gain, 256);
	assert_int_equal(preset.cc.cnp_dscp, 48);
	assert_int_equal(all.cc.rate_mbps, 40000);
	assert_int_equal(all.cc.min_mbps, 1);
	assert_int_equal(all.cc.ai_mbps, 2);
	assert_int_equal(all.cc.hai_mbps, 3);
	assert_int_equal(all.cc.gain, 16);
	assert_int_equal(all.cc.alpha_us, 40);
	assert_int_equal(all.cc.timer_us, 5);
	assert_int_equal(all.cc.byte_kb, 60);
	assert_int_equal(all.cc.stages, 7);
	assert_int_equal(all.cc.cnp_us, 8);
	assert_int_equal(all.cc.reduce_us, 6);
	assert_int_equal(all.cc.cnp_dscp, 0);
	assert_int_equal(all.cc.burst_kb, 9);
}

static void
dev_conf_parse__attached_to_uroced(void **state)
{
	struct uroce_dev_conf conf = parse("uroced");

	(void)state;
	assert_true(conf.is_attached);
	assert_string_equal(conf.socket, UROCE_MUX_SOCKET);
	conf = parse("uroced,socket=/tmp/a.sock,workers=2,drive=lcore,qps=262144,mrs=9,mtu=512,"
		     "cc=dcqcn");
	assert_true(conf.is_attached);
	assert_string_equal(conf.socket, "/tmp/a.sock");
	assert_int_equal(conf.nb_workers, 2);
	assert_int_equal(conf.max_qp, 262144);
	assert_int_equal(conf.path_mtu, 512);
	assert_false(parse("uroced0,addr=10.0.0.1/8").is_attached);
}

static void
dev_conf_parse__edges_are_inside(void **state)
{
	static const char *const good[] = {
		"p,addr=1.0.0.1/1",
		"p,addr=223.255.255.255/32",
		"p,addr=::2/1",
		"p,addr=fe80::1/128",
		"p,mtu=256",
		"p,mtu=4096",
		"p,vlan=1",
		"p,workers=1",
		"p,drive=app",
		"p,drive=none",
		"p,qps=1",
		"p,qps=4194304",
		"p,mrs=1",
		("p,addr=10.0.0.1/8,addr=10.0.0.2/8,addr=10.0.0.3/8,addr=10.0.0.4/8,"
		 "addr=10.0.0.5/8,addr=10.0.0.6/8,addr=10.0.0.7/8,addr=10.0.0.8/8"),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		(void)parse(good[i]);
}

static const char *const bad[] = {
	"",
	",addr=10.0.0.1/24",
	"addr=10.0.0.1/24",
	"p,nonsense",
	"p,nonsense=1",
	"p,ADDR=10.0.0.1/24",
	"p,addr",
	"p,addr=",
	"p,addr=10.0.0.1",
	"p,addr=10.0.0.1/",
	"p,addr=10.0.0.1/0",
	"p,addr=10.0.0.1/33",
	"p,addr=10.0.0.1/+8",
	"p,addr=10.0.0.1/8x",
	"p,addr=10.0.0/24",
	"p,addr=10.0.0.256/24",
	"p,addr=0.0.0.0/24",
	"p,addr=127.0.0.1/8",
	"p,addr=224.0.0.1/24",
	"p,addr=255.255.255.255/32",
	"p,addr=::/64",
	"p,addr=::1/128",
	"p,addr=ff02::1/64",
	"p,addr=::ffff:10.0.0.1/120",
	"p,addr=2001:db8::1/129",
	"p,addr=2001:db8::g/64",
	"p,addr=2001:0db8:0000:0000:0000:0000:0000:0001:0000:0000:0000:0000/64",
	"p,addr=host/24",
	("p,addr=10.0.0.1/8,addr=10.0.0.2/8,addr=10.0.0.3/8,addr=10.0.0.4/8,addr=10.0.0.5/8,"
	 "addr=10.0.0.6/8,addr=10.0.0.7/8,addr=10.0.0.8/8,addr=10.0.0.9/8"),
	"p,socket=/run/x", /* the key `socket` is only valid for the port uroced */
	"uroced,socket=",
	"uroced,socket",
	"uroced,socket=/a,socket=/a",
	"uroced,socket=/a-path-that-is-longer-than-the-hundred-and-seven-characters-that-the-"
	"address-of-a-socket-has-room-for/uroced.sock",
	"uroced,addr=10.0.0.1/24", /* uroced determines the address */
	"uroced,gw=10.0.0.1",
	"uroced,vlan=7",
	"uroced,gid0=addr",
	"uroced,qps=262145",
	"uroced1,socket=/a",
	"p,gw=10.0.0.1/24",
	"p,gw=0.0.0.0",
	"p,gw=10.0.0.1,gw=10.0.0.2",
	"p,gw=fe80::1,gw=fe80::2",
	"p,gid0=",
	"p,gid0=1",
	"p,mtu=0",
	"p,mtu=128",
	"p,mtu=1500",
	"p,mtu=8192",
	"p,mtu=1024.0",
	"p,mtu=1024,mtu=1024",
	"p,mtu=99999999999999999999",
	"p,vlan=0",
	"p,vlan=4095",
	"p,workers=0",
	"p,workers=33",
	"p,workers=-1",
	"p,workers= 1x",
	"p,drive=APP",
	"p,drive=lcores",
	"p,qps=0",
	"p,qps=4194305",
	"p,mrs=0",
	"p,mrs=16777217",
	"p,cc=",
	"p,cc=cubic",
	"p,icrc=off", /* icrc=off is valid only if the library was built without ICRCs */
	"p,icrc=on",
	"p,cc=DCQCN",
	"p,cc=dcqcn,cc=dcqcn",
	"p,cc_ai_mbps=40",
	"p,cc=none,cc_ai_mbps=40",
	"p,cc=dcqcn,cc_",
	"p,cc=dcqcn,cc_=1",
	"p,cc=dcqcn,cc_speed=1",
	"p,cc=dcqcn,cc_ai_mbps",
	"p,cc=dcqcn,cc_ai_mbps=0",
	"p,cc=dcqcn,cc_ai_mbps=100001",
	"p,cc=dcqcn,cc_ai_mbps=1,cc_ai_mbps=1",
	"p,cc=dcqcn,cc_cnp_dscp=64",
	"p,cc=dcqcn,cc_cnp_us=55",
	"p,cc=dcqcn,cc_rate_mbps=1000,cc_min_mbps=1001",
	"a-port-whose-name-is-longer-than-any-name-of-a-port-that-ethdev-could-ever-make,mtu=256",
};

static void
dev_conf_parse__bad_is_refused_and_nothing_written(void **state)
{
	struct uroce_dev_conf conf, untouched;

	(void)state;
	memset(&conf, 0xa5, sizeof(conf));
	untouched = conf;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (uroce_dev_conf_parse(bad[i], &conf) != -EINVAL)
			fail_msg("accepted: '%s'", bad[i]);
		assert_memory_equal(&conf, &untouched, sizeof(conf));
	}
}

/* Every refusal of a string logs one line, which lists the allowed values. */
static void
dev_conf_parse__refusal_is_one_line_that_says_what_is_allowed(void **state)
{
	struct uroce_dev_conf conf;
	char *text = NULL;
	size_t len = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		FILE *sink = open_memstream(&text, &len);

		assert_non_null(sink);
		rte_openlog_stream(sink);
		(void)uroce_dev_conf_parse(bad[i], &conf);
		rte_openlog_stream(NULL);
		fclose(sink);
		assert_true(len > 1);
		assert_ptr_equal(strchr(text, '\n'), text + len - 1);
		assert_non_null(strstr(text, "allowed"));
		free(text);
	}
}

/* The log line for a refused string of great length quotes only the beginning of the string. */
static void
dev_conf_parse__a_refusal_quotes_a_bounded_part(void **state)
{
	static const char *const beginnings[] = { "",       "p,",    "p,x=",
						  "p,mtu=", "p,cc_", "p,cc_cnp_us=" };
	enum { NONSENSE_LEN = 1 << 20, LINE_MAX_LEN = 512 };
	struct uroce_dev_conf conf;
	char *const spec = malloc(NONSENSE_LEN + 32);
	char *text = NULL;
	size_t len = 0;

	(void)state;
	assert_non_null(spec);
	for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++) {
		FILE *const sink = open_memstream(&text, &len);

		assert_non_null(sink);
		memset(spec, 'n', NONSENSE_LEN + 31);
		spec[NONSENSE_LEN + 31] = '\0';
		memcpy(spec, beginnings[i], strlen(beginnings[i]));
		rte_openlog_stream(sink);
		assert_int_equal(uroce_dev_conf_parse(spec, &conf), -EINVAL);
		rte_openlog_stream(NULL);
		fclose(sink);
		assert_true(len < LINE_MAX_LEN);
		assert_non_null(strstr(text, "..."));
		free(text);
	}
	free(spec);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dev_conf_parse__port_alone_gets_defaults),
		cmocka_unit_test(dev_conf_parse__all_keys),
		cmocka_unit_test(dev_conf_parse__congestion_control),
		cmocka_unit_test(dev_conf_parse__attached_to_uroced),
		cmocka_unit_test(dev_conf_parse__edges_are_inside),
		cmocka_unit_test(dev_conf_parse__bad_is_refused_and_nothing_written),
		cmocka_unit_test(dev_conf_parse__refusal_is_one_line_that_says_what_is_allowed),
		cmocka_unit_test(dev_conf_parse__a_refusal_quotes_a_bounded_part),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
