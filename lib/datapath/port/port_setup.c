/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Set up a port. ethdev requires three steps: configure the port, set up the queues, start the
 * port. The policy table (port_policy.c) determines the parameters of these steps.
 */

#include "datapath/port/port_setup.h"

#include <errno.h>
#include <string.h>
#include <rte_dev.h>
#include <rte_devargs.h>
#include <rte_ethdev.h>
#include <rte_kvargs.h>

#include "config/limits.h"
#include "datapath/clock.h"
#include "datapath/log.h"
#include "datapath/port/link.h"
#include "datapath/port/pool.h"
#include "datapath/port/rx_wakeup.h"

/* Number of descriptors of an RX or TX ring, if the driver has no preference. */
#define NB_DESC 1024
/* Number of threads that may cache mbufs of a pool: application threads and the service thread. */
#define NB_THREADS 4

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

/* Log a failed step. A port that fails with receive interrupts is set up again without them. */
static void
log_failure(const struct uroce_port *port, const char *what, int ret)
{
	if (port->has_rx_intr)
		UROCE_LOG(
			INFO, port,
			"%s: no receive interrupts, so an idle port is polled: with them the port "
			"%s: %s",
			port->name, what, strerror(-ret));
	else
		UROCE_LOG(ERR, port, "%s: %s: %s", port->name, what, strerror(-ret));
}

/*
 * Configure the port. With `has_rss`, frames are distributed over the queues by their UDP ports, if
 * the port supports this.
 */
static int
configure_port(struct uroce_port *port, const struct rte_eth_dev_info *info, uint16_t mtu,
	       bool has_rss)
{
	const uint64_t rss_wanted = RTE_ETH_RSS_NONFRAG_IPV4_UDP | RTE_ETH_RSS_NONFRAG_IPV6_UDP;
	const bool has_lsc = !port->has_rx_intr || !port->policy->is_lsc_exclusive;
	struct rte_eth_conf conf = {
		.rxmode.mtu = mtu,
		.intr_conf.lsc =
			has_lsc && info->dev_flags && *info->dev_flags & RTE_ETH_DEV_INTR_LSC,
		.intr_conf.rmv = info->dev_flags && *info->dev_flags & RTE_ETH_DEV_INTR_RMV,
		.intr_conf.rxq = port->has_rx_intr,
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
		log_failure(port, "cannot be configured", ret);
	port->is_configured |= ret == 0;
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

/*
 * Get the number of frames that the TX queue of a port may hold, if the DPDK application has
 * configured the port. A driver keeps a frame until its descriptor is used again.
 */
static uint32_t
tx_queue_len(const struct uroce_port *port, uint16_t queue)
{
	struct rte_eth_txq_info info = { 0 };

	if (!uroce_port_is_ethdev(port) || rte_eth_tx_queue_info_get(port->id, queue, &info) < 0)
		return NB_DESC;
	return RTE_MAX(info.nb_desc, NB_DESC);
}

int
uroce_port_make_pools(struct uroce_port *port)
{
	int ret = 0;

	for (uint16_t i = 0; i < port->nb_queues && ret == 0; i++)
		ret = make_pool(port, i, port->frame_limit, tx_queue_len(port, i));
	return ret;
}

static int
make_queues(struct uroce_port *port, uint32_t data_len)
{
	uint16_t nb_rxd = NB_DESC, nb_txd = NB_DESC;
	int ret = rte_eth_dev_adjust_nb_rx_tx_desc(port->id, &nb_rxd, &nb_txd);

	for (uint16_t i = 0; i < port->nb_queues && ret == 0; i++) {
		if (!port->pool[i])
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
		log_failure(port, "cannot set up queues", ret);
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

/* Whether a port is a memif client: it connects to its peer, instead of listening. */
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
	log_failure(port, "cannot be started", ret);
	return ret;
}

/* Disable the receive interrupts, which drivers enable when they start a port. */
static void
disable_intrs(struct uroce_port *port)
{
	for (uint16_t i = 0; i < port->nb_queues && port->has_rx_intr; i++)
		port->has_rx_intr = rte_eth_dev_rx_intr_disable(port->id, i) == 0;
}

static int
configure_and_start(struct uroce_port *port, const struct rte_eth_dev_info *info, uint16_t mtu,
		    uint32_t data_len)
{
	int ret = configure_best(port, info, mtu);

	if (ret == 0)
		ret = make_queues(port, data_len);
	if (ret == 0)
		ret = start_port(port);
	return ret;
}

/* Configure and start the port with receive interrupts if possible, and otherwise without. */
static int
bring_up(struct uroce_port *port, const struct rte_eth_dev_info *info, uint16_t mtu,
	 uint32_t data_len)
{
	int ret;

	port->has_rx_intr = port->has_service_thread && uroce_rx_intr_is_offered(port, info);
	ret = configure_and_start(port, info, mtu, data_len);
	if (ret < 0 && port->has_rx_intr) {
		port->has_rx_intr = false;
		ret = configure_and_start(port, info, mtu, data_len);
	}
	disable_intrs(port);
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

int
uroce_port_set_up(struct uroce_port *port, const struct rte_eth_dev_info *info)
{
	const struct rte_devargs *args = rte_dev_devargs(info->device);
	const uint16_t mtu = choose_mtu(port, info);
	uint32_t raw, data_len;
	int ret;

	port->is_client = is_client(port, args ? args->args : NULL);
	/*
	 * Allow zero-copy transmit only if the driver accesses mbufs by virtual address. A memory
	 * region is not mapped for DMA, so a physical port could not read it.
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
		ret = bring_up(port, info, mtu, data_len);
	if (ret == 0 && port->netif.if_index == 0)
		open_filters(port);
	return ret;
}

/*
 * Determine the longest frame of a port that the DPDK application has handed over: the limit of the
 * policy table, or else the MTU. If the port shares an interface with the kernel, the interface
 * limits the frames as well, and only the MTU is safe.
 */
static int
find_frame_limit(struct uroce_port *port, const struct rte_eth_dev_info *info)
{
	const struct rte_devargs *args = rte_dev_devargs(info->device);
	uint32_t limit = 0, raw;
	uint16_t mtu;
	const int ret = rte_eth_dev_get_mtu(port->id, &mtu);

	if (ret < 0) {
		UROCE_LOG(ERR, port, "%s: no MTU: %s", port->name, strerror(-ret));
		return ret;
	}
	if (!port->policy->is_kernel)
		limit = uroce_port_policy_limit(port->policy, args ? args->args : NULL, &raw);
	port->frame_limit = limit > 0 ? limit : (uint32_t)mtu + UROCE_PORT_L2;
	return 0;
}

int
uroce_port_inspect(struct uroce_port *port, const struct rte_eth_dev_info *info)
{
	int ret = find_frame_limit(port, info);

	if (ret < 0)
		return ret;
	atomic_store(&port->is_ready, true);
	ret = check_queues(port, RTE_MIN(info->nb_rx_queues, info->nb_tx_queues));
	return ret == 0 ? uroce_port_make_pools(port) : ret;
}
