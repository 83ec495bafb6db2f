/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The GID table of a device. The link-local address, if any, is the first entry. The configured
 * addresses follow. If none is configured and the port shares a kernel interface, the addresses of
 * the interface follow instead. With the key gid0=addr, the link-local address is the last entry.
 *
 * The kernel owns those addresses that the interface has. It replies to ARP and ND for them, and
 * resolves their neighbours. A device that is attached to uroced has the GID table of uroced, and
 * resolves neighbours itself.
 */

#include "datapath/net/gid.h"

#include <errno.h>
#include <string.h>

#include "datapath/uroced/mux_client.h"
#include "datapath/log.h"
#include "datapath/net/neigh.h"
#include "datapath/port/port.h"
#include "datapath/worker/round.h"

/*
 * The addresses of the kernel interface that a port shares, or those that uroced reports. The
 * addresses of uroced do not count as the kernel's, because the device resolves their neighbours
 * itself.
 */
struct kernel_addrs {
	struct uroce_addr addr[UROCE_GIDS_MAX];
	/*
	 * number of addresses in `addr`; a negative number means that reading the addresses failed
	 */
	int nb;
	bool are_uroceds;
};

static bool
is_gid_link_local(const struct uroce_addr *addr)
{
	return addr->ip[0] == 0xfe && (addr->ip[1] & 0xc0) == 0x80;
}

static bool
has_kernel_addr(const struct kernel_addrs *kernel, const struct uroce_addr *addr)
{
	for (int i = 0; i < kernel->nb; i++) {
		if (memcmp(kernel->addr[i].ip, addr->ip, sizeof(addr->ip)) == 0)
			return true;
	}
	return false;
}

unsigned
uroce_gid_if_index(const struct uroce_dev *dev)
{
	if (dev->port && dev->port->mux_client) {
		struct uroce_mux_host host;

		uroce_mux_client_host(dev->port->mux_client, &host);
		return host.if_index;
	}
	if (dev->conf.is_attached)
		return dev->plan.host.if_index;
	return (unsigned)(dev->port ? dev->port->netif.if_index : dev->plan.if_index);
}

static void
read_uroceds(const struct uroce_dev *dev, struct kernel_addrs *given)
{
	struct uroce_mux_host host = dev->plan.host;

	if (dev->port)
		uroce_mux_client_host(dev->port->mux_client, &host);
	given->nb = uroce_mux_client_addrs(&host, given->addr);
	given->are_uroceds = true;
}

/* Read the addresses of an interface. @param if_index  index of the interface; 0: all interfaces */
static void
read_kernel(unsigned if_index, struct kernel_addrs *kernel)
{
	kernel->nb = if_index > 0 ? uroce_netif_addrs(if_index, kernel->addr, UROCE_GIDS_MAX)
				  : uroce_netif_host_addrs(kernel->addr, UROCE_GIDS_MAX, NULL);
}

/* Add an address to a GID table, at the first free index. */
static void
add_gid(struct uroce_gid_table *gids, const struct uroce_addr *addr, bool is_kernels)
{
	unsigned idx = 0;

	while (idx < UROCE_GIDS_MAX && !uroce_gid_is_empty(gids, idx))
		idx++;
	if (idx == UROCE_GIDS_MAX)
		return;
	gids->kernels |= (uint32_t)is_kernels << idx;
	gids->addr[idx] = *addr;
	if (idx >= gids->nb)
		gids->nb = idx + 1;
}

/* Make the link-local address of a MAC, with a modified EUI-64 [RFC 4291 A]. */
static struct uroce_addr
make_link_local(const uint8_t mac[6])
{
	return (struct uroce_addr){
		.ip = { 0xfe, 0x80, 0, 0, 0, 0, 0, 0, mac[0] ^ 2, mac[1], mac[2], 0xff, 0xfe,
			mac[3], mac[4], mac[5] },
		.prefix_len = 64,
	};
}

static void
add_link_local(const struct uroce_dev_conf *conf, const uint8_t mac[6],
	       const struct kernel_addrs *kernel, struct uroce_gid_table *gids)
{
	const struct uroce_addr made = make_link_local(mac);
	bool is_kernels = conf->nb_addr == 0;

	for (int i = 0; i < kernel->nb && !(conf->is_udp && conf->nb_addr > 0); i++) {
		if (is_gid_link_local(&kernel->addr[i])) {
			add_gid(gids, &kernel->addr[i], true);
			return;
		}
	}
	for (unsigned i = 0; i < conf->nb_addr; i++)
		is_kernels |= has_kernel_addr(kernel, &conf->addr[i]);
	if (!is_kernels && !conf->is_udp)
		add_gid(gids, &made, false);
}

/*
 * Add the configured addresses to a GID table. If none is configured, add the addresses of the
 * kernel that are not link-local.
 */
static void
add_addrs(const struct uroce_dev_conf *conf, const struct kernel_addrs *kernel,
	  struct uroce_gid_table *gids)
{
	for (unsigned i = 0; i < conf->nb_addr; i++)
		add_gid(gids, &conf->addr[i],
			conf->is_udp || has_kernel_addr(kernel, &conf->addr[i]));
	for (int i = 0; i < kernel->nb && conf->nb_addr == 0; i++) {
		if (!is_gid_link_local(&kernel->addr[i]))
			add_gid(gids, &kernel->addr[i], true);
	}
}

int
uroce_gid_make(const struct uroce_dev_conf *conf, const uint8_t mac[6], unsigned if_index,
	       struct uroce_gid_table *gids)
{
	struct kernel_addrs kernel = { .nb = 0 };

	*gids = (struct uroce_gid_table){ .nb = 0 };
	if (if_index > 0 || (conf->is_udp && conf->nb_addr == 0))
		read_kernel(if_index, &kernel);
	if (conf->nb_addr == 0 && kernel.nb <= 0) {
		UROCE_LOG(ERR, dev,
			  "%s: no address: allowed is addr=192.0.2.1/24 or the like, required "
			  "unless the kernel has given its interface one",
			  conf->port);
		return -EINVAL;
	}
	if (!conf->is_addr_first)
		add_link_local(conf, mac, &kernel, gids);
	add_addrs(conf, &kernel, gids);
	if (conf->is_addr_first)
		add_link_local(conf, mac, &kernel, gids);
	return 0;
}

/* Copy uroced's GID table with its order, including empty entries. */
static int
fill_attached(struct uroce_dev *dev)
{
	struct uroce_gid_table *const gids = &dev->gid_table[0];
	struct kernel_addrs given = { .nb = 0 };

	read_uroceds(dev, &given);
	if (given.nb == 0) {
		UROCE_LOG(ERR, dev, "%s: uroced's port has no address", dev->conf.socket);
		return -EINVAL;
	}
	gids->nb = (unsigned)given.nb;
	memcpy(gids->addr, given.addr, gids->nb * sizeof(given.addr[0]));
	atomic_init(&dev->gids, gids);
	return 0;
}

int
uroce_gid_fill(struct uroce_dev *dev)
{
	if (dev->conf.is_attached)
		return fill_attached(dev);

	struct uroce_gid_table *const gids = &dev->gid_table[0];
	const int ret = uroce_gid_make(&dev->conf, dev->mac, uroce_gid_if_index(dev), gids);

	if (ret < 0)
		return ret;
	if (dev->conf.nb_addr == 0 && dev->port && dev->port->netif.news_fd < 0)
		UROCE_LOG(WARNING, dev,
			  "%s: changes of the addresses of %s are not reported: the present ones "
			  "stay",
			  dev->conf.port, dev->port->netif.name);
	atomic_init(&dev->gids, gids);
	return 0;
}

bool
uroce_gid_all_kernels(const struct uroce_dev *dev)
{
	const struct uroce_gid_table *const gids = atomic_load(&dev->gids);

	return gids->kernels == (UINT32_C(1) << gids->nb) - 1;
}

void
uroce_gid_copy(struct uroce_dev *dev, struct uroce_gid_table *gids)
{
	pthread_mutex_lock(&dev->lock);
	*gids = *atomic_load_explicit(&dev->gids, memory_order_relaxed);
	pthread_mutex_unlock(&dev->lock);
}

/* --- changes of the interface's addresses -------------------------------------------------------- */

static bool
has_link_local(const struct uroce_gid_table *gids)
{
	for (unsigned i = 0; i < gids->nb; i++) {
		if (is_gid_link_local(&gids->addr[i]))
			return true;
	}
	return false;
}

static bool
drop_removed(struct uroce_gid_table *gids, const struct kernel_addrs *kernel)
{
	bool is_changed = false;

	for (unsigned i = 0; i < gids->nb; i++) {
		if (uroce_gid_is_empty(gids, i) || has_kernel_addr(kernel, &gids->addr[i]))
			continue;
		gids->addr[i] = (struct uroce_addr){ 0 };
		gids->kernels &= ~(UINT32_C(1) << i);
		is_changed = true;
	}
	while (gids->nb > 0 && uroce_gid_is_empty(gids, gids->nb - 1))
		gids->nb--;
	return is_changed;
}

static bool
is_none(const struct uroce_addr *addr)
{
	static const uint8_t none[16];

	return memcmp(addr->ip, none, sizeof(none)) == 0;
}

static bool
add_new(struct uroce_gid_table *gids, const struct kernel_addrs *kernel)
{
	bool is_changed = false;

	for (int i = 0; i < kernel->nb; i++) {
		const struct uroce_addr *const addr = &kernel->addr[i];

		if (is_none(addr) || uroce_gid_find(gids, addr->ip) >= 0 ||
		    (is_gid_link_local(addr) && has_link_local(gids)))
			continue;
		add_gid(gids, addr, !kernel->are_uroceds);
		is_changed = true;
	}
	return is_changed;
}

/*
 * Read the addresses of the kernel interface or of uroced again after they have changed, and update
 * the GID table.
 * @return whether a new table has been published
 */
static bool
update_gids(struct uroce_dev *dev)
{
	const struct uroce_gid_table *const now =
		atomic_load_explicit(&dev->gids, memory_order_relaxed);
	struct uroce_gid_table *const next = &dev->gid_table[now == &dev->gid_table[0]];
	struct kernel_addrs kernel = { .nb = 0 };
	bool is_changed;

	if (dev->port->mux_client)
		read_uroceds(dev, &kernel);
	else
		read_kernel(uroce_gid_if_index(dev), &kernel);
	if (kernel.nb < 0)
		/*
		 * If the addresses cannot be read, the GID table stays as it is until the next
		 * check.
		 */
		return false;
	dev->has_gid_changes = false;
	*next = *now;
	is_changed = drop_removed(next, &kernel);
	is_changed |= add_new(next, &kernel);
	/*
	 * publish the new GID table: a thread that loads `gids` with acquire sees the table's
	 * content
	 */
	if (is_changed)
		atomic_store_explicit(&dev->gids, next, memory_order_release);
	return is_changed;
}

/*
 * Whether the GID table follows the changes of the kernel interface or of uroced. If the table
 * follows the kernel interface, all addresses are the kernel's, and the device resolves no
 * neighbours.
 */
static bool
is_following(const struct uroce_dev *dev)
{
	return dev->conf.nb_addr == 0 &&
	       (dev->port->netif.if_index > 0 || dev->port->mux_client || dev->conf.is_udp);
}

static bool
has_addr_changes(const struct uroce_dev *dev)
{
	if (!dev->port->mux_client)
		return uroce_netif_has_changed(&dev->port->netif);
	return atomic_exchange(&dev->port->mux_client->has_changes, false);
}

/*
 * Copy uroced's gateways to the configuration, and set the addresses with which this device
 * resolves neighbours.
 */
static void
follow_uroced(struct uroce_dev *dev)
{
	struct uroce_mux_host host;

	uroce_mux_client_host(dev->port->mux_client, &host);
	uroce_mux_client_adopt(&dev->conf, &host);
	uroce_neigh_set_addrs(dev->neigh, atomic_load(&dev->gids));
}

void
uroce_gid_follow(struct uroce_worker *worker)
{
	struct uroce_dev *const dev = worker->dev;

	/*
	 * Another thread that has the device's lock may wait for this worker. So this worker does
	 * not wait for the lock; the next call of this function tries again.
	 */
	if (!is_following(dev) || pthread_mutex_trylock(&dev->lock) != 0)
		return;
	dev->has_gid_changes |= has_addr_changes(dev);
	if (dev->has_gid_changes && update_gids(dev)) {
		if (dev->port->mux_client)
			follow_uroced(dev);
		uroce_worker_wait_for_others(worker);
		UROCE_LOG(INFO, dev, "%s: the addresses of %s have changed", dev->conf.port,
			  dev->port->netif.if_index > 0 ? dev->port->netif.name : "the port");
		uroce_event_push(dev->events, IBV_EVENT_GID_CHANGE, NULL);
	}
	pthread_mutex_unlock(&dev->lock);
}
