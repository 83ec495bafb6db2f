/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_WIRE_PARSE_H
#define UROCE_WIRE_PARSE_H

/**
 * @file
 * The door: a frame becomes a length-checked view, once, and nobody checks lengths again.
 *
 * Pointers lead into the frame; the frame must be contiguous and outlive the view. Fields that the
 * transport reads for every packet are decoded here, in host order. The ICRC is verified by a
 * second call, so that a caller can work through a burst in passes.
 */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "wire/hdr.h"
#include "wire/opcode.h"
#include "wire/verdict.h"

#define UROCE_UDP_PORT 4791

/** A parsed RoCEv2 frame. */
struct uroce_pkt {
	const struct uroce_opcode *op; /* row of the opcode; never an unknown one */
	const uint8_t *frame;          /* Ethernet header */
	const uint8_t *ip;             /* IPv4 (with options) or IPv6 header */
	const struct uroce_bth *bth;   /* directly after the UDP header */
	const uint8_t *ext;            /* first byte after the BTH */
	const uint8_t *payload;        /* after the extension headers */
	uint32_t payload_len;          /* bytes, pad not counted */
	uint32_t psn;
	uint32_t dest_qpn;
	uint16_t pkey;
	uint16_t udp_sport;
	uint16_t vlan_tci; /* 0 when the frame has no tag */
	uint8_t opcode;    /* the whole byte */
	uint8_t pad_len;   /* 0..3 */
	uint8_t tclass;    /* ToS or traffic class; ECN in its low two bits */
	bool is_ipv6;
	bool has_vlan;
	bool is_solicited; /* BTH.S */
	bool has_ack_req;  /* BTH.A */
	bool has_becn;     /* BTH.B */
	void *owner;       /* the caller's, who sets it: comes back with a frame that was held */
};

/**
 * Parse and length-check a frame of `len` bytes; bytes after the IP length (Ethernet padding) are
 * ignored. Accepts Ethernet II with at most one 802.1Q tag, IPv4 with options but no fragment,
 * IPv6 without extension headers. A first fragment to our port is UROCE_VERDICT_BAD_IP; a later
 * one has no port, so it is somebody else's: UROCE_VERDICT_NOT_ROCE.
 *
 * Checked: every length against every other, BTH version, opcode known, extension headers present,
 * pad count against payload, payload absent where the opcode has none. Not checked: checksums of
 * IPv4 and UDP (the ICRC covers what matters), the ICRC (uroce_pkt_check_icrc), anything about QPs.
 *
 * @return UROCE_VERDICT_REQUEST, RESPONSE or DATAGRAM, by the opcode, when `pkt` was filled; else a
 *	verdict of the door's part of the list, and `pkt` is undefined.
 */
enum uroce_verdict uroce_parse(const uint8_t *frame, uint32_t len, struct uroce_pkt *pkt);

/**
 * Parse a frame that may be of the same kind as one that was accepted, as those of a burst mostly are:
 * IPv4, and the same in every header field that is looked at but the PSN and the request for an ACK.
 * @return whether it is; then `pkt` is filled, and uroce_parse() would say of it what it said of `tmpl`
 */
bool uroce_parse_by_template(const uint8_t *frame, uint32_t len, const struct uroce_pkt *tmpl,
			     struct uroce_pkt *pkt);

/** What uroce_parse_by_template() looks at of a model's bytes. */
#define UROCE_TEMPLATE_LEN 50u

/**
 * Make a model that outlives its frame.
 * @param pkt  accepted by uroce_parse()
 * @param[out] hdr  bytes of the frame; lives as long as `tmpl`, which is for uroce_parse_by_template() alone
 */
void uroce_parse_make_template(const struct uroce_pkt *pkt, uint8_t hdr[UROCE_TEMPLATE_LEN],
			       struct uroce_pkt *tmpl);

/** Whether the ICRC of a parsed frame is right. Reads every byte from the IP header to the ICRC. */
bool uroce_pkt_check_icrc(const struct uroce_pkt *pkt);

/** Whether two parsed frames have the same source and destination addresses. */
static inline bool
uroce_pkt_is_same_path(const struct uroce_pkt *a, const struct uroce_pkt *b)
{
	const struct uroce_ipv4 *a4 = (const struct uroce_ipv4 *)a->ip;
	const struct uroce_ipv4 *b4 = (const struct uroce_ipv4 *)b->ip;
	const struct uroce_ipv6 *a6 = (const struct uroce_ipv6 *)a->ip;
	const struct uroce_ipv6 *b6 = (const struct uroce_ipv6 *)b->ip;

	if (a->is_ipv6 != b->is_ipv6)
		return false;
	/* both stand side by side in either header */
	return a->is_ipv6 ? !memcmp(a6->src, b6->src, sizeof(a6->src) + sizeof(a6->dst))
			  : !memcmp(a4->src, b4->src, sizeof(a4->src) + sizeof(a4->dst));
}

/* Extension headers of a parsed frame. Each may be asked for only where op->ext_mask has it. */
static inline const void *
uroce_pkt_ext(const struct uroce_pkt *pkt, enum uroce_ext ext)
{
	return pkt->ext + pkt->op->ext_off[ext];
}

static inline const struct uroce_reth *
uroce_pkt_reth(const struct uroce_pkt *pkt)
{
	return (const struct uroce_reth *)uroce_pkt_ext(pkt, UROCE_EXT_RETH);
}

static inline const struct uroce_atomiceth *
uroce_pkt_atomiceth(const struct uroce_pkt *pkt)
{
	return (const struct uroce_atomiceth *)uroce_pkt_ext(pkt, UROCE_EXT_ATOMICETH);
}

static inline const struct uroce_aeth *
uroce_pkt_aeth(const struct uroce_pkt *pkt)
{
	return (const struct uroce_aeth *)uroce_pkt_ext(pkt, UROCE_EXT_AETH);
}

static inline const struct uroce_atomicacketh *
uroce_pkt_atomicacketh(const struct uroce_pkt *pkt)
{
	return (const struct uroce_atomicacketh *)uroce_pkt_ext(pkt, UROCE_EXT_ATOMICACKETH);
}

static inline const struct uroce_deth *
uroce_pkt_deth(const struct uroce_pkt *pkt)
{
	return (const struct uroce_deth *)uroce_pkt_ext(pkt, UROCE_EXT_DETH);
}

static inline const struct uroce_immdt *
uroce_pkt_immdt(const struct uroce_pkt *pkt)
{
	return (const struct uroce_immdt *)uroce_pkt_ext(pkt, UROCE_EXT_IMMDT);
}

static inline const struct uroce_ieth *
uroce_pkt_ieth(const struct uroce_pkt *pkt)
{
	return (const struct uroce_ieth *)uroce_pkt_ext(pkt, UROCE_EXT_IETH);
}

static inline const struct uroce_xrceth *
uroce_pkt_xrceth(const struct uroce_pkt *pkt)
{
	return (const struct uroce_xrceth *)uroce_pkt_ext(pkt, UROCE_EXT_XRCETH);
}

static inline const struct uroce_feth *
uroce_pkt_feth(const struct uroce_pkt *pkt)
{
	return (const struct uroce_feth *)uroce_pkt_ext(pkt, UROCE_EXT_FETH);
}

#endif /* UROCE_WIRE_PARSE_H */
