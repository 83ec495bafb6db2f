/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_RTT_H
#define UROCE_TRANSPORT_RTT_H

/**
 * @file
 * The round trip of a QP, from packets that asked for an ACK. One sample is under way at a time, and
 * it is thrown away when anything is sent again (Karn's rule).
 */

#include <stdbool.h>
#include <stdint.h>

struct uroce_rtt {
	uint32_t mean_ns;    /* smoothed; 0: not measured yet */
	uint32_t var_ns;     /* smoothed deviation from it */
	uint32_t min_ns;     /* shortest seen */
	uint32_t sample_psn; /* valid with sample_ns */
	uint64_t sample_ns;  /* when it was sent; 0: no sample is under way */
};

static inline void
uroce_rtt_note(struct uroce_rtt *rtt, uint64_t ns)
{
	const uint32_t now_ns = ns < UINT32_MAX / 4 ? (uint32_t)ns : UINT32_MAX / 4;
	const uint32_t off_ns =
		now_ns > rtt->mean_ns ? now_ns - rtt->mean_ns : rtt->mean_ns - now_ns;

	rtt->sample_ns = 0;
	if (!rtt->mean_ns) {
		rtt->mean_ns = now_ns ? now_ns : 1;
		rtt->var_ns = now_ns / 2;
		rtt->min_ns = now_ns;
		return;
	}
	rtt->var_ns = (uint32_t)((UINT64_C(3) * rtt->var_ns + off_ns) / 4);
	rtt->mean_ns = (uint32_t)((UINT64_C(7) * rtt->mean_ns + now_ns) / 8);
	if (now_ns < rtt->min_ns)
		rtt->min_ns = now_ns;
}

/** When to ask again if nothing came: after two round trips, or more if they vary. */
static inline uint64_t
uroce_rtt_probe_ns(const struct uroce_rtt *rtt)
{
	const uint64_t spread = UINT64_C(4) * rtt->var_ns;

	return rtt->mean_ns + (spread > rtt->mean_ns ? spread : rtt->mean_ns) + 1000;
}

#endif /* UROCE_TRANSPORT_RTT_H */
