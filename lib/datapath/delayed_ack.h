/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_DELAYED_ACK_H
#define UROCE_DATAPATH_DELAYED_ACK_H

/**
 * @file
 * An acknowledgement that waits for one look of a program that answers.
 *
 * A program that spins in poll_cq has a message in its hands at once, and mostly answers it. An
 * acknowledgement that goes out before the program has seen the message costs the answer the time of
 * a whole transmission, which on some ports is a system call. So it is left to the next round, where it
 * leaves in one burst with the answer, and behind it.
 *
 * That is the next poll of the program; where a request of its own is unanswered, whose completion it may
 * want to see before it uses the buffer again, the next five; or a control call, as before the QP is
 * destroyed or changed; or the service thread, when it finds that the program has not polled for 20 us; or
 * the end of the process, if that comes first. It is done only where nothing completed, as of a WRITE: a program that
 * sees a completion may tell its peer by other means (publish.h). And only where nothing else is to be sent, for a
 * program that has polled without a break until now and has answered its last messages within so many
 * polls. No timer is involved: who answers gains a transmission, and one answer that does not come ends
 * the habit.
 *
 * A peer that sends its next message when it has the answer, and looks at its completions some time, needs
 * no acknowledgement for each: one does for eight. Whether it is of that kind shows when an acknowledgement
 * is kept behind the answer, too: its next message comes nevertheless, or it does not within 10 us. It is
 * tried now and then; each time that it fails, half as often, down to once in 32 Ki messages.
 *
 * Meanwhile the peer is known to wait: its acknowledgement leaves in one burst with an answer that goes straight to
 * the port (inline_tx.h), where it would else be a round and a burst behind.
 *
 * By the thread that holds the worker's lock, except for the end of the process.
 */

#include <stdbool.h>
#include <stdint.h>

struct uroce_worker;

/** What a worker knows of it. */
struct uroce_delayed_ack {
	unsigned nb_soon; /* polls in a row, each soon after the one before */
	unsigned
		nb_answered; /* messages in a row that the program answered before it polled again */
	bool is_tight;       /* the last two, with little but the look at the result between them */
	bool is_open;        /* the last poll ended with one that it may answer */
	uint8_t nb_left;     /* polls that it may make before it does */
	bool is_on;          /* an acknowledgement is left to the next round */
	bool is_kept;        /* it was answered, and waits for the peer's next message */
	uint8_t nb_kept;     /* messages that came meanwhile */
	uint32_t nb_to_trial; /* messages before one is kept again */
	uint32_t trial_gap;   /* messages from one that failed to the next */
	uint32_t kept_msn;    /* the peer's messages that had come when it was kept */
	uint64_t kept_ns;     /* when that was */
};

/** A round of an application begins. */
void uroce_delayed_ack_polled(struct uroce_worker *worker);

/** Whether the application does nothing but poll. */
bool uroce_delayed_ack_is_spinning(const struct uroce_worker *worker);

/** Whether an acknowledgement waits for an answer that has not been posted. */
bool uroce_delayed_ack_is_waiting(const struct uroce_worker *worker);

/** Whether what is to be sent after a round of the application that received `nb` frames waits. */
bool uroce_delayed_ack_begin(struct uroce_worker *worker, unsigned nb);

/**
 * An answer is about to go straight to the port: whether everything is to be sent with it, since the peer is known to
 * wait for the acknowledgement that was left.
 */
bool uroce_delayed_ack_is_urgent(struct uroce_worker *worker);

/** Whether this worker has left an acknowledgement to its next round. Any thread. */
bool uroce_delayed_ack_is_left(const struct uroce_worker *worker);

/** Everything is sent now. */
void uroce_delayed_ack_end(struct uroce_worker *worker);

/** Send what any worker of this process has left, while none is destroyed: at the end of the process. */
void uroce_delayed_ack_flush_all(void);

#endif /* UROCE_DATAPATH_DELAYED_ACK_H */
