/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_UNIT_WIRE_FRAME_H
#define TEST_UNIT_WIRE_FRAME_H

/**
 * @file
 * Frames for tests, written byte by byte from the specification. No function of lib/wire is used,
 * so that an error there is not hidden by the same error here.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAME_MAX 8192

/*
 * The parameters of a frame. All zero: an IPv4 frame of RC SEND_FIRST, which is too short to be
 * valid.
 */
struct frame_conf {
	bool is_ipv6;
	bool has_vlan;
	bool has_udp_checksum;
	uint8_t opcode;
	uint8_t ext_len;        /* bytes of extension headers, with values 0x40, 0x41, ... */
	uint8_t ip_options_len; /* IPv4: a multiple of 4 */
	uint8_t tclass;
	uint8_t bth_flags;     /* bits S and M; pad count 0, version 0 */
	uint8_t bth_fecn_becn; /* bits F and B, and the reserved bits */
	uint8_t bth_ack_req;   /* bit A, and the reserved bits */
	uint8_t pad_len;       /* pad count in the BTH; the pad bytes are zero */
	uint16_t payload_len;  /* number of payload bytes; byte i is i * 7 + 1 */
};

/* The kinds of outer headers: both IP versions with and without a VLAN tag, IPv4 with options. */
#define FRAME_NB_KINDS 6
extern const struct frame_conf frame_kinds[FRAME_NB_KINDS];

/* A frame, and the offsets of its parts. */
struct frame {
	uint8_t data[FRAME_MAX];
	size_t ip_off;
	size_t udp_off;
	size_t bth_off;
	size_t ext_off;
	size_t payload_off;
	size_t icrc_off;
	size_t len;
};

/* The values of fields that are the same in all frames. */
#define FRAME_SPORT     0xd00d
#define FRAME_VLAN_TCI  0x6123
#define FRAME_PKEY      0x8001
#define FRAME_QPN       0xabcdefu
#define FRAME_PSN       0xfedcbau
#define FRAME_HOP_LIMIT 61
#define FRAME_FLOW      0x54321u
extern const uint8_t frame_smac[6];
extern const uint8_t frame_dmac[6];
extern const uint8_t frame_sip[2][16]; /* index: is_ipv6 */
extern const uint8_t frame_dip[2][16];

void frame_make(struct frame *frame, const struct frame_conf *conf);

/*
 * Set lengths, checksum and ICRC for a UDP payload of this length, without a change of the payload.
 */
void frame_set_len(struct frame *frame, size_t udp_payload_len);

/* Compute the ICRC again after bytes before it have changed. */
void frame_set_icrc(struct frame *frame);

/* Write a UDP checksum, which is 0 in frames of RoCEv2 otherwise. */
void frame_set_udp_checksum(struct frame *frame);

/* CRC-32 of Ethernet, computed bit by bit; the state is that of zlib. */
uint32_t frame_crc32(uint32_t state, const uint8_t *data, size_t len);

void frame_put16(uint8_t *at, uint32_t v);

#endif /* TEST_UNIT_WIRE_FRAME_H */
