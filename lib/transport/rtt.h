/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_RTT_H
#define UROCE_TRANSPORT_RTT_H

/**
 * @file
 * The round trip of a QP, from packets that asked for an ACK. One sample is under way at a time, and
 * it is thrown away when something was lost and is sent again (Karn's rule).
 *
 * When nothing came in time and we ask again, whatever comes then may answer either. Nothing is learnt
 * from it about the mean, but it is a bound of what an answer may take: until there is a sample
 * without doubt, that much time is given. So a round trip that has become much longer is found out.
 */

#include <stdbool.h>
#include <stdint.h>

struct uroce_rtt {
	uint32_t srtt_ns;    /* smoothed; 0: not measured yet */
	uint32_t rttvar_ns;  /* smoothed deviation from it */
	uint32_t min_rtt_ns; /* shortest seen; 0: it is to be found out */
	uint32_t
		ambiguous_rtt_ns; /* no answer took longer that came after we asked again; 0: none did */
	uint32_t sample_psn;      /* valid with sample_ns */
	bool is_retransmit : 1;    /* with sample_ns: the packet was sent before */
	bool is_ambiguous : 1;     /* with sample_ns: we asked again since it was sent */
	bool is_queueing : 1;      /* the last answer took half as much again as the shortest */
	bool was_queueing : 1;     /* one did since there is `cwnd` */
	bool is_min_uncertain : 1; /* `min_rtt_ns` is of packets that were sent before */
	bool is_cwnd_used : 1;     /* half of `cwnd` was in flight since the sample began */
	uint16_t
		cwnd; /* what may be in flight to a peer that drops, see loss_recovery.c; 0: a window */
	uint64_t sample_ns; /* when it was sent; 0: no sample is under way */
};

/** A sample begins. */
static inline void
uroce_rtt_begin(struct uroce_rtt *rtt, uint32_t psn, uint64_t now_ns)
{
	rtt->sample_psn = psn;
	rtt->sample_ns = now_ns;
	rtt->is_cwnd_used = false;
	rtt->is_ambiguous = false;
	rtt->is_retransmit = false;
}

/** The answer to a sample came, after so long. @return whether it says something of the path */
static inline bool
uroce_rtt_update(struct uroce_rtt *rtt, uint64_t ns)
{
	const uint32_t now_ns = ns < UINT32_MAX / 4 ? (uint32_t)ns : UINT32_MAX / 4;
	const uint32_t off_ns =
		now_ns > rtt->srtt_ns ? now_ns - rtt->srtt_ns : rtt->srtt_ns - now_ns;

	rtt->sample_ns = 0;
	rtt->is_min_uncertain |= rtt->is_retransmit && !rtt->min_rtt_ns;
	/* sooner than any, and much sooner than a guess: it is to the first time that this was sent */
	if (rtt->is_retransmit &&
	    now_ns < (rtt->is_min_uncertain ? rtt->min_rtt_ns / 2 : rtt->min_rtt_ns))
		return false;
	if (rtt->is_ambiguous) {
		rtt->ambiguous_rtt_ns = now_ns;
		return false;
	}
	rtt->ambiguous_rtt_ns = 0;
	if (!rtt->srtt_ns) {
		rtt->srtt_ns = now_ns ? now_ns : 1;
		rtt->rttvar_ns = now_ns / 2;
	} else {
		rtt->rttvar_ns = (uint32_t)((UINT64_C(3) * rtt->rttvar_ns + off_ns) / 4);
		rtt->srtt_ns = (uint32_t)((UINT64_C(7) * rtt->srtt_ns + now_ns) / 8);
	}
	if (rtt->is_min_uncertain && !rtt->is_retransmit) {
		rtt->is_min_uncertain = false;
		if (now_ns / 2 > rtt->min_rtt_ns)
			rtt->min_rtt_ns = now_ns;
	}
	if (now_ns < rtt->min_rtt_ns || !rtt->min_rtt_ns)
		rtt->min_rtt_ns = now_ns;
	rtt->is_queueing = now_ns / 3 > rtt->min_rtt_ns / 2;
	return true;
}

/** When to ask again if nothing came: after two round trips, or more if they vary. */
static inline uint64_t
uroce_rtt_pto_ns(const struct uroce_rtt *rtt)
{
	const uint64_t spread = UINT64_C(4) * rtt->rttvar_ns;
	const uint64_t late_ns = rtt->ambiguous_rtt_ns + rtt->ambiguous_rtt_ns / 4;
	const uint64_t ns = rtt->srtt_ns + (spread > rtt->srtt_ns ? spread : rtt->srtt_ns) + 1000;

	return late_ns > ns ? late_ns : ns;
}

/**
 * How long to wait for an answer before that is a timeout, of which `retry_cnt` more may follow: the
 * time that the attribute says, or up to four times that [IBA 9.7.6.1.3], if it takes longer to ask
 * again and be answered. Where nothing is known, each timeout in a row doubles it.
 */
static inline uint64_t
uroce_rtt_timeout_ns(const struct uroce_rtt *rtt, uint64_t timeout_ns, unsigned nb_timeouts)
{
	const bool is_known = rtt->srtt_ns || rtt->ambiguous_rtt_ns;
	const uint64_t ns = is_known ? 2 * uroce_rtt_pto_ns(rtt)
				     : timeout_ns << (nb_timeouts < 2 ? nb_timeouts : 2);

	if (ns <= timeout_ns)
		return timeout_ns;
	return ns < 4 * timeout_ns ? ns : 4 * timeout_ns;
}

#endif /* UROCE_TRANSPORT_RTT_H */
