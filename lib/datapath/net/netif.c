/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The kernel interface that a port shares.
 *
 * A guard socket prevents the kernel from replying to RoCE packets. The kernel sees copies of the
 * received frames, and would reply with "port unreachable". The guard socket is bound to UDP port
 * 4791, and has a filter of one instruction that drops all packets. If another socket already has
 * the UDP port (rxe, or another process with this library), that socket has the same effect.
 */

#include "datapath/net/netif.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if_arp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <linux/filter.h>

#include "datapath/log.h"
#include "datapath/net/netlink.h"
#include "wire/build.h"

static int
open_socket(const struct uroce_netif *netif, int family)
{
	const int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const int one = 1;
	int err;

	if (fd < 0)
		return -errno;
	if (family == AF_INET6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
	if (setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, netif->name,
		       (socklen_t)strlen(netif->name)) < 0) {
		err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

static void
init_netif(struct uroce_netif *netif, int if_index)
{
	*netif = (struct uroce_netif){
		.if_index = if_index,
		.fd = -1,
		.fd6 = -1,
		.guard_fd = -1,
		.guard_fd6 = -1,
		.news_fd = -1,
	};
}

int
uroce_netif_open_unbound(struct uroce_netif *netif, int if_index)
{
	init_netif(netif, if_index);
	if (if_index > 0 && !if_indextoname((unsigned)if_index, netif->name))
		return -ENODEV;
	netif->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (netif->fd < 0)
		return -errno;
	netif->news_fd = uroce_netlink_watch_addrs();
	return 0;
}

int
uroce_netif_open(struct uroce_netif *netif, int if_index)
{
	init_netif(netif, if_index);
	if (!if_indextoname((unsigned)if_index, netif->name))
		return -ENODEV;
	netif->fd = open_socket(netif, AF_INET);
	if (netif->fd < 0)
		return netif->fd;
	netif->fd6 = open_socket(netif, AF_INET6);
	netif->news_fd = uroce_netlink_watch_addrs();
	return 0;
}

static void
close_netif_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void
uroce_netif_close(struct uroce_netif *netif)
{
	close_netif_fd(&netif->fd);
	close_netif_fd(&netif->fd6);
	close_netif_fd(&netif->guard_fd);
	close_netif_fd(&netif->guard_fd6);
	close_netif_fd(&netif->news_fd);
}

static uint8_t
prefix_len(const uint8_t *mask, unsigned len)
{
	unsigned bits = 0;

	while (bits < len * 8 && mask[bits / 8] & 0x80 >> bits % 8)
		bits++;
	return (uint8_t)bits;
}

/*
 * Convert an address of an interface to struct uroce_addr.
 * @return whether a device can use the address; addresses of point-to-point links cannot be used
 */
static bool
convert_ifaddr(const struct ifaddrs *ifa, struct uroce_addr *addr)
{
	*addr = (struct uroce_addr){ 0 };
	if (!ifa->ifa_addr || !ifa->ifa_netmask)
		return false;
	if (ifa->ifa_addr->sa_family == AF_INET) {
		const struct sockaddr_in *sin = (const struct sockaddr_in *)ifa->ifa_addr;
		const struct sockaddr_in *mask = (const struct sockaddr_in *)ifa->ifa_netmask;

		addr->ip[10] = addr->ip[11] = 0xff;
		memcpy(addr->ip + 12, &sin->sin_addr, 4);
		addr->prefix_len = 96 + prefix_len((const uint8_t *)&mask->sin_addr, 4);
		return true;
	}
	if (ifa->ifa_addr->sa_family == AF_INET6) {
		const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)ifa->ifa_addr;
		const struct sockaddr_in6 *mask = (const struct sockaddr_in6 *)ifa->ifa_netmask;

		memcpy(addr->ip, &sin6->sin6_addr, 16);
		addr->prefix_len = prefix_len((const uint8_t *)&mask->sin6_addr, 16);
		return true;
	}
	return false;
}

static bool
is_ip_link_local(const uint8_t ip[16])
{
	return ip[0] == 0xfe && (ip[1] & 0xc0) == 0x80;
}

int
uroce_netif_addrs(unsigned if_index, struct uroce_addr *addr, int room)
{
	char name[IF_NAMESIZE];
	struct ifaddrs *list;
	struct uroce_addr one;
	int nb = 0;

	if (!if_indextoname(if_index, name) || getifaddrs(&list) < 0)
		return -errno;
	for (int pass = 0; pass < 2; pass++) {
		for (const struct ifaddrs *ifa = list; ifa && nb < room; ifa = ifa->ifa_next) {
			if (strcmp(ifa->ifa_name, name) == 0 && convert_ifaddr(ifa, &one) &&
			    is_ip_link_local(one.ip) == (pass == 1))
				addr[nb++] = one;
		}
	}
	freeifaddrs(list);
	return nb;
}

/*
 * Whether an entry of getifaddrs() belongs to an interface that is up, and that is a loopback
 * interface exactly if `is_loopback` is set.
 */
static bool
is_up_and(const struct ifaddrs *ifa, bool is_loopback)
{
	return ifa->ifa_flags & IFF_UP && !(ifa->ifa_flags & IFF_LOOPBACK) == !is_loopback;
}

static uint32_t
get_mtu_of(const char *name)
{
	const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct uroce_netif netif = { .fd = fd };
	uint32_t mtu;

	if (fd < 0)
		return 0;
	memcpy(netif.name, name, strnlen(name, sizeof(netif.name) - 1));
	mtu = uroce_netif_mtu(&netif);
	close(fd);
	return mtu;
}

/*
 * Copy those addresses of a list of getifaddrs() that are not link-local, and whose interface
 * is_up_and() selects.
 * @return number of addresses
 */
static int
collect_addrs(const struct ifaddrs *list, bool is_loopback, struct uroce_addr *addr, int room,
	      uint32_t *mtu)
{
	int nb = 0;

	for (const struct ifaddrs *ifa = list; ifa && nb < room; ifa = ifa->ifa_next) {
		if (!is_up_and(ifa, is_loopback) || !convert_ifaddr(ifa, &addr[nb]) ||
		    is_ip_link_local(addr[nb].ip))
			continue;
		nb++;
		if (mtu)
			*mtu = RTE_MIN(*mtu, get_mtu_of(ifa->ifa_name));
	}
	return nb;
}

int
uroce_netif_host_addrs(struct uroce_addr *addr, int room, uint32_t *mtu)
{
	struct ifaddrs *list;
	int nb;

	if (getifaddrs(&list) < 0)
		return -errno;
	if (mtu)
		*mtu = UINT16_MAX;
	nb = collect_addrs(list, false, addr, room, mtu);
	if (nb == 0)
		nb = collect_addrs(list, true, addr, room, mtu);
	freeifaddrs(list);
	return nb;
}

bool
uroce_netif_has_changed(const struct uroce_netif *netif)
{
	return netif->news_fd >= 0 && uroce_netlink_take_changes(netif->news_fd, netif->if_index);
}

uint32_t
uroce_netif_mtu(const struct uroce_netif *netif)
{
	struct ifreq req = { 0 };

	memcpy(req.ifr_name, netif->name, sizeof(netif->name));
	return ioctl(netif->fd, SIOCGIFMTU, &req) < 0 ? 0 : (uint32_t)req.ifr_mtu;
}

int
uroce_netif_mac(const struct uroce_netif *netif, uint8_t mac[6])
{
	struct ifreq req = { 0 };

	memcpy(req.ifr_name, netif->name, sizeof(netif->name));
	if (ioctl(netif->fd, SIOCGIFHWADDR, &req) < 0)
		return -ENODEV;
	if (req.ifr_hwaddr.sa_family != ARPHRD_ETHER)
		return -EAFNOSUPPORT;
	memcpy(mac, req.ifr_hwaddr.sa_data, 6);
	return 0;
}

int
uroce_netif_is_up(const struct uroce_netif *netif)
{
	const int wanted = IFF_UP | IFF_RUNNING;
	struct ifreq req = { 0 };

	memcpy(req.ifr_name, netif->name, sizeof(netif->name));
	if (ioctl(netif->fd, SIOCGIFFLAGS, &req) < 0)
		return -ENODEV;
	return (req.ifr_flags & wanted) == wanted;
}

static int
open_udp_guard(const struct uroce_netif *netif, int family)
{
	struct sock_filter drop_all = BPF_STMT(BPF_RET | BPF_K, 0);
	const struct sock_fprog filter = { .len = 1, .filter = &drop_all };
	const struct sockaddr_in sin = {
		.sin_family = AF_INET,
		.sin_port = htons(UROCE_UDP_PORT),
	};
	const struct sockaddr_in6 sin6 = {
		.sin6_family = AF_INET6,
		.sin6_port = htons(UROCE_UDP_PORT),
	};
	const int fd = open_socket(netif, family);
	const int one = 1;
	int ret;

	if (fd < 0)
		return -1;
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	(void)setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter));
	ret = family == AF_INET ? bind(fd, (const struct sockaddr *)&sin, sizeof(sin))
				: bind(fd, (const struct sockaddr *)&sin6, sizeof(sin6));
	if (ret == 0)
		return fd;
	if (errno != EADDRINUSE)
		UROCE_LOG(WARNING, neigh,
			  "%s: cannot bind UDP port 4791 (%s): the kernel may answer peers with "
			  "port unreachable",
			  netif->name, strerror(errno));
	close(fd);
	return -1;
}

void
uroce_netif_guard(struct uroce_netif *netif)
{
	netif->guard_fd = open_udp_guard(netif, AF_INET);
	if (netif->fd6 >= 0)
		netif->guard_fd6 = open_udp_guard(netif, AF_INET6);
}

static int
join_group(int fd, const struct uroce_netif *netif, const uint8_t gid[16])
{
	struct ip_mreqn group = { .imr_ifindex = netif->if_index };
	struct ipv6_mreq group6 = { .ipv6mr_interface = (unsigned)netif->if_index };

	if (uroce_ip_is_v4(gid)) {
		memcpy(&group.imr_multiaddr, gid + 12, 4);
		return setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &group, sizeof(group));
	}
	memcpy(&group6.ipv6mr_multiaddr, gid, 16);
	return setsockopt(fd, IPPROTO_IPV6, IPV6_JOIN_GROUP, &group6, sizeof(group6));
}

/*
 * Make the kernel join a multicast group. Each group has a socket of its own, because the kernel
 * limits the number of groups of a socket.
 */
int
uroce_netif_join(const struct uroce_netif *netif, const uint8_t gid[16])
{
	const int fd = open_socket(netif, uroce_ip_is_v4(gid) ? AF_INET : AF_INET6);
	int err;

	if (fd < 0 || join_group(fd, netif, gid) == 0)
		return fd;
	err = -errno;
	close(fd);
	return err;
}

/*
 * Send an empty datagram to a neighbour. To send the datagram, the kernel resolves the neighbour's
 * MAC.
 */
static void
send_wakeup_datagram(const struct uroce_netif *netif, const uint8_t ip[16])
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
				   .sin_port = htons(UROCE_NETIF_DISCARD_PORT) };
	struct sockaddr_in6 sin6 = {
		.sin6_family = AF_INET6,
		.sin6_port = htons(UROCE_NETIF_DISCARD_PORT),
		.sin6_scope_id = (uint32_t)netif->if_index,
	};

	if (uroce_ip_is_v4(ip)) {
		memcpy(&sin.sin_addr, ip + 12, 4);
		(void)sendto(netif->fd, NULL, 0, 0, (const struct sockaddr *)&sin, sizeof(sin));
	} else if (netif->fd6 >= 0) {
		memcpy(&sin6.sin6_addr, ip, 16);
		(void)sendto(netif->fd6, NULL, 0, 0, (const struct sockaddr *)&sin6, sizeof(sin6));
	}
}

int
uroce_netif_resolve(const struct uroce_netif *netif, const uint8_t dip[16], uint8_t mac[6],
		    bool *is_local)
{
	uint8_t next_hop[16];
	int ret = uroce_netlink_route(netif->if_index, dip, next_hop, is_local);

	if (ret < 0 || *is_local)
		return ret;
	ret = uroce_netlink_neigh(netif->if_index, next_hop, mac);
	if (ret != -ENOENT)
		return ret;
	send_wakeup_datagram(netif, next_hop);
	return -EAGAIN;
}
