/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_WIRE_ICRC_H
#define UROCE_WIRE_ICRC_H

/**
 * @file
 * The invariant CRC of RoCEv2 [IBA 9.7.1, A17.3.3].
 *
 * CRC-32 with the Ethernet polynomial, reflected, over: eight bytes of ones in the place of an LRH;
 * the IP header with the fields that routers change set to ones (IPv4: ToS, TTL, checksum; IPv6:
 * traffic class, flow label, hop limit); the UDP header with its checksum set to ones; the BTH with
 * byte 4 (FECN, BECN, reserved) set to ones; everything after it up to the ICRC, pad included.
 * The result is stored least significant byte first.
 *
 * How it is made cheap: the CRC runs incrementally, and for the frames of one path everything
 * before the BTH is constant but for the two length fields. CRC is linear, so the state after the
 * UDP header is the path's state for lengths 0, exclusive-or a term that depends on the lengths
 * alone and comes from a table (`uroce_icrc_len_term`).
 *
 * A "state" here is that of wire/crc32.h.
 */

#include <stddef.h>
#include <stdint.h>

#include "wire/crc32.h"

#define UROCE_ICRC_LEN 4

/**
 * State after eight bytes of ones and the masked IP and UDP headers, UDP included.
 * `ip` points at an IPv4 (IHL >= 5, options included in the CRC) or IPv6 header (no extension
 * headers) that is directly followed by its UDP header.
 */
uint32_t uroce_icrc_prefix(const uint8_t *ip);

/**
 * What the two length fields add to the state of uroce_icrc_prefix() that was computed with both
 * fields 0; valid for IPv4 without options and for IPv6.
 * @param is_ipv6   which IP header
 * @param udp_len   value of the UDP length field; the IP length field follows from it
 */
uint32_t uroce_icrc_len_term(int is_ipv6, uint16_t udp_len);

/** Extend a prefix state over a BTH, its byte 4 masked. `bth` is 12 bytes. */
uint32_t uroce_icrc_bth(uint32_t state, const uint8_t *bth);

/**
 * Extend a prefix state over all that follows the UDP header in one piece: `len` bytes from the BTH
 * to the end of the pad, byte 4 of the BTH masked. One call costs less than uroce_icrc_bth() and
 * uroce_crc32() for the rest, and it costs least some time after the bytes were stored.
 * @param len  a multiple of 4, at least the 12 of a BTH
 */
uint32_t uroce_icrc_rest(uint32_t state, const uint8_t *bth, size_t len);

/**
 * The ICRC of a frame that lies in one piece: `len` bytes from its IP header to the end of the pad.
 * Reads, and does not use, the 8 bytes before `ip`: of the Ethernet header.
 */
uint32_t uroce_icrc_frame(const uint8_t *ip, size_t len);

/** Store a final state in wire order. */
static inline void
uroce_icrc_store(uint8_t *at, uint32_t state)
{
	at[0] = (uint8_t)state;
	at[1] = (uint8_t)(state >> 8);
	at[2] = (uint8_t)(state >> 16);
	at[3] = (uint8_t)(state >> 24);
}

static inline uint32_t
uroce_icrc_load(const uint8_t *at)
{
	return (uint32_t)at[3] << 24 | (uint32_t)at[2] << 16 | (uint32_t)at[1] << 8 | at[0];
}

#endif /* UROCE_WIRE_ICRC_H */
