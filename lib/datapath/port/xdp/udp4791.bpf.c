/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * XDP program that selects the frames of a net_af_xdp port. The port gets RoCEv2 frames only: UDP
 * to port 4791 over IPv4 or IPv6, with at most one VLAN tag. All other frames are passed to the
 * kernel. So the host keeps its network, and the kernel replies to ARP, neighbour discovery and
 * ping for the address.
 *
 * The driver loads this object (argument xdp_prog=) and puts a socket for each of its queues into
 * xsks_map. Frames of a queue without a socket are passed to the kernel as well.
 *
 * IP fragments behind the first have no UDP header, and are passed to the kernel. RoCEv2 packets
 * are never fragmented.
 */

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define ROCE_PORT   4791
#define NB_QUEUES   64
#define FRAG_OFFSET 0x1fff

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, NB_QUEUES);
	__type(key, __u32);
	__type(value, __u32);
} xsks_map SEC(".maps");

struct tag {
	__be16 tci;
	__be16 type;
};

static __always_inline int
is_roce_udp(const void *at, const void *end)
{
	const struct udphdr *udp = at;

	return (const void *)(udp + 1) <= end && udp->dest == bpf_htons(ROCE_PORT);
}

static __always_inline int
is_roce_ipv4(const void *at, const void *end)
{
	const struct iphdr *ip = at;

	if ((const void *)(ip + 1) > end || ip->protocol != IPPROTO_UDP || ip->ihl < 5 ||
	    ip->frag_off & bpf_htons(FRAG_OFFSET))
		return 0;
	return is_roce_udp(at + ip->ihl * 4, end);
}

static __always_inline int
is_roce_ipv6(const void *at, const void *end)
{
	const struct ipv6hdr *ip = at;

	return (const void *)(ip + 1) <= end && ip->nexthdr == IPPROTO_UDP &&
	       is_roce_udp(ip + 1, end);
}

static __always_inline int
is_roce(const void *at, const void *end)
{
	const struct ethhdr *eth = at;
	const struct tag *tag = (const void *)(eth + 1);
	const void *ip = tag;
	__be16 type;

	if ((const void *)(eth + 1) > end)
		return 0;
	type = eth->h_proto;
	if (type == bpf_htons(ETH_P_8021Q)) {
		if ((const void *)(tag + 1) > end)
			return 0;
		type = tag->type;
		ip = tag + 1;
	}
	if (type == bpf_htons(ETH_P_IP))
		return is_roce_ipv4(ip, end);
	if (type == bpf_htons(ETH_P_IPV6))
		return is_roce_ipv6(ip, end);
	return 0;
}

SEC("xdp")
int
udp4791(struct xdp_md *ctx)
{
	const void *at = (const void *)(long)ctx->data;
	const void *end = (const void *)(long)ctx->data_end;

	if (!is_roce(at, end))
		return XDP_PASS;
	return (int)bpf_redirect_map(&xsks_map, ctx->rx_queue_index, XDP_PASS);
}

char roce_license[] SEC("license") = "BSD";
