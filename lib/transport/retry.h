/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_RETRY_H
#define UROCE_TRANSPORT_RETRY_H

/**
 * @file
 * The requester's timers and retries, and going back N.
 */

#include "transport/context.h"
#include "transport/recovery_state.h"

/** Full retry counters, as the attributes have them now. */
void uroce_retry_refill(struct uroce_qpc *qpc);

/** Send again from una_psn on (go back N). */
void uroce_retry_rewind(struct uroce_qpc *qpc);

/** The ACK timer runs from now on, if there is one. */
void uroce_retry_arm(struct uroce_qpc *qpc, uint64_t now_ns);

/** The peer moved us forward: full retry counters, timer from now on. */
void uroce_retry_progress(struct uroce_qpc *qpc, uint64_t now_ns);

/** Do what recovery decided. */
void uroce_retry_carry_out(struct uroce_qpc *qpc, enum uroce_recovery_action action,
			   uint64_t now_ns);

/** A timer may have run out: that of a probe, of an RNR NAK, or of an ACK. */
void uroce_retry_expire(struct uroce_qpc *qpc, uint64_t now_ns);

#endif /* UROCE_TRANSPORT_RETRY_H */
