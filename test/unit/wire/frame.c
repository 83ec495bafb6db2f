/* SPDX-License-Identifier: BSD-3-Clause */

/* Writes frames byte by byte. The offsets are constants from the figures of the specification. */

#include "frame.h"

#include <string.h>

const uint8_t frame_smac[6] = { 0x02, 0x11, 0x22, 0x33, 0x44, 0x55 };
const uint8_t frame_dmac[6] = { 0x02, 0xaa, 0xbb, 0xcc, 0xdd, 0xee };
const uint8_t frame_sip[2][16] = {
	{ 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 1 },
	{ 0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1 },
};
const uint8_t frame_dip[2][16] = {
	{ 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 198, 51, 100, 200 },
	{ 0x20, 0x01, 0x0d, 0xb8, 0xff, 0xee, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x22 },
};

const struct frame_conf frame_kinds[FRAME_NB_KINDS] = {
	{ .is_ipv6 = false },
	{ .is_ipv6 = true },
	{ .is_ipv6 = false, .has_vlan = true },
	{ .is_ipv6 = true, .has_vlan = true },
	{ .is_ipv6 = false, .ip_options_len = 4 },
	{ .is_ipv6 = false, .has_vlan = true, .ip_options_len = 40 },
};

void
frame_put16(uint8_t *at, uint32_t v)
{
	at[0] = (uint8_t)(v >> 8);
	at[1] = (uint8_t)v;
}

static void
put24(uint8_t *at, uint32_t v)
{
	at[0] = (uint8_t)(v >> 16);
	frame_put16(at + 1, v);
}

uint32_t
frame_crc32(uint32_t state, const uint8_t *data, size_t len)
{
	state ^= 0xffffffff;
	for (size_t i = 0; i < len * 8; i++) {
		const uint32_t bit = (state ^ (uint32_t)(data[i / 8] >> i % 8)) & 1;

		state >>= 1;
		if (bit)
			state ^= 0xedb88320;
	}
	return state ^ 0xffffffff;
}

static uint32_t
checksum(uint64_t sum, const uint8_t *data, size_t len)
{
	for (size_t i = 0; i < len; i++)
		sum += (uint64_t)data[i] << (i % 2 ? 0 : 8);
	while (sum > 0xffff)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint32_t)(~sum & 0xffff);
}

static bool
is_ipv6(const struct frame *frame)
{
	return frame->data[frame->ip_off] >> 4 == 6;
}

void
frame_set_icrc(struct frame *frame)
{
	uint8_t masked[FRAME_MAX + 8];
	const size_t len = frame->icrc_off - frame->ip_off;
	uint8_t *ip = masked + 8;
	uint8_t *udp = ip + (frame->udp_off - frame->ip_off);
	uint32_t crc;

	memset(masked, 0xff, 8);
	memcpy(ip, frame->data + frame->ip_off, len);
	if (is_ipv6(frame)) {
		ip[0] |= 0x0f;
		ip[1] = ip[2] = ip[3] = ip[7] = 0xff;
	} else {
		ip[1] = ip[8] = ip[10] = ip[11] = 0xff;
	}
	udp[6] = udp[7] = 0xff;
	udp[8 + 4] = 0xff;
	crc = frame_crc32(0, masked, 8 + len);
	for (int i = 0; i < 4; i++)
		frame->data[frame->icrc_off + (size_t)i] = (uint8_t)(crc >> 8 * i);
}

void
frame_set_udp_checksum(struct frame *frame)
{
	const size_t udp_len = frame->len - frame->udp_off;
	uint8_t *ip = frame->data + frame->ip_off;
	uint8_t *udp = frame->data + frame->udp_off;
	const uint32_t addrs =
		~checksum(0, ip + (is_ipv6(frame) ? 8 : 12), is_ipv6(frame) ? 32 : 8);
	uint32_t sum;

	frame_put16(udp + 6, 0);
	sum = checksum((addrs & 0xffff) + 17 + udp_len, udp, udp_len);
	frame_put16(udp + 6, sum == 0 ? 0xffff : sum);
}

void
frame_set_len(struct frame *frame, size_t udp_payload_len)
{
	uint8_t *ip = frame->data + frame->ip_off;
	const size_t ip_hdr_len = frame->udp_off - frame->ip_off;
	const uint32_t udp_len = (uint32_t)(8 + udp_payload_len);

	frame_put16(frame->data + frame->udp_off + 4, udp_len);
	if (is_ipv6(frame)) {
		frame_put16(ip + 4, udp_len);
	} else {
		frame_put16(ip + 2, (uint32_t)ip_hdr_len + udp_len);
		frame_put16(ip + 10, 0);
		frame_put16(ip + 10, checksum(0, ip, ip_hdr_len));
	}
	frame->len = frame->bth_off + udp_payload_len;
	if (udp_payload_len < 16)
		return;
	frame->icrc_off = frame->len - 4;
	frame_set_icrc(frame);
}

static size_t
put_eth(uint8_t *at, const struct frame_conf *conf)
{
	size_t off = 12;

	memcpy(at, frame_dmac, 6);
	memcpy(at + 6, frame_smac, 6);
	if (conf->has_vlan) {
		frame_put16(at + 12, 0x8100);
		frame_put16(at + 14, FRAME_VLAN_TCI);
		off = 16;
	}
	frame_put16(at + off, conf->is_ipv6 ? 0x86dd : 0x0800);
	return off + 2;
}

static size_t
put_ip(uint8_t *at, const struct frame_conf *conf)
{
	const uint8_t *sip = frame_sip[conf->is_ipv6];
	const uint8_t *dip = frame_dip[conf->is_ipv6];

	if (conf->is_ipv6) {
		at[0] = (uint8_t)(0x60 | conf->tclass >> 4);
		put24(at + 1, (uint32_t)conf->tclass << 20 | FRAME_FLOW);
		at[6] = 17;
		at[7] = FRAME_HOP_LIMIT;
		memcpy(at + 8, sip, 16);
		memcpy(at + 24, dip, 16);
		return 40;
	}
	at[0] = (uint8_t)(0x45 + conf->ip_options_len / 4);
	at[1] = conf->tclass;
	at[6] = 0x40;
	at[8] = FRAME_HOP_LIMIT;
	at[9] = 17;
	memcpy(at + 12, sip + 12, 4);
	memcpy(at + 16, dip + 12, 4);
	memset(at + 20, 1, conf->ip_options_len);
	return 20u + conf->ip_options_len;
}

static void
put_bth(uint8_t *at, const struct frame_conf *conf)
{
	at[0] = conf->opcode;
	at[1] = (uint8_t)(conf->bth_flags | conf->pad_len << 4);
	frame_put16(at + 2, FRAME_PKEY);
	at[4] = conf->bth_fecn_becn;
	put24(at + 5, FRAME_QPN);
	at[8] = conf->bth_ack_req;
	put24(at + 9, FRAME_PSN);
}

void
frame_make(struct frame *frame, const struct frame_conf *conf)
{
	uint8_t *data = frame->data;

	memset(frame, 0, sizeof(*frame));
	frame->ip_off = put_eth(data, conf);
	frame->udp_off = frame->ip_off + put_ip(data + frame->ip_off, conf);
	frame->bth_off = frame->udp_off + 8;
	frame->ext_off = frame->bth_off + 12;
	frame->payload_off = frame->ext_off + conf->ext_len;
	frame_put16(data + frame->udp_off, FRAME_SPORT);
	frame_put16(data + frame->udp_off + 2, 4791);
	put_bth(data + frame->bth_off, conf);
	for (size_t i = 0; i < conf->ext_len; i++)
		data[frame->ext_off + i] = (uint8_t)(0x40 + i);
	for (size_t i = 0; i < conf->payload_len; i++)
		data[frame->payload_off + i] = (uint8_t)(i * 7 + 1);
	frame_set_len(frame, 12u + conf->ext_len + conf->payload_len + conf->pad_len + 4);
	if (conf->has_udp_checksum)
		frame_set_udp_checksum(frame);
}
