/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_DELAYED_ACK_H
#define UROCE_DATAPATH_DELAYED_ACK_H

/**
 * @file
 * Delayed ACK: an acknowledgement that waits until the program has posted its reply.
 *
 * A program that spins in poll_cq receives a message at once, and usually replies to it. An ACK
 * that is sent before the program has seen the message delays the reply by a whole transmission,
 * which is a system call on some ports. So the ACK is left to the next round, where it is
 * transmitted in one burst with the reply, behind it.
 *
 * A delayed ACK is sent at the first of these events:
 *
 * - The program polls again. If a request of the program is outstanding, the fifth poll counts. The
 *   program may wait for the completion of this request before it uses the buffer of the request
 *   again.
 * - A command is run, for example before the QP is destroyed or modified.
 * - The service thread finds that the program has not polled for 20 us.
 * - The process ends.
 *
 * An ACK is delayed only under these conditions:
 *
 * - Nothing completed, as with a WRITE. A program that sees a completion may inform its peer by
 *   other means (publish.h).
 * - Nothing else is to be sent.
 * - The program has polled without a break until now, and has replied to its latest messages
 *   before the poll at which a delayed ACK is sent.
 *
 * No timer is involved. A program that replies saves a transmission. One missing reply ends the
 * delays.
 *
 * A peer that sends its next message when it has the reply, and reads its completions later, does
 * not need an ACK for each message. One ACK for eight messages is enough. A trial finds out whether
 * the peer is of this kind: the ACK is kept even behind the reply. The trial succeeds if the peer's
 * next message arrives nevertheless within 10 us, or 40 us if a burst of the port is a system call.
 * Otherwise the peer waits for the ACK. After each failed trial the next one comes half as often,
 * down to one in 32 Ki messages.
 *
 * A peer of a failed trial is known to wait for its ACK. Until the next trial its ACK is sent in
 * one burst with a reply that is transmitted inline (inline_tx.h). Otherwise the ACK would follow a
 * round and a burst later.
 *
 * The caller holds the worker's lock, except at the end of the process.
 */

#include <stdbool.h>
#include <stdint.h>

struct uroce_worker;

/** The delayed ACK state of a worker. */
struct uroce_delayed_ack {
	unsigned nb_soon; /* number of consecutive polls, each soon after the previous one */
	/* Number of consecutive messages to which the program replied before it polled again. */
	unsigned nb_answered;
	/*
	 * The program did little between its latest two polls: they were less than TIGHT_NS apart.
	 */
	bool is_tight;
	bool is_open; /* the program has got a message, and may still reply to it */
	/* number of further polls before the reply of the program counts as missing */
	uint8_t nb_left;
	bool is_on; /* an ACK is delayed: the round has left it to the next round */
	/*
	 * A trial is in progress: the ACK was kept instead of sent with the reply, to find out
	 * whether the peer sends its next message without the ACK.
	 */
	bool is_kept;
	uint8_t nb_kept;      /* messages that arrived while the ACK was kept (see is_kept) */
	uint32_t nb_to_trial; /* messages before the next trial whether the peer needs the ACK */
	uint32_t trial_gap;   /* messages from a failed trial (see is_kept) to the next trial */
	uint32_t kept_msn;    /* MSN of the responder when the ACK was kept (see is_kept) */
	uint64_t kept_ns;     /* time at which the ACK was kept (see is_kept) */
};

/**
 * Record that a round of the application begins, and update the statistics of its polls and
 * replies.
 */
void uroce_delayed_ack_polled(struct uroce_worker *worker);

/** Whether the application does nothing but poll this worker, in quick succession. */
bool uroce_delayed_ack_is_spinning(const struct uroce_worker *worker);

/** Whether an ACK waits for a reply of the program or for the next message of the peer. */
bool uroce_delayed_ack_is_waiting(const struct uroce_worker *worker);

/**
 * Decide whether an ACK is delayed at the end of a round of the application. The round received
 * `nb` frames.
 * @return true: the round ends without transmission
 */
bool uroce_delayed_ack_begin(struct uroce_worker *worker, unsigned nb);

/**
 * Whether all pending frames must be sent with a reply that is transmitted inline, because the peer
 * is known to wait for the delayed ACK. A call that returns true also decrements `nb_to_trial`, the
 * number of messages until the worker tries again whether the peer sends its next message without
 * the ACK.
 */
bool uroce_delayed_ack_is_urgent(struct uroce_worker *worker);

/**
 * Whether this worker has a delayed ACK, which its next round may send. Any thread may call this
 * function.
 */
bool uroce_delayed_ack_is_left(const struct uroce_worker *worker);

/** End the delay of an ACK, because the worker transmits all its frames now. */
void uroce_delayed_ack_end(struct uroce_worker *worker);

/**
 * Get the worker with this index on a port, if the worker has a delayed ACK; NULL: the worker has
 * none. Any thread may call this function.
 * @param port  ID of the port, below UROCE_PORTS_MAX
 */
struct uroce_worker *uroce_delayed_ack_registered(unsigned port, unsigned idx);

/**
 * Whether this process registered the workers with delayed ACKs. The result is false if no worker
 * was registered, or if an ancestor registered them before it created this process by fork().
 */
bool uroce_delayed_ack_is_own_process(void);

/**
 * Send the delayed ACKs of all workers of this process, when the process ends. No worker may be
 * destroyed meanwhile.
 */
void uroce_delayed_ack_flush_all(void);

#endif /* UROCE_DATAPATH_DELAYED_ACK_H */
