/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_FAST_PATH_H
#define UROCE_TRANSPORT_FAST_PATH_H

/**
 * @file
 * The fast path of reception: a packet that equals an accepted packet needs no further checks of
 * peer, P_Key and opcode.
 */

#include <stdbool.h>

#include "wire/hdr.h"
#include "wire/parse.h"

/**
 * Whether a packet to the same QP passes the checks of peer, P_Key and opcode because `tmpl` did,
 * and has no CE mark.
 */
static inline bool
uroce_fast_path_matches(const struct uroce_pkt *pkt, const struct uroce_pkt *tmpl)
{
	return pkt->op == tmpl->op && pkt->pkey == tmpl->pkey &&
	       (pkt->tclass & UROCE_ECN_MASK) != UROCE_ECN_CE && uroce_pkt_is_same_path(pkt, tmpl);
}

#endif /* UROCE_TRANSPORT_FAST_PATH_H */
