/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What ethdev does not tell of ports, from reading the drivers of DPDK 22.11:
 *
 * memif: reports a longest frame of 1518 and refuses a larger MTU; the buffers of its rings are
 *	`bsize`. A zero-copy client computes an offset from its own region, so external buffers go
 *	astray. A client connects when it is started, and only then. When the peer goes, EAL's
 *	interrupt thread unmaps the rings, whoever works on them. Closing a server frees the interrupt
 *	source of its listener without taking it back from EAL.
 * af_packet: the same report; a slot of its rings is `framesz`, of which the kernel's receive side
 *	takes up to 66 bytes for its header, and frames above are cut on receive and silently dropped
 *	on send. To start it is to set flags of the interface, for which the kernel wants
 *	CAP_NET_ADMIN. Its transmit polls a socket without a timeout when its ring is full. It insists on
 *	mbufs as large as its slots.
 * af_xdp: an object of the pool is a chunk of at most a page, mbuf header and two headrooms
 *	included; sends the first segment only; may poll the kernel, up to a second, on receive.
 * tap: drops frames above the MTU that it was configured with, and can be configured with 1500.
 *	The kernel is not under it but at the other end of its wire, so IP addresses are not shared;
 *	and the MAC that it reports is that of the kernel's end, to which a bridge does not forward.
 * virtio: counts a header of its own, of up to 12 bytes, among what an mbuf must hold.
 * ring: hands our very mbufs to the receiver.
 * null: its receive burst returns mbufs that it does not write to, unless it has no-rx=1: what they hold is a frame of
 *	ours that was freed, whole if it is short. So we would hear old ACKs and NAKs again.
 *
 * And of what is none of its ports: uroced's lanes copy a frame, chained or not, before the burst returns. An
 * external buffer might be lent to them; but a chain of three mbufs costs more than a copy within the cache.
 */

#include "datapath/port.h"

#include <stdlib.h>
#include <string.h>
#include <rte_kvargs.h>

/* clang-format off */
static const struct uroce_port_policy rows[] = {
	{ .driver = "net_memif", .limit_key = "bsize", .limit = 2048, .mtu = 1500, .mbps = 100000,
	  .has_multi_seg = true, .is_virtual = true, .has_peer = true,
	  .burst = UROCE_BURST_GUARDED, .rx_wakeup = UROCE_RX_WAKEUP_RING },
	{ .driver = "net_af_packet", .limit_key = "framesz", .limit = 2048, .limit_overhead = 80,
	  .mtu = 1500, .is_limit_strict = true, .has_multi_seg = true, .may_block = true,
	  .is_virtual = true, .is_kernel = true, .rx_wakeup = UROCE_RX_WAKEUP_SOCKET,
	  .capability = "CAP_NET_RAW and CAP_NET_ADMIN" },
	{ .driver = "net_af_xdp", .mtu = 3500, .rx_headroom = 256, .extra_mbufs = 4096,
	  .may_block = true, .is_virtual = true, .is_kernel = true,
	  .capability = "CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF" },
	{ .driver = "net_tap", .limit = 1518, .mtu = 1500, .has_multi_seg = true,
	  .has_ext_buf = true,
	  .is_virtual = true, .is_far_mac = true, .capability = "CAP_NET_ADMIN" },
	{ .driver = "net_vhost", .has_multi_seg = true, .has_ext_buf = true,
	  .is_virtual = true },
	{ .driver = "net_virtio_user", .rx_headroom = 16, .has_multi_seg = true,
	  .is_virtual = true },
	{ .driver = "net_virtio", .rx_headroom = 16, .has_multi_seg = true },
	{ .driver = "net_ring", .has_multi_seg = true, .is_virtual = true },
	{ .driver = "net_null", .has_multi_seg = true, .has_ext_buf = true,
	  .is_virtual = true, .burst = UROCE_BURST_TX_ONLY },
	{ .driver = "net_pcap", .has_multi_seg = true, .has_ext_buf = true,
	  .is_virtual = true },
	{ .driver = UROCE_PORT_UROCED, .has_multi_seg = true, .is_virtual = true,
	  .burst = UROCE_BURST_MUX, .rx_wakeup = UROCE_RX_WAKEUP_MUX },
	{ .driver = NULL, .has_multi_seg = true },
};
/* clang-format on */

const struct uroce_port_policy *
uroce_port_policy_of(const char *driver)
{
	const struct uroce_port_policy *row = rows;

	while (row->driver && strcmp(row->driver, driver) != 0)
		row++;
	return row;
}

/* Virtual devices are called by their driver's name and what tells them apart. */
const struct uroce_port_policy *
uroce_port_policy_by_name(const char *port_name)
{
	const struct uroce_port_policy *row = rows;

	while (row->driver && strncmp(row->driver, port_name, strlen(row->driver)) != 0)
		row++;
	return row;
}

const char *
uroce_port_policy_capability(const char *port_name)
{
	return uroce_port_policy_by_name(port_name)->capability;
}

static uint32_t
read_limit(const char *key, const char *args, uint32_t limit)
{
	struct rte_kvargs *pairs = args ? rte_kvargs_parse(args, NULL) : NULL;
	const char *value = pairs ? rte_kvargs_get(pairs, key) : NULL;
	const unsigned long given = value ? strtoul(value, NULL, 0) : 0;

	rte_kvargs_free(pairs);
	return given > 0 && given <= UINT16_MAX ? (uint32_t)given : limit;
}

uint32_t
uroce_port_policy_limit(const struct uroce_port_policy *policy, const char *args, uint32_t *raw)
{
	uint32_t limit = policy->limit;

	if (policy->limit_key)
		limit = read_limit(policy->limit_key, args, limit);
	*raw = limit;
	return limit > policy->limit_overhead ? limit - policy->limit_overhead : 0;
}
