/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_WIRE_BUILD_H
#define UROCE_WIRE_BUILD_H

/**
 * @file
 * Building frames. A path contains the header template of a flow, which is prepared once. To build
 * a packet, the template is copied, and its lengths, checksum and BTH are filled in.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "wire/hdr.h"
#include "wire/parse.h"

/** Maximum length of the headers of a frame from Ethernet to BTH: 14 + 4 + 40 + 8 + 12 bytes. */
#define UROCE_PATH_HDR_MAX 78
/**
 * Maximum length of all headers of a frame, from Ethernet to the last extension header, rounded
 * up.
 */
#define UROCE_HDR_MAX 128

/** Properties of a path, from which uroce_path_init() prepares the path. */
struct uroce_path_conf {
	uint8_t smac[6];
	uint8_t dmac[6];
	/*
	 * Source address. An IPv4 address is stored as ::ffff:a.b.c.d, which is also the GID of the
	 * host [IBA A17.4.5.2].
	 */
	uint8_t sip[16];
	uint8_t dip[16];     /* destination address, of the same family as `sip` */
	uint32_t flow_label; /* flow label of IPv6, in the low 20 bits */
	uint16_t udp_sport;
	uint16_t vlan_tci; /* TCI of the 802.1Q tag, used if `has_vlan` is set */
	uint8_t tclass;    /* ToS of IPv4, or traffic class of IPv6 */
	uint8_t hop_limit; /* TTL of IPv4, or hop limit of IPv6; 0 is sent as 64 */
	bool has_vlan;
};

/**
 * A prepared path. It is read-only after uroce_path_init(), with two exceptions:
 * uroce_path_set_len() stores lengths in the path, and the owner may store, in the BTH of the
 * header template, fields that many packets share. A path may be copied freely.
 */
struct uroce_path {
	/*
	 * header template; its lengths are 0, or those that uroce_path_set_len() has set; its BTH
	 * has only MigReq set, or has the fields that the owner of the path has set
	 */
	uint8_t hdr[UROCE_PATH_HDR_MAX];
	uint8_t ip_off;
	uint8_t udp_off;
	uint8_t bth_off;
	/* length of the headers in bytes, from the Ethernet header to the end of the BTH */
	uint8_t hdr_len;
	bool is_ipv6;
	/* CRC state that uroce_icrc_prefix() computes for headers whose IP and UDP lengths are 0 */
	uint32_t icrc_base;
	/* for IPv4: sum of the 16-bit words of the IPv4 header, with length and checksum 0 */
	uint32_t ip_sum_base;
};

/** Whether `ip` is an IPv4 address in its mapped form (::ffff:a.b.c.d). */
bool uroce_ip_is_v4(const uint8_t ip[16]);

/** Prepare a path. `conf->dip` determines the address family. */
void uroce_path_init(struct uroce_path *path, const struct uroce_path_conf *conf);

/**
 * Whether a path leads back to its own host, which means that source and destination MAC are
 * equal.
 */
static inline bool
uroce_path_is_local(const struct uroce_path *path)
{
	const struct uroce_eth *eth = (const struct uroce_eth *)path->hdr;

	return memcmp(eth->dst, eth->src, sizeof(eth->src)) == 0;
}

/** Get the ToS (IPv4) or traffic class (IPv6) of a path. */
uint8_t uroce_path_tclass(const struct uroce_path *path);

/**
 * Change the ToS or traffic class of a path. If uroce_path_set_len() was called before, the caller
 * must call uroce_path_set_len() again.
 */
void uroce_path_set_tclass(struct uroce_path *path, uint8_t tclass);

/**
 * Write the headers from Ethernet to UDP, and an empty BTH (all fields 0, MigReq 1), at `hdr`. The
 * packet's UDP payload (from BTH to ICRC, both included) has `udp_payload_len` bytes.
 * @param[out] icrc  CRC state of the ICRC after the UDP header (see wire/icrc.h); when the BTH is
 *	complete, uroce_icrc_bth() extends this state over the BTH
 * @return the place of the BTH; the extension headers follow the BTH
 */
struct uroce_bth *uroce_path_put(const struct uroce_path *path, uint8_t *hdr,
				 uint32_t udp_payload_len, uint32_t *icrc);

/**
 * Store the IP and UDP lengths in the header template of the path, for a flow whose packets mostly
 * have one length. uroce_path_copy() then writes the headers of packets of this length.
 * @param udp_payload_len  length of a packet from BTH to ICRC, both included; for packets of other
 *	lengths, uroce_path_put() may still be used
 * @return CRC state of the ICRC after the UDP header (see wire/icrc.h)
 */
uint32_t uroce_path_set_len(struct uroce_path *path, uint32_t udp_payload_len);

/**
 * Write the headers from Ethernet to BTH at `hdr`, as uroce_path_put() does, but with the lengths
 * that uroce_path_set_len() has set. `hdr` has room for UROCE_HDR_MAX bytes.
 */
static inline struct uroce_bth *
uroce_path_copy(const struct uroce_path *path, uint8_t *hdr)
{
	/*
	 * The maximum length of the headers is copied, because a copy of constant length needs no
	 * branches.
	 */
	memcpy(hdr, path->hdr, UROCE_PATH_HDR_MAX);
	return (struct uroce_bth *)(hdr + path->bth_off);
}

/**
 * Write the fields of a BTH, converted from host order. The bit MigReq keeps its value from the
 * header template.
 */
static inline void
uroce_bth_put(struct uroce_bth *bth, uint8_t opcode, uint8_t pad_len, uint16_t pkey,
	      uint32_t dest_qpn, uint32_t psn)
{
	bth->opcode = opcode;
	bth->flags = (uint8_t)(bth->flags | pad_len << UROCE_BTH_PAD_SHIFT);
	bth->pkey = be16_make(pkey);
	bth->dest_qpn = be24_make(dest_qpn);
	bth->psn = be24_make(psn);
}

/** Write the fields of an AETH, converted from host order. */
static inline void
uroce_aeth_put(struct uroce_aeth *aeth, uint8_t syndrome, uint32_t msn)
{
	aeth->syndrome = syndrome;
	aeth->msn = be24_make(msn);
}

/** Write the fields of a RETH, converted from host order. */
static inline void
uroce_reth_put(struct uroce_reth *reth, uint64_t va, uint32_t rkey, uint32_t len)
{
	reth->va = be64_make(va);
	reth->rkey = be32_make(rkey);
	reth->dma_len = be32_make(len);
}

/**
 * Build a frame from the decoded fields of a parsed packet: every header is written from its
 * values, the pad bytes are 0, the ICRC is computed. Tests use this function to show that parser
 * and builder agree. The data path does not use it.
 * @return length of the frame, or 0 if `room` is too small
 */
size_t uroce_rebuild(const struct uroce_pkt *pkt, uint8_t *frame, size_t room);

#endif /* UROCE_WIRE_BUILD_H */
