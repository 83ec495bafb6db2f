/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The common part of all frames of ARP, neighbour discovery and ping: their Ethernet headers, and
 * the rules for addresses.
 */

#include "datapath/net/neigh_frame.h"

#include <string.h>

#include "wire/build.h"

bool
uroce_neigh_is_ours(const struct uroce_neigh_conf *conf, const uint8_t ip[16])
{
	for (unsigned i = 0; i < conf->nb_addr; i++) {
		if (memcmp(conf->addr[i].ip, ip, 16) == 0)
			return true;
	}
	return false;
}

/*
 * Whether `ip` is the broadcast address of a network: all bits behind the prefix are set. Networks
 * of IPv6 and those with a prefix of 31 or 32 bits have no broadcast address.
 */
static bool
is_broadcast_of(const struct uroce_addr *net, const uint8_t ip[16])
{
	if (net->prefix_len > 126 || !uroce_ip_is_v4(net->ip))
		return false;
	for (unsigned i = 12; i < 16; i++) {
		const unsigned above = net->prefix_len > i * 8 ? net->prefix_len - i * 8 : 0;
		const uint8_t host = above < 8 ? 0xff >> above : 0;

		if (ip[i] != (net->ip[i] | host))
			return false;
	}
	return true;
}

static bool
is_host_v4(const struct uroce_neigh_conf *conf, const uint8_t ip[16])
{
	for (unsigned i = 0; i < conf->nb_addr; i++) {
		if (is_broadcast_of(&conf->addr[i], ip))
			return false;
	}
	return ip[12] != 0 && ip[12] != 127 && ip[12] < 224;
}

bool
uroce_neigh_is_host(const struct uroce_neigh_conf *conf, const uint8_t ip[16])
{
	static const uint8_t unspecified[16], loopback[16] = { [15] = 1 };

	if (uroce_neigh_is_ours(conf, ip))
		return false;
	if (uroce_ip_is_v4(ip))
		return is_host_v4(conf, ip);
	return ip[0] != 0xff && memcmp(ip, unspecified, 16) != 0 && memcmp(ip, loopback, 16) != 0;
}

uint8_t *
uroce_l2_put(const struct uroce_neigh_conf *conf, uint8_t *frame, const uint8_t dmac[6],
	     uint16_t type)
{
	struct uroce_eth *eth = (struct uroce_eth *)frame;
	struct uroce_vlan *vlan = (struct uroce_vlan *)(eth + 1);

	memcpy(eth->dst, dmac, sizeof(eth->dst));
	memcpy(eth->src, conf->mac, sizeof(eth->src));
	eth->type = be16_make(conf->has_vlan ? UROCE_ETHERTYPE_VLAN : type);
	if (!conf->has_vlan)
		return (uint8_t *)(eth + 1);
	vlan->tci = be16_make(conf->vlan_tci);
	vlan->type = be16_make(type);
	return (uint8_t *)(vlan + 1);
}

void
uroce_l2_return(const struct uroce_neigh_conf *conf, uint8_t *frame, const uint8_t dmac[6])
{
	struct uroce_eth *eth = (struct uroce_eth *)frame;

	memmove(eth->dst, dmac, sizeof(eth->dst));
	memcpy(eth->src, conf->mac, sizeof(eth->src));
}
