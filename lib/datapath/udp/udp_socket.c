/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The options and the address of a UDP socket of the port `udp`. An option that a kernel lacks
 * makes the port slower or less exact, but does not make it fail. The options against
 * fragmentation, and those for the addresses of datagrams, are required.
 */

#include "datapath/udp/udp_socket.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <rte_common.h>

#include "datapath/net/netif.h"
#include "wire/build.h"

/*
 * Requested size in bytes of the receive buffer and of the send buffer of a socket. The kernel may
 * grant less.
 */
#define BUFFER_LEN (8 << 20)

union sockaddr_ip {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static socklen_t
make_sockaddr(union sockaddr_ip *addr, bool is_ipv6, const uint8_t *ip, uint16_t udp_port,
	      int if_index)
{
	*addr = (union sockaddr_ip){ 0 };
	if (is_ipv6) {
		addr->v6.sin6_family = AF_INET6;
		addr->v6.sin6_port = htons(udp_port);
		if (ip)
			memcpy(&addr->v6.sin6_addr, ip, 16);
		addr->v6.sin6_scope_id = (uint32_t)if_index;
		return sizeof(addr->v6);
	}
	addr->v4.sin_family = AF_INET;
	addr->v4.sin_port = htons(udp_port);
	if (ip)
		memcpy(&addr->v4.sin_addr, ip + 12, 4);
	return sizeof(addr->v4);
}

/* An option of a socket whose value is an integer. */
struct option {
	int level, name, value;
	bool is_required;
};

static const struct option ipv4_options[] = {
	{ IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE, true },
	{ IPPROTO_IP, IP_PKTINFO, 1, true },
	{ IPPROTO_IP, IP_RECVTOS, 1, false },
	{ IPPROTO_IP, IP_RECVTTL, 1, false },
	{ IPPROTO_IP, IP_RECVERR, 1, false },
};

static const struct option ipv6_options[] = {
	{ IPPROTO_IPV6, IPV6_V6ONLY, 1, true },
	{ IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE, true },
	{ IPPROTO_IPV6, IPV6_RECVPKTINFO, 1, true },
	{ IPPROTO_IPV6, IPV6_RECVTCLASS, 1, false },
	{ IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1, false },
	{ IPPROTO_IPV6, IPV6_RECVERR, 1, false },
	/* RoCEv2 packets over IPv6 may have no UDP checksum [IBA A17.3.1.3]. */
	{ IPPROTO_UDP, UDP_NO_CHECK6_RX, 1, false },
};

static const struct option common_options[] = {
	{ IPPROTO_UDP, UDP_GRO, 1, false },
	{ SOL_SOCKET, SO_RCVBUF, BUFFER_LEN, false },
	{ SOL_SOCKET, SO_SNDBUF, BUFFER_LEN, false },
	/*
	 * SO_RCVBUFFORCE and SO_SNDBUFFORCE require CAP_NET_ADMIN, and are not limited by the
	 * system.
	 */
	{ SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_LEN, false },
	{ SOL_SOCKET, SO_SNDBUFFORCE, BUFFER_LEN, false },
};

static int
set_options(int fd, const struct option *options, size_t nb)
{
	for (size_t i = 0; i < nb; i++) {
		if (setsockopt(fd, options[i].level, options[i].name, &options[i].value,
			       sizeof(options[i].value)) < 0 &&
		    options[i].is_required)
			return -errno;
	}
	return 0;
}

void
uroce_udp_socket_share(const struct uroce_udp_socket *sock)
{
	const int one = 1;

	(void)setsockopt(sock->fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one));
}

uint32_t
uroce_udp_socket_drops(const struct uroce_udp_socket *sock)
{
	uint32_t info[SK_MEMINFO_VARS] = { 0 };
	socklen_t len = sizeof(info);

	(void)getsockopt(sock->fd, SOL_SOCKET, SO_MEMINFO, info, &len);
	return info[SK_MEMINFO_DROPS];
}

/*
 * Options of the socket of a multicast group. With IP_MULTICAST_ALL 0 the socket receives no
 * datagrams from interfaces on which only other sockets have joined the group.
 */
static const struct option group_options[] = {
	{ SOL_SOCKET, SO_REUSEADDR, 1, false },
	{ IPPROTO_IP, IP_MULTICAST_ALL, 0, false },
	{ IPPROTO_IPV6, IPV6_MULTICAST_ALL, 0, false },
};

/*
 * Allow other sockets of the host for the same multicast group, and make a socket join the group.
 */
static int
join_as_group(int fd, const struct uroce_udp_socket_conf *conf)
{
	struct ip_mreqn v4 = { .imr_ifindex = conf->if_index };
	struct ipv6_mreq v6 = { .ipv6mr_interface = (unsigned)conf->if_index };

	(void)set_options(fd, group_options, RTE_DIM(group_options));
	memcpy(&v4.imr_multiaddr, conf->ip + 12, sizeof(v4.imr_multiaddr));
	memcpy(&v6.ipv6mr_multiaddr, conf->ip, sizeof(v6.ipv6mr_multiaddr));
	if ((conf->is_ipv6 ? setsockopt(fd, IPPROTO_IPV6, IPV6_JOIN_GROUP, &v6, sizeof(v6))
			   : setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &v4, sizeof(v4))) < 0)
		return -errno;
	return 0;
}

/* Make a socket send datagrams to multicast groups by the interface of its configuration. */
static void
set_multicast_interface(int fd, const struct uroce_udp_socket_conf *conf)
{
	const struct ip_mreqn v4 = { .imr_ifindex = conf->if_index };

	if (conf->is_ipv6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, &conf->if_index,
				 sizeof(conf->if_index));
	else
		(void)setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &v4, sizeof(v4));
}

static int
set_up_socket(const struct uroce_udp_socket *sock, const struct uroce_udp_socket_conf *conf)
{
	union sockaddr_ip addr;
	const socklen_t len =
		make_sockaddr(&addr, conf->is_ipv6, conf->ip, UROCE_UDP_PORT, conf->if_index);
	int ret = conf->is_ipv6 ? set_options(sock->fd, ipv6_options, RTE_DIM(ipv6_options))
				: set_options(sock->fd, ipv4_options, RTE_DIM(ipv4_options));

	if (ret == 0)
		ret = set_options(sock->fd, common_options, RTE_DIM(common_options));
	if (ret < 0)
		return ret;
	if (conf->if_name && setsockopt(sock->fd, SOL_SOCKET, SO_BINDTODEVICE, conf->if_name,
					(socklen_t)strlen(conf->if_name)) < 0)
		return -errno;
	if (conf->if_index > 0)
		set_multicast_interface(sock->fd, conf);
	if (conf->is_group)
		ret = join_as_group(sock->fd, conf);
	if (ret < 0)
		return ret;
	if (conf->is_shared)
		uroce_udp_socket_share(sock);
	return bind(sock->fd, &addr.any, len) < 0 ? -errno : 0;
}

int
uroce_udp_socket_open(struct uroce_udp_socket *sock, const struct uroce_udp_socket_conf *conf)
{
	int ret;

	*sock = (struct uroce_udp_socket){
		.fd = socket(conf->is_ipv6 ? AF_INET6 : AF_INET,
			     SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0),
		.is_ipv6 = conf->is_ipv6,
		.is_any = !conf->ip,
		.if_index = conf->if_index,
	};
	if (sock->fd < 0)
		return -errno;
	if (conf->ip)
		memcpy(sock->ip, conf->ip, sizeof(sock->ip));
	ret = set_up_socket(sock, conf);
	if (ret < 0)
		uroce_udp_socket_close(sock);
	return ret;
}

void
uroce_udp_socket_close(struct uroce_udp_socket *sock)
{
	if (sock->fd >= 0)
		close(sock->fd);
	sock->fd = -1;
}

uint32_t
uroce_udp_socket_buffer_len(const struct uroce_udp_socket *sock)
{
	socklen_t len = sizeof(int);
	int granted;

	if (getsockopt(sock->fd, SOL_SOCKET, SO_RCVBUF, &granted, &len) < 0 || granted < 0)
		return 0;
	return (uint32_t)granted;
}

/*
 * Connect a new socket, so that the kernel looks up the route. The socket sends nothing.
 * @param sip  source address; NULL: the kernel chooses it
 * @return the socket, or -errno of the kernel
 */
static int
connect_route(const uint8_t *sip, const uint8_t dip[16], int if_index)
{
	const bool is_ipv6 = !uroce_ip_is_v4(dip);
	const int fd = socket(is_ipv6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	union sockaddr_ip addr;
	socklen_t len;
	int ret = fd < 0 ? -errno : 0;

	if (ret < 0)
		return ret;
	len = make_sockaddr(&addr, is_ipv6, sip, 0, if_index);
	if (sip && bind(fd, &addr.any, len) < 0)
		ret = -errno;
	len = make_sockaddr(&addr, is_ipv6, dip, UROCE_UDP_PORT, if_index);
	if (ret == 0 && connect(fd, &addr.any, len) < 0)
		ret = -errno;
	if (ret == 0)
		return fd;
	close(fd);
	return ret;
}

int
uroce_udp_socket_try_route(const uint8_t sip[16], const uint8_t dip[16], int if_index)
{
	const int fd = connect_route(sip, dip, if_index);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

void
uroce_udp_socket_resolve_neighbour(const uint8_t sip[16], const uint8_t dip[16], int if_index)
{
	const int fd = connect_route(sip, dip, if_index);
	union sockaddr_ip addr;
	socklen_t len;

	if (fd < 0)
		return;
	len = make_sockaddr(&addr, !uroce_ip_is_v4(dip), dip, UROCE_NETIF_DISCARD_PORT, if_index);
	(void)sendto(fd, NULL, 0, MSG_DONTWAIT, &addr.any, len);
	close(fd);
}

int
uroce_udp_socket_find_source(const uint8_t dip[16], int if_index, uint8_t sip[16])
{
	const int fd = connect_route(NULL, dip, if_index);
	union sockaddr_ip addr = { 0 };
	socklen_t len = sizeof(addr);
	int ret;

	if (fd < 0)
		return fd;
	ret = getsockname(fd, &addr.any, &len) < 0 ? -errno : 0;
	close(fd);
	memcpy(sip, dip, 16); /* copies, for IPv4, the prefix of the IPv4-mapped form */
	if (uroce_ip_is_v4(dip))
		memcpy(sip + 12, &addr.v4.sin_addr, 4);
	else
		memcpy(sip, &addr.v6.sin6_addr, 16);
	return ret;
}
