/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The policy table: properties of ports that ethdev does not report. They were determined by
 * reading the drivers of DPDK 22.11.
 *
 * memif: The driver reports a longest frame of 1518 bytes and refuses a larger MTU, but the buffers
 * of its rings have `bsize` bytes. A zero-copy client computes offsets from its own region, so
 * external buffers get wrong offsets. A client connects only when it is started. When the peer
 * ends, EAL's interrupt thread unmaps the rings, even if a thread uses them. The close of a server
 * frees the interrupt source of its listener without unregistering it from EAL.
 *
 * af_packet: As with memif, the driver reports 1518 bytes, but a slot of its rings has `framesz`
 * bytes. The kernel's receive side uses up to 66 bytes of a slot for its header. Longer frames are
 * truncated on receive and silently dropped on transmit. The start of the port sets flags of the
 * interface, for which the kernel requires CAP_NET_ADMIN. If the TX ring is full, the transmit
 * burst polls a socket without a timeout. The driver requires mbufs as large as its slots.
 *
 * af_xdp: An object of the pool is a chunk of at most one page, including the mbuf header and two
 * headrooms. Only the first segment of a frame is transmitted. The receive burst may poll the
 * kernel for up to a second.
 *
 * tap: The driver drops frames above the configured MTU, which can only be 1500. The kernel is not
 * below the port, but at the other end of its link. So the port does not share IP addresses with
 * the kernel. The reported MAC is that of the kernel's end, and a bridge does not forward frames
 * with this MAC to the port.
 *
 * virtio: An mbuf must also hold the driver's own header of up to 12 bytes. Each queue has a vector
 * of MSI-X. Without MSI-X, the driver refuses receive interrupts.
 *
 * em: The driver sets the NIC to at most one interrupt in 16.8 ms. With MSI or INTx, the descriptor
 * of the queue is that of the device, and changes of the link are not reported. With MSI-X, no
 * receive interrupt arrives: the driver does not assign the queues of an 82574L to a vector.
 *
 * igb: Each queue has a vector of MSI-X. With INTx, changes of the link are not reported, as with
 * em.
 *
 * vmxnet3: Each queue has a vector of MSI-X. Without MSI-X there are no receive interrupts.
 *
 * ring: The driver passes the sender's mbufs to the receiver.
 *
 * null: Unless no-rx=1 is given, the receive burst returns mbufs to which the driver does not
 * write. Such an mbuf contains a freed frame of this process, complete if it is short. Old ACKs and
 * NAKs would be received again.
 *
 * uroced (not an ethdev port): The rings copy a frame, chained or not, before the burst returns.
 * External buffers would be possible, but a chain of three mbufs costs more than a copy within the
 * cache.
 *
 * udp (not an ethdev port): The kernel copies a message, chained or not, before the burst returns.
 * A socket does not show the identification of IPv4. This also holds for a client of a uroced that
 * owns this port, which has a row of its own.
 */

#include "datapath/port/port.h"

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
	  .is_burst_syscall = true, .is_virtual = true, .is_kernel = true, .rx_wakeup = UROCE_RX_WAKEUP_SOCKET,
	  .capability = "CAP_NET_RAW and CAP_NET_ADMIN" },
	{ .driver = "net_af_xdp", .mtu = 3500, .rx_headroom = 256, .extra_mbufs = 4096,
	  .may_block = true, .is_burst_syscall = true, .is_virtual = true, .is_kernel = true,
	  .capability = "CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF" },
	{ .driver = "net_tap", .limit = 1518, .mtu = 1500, .has_multi_seg = true,
	  .has_ext_buf = true,
	  .is_virtual = true, .is_far_mac = true, .capability = "CAP_NET_ADMIN" },
	{ .driver = "net_vhost", .has_multi_seg = true, .has_ext_buf = true,
	  .is_virtual = true },
	{ .driver = "net_virtio_user", .rx_headroom = 16, .has_multi_seg = true,
	  .is_virtual = true },
	{ .driver = "net_virtio", .rx_headroom = 16, .has_multi_seg = true,
	  .rx_wakeup = UROCE_RX_WAKEUP_INTR },
	{ .driver = "net_e1000_em", .has_multi_seg = true, .rx_wakeup = UROCE_RX_WAKEUP_INTR,
	  .rx_intr_gap_ms = 17, .is_lsc_exclusive = true },
	{ .driver = "net_e1000_igb", .has_multi_seg = true, .rx_wakeup = UROCE_RX_WAKEUP_INTR,
	  .is_lsc_exclusive = true },
	{ .driver = "net_vmxnet3", .has_multi_seg = true, .rx_wakeup = UROCE_RX_WAKEUP_INTR },
	{ .driver = "net_ring", .has_multi_seg = true, .is_virtual = true },
	{ .driver = "net_null", .has_multi_seg = true, .has_ext_buf = true,
	  .is_virtual = true, .burst = UROCE_BURST_TX_ONLY },
	{ .driver = "net_pcap", .has_multi_seg = true, .has_ext_buf = true,
	  .is_virtual = true },
	{ .driver = UROCE_PORT_UROCED, .has_multi_seg = true, .is_virtual = true,
	  .burst = UROCE_BURST_MUX, .rx_wakeup = UROCE_RX_WAKEUP_MUX },
	{ .driver = UROCE_PORT_UROCED_UDP, .has_multi_seg = true, .is_virtual = true,
	  .is_ident_unknown = true, .is_udp = true,
	  .burst = UROCE_BURST_MUX, .rx_wakeup = UROCE_RX_WAKEUP_MUX },
	{ .driver = UROCE_PORT_UDP, .has_multi_seg = true, .is_virtual = true,
	  .is_burst_syscall = true, .is_ident_unknown = true, .is_udp = true,
	  .burst = UROCE_BURST_UDP, .rx_wakeup = UROCE_RX_WAKEUP_UDP },
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

/*
 * Find the policy row of a port by the name of the port. The name of a virtual device begins with
 * the name of its driver, and continues with a suffix.
 */
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
