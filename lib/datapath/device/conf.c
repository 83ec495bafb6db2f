/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The parser of the configuration string. rte_kvargs splits the string. A table lists each key with
 * its parser and its allowed values, so that an error message can name the key and the allowed
 * values.
 */

#include "datapath/device/conf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rte_common.h>
#include <rte_kvargs.h>

#include "datapath/device/conf_value.h"
#include "datapath/log.h"
#include "wire/build.h"
#include "base/crc32.h"

/*
 * A key of the configuration string. `parse` returns 0, or -EINVAL if the value does not match
 * `allowed`.
 */
struct key {
	const char *name;
	int (*parse)(const char *value, struct uroce_dev_conf *conf);
	const char *allowed;
	bool is_list; /* the key may appear more than once in the configuration string */
};

static int
parse_addr(const char *value, struct uroce_dev_conf *conf)
{
	if (conf->nb_addr == RTE_DIM(conf->addr) ||
	    uroce_conf_value_addr(value, conf->is_udp, &conf->addr[conf->nb_addr]) < 0)
		return -EINVAL;
	conf->nb_addr++;
	return 0;
}

static int
parse_gw(const char *value, struct uroce_dev_conf *conf)
{
	static const uint8_t none[16];
	uint8_t ip[16];
	uint8_t *gw;

	if (uroce_conf_value_ip(value, false, ip) < 0)
		return -EINVAL;
	gw = uroce_ip_is_v4(ip) ? conf->gw4 : conf->gw6;
	if (memcmp(gw, none, sizeof(none)) != 0)
		return -EINVAL;
	memcpy(gw, ip, sizeof(ip));
	return 0;
}

static int
parse_mtu(const char *value, struct uroce_dev_conf *conf)
{
	unsigned long mtu;

	if (uroce_conf_value_number(value, 256, 4096, &mtu) < 0 || (mtu & (mtu - 1)) != 0)
		return -EINVAL;
	conf->path_mtu = (uint16_t)mtu;
	return 0;
}

static int
parse_vlan(const char *value, struct uroce_dev_conf *conf)
{
	unsigned long vid;

	if (uroce_conf_value_number(value, 1, 4094, &vid) < 0)
		return -EINVAL;
	conf->vlan_tci = (uint16_t)vid;
	conf->has_vlan = true;
	return 0;
}

static int
parse_workers(const char *value, struct uroce_dev_conf *conf)
{
	unsigned long nb;

	if (uroce_conf_value_number(value, 1, UROCE_WORKERS_MAX, &nb) < 0)
		return -EINVAL;
	conf->nb_workers = (unsigned)nb;
	return 0;
}

static int
parse_drive(const char *value, struct uroce_dev_conf *conf)
{
	static const char *const names[] = {
		[UROCE_DRIVE_APP] = "app",
		[UROCE_DRIVE_LCORE] = "lcore",
		[UROCE_DRIVE_NONE] = "none",
	};

	for (unsigned i = 0; i < RTE_DIM(names); i++) {
		if (strcmp(value, names[i]) == 0) {
			conf->drive = (enum uroce_drive)i;
			return 0;
		}
	}
	return -EINVAL;
}

static int
parse_qps(const char *value, struct uroce_dev_conf *conf)
{
	unsigned long nb;

	if (uroce_conf_value_number(value, 1, 1u << 22, &nb) < 0)
		return -EINVAL;
	conf->max_qp = (uint32_t)nb;
	return 0;
}

static int
parse_mrs(const char *value, struct uroce_dev_conf *conf)
{
	unsigned long nb;

	if (uroce_conf_value_number(value, 1, 1u << 24, &nb) < 0)
		return -EINVAL;
	conf->max_mr = (uint32_t)nb;
	return 0;
}

static int
parse_cc(const char *value, struct uroce_dev_conf *conf)
{
	return uroce_cc_find(value, &conf->cc.ops) ? 0 : -EINVAL;
}

/*
 * Parse the path of uroced's socket. The path with its terminating zero must fit into a socket
 * address.
 */
static int
parse_socket(const char *value, struct uroce_dev_conf *conf)
{
	const size_t len = strlen(value);

	if (len == 0 || len >= sizeof(conf->socket))
		return -EINVAL;
	memcpy(conf->socket, value, len + 1);
	return 0;
}

static int
parse_iface(const char *value, struct uroce_dev_conf *conf)
{
	const size_t len = strlen(value);

	if (len == 0 || len >= sizeof(conf->iface))
		return -EINVAL;
	memcpy(conf->iface, value, len + 1);
	return 0;
}

static int
parse_gid0(const char *value, struct uroce_dev_conf *conf)
{
	conf->is_addr_first = strcmp(value, "addr") == 0;
	return conf->is_addr_first || strcmp(value, "link-local") == 0 ? 0 : -EINVAL;
}

/*
 * Parse icrc=off. The value does not switch ICRCs off: it is allowed only if the library was built
 * without ICRCs, and acknowledges that ICRCs are missing.
 */
static int
parse_icrc(const char *value, struct uroce_dev_conf *conf)
{
	if (!uroce_crc32_is_none || strcmp(value, "off") != 0)
		return -EINVAL;
	conf->is_icrc_off = true;
	return 0;
}

static const struct key keys[] = {
	{ "addr", parse_addr, "up to 8 host addresses as 192.0.2.1/24 or 2001:db8::1/64", true },
	{ "gw", parse_gw, "a gateway as 192.0.2.254 or fe80::1, one for each family", true },
	{ "mtu", parse_mtu, "256, 512, 1024, 2048 or 4096", false },
	{ "vlan", parse_vlan, "1 to 4094", false },
	{ "workers", parse_workers, "1 to 32", false },
	{ "drive", parse_drive, "app, lcore or none", false },
	{ "qps", parse_qps, "1 to 4194304", false },
	{ "mrs", parse_mrs, "1 to 16777216", false },
	{ "cc", parse_cc, "none or dcqcn", false },
	{ "socket", parse_socket, "the path of uroced's socket, of up to 107 characters", false },
	{ "iface", parse_iface, "the name of an interface, of up to 15 characters", false },
	{ "gid0", parse_gid0, "addr or link-local", false },
	{ "icrc", parse_icrc, "off, of a library built without ICRCs for benchmarks", false },
};
#define KEY_NAMES "addr, gw, mtu, vlan, workers, drive, qps, mrs, cc, socket, iface, gid0"

/*
 * The key of a congestion control parameter consists of CC_PREFIX and the name of the parameter in
 * transport/congestion/cc.h.
 */
#define CC_PREFIX     "cc_"
#define CC_PREFIX_LEN (sizeof(CC_PREFIX) - 1)

/*
 * The set of the keys that the configuration string contains has a bit for each key: first the keys
 * of the table `keys`, then the congestion control parameters.
 */
static_assert(RTE_DIM(keys) + UROCE_CC_PARAMS <= 32, "a bit for each key");

/*
 * Mark a key of the configuration string as seen. If the key was seen before and is not a list, an
 * error is logged.
 * @return false: the key is given twice, but is allowed once
 */
static bool
mark_key_seen(uint32_t *seen, size_t idx, const char *name, bool is_list)
{
	const uint32_t bit = UINT32_C(1) << idx;

	if (*seen & bit && !is_list) {
		UROCE_LOG(ERR, dev, "key '%s' is given twice: allowed is once", name);
		return false;
	}
	*seen |= bit;
	return true;
}

static void
list_cc_params(char *text, size_t room)
{
	size_t len = 0;

	for (unsigned i = 0; i < UROCE_CC_PARAMS && len < room; i++)
		len += (size_t)snprintf(text + len, room - len, "%s" CC_PREFIX "%s", i ? ", " : "",
					uroce_cc_params[i].name);
}

static int
parse_cc_param(const char *name, const char *value, uint32_t *seen, struct uroce_dev_conf *conf)
{
	const struct uroce_cc_param *param = uroce_cc_params;
	unsigned long number;
	char names[256];

	while (param < uroce_cc_params + UROCE_CC_PARAMS &&
	       strcmp(name + CC_PREFIX_LEN, param->name) != 0)
		param++;
	if (param == uroce_cc_params + UROCE_CC_PARAMS) {
		list_cc_params(names, sizeof(names));
		UROCE_LOG(ERR, dev, "unknown key '" UROCE_QUOTED "': allowed are %s",
			  UROCE_QUOTE(name), names);
		return -EINVAL;
	}
	if (!mark_key_seen(seen, RTE_DIM(keys) + (size_t)(param - uroce_cc_params), name, false))
		return -EINVAL;
	if (!value || uroce_conf_value_number(value, param->min, param->max, &number) < 0) {
		UROCE_LOG(ERR, dev,
			  "%s=" UROCE_QUOTED " is not understood: allowed is %u to %u, %s", name,
			  UROCE_QUOTE(value ? value : ""), param->min, param->max, param->text);
		return -EINVAL;
	}
	uroce_cc_conf_set(&conf->cc, param, (uint32_t)number);
	return 0;
}

/*
 * Refuse every configuration if the library was built without ICRCs, unless the user has
 * acknowledged that data integrity is not protected.
 */
static int
check_icrc(const struct uroce_dev_conf *conf)
{
	if (!uroce_crc32_is_none || conf->is_icrc_off)
		return 0;
	UROCE_LOG(ERR, dev,
		  "this library was built for benchmarks and neither makes nor checks ICRCs: "
		  "allowed is icrc=off, which confirms this");
	return -EINVAL;
}

/* Check the congestion control keys for consistency with one another. */
static int
check_cc(const struct uroce_dev_conf *conf, uint32_t seen)
{
	const char *wrong = uroce_cc_conf_check(&conf->cc);

	if (wrong) {
		UROCE_LOG(ERR, dev, "%s", wrong);
		return -EINVAL;
	}
	if (!conf->cc.ops && seen >> RTE_DIM(keys)) {
		UROCE_LOG(ERR, dev,
			  "keys " CC_PREFIX "... have no meaning without congestion control: "
			  "allowed is cc=dcqcn with them");
		return -EINVAL;
	}
	return 0;
}

static bool
is_given(const char *name, uint32_t seen)
{
	for (unsigned i = 0; i < RTE_DIM(keys); i++) {
		if (strcmp(keys[i].name, name) == 0)
			return seen >> i & 1;
	}
	return false;
}

/*
 * Refuse the keys `names`, which have no meaning for the port, if the configuration string contains
 * one of them.
 * @param why  end of the log line: the reason of the refusal, and the keys that are allowed
 * @return 0, or -EINVAL after a logged line
 */
static int
refuse_keys(const char *const names[], unsigned nb, uint32_t seen, const char *why)
{
	for (unsigned i = 0; i < nb; i++) {
		if (!is_given(names[i], seen))
			continue;
		UROCE_LOG(ERR, dev, "key '%s' is %s", names[i], why);
		return -EINVAL;
	}
	return 0;
}

/*
 * Refuse keys of the configuration string that do not apply to the port. Some keys are only for a
 * port of the daemon uroced, others only for ports of other kinds.
 */
static int
check_attached(const struct uroce_dev_conf *conf, uint32_t seen)
{
	static const char *const uroceds[] = { "addr", "gw", "vlan", "gid0" };

	if (!conf->is_attached && is_given("socket", seen)) {
		UROCE_LOG(ERR, dev,
			  "key 'socket' is of port " UROCE_PORT_UROCED
			  " alone: allowed is " UROCE_PORT_UROCED ",socket=%s",
			  conf->socket);
		return -EINVAL;
	}
	if (conf->is_attached &&
	    refuse_keys(uroceds, RTE_DIM(uroceds), seen,
			"a key of uroced, which owns the port: allowed are socket, mtu, workers, "
			"drive, qps, mrs, cc and " CC_PREFIX "...") < 0)
		return -EINVAL;
	if (!conf->is_attached || conf->max_qp <= UROCE_ATTACHED_QPS_MAX)
		return 0;
	UROCE_LOG(ERR, dev, "qps=%u: allowed is up to %u, the numbers that uroced leases",
		  conf->max_qp, UROCE_ATTACHED_QPS_MAX);
	return -EINVAL;
}

/*
 * Refuse keys that do not apply to the port `udp`. On other ports, refuse keys that apply only to
 * the port `udp`.
 */
static int
check_udp(const struct uroce_dev_conf *conf, uint32_t seen)
{
	static const char *const kernels[] = { "gw", "vlan" };

	if (!conf->is_udp && is_given("iface", seen)) {
		UROCE_LOG(ERR, dev,
			  "key 'iface' is of port " UROCE_PORT_UDP
			  " alone: allowed is " UROCE_PORT_UDP ",iface=%s",
			  conf->iface);
		return -EINVAL;
	}
	if (conf->is_udp &&
	    refuse_keys(
		    kernels, RTE_DIM(kernels), seen,
		    "not of port " UROCE_PORT_UDP
		    ", whose routes and VLANs are the kernel's: allowed are addr or iface, mtu, "
		    "workers, drive, qps, mrs, cc and " CC_PREFIX "...") < 0)
		return -EINVAL;
	if (!conf->is_udp || conf->nb_addr == 0 || !conf->iface[0])
		return 0;
	UROCE_LOG(ERR, dev,
		  UROCE_PORT_UDP
		  ": keys 'addr' and 'iface' are both given: allowed is one of them");
	return -EINVAL;
}

static const struct key *
find_key(const char *name)
{
	for (unsigned i = 0; i < RTE_DIM(keys); i++) {
		if (strcmp(name, keys[i].name) == 0)
			return &keys[i];
	}
	return NULL;
}

static int
parse_pair(const char *name, const char *value, uint32_t *seen, struct uroce_dev_conf *conf)
{
	const struct key *key = find_key(name);

	if (strncmp(name, CC_PREFIX, CC_PREFIX_LEN) == 0)
		return parse_cc_param(name, value, seen, conf);
	if (!key) {
		UROCE_LOG(ERR, dev,
			  "unknown key '" UROCE_QUOTED "': allowed are " KEY_NAMES " and " CC_PREFIX
			  "...",
			  UROCE_QUOTE(name));
		return -EINVAL;
	}
	if (!mark_key_seen(seen, (size_t)(key - keys), name, key->is_list))
		return -EINVAL;
	if (!value || key->parse(value, conf) < 0) {
		UROCE_LOG(ERR, dev, "%s=" UROCE_QUOTED " is not understood: allowed is %s", name,
			  UROCE_QUOTE(value ? value : ""), key->allowed);
		return -EINVAL;
	}
	return 0;
}

static int
parse_pairs(const char *text, struct uroce_dev_conf *conf)
{
	struct rte_kvargs *pairs = rte_kvargs_parse(text, NULL);
	uint32_t seen = 0;
	int ret = 0;

	if (!pairs) {
		UROCE_LOG(ERR, dev,
			  "'" UROCE_QUOTED "' is not a list: allowed is key=value[,key=value]...",
			  UROCE_QUOTE(text));
		return -EINVAL;
	}
	for (unsigned i = 0; i < pairs->count && ret == 0; i++)
		ret = parse_pair(pairs->pairs[i].key, pairs->pairs[i].value, &seen, conf);
	if (ret == 0)
		ret = check_cc(conf, seen);
	if (ret == 0)
		ret = check_attached(conf, seen);
	if (ret == 0)
		ret = check_udp(conf, seen);
	rte_kvargs_free(pairs);
	return ret;
}

int
uroce_dev_conf_parse(const char *spec, struct uroce_dev_conf *conf)
{
	const size_t port_len = strcspn(spec, ",");
	struct uroce_dev_conf parsed = {
		.nb_workers = 1,
		.drive = UROCE_DRIVE_APP,
		.max_qp = 16384,
		.max_mr = 16384,
		.socket = UROCE_MUX_SOCKET,
	};

	uroce_cc_conf_init(&parsed.cc);

	if (port_len == 0 || port_len >= sizeof(parsed.port) || memchr(spec, '=', port_len)) {
		UROCE_LOG(ERR, dev,
			  "'" UROCE_QUOTED
			  "' does not begin with a port: allowed is PORT[,key=value]..., PORT "
			  "the name of an ethdev port of at most %zu characters",
			  UROCE_QUOTE(spec), sizeof(parsed.port) - 1);
		return -EINVAL;
	}
	memcpy(parsed.port, spec, port_len);
	parsed.is_udp = strcmp(parsed.port, UROCE_PORT_UDP) == 0;
	parsed.is_attached = strcmp(parsed.port, UROCE_PORT_UROCED) == 0;
	if (spec[port_len] && parse_pairs(spec + port_len + 1, &parsed) < 0)
		return -EINVAL;
	if (check_icrc(&parsed) < 0)
		return -EINVAL;
	*conf = parsed;
	return 0;
}
