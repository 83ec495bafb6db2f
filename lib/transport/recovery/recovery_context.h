/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_RECOVERY_RECOVERY_CONTEXT_H
#define UROCE_TRANSPORT_RECOVERY_RECOVERY_CONTEXT_H

/**
 * @file
 * The part of the QP context that the requester uses to recover lost packets: the recovery of lost
 * requests, and the recovery of lost responses. context.h has the rest of the QP context.
 */

#include <stdbool.h>
#include <stdint.h>

#include "transport/recovery/reorder_window.h"
#include "wire/psn.h"

struct uroce_psn_gap;

/**
 * What the peer does with packets that arrive behind a PSN gap: it keeps them (selective) or drops
 * them (go-back-N).
 */
enum uroce_peer_arq { UROCE_PEER_ARQ_UNKNOWN, UROCE_PEER_ARQ_SELECTIVE, UROCE_PEER_ARQ_GO_BACK_N };

/**
 * States of the requester's loss recovery, in the terms of TCP (RFC 5681, RFC 6675) and RFC 9002.
 * The transitions are the table in recovery_state.c.
 */
enum uroce_recovery_state {
	UROCE_RECOVERY_OPEN,  /* no packet is known to be lost */
	UROCE_RECOVERY_PROBE, /* a probe was sent, and its response has not arrived */
	/* the oldest packet in flight (at una_psn) was retransmitted alone */
	UROCE_RECOVERY_FAST_RETX,
	UROCE_RECOVERY_RNR_WAIT, /* the requester sends nothing until rnr_deadline */
	/*
	 * the requester went back N because of a loss, and the peer has acknowledged no packet
	 * since
	 */
	UROCE_RECOVERY_LOSS,
	/* as in UROCE_RECOVERY_LOSS, the requester went back N; in addition a probe is in flight */
	UROCE_RECOVERY_LOSS_PROBE,
	/*
	 * as in UROCE_RECOVERY_LOSS, the requester went back N; in addition the oldest packet in
	 * flight (at una_psn) was retransmitted alone
	 */
	UROCE_RECOVERY_LOSS_FAST_RETX,
	UROCE_RECOVERY_STATE_NB
};

/**
 * Flags of packets that loss recovery retransmits when the QP sends next. The flags are or-ed, and
 * may be set in any recovery state.
 */
enum uroce_recovery_due {
	UROCE_RECOVERY_DUE_FIRST = 1 << 0, /* retransmit the oldest packet in flight (at una_psn) */
	UROCE_RECOVERY_DUE_LAST = 1 << 1,  /* retransmit the newest packet in flight */
	/* retransmit the packets behind PSN gaps, when no new packet can be sent */
	UROCE_RECOVERY_DUE_BEHIND = 1 << 2,
};

/**
 * The state of the loss recovery of requests, see loss_recovery.c. The first 16 bytes are read for
 * every packet that is sent and every response that is received.
 */
struct uroce_loss_recovery {
	/* time at which a probe is sent; UROCE_NEVER: the probe timer is not armed */
	uint64_t probe_deadline;
	/*
	 * valid while `due` has UROCE_RECOVERY_DUE_BEHIND: the next PSN to retransmit; each PSN is
	 * retransmitted once
	 */
	uint32_t retransmit_psn;
	uint8_t state; /* state of loss recovery: enum uroce_recovery_state */
	uint8_t due;   /* packets that are to be retransmitted (enum uroce_recovery_due, or-ed) */
	uint8_t peer;  /* what the peer does behind a PSN gap: enum uroce_peer_arq */
	/*
	 * number of responses in a row that acknowledged only the probe while more packets were in
	 * flight
	 */
	uint8_t nb_probe_steps;
	/* The fields from gap_psn on are used only during loss recovery. */
	/*
	 * in the states UROCE_RECOVERY_FAST_RETX and UROCE_RECOVERY_PROBE: the PSN that was
	 * retransmitted alone
	 */
	uint32_t gap_psn;
	/* value of max_psn (the PSN behind the newest one sent) when gap_psn was retransmitted */
	uint32_t recover_psn;
	/*
	 * while nb_gaps is not 0: PSN gaps before this PSN belong to one round trip, and are
	 * counted in nb_gaps. The PSN is the value that max_psn (the PSN behind the newest one
	 * sent) had when the first of these gaps was found
	 */
	uint32_t round_psn;
	/*
	 * number of fast retransmissions in a row after each of which the next packet was also
	 * missing
	 */
	uint8_t nb_adjacent;
	/*
	 * number of PSN gaps in the last round trip that had PSN gaps; 0: there was no PSN gap
	 * since the requester went back N
	 */
	uint8_t nb_gaps;
	/*
	 * in the round trip before the one whose PSN gaps nb_gaps counts, many PSN gaps were found.
	 * This flag is not part of `state`, because it stays set after all gaps are closed
	 */
	bool is_lossy;
	/*
	 * the last response came too soon after a retransmission to show whether the peer keeps
	 * packets behind a PSN gap. This flag is not part of `state`, because only the next
	 * response in the state UROCE_RECOVERY_FAST_RETX depends on the flag
	 */
	bool is_ambiguous;
	/*
	 * in the state UROCE_RECOVERY_FAST_RETX: number of packets that may be in flight beyond the
	 * requester's window
	 */
	uint32_t inflation_psns;
	/*
	 * time at which the packet at gap_psn was retransmitted; 0 if the packet was not
	 * retransmitted yet
	 */
	uint64_t retransmit_ns;
};

/**
 * States of the recovery of lost responses. The transitions are the table in ooo_response_state.c.
 */
enum uroce_ooo_response_state {
	UROCE_OOO_RESPONSE_IN_ORDER, /* no response is missing */
	/*
	 * a response is missing, and all responses that are known to be lost were requested again
	 */
	UROCE_OOO_RESPONSE_GAP,
	/*
	 * more responses are missing than were requested again; until `deadline` the missing
	 * responses count as late, not as lost
	 */
	UROCE_OOO_RESPONSE_REORDERING,
	UROCE_OOO_RESPONSE_LOST, /* responses are lost, and have to be requested again */
	UROCE_OOO_RESPONSE_STATE_NB
};

/**
 * Flags of requests for missing responses that the requester sends next. The flags are or-ed, and
 * may be set in any state.
 */
enum uroce_ooo_response_due {
	/*
	 * request the response at the oldest unacknowledged PSN (una_psn) again, to find out
	 * whether the peer still answers and what it has sent
	 */
	UROCE_OOO_RESPONSE_DUE_PROBE = 1 << 0,
	/* retransmit the request at nak_psn, which the peer has reported as missing */
	UROCE_OOO_RESPONSE_DUE_NAK = 1 << 1,
};

/**
 * The state of the recovery of lost responses, see ooo_response.c. The last 16 bytes are read for
 * every packet that is sent and every response that is received.
 */
struct uroce_ooo_responses {
	/* the responses that arrived ahead of a missing one; NULL if there are no such responses */
	struct uroce_psn_gap *gap;
	/*
	 * the reordering window: the time from which on the oldest response has been missing, and
	 * how late a response may be
	 */
	struct uroce_reorder_window reorder_window;
	uint64_t requested_ns; /* time at which missing responses were last requested again */
	/*
	 * shortest time from a repeated request to its response; 0: no repeated request got a
	 * response yet
	 */
	uint32_t min_response_ns;
	/*
	 * in all states but UROCE_OOO_RESPONSE_IN_ORDER: the peer has executed all requests before
	 * this PSN
	 */
	uint32_t seen_psn;
	/*
	 * in all states but UROCE_OOO_RESPONSE_IN_ORDER: missing responses before `begin` were
	 * requested again; in UROCE_OOO_RESPONSE_REORDERING and UROCE_OOO_RESPONSE_LOST, those in
	 * `[begin, end)` are requested next
	 */
	struct uroce_psn_range ask;
	/*
	 * in all states but UROCE_OOO_RESPONSE_IN_ORDER: no more responses are requested before
	 * seen_psn reaches this PSN
	 */
	uint32_t resume_psn;
	/*
	 * in the state UROCE_OOO_RESPONSE_LOST: a PSN range of responses that were requested again
	 * and were lost again; they are requested once more
	 */
	struct uroce_psn_range again;
	/*
	 * Missing responses before this PSN were requested again when max_psn had the value
	 * round_max_psn.
	 */
	uint32_t round_psn;
	/*
	 * When seen_psn has passed this PSN, the responses before round_psn that are still missing
	 * are lost once more.
	 */
	uint32_t round_max_psn;
	/*
	 * a response to a repeated request, with this PSN or a later one, proves that the earlier
	 * responses that are still missing are lost
	 */
	uint32_t proof_psn;
	/*
	 * in the state UROCE_OOO_RESPONSE_REORDERING: the time from which missing responses count
	 * as lost; otherwise UROCE_NEVER
	 */
	uint64_t deadline;
	/*
	 * valid while `due` has UROCE_OOO_RESPONSE_DUE_NAK: the PSN of the request that the peer
	 * has reported as missing
	 */
	uint32_t nak_psn;
	uint8_t state; /* state of the recovery of responses: enum uroce_ooo_response_state */
	uint8_t due;   /* requests that are to be sent: enum uroce_ooo_response_due, or-ed */
	uint8_t resv[2];
};

#endif /* UROCE_TRANSPORT_RECOVERY_RECOVERY_CONTEXT_H */
