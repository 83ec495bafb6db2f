/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_LOSS_RECOVERY_H
#define UROCE_TRANSPORT_LOSS_RECOVERY_H

/**
 * @file
 * Loss recovery of requests: what is retransmitted, and when the requester goes back N.
 */

#include "transport/context.h"
#include "transport/recovery_state.h"

/** An ACK has moved una_psn while a hole is open: what now? */
enum uroce_recovery_action uroce_loss_recovery_ack(struct uroce_qpc *qpc, uint64_t now_ns);

/** A NAK of a PSN sequence error has moved una_psn to where it is: what now? */
enum uroce_recovery_action uroce_loss_recovery_nak(struct uroce_qpc *qpc, uint64_t now_ns);

/**
 * Something is lost, and nothing but all of it can be sent again: once for each place where that happens. To a
 * peer that drops perhaps in a smaller window.
 */
enum uroce_recovery_action uroce_loss_recovery_lose(struct uroce_qpc *qpc);

/** Everything goes again since something was lost: to a peer that drops, perhaps in a smaller window. */
void uroce_loss_recovery_reduce_cwnd(struct uroce_qpc *qpc);

/** The first packet, or the first to another host, is still to be sent: what is known of the host is believed. */
void uroce_loss_recovery_start(struct uroce_qpc *qpc);

/** An answer came to what was not sent again yet. */
void uroce_loss_recovery_on_spurious(struct uroce_qpc *qpc);

/** una_psn has moved. */
void uroce_loss_recovery_progress(struct uroce_qpc *qpc, uint64_t now_ns);

/** What is missing up to `psn` is sent again, or asked for: a repair, or a probe. */
void uroce_loss_recovery_note_retransmit(struct uroce_qpc *qpc, uint32_t psn, uint64_t now_ns);

/** The time for a probe may have come. */
enum uroce_recovery_action uroce_loss_recovery_expire(struct uroce_qpc *qpc, uint64_t now_ns);

/** A repair or a probe that is due: it is sent now. @return false: there is none */
bool uroce_loss_recovery_next(struct uroce_qpc *qpc, struct uroce_retransmit *out, uint64_t now_ns);

/** Nothing new can be sent: one more of the packets behind holes. @return false: there is none */
bool uroce_loss_recovery_next_spare(struct uroce_qpc *qpc, struct uroce_retransmit *out);

/** A burst was built, before which max_psn was that. */
void uroce_loss_recovery_sent(struct uroce_qpc *qpc, uint32_t next_psn, uint32_t max_psn,
			      uint64_t now_ns);

#endif /* UROCE_TRANSPORT_LOSS_RECOVERY_H */
