/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The plan of a port: its properties before it exists. The sources of a plan are the arguments of
 * the virtual device, the driver's row in the policy table and, for a port that shares an interface
 * with the kernel, the interface. A physical port cannot be planned, because its properties are
 * unknown before it is probed.
 */

#include <errno.h>
#include <net/if.h>
#include <string.h>
#include <rte_ether.h>
#include <rte_kvargs.h>

#include "datapath/uroced/mux_client.h"
#include "datapath/log.h"
#include "datapath/port/port.h"
#include "datapath/udp/udp_port.h"

static uint32_t
limit_of(const struct uroce_port_policy *policy, const char *args)
{
	uint32_t raw;
	const uint32_t limit = uroce_port_policy_limit(policy, args, &raw);

	return limit > 0 ? limit : (policy->mtu ? policy->mtu : UROCE_PORT_MTU) + UROCE_PORT_L2;
}

/*
 * Determine the properties of a port that will share a kernel interface, from those of the
 * interface.
 */
static int
plan_netif(const char *name, struct uroce_port_plan *plan)
{
	struct uroce_netif netif;
	uint32_t mtu;
	int ret = uroce_netif_open(&netif, (int)if_nametoindex(name ? name : ""));

	if (ret < 0) {
		UROCE_LOG(ERR, port, "interface '%s': %s: allowed is iface=NAME, of ip link",
			  name ? name : "", strerror(-ret));
		return ret;
	}
	plan->if_index = netif.if_index;
	mtu = uroce_netif_mtu(&netif);
	if (mtu > 0)
		plan->frame_limit = RTE_MIN(plan->frame_limit, mtu + UROCE_PORT_L2);
	ret = uroce_netif_mac(&netif, plan->mac);
	uroce_netif_close(&netif);
	if (ret < 0)
		UROCE_LOG(ERR, port, "interface '%s' has no MAC: allowed is one of Ethernet", name);
	return ret;
}

/* Choose the MAC of a port that is not open yet: the MAC in its arguments, or else a random one. */
static void
plan_mac(const char *given, struct uroce_port_plan *plan)
{
	struct rte_ether_addr mac;

	if (!given || rte_ether_unformat_addr(given, &mac) < 0)
		rte_eth_random_addr(mac.addr_bytes);
	memcpy(plan->mac, mac.addr_bytes, sizeof(plan->mac));
}

int
uroce_port_plan(const char *vdev, struct uroce_port_plan *plan)
{
	const struct uroce_port_policy *const policy = uroce_port_policy_by_name(vdev);
	const char *const comma = strchr(vdev, ',');
	const char *const args = comma ? comma + 1 : "";
	struct rte_kvargs *pairs;
	int ret = 0;

	if (!policy->driver || !policy->is_virtual) {
		UROCE_LOG(ERR, port,
			  "'" UROCE_QUOTED
			  "' is no virtual port: allowed are virtual devices whose arguments "
			  "define the port",
			  UROCE_QUOTE(vdev));
		return -EINVAL;
	}
	pairs = rte_kvargs_parse(args, NULL);
	if (!pairs) {
		UROCE_LOG(ERR, port,
			  "'" UROCE_QUOTED "' is not a list: allowed is NAME[,key=value]...",
			  UROCE_QUOTE(vdev));
		return -EINVAL;
	}
	*plan = (struct uroce_port_plan){
		.frame_limit = limit_of(policy, args),
		.mbps = policy->mbps > 0 ? policy->mbps : RTE_ETH_SPEED_NUM_UNKNOWN,
	};
	if (policy->is_kernel)
		ret = plan_netif(rte_kvargs_get(pairs, "iface"), plan);
	else
		plan_mac(rte_kvargs_get(pairs, "mac"), plan);
	rte_kvargs_free(pairs);
	return ret;
}

int
uroce_port_plan_attached(const char *socket, struct uroce_port_plan *plan)
{
	struct uroce_port_plan queried = { .if_index = 0 };
	const int ret = uroce_mux_client_query_host(socket, &queried.host);

	if (ret < 0)
		return ret;
	memcpy(queried.mac, queried.host.mac, sizeof(queried.mac));
	queried.frame_limit = queried.host.frame_limit;
	queried.mbps = queried.host.mbps;
	*plan = queried;
	return 0;
}

static int
plan_udp(const struct uroce_dev_conf *conf, struct uroce_port_plan *plan)
{
	struct uroce_udp_plan udp;
	const int ret = uroce_udp_port_plan(conf, &udp);

	if (ret < 0)
		return ret;
	*plan = (struct uroce_port_plan){
		.frame_limit = udp.frame_limit,
		.if_index = udp.if_index,
		.mbps = RTE_ETH_SPEED_NUM_UNKNOWN,
	};
	memcpy(plan->mac, udp.mac, sizeof(plan->mac));
	return 0;
}

int
uroce_port_plan_for(const struct uroce_dev_conf *conf, const char *vdev,
		    struct uroce_port_plan *plan)
{
	if (conf->is_udp)
		return plan_udp(conf, plan);
	return conf->is_attached ? uroce_port_plan_attached(conf->socket, plan)
				 : uroce_port_plan(vdev, plan);
}

bool
uroce_port_plan_is_up(const struct uroce_port_plan *plan)
{
	struct uroce_netif netif;
	bool is_up;

	if (plan->host.frame_limit > 0)
		return plan->host.is_up;
	if (plan->if_index == 0)
		return true;
	is_up = uroce_netif_open(&netif, plan->if_index) == 0 && uroce_netif_is_up(&netif) > 0;
	uroce_netif_close(&netif);
	return is_up;
}
