/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_WIRE_PARSE_H
#define UROCE_WIRE_PARSE_H

/**
 * @file
 * The parser of received frames. It converts a frame to a view whose lengths have been checked.
 * Later code does not check the lengths again.
 *
 * Pointers of the view point into the frame. The frame must be contiguous and must exist as long
 * as the view. Fields that the transport reads for every packet are decoded here, in host order.
 * The ICRC is verified by a separate call, so that a caller can process a burst in passes.
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
	/* row of the packet's opcode in the opcode table; the opcode is a known one */
	const struct uroce_opcode *op;
	const uint8_t *frame; /* first byte of the Ethernet header */
	const uint8_t *ip; /* first byte of the IPv4 header (with options) or of the IPv6 header */
	const struct uroce_bth *bth; /* BTH, directly after the UDP header */
	const uint8_t *ext;          /* first extension header, which follows the BTH */
	const uint8_t *payload; /* first byte of the payload, which follows the extension headers */
	uint32_t payload_len;   /* number of payload bytes, without the pad */
	uint32_t psn;
	uint32_t dest_qpn;
	uint16_t pkey;
	uint16_t udp_sport;
	uint16_t vlan_tci; /* TCI of the 802.1Q tag; 0 if the frame has no tag */
	uint8_t opcode;    /* BTH opcode: all 8 bits, service and operation */
	uint8_t pad_len;   /* number of pad bytes behind the payload, 0 to 3 */
	uint8_t tclass;    /* ToS of IPv4, or traffic class of IPv6; its low two bits are ECN */
	bool is_ipv6;
	bool has_vlan;
	bool is_solicited; /* the bit "solicited event" of the BTH is set */
	bool has_ack_req;  /* the bit "AckReq" of the BTH is set */
	bool has_becn;     /* the bit "BECN" of the BTH is set */
	/*
	 * cookie of the caller; uroce_reorder_buffer_reap() returns it when the reorder buffer
	 * releases the frame
	 */
	void *owner;
};

/**
 * Parse a frame of `len` bytes and check its lengths. Bytes after the IP length (Ethernet padding)
 * are ignored. The parser accepts Ethernet II with at most one 802.1Q tag, IPv4 with options but
 * not fragmented, and IPv6 without extension headers. A first fragment to the RoCEv2 port gets
 * UROCE_VERDICT_BAD_IP. A later fragment has no port, and gets UROCE_VERDICT_NOT_ROCE.
 *
 * Checked: all lengths agree; the BTH version is 0; the opcode is known; the extension headers of
 * the opcode are present; the pad fits the payload; an opcode without payload has none. Not
 * checked: checksums of IPv4 and UDP (the ICRC covers the relevant fields), the ICRC
 * (uroce_pkt_check_icrc()), and properties of QPs.
 *
 * @return UROCE_VERDICT_REQUEST, RESPONSE or DATAGRAM, by the opcode, if `pkt` was filled;
 *	otherwise one of the parser's verdicts in UROCE_VERDICT_LIST, and `pkt` is undefined.
 */
enum uroce_verdict uroce_parse(const uint8_t *frame, uint32_t len, struct uroce_pkt *pkt);

/**
 * Parse a frame by comparing it with a template, which is a frame that uroce_parse() has accepted
 * before. A frame matches if it is IPv4, and if all parsed header fields except the PSN and the
 * request for an ACK are equal. Most frames of a burst match the previous frame.
 * @return whether the frame matches; then `pkt` is filled, and uroce_parse() would return the
 *	verdict that it returned for `tmpl`
 */
bool uroce_parse_by_template(const uint8_t *frame, uint32_t len, const struct uroce_pkt *tmpl,
			     struct uroce_pkt *pkt);

/** Number of bytes of a template that uroce_parse_by_template() compares. */
#define UROCE_TEMPLATE_LEN 50u

/**
 * Make a template for uroce_parse_by_template() that does not point into the original frame.
 * @param pkt  a packet that uroce_parse() has accepted
 * @param[out] hdr  copy of the headers; must exist as long as `tmpl`
 * @param[out] tmpl  the template, which may be passed to uroce_parse_by_template() only
 */
void uroce_parse_make_template(const struct uroce_pkt *pkt, uint8_t hdr[UROCE_TEMPLATE_LEN],
			       struct uroce_pkt *tmpl);

/**
 * Whether the ICRC of a parsed frame is correct. The function reads every byte from the IP header
 * to the ICRC.
 */
bool uroce_pkt_check_icrc(const struct uroce_pkt *pkt);

/**
 * Whether the ICRC of a parsed frame is correct, if the identification of its IPv4 header is
 * unknown: any of the 65,536 values may make the ICRC correct. So 16 bits of the check remain for
 * IPv4, and all 32 bits for IPv6. The frame is not changed. The function is as fast as
 * uroce_pkt_check_icrc() if the identification in the frame is right.
 */
bool uroce_pkt_check_icrc_any_ident(const struct uroce_pkt *pkt);

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
	/*
	 * one memcmp() compares both addresses, because they are adjacent in the IPv4 and in the
	 * IPv6 header
	 */
	return a->is_ipv6 ? !memcmp(a6->src, b6->src, sizeof(a6->src) + sizeof(a6->dst))
			  : !memcmp(a4->src, b4->src, sizeof(a4->src) + sizeof(a4->dst));
}

/*
 * Get an extension header of a parsed frame. The packet must have the header: its bit is set in
 * `op->ext_mask`.
 */
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
