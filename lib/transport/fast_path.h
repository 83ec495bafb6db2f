/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_FAST_PATH_H
#define UROCE_TRANSPORT_FAST_PATH_H

/**
 * @file
 * The fast path of reception: if a packet has the same peer, P_Key and opcode as an earlier packet
 * that the same QP has accepted, these fields need not be checked again.
 */

#include <stdbool.h>

#include "wire/hdr.h"
#include "wire/parse.h"

/**
 * Whether a packet has no CE mark, and has the same peer, P_Key and opcode as `tmpl`, an accepted
 * packet to the same QP. Such a packet also passes the checks of the peer, the P_Key and the
 * opcode.
 */
static inline bool
uroce_fast_path_matches(const struct uroce_pkt *pkt, const struct uroce_pkt *tmpl)
{
	return pkt->op == tmpl->op && pkt->pkey == tmpl->pkey &&
	       (pkt->tclass & UROCE_ECN_MASK) != UROCE_ECN_CE && uroce_pkt_is_same_path(pkt, tmpl);
}

#endif /* UROCE_TRANSPORT_FAST_PATH_H */
