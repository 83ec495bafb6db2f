/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Opening and closing of the port `udp`. With addresses in the configuration, each address has a
 * socket of its own, so that other processes can use other addresses of the host. Otherwise there
 * is a socket for IPv4 and one for IPv6, each for all addresses of the interface.
 */

#include "datapath/udp/udp_port.h"

#include <errno.h>
#include <ifaddrs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "datapath/line_heap.h"
#include "datapath/log.h"
#include "datapath/net/address_text.h"
#include "datapath/net/gid_table.h"
#include "datapath/net/netif.h"
#include "datapath/net/netlink.h"
#include "datapath/udp/udp_fork.h"
#include "datapath/udp/udp_queue.h"
#include "transport/mcast.h"
#include "wire/build.h"

const uint8_t uroce_udp_peer_mac[6] = { 0x02, 0x01, 0x00, 0x00, 0x12, 0xb7 };

/* --- the interface ----------------------------------------------------------------------------- */

/* Whether an address of an interface is `ip`, or is in the network 127.0.0.0/8 as `ip` is. */
static bool
is_addr_of(const struct ifaddrs *ifa, const uint8_t ip[16])
{
	if (!ifa->ifa_addr)
		return false;
	if (ifa->ifa_addr->sa_family == AF_INET6)
		return memcmp(&((const struct sockaddr_in6 *)ifa->ifa_addr)->sin6_addr, ip, 16) ==
		       0;
	if (ifa->ifa_addr->sa_family != AF_INET || !uroce_ip_is_v4(ip))
		return false;
	const uint8_t *v4 = (const uint8_t *)&((const struct sockaddr_in *)ifa->ifa_addr)->sin_addr;

	return memcmp(v4, ip + 12, 4) == 0 || (v4[0] == 127 && ip[12] == 127);
}

/* Find the interface that has an address. @return index of the interface; 0: no interface has it */
static int
find_interface(const uint8_t ip[16])
{
	struct ifaddrs *list;
	unsigned if_index = 0;

	if (getifaddrs(&list) < 0)
		return 0;
	for (const struct ifaddrs *ifa = list; ifa && if_index == 0; ifa = ifa->ifa_next) {
		if (is_addr_of(ifa, ip))
			if_index = if_nametoindex(ifa->ifa_name);
	}
	freeifaddrs(list);
	return (int)if_index;
}

/*
 * Find the interface that the configuration names, or else the one with the first address of the
 * configuration.
 */
static int
choose_interface(const struct uroce_dev_conf *conf)
{
	char text[INET6_ADDRSTRLEN];
	int if_index;

	if (conf->iface[0]) {
		if_index = (int)if_nametoindex(conf->iface);
		if (if_index == 0)
			UROCE_LOG(ERR, port,
				  "udp: iface=%s: no such interface: allowed is one of ip link",
				  conf->iface);
		return if_index;
	}
	if_index = find_interface(conf->addr[0].ip);
	if (if_index == 0)
		UROCE_LOG(ERR, port,
			  "udp: addr=%s: the host does not have the address: allowed is one of ip "
			  "addr, or of 127.0.0.0/8",
			  uroce_address_text(conf->addr[0].ip, text));
	return if_index;
}

/* The properties of a port `udp` that depend on the interfaces of the host. */
struct interfaces {
	int if_index;           /* index of the interface; 0: the port uses all interfaces */
	uint32_t mtu;           /* MTU in bytes; 0: unknown */
	struct uroce_addr addr; /* first address of the port; all zero: there is no address */
};

static int
read_all_interfaces(struct interfaces *all)
{
	struct uroce_addr addr[UROCE_GIDS_MAX];
	const int nb = uroce_netif_host_addrs(addr, UROCE_GIDS_MAX, &all->mtu);

	if (nb > 0)
		all->addr = addr[0];
	return 0;
}

static int
read_interface(const struct uroce_dev_conf *conf, struct interfaces *one)
{
	struct uroce_addr addr[UROCE_GIDS_MAX];
	struct uroce_netif netif;
	int ret;

	one->if_index = choose_interface(conf);
	ret = one->if_index > 0 ? uroce_netif_open_unbound(&netif, one->if_index) : -ENODEV;
	if (ret < 0)
		return ret;
	one->mtu = uroce_netif_mtu(&netif);
	uroce_netif_close(&netif);
	if (conf->nb_addr > 0)
		one->addr = conf->addr[0];
	else if (uroce_netif_addrs((unsigned)one->if_index, addr, UROCE_GIDS_MAX) > 0)
		one->addr = addr[0];
	return 0;
}

/*
 * Derive the MAC of a port `udp` from its first IP address. The MAC differs from uroce_udp_peer_mac
 * in its second byte.
 */
static void
make_mac(const uint8_t ip[16], uint8_t mac[6])
{
	mac[0] = 0x02; /* first byte of a locally administered MAC */
	mac[1] = 0;
	memcpy(mac + 2, ip + 12, 4);
}

int
uroce_udp_port_plan(const struct uroce_dev_conf *conf, struct uroce_udp_plan *plan)
{
	struct interfaces found = { .if_index = 0 };
	const int ret = conf->nb_addr == 0 && !conf->iface[0] ? read_all_interfaces(&found)
							      : read_interface(conf, &found);
	const uint32_t mtu = found.mtu > 0 ? found.mtu : UROCE_PORT_MTU;

	if (ret < 0)
		return ret;
	*plan = (struct uroce_udp_plan){
		.frame_limit = RTE_MIN(mtu, UROCE_PORT_MTU) + UROCE_PORT_L2,
		.if_index = found.if_index,
	};
	make_mac(found.addr.ip, plan->mac);
	return 0;
}

/* --- queues ------------------------------------------------------------------------------------ */

static int
log_socket_error(const uint8_t *ip, bool is_ipv6, int error)
{
	char text[INET6_ADDRSTRLEN] = "any address";

	if (ip)
		(void)uroce_address_text(ip, text);
	if (error == -EADDRINUSE)
		UROCE_LOG(ERR, port,
			  "udp: another socket has UDP port 4791 at %s (a process, or the kernel's "
			  "rxe): allowed is an address of its own for each process, as "
			  "addr=127.0.0.2",
			  text);
	else
		UROCE_LOG(ERR, port, "udp: no IPv%d socket for %s: %s", is_ipv6 ? 6 : 4, text,
			  strerror(-error));
	return error;
}

/* Log an error of a socket for all addresses of IPv4 or IPv6, perhaps of one interface only. */
static int
log_family_error(const struct uroce_udp_socket_conf *conf, int error)
{
	if (error != -EPERM || !conf->if_name)
		return log_socket_error(NULL, conf->is_ipv6, error);
	UROCE_LOG(ERR, port,
		  "udp: iface=%s: the kernel does not let this user bind a socket to an interface "
		  "(before Linux 5.7 this needs CAP_NET_RAW): allowed is addr= with the addresses "
		  "of the interface",
		  conf->if_name);
	return error;
}

static int
add_socket(struct uroce_udp_queue *queue, const struct uroce_udp_socket_conf *conf)
{
	struct epoll_event event = { .events = EPOLLIN };
	struct uroce_udp_socket *sock = &queue->socket[queue->nb_sockets];
	int ret;

	if (queue->nb_sockets == RTE_DIM(queue->socket))
		return -ENOMEM;
	ret = uroce_udp_socket_open(sock, conf);
	if (ret < 0)
		return ret;
	if (epoll_ctl(queue->epoll_fd, EPOLL_CTL_ADD, sock->fd, &event) < 0) {
		ret = -errno;
		uroce_udp_socket_close(sock);
		return ret;
	}
	queue->nb_sockets++;
	return 0;
}

int
uroce_udp_queue_add(struct uroce_udp_queue *queue, const struct uroce_udp_socket_conf *conf)
{
	int ret;

	uroce_udp_fork_prevent();
	ret = add_socket(queue, conf);
	uroce_udp_fork_allow();
	return ret;
}

void
uroce_udp_queue_remove(struct uroce_udp_queue *queue, unsigned i)
{
	uroce_udp_count(&queue->stats.rx_dropped, uroce_udp_socket_drops(&queue->socket[i]));
	uroce_udp_fork_prevent();
	/*
	 * Remove the socket from the epoll set before it is closed. If a child process has the
	 * socket, too, as after vfork(), close() alone does not remove it.
	 */
	(void)epoll_ctl(queue->epoll_fd, EPOLL_CTL_DEL, queue->socket[i].fd, NULL);
	uroce_udp_socket_close(&queue->socket[i]);
	queue->socket[i] = queue->socket[--queue->nb_sockets];
	uroce_udp_fork_allow();
	queue->rx.next_socket = 0;
	queue->rx.streak = 0;
}

/* Open a socket for each address of the configuration. */
static int
add_addr_sockets(struct uroce_port *port, const struct uroce_dev_conf *conf,
		 struct uroce_udp_queue *queue, bool is_shared)
{
	int ret = 0;

	for (unsigned i = 0; i < conf->nb_addr && ret == 0; i++) {
		const uint8_t *ip = conf->addr[i].ip;

		ret = uroce_udp_queue_add(
			queue, &(struct uroce_udp_socket_conf){ .is_ipv6 = !uroce_ip_is_v4(ip),
								.ip = ip,
								.if_index = port->netif.if_index,
								.is_shared = is_shared });
		if (ret < 0)
			return log_socket_error(ip, !uroce_ip_is_v4(ip), ret);
	}
	return ret;
}

/* Open a socket for IPv4 and one for IPv6. A host without IPv6 has the IPv4 socket only. */
static int
add_family_sockets(struct uroce_port *port, struct uroce_udp_queue *queue, bool is_shared)
{
	struct uroce_udp_socket_conf conf = {
		.if_name = port->netif.if_index > 0 ? port->netif.name : NULL,
		.if_index = port->netif.if_index,
		.is_shared = is_shared,
	};
	int ret = uroce_udp_queue_add(queue, &conf);

	if (ret < 0)
		return log_family_error(&conf, ret);
	conf.is_ipv6 = true;
	ret = uroce_udp_queue_add(queue, &conf);
	if (ret == -EAFNOSUPPORT || ret == -EADDRNOTAVAIL)
		return 0;
	return ret < 0 ? log_family_error(&conf, ret) : 0;
}

static int
log_no_queue(int error)
{
	UROCE_LOG(ERR, port, "udp: no memory or no descriptor for a queue: %s", strerror(error));
	return -error;
}

static int
open_queue(struct uroce_port *port, const struct uroce_dev_conf *conf, uint16_t idx)
{
	struct uroce_udp_queue *queue = uroce_line_heap_alloc(sizeof(*queue));
	int ret;

	if (!queue)
		return log_no_queue(ENOMEM);
	queue->tx.has_segment = true;
	uroce_udp_fork_prevent();
	port->udp->queue[port->udp->nb_queues++] = queue;
	queue->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	uroce_udp_fork_allow();
	if (queue->epoll_fd < 0)
		return log_no_queue(errno);
	ret = conf->nb_addr > 0 ? add_addr_sockets(port, conf, queue, idx > 0)
				: add_family_sockets(port, queue, idx > 0);
	for (unsigned i = 0; i < queue->nb_sockets && port->nb_queues > 1 && idx == 0; i++)
		uroce_udp_socket_share(&queue->socket[i]);
	return ret;
}

static void
close_queue(struct uroce_udp_queue *queue)
{
	for (unsigned i = 0; i < queue->nb_sockets; i++)
		uroce_udp_socket_close(&queue->socket[i]);
	if (queue->epoll_fd >= 0)
		close(queue->epoll_fd);
	if (queue->rx.nb_spare > 0)
		rte_pktmbuf_free_bulk(queue->rx.spare, queue->rx.nb_spare);
	free(queue->rx.overflow);
	free(queue);
}

/* --- the port ---------------------------------------------------------------------------------- */

/*
 * Compute the number of payload bytes in flight for which the receive buffer of a socket has room.
 * The kernel charges its own memory for a datagram to the buffer, which is up to twice the length
 * of the datagram. A peer is assumed to have a buffer of the same size.
 */
static uint32_t
compute_window_bytes(const struct uroce_udp_queue *queue)
{
	return uroce_udp_socket_buffer_len(&queue->socket[0]) / 2;
}

int
uroce_udp_port_open(struct uroce_port *port, const struct uroce_dev_conf *conf)
{
	struct uroce_udp_plan plan;
	int ret = uroce_udp_port_plan(conf, &plan);

	if (ret < 0)
		return ret;
	port->udp = uroce_line_heap_alloc(sizeof(*port->udp));
	if (!port->udp)
		return log_no_queue(ENOMEM);
	uroce_udp_fork_link(port->udp);
	port->frame_limit = plan.frame_limit;
	memcpy(port->mac, plan.mac, sizeof(port->mac));
	port->udp->has_addrs = true;
	ret = uroce_netif_open_unbound(&port->netif, plan.if_index);
	if (ret < 0)
		UROCE_LOG(ERR, port, "udp: the kernel's interfaces cannot be watched: %s",
			  strerror(-ret));
	for (uint16_t i = 0; i < port->nb_queues && ret == 0; i++)
		ret = open_queue(port, conf, i);
	if (ret == 0)
		port->window_bytes = compute_window_bytes(port->udp->queue[0]);
	return ret;
}

void
uroce_udp_port_close(struct uroce_udp_port *udp)
{
	if (!udp)
		return;
	uroce_udp_fork_unlink(udp);
	for (uint16_t i = 0; i < udp->nb_queues; i++)
		close_queue(udp->queue[i]);
	free(udp);
}

/* Whether the host still has the addresses to which a queue's sockets are bound. */
static bool
has_all_addrs(const struct uroce_udp_queue *queue)
{
	for (unsigned i = 0; i < queue->nb_sockets; i++) {
		const struct uroce_udp_socket *sock = &queue->socket[i];

		if (!sock->is_any && !uroce_gid_is_multicast(sock->ip) &&
		    find_interface(sock->ip) == 0)
			return false;
	}
	return true;
}

bool
uroce_udp_port_is_up(struct uroce_port *port)
{
	const struct uroce_udp_queue *queue = port->udp->queue[0];

	/*
	 * If the sockets are bound to no particular address, the GID table follows changes of the
	 * addresses, and the link does not depend on them.
	 */
	if (!queue->socket[0].is_any && uroce_netlink_take_changes(port->netif.news_fd, 0))
		port->udp->has_addrs = has_all_addrs(queue);
	return port->udp->has_addrs &&
	       (port->netif.if_index == 0 || uroce_netif_is_up(&port->netif) > 0);
}

int
uroce_udp_port_wakeup_fd(const struct uroce_udp_port *udp, uint16_t queue)
{
	return udp->queue[queue]->epoll_fd;
}

void
uroce_udp_port_found_empty(struct uroce_udp_port *udp, uint16_t queue)
{
	atomic_store_explicit(&udp->queue[queue]->is_known_empty, true, memory_order_relaxed);
}
