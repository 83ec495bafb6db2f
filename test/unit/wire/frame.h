/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_UNIT_WIRE_FRAME_H
#define TEST_UNIT_WIRE_FRAME_H

/**
 * @file
 * Frames for tests, written byte by byte from the specification. Nothing of lib/wire is used, so
 * that an error there cannot hide behind the same error here.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAME_MAX 8192

/* What a frame is made of. All zero is a valid IPv4 frame of RC SEND_FIRST (which is too short). */
struct frame_conf {
	bool is_ipv6;
	bool has_vlan;
	bool has_udp_checksum;
	uint8_t opcode;
	uint8_t ext_len;        /* bytes of extension headers: 0x40, 0x41, ... */
	uint8_t ip_options_len; /* IPv4: a multiple of 4 */
	uint8_t tclass;
	uint8_t bth_flags;     /* S M, pad 0, version 0 */
	uint8_t bth_fecn_becn; /* F B and the reserved bits */
	uint8_t bth_ack_req;   /* A and the reserved bits */
	uint8_t pad_len;       /* announced in the BTH, and written as zeros */
	uint16_t payload_len;  /* bytes i * 7 + 1 */
};

/* Where the parts of a frame begin. */
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

/* The fields that every frame has. */
#define FRAME_SPORT    0xd00d
#define FRAME_VLAN_TCI 0x6123
#define FRAME_PKEY     0x8001
#define FRAME_QPN      0xabcdefu
#define FRAME_PSN      0xfedcbau
#define FRAME_HOPS     61
#define FRAME_FLOW     0x54321u
extern const uint8_t frame_smac[6];
extern const uint8_t frame_dmac[6];
extern const uint8_t frame_sip[2][16]; /* index: is_ipv6 */
extern const uint8_t frame_dip[2][16];

void frame_make(struct frame *frame, const struct frame_conf *conf);

/* Make lengths, checksum and ICRC right for a UDP payload of `len` bytes, whatever is in it. */
void frame_set_len(struct frame *frame, size_t udp_payload_len);

/* Write the ICRC anew, after the bytes before it were changed. */
void frame_set_icrc(struct frame *frame);

/* Write a UDP checksum, where RoCEv2 has 0. */
void frame_set_udp_checksum(struct frame *frame);

/* CRC-32 of Ethernet, a bit at a time; state as zlib has it. */
uint32_t frame_crc32(uint32_t state, const uint8_t *data, size_t len);

void frame_put16(uint8_t *at, uint32_t v);

#endif /* TEST_UNIT_WIRE_FRAME_H */
