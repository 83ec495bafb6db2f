/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_UNIT_WIRE_FRAME_H
#define TEST_UNIT_WIRE_FRAME_H

/**
 * @file
 * Frames for tests, written byte by byte from the specification. No function of lib/wire is used,
 * because an error of such a function would then be in the test, too, and not be noticed.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAME_MAX 8192

/*
 * The parameters of a frame. All zero: an IPv4 frame of RC SEND_FIRST without payload, which is too
 * short to be valid.
 */
struct frame_conf {
	bool is_ipv6;
	bool has_vlan;
	bool has_udp_checksum;
	uint8_t opcode;
	uint8_t ext_len;        /* bytes of extension headers, whose values are 0x40, 0x41 ... */
	uint8_t ip_options_len; /* bytes of IPv4 options, a multiple of 4 */
	uint8_t tclass;
	/* BTH: the solicited event and MigReq bits; pad count 0, version 0 */
	uint8_t bth_flags;
	uint8_t bth_fecn_becn; /* BTH: the FECN and BECN bits, and reserved bits */
	uint8_t bth_ack_req;   /* BTH: the AckReq bit, and reserved bits */
	uint8_t pad_len;       /* pad count in the BTH; the padding is zero bytes */
	uint16_t payload_len;  /* number of payload bytes; byte i is i * 7 + 1 */
};

/*
 * The kinds of outer headers: both IP versions, each with and without a VLAN tag, and IPv4 with
 * options.
 */
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

/* Header fields that have these values in all frames. */
#define FRAME_SPORT     0xd00d
#define FRAME_VLAN_TCI  0x6123
#define FRAME_PKEY      0x8001
#define FRAME_QPN       0xabcdefu
#define FRAME_PSN       0xfedcbau
#define FRAME_HOP_LIMIT 61
#define FRAME_FLOW      0x54321u
extern const uint8_t frame_smac[6];
extern const uint8_t frame_dmac[6];
extern const uint8_t frame_sip[2][16]; /* index 0: IPv4, index 1: IPv6 */
extern const uint8_t frame_dip[2][16];

void frame_make(struct frame *frame, const struct frame_conf *conf);

/*
 * Set the length fields, the checksum and the ICRC of a frame for a UDP payload of this length. The
 * payload does not change.
 */
void frame_set_len(struct frame *frame, size_t udp_payload_len);

/* Compute the ICRC of a frame again, after a test has changed bytes. */
void frame_set_icrc(struct frame *frame);

/* Write the UDP checksum of a frame; frame_make() leaves it 0. */
void frame_set_udp_checksum(struct frame *frame);

/* CRC-32 of Ethernet, computed bit by bit. `state` is encoded as in zlib's crc32(). */
uint32_t frame_crc32(uint32_t state, const uint8_t *data, size_t len);

void frame_put16(uint8_t *at, uint32_t v);

#endif /* TEST_UNIT_WIRE_FRAME_H */
