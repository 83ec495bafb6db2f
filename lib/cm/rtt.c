/* SPDX-License-Identifier: BSD-3-Clause */

/* The table of round-trip times to the hosts that exchange CM messages with this host. */

#include "cm/rtt.h"

#include "cm/identity.h"

/*
 * Limits of the time before a CM message is retransmitted for the first time. The upper limit is
 * low, because an early retransmission costs only one message, but a late one delays a connection.
 */
#define MIN_INTERVAL_NS (10 * UROCE_MSEC_NS)
#define MAX_INTERVAL_NS (200 * UROCE_MSEC_NS)

static unsigned
rtt_slot(uint64_t host)
{
	return (unsigned)(host >> 32) & (UROCE_CM_NB_RTT - 1);
}

void
uroce_cm_rtt_sample(struct uroce_cm *cm, const uint8_t gid[16], uint64_t sample_ns)
{
	const uint64_t host = uroce_cm_identity_hash_gid(cm, gid);
	struct uroce_cm_rtt *rtt = &cm->rtt[rtt_slot(host)];

	if (rtt->host != host || sample_ns < rtt->rtt_ns)
		*rtt = (struct uroce_cm_rtt){ .host = host, .rtt_ns = sample_ns };
	else
		rtt->rtt_ns += (sample_ns - rtt->rtt_ns) / 16;
}

uint64_t
uroce_cm_rtt_interval(const struct uroce_cm *cm, const uint8_t gid[16])
{
	const uint64_t host = uroce_cm_identity_hash_gid(cm, gid);
	const struct uroce_cm_rtt *rtt = &cm->rtt[rtt_slot(host)];

	if (rtt->host != host || 2 * rtt->rtt_ns < MIN_INTERVAL_NS)
		return MIN_INTERVAL_NS;
	return 2 * rtt->rtt_ns < MAX_INTERVAL_NS ? 2 * rtt->rtt_ns : MAX_INTERVAL_NS;
}
