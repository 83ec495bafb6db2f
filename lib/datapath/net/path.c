/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Path resolution: from an address vector to the source address, the next hop and its MAC.
 *
 * If the source address is the kernel's, the kernel is queried for the next hop and its MAC. If
 * frames pass UDP sockets of the kernel, all next hops have the same MAC in the frames, and the
 * kernel is only queried whether a route exists. Otherwise the networks and gateways of the
 * configuration determine the next hop, and the library resolves its MAC by ARP or ND.
 */

#include <errno.h>
#include <string.h>
#include <rte_cycles.h>
#include <rte_mbuf.h>

#include "datapath/clock.h"
#include "datapath/net/gid.h"
#include "datapath/net/mcast_group.h"
#include "datapath/net/igmp_mld.h"
#include "datapath/log.h"
#include "datapath/net/neigh.h"
#include "datapath/net/path_fault.h"
#include "datapath/udp/udp_port.h"
#include "datapath/udp/udp_socket.h"
#include "datapath/uroced/mux_client.h"
#include "datapath/worker/round.h"
#include "wire/build.h"

/*
 * Maximum time in nanoseconds to resolve the MAC of a next hop, as Linux needs for three requests
 * without a reply. The host of the peer may be busy, or the peer may be a process that shares the
 * CPUs of this host.
 */
#define RESOLVE_TIMEOUT_NS UINT64_C(3000000000)
/* time in nanoseconds between two ARP or ND requests for the same MAC */
#define REPEAT_NS UINT64_C(100000000)
/* microseconds of a sleep between two look-ups of a MAC, if no worker had work */
#define POLL_US 50

/* The addresses of a path to a destination, and the data that the resolution of the path needs. */
struct route {
	/* copy of the GID table when the resolution of the path began */
	struct uroce_gid_table gids;
	const struct uroce_addr *src;
	bool is_kernels;
	uint8_t gw4[16], gw6[16]; /* copies of the gateways when the resolution of the path began */
	uint8_t dip[16];
	uint8_t next_hop[16];
};

static bool
is_zero(const uint8_t ip[16])
{
	static const uint8_t zero[16];

	return memcmp(ip, zero, sizeof(zero)) == 0;
}

static bool
is_dest_link_local(const uint8_t ip[16])
{
	return ip[0] == 0xfe && (ip[1] & 0xc0) == 0x80;
}

static bool
is_on_link(const struct uroce_addr *addr, const uint8_t ip[16])
{
	const unsigned whole = addr->prefix_len / 8;
	const uint8_t mask = (uint8_t)(0xff00 >> addr->prefix_len % 8);

	return memcmp(addr->ip, ip, whole) == 0 &&
	       (mask == 0 || ((addr->ip[whole] ^ ip[whole]) & mask) == 0);
}

static int
check_vector(struct uroce_dev *dev, const struct ibv_ah_attr *av, struct route *route)
{
	const unsigned idx = av->grh.sgid_index;

	uroce_gid_copy(dev, &route->gids);
	pthread_mutex_lock(&dev->lock);
	memcpy(route->gw4, dev->conf.gw4, sizeof(route->gw4));
	memcpy(route->gw6, dev->conf.gw6, sizeof(route->gw6));
	pthread_mutex_unlock(&dev->lock);
	if (uroce_av_check(&route->gids, av) != UROCE_AV_GOOD)
		return -EINVAL;
	route->src = &route->gids.addr[idx];
	route->is_kernels = route->gids.kernels >> idx & 1;
	memcpy(route->dip, av->grh.dgid.raw, sizeof(route->dip));
	return 0;
}

/* Choose the next hop of a path, by the networks and gateways of the configuration. */
static int
choose_next_hop(struct route *route)
{
	const uint8_t *gw = uroce_ip_is_v4(route->dip) ? route->gw4 : route->gw6;

	memcpy(route->next_hop, route->dip, sizeof(route->next_hop));
	if (is_dest_link_local(route->dip))
		return 0;
	for (unsigned i = 0; i < route->gids.nb; i++) {
		if (!uroce_gid_is_empty(&route->gids, i) &&
		    is_on_link(&route->gids.addr[i], route->dip))
			return 0;
	}
	if (is_zero(gw))
		return -ENETUNREACH;
	memcpy(route->next_hop, gw, sizeof(route->next_hop));
	return 0;
}

/* The arguments of send_request(), by which a worker sends an ARP or ND request for a MAC. */
struct mac_request {
	struct uroce_dev *dev;
	const struct route *route;
};

static int
send_request(void *arg)
{
	const struct mac_request *mac_request = arg;
	struct uroce_worker *worker = mac_request->dev->worker[0];
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(worker->pool);
	uint32_t len;

	if (!mbuf)
		/* without an mbuf no request is sent; the next request is sent after REPEAT_NS */
		return 0;
	len = uroce_neigh_request(mac_request->dev->neigh, mac_request->route->src->ip,
				  mac_request->route->next_hop, worker->now_ns,
				  rte_pktmbuf_mtod(mbuf, uint8_t *));
	mbuf->data_len = (uint16_t)len;
	mbuf->pkt_len = len;
	uroce_tx_push(worker, mbuf);
	return 0;
}

int
uroce_dev_check_socket_route(const struct uroce_dev *dev, const uint8_t sip[16],
			     const uint8_t dip[16])
{
	int ret;

	if (dev->conf.is_attached && uroce_mux_client_is_inherited(dev->conf.socket))
		return 0;
	ret = uroce_udp_socket_try_route(sip, dip, (int)uroce_gid_if_index(dev));
	return dev->conf.is_attached && (ret == -EADDRNOTAVAIL || ret == -ENODEV) ? 0 : ret;
}

/*
 * Look up the MAC of a next hop if frames pass UDP sockets. All next hops then have the same MAC,
 * but the kernel must have a route.
 */
static int
look_up_socket_route(const struct uroce_dev *dev, const struct route *route, uint8_t mac[6])
{
	const int ret = uroce_dev_check_socket_route(dev, route->src->ip, route->dip);

	if (ret < 0)
		return ret;
	uroce_udp_socket_resolve_neighbour(route->src->ip, route->dip,
					   (int)uroce_gid_if_index(dev));
	memcpy(mac, uroce_udp_peer_mac, sizeof(uroce_udp_peer_mac));
	return 0;
}

/*
 * Look up the MAC of the next hop once, without waiting.
 * @return 0; -EAGAIN: the MAC is not known yet; another -errno ends the resolution
 */
static int
look_up_mac(struct uroce_dev *dev, const struct route *route, uint8_t mac[6])
{
	bool is_local;
	int ret;

	if (dev->port->policy->is_udp)
		return look_up_socket_route(dev, route, mac);
	if (!route->is_kernels)
		return uroce_neigh_find(dev->neigh, route->next_hop, uroce_clock_ns(), mac)
			       ? 0
			       : -EAGAIN;
	ret = uroce_netif_resolve(&dev->port->netif, route->dip, mac, &is_local);
	if (ret == 0 && is_local)
		memcpy(mac, dev->mac, sizeof(dev->mac));
	return ret;
}

/*
 * Look up the MAC of the next hop. If the MAC is not known, a request for it is sent, unless the
 * latest request was sent a short time ago. The kernel repeats its own requests. So the kernel is
 * queried only once in a millisecond.
 * @param[in,out] request_ns  time from which on the next request may be sent
 * @return as look_up_mac()
 */
static int
look_up_or_request(struct uroce_dev *dev, const struct route *route, uint64_t now_ns,
		   uint64_t *request_ns, uint8_t mac[6])
{
	struct mac_request mac_request = { .dev = dev, .route = route };
	const bool is_due = now_ns >= *request_ns;
	const int ret = is_due || !route->is_kernels ? look_up_mac(dev, route, mac) : -EAGAIN;

	if (ret != -EAGAIN || !is_due)
		return ret;
	*request_ns = now_ns + (route->is_kernels ? REPEAT_NS / 100 : REPEAT_NS);
	if (!route->is_kernels)
		(void)uroce_worker_call(dev->worker[0], NULL, send_request, &mac_request);
	return ret;
}

static void
drive_or_wait(struct uroce_dev *dev)
{
	unsigned nb = 0;

	if (dev->conf.drive == UROCE_DRIVE_APP || !dev->conf.is_handed_over) {
		for (unsigned i = 0; i < dev->nb_workers; i++)
			nb += uroce_worker_poll(dev->worker[i]);
	}
	if (nb == 0)
		rte_delay_us_sleep(POLL_US);
}

static int
await_mac(struct uroce_dev *dev, const struct route *route, uint8_t mac[6])
{
	const uint64_t begin_ns = uroce_clock_ns();
	uint64_t request_ns = begin_ns;
	uint64_t now_ns = begin_ns;
	int ret;

	do {
		ret = look_up_or_request(dev, route, now_ns, &request_ns, mac);
		if (ret != -EAGAIN)
			return ret;
		drive_or_wait(dev);
		now_ns = uroce_clock_ns();
	} while (now_ns - begin_ns < RESOLVE_TIMEOUT_NS);
	return -ETIMEDOUT;
}

static void
fill_path(const struct uroce_dev *dev, const struct ibv_ah_attr *av, uint16_t sport,
	  const struct route *route, const uint8_t mac[6], struct uroce_path *path)
{
	struct uroce_path_conf conf = {
		.flow_label = av->grh.flow_label,
		/* the sockets of the port `udp` send from UDP port 4791, at which they receive */
		.udp_sport = dev->port->policy->is_udp ? UROCE_UDP_PORT : sport,
		.vlan_tci = dev->conf.vlan_tci,
		.tclass = av->grh.traffic_class,
		.hop_limit = av->grh.hop_limit,
		.has_vlan = dev->conf.has_vlan,
	};

	memcpy(conf.smac, dev->mac, sizeof(conf.smac));
	memcpy(conf.dmac, mac, sizeof(conf.dmac));
	memcpy(conf.sip, route->src->ip, sizeof(conf.sip));
	memcpy(conf.dip, route->dip, sizeof(conf.dip));
	uroce_path_init(path, &conf);
}

/*
 * Find the next hop to the destination of an address vector. Also find the MAC of the next hop if
 * no request is needed: for a multicast group, and for an address of this device.
 * @return 0; -EAGAIN: the MAC of the next hop must be resolved; another -errno: there is no path
 */
static int
begin_resolution(struct uroce_dev *dev, const struct ibv_ah_attr *av, struct route *route,
		 uint8_t mac[6])
{
	int ret = check_vector(dev, av, route);
	const bool is_group = ret == 0 && uroce_gid_is_multicast(route->dip);

	if (ret == 0 && !route->is_kernels && !is_group && !dev->port->policy->is_udp)
		ret = choose_next_hop(route);
	if (ret < 0)
		return ret;
	if (is_group)
		uroce_mcast_group_mac(route->dip, mac);
	else if (uroce_gid_find(&route->gids, route->dip) >= 0)
		memcpy(mac, dev->mac, sizeof(dev->mac));
	else
		ret = -EAGAIN;
	return ret;
}

static void
end_resolution(struct uroce_dev *dev, const struct ibv_ah_attr *av, uint16_t sport,
	       const struct route *route, const uint8_t mac[6], struct uroce_path *path)
{
	uroce_loopback_note(dev, mac);
	fill_path(dev, av, sport, route, mac, path);
}

int
uroce_dev_resolve(struct uroce_dev *dev, const struct ibv_ah_attr *av, uint16_t sport,
		  struct uroce_path *path)
{
	struct route route;
	uint8_t mac[6];
	int ret = begin_resolution(dev, av, &route, mac);

	if (ret == -EAGAIN)
		ret = await_mac(dev, &route, mac);
	if (ret == 0)
		end_resolution(dev, av, sport, &route, mac, path);
	return ret;
}

int
uroce_dev_try_resolve(struct uroce_dev *dev, const struct ibv_ah_attr *av, uint16_t sport,
		      uint64_t *request_ns, struct uroce_path *path)
{
	struct route route;
	uint8_t mac[6];
	int ret = begin_resolution(dev, av, &route, mac);

	if (ret == -EAGAIN)
		ret = look_up_or_request(dev, &route, uroce_clock_ns(), request_ns, mac);
	if (ret == 0)
		end_resolution(dev, av, sport, &route, mac, path);
	return ret;
}
