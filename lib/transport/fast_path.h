/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_FAST_PATH_H
#define UROCE_TRANSPORT_FAST_PATH_H

/**
 * @file
 * The fast path of reception: if a packet has the same peer, P_Key and opcode as a packet that was
 * accepted before, these need not be checked again.
 */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "wire/hdr.h"
#include "wire/parse.h"

/** Whether two packets have the same source and destination address. */
static inline bool
uroce_fast_path_is_same_path(const struct uroce_pkt *pkt, const struct uroce_pkt *tmpl)
{
	uint64_t a, b;

	if (pkt->is_ipv6 != tmpl->is_ipv6)
		return false;
	if (pkt->is_ipv6)
		return !memcmp(((const struct uroce_ipv6 *)pkt->ip)->src,
			       ((const struct uroce_ipv6 *)tmpl->ip)->src, 2 * 16);
	memcpy(&a, ((const struct uroce_ipv4 *)pkt->ip)->src, sizeof(a));
	memcpy(&b, ((const struct uroce_ipv4 *)tmpl->ip)->src, sizeof(b));
	return a == b;
}

/**
 * Whether a packet has no CE mark, and has the same peer, P_Key and opcode as `tmpl`, an accepted
 * packet to the same QP. Such a packet passes the checks of these fields.
 */
static inline bool
uroce_fast_path_matches(const struct uroce_pkt *pkt, const struct uroce_pkt *tmpl)
{
	return pkt->op == tmpl->op && pkt->pkey == tmpl->pkey &&
	       (pkt->tclass & UROCE_ECN_MASK) != UROCE_ECN_CE &&
	       uroce_fast_path_is_same_path(pkt, tmpl);
}

#endif /* UROCE_TRANSPORT_FAST_PATH_H */
