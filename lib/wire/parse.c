/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The parser. It processes the headers from the outside in: Ethernet, IP, UDP, BTH. A cursor holds
 * the bytes that are not parsed yet. After each header the cursor is limited to the length that the
 * header states, so that later steps cannot read beyond this length.
 *
 * Protocol and UDP port are checked before the frame's validity. Thus malformed frames of other
 * protocols are not counted as bad RoCEv2 frames.
 *
 * Most frames are valid IPv4 frames without IP options and without a VLAN tag. The fast path
 * recognises them by a comparison of a few words. All other frames are parsed header by header.
 */

#include "wire/parse.h"

#include <stddef.h>
#include <string.h>

#include "wire/icrc.h"
#include "wire/icrc_field.h"

/* The part of a frame that the parser has not parsed yet. */
struct cursor {
	const uint8_t *at;
	uint32_t len;
};

/*
 * Return value of the parser's functions that means "continue with the next header". The value is
 * not a verdict, so it differs from every verdict that a check can return.
 */
#define GO_ON  UROCE_VERDICT_NB

#define LOW_24 0xffffffu

/* Offset of the BTH in a frame that takes the fast path. */
#define BTH_OFF (sizeof(struct uroce_eth) + sizeof(struct uroce_ipv4) + sizeof(struct uroce_udp))

static void
skip_bytes(struct cursor *cur, uint32_t nb)
{
	cur->at += nb;
	cur->len -= nb;
}

static enum uroce_verdict
parse_eth(struct cursor *cur, struct uroce_pkt *pkt)
{
	const struct uroce_eth *eth = (const struct uroce_eth *)cur->at;
	uint16_t type;

	if (cur->len < sizeof(*eth))
		return UROCE_VERDICT_TRUNCATED;
	type = be16_get(eth->type);
	skip_bytes(cur, sizeof(*eth));
	pkt->has_vlan = type == UROCE_ETHERTYPE_VLAN;
	pkt->vlan_tci = 0;
	if (pkt->has_vlan) {
		const struct uroce_vlan *vlan = (const struct uroce_vlan *)cur->at;

		if (cur->len < sizeof(*vlan))
			return UROCE_VERDICT_TRUNCATED;
		pkt->vlan_tci = be16_get(vlan->tci);
		type = be16_get(vlan->type);
		skip_bytes(cur, sizeof(*vlan));
	}
	pkt->is_ipv6 = type == UROCE_ETHERTYPE_IPV6;
	return pkt->is_ipv6 || type == UROCE_ETHERTYPE_IPV4 ? GO_ON : UROCE_VERDICT_NOT_ROCE;
}

/* Check whether the UDP header at `at` has the RoCEv2 port. `len` bytes of the frame remain. */
static enum uroce_verdict
check_port(const uint8_t *at, uint32_t len)
{
	const struct uroce_udp *udp = (const struct uroce_udp *)at;

	if (len < sizeof(*udp))
		return UROCE_VERDICT_TRUNCATED;
	return be16_get(udp->dport) == UROCE_UDP_PORT ? GO_ON : UROCE_VERDICT_NOT_ROCE;
}

/*
 * Limit the cursor (the bytes that are not parsed yet) to `len` bytes, the number of bytes behind
 * the IP header according to the IP header.
 */
static enum uroce_verdict
narrow_to_ip(struct cursor *cur, uint32_t len)
{
	if (len > cur->len)
		return UROCE_VERDICT_TRUNCATED;
	if (len < sizeof(struct uroce_udp))
		return UROCE_VERDICT_BAD_IP;
	cur->len = len;
	return GO_ON;
}

static enum uroce_verdict
parse_ipv4(struct cursor *cur, struct uroce_pkt *pkt)
{
	const struct uroce_ipv4 *ip = (const struct uroce_ipv4 *)cur->at;
	const uint16_t more_fragments = 0x2000;
	const uint16_t offset_mask = 0x1fff;
	enum uroce_verdict verdict;
	uint32_t hdr_len, total_len;
	uint16_t frag;

	if (cur->len < sizeof(*ip))
		return UROCE_VERDICT_TRUNCATED;
	if (ip->protocol != UROCE_IPPROTO_UDP)
		return UROCE_VERDICT_NOT_ROCE;
	hdr_len = (ip->version_ihl & 0xfu) * 4;
	frag = be16_get(ip->frag);
	if (ip->version_ihl >> 4 != 4 || hdr_len < sizeof(*ip))
		return UROCE_VERDICT_BAD_IP;
	/* A fragment other than the first has no UDP header. RoCEv2 is never fragmented, so the
	 * frame belongs to another protocol. */
	if (frag & offset_mask)
		return UROCE_VERDICT_NOT_ROCE;
	if (cur->len < hdr_len)
		return UROCE_VERDICT_TRUNCATED;
	total_len = be16_get(ip->total_len);
	pkt->tclass = ip->tos;
	skip_bytes(cur, hdr_len);
	verdict = check_port(cur->at, cur->len);
	if (verdict != GO_ON)
		return verdict;
	if (frag & more_fragments || total_len < hdr_len)
		return UROCE_VERDICT_BAD_IP;
	return narrow_to_ip(cur, total_len - hdr_len);
}

static enum uroce_verdict
parse_ipv6(struct cursor *cur, struct uroce_pkt *pkt)
{
	const struct uroce_ipv6 *ip = (const struct uroce_ipv6 *)cur->at;
	enum uroce_verdict verdict;
	uint32_t version_flow;

	if (cur->len < sizeof(*ip))
		return UROCE_VERDICT_TRUNCATED;
	if (ip->next_header != UROCE_IPPROTO_UDP)
		return UROCE_VERDICT_NOT_ROCE;
	version_flow = be32_get(ip->version_flow);
	if (version_flow >> 28 != 6)
		return UROCE_VERDICT_BAD_IP;
	pkt->tclass = (uint8_t)(version_flow >> 20);
	skip_bytes(cur, sizeof(*ip));
	verdict = check_port(cur->at, cur->len);
	return verdict != GO_ON ? verdict : narrow_to_ip(cur, be16_get(ip->payload_len));
}

/* Parse the UDP header. Afterwards the cursor begins at the BTH and ends before the ICRC. */
static enum uroce_verdict
parse_udp(struct cursor *cur, struct uroce_pkt *pkt)
{
	const struct uroce_udp *udp = (const struct uroce_udp *)cur->at;

	if (be16_get(udp->len) != cur->len)
		return UROCE_VERDICT_BAD_UDP_LEN;
	pkt->udp_sport = be16_get(udp->sport);
	skip_bytes(cur, sizeof(*udp));
	if (cur->len < sizeof(struct uroce_bth) + UROCE_ICRC_LEN)
		return UROCE_VERDICT_BAD_LEN;
	cur->len -= UROCE_ICRC_LEN;
	return GO_ON;
}

/* A condition on eight bytes of a frame: the bits in `mask` must be as in `value`. */
struct known {
	uint8_t offset;
	uint8_t value[8];
	uint8_t mask[8];
};

/*
 * The conditions of the parser's fast path: EtherType IPv4, an IPv4 header of five words, not a
 * fragment, protocol UDP, the RoCEv2 port.
 */
static const struct known plain[] = {
	{ 12, { 0x08, 0x00, 0x45 }, { 0xff, 0xff, 0xff } },
	{ 20, { 0, 0, 0, UROCE_IPPROTO_UDP }, { 0x3f, 0xff, 0, 0xff } },
	{ 34, { 0, 0, UROCE_UDP_PORT >> 8, UROCE_UDP_PORT & 0xff }, { 0, 0, 0xff, 0xff } },
};

static inline uint64_t
differ_from_known(const uint8_t *frame, const struct known *known)
{
	uint64_t word, value, mask;

	memcpy(&word, frame + known->offset, sizeof(word));
	memcpy(&value, known->value, sizeof(value));
	memcpy(&mask, known->mask, sizeof(mask));
	return (word & mask) ^ value;
}

/*
 * Skip the headers of a frame that meets the conditions of the parser's fast path and whose IP and
 * UDP lengths agree. Afterwards the cursor begins at the BTH and ends before the ICRC.
 * @return false if the frame does not meet these conditions; walk_headers() must parse it then
 */
static inline bool
skip_common(struct cursor *cur, struct uroce_pkt *pkt)
{
	const struct uroce_ipv4 *ip =
		(const struct uroce_ipv4 *)(cur->at + sizeof(struct uroce_eth));
	const struct uroce_udp *udp = (const struct uroce_udp *)(ip + 1);
	const uint32_t before_ip = sizeof(struct uroce_eth);

	if (cur->len < BTH_OFF + sizeof(struct uroce_bth) + UROCE_ICRC_LEN ||
	    (differ_from_known(cur->at, &plain[0]) | differ_from_known(cur->at, &plain[1]) |
	     differ_from_known(cur->at, &plain[2])))
		return false;
	const uint32_t total_len = be16_get(ip->total_len);

	if (total_len > cur->len - before_ip || be16_get(udp->len) != total_len - sizeof(*ip) ||
	    total_len < BTH_OFF - before_ip + sizeof(struct uroce_bth) + UROCE_ICRC_LEN)
		return false;
	pkt->has_vlan = false;
	pkt->vlan_tci = 0;
	pkt->is_ipv6 = false;
	pkt->ip = (const uint8_t *)ip;
	pkt->tclass = ip->tos;
	pkt->udp_sport = be16_get(udp->sport);
	cur->at += BTH_OFF;
	cur->len = total_len - (uint32_t)(BTH_OFF - before_ip) - UROCE_ICRC_LEN;
	return true;
}

/*
 * Parse the headers of any frame. Afterwards the cursor begins at the BTH and ends before the ICRC.
 */
static enum uroce_verdict
walk_headers(struct cursor *cur, struct uroce_pkt *pkt)
{
	enum uroce_verdict verdict = parse_eth(cur, pkt);

	if (verdict != GO_ON)
		return verdict;
	pkt->ip = cur->at;
	verdict = pkt->is_ipv6 ? parse_ipv6(cur, pkt) : parse_ipv4(cur, pkt);
	return verdict != GO_ON ? verdict : parse_udp(cur, pkt);
}

static enum uroce_verdict
parse_bth(struct cursor *cur, struct uroce_pkt *pkt)
{
	const struct uroce_bth *bth = (const struct uroce_bth *)cur->at;
	const struct uroce_opcode *op = &uroce_opcode_table[bth->opcode];
	/*
	 * The destination QPN and the PSN, of 24 bits each, are loaded as words of 32 bits. The
	 * upper byte of each word has the flags before the number: FECN and BECN, or AckReq.
	 */
	const be32 *word = (const be32 *)cur->at;
	const uint32_t dest = be32_get(word[1]), psn = be32_get(word[2]);

	if (bth->flags & UROCE_BTH_TVER_MASK)
		return UROCE_VERDICT_BAD_BTH_VERSION;
	if (!(op->flags & UROCE_OPF_VALID))
		return UROCE_VERDICT_BAD_OPCODE;
	pkt->op = op;
	pkt->bth = bth;
	pkt->opcode = bth->opcode;
	pkt->psn = psn & LOW_24;
	pkt->dest_qpn = dest & LOW_24;
	pkt->pkey = be16_get(bth->pkey);
	pkt->pad_len = (bth->flags & UROCE_BTH_PAD_MASK) >> UROCE_BTH_PAD_SHIFT;
	pkt->is_solicited = bth->flags & UROCE_BTH_SOLICITED;
	pkt->has_ack_req = psn >> 24 & UROCE_BTH_ACK_REQ;
	pkt->has_becn = dest >> 24 & UROCE_BTH_BECN;
	skip_bytes(cur, sizeof(*bth));
	return GO_ON;
}

static enum uroce_verdict
parse_payload(struct cursor *cur, struct uroce_pkt *pkt)
{
	const bool has_pad = pkt->pad_len > 0;

	if (cur->len < pkt->op->ext_len)
		return UROCE_VERDICT_BAD_LEN;
	pkt->ext = cur->at;
	skip_bytes(cur, pkt->op->ext_len);
	/*
	 * Pad bytes fill up the last 4-byte word of a message. So a packet with pad bytes must be
	 * the last of its message, and must have payload.
	 */
	if (cur->len % 4 != 0 || (has_pad && (cur->len == 0 || !(pkt->op->flags & UROCE_OPF_LAST))))
		return UROCE_VERDICT_BAD_LEN;
	pkt->payload = cur->at;
	pkt->payload_len = cur->len - pkt->pad_len;
	return pkt->payload_len - pkt->op->payload_min <=
			       (uint32_t)pkt->op->payload_max - pkt->op->payload_min
		       ? GO_ON
		       : UROCE_VERDICT_BAD_LEN;
}

static enum uroce_verdict
accept_as(const struct uroce_opcode *op)
{
	if (op->flags & UROCE_OPF_RESPONSE)
		return UROCE_VERDICT_RESPONSE;
	if (op->service == UROCE_SERVICE_UD || op->service == UROCE_SERVICE_CNP)
		return UROCE_VERDICT_DATAGRAM;
	return UROCE_VERDICT_REQUEST;
}

enum uroce_verdict
uroce_parse(const uint8_t *frame, uint32_t len, struct uroce_pkt *pkt)
{
	struct cursor cur = { .at = frame, .len = len };
	enum uroce_verdict verdict;

	pkt->frame = frame;
	verdict = skip_common(&cur, pkt) ? GO_ON : walk_headers(&cur, pkt);
	if (verdict != GO_ON)
		return verdict;
	verdict = parse_bth(&cur, pkt);
	if (verdict != GO_ON)
		return verdict;
	verdict = parse_payload(&cur, pkt);
	return verdict != GO_ON ? verdict : accept_as(pkt->op);
}

/* Compare the eight bytes at `offset` of two frames. The result is 0 if the bytes are equal. */
static inline uint64_t
differ_in(const uint8_t *a, const uint8_t *b, uint32_t offset)
{
	uint64_t of_a, of_b;

	memcpy(&of_a, a + offset, sizeof(of_a));
	memcpy(&of_b, b + offset, sizeof(of_b));
	return of_a ^ of_b;
}

/*
 * Whether two frames have the same headers, from the type in the Ethernet header to the
 * destination QPN. The MAC addresses are not compared.
 */
static inline bool
has_same_headers(const uint8_t *a, const uint8_t *b)
{
	const uint32_t type = 12, end = BTH_OFF + offsetof(struct uroce_bth, ack_req);
	uint64_t differences = differ_in(a, b, end - sizeof(uint64_t));

	for (uint32_t at = type; at + sizeof(uint64_t) < end; at += sizeof(uint64_t))
		differences |= differ_in(a, b, at);
	return differences == 0;
}

/* Compute the number of bytes of a frame up to the end of its ICRC. */
static inline uint32_t
get_frame_len(const struct uroce_pkt *pkt)
{
	return (uint32_t)(pkt->payload - pkt->frame) + pkt->payload_len + pkt->pad_len +
	       UROCE_ICRC_LEN;
}

/* Fill `pkt` for a frame that has the same headers as the packet `tmpl`. */
static inline void
fill_from_template(const uint8_t *frame, const struct uroce_pkt *tmpl, struct uroce_pkt *pkt)
{
	*pkt = *tmpl;
	pkt->frame = frame;
	pkt->ip = frame + (tmpl->ip - tmpl->frame);
	pkt->bth = (const struct uroce_bth *)(frame + ((const uint8_t *)tmpl->bth - tmpl->frame));
	pkt->ext = frame + (tmpl->ext - tmpl->frame);
	pkt->payload = frame + (tmpl->payload - tmpl->frame);
}

void
uroce_parse_make_template(const struct uroce_pkt *pkt, uint8_t hdr[UROCE_TEMPLATE_LEN],
			  struct uroce_pkt *tmpl)
{
	static_assert(UROCE_TEMPLATE_LEN == BTH_OFF + offsetof(struct uroce_bth, ack_req),
		      "what has_same_headers() reads");
	memcpy(hdr, pkt->frame, UROCE_TEMPLATE_LEN);
	fill_from_template(hdr, pkt, tmpl);
}

bool
uroce_parse_by_template(const uint8_t *frame, uint32_t len, const struct uroce_pkt *tmpl,
			struct uroce_pkt *pkt)
{
	/*
	 * If the template has a VLAN tag, IP options or IPv6, its BTH is not at BTH_OFF, and frames
	 * cannot be compared with it.
	 */
	if ((const uint8_t *)tmpl->bth != tmpl->frame + BTH_OFF || len < get_frame_len(tmpl) ||
	    !has_same_headers(frame, tmpl->frame))
		return false;
	const struct uroce_bth *bth = (const struct uroce_bth *)(frame + BTH_OFF);
	const uint32_t word = be32_get(((const be32 *)bth)[2]);

	fill_from_template(frame, tmpl, pkt);
	pkt->psn = word & LOW_24;
	pkt->has_ack_req = word >> 24 & UROCE_BTH_ACK_REQ;
	return true;
}

/* Get the exclusive-or of the ICRC in a frame and of the ICRC that the frame should have. */
static uint32_t
compare_icrc(const struct uroce_pkt *pkt, const uint8_t *icrc_at)
{
	return uroce_icrc_frame(pkt->ip, (size_t)(icrc_at - pkt->ip)) ^ uroce_icrc_load(icrc_at);
}

static const uint8_t *
find_icrc(const struct uroce_pkt *pkt)
{
	return pkt->payload + pkt->payload_len + pkt->pad_len;
}

bool
uroce_pkt_check_icrc(const struct uroce_pkt *pkt)
{
	return compare_icrc(pkt, find_icrc(pkt)) == 0;
}

bool
uroce_pkt_check_icrc_any_ident(const struct uroce_pkt *pkt)
{
	const struct uroce_ipv4 *ip = (const struct uroce_ipv4 *)pkt->ip;
	const uint8_t *const icrc_at = find_icrc(pkt);
	const uint32_t term = compare_icrc(pkt, icrc_at);
	uint16_t change;

	if (term == 0 || pkt->is_ipv6)
		return term == 0;
	return uroce_icrc_field_find(term, (uint16_t)(icrc_at - (uint8_t *)&ip->frag), &change);
}
