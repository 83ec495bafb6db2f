/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_RECOVERY_STATE_H
#define UROCE_TRANSPORT_RECOVERY_STATE_H

/**
 * @file
 * The state machine of the requester's loss recovery: states, events and actions. The state machine
 * sends nothing and arms no timer. loss_recovery.c raises the events, and decides what a state
 * means for the next packet.
 */

#include <stdint.h>

#include "transport/context.h"

/** Events of the requester's loss recovery. */
enum uroce_recovery_event {
	/* the peer misses the oldest packet in flight (at una_psn), and perhaps only this packet */
	UROCE_RECOVERY_ON_GAP,
	/* the PSN gap is closed: the peer has the packet that was retransmitted */
	UROCE_RECOVERY_ON_GAP_CLOSED,
	UROCE_RECOVERY_ON_PTO, /* probe timeout: no response came for two round trips */
	/* the oldest packet in flight (at una_psn) was sent as a probe */
	UROCE_RECOVERY_ON_PROBE_SENT,
	/* the peer has acknowledged the packet that was sent as a probe */
	UROCE_RECOVERY_ON_PROBE_ACKED,
	/* the peer has acknowledged packets, so una_psn has moved */
	UROCE_RECOVERY_ON_PROGRESS,
	/* packets are lost, and the retransmission of a single packet is not enough */
	UROCE_RECOVERY_ON_LOSS,
	UROCE_RECOVERY_ON_ACK_TIMEOUT, /* the ACK timer expired, and a retry is left */
	UROCE_RECOVERY_ON_RNR_NAK,     /* the peer has no receive request, and a retry is left */
	UROCE_RECOVERY_ON_RNR_EXPIRED, /* the RNR timer has expired, so the requester may send */
	/* the requester went back N: the send position is at una_psn again */
	UROCE_RECOVERY_ON_REWOUND,
	UROCE_RECOVERY_EVENT_NB
};

/** What the caller of uroce_recovery_step() has to do. */
enum uroce_recovery_action {
	UROCE_RECOVERY_DO_NOTHING,
	UROCE_RECOVERY_DO_RETRANSMIT, /* retransmit only the oldest packet in flight (at una_psn) */
	/*
	 * send a probe: retransmit the first packet in flight, the newest, or both, and request an
	 * ACK
	 */
	UROCE_RECOVERY_DO_PROBE,
	/* go back N: retransmit everything in flight, from una_psn on */
	UROCE_RECOVERY_DO_GO_BACK_N,
};

/** A single packet to retransmit. The send position does not change. */
struct uroce_retransmit {
	uint32_t psn;
	/* number of responses, from `psn` on, that the packet requests, if it is a READ */
	uint32_t nb;
	bool is_asking; /* the packet to retransmit requests an ACK */
};

/**
 * Process an event of loss recovery, which may change the state.
 * @return the action that the caller has to carry out now
 */
enum uroce_recovery_action uroce_recovery_step(struct uroce_loss_recovery *recovery,
					       enum uroce_recovery_event event);

/** Get the name of a state of loss recovery, for traces. */
const char *uroce_recovery_state_name(enum uroce_recovery_state state);

/**
 * Clear the pending work of loss recovery after the requester went back N: PSN gaps, probes and the
 * round-trip sample. The values that were learnt about the peer are kept.
 */
void uroce_recovery_rewound(struct uroce_req *req);

/**
 * Whether the requester went back N because of a loss (not because of an ACK timeout), and the peer
 * has acknowledged no packet since.
 */
static inline bool
uroce_recovery_is_loss(const struct uroce_loss_recovery *recovery)
{
	return recovery->state == UROCE_RECOVERY_LOSS ||
	       recovery->state == UROCE_RECOVERY_LOSS_PROBE ||
	       recovery->state == UROCE_RECOVERY_LOSS_FAST_RETX;
}

/** Whether a probe is in flight that the peer has not acknowledged yet. */
static inline bool
uroce_recovery_is_probing(const struct uroce_loss_recovery *recovery)
{
	return recovery->state == UROCE_RECOVERY_PROBE ||
	       recovery->state == UROCE_RECOVERY_LOSS_PROBE;
}

#endif /* UROCE_TRANSPORT_RECOVERY_STATE_H */
