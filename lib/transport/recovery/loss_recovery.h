/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_LOSS_RECOVERY_H
#define UROCE_TRANSPORT_LOSS_RECOVERY_H

/**
 * @file
 * Loss recovery of requests: what is retransmitted, and when the requester goes back N.
 */

#include "transport/context.h"
#include "transport/recovery/recovery_state.h"

/** Decide what to do after an ACK has moved una_psn while a PSN gap is open. */
enum uroce_recovery_action uroce_loss_recovery_ack(struct uroce_qpc *qpc, uint64_t now_ns);

/** Decide what to do after a NAK (PSN sequence error) has moved una_psn to the missing PSN. */
enum uroce_recovery_action uroce_loss_recovery_nak(struct uroce_qpc *qpc, uint64_t now_ns);

/**
 * React to a loss that no single packet can recover from: go back N, once for each una_psn. For a
 * go-back-N peer cwnd may become smaller.
 */
enum uroce_recovery_action uroce_loss_recovery_lose(struct uroce_qpc *qpc);

/** Reduce cwnd to a go-back-N peer, because a loss makes the requester go back N. */
void uroce_loss_recovery_reduce_cwnd(struct uroce_qpc *qpc);

/**
 * Take over what the peer cache knows of the host. To be called before the first packet, or before
 * the first packet to another host.
 */
void uroce_loss_recovery_start(struct uroce_qpc *qpc);

/**
 * React to a response that acknowledges packets which were to be retransmitted and were not yet:
 * they had arrived.
 */
void uroce_loss_recovery_on_spurious(struct uroce_qpc *qpc);

/** Update the round trip, the probe timer and cwnd after una_psn has moved. */
void uroce_loss_recovery_progress(struct uroce_qpc *qpc, uint64_t now_ns);

/**
 * Record that what is missing up to `psn` is being retransmitted or requested again, as a fast
 * retransmission or as a probe.
 */
void uroce_loss_recovery_note_retransmit(struct uroce_qpc *qpc, uint32_t psn, uint64_t now_ns);

/** Send a probe, or go back N, if the probe timer has expired. */
enum uroce_recovery_action uroce_loss_recovery_expire(struct uroce_qpc *qpc, uint64_t now_ns);

/**
 * Take the next packet that fast retransmission or a probe has to send now.
 * @return false: there is none
 */
bool uroce_loss_recovery_next(struct uroce_qpc *qpc, struct uroce_retransmit *out, uint64_t now_ns);

/**
 * Take the next packet behind PSN gaps, for opportunistic retransmission when nothing new can be
 * sent.
 * @return false: there is none
 */
bool uroce_loss_recovery_next_spare(struct uroce_qpc *qpc, struct uroce_retransmit *out);

/**
 * Start a round-trip sample and the probe timer after a burst was built. `next_psn` and `max_psn`
 * are the values of the requester before the burst.
 */
void uroce_loss_recovery_sent(struct uroce_qpc *qpc, uint32_t next_psn, uint32_t max_psn,
			      uint64_t now_ns);

#endif /* UROCE_TRANSPORT_LOSS_RECOVERY_H */
