/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The addresses of a device, as its GID table: first the link-local one, then those configured or,
 * where the port is the kernel's interface and none is configured, the interface's. An address that
 * the interface has is the kernel's: it answers for it, and is asked for its neighbours.
 */

#include "datapath/gid.h"

#include <errno.h>
#include <string.h>

#include "datapath/log.h"
#include "datapath/port.h"

/* The interface's addresses. */
struct kernel_addrs {
	struct uroce_addr addr[UROCE_GIDS_MAX];
	unsigned nb;
};

static bool
is_link_local(const struct uroce_addr *addr)
{
	return addr->ip[0] == 0xfe && (addr->ip[1] & 0xc0) == 0x80;
}

static bool
has(const struct kernel_addrs *kernel, const struct uroce_addr *addr)
{
	for (unsigned i = 0; i < kernel->nb; i++) {
		if (memcmp(kernel->addr[i].ip, addr->ip, sizeof(addr->ip)) == 0)
			return true;
	}
	return false;
}

static void
add(struct uroce_dev *dev, const struct uroce_addr *addr, bool is_kernels)
{
	if (dev->nb_gid == UROCE_GIDS_MAX)
		return;
	dev->kernel_gids |= (uint32_t)is_kernels << dev->nb_gid;
	dev->gid[dev->nb_gid++] = *addr;
}

/* Modified EUI-64 [RFC 4291 A]. */
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
add_link_local(struct uroce_dev *dev, const struct kernel_addrs *kernel)
{
	const struct uroce_addr made = make_link_local(dev->mac);
	bool is_kernels = dev->conf.nb_addr == 0;

	for (unsigned i = 0; i < kernel->nb; i++) {
		if (is_link_local(&kernel->addr[i])) {
			add(dev, &kernel->addr[i], true);
			return;
		}
	}
	for (unsigned i = 0; i < dev->conf.nb_addr; i++)
		is_kernels |= has(kernel, &dev->conf.addr[i]);
	if (!is_kernels)
		add(dev, &made, false);
}

int
uroce_gid_fill(struct uroce_dev *dev)
{
	struct kernel_addrs kernel = { .nb = 0 };

	if (dev->port->netif.if_index > 0)
		kernel.nb =
			uroce_netif_addrs(&dev->port->netif, kernel.addr,
					  (unsigned)(sizeof(kernel.addr) / sizeof(kernel.addr[0])));
	if (dev->conf.nb_addr == 0 && kernel.nb == 0) {
		UROCE_LOG(ERR, dev,
			  "%s: no address: allowed is addr=192.0.2.1/24 or the like, required "
			  "unless the kernel has given its interface one",
			  dev->conf.port);
		return -EINVAL;
	}
	add_link_local(dev, &kernel);
	for (unsigned i = 0; i < dev->conf.nb_addr; i++)
		add(dev, &dev->conf.addr[i], has(&kernel, &dev->conf.addr[i]));
	for (unsigned i = 0; i < kernel.nb && dev->conf.nb_addr == 0; i++) {
		if (!is_link_local(&kernel.addr[i]))
			add(dev, &kernel.addr[i], true);
	}
	return 0;
}

bool
uroce_gid_all_kernels(const struct uroce_dev *dev)
{
	return dev->kernel_gids == (UINT32_C(1) << dev->nb_gid) - 1;
}
