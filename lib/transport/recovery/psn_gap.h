/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_PSN_GAP_H
#define UROCE_TRANSPORT_PSN_GAP_H

/**
 * @file
 * The packets that have arrived behind a PSN gap: a bit map with one bit for each PSN of a moving
 * window.
 *
 * The window begins at the missing PSN, which the owner of the bit map stores, and spans
 * UROCE_PSN_GAP_SPAN PSNs. The place of a bit is its PSN modulo the span. To move the window, the
 * owner of the bit map clears the bits of the PSNs that leave the window. The owner reads and marks
 * PSNs inside the window only. When the gap is filled, the packets behind it are executed in
 * several parts; meanwhile the first PSN of the window is present.
 */

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "transport/recovery/ddp.h"

/**
 * The number of PSNs in the window of the bit map. A packet may be at most this number of PSNs
 * ahead of the missing one. The number must divide 2^24.
 */
#define UROCE_PSN_GAP_SPAN 8192
static_assert((1u << 24) % UROCE_PSN_GAP_SPAN == 0, "places do not move when PSNs wrap");

struct uroce_psn_gap {
	uint32_t nb; /* number of bits that are set in `bits` */
	/* number of responses that the marked READs request, added when each READ was marked */
	uint32_t nb_reads;
	uint64_t bits[UROCE_PSN_GAP_SPAN / 64];
	struct uroce_ddp ddp; /* later WRITEs whose packets are placed in memory on arrival */
};

static inline bool
uroce_psn_gap_has(const struct uroce_psn_gap *gap, uint32_t psn)
{
	return gap->bits[psn % UROCE_PSN_GAP_SPAN / 64] >> psn % 64 & 1;
}

/** Set the bit of `psn`, which must not be set. */
static inline void
uroce_psn_gap_mark(struct uroce_psn_gap *gap, uint32_t psn)
{
	gap->bits[psn % UROCE_PSN_GAP_SPAN / 64] |= UINT64_C(1) << psn % 64;
	gap->nb++;
}

/** Clear the bit of `psn`, which must be set. */
static inline void
uroce_psn_gap_clear(struct uroce_psn_gap *gap, uint32_t psn)
{
	gap->bits[psn % UROCE_PSN_GAP_SPAN / 64] &= ~(UINT64_C(1) << psn % 64);
	gap->nb--;
}

#endif /* UROCE_TRANSPORT_PSN_GAP_H */
