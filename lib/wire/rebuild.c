/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Rebuilding a parsed frame, for tests. Each field is decoded and encoded again. Fields that
 * depend on other fields (lengths, checksums, ICRC) are computed. So the rebuilt frame differs
 * from the original if the parser reads a field from a wrong offset, or if a length or checksum of
 * the original is wrong.
 */

#include "wire/build.h"

#include <string.h>

#include "wire/icrc.h"

/* Add the big-endian 16-bit words of `data` to the one's-complement sum `sum`. */
static uint32_t
add_words(uint32_t sum, const uint8_t *data, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		sum += i % 2 ? data[i] : (uint32_t)data[i] << 8;
		sum = (sum & 0xffff) + (sum >> 16);
	}
	return sum;
}

static uint8_t *
put_eth(uint8_t *at, const struct uroce_pkt *pkt)
{
	const struct uroce_eth *from = (const struct uroce_eth *)pkt->frame;
	const uint16_t type = pkt->is_ipv6 ? UROCE_ETHERTYPE_IPV6 : UROCE_ETHERTYPE_IPV4;
	struct uroce_eth *eth = (struct uroce_eth *)at;
	struct uroce_vlan *vlan = (struct uroce_vlan *)(eth + 1);

	*eth = *from;
	eth->type = be16_make(pkt->has_vlan ? UROCE_ETHERTYPE_VLAN : type);
	if (!pkt->has_vlan)
		return (uint8_t *)(eth + 1);
	vlan->tci = be16_make(pkt->vlan_tci);
	vlan->type = be16_make(type);
	return (uint8_t *)(vlan + 1);
}

static uint8_t *
put_ipv4(uint8_t *at, const struct uroce_pkt *pkt, uint32_t udp_len)
{
	const struct uroce_ipv4 *from = (const struct uroce_ipv4 *)pkt->ip;
	const uint32_t hdr_len = (from->version_ihl & 0xfu) * 4;
	struct uroce_ipv4 *ip = (struct uroce_ipv4 *)at;

	*ip = (struct uroce_ipv4){
		.version_ihl = (uint8_t)(4 << 4 | hdr_len / 4),
		.tos = pkt->tclass,
		.total_len = be16_make((uint16_t)(hdr_len + udp_len)),
		.id = from->id,
		.frag = from->frag,
		.ttl = from->ttl,
		.protocol = UROCE_IPPROTO_UDP,
	};
	memcpy(ip->src, from->src, sizeof(ip->src));
	memcpy(ip->dst, from->dst, sizeof(ip->dst));
	memcpy(ip + 1, from + 1, hdr_len - sizeof(*ip));
	ip->checksum = be16_make((uint16_t)~add_words(0, at, hdr_len));
	return at + hdr_len;
}

static uint8_t *
put_ipv6(uint8_t *at, const struct uroce_pkt *pkt, uint32_t udp_len)
{
	const struct uroce_ipv6 *from = (const struct uroce_ipv6 *)pkt->ip;
	const uint32_t flow_label = be32_get(from->version_flow) & 0xfffff;
	struct uroce_ipv6 *ip = (struct uroce_ipv6 *)at;

	*ip = (struct uroce_ipv6){
		.version_flow = be32_make(6u << 28 | (uint32_t)pkt->tclass << 20 | flow_label),
		.payload_len = be16_make((uint16_t)udp_len),
		.next_header = UROCE_IPPROTO_UDP,
		.hop_limit = from->hop_limit,
	};
	memcpy(ip->src, from->src, sizeof(ip->src));
	memcpy(ip->dst, from->dst, sizeof(ip->dst));
	return (uint8_t *)(ip + 1);
}

static uint8_t *
put_bth(uint8_t *at, const struct uroce_pkt *pkt)
{
	const struct uroce_bth *from = pkt->bth;
	struct uroce_bth *bth = (struct uroce_bth *)at;

	/*
	 * MigReq, FECN and the reserved bits are not decoded by the parser, so they are copied from
	 * the original BTH.
	 */
	*bth = (struct uroce_bth){
		.flags = from->flags & UROCE_BTH_MIGREQ,
		.fecn_becn = from->fecn_becn & (uint8_t)~UROCE_BTH_BECN,
		.ack_req = from->ack_req & (uint8_t)~UROCE_BTH_ACK_REQ,
	};
	bth->flags |= pkt->is_solicited ? UROCE_BTH_SOLICITED : 0;
	bth->fecn_becn |= pkt->has_becn ? UROCE_BTH_BECN : 0;
	bth->ack_req |= pkt->has_ack_req ? UROCE_BTH_ACK_REQ : 0;
	uroce_bth_put(bth, pkt->opcode, pkt->pad_len, pkt->pkey, pkt->dest_qpn, pkt->psn);
	return (uint8_t *)(bth + 1);
}

static void
put_xrceth(void *at, const void *ext)
{
	const struct uroce_xrceth *from = ext;

	*(struct uroce_xrceth *)at = (struct uroce_xrceth){
		.resv = from->resv,
		.srqn = be24_make(be24_get(from->srqn)),
	};
}

static void
put_deth(void *at, const void *ext)
{
	const struct uroce_deth *from = ext;

	*(struct uroce_deth *)at = (struct uroce_deth){
		.qkey = be32_make(be32_get(from->qkey)),
		.resv = from->resv,
		.src_qpn = be24_make(be24_get(from->src_qpn)),
	};
}

static void
put_feth(void *at, const void *ext)
{
	const struct uroce_feth *from = ext;

	*(struct uroce_feth *)at = (struct uroce_feth){
		.sel_plt = be32_make(be32_get(from->sel_plt)),
	};
}

static void
put_reth(void *at, const void *ext)
{
	const struct uroce_reth *from = ext;

	*(struct uroce_reth *)at = (struct uroce_reth){
		.va = be64_make(be64_get(from->va)),
		.rkey = be32_make(be32_get(from->rkey)),
		.dma_len = be32_make(be32_get(from->dma_len)),
	};
}

static void
put_atomiceth(void *at, const void *ext)
{
	const struct uroce_atomiceth *from = ext;

	*(struct uroce_atomiceth *)at = (struct uroce_atomiceth){
		.va = be64_make(be64_get(from->va)),
		.rkey = be32_make(be32_get(from->rkey)),
		.swap_add = be64_make(be64_get(from->swap_add)),
		.compare = be64_make(be64_get(from->compare)),
	};
}

static void
put_aeth(void *at, const void *ext)
{
	const struct uroce_aeth *from = ext;

	*(struct uroce_aeth *)at = (struct uroce_aeth){
		.syndrome = from->syndrome,
		.msn = be24_make(be24_get(from->msn)),
	};
}

static void
put_atomicacketh(void *at, const void *ext)
{
	const struct uroce_atomicacketh *from = ext;

	*(struct uroce_atomicacketh *)at = (struct uroce_atomicacketh){
		.orig = be64_make(be64_get(from->orig)),
	};
}

static void
put_immdt(void *at, const void *ext)
{
	*(struct uroce_immdt *)at = *(const struct uroce_immdt *)ext;
}

static void
put_ieth(void *at, const void *ext)
{
	const struct uroce_ieth *from = ext;

	*(struct uroce_ieth *)at = (struct uroce_ieth){
		.rkey = be32_make(be32_get(from->rkey)),
	};
}

static void (*const put_ext[UROCE_EXT_NB])(void *at, const void *ext) = {
	[UROCE_EXT_XRCETH] = put_xrceth,
	[UROCE_EXT_DETH] = put_deth,
	[UROCE_EXT_FETH] = put_feth,
	[UROCE_EXT_RETH] = put_reth,
	[UROCE_EXT_ATOMICETH] = put_atomiceth,
	[UROCE_EXT_AETH] = put_aeth,
	[UROCE_EXT_ATOMICACKETH] = put_atomicacketh,
	[UROCE_EXT_IMMDT] = put_immdt,
	[UROCE_EXT_IETH] = put_ieth,
};

static uint8_t *
put_exts(uint8_t *at, const struct uroce_pkt *pkt)
{
	for (int ext = 0; ext < UROCE_EXT_NB; ext++) {
		if (pkt->op->ext_mask & 1 << ext)
			put_ext[ext](at + pkt->op->ext_off[ext], uroce_pkt_ext(pkt, ext));
	}
	return at + pkt->op->ext_len;
}

/*
 * Compute the UDP checksum over the pseudo header and a complete UDP packet whose checksum field
 * is 0.
 */
static be16
sum_udp(const struct uroce_pkt *pkt, const uint8_t *udp, uint32_t udp_len)
{
	const size_t src_off =
		pkt->is_ipv6 ? offsetof(struct uroce_ipv6, src) : offsetof(struct uroce_ipv4, src);
	const size_t addrs_len = pkt->is_ipv6 ? 32 : 8;
	uint32_t sum = UROCE_IPPROTO_UDP + udp_len;

	sum = add_words(sum, pkt->ip + src_off, addrs_len);
	sum = add_words(sum, udp, udp_len);
	/* A checksum of 0 is sent as 0xffff, because 0 means "no checksum" [RFC 768]. */
	return be16_make(sum == 0xffff ? 0xffff : (uint16_t)~sum);
}

size_t
uroce_rebuild(const struct uroce_pkt *pkt, uint8_t *frame, size_t room)
{
	const uint8_t *end = pkt->payload + pkt->payload_len + pkt->pad_len + UROCE_ICRC_LEN;
	const size_t frame_len = (size_t)(end - pkt->frame);
	const uint32_t udp_len =
		(uint32_t)(end - (const uint8_t *)pkt->bth + sizeof(struct uroce_udp));
	const struct uroce_udp *from = (const struct uroce_udp *)pkt->bth - 1;
	uint8_t *ip, *at;
	struct uroce_udp *udp;
	uint32_t icrc;

	if (room < frame_len)
		return 0;
	ip = put_eth(frame, pkt);
	udp = (struct uroce_udp *)(pkt->is_ipv6 ? put_ipv6 : put_ipv4)(ip, pkt, udp_len);
	*udp = (struct uroce_udp){
		.sport = be16_make(pkt->udp_sport),
		.dport = be16_make(UROCE_UDP_PORT),
		.len = be16_make((uint16_t)udp_len),
	};
	at = put_exts(put_bth((uint8_t *)(udp + 1), pkt), pkt);
	icrc = uroce_icrc_bth(uroce_icrc_prefix(ip), (const uint8_t *)(udp + 1));
	icrc = uroce_crc32(icrc, at - pkt->op->ext_len, pkt->op->ext_len);
	icrc = uroce_crc32_copy(icrc, at, pkt->payload, pkt->payload_len);
	at += pkt->payload_len;
	memset(at, 0, pkt->pad_len);
	icrc = uroce_crc32(icrc, at, pkt->pad_len);
	uroce_icrc_store(at + pkt->pad_len, icrc);
	if (be16_get(from->checksum) != 0)
		udp->checksum = sum_udp(pkt, (uint8_t *)udp, udp_len);
	return frame_len;
}
