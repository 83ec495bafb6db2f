/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_WIRE_HDR_H
#define UROCE_WIRE_HDR_H

/**
 * @file
 * Header layouts of RoCEv2, from Ethernet to the last extension header. All offsets of header
 * fields are defined in this file.
 *
 *	Ethernet [802.1Q] IPv4|IPv6 UDP BTH [extension headers] payload pad ICRC
 */

#include <assert.h>
#include <stdint.h>

#include "base/be.h"

#define UROCE_ETHERTYPE_IPV4 0x0800
#define UROCE_ETHERTYPE_ARP  0x0806
#define UROCE_ETHERTYPE_VLAN 0x8100
#define UROCE_ETHERTYPE_IPV6 0x86dd
#define UROCE_IPPROTO_UDP    17

/* Ethernet II header. */
struct uroce_eth {
	uint8_t dst[6];
	uint8_t src[6];
	be16 type;
};
static_assert(sizeof(struct uroce_eth) == 14, "Ethernet header is 14 bytes");

/*
 * 802.1Q tag. It follows an Ethernet header whose type is 0x8100. `type` is the EtherType of the
 * payload.
 */
struct uroce_vlan {
	be16 tci; /* PCP:3 bits, DEI:1 bit, VID:12 bits */
	be16 type;
};
static_assert(sizeof(struct uroce_vlan) == 4, "802.1Q tag is 4 bytes");

/* IPv4 header [RFC 791]. */
struct uroce_ipv4 {
	/* version:4 bits, ihl:4 bits; ihl is the header's length in 4-byte words */
	uint8_t version_ihl;
	uint8_t tos; /* DSCP:6 bits, ECN:2 bits */
	be16 total_len;
	be16 id;
	be16 frag; /* reserved:1 bit, DF:1 bit, MF:1 bit, fragment offset:13 bits */
	uint8_t ttl;
	uint8_t protocol;
	be16 checksum;
	uint8_t src[4];
	uint8_t dst[4];
};
static_assert(sizeof(struct uroce_ipv4) == 20, "IPv4 header without options is 20 bytes");
#define UROCE_IPV4_DF 0x4000

/* Fields of the ToS and of the traffic class: DSCP:6 ECN:2 [RFC 2474, RFC 3168]. */
#define UROCE_DSCP_SHIFT 2
#define UROCE_ECN_MASK   0x03
/* value ECT(0) of the ECN bits: the sender's transport reacts to congestion marks */
#define UROCE_ECN_ECT0 0x02
#define UROCE_ECN_CE   0x03 /* value of the ECN bits: congestion experienced, set by a switch */

/* IPv6 header [RFC 8200]. */
struct uroce_ipv6 {
	be32 version_flow; /* version:4 bits, traffic class:8 bits, flow label:20 bits */
	be16 payload_len;
	uint8_t next_header;
	uint8_t hop_limit;
	uint8_t src[16];
	uint8_t dst[16];
};
static_assert(sizeof(struct uroce_ipv6) == 40, "IPv6 header is 40 bytes");

struct uroce_udp {
	be16 sport;
	be16 dport;
	be16 len; /* length in bytes of the UDP header and its payload */
	/* UDP checksum; 0 means that the packet has no checksum, as in RoCEv2 [IBA A17.3.1.3] */
	be16 checksum;
};
static_assert(sizeof(struct uroce_udp) == 8, "UDP header is 8 bytes");

/* Base Transport Header [IBA 9.2].
 *  |    opcode     |S|M|pad| tver  |             pkey              |
 *  |F|B|   resv    |                  dest qpn                     |
 *  |A|    resv     |                     psn                       |   */
struct uroce_bth {
	uint8_t opcode;
	/* solicited event:1 bit, MigReq:1 bit, pad count:2 bits, transport version:4 bits */
	uint8_t flags;
	be16 pkey;
	uint8_t fecn_becn; /* FECN:1 bit, BECN:1 bit, reserved:6 bits */
	be24 dest_qpn;
	uint8_t ack_req; /* AckReq:1 bit, reserved:7 bits */
	be24 psn;
};
static_assert(sizeof(struct uroce_bth) == 12, "BTH is 12 bytes on the wire");

#define UROCE_BTH_SOLICITED 0x80 /* the bit "solicited event" in uroce_bth.flags */
#define UROCE_BTH_MIGREQ    0x40 /* the bit "MigReq" in uroce_bth.flags */
#define UROCE_BTH_PAD_SHIFT 4    /* number of the lowest bit of the pad count in uroce_bth.flags */
#define UROCE_BTH_PAD_MASK  0x30 /* bits of the pad count in uroce_bth.flags */
#define UROCE_BTH_TVER_MASK 0x0f /* bits of the transport version in uroce_bth.flags */
#define UROCE_BTH_FECN      0x80 /* the bit "FECN" in uroce_bth.fecn_becn */
#define UROCE_BTH_BECN      0x40 /* the bit "BECN" in uroce_bth.fecn_becn */
#define UROCE_BTH_ACK_REQ   0x80 /* the bit "AckReq" in uroce_bth.ack_req */

/* RDMA extended transport header [IBA 9.3.3]. */
struct uroce_reth {
	be64 va;
	be32 rkey;
	be32 dma_len;
};
static_assert(sizeof(struct uroce_reth) == 16, "RETH is 16 bytes");

/* Atomic extended transport header [IBA 9.3.4]. */
struct uroce_atomiceth {
	be64 va;
	be32 rkey;
	/* operand of CMP_SWAP: the new value; operand of FETCH_ADD: the number to be added */
	be64 swap_add;
	be64 compare; /* operand of CMP_SWAP: the value to compare with; unused by FETCH_ADD */
};
static_assert(sizeof(struct uroce_atomiceth) == 28, "AtomicETH is 28 bytes");

/* ACK extended transport header [IBA 9.3.5]. */
struct uroce_aeth {
	uint8_t syndrome;
	be24 msn;
};
static_assert(sizeof(struct uroce_aeth) == 4, "AETH is 4 bytes");

/* Atomic ACK extended transport header [IBA 9.3.5]. */
struct uroce_atomicacketh {
	be64 orig; /* value of the memory before the operation */
};
static_assert(sizeof(struct uroce_atomicacketh) == 8, "AtomicAckETH is 8 bytes");

/* Datagram extended transport header [IBA 9.3.2]. */
struct uroce_deth {
	be32 qkey;
	uint8_t resv;
	be24 src_qpn;
};
static_assert(sizeof(struct uroce_deth) == 8, "DETH is 8 bytes");

/*
 * Immediate data [IBA 9.3.6]. The bytes are not interpreted. They stay in wire order, as in verbs.
 */
struct uroce_immdt {
	uint8_t data[4];
};
static_assert(sizeof(struct uroce_immdt) == 4, "ImmDt is 4 bytes");

/* Invalidate extended transport header [IBA 9.3.7]. */
struct uroce_ieth {
	be32 rkey;
};
static_assert(sizeof(struct uroce_ieth) == 4, "IETH is 4 bytes");

/* XRC extended transport header [IBA A14.5]. */
struct uroce_xrceth {
	uint8_t resv;
	be24 srqn;
};
static_assert(sizeof(struct uroce_xrceth) == 4, "XRCETH is 4 bytes");

/* FLUSH extended transport header [IBA A19], followed by a RETH. */
struct uroce_feth {
	be32 sel_plt; /* reserved:26 bits, selectivity level:2 bits, placement type:4 bits */
};
static_assert(sizeof(struct uroce_feth) == 4, "FETH is 4 bytes");

#define UROCE_ATOMIC_WRITE_LEN 8 /* number of payload bytes that every ATOMIC_WRITE has */
/* number of zero bytes that follow the BTH of a CNP [IBA A17.9.3] */
#define UROCE_CNP_RESERVED_LEN 16

#endif /* UROCE_WIRE_HDR_H */
