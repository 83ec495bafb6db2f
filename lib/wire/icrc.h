/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_WIRE_ICRC_H
#define UROCE_WIRE_ICRC_H

/**
 * @file
 * The invariant CRC of RoCEv2 [IBA 9.7.1, A17.3.3].
 *
 * The ICRC is a CRC-32 with the Ethernet polynomial, reflected, over:
 *
 *	eight bytes of ones, at the place of an LRH
 *	the IP header, where fields that routers change are ones (IPv4: ToS, TTL, checksum; IPv6:
 *	traffic class, flow label, hop limit)
 *	the UDP header, with its checksum as ones
 *	the BTH, with byte 4 (FECN, BECN, reserved) as ones
 *	all bytes after the BTH up to the ICRC, pad included
 *
 * The result is stored least significant byte first.
 *
 * The CRC is computed incrementally. For the frames of one path, all bytes before the BTH are
 * constant except the two length fields. CRC is linear. So the CRC state after the UDP header is
 * the exclusive-or of two values: the state that the path has for lengths of 0, and a term that
 * depends on the lengths alone. The terms come from a table (uroce_icrc_len_term()).
 *
 * The word "state" in this file means a CRC state as base/crc32.h defines it.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/crc32.h"

#define UROCE_ICRC_LEN 4

/**
 * Compute the ICRC state after eight bytes of ones, the IP header and the UDP header, with ones in
 * the fields that the ICRC masks. `ip` points at an IPv4 header (IHL >= 5, options are part of the
 * CRC) or an IPv6 header without extension headers. The UDP header follows it directly.
 */
uint32_t uroce_icrc_prefix(const uint8_t *ip);

/**
 * Get the contribution of the IP and UDP length fields to the ICRC state, called their term. The
 * exclusive-or of the term and a state of uroce_icrc_prefix() for lengths of 0 is the state for the
 * lengths of the packet. The term is valid for IPv4 without options and for IPv6.
 * @param is_ipv6  whether the IP header is IPv6
 * @param udp_len  value of the UDP length field; the IP length field follows from it
 */
uint32_t uroce_icrc_len_term(int is_ipv6, uint16_t udp_len);

/**
 * Extend a state of uroce_icrc_prefix() over a BTH (12 bytes), whose byte 4 is replaced by ones.
 */
uint32_t uroce_icrc_bth(uint32_t state, const uint8_t *bth);

/**
 * Extend a state of uroce_icrc_prefix() over all bytes after the UDP header in one piece: `len`
 * bytes from the BTH to the end of the pad, with byte 4 of the BTH replaced by ones. One call costs
 * less than uroce_icrc_bth() and uroce_crc32() for the rest. The call is cheapest if the bytes were
 * not stored immediately before, because a load that spans several recent stores is slow.
 * @param len  a multiple of 4, at least the 12 of a BTH
 */
uint32_t uroce_icrc_rest(uint32_t state, const uint8_t *bth, size_t len);

/**
 * Compute the ICRC of a contiguous frame: `len` bytes from the IP header to the end of the pad.
 * The 8 bytes before `ip`, part of the Ethernet header, are read, but do not affect the result.
 */
uint32_t uroce_icrc_frame(const uint8_t *ip, size_t len);

/** Store the CRC state after all bytes of a frame as the ICRC of the frame, in wire order. */
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
