/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Mutations: a table of functions that change a frame, from a single bit to the whole end of the
 * frame. This file also computes the ICRC of a mutated frame as the receiver does. With a valid
 * ICRC, a mutated frame passes the first checks and reaches the code behind them.
 */

#include "frame.h"

#include <string.h>
#include <rte_common.h>

#include "wire/hdr.h"
#include "wire/icrc.h"
#include "wire/opcode.h"
#include "wire/parse.h"
#include "wire/psn.h"

static struct uroce_bth *
bth_of(struct frame *frame)
{
	return (struct uroce_bth *)(frame->at + frame->bth_off);
}

static uint8_t *
ext_of(struct frame *frame)
{
	return frame->at + frame->bth_off + sizeof(struct uroce_bth);
}

static uint8_t
pick_byte(struct rng *rng)
{
	static const uint8_t edges[] = { 0x00, 0xff, 0x7f, 0x80, 0x01, 0xfe };

	return rng_once_in(rng, 2) ? edges[rng_below(rng, sizeof(edges))] : (uint8_t)rng_next(rng);
}

void
frame_fit(struct frame *frame)
{
	struct uroce_ipv4 *v4 = (struct uroce_ipv4 *)(frame->at + frame->ip_off);
	struct uroce_ipv6 *v6 = (struct uroce_ipv6 *)(frame->at + frame->ip_off);
	struct uroce_udp *udp = (struct uroce_udp *)(frame->at + frame_udp_off(frame));
	const uint32_t udp_off = frame_udp_off(frame);

	if (frame->len < frame->bth_off)
		return;
	udp->len = be16_make((uint16_t)(frame->len - udp_off));
	if (frame->is_ipv6)
		v6->payload_len = be16_make((uint16_t)(frame->len - udp_off));
	else
		v4->total_len = be16_make((uint16_t)(frame->len - frame->ip_off));
}

/*
 * Find the IP header from the current bytes of the frame.
 * @param[out] end offset of the end of the packet as the IP length gives it, or of the end of the
 * frame
 * @return length of the IP header, or 0 if the frame has no IP header that an ICRC could cover
 */
static uint32_t
find_ip(const struct frame *frame, uint32_t *ip_off, uint32_t *end)
{
	const struct uroce_eth *eth = (const struct uroce_eth *)frame->at;
	uint16_t type = be16_get(eth->type);
	uint32_t at = sizeof(*eth), hdr_len, announced;

	if (type == UROCE_ETHERTYPE_VLAN) {
		type = be16_get(((const struct uroce_vlan *)(eth + 1))->type);
		at += sizeof(struct uroce_vlan);
	}
	if (frame->len < at + sizeof(struct uroce_ipv6))
		return 0;
	if (type == UROCE_ETHERTYPE_IPV4 && frame->at[at] >> 4 == 4) {
		const struct uroce_ipv4 *ip = (const struct uroce_ipv4 *)(frame->at + at);

		hdr_len = (ip->version_ihl & 0xfu) * 4;
		announced = be16_get(ip->total_len);
	} else if (type == UROCE_ETHERTYPE_IPV6 && frame->at[at] >> 4 == 6) {
		const struct uroce_ipv6 *ip = (const struct uroce_ipv6 *)(frame->at + at);

		hdr_len = sizeof(*ip);
		announced = be16_get(ip->payload_len) + hdr_len;
	} else {
		return 0;
	}
	*ip_off = at;
	*end = at + announced <= frame->len ? at + announced : frame->len;
	return hdr_len >= sizeof(struct uroce_ipv4) ? hdr_len : 0;
}

bool
frame_seal(struct frame *frame)
{
	uint32_t ip_off, end, state;
	const uint32_t hdr_len = find_ip(frame, &ip_off, &end);
	const uint32_t bth_off = ip_off + hdr_len + (uint32_t)sizeof(struct uroce_udp);
	const uint32_t ext_off = bth_off + (uint32_t)sizeof(struct uroce_bth);

	if (hdr_len == 0 || ext_off + UROCE_ICRC_LEN > end)
		return false;
	end -= UROCE_ICRC_LEN;
	state = uroce_icrc_prefix(frame->at + ip_off);
	state = uroce_icrc_bth(state, frame->at + bth_off);
	state = uroce_crc32(state, frame->at + ext_off, end - ext_off);
	uroce_icrc_store(frame->at + end, state);
	return true;
}

/* --- bytes at any offset ----------------------------------------------------------------------- */

/*
 * Choose the offset of a byte to change. Most choices are behind the IP and UDP headers, whose
 * errors are detected early.
 */
static uint32_t
pick_place(const struct frame *frame, struct rng *rng)
{
	const uint32_t from = rng_once_in(rng, 8) ? 0 : frame->bth_off;
	const uint32_t headers = RTE_MIN(frame->len, frame->bth_off + 48u);
	const uint32_t to = rng_once_in(rng, 4) ? frame->len : headers;

	return to > from ? from + rng_below(rng, to - from) : rng_below(rng, frame->len);
}

static void
flip_bits(struct frame *frame, struct rng *rng)
{
	const uint32_t nb = 1 + rng_below(rng, 3);

	for (uint32_t i = 0; i < nb; i++)
		frame->at[pick_place(frame, rng)] ^= (uint8_t)(1u << rng_below(rng, 8));
}

static void
set_bytes(struct frame *frame, struct rng *rng)
{
	const uint32_t from = pick_place(frame, rng);
	const uint32_t nb = RTE_MIN(1 + rng_below(rng, 4), frame->len - from);

	for (uint32_t i = 0; i < nb; i++)
		frame->at[from + i] = pick_byte(rng);
}

/* --- BTH --------------------------------------------------------------------------------------- */

static void
change_opcode(struct frame *frame, struct rng *rng)
{
	uint8_t *opcode = &bth_of(frame)->opcode;

	if (rng_once_in(rng, 3))
		*opcode = (uint8_t)rng_next(rng);
	else if (rng_once_in(rng, 3))
		*opcode ^= (uint8_t)(1u << (5 + rng_below(rng, 3)));
	else
		*opcode = (*opcode & 0xe0) | (uint8_t)rng_below(rng, 32);
}

static void
change_psn(struct frame *frame, struct rng *rng)
{
	static const uint32_t steps[] = { 1, 2, 3, 16, 255, 256, 257, 1u << 23, (1u << 23) - 1 };
	const uint32_t step = steps[rng_below(rng, RTE_DIM(steps))];
	struct uroce_bth *bth = bth_of(frame);
	const uint32_t psn = be24_get(bth->psn);

	if (rng_once_in(rng, 8))
		bth->psn = be24_make((uint32_t)rng_next(rng) & UROCE_PSN_MASK);
	else if (rng_once_in(rng, 2))
		bth->psn = be24_make(uroce_psn_add(psn, step));
	else
		bth->psn = be24_make(uroce_psn_add(psn, UROCE_PSN_MASK + 1 - step));
}

static void
change_qpn(struct frame *frame, struct rng *rng)
{
	static const uint32_t known[] = { 0, 1, 2, 0xfffffe, 0xffffff };
	struct uroce_bth *bth = bth_of(frame);
	const uint32_t bit = 1u << rng_below(rng, 24);

	bth->dest_qpn = be24_make(rng_once_in(rng, 2) ? known[rng_below(rng, RTE_DIM(known))]
						      : be24_get(bth->dest_qpn) ^ bit);
}

static void
change_pkey(struct frame *frame, struct rng *rng)
{
	static const uint16_t keys[] = { 0x7fff, 0, 0x8000, 0x8001, 0xfffe };

	bth_of(frame)->pkey = be16_make(keys[rng_below(rng, RTE_DIM(keys))]);
}

static void
change_flags(struct frame *frame, struct rng *rng)
{
	struct uroce_bth *bth = bth_of(frame);

	switch (rng_below(rng, 6)) {
	case 0:
		bth->flags ^= UROCE_BTH_SOLICITED;
		break;
	case 1:
		bth->flags ^= UROCE_BTH_MIGREQ;
		break;
	case 2:
		bth->flags ^= (uint8_t)((1 + rng_below(rng, 3)) << UROCE_BTH_PAD_SHIFT);
		break;
	case 3:
		bth->flags ^= (uint8_t)(1 + rng_below(rng, UROCE_BTH_TVER_MASK));
		break;
	case 4:
		bth->fecn_becn ^= (uint8_t)(1u << rng_below(rng, 8));
		break;
	default:
		bth->ack_req ^= (uint8_t)(1u << rng_below(rng, 8));
		break;
	}
}

/* --- extension headers of the opcode in the BTH ------------------------------------------------ */

static void *
ext_at(struct frame *frame, enum uroce_ext ext)
{
	const struct uroce_opcode *op = &uroce_opcode_table[bth_of(frame)->opcode];

	if (!(op->ext_mask & 1u << ext) ||
	    frame->len < frame->bth_off + sizeof(struct uroce_bth) + op->ext_len)
		return NULL;
	return ext_of(frame) + op->ext_off[ext];
}

static void
change_key(be32 *key, struct rng *rng)
{
	const uint32_t bit = 1u << rng_below(rng, 32);

	*key = be32_make(rng_once_in(rng, 3) ? pick_byte(rng) * 0x01010101u : be32_get(*key) ^ bit);
}

static void
change_va(be64 *va, struct rng *rng)
{
	static const uint64_t steps[] = { 1,
					  2,
					  4,
					  7,
					  8,
					  256,
					  4096,
					  65536,
					  UINT64_C(1) << 32,
					  UINT64_C(1) << 47,
					  UINT64_C(1) << 63 };
	const uint64_t step = steps[rng_below(rng, RTE_DIM(steps))];

	if (rng_once_in(rng, 4))
		*va = be64_make(rng_once_in(rng, 2) ? rng_below(rng, 4096)
						    : UINT64_MAX - rng_below(rng, 4096));
	else
		*va = be64_make(rng_once_in(rng, 2) ? be64_get(*va) + step : be64_get(*va) - step);
}

static void
change_reth(struct frame *frame, struct rng *rng)
{
	static const uint32_t lens[] = { 0,     1,          255,        257,        1024,
					 65536, 0x7fffffff, 0x80000000, 0x80000001, 0xffffffff };
	struct uroce_reth *reth = ext_at(frame, UROCE_EXT_RETH);
	struct uroce_atomiceth *atomic = ext_at(frame, UROCE_EXT_ATOMICETH);

	if (atomic && rng_once_in(rng, 2))
		change_va(&atomic->va, rng);
	else if (atomic)
		change_key(&atomic->rkey, rng);
	else if (reth && rng_once_in(rng, 3))
		change_va(&reth->va, rng);
	else if (reth && rng_once_in(rng, 2))
		change_key(&reth->rkey, rng);
	else if (reth && rng_once_in(rng, 2))
		reth->dma_len = be32_make(lens[rng_below(rng, RTE_DIM(lens))]);
	else if (reth)
		reth->dma_len = be32_make(be32_get(reth->dma_len) + rng_below(rng, 9) - 4);
	else
		flip_bits(frame, rng);
}

static void
change_aeth(struct frame *frame, struct rng *rng)
{
	struct uroce_aeth *aeth = ext_at(frame, UROCE_EXT_AETH);

	if (!aeth)
		flip_bits(frame, rng);
	else if (rng_once_in(rng, 3))
		aeth->msn = be24_make((uint32_t)rng_next(rng) & 0xffffff);
	else
		aeth->syndrome = (uint8_t)rng_next(rng);
}

static void
change_deth(struct frame *frame, struct rng *rng)
{
	struct uroce_deth *deth = ext_at(frame, UROCE_EXT_DETH);

	if (!deth)
		flip_bits(frame, rng);
	else if (rng_once_in(rng, 2))
		change_key(&deth->qkey, rng);
	else
		deth->src_qpn = be24_make((uint32_t)rng_next(rng) & 0xffffff);
}

/* --- IP and UDP -------------------------------------------------------------------------------- */

static void
change_length(struct frame *frame, struct rng *rng)
{
	struct uroce_udp *udp = (struct uroce_udp *)(frame->at + frame_udp_off(frame));
	struct uroce_ipv4 *v4 = (struct uroce_ipv4 *)(frame->at + frame->ip_off);
	struct uroce_ipv6 *v6 = (struct uroce_ipv6 *)(frame->at + frame->ip_off);
	const uint32_t delta =
		rng_once_in(rng, 4) ? (uint32_t)rng_next(rng) : rng_below(rng, 17) - 8;
	const bool is_both = rng_once_in(rng, 2);

	if (is_both || rng_once_in(rng, 2))
		udp->len = be16_make((uint16_t)(be16_get(udp->len) + delta));
	else if (!frame->is_ipv6)
		v4->total_len = be16_make((uint16_t)(be16_get(v4->total_len) + delta));
	if (is_both && frame->is_ipv6)
		v6->payload_len = be16_make((uint16_t)(be16_get(v6->payload_len) + delta));
	else if (is_both)
		v4->total_len = be16_make((uint16_t)(be16_get(v4->total_len) + delta));
}

static void
change_ip(struct frame *frame, struct rng *rng)
{
	struct uroce_ipv4 *v4 = (struct uroce_ipv4 *)(frame->at + frame->ip_off);
	struct uroce_udp *udp = (struct uroce_udp *)(frame->at + frame_udp_off(frame));
	const uint32_t addr_off = frame->is_ipv6 ? 8 : 12, addrs_len = frame->is_ipv6 ? 32 : 8;
	uint8_t *ip = frame->at + frame->ip_off;

	switch (rng_below(rng, 8)) {
	case 0:
		/* flip a bit of the IP version, or of the header length of IPv4 */
		ip[0] ^= (uint8_t)(1u << rng_below(rng, 8));
		break;
	case 1:
		ip[1] = (uint8_t)rng_next(rng); /* DSCP and ECN of IPv4 */
		break;
	case 2:
		if (!frame->is_ipv6)
			v4->frag = be16_make((uint16_t)(1u << rng_below(rng, 16)));
		break;
	case 3:
		ip[frame->is_ipv6 ? 6 : 9] = rng_once_in(rng, 2) ? 1 : pick_byte(rng);
		break;
	case 4:
		udp->dport = be16_make((uint16_t)(UROCE_UDP_PORT ^ 1u << rng_below(rng, 16)));
		break;
	case 5:
		udp->sport = be16_make((uint16_t)rng_next(rng));
		break;
	default:
		ip[addr_off + rng_below(rng, addrs_len)] ^= (uint8_t)(1u << rng_below(rng, 8));
		break;
	}
}

/*
 * Insert options into an IPv4 header, and set the header length to cover them. If the frame has
 * options of an earlier mutation, the header length does not cover those, and the receiver takes
 * them for the next header.
 */
static void
change_options(struct frame *frame, struct rng *rng)
{
	const uint32_t nb = 4 * (1 + rng_below(rng, 10));
	const uint32_t at = frame->ip_off + (uint32_t)sizeof(struct uroce_ipv4);

	if (frame->is_ipv6 || frame->len + nb > FRAME_MAX || frame->len < at)
		return;
	memmove(frame->at + at + nb, frame->at + at, frame->len - at);
	memset(frame->at + at, 1, nb); /* option type 1: no operation */
	frame->at[frame->ip_off] = (uint8_t)(0x45 + nb / 4);
	frame->len += nb;
	frame->bth_off = (uint16_t)(frame->bth_off + nb);
	if (!rng_once_in(rng, 4))
		frame_fit(frame);
}

/* --- VLAN tag, EtherType and length of the frame ----------------------------------------------- */

static void
add_tag(struct frame *frame, struct rng *rng)
{
	struct uroce_vlan tag = { be16_make(UROCE_ETHERTYPE_VLAN), { { 0, 0 } } };

	if (frame->len + sizeof(tag) > FRAME_MAX)
		return;
	/*
	 * A struct uroce_vlan begins behind the EtherType of the tag. Here a tag begins with its
	 * EtherType, so the member `tci` has the EtherType and the member `type` has the TCI.
	 */
	tag.type = be16_make(rng_once_in(rng, 2) ? 0x6000 : (uint16_t)rng_next(rng));
	memmove(frame->at + 12 + sizeof(tag), frame->at + 12, frame->len - 12);
	memcpy(frame->at + 12, &tag, sizeof(tag));
	frame->len += (uint32_t)sizeof(tag);
	frame->ip_off = (uint16_t)(frame->ip_off + sizeof(tag));
	frame->bth_off = (uint16_t)(frame->bth_off + sizeof(tag));
}

/* Change the EtherType to that of ARP, IPv4, IPv6 or VLAN, or to a random value. */
static void
change_ethertype(struct frame *frame, struct rng *rng)
{
	static const uint16_t types[] = { UROCE_ETHERTYPE_ARP, UROCE_ETHERTYPE_IPV4,
					  UROCE_ETHERTYPE_IPV6, UROCE_ETHERTYPE_VLAN };
	const uint16_t type = rng_once_in(rng, 4) ? (uint16_t)rng_next(rng)
						  : types[rng_below(rng, RTE_DIM(types))];

	((struct uroce_eth *)frame->at)->type = be16_make(type);
}

static void
truncate_frame(struct frame *frame, struct rng *rng)
{
	if (rng_once_in(rng, 16)) {
		frame->len = rng_below(rng, frame->len);
		return;
	}
	/* truncate behind the BTH, and set the IP and UDP lengths accordingly */
	const uint32_t least = frame->bth_off + (uint32_t)sizeof(struct uroce_bth);

	if (frame->len <= least)
		return;
	frame->len = rng_once_in(rng, 2) ? least + rng_below(rng, frame->len - least)
					 : frame->len - RTE_MIN(4 * (1 + rng_below(rng, 4)),
								frame->len - least);
	frame_fit(frame);
}

static void
extend_frame(struct frame *frame, struct rng *rng)
{
	const uint32_t most = FRAME_MAX - RTE_MIN(frame->len, (uint32_t)FRAME_MAX);
	uint32_t nb = rng_once_in(rng, 4) ? rng_below(rng, 1200) : 1 + rng_below(rng, 16);

	nb = RTE_MIN(nb, most);
	for (uint32_t i = 0; i < nb; i++)
		frame->at[frame->len + i] = (uint8_t)rng_next(rng);
	frame->len += nb;
	if (!rng_once_in(rng, 4))
		frame_fit(frame);
}

/*
 * Replace the end of a frame by the end of `other`, from the same offset behind the UDP header or
 * from a random offset.
 */
static void
splice(struct frame *frame, const struct frame *other, struct rng *rng)
{
	const uint32_t cut = frame->bth_off + 4 * rng_below(rng, 12);
	const uint32_t from = rng_once_in(rng, 2) ? other->bth_off + (cut - frame->bth_off)
						  : rng_below(rng, other->len + 1);

	if (cut > frame->len || from > other->len || cut + other->len - from > FRAME_MAX)
		return;
	memcpy(frame->at + cut, other->at + from, other->len - from);
	frame->len = cut + other->len - from;
	frame_fit(frame);
}

static const struct mutation {
	void (*change)(struct frame *frame, struct rng *rng);
	uint8_t weight;
	/* the mutation changes header fields, which a truncated frame may not have */
	bool needs_bth;
} mutations[] = {
	{ flip_bits, 20, false },     { set_bytes, 14, false },   { change_opcode, 14, true },
	{ change_psn, 18, true },     { change_qpn, 3, true },    { change_pkey, 3, true },
	{ change_flags, 12, true },   { change_reth, 24, true },  { change_aeth, 12, true },
	{ change_deth, 8, true },     { change_length, 5, true }, { change_ip, 6, true },
	{ change_options, 4, true },  { add_tag, 3, true },       { change_ethertype, 2, true },
	{ truncate_frame, 8, false }, { extend_frame, 8, false },
};

static const struct mutation *
pick_mutation(struct rng *rng)
{
	uint8_t weight[RTE_DIM(mutations)];

	for (unsigned i = 0; i < RTE_DIM(mutations); i++)
		weight[i] = mutations[i].weight;
	return &mutations[rng_weighted(rng, weight, RTE_DIM(mutations))];
}

void
frame_mutate(struct frame *frame, const struct frame *other, struct rng *rng)
{
	static const uint8_t how_many[] = { 0, 60, 25, 10, 5 };
	const unsigned nb = rng_weighted(rng, how_many, RTE_DIM(how_many));

	if (other && rng_once_in(rng, 24))
		splice(frame, other, rng);
	for (unsigned i = 0; i < nb && frame->len > 0; i++) {
		const struct mutation *mutation = pick_mutation(rng);

		if (!mutation->needs_bth ||
		    frame->len >= frame->bth_off + sizeof(struct uroce_bth) + UROCE_ICRC_LEN)
			mutation->change(frame, rng);
	}
}
