/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_LOSS_RECOVERY_H
#define UROCE_TRANSPORT_LOSS_RECOVERY_H

/**
 * @file
 * Loss recovery of requests. These functions decide what is retransmitted, and when the requester
 * goes back N.
 */

#include "transport/context.h"
#include "transport/recovery/recovery_state.h"

/**
 * Process an ACK that has moved una_psn (the oldest PSN that is not acknowledged) while a PSN gap
 * is open. The function returns what the caller has to do.
 */
enum uroce_recovery_action uroce_loss_recovery_ack(struct uroce_qpc *qpc, uint64_t now_ns);

/**
 * Process a NAK (PSN sequence error) that has moved una_psn (the oldest PSN that is not
 * acknowledged) to the missing PSN. The function returns what the caller has to do.
 */
enum uroce_recovery_action uroce_loss_recovery_nak(struct uroce_qpc *qpc, uint64_t now_ns);

/**
 * React to a loss from which the requester cannot recover by the retransmission of a single packet.
 * If the peer drops packets that are out of order (go-back-N), the congestion window is reduced.
 * @return the action to go back N at the first call; no action at further calls until the peer
 *	acknowledges packets
 */
enum uroce_recovery_action uroce_loss_recovery_lose(struct uroce_qpc *qpc);

/**
 * Reduce the congestion window (cwnd) if the peer is a go-back-N peer, because a loss makes the
 * requester go back N.
 */
void uroce_loss_recovery_reduce_cwnd(struct uroce_qpc *qpc);

/**
 * Reset the values that were learnt about the peer, and read them from the peer cache if it has an
 * entry of the host. The function must be called before the first packet is sent, and before the
 * first packet to another host is sent.
 */
void uroce_loss_recovery_start(struct uroce_qpc *qpc);

/**
 * Process a response that acknowledges packets before their retransmission. These packets had
 * arrived, so their retransmission would be spurious.
 */
void uroce_loss_recovery_on_spurious(struct uroce_qpc *qpc);

/**
 * Update the round-trip time, the probe timer and the congestion window after a response has
 * acknowledged packets.
 */
void uroce_loss_recovery_progress(struct uroce_qpc *qpc, uint64_t now_ns);

/**
 * Record that everything missing up to `psn` is being retransmitted or requested again, by a fast
 * retransmission or by a probe.
 */
void uroce_loss_recovery_note_retransmit(struct uroce_qpc *qpc, uint32_t psn, uint64_t now_ns);

/** If the probe timer has expired, schedule a probe, or return the action to go back N. */
enum uroce_recovery_action uroce_loss_recovery_expire(struct uroce_qpc *qpc, uint64_t now_ns);

/**
 * Get the next packet that has to be sent now as a fast retransmission or as a probe.
 * @return false: there is no such packet
 */
bool uroce_loss_recovery_next(struct uroce_qpc *qpc, struct uroce_retransmit *out, uint64_t now_ns);

/**
 * Get the next packet behind PSN gaps, to retransmit it with capacity that new packets leave
 * (opportunistic retransmission). The caller has no new packet to send.
 * @return false: there is no such packet
 */
bool uroce_loss_recovery_next_opportunistic(struct uroce_qpc *qpc, struct uroce_retransmit *out);

/**
 * Start a round-trip sample and the probe timer after a burst was built. `next_psn` and `max_psn`
 * are the values of the requester before the burst.
 */
void uroce_loss_recovery_sent(struct uroce_qpc *qpc, uint32_t next_psn, uint32_t max_psn,
			      uint64_t now_ns);

#endif /* UROCE_TRANSPORT_LOSS_RECOVERY_H */
