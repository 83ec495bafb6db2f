/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_RETRY_H
#define UROCE_TRANSPORT_RETRY_H

/**
 * @file
 * The requester's timers and retries, and the action of going back N.
 */

#include "transport/context.h"
#include "transport/recovery/recovery_state.h"

/** Set the retry counters to the values of the attributes retry_cnt and rnr_retry. */
void uroce_retry_refill(struct uroce_qpc *qpc);

/**
 * Go back N: set the send position back to una_psn, the oldest PSN that is not acknowledged, so
 * that everything in flight is retransmitted.
 */
void uroce_retry_rewind(struct uroce_qpc *qpc);

/** Start the ACK timer, unless the attribute `timeout` is 0 (no timeout). */
void uroce_retry_arm(struct uroce_qpc *qpc, uint64_t now_ns);

/**
 * Refill the retry counters and restart the ACK timer, because a response has acknowledged packets.
 */
void uroce_retry_progress(struct uroce_qpc *qpc, uint64_t now_ns);

/**
 * Carry out an action of loss recovery: if it is UROCE_RECOVERY_DO_GO_BACK_N, go back N and start
 * the ACK timer; any other action is ignored.
 */
void uroce_retry_carry_out(struct uroce_qpc *qpc, enum uroce_recovery_action action,
			   uint64_t now_ns);

/** Process those of the requester's timers that have expired: probe, RNR and ACK timer. */
void uroce_retry_expire(struct uroce_qpc *qpc, uint64_t now_ns);

#endif /* UROCE_TRANSPORT_RETRY_H */
