/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Opens the port of uroced as a uroce device would, but without a device, and describes the port to
 * clients.
 */

#include "host.h"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <rte_dev.h>
#include <rte_devargs.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_kvargs.h>

#include "datapath/clock.h"
#include "datapath/net/gid.h"
#include "datapath/net/neigh.h"
#include "datapath/net/netif.h"
#include "log_line.h"

#define PATH_MTU_MIN 256u

/*
 * The keys that the specification of uroced's port (PORT,key=value,...) may have. Other keys of a
 * device are refused, because each client sets them for its own device.
 */
static const char *const keys[] = { "addr", "gw", "vlan", "mtu", "icrc", "iface" };

static bool
is_key(const char *text, size_t len)
{
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (strlen(keys[i]) == len && strncmp(keys[i], text, len) == 0)
			return true;
	}
	return false;
}

static int
check_keys(const char *spec)
{
	for (const char *at = strchr(spec, ','); at; at = strchr(at, ',')) {
		const size_t len = strcspn(++at, "=,");

		if (is_key(at, len))
			continue;
		log_line("%s: key '%.*s' is no key of uroced: allowed are addr, gw, vlan, mtu, "
			 "icrc, and iface of port " UROCE_PORT_UDP,
			 spec, (int)len, at);
		return -1;
	}
	return 0;
}

static int
check_mtu(const struct host *host)
{
	const uint32_t mtu = host->conf.path_mtu ? host->conf.path_mtu : PATH_MTU_MIN;
	const uint32_t limit = host->port->frame_limit;

	if (mtu + UROCE_FRAME_OVERHEAD <= limit && limit <= UROCE_SHM_FRAME_MAX)
		return 0;
	log_line("%s: path MTU %u needs frames of %u bytes, the port's limit is %u: allowed are "
		 "limits up to %u, and an mtu that fits",
		 host->conf.port, mtu, mtu + UROCE_FRAME_OVERHEAD, limit, UROCE_SHM_FRAME_MAX);
	return -1;
}

static bool
is_none(const uint8_t ip[16])
{
	static const uint8_t none[16];

	return memcmp(ip, none, sizeof(none)) == 0;
}

/*
 * Fill the contents of the message HOST (mux/message.h) from the state of the port.
 * @return 0, or -EINVAL after one line of the log if the port has no address
 */
static int
describe(const struct host *host, struct uroce_mux_host *told)
{
	const struct uroce_port *port = host->port;
	struct uroce_gid_table gids;
	const int ret =
		uroce_gid_make(&host->conf, port->mac, (unsigned)port->netif.if_index, &gids);

	if (ret < 0)
		return ret;
	*told = (struct uroce_mux_host){
		.is_up = uroce_port_is_up(port),
		.has_vlan = host->conf.has_vlan,
		.vlan_tci = host->conf.vlan_tci,
		.path_mtu = host->conf.path_mtu,
		.frame_limit = port->frame_limit,
		.mbps = uroce_port_mbps(port),
		.if_index = (uint32_t)port->netif.if_index,
		.is_udp = port->policy->is_udp,
	};
	memcpy(told->mac, port->mac, sizeof(told->mac));
	memcpy(told->gw4, host->conf.gw4, sizeof(told->gw4));
	memcpy(told->gw6, host->conf.gw6, sizeof(told->gw6));
	for (unsigned i = 0; i < gids.nb; i++) {
		if (is_none(gids.addr[i].ip))
			continue;
		memcpy(told->addr[told->nb_addr].ip, gids.addr[i].ip, 16);
		told->addr[told->nb_addr].prefix_len = gids.addr[i].prefix_len;
		told->addr[told->nb_addr++].is_kernels = gids.kernels >> i & 1;
	}
	return 0;
}

/*
 * Prepare replies to ARP and neighbour discovery for addresses of the port that the kernel does not
 * own. Keep the kernel from replying to RoCE frames for addresses that it owns; on the port `udp`
 * the sockets of the port already prevent such replies.
 */
static int
settle(struct host *host)
{
	const struct uroce_mux_host *told = &host->told;
	struct uroce_neigh_conf conf = { .has_vlan = told->has_vlan, .vlan_tci = told->vlan_tci };
	bool has_kernels = false;

	memcpy(conf.mac, told->mac, sizeof(conf.mac));
	for (unsigned i = 0; i < told->nb_addr; i++) {
		has_kernels |= told->addr[i].is_kernels;
		if (told->addr[i].is_kernels)
			continue;
		memcpy(conf.addr[conf.nb_addr].ip, told->addr[i].ip, 16);
		conf.addr[conf.nb_addr++].prefix_len = told->addr[i].prefix_len;
	}
	if (has_kernels && !host->port->udp)
		uroce_netif_guard(&host->port->netif);
	if (conf.nb_addr == 0)
		return 0;
	host->neigh = uroce_neigh_create(&conf);
	return host->neigh ? 0 : -1;
}

/*
 * Make the kernel's interface of the port accept all multicast frames, since the kernel does not
 * know which multicast groups clients join. A failure is logged. On the port `udp` the kernel joins
 * the groups itself.
 */
static void
open_groups(struct host *host)
{
	const struct packet_mreq all = { .mr_ifindex = host->port->netif.if_index,
					 .mr_type = PACKET_MR_ALLMULTI };

	if (all.mr_ifindex == 0 || host->port->udp)
		return;
	host->groups_fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (host->groups_fd < 0 ||
	    setsockopt(host->groups_fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof(all)) < 0)
		log_line("%s: the port may not receive multicast frames", host->port->name);
}

/*
 * Check whether the MAC address of a port may differ at each start. Drivers of virtual ports choose
 * a random MAC, unless the device arguments give one. The port `udp` computes its MAC from its
 * first IP address, which may change, too.
 */
static bool
has_drawn_mac(const struct uroce_port *port)
{
	struct rte_eth_dev_info info;
	const struct rte_devargs *args;
	struct rte_kvargs *pairs;
	bool is_told;

	if (port->udp)
		return true;
	if (!port->policy->is_virtual || port->policy->is_kernel ||
	    rte_eth_dev_info_get(port->id, &info) < 0)
		return false;
	args = rte_dev_devargs(info.device);
	pairs = args && args->args ? rte_kvargs_parse(args->args, NULL) : NULL;
	is_told = pairs && rte_kvargs_get(pairs, "mac");
	rte_kvargs_free(pairs);
	return !is_told;
}

/*
 * Give the port a MAC address that is the same after each restart, because neighbours have learnt
 * the MAC. The function does nothing if the driver does not choose a random MAC.
 * @param seed  number from which the MAC is computed
 */
static void
keep_mac(struct uroce_port *port, uint64_t seed)
{
	uint8_t mac[6];

	if (!has_drawn_mac(port))
		return;
	memcpy(mac, &seed, sizeof(mac));
	mac[0] = (uint8_t)((mac[0] & ~RTE_ETHER_GROUP_ADDR) | RTE_ETHER_LOCAL_ADMIN_ADDR);
	uroce_port_set_mac(port, mac);
}

int
host_check_spec(const char *spec, struct uroce_dev_conf *conf)
{
	if (check_keys(spec) < 0 || uroce_dev_conf_parse(spec, conf) < 0)
		return -1;
	if (!conf->is_attached)
		return 0;
	log_line("%s: the port belongs to another uroced: allowed are an ethdev port and the "
		 "port " UROCE_PORT_UDP,
		 spec);
	return -1;
}

/*
 * Open the port of uroced.
 * @return 0, or -1 after one line of the log: the caller has to close the host
 */
static int
open_port(struct host *host, const char *spec)
{
	static const struct uroce_port_plan unannounced;

	*host = (struct host){ .groups_fd = -1 };
	if (host_check_spec(spec, &host->conf) < 0)
		return -1;
	uroce_clock_init();
	host->events = uroce_event_queue_create(1);
	return host->events && uroce_port_open(&host->conf, &unannounced, host->events,
					       &host->port) == 0
		       ? 0
		       : -1;
}

int
host_open(struct host *host, const char *spec, uint64_t mac_seed)
{
	if (open_port(host, spec) < 0) {
		host_close(host);
		return -1;
	}
	keep_mac(host->port, mac_seed);
	if (check_mtu(host) < 0 || describe(host, &host->told) < 0 || settle(host) < 0) {
		host_close(host);
		return -1;
	}
	open_groups(host);
	return 0;
}

int
host_probe(struct host *host, const char *spec)
{
	if (open_port(host, spec) == 0 && check_mtu(host) == 0 && describe(host, &host->told) == 0)
		return 0;
	host_close(host);
	return -1;
}

void
host_close(struct host *host)
{
	if (host->groups_fd >= 0)
		(void)close(host->groups_fd);
	uroce_port_close(host->port);
	uroce_neigh_destroy(host->neigh);
	if (host->events)
		uroce_event_queue_destroy(host->events);
}

int
host_link_fd(const struct host *host)
{
	return uroce_event_fd(host->events);
}

/*
 * Get a descriptor that is readable when IP addresses of the port may have changed. The result is
 * -1 for addresses that were configured, because they do not change.
 */
int
host_addrs_fd(const struct host *host)
{
	const bool has_kernels = host->port->netif.if_index > 0 || host->port->udp;

	return has_kernels && host->conf.nb_addr == 0 ? host->port->netif.news_fd : -1;
}

bool
host_look(struct host *host)
{
	struct uroce_dev_event event;
	struct uroce_mux_host told;

	while (uroce_event_pop(host->events, &event))
		;
	if (host_addrs_fd(host) >= 0)
		(void)uroce_netif_has_changed(&host->port->netif);
	/*
	 * if the interface of the port has no address for a while, describe() fails, and the
	 * message HOST keeps the last addresses
	 */
	if (describe(host, &told) < 0 || memcmp(&told, &host->told, sizeof(told)) == 0)
		return false;
	host->told = told;
	return true;
}
