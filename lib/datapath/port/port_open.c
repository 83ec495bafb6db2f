/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Open and close a port. ethdev requires three steps: configure the port, set up the queues, start
 * the port. The policy table determines the parameters of these steps. Afterwards the link is
 * watched. A port that was handed over by an embedder is only inspected.
 *
 * The file has more than 500 lines: the steps of opening are undone in reverse order when one
 * fails.
 */

#include "datapath/port/port.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <rte_dev.h>
#include <rte_devargs.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_kvargs.h>

#include "config/limits.h"
#include "datapath/uroced/mux_client.h"
#include "datapath/clock.h"
#include "datapath/intr_call.h"
#include "datapath/port/fault_guard.h"
#include "datapath/port/link.h"
#include "datapath/log.h"
#include "datapath/port/pool.h"

/* Number of descriptors of an RX or TX ring, if the driver has no preference. */
#define NB_DESC 1024
/* Number of threads that may cache mbufs: application threads, the service thread. */
#define NB_THREADS 4

/*
 * Whether each port, by port ID, belongs to a device. A port can have one device only. The IDs
 * beyond those of ethdev are for ports that are attached to uroced.
 */
static atomic_bool is_in_use[UROCE_PORTS_MAX];

static void
log_no_port(const char *name)
{
	const char *capability = uroce_port_policy_capability(name);
	char names[512] = "";
	size_t len = 0;
	uint16_t id;

	RTE_ETH_FOREACH_DEV(id)
	{
		char one[RTE_ETH_NAME_MAX_LEN];

		if (rte_eth_dev_get_name_by_port(id, one) == 0 && len < sizeof(names))
			len += (size_t)snprintf(names + len, sizeof(names) - len, "%s%s",
						len ? ", " : "", one);
	}
	UROCE_LOG(ERR, port,
		  "no port '%s': EAL has %s (--vdev makes one%s%s, -a allows one on the bus)", name,
		  len ? names : "none", capability ? " with " : "", capability ? capability : "");
}

static int
claim_port(const char *name, uint16_t *id)
{
	if (rte_eth_dev_get_port_by_name(name, id) != 0) {
		log_no_port(name);
		return -ENODEV;
	}
	if (atomic_exchange(&is_in_use[*id], true)) {
		UROCE_LOG(ERR, port, "%s: the port has a RoCE device already: allowed is one",
			  name);
		return -EBUSY;
	}
	return 0;
}

void
uroce_port_set_mac(struct uroce_port *port, const uint8_t mac[6])
{
	struct rte_ether_addr addr;

	memcpy(addr.addr_bytes, mac, sizeof(addr.addr_bytes));
	if (!port->policy->is_far_mac)
		(void)rte_eth_dev_default_mac_addr_set(port->id, &addr);
	memcpy(port->mac, mac, sizeof(port->mac));
}

static bool
is_zero_mac(const uint8_t mac[6])
{
	static const uint8_t zero[6];

	return memcmp(mac, zero, sizeof(zero)) == 0;
}

/*
 * Get the MAC of a port. Some virtual ports have no MAC. Such a port gets a random MAC, so that no
 * two ports have the same MAC.
 */
static int
get_mac(struct uroce_port *port)
{
	struct rte_ether_addr mac;
	int ret = rte_eth_macaddr_get(port->id, &mac);

	if (ret < 0) {
		UROCE_LOG(ERR, port, "%s: no MAC address: %s", port->name, strerror(-ret));
		return ret;
	}
	if (is_zero_mac(mac.addr_bytes)) {
		rte_eth_random_addr(mac.addr_bytes);
		(void)rte_eth_dev_default_mac_addr_set(port->id, &mac);
	}
	if (port->policy->is_far_mac) {
		mac.addr_bytes[0] |= RTE_ETHER_LOCAL_ADMIN_ADDR;
		mac.addr_bytes[1] ^= 0x80;
	}
	memcpy(port->mac, mac.addr_bytes, sizeof(port->mac));
	return 0;
}

/*
 * Open the kernel interface that the port shares. The kernel determines the interface's MTU; longer
 * frames do not pass.
 */
static int
open_netif(struct uroce_port *port, const struct rte_eth_dev_info *info)
{
	uint32_t mtu;
	int ret;

	if (!port->policy->is_kernel || info->if_index == 0)
		return 0;
	ret = uroce_netif_open(&port->netif, (int)info->if_index);
	if (ret < 0) {
		UROCE_LOG(ERR, port, "%s: cannot use the kernel's interface %u: %s", port->name,
			  info->if_index, strerror(-ret));
		return ret;
	}
	mtu = uroce_netif_mtu(&port->netif);
	if (mtu > 0)
		port->frame_limit = RTE_MIN(port->frame_limit, mtu + UROCE_PORT_L2);
	if (info->max_mtu > 0 && mtu > info->max_mtu) {
		UROCE_LOG(ERR, port,
			  "%s: interface %s has MTU %u: allowed is up to %u, what the port can "
			  "receive (ip link set %s mtu %u)",
			  port->name, port->netif.name, mtu, info->max_mtu, port->netif.name,
			  RTE_MIN(info->max_mtu, port->policy->mtu));
		return -EINVAL;
	}
	return 0;
}

/* Choose the IP MTU with which the port is configured. */
static uint16_t
choose_mtu(const struct uroce_port *port, const struct rte_eth_dev_info *info)
{
	const uint16_t wanted = port->policy->mtu ? port->policy->mtu : UROCE_PORT_MTU;
	const uint16_t max = info->max_mtu ? info->max_mtu : wanted;
	uint32_t mtu = RTE_MIN(wanted, max);

	if (info->max_rx_pktlen > 0 && mtu + UROCE_PORT_L2 > info->max_rx_pktlen &&
	    info->max_mtu == UINT16_MAX)
		mtu = info->max_rx_pktlen - UROCE_PORT_L2;
	return (uint16_t)mtu;
}

/*
 * Configure the port. With `has_rss`, frames are distributed over the queues by their UDP ports, if
 * the port can do that.
 */
static int
configure_port(struct uroce_port *port, const struct rte_eth_dev_info *info, uint16_t mtu,
	       bool has_rss)
{
	const uint64_t rss_wanted = RTE_ETH_RSS_NONFRAG_IPV4_UDP | RTE_ETH_RSS_NONFRAG_IPV6_UDP;
	struct rte_eth_conf conf = {
		.rxmode.mtu = mtu,
		.intr_conf.lsc = info->dev_flags && *info->dev_flags & RTE_ETH_DEV_INTR_LSC,
		.intr_conf.rmv = info->dev_flags && *info->dev_flags & RTE_ETH_DEV_INTR_RMV,
	};

	if (has_rss) {
		conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
		conf.rx_adv_conf.rss_conf.rss_hf = rss_wanted & info->flow_type_rss_offloads;
	}
	return rte_eth_dev_configure(port->id, port->nb_queues, port->nb_queues, &conf);
}

static int
configure_best(struct uroce_port *port, const struct rte_eth_dev_info *info, uint16_t mtu)
{
	int ret = -ENOTSUP;

	if (port->nb_queues > 1 && info->flow_type_rss_offloads & RTE_ETH_RSS_NONFRAG_IPV4_UDP)
		ret = configure_port(port, info, mtu, true);
	if (ret < 0)
		ret = configure_port(port, info, mtu, false);
	if (ret < 0)
		UROCE_LOG(ERR, port, "%s: cannot be configured: %s", port->name, strerror(-ret));
	port->is_configured = ret == 0;
	return ret;
}

static int
make_pool(struct uroce_port *port, uint16_t queue, uint32_t data_len, uint32_t nb_desc)
{
	const struct uroce_pool_conf conf = {
		.nb_mbuf = nb_desc + 4 * UROCE_BURST + NB_THREADS * UROCE_POOL_CACHE * 3 / 2 +
			   UROCE_REORDER_BUFFER_FRAMES + port->policy->extra_mbufs +
			   (port->can_zero_copy ? 8 * UROCE_BURST : 0),
		.data_len = data_len + port->policy->rx_headroom,
		.socket_id = port->socket_id,
		.is_virtual = port->policy->is_virtual,
	};

	port->pool[queue] = uroce_pool_create(&conf);
	return port->pool[queue] ? 0 : -ENOMEM;
}

static int
make_queues(struct uroce_port *port, uint32_t data_len)
{
	uint16_t nb_rxd = NB_DESC, nb_txd = NB_DESC;
	int ret = rte_eth_dev_adjust_nb_rx_tx_desc(port->id, &nb_rxd, &nb_txd);

	for (uint16_t i = 0; i < port->nb_queues && ret == 0; i++) {
		ret = make_pool(port, i, data_len, (uint32_t)nb_rxd + nb_txd);
		if (ret < 0)
			return ret;
		ret = rte_eth_rx_queue_setup(port->id, i, nb_rxd, (unsigned)port->socket_id, NULL,
					     port->pool[i]);
		if (ret == 0)
			ret = rte_eth_tx_queue_setup(port->id, i, nb_txd, (unsigned)port->socket_id,
						     NULL);
	}
	if (ret < 0)
		UROCE_LOG(ERR, port, "%s: queues cannot be set up: %s", port->name, strerror(-ret));
	return ret;
}

/*
 * Make the port accept multicast frames, which IPv6 neighbour discovery needs. If the port has no
 * mode for all multicast, it is made promiscuous.
 */
static void
open_filters(struct uroce_port *port)
{
	port->has_all_multicast = rte_eth_allmulticast_enable(port->id) == 0 ||
				  rte_eth_promiscuous_enable(port->id) == 0;
}

/* Whether the port connects to its peer, instead of listening. */
static bool
is_client(const struct uroce_port *port, const char *args)
{
	struct rte_kvargs *pairs = args ? rte_kvargs_parse(args, NULL) : NULL;
	const char *role = pairs ? rte_kvargs_get(pairs, "role") : NULL;
	const bool listens = role && (strcmp(role, "server") == 0 || strcmp(role, "master") == 0);

	rte_kvargs_free(pairs);
	return port->policy->has_peer && !listens;
}

static int
start_port(struct uroce_port *port)
{
	const int ret = rte_eth_dev_start(port->id);

	if (ret == 0) {
		port->restart_ns = uroce_clock_ns() + UROCE_LINK_RESTART_NS;
		port->is_started = true;
		atomic_store(&port->is_ready, true);
		return 0;
	}
	if (port->is_client) {
		UROCE_LOG(WARNING, port,
			  "%s: no server listens yet: the port connects when one does", port->name);
		return 0;
	}
	UROCE_LOG(ERR, port, "%s: cannot be started: %s", port->name, strerror(-ret));
	return ret;
}

static int
check_queues(const struct uroce_port *port, uint16_t max)
{
	if (port->nb_queues <= max)
		return 0;
	UROCE_LOG(ERR, port, "%s: workers=%u: allowed is up to %u, the port's RX and TX queues",
		  port->name, port->nb_queues, max);
	return -EINVAL;
}

static int
set_up_port(struct uroce_port *port, const struct rte_eth_dev_info *info)
{
	const struct rte_devargs *args = rte_dev_devargs(info->device);
	const uint16_t mtu = choose_mtu(port, info);
	uint32_t raw, data_len;
	int ret;

	port->is_client = is_client(port, args ? args->args : NULL);
	/*
	 * Allow zero-copy transmit only if the driver accesses mbufs by virtual address. The
	 * region's memory is not mapped for DMA, so a physical port could not read it.
	 */
	port->can_zero_copy = port->policy->has_ext_buf && port->policy->has_multi_seg &&
			      port->policy->is_virtual;
	port->frame_limit = uroce_port_policy_limit(port->policy, args ? args->args : NULL, &raw);
	if (port->frame_limit == 0)
		port->frame_limit = raw = (uint32_t)mtu + UROCE_PORT_L2;
	data_len =
		port->policy->is_limit_strict ? raw : RTE_MIN(raw, UROCE_PORT_MTU + UROCE_PORT_L2);
	ret = check_queues(port, RTE_MIN(info->max_rx_queues, info->max_tx_queues));
	if (ret == 0)
		ret = open_netif(port, info);
	if (ret == 0)
		ret = configure_best(port, info, mtu);
	if (ret == 0)
		ret = make_queues(port, data_len);
	if (ret == 0)
		ret = start_port(port);
	if (ret == 0 && port->netif.if_index == 0)
		open_filters(port);
	return ret;
}

/*
 * Inspect an embedder's port, whose configuration stays as it is. A mempool is created for the
 * frames that this library sends.
 */
static int
inspect_port(struct uroce_port *port, const struct rte_eth_dev_info *info)
{
	uint16_t mtu;
	int ret = rte_eth_dev_get_mtu(port->id, &mtu);

	if (ret < 0) {
		UROCE_LOG(ERR, port, "%s: no MTU: %s", port->name, strerror(-ret));
		return ret;
	}
	port->frame_limit = (uint32_t)mtu + UROCE_PORT_L2;
	atomic_store(&port->is_ready, true);
	ret = check_queues(port, RTE_MIN(info->nb_rx_queues, info->nb_tx_queues));
	for (uint16_t i = 0; i < port->nb_queues && ret == 0; i++)
		ret = make_pool(port, i, port->frame_limit, NB_DESC);
	return ret;
}

static int
open_claimed(struct uroce_port *port)
{
	struct rte_eth_dev_info info;
	int ret = rte_eth_dev_info_get(port->id, &info);

	if (ret < 0) {
		UROCE_LOG(ERR, port, "%s: the driver does not report its properties: %s",
			  port->name, strerror(-ret));
		return ret;
	}
	port->policy = uroce_port_policy_of(info.driver_name);
	if (port->policy->has_peer && uroce_fault_guard_install() < 0)
		UROCE_LOG(WARNING, port,
			  "%s: no fault handler: the end of a peer may end this process",
			  port->name);
	port->socket_id = rte_eth_dev_socket_id(port->id);
	ret = port->is_handed_over ? inspect_port(port, &info) : set_up_port(port, &info);
	if (ret < 0)
		return ret;
	ret = get_mac(port);
	if (ret < 0)
		return ret;
	uroce_link_watch(port);
	return 0;
}

/*
 * Claim a port ID for a port that is attached to uroced. Such ports have IDs beyond those of
 * ethdev. The range of these IDs limits the number of such ports.
 */
static int
claim_mux_port(uint16_t *id)
{
	for (uint16_t i = RTE_MAX_ETHPORTS; i < UROCE_PORTS_MAX; i++) {
		if (!atomic_exchange(&is_in_use[i], true)) {
			*id = i;
			return 0;
		}
	}
	UROCE_LOG(ERR, port, "%s: too many devices: allowed are %u in one process",
		  UROCE_PORT_UROCED, UROCE_PORTS_MAX - RTE_MAX_ETHPORTS);
	return -EBUSY;
}

static int
open_attached(struct uroce_port *port, const struct uroce_dev_conf *conf,
	      const struct uroce_port_plan *plan)
{
	int ret;

	port->policy = uroce_port_policy_of(conf->port);
	port->socket_id = SOCKET_ID_ANY;
	/* The filter of uroced's port determines which multicast frames arrive. */
	port->has_all_multicast = true;
	ret = uroce_mux_client_open(port, conf, plan->frame_limit > 0 ? &plan->host : NULL);
	if (ret < 0)
		return ret;
	memcpy(port->mac, port->mux_client->host.mac, sizeof(port->mac));
	port->frame_limit = port->mux_client->host.frame_limit;
	for (uint16_t i = 0; i < port->nb_queues && ret == 0; i++)
		ret = make_pool(port, i, port->frame_limit, NB_DESC);
	atomic_store(&port->is_ready, ret == 0);
	return ret;
}

uint32_t
uroce_port_mbps(const struct uroce_port *port)
{
	struct rte_eth_link link = { .link_speed = RTE_ETH_SPEED_NUM_NONE };

	if (port->mux_client)
		return atomic_load_explicit(&port->mux_client->mbps, memory_order_relaxed);
	if (rte_eth_link_get_nowait(port->id, &link) < 0)
		return RTE_ETH_SPEED_NUM_NONE;
	return link.link_speed;
}

int
uroce_port_open(const struct uroce_dev_conf *conf, const struct uroce_port_plan *plan,
		struct uroce_event_queue *events, struct uroce_port **out)
{
	struct uroce_port *port = calloc(1, sizeof(*port));
	int ret;

	if (!port) {
		UROCE_LOG(ERR, mem, "no memory for a port");
		return -ENOMEM;
	}
	memcpy(port->name, conf->port, sizeof(port->name));
	port->nb_queues = (uint16_t)conf->nb_workers;
	port->is_handed_over = conf->is_handed_over;
	port->events = events;
	ret = conf->is_attached ? claim_mux_port(&port->id) : claim_port(port->name, &port->id);
	if (ret < 0) {
		free(port);
		return ret;
	}
	ret = conf->is_attached ? open_attached(port, conf, plan) : open_claimed(port);
	if (ret < 0) {
		uroce_port_close(port);
		return ret;
	}
	*out = port;
	return 0;
}

/*
 * Stop and close a port. The driver forgets the mempools of the library only when the port is
 * closed; until then AF_XDP's kernel side writes to them. A memif port stays open, because to close
 * a memif server would free an interrupt source that EAL still uses.
 */
static void
stop_and_close(const struct uroce_port *port)
{
	if (port->is_started)
		(void)rte_eth_dev_stop(port->id);
	if (!port->policy->has_peer)
		(void)rte_eth_dev_close(port->id);
}

/*
 * Stop and close a port while SIGPIPE is blocked. Drivers notify their peer over a socket. If the
 * peer has ended, this raises SIGPIPE, whose default action would end this process. A SIGPIPE that
 * was raised here is consumed.
 */
static void
stop_port(void *arg)
{
	sigset_t broken_pipe, before, pending;

	sigemptyset(&broken_pipe);
	sigaddset(&broken_pipe, SIGPIPE);
	sigpending(&pending);
	pthread_sigmask(SIG_BLOCK, &broken_pipe, &before);
	stop_and_close(arg);
	if (!sigismember(&pending, SIGPIPE))
		(void)sigtimedwait(&broken_pipe, NULL, &(const struct timespec){ 0 });
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/*
 * Stop and close a port. If the port has a peer, this is done in the interrupt thread, where the
 * driver also runs its control callbacks. So no callback runs at the same time.
 */
static void
stop_in_intr_thread(struct uroce_port *port)
{
	if (!port->policy->has_peer) {
		stop_port(port);
		return;
	}
	uroce_intr_call_run(stop_port, port);
	uroce_intr_call_synchronize();
}

void
uroce_port_close(struct uroce_port *port)
{
	if (!port)
		return;
	uroce_link_unwatch(port);
	uroce_mux_client_close(port->mux_client);
	if (port->is_configured && !uroce_port_is_gone(port))
		stop_in_intr_thread(port);
	for (unsigned i = 0; i < RTE_DIM(port->pool); i++)
		uroce_pool_destroy(port->pool[i]);
	if (port->netif.if_index > 0)
		uroce_netif_close(&port->netif);
	atomic_store(&is_in_use[port->id], false);
	free(port);
}
