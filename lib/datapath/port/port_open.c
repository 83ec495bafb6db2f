/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Open and close a port. port_setup.c configures the port and starts it. Afterwards the link is
 * watched.
 */

#include "datapath/port/port.h"

#include <errno.h>
#include <net/if.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_ether.h>

#include "config/limits.h"
#include "datapath/uroced/mux_client.h"
#include "datapath/intr_call.h"
#include "datapath/line_heap.h"
#include "datapath/port/fault_guard.h"
#include "datapath/port/link.h"
#include "datapath/log.h"
#include "datapath/port/memif_socket.h"
#include "datapath/port/pool.h"
#include "datapath/port/port_setup.h"
#include "datapath/udp/udp_port.h"

/* Time in us that a port waits before it stops, so that its peer can receive the last frames. */
#define PEER_RECEIVES_US 20000u

/*
 * For each port ID: whether the port belongs to a device. A port can have one device only. The IDs
 * beyond those of ethdev are for ports that are attached to uroced and for ports `udp`.
 */
static atomic_bool is_in_use[UROCE_PORTS_MAX];

static void
log_no_port(const char *name)
{
	const char *capability = uroce_port_policy_capability(name);
	char names[512] = "";
	size_t len = 0;
	uint16_t id;

	if (if_nametoindex(name) != 0) {
		UROCE_LOG(ERR, port,
			  "no port '%s', which is an interface of the kernel: "
			  "--vdev=net_af_packet0,iface=%s makes the port net_af_packet0 of it",
			  name, name);
		return;
	}
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
	if (!port->policy->is_far_mac && uroce_port_is_ethdev(port))
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
	ret = port->is_handed_over ? uroce_port_inspect(port, &info)
				   : uroce_port_set_up(port, &info);
	if (ret < 0)
		return ret;
	ret = get_mac(port);
	if (ret == 0 && port->policy->has_peer)
		ret = uroce_memif_socket_open(port);
	if (ret < 0)
		return ret;
	uroce_link_watch(port);
	return 0;
}

/*
 * Claim a port ID for a port that is not an ethdev port. Such ports have IDs beyond those of
 * ethdev. The range of these IDs limits the number of such ports.
 */
static int
claim_other_port(const char *name, uint16_t *id)
{
	for (uint16_t i = RTE_MAX_ETHPORTS; i < UROCE_PORTS_MAX; i++) {
		if (!atomic_exchange(&is_in_use[i], true)) {
			*id = i;
			return 0;
		}
	}
	UROCE_LOG(ERR, port, "%s: too many devices: allowed are %u in one process", name,
		  UROCE_PORTS_MAX - RTE_MAX_ETHPORTS);
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
	if (port->mux_client->host.is_udp)
		port->policy = uroce_port_policy_of(UROCE_PORT_UROCED_UDP);
	memcpy(port->mac, port->mux_client->host.mac, sizeof(port->mac));
	port->frame_limit = port->mux_client->host.frame_limit;
	ret = uroce_port_make_pools(port);
	atomic_store(&port->is_ready, ret == 0);
	return ret;
}

static int
open_udp(struct uroce_port *port, const struct uroce_dev_conf *conf)
{
	int ret;

	port->policy = uroce_port_policy_of(conf->port);
	port->socket_id = SOCKET_ID_ANY;
	port->has_all_multicast = true; /* the kernel's sockets determine which frames arrive */
	ret = uroce_udp_port_open(port, conf);
	if (ret == 0)
		ret = uroce_port_make_pools(port);
	if (ret < 0)
		return ret;
	atomic_store(&port->is_ready, true);
	uroce_link_watch(port);
	return 0;
}

uint32_t
uroce_port_mbps(const struct uroce_port *port)
{
	struct rte_eth_link link = { .link_speed = RTE_ETH_SPEED_NUM_NONE };

	if (port->mux_client)
		return atomic_load_explicit(&port->mux_client->mbps, memory_order_relaxed);
	if (port->udp)
		return RTE_ETH_SPEED_NUM_UNKNOWN;
	if (rte_eth_link_get_nowait(port->id, &link) < 0)
		return RTE_ETH_SPEED_NUM_NONE;
	return link.link_speed;
}

static int
claim_any_port(const struct uroce_dev_conf *conf, const char *name, uint16_t *id)
{
	return conf->is_attached || conf->is_udp ? claim_other_port(name, id)
						 : claim_port(name, id);
}

static int
open_any_port(struct uroce_port *port, const struct uroce_dev_conf *conf,
	      const struct uroce_port_plan *plan)
{
	if (conf->is_udp)
		return open_udp(port, conf);
	return conf->is_attached ? open_attached(port, conf, plan) : open_claimed(port);
}

int
uroce_port_open(const struct uroce_dev_conf *conf, const struct uroce_port_plan *plan,
		struct uroce_event_queue *events, struct uroce_port **out)
{
	struct uroce_port *port = uroce_line_heap_alloc(sizeof(*port));
	int ret;

	if (!port) {
		UROCE_LOG(ERR, mem, "no memory for a port");
		return -ENOMEM;
	}
	memcpy(port->name, conf->port, sizeof(port->name));
	port->nb_queues = (uint16_t)conf->nb_workers;
	port->is_handed_over = conf->is_handed_over;
	port->has_service_thread = conf->drive == UROCE_DRIVE_APP;
	port->events = events;
	ret = claim_any_port(conf, port->name, &port->id);
	if (ret < 0) {
		free(port);
		return ret;
	}
	ret = open_any_port(port, conf, plan);
	if (ret < 0) {
		uroce_port_close(port);
		return ret;
	}
	*out = port;
	return 0;
}

/*
 * Stop and close a port. The driver forgets the mempools of the library only when the port is
 * closed; until then AF_XDP's kernel side writes to them. This also holds for a port whose device
 * was removed: its driver frees the mbufs of its queues, and a device behind vfio-pci works until
 * the process releases the device. A memif port stays open, because to close a memif server would
 * free an interrupt source that EAL still uses. Only its sockets are closed.
 */
static void
stop_and_close(struct uroce_port *port)
{
	if (port->is_started)
		(void)rte_eth_dev_stop(port->id);
	if (port->policy->has_peer)
		uroce_memif_socket_close(port);
	else
		(void)rte_eth_dev_close(port->id);
}

/*
 * Stop and close a port while SIGPIPE is blocked. Drivers notify their peer over a socket. If the
 * peer has ended, this raises SIGPIPE, whose default action would end this process. A SIGPIPE that
 * stop_and_close() has raised is consumed.
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
 * Stop and close a port. If the port has a peer process (memif), this is done in EAL's interrupt
 * thread, where the driver also runs its control callbacks. So no callback runs at the same time.
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

/*
 * Wait until the peer of a port has probably received the last frames. The peer drops what is in
 * the rings when the port is stopped. The driver does not report how much the peer has received.
 */
static void
wait_for_peer(const struct uroce_port *port)
{
	struct rte_eth_stats stats;
	struct rte_eth_link link;

	if (port->policy->has_peer && port->is_started &&
	    rte_eth_link_get_nowait(port->id, &link) == 0 && link.link_status &&
	    rte_eth_stats_get(port->id, &stats) == 0 && stats.opackets > 0)
		(void)usleep(PEER_RECEIVES_US);
}

void
uroce_port_close(struct uroce_port *port)
{
	if (!port)
		return;
	uroce_link_unwatch(port);
	if (port->mux_client)
		uroce_mux_client_drain(port->mux_client);
	uroce_mux_client_close(port->mux_client);
	uroce_udp_port_close(port->udp);
	if (port->is_configured) {
		wait_for_peer(port);
		stop_in_intr_thread(port);
	}
	for (unsigned i = 0; i < RTE_DIM(port->pool); i++)
		uroce_pool_destroy(port->pool[i]);
	if (port->netif.if_index > 0 || port->udp)
		uroce_netif_close(&port->netif);
	atomic_store(&is_in_use[port->id], false);
	free(port);
}
