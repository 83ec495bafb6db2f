/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The configuration string. rte_kvargs splits it; a table says which keys there are, how each is
 * read and what it allows, so that a refusal can name all three.
 */

#include "datapath/conf.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <rte_common.h>
#include <rte_kvargs.h>

#include "datapath/log.h"
#include "wire/build.h"

#define V4_PREFIX_BASE 96 /* bits before the IPv4 address in its mapped form */

/* A key: `parse` returns 0, or -EINVAL when the value is not what `allowed` says. */
struct key {
	const char *name;
	int (*parse)(const char *value, struct uroce_dev_conf *conf);
	const char *allowed;
	bool is_list; /* may be given more than once */
};

static int
parse_number(const char *text, unsigned long min, unsigned long max, unsigned long *number)
{
	char *end;
	unsigned long value;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || *end || value < min || value > max)
		return -EINVAL;
	*number = value;
	return 0;
}

/* An address of either family, without prefix length, that a host may have. */
static int
parse_ip(const char *text, uint8_t ip[16])
{
	uint8_t v4[4];

	memset(ip, 0, 16);
	if (inet_pton(AF_INET, text, v4) == 1) {
		/* neither this-network, loopback, multicast nor reserved */
		if (v4[0] == 0 || v4[0] == 127 || v4[0] >= 224)
			return -EINVAL;
		ip[10] = ip[11] = 0xff;
		memcpy(ip + 12, v4, sizeof(v4));
		return 0;
	}
	if (inet_pton(AF_INET6, text, ip) != 1)
		return -EINVAL;
	if (ip[0] == 0xff || IN6_IS_ADDR_UNSPECIFIED((const struct in6_addr *)ip) ||
	    IN6_IS_ADDR_LOOPBACK((const struct in6_addr *)ip) || uroce_ip_is_v4(ip))
		return -EINVAL;
	return 0;
}

static int
parse_addr(const char *value, struct uroce_dev_conf *conf)
{
	const char *slash = strchr(value, '/');
	struct uroce_addr addr;
	char text[INET6_ADDRSTRLEN];
	unsigned long len;
	size_t text_len;

	if (!slash || conf->nb_addr == RTE_DIM(conf->addr))
		return -EINVAL;
	text_len = (size_t)(slash - value);
	if (text_len >= sizeof(text))
		return -EINVAL;
	memcpy(text, value, text_len);
	text[text_len] = '\0';
	if (parse_ip(text, addr.ip) < 0)
		return -EINVAL;
	if (uroce_ip_is_v4(addr.ip)) {
		if (parse_number(slash + 1, 1, 32, &len) < 0)
			return -EINVAL;
		len += V4_PREFIX_BASE;
	} else if (parse_number(slash + 1, 1, 128, &len) < 0) {
		return -EINVAL;
	}
	addr.prefix_len = (uint8_t)len;
	conf->addr[conf->nb_addr++] = addr;
	return 0;
}

static int
parse_gw(const char *value, struct uroce_dev_conf *conf)
{
	static const uint8_t none[16];
	uint8_t ip[16];
	uint8_t *gw;

	if (parse_ip(value, ip) < 0)
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

	if (parse_number(value, 256, 4096, &mtu) < 0 || (mtu & (mtu - 1)) != 0)
		return -EINVAL;
	conf->path_mtu = (uint16_t)mtu;
	return 0;
}

static int
parse_vlan(const char *value, struct uroce_dev_conf *conf)
{
	unsigned long vid;

	if (parse_number(value, 1, 4094, &vid) < 0)
		return -EINVAL;
	conf->vlan_tci = (uint16_t)vid;
	conf->has_vlan = true;
	return 0;
}

static int
parse_workers(const char *value, struct uroce_dev_conf *conf)
{
	unsigned long nb;

	if (parse_number(value, 1, UROCE_WORKERS_MAX, &nb) < 0)
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

	if (parse_number(value, 1, 1u << 22, &nb) < 0)
		return -EINVAL;
	conf->max_qp = (uint32_t)nb;
	return 0;
}

static int
parse_mrs(const char *value, struct uroce_dev_conf *conf)
{
	unsigned long nb;

	if (parse_number(value, 1, 1u << 24, &nb) < 0)
		return -EINVAL;
	conf->max_mr = (uint32_t)nb;
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
};
#define KEY_NAMES "addr, gw, mtu, vlan, workers, drive, qps, mrs"

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
	uint32_t bit;

	if (!key) {
		UROCE_LOG(ERR, dev, "unknown key '%s': allowed are " KEY_NAMES, name);
		return -EINVAL;
	}
	bit = UINT32_C(1) << (key - keys);
	if (*seen & bit && !key->is_list) {
		UROCE_LOG(ERR, dev, "key '%s' is given twice: allowed is once", name);
		return -EINVAL;
	}
	*seen |= bit;
	if (!value || key->parse(value, conf) < 0) {
		UROCE_LOG(ERR, dev, "%s=%s is not understood: allowed is %s", name,
			  value ? value : "", key->allowed);
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
		UROCE_LOG(ERR, dev, "'%s' is not a list: allowed is key=value[,key=value]...",
			  text);
		return -EINVAL;
	}
	for (unsigned i = 0; i < pairs->count && ret == 0; i++)
		ret = parse_pair(pairs->pairs[i].key, pairs->pairs[i].value, &seen, conf);
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
	};

	if (port_len == 0 || port_len >= sizeof(parsed.port) || memchr(spec, '=', port_len)) {
		UROCE_LOG(ERR, dev,
			  "'%s' does not begin with a port: allowed is PORT[,key=value]..., PORT "
			  "the name of an ethdev port of at most %zu characters",
			  spec, sizeof(parsed.port) - 1);
		return -EINVAL;
	}
	memcpy(parsed.port, spec, port_len);
	if (spec[port_len] && parse_pairs(spec + port_len + 1, &parsed) < 0)
		return -EINVAL;
	*conf = parsed;
	return 0;
}
