/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_RTT_H
#define UROCE_TRANSPORT_RTT_H

/**
 * @file
 * The estimator of a QP's round-trip time. Each sample is the time from a packet that requests an
 * ACK to its response. Only one sample runs at a time. The sample is discarded when a packet is
 * lost and retransmitted (Karn's algorithm).
 *
 * After a probe or a timeout the next response is ambiguous: it may belong to the packet or to its
 * retransmission. An ambiguous sample does not change `srtt_ns`; it is an upper bound of the time
 * that a response may take. Timeouts allow at least that time until an unambiguous sample ends. In
 * this way the requester measures a round trip that has become much longer.
 */

#include <stdbool.h>
#include <stdint.h>

struct uroce_rtt {
	uint32_t srtt_ns;    /* smoothed round-trip time; 0 if it was not measured yet */
	uint32_t rttvar_ns;  /* smoothed deviation from srtt_ns */
	uint32_t min_rtt_ns; /* shortest round trip; 0 if it was not measured yet */
	/* round trip of the last sample, if it was ambiguous; otherwise 0 */
	uint32_t ambiguous_rtt_ns;
	/* the running sample ends when the packet with this PSN is acknowledged */
	uint32_t sample_psn;
	bool is_retransmit : 1; /* the packet of the running sample is a retransmission */
	/* a probe was sent or the ACK timer expired since the running sample began */
	bool is_ambiguous : 1;
	bool is_queueing : 1; /* the last round trip was longer than 1.5 times min_rtt_ns */
	/* is_queueing was true at least once since the congestion window came into use */
	bool was_queueing : 1;
	/* min_rtt_ns is only a guess, because it was measured with a retransmission */
	bool is_min_uncertain : 1;
	/* half of the congestion window was in flight at some time since the sample began */
	bool is_cwnd_used : 1;
	/*
	 * congestion window: packets that may be in flight to a go-back-N peer; 0 if it is not in
	 * use
	 */
	uint16_t cwnd;
	/* time at which the packet of the running sample was sent; 0: no sample is running */
	uint64_t sample_ns;
};

/** Begin a round-trip sample that ends when the packet with the PSN `psn` is acknowledged. */
static inline void
uroce_rtt_begin(struct uroce_rtt *rtt, uint32_t psn, uint64_t now_ns)
{
	rtt->sample_psn = psn;
	rtt->sample_ns = now_ns;
	rtt->is_cwnd_used = false;
	rtt->is_ambiguous = false;
	rtt->is_retransmit = false;
}

/**
 * End the running sample, because its response came after `ns` nanoseconds.
 * @return whether srtt_ns and min_rtt_ns were updated
 */
static inline bool
uroce_rtt_update(struct uroce_rtt *rtt, uint64_t ns)
{
	const uint32_t now_ns = ns < UINT32_MAX / 4 ? (uint32_t)ns : UINT32_MAX / 4;
	const uint32_t off_ns =
		now_ns > rtt->srtt_ns ? now_ns - rtt->srtt_ns : rtt->srtt_ns - now_ns;

	rtt->sample_ns = 0;
	rtt->is_min_uncertain |= rtt->is_retransmit && !rtt->min_rtt_ns;
	/*
	 * A response that comes sooner than the shortest round trip belongs to the first
	 * transmission of the packet, not to the retransmission. If the shortest round trip is only
	 * a guess, the bound is half of the shortest round trip.
	 */
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

/**
 * Get the probe timeout: the time that the requester waits without a response before it sends a
 * probe. The timeout is two round trips, or more if round trips vary.
 */
static inline uint64_t
uroce_rtt_pto_ns(const struct uroce_rtt *rtt)
{
	const uint64_t spread = UINT64_C(4) * rtt->rttvar_ns;
	const uint64_t late_ns = rtt->ambiguous_rtt_ns + rtt->ambiguous_rtt_ns / 4;
	const uint64_t ns = rtt->srtt_ns + (spread > rtt->srtt_ns ? spread : rtt->srtt_ns) + 1000;

	return late_ns > ns ? late_ns : ns;
}

/**
 * Get the ACK timeout: the time that the requester waits for a response. The ACK timeout is between
 * T, the time that the attribute `timeout` specifies, and 4T [IBA 9.7.6.1.3]. Each timeout in a row
 * doubles the ACK timeout [RFC 6298 section 5.5], because a peer that its operating system suspends
 * for some multiples of T is not lost. If two probe timeouts are longer, the ACK timeout is as long
 * as two probe timeouts, but at most 4T.
 * @param nb_timeouts  number of timeouts in a row before the present one
 */
static inline uint64_t
uroce_rtt_timeout_ns(const struct uroce_rtt *rtt, uint64_t timeout_ns, unsigned nb_timeouts)
{
	const bool is_known = rtt->srtt_ns || rtt->ambiguous_rtt_ns;
	const uint64_t two_pto_ns = is_known ? 2 * uroce_rtt_pto_ns(rtt) : 0;
	const uint64_t backoff_ns = timeout_ns << (nb_timeouts < 2 ? nb_timeouts : 2);
	const uint64_t ns = two_pto_ns > backoff_ns ? two_pto_ns : backoff_ns;

	return ns < 4 * timeout_ns ? ns : 4 * timeout_ns;
}

#endif /* UROCE_TRANSPORT_RTT_H */
