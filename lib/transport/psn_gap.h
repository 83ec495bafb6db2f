/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_PSN_GAP_H
#define UROCE_TRANSPORT_PSN_GAP_H

/**
 * @file
 * Which packets have arrived ahead of a hole: a bit for each PSN of a window that moves.
 *
 * The window begins at the PSN that is missing, which the owner knows, and spans UROCE_PSN_GAP_SPAN. A
 * bit's place is its PSN modulo the size, so that moving the window is clearing what it leaves. The
 * owner asks only about PSNs inside the window, and marks only those. While what was behind a hole is
 * being executed, a part at a time, the first PSN is there.
 */

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "transport/ddp.h"

/** PSNs of the window: the most that a packet may be ahead. Divides 2^24. */
#define UROCE_PSN_GAP_SPAN 8192
static_assert((1u << 24) % UROCE_PSN_GAP_SPAN == 0, "places do not move when PSNs wrap");

struct uroce_psn_gap {
	uint32_t nb; /* bits set */
	uint32_t
		nb_reads; /* PSNs of the responses that READs among them ask for, as it was marked */
	bool is_ready;    /* the hole is filled, and what was behind it is being executed */
	uint64_t bits[UROCE_PSN_GAP_SPAN / 64];
	struct uroce_ddp ddp; /* WRITEs of which packets are placed when they come */
};

static inline bool
uroce_psn_gap_has(const struct uroce_psn_gap *gap, uint32_t psn)
{
	return gap->bits[psn % UROCE_PSN_GAP_SPAN / 64] >> psn % 64 & 1;
}

/** It must not be marked yet. */
static inline void
uroce_psn_gap_mark(struct uroce_psn_gap *gap, uint32_t psn)
{
	gap->bits[psn % UROCE_PSN_GAP_SPAN / 64] |= UINT64_C(1) << psn % 64;
	gap->nb++;
}

/** It must be marked. */
static inline void
uroce_psn_gap_clear(struct uroce_psn_gap *gap, uint32_t psn)
{
	gap->bits[psn % UROCE_PSN_GAP_SPAN / 64] &= ~(UINT64_C(1) << psn % 64);
	gap->nb--;
}

#endif /* UROCE_TRANSPORT_PSN_GAP_H */
