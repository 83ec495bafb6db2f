/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_SIM_ORACLE_H
#define TEST_SIM_ORACLE_H

/**
 * @file
 * The oracle: it sees every call on a QP and every frame. For each QP it has a shadow, which is a
 * copy of the QP's memory with the content that the memory must have. The oracle calls
 * world_complain() as soon as one of these rules is broken:
 *
 * - A byte is written once, in order, where the request says, from a frame that arrived intact.
 *   What the responder counts as executed must have arrived, and memory must then equal the shadow.
 *   A duplicate, or a packet too far ahead, must not change memory: the oracle changes memory
 *   before the QP receives such a frame and compares it afterwards. Memory that no request writes
 *   is compared at the end.
 * - An atomic is executed once, and its result is the previous value of the word.
 * - What is acknowledged was executed. READ responses carry the right bytes.
 * - Each request completes once, in order, with a status for which there is a reason.
 * - The packets and the READs and atomics in flight stay within their limits. A fence is obeyed.
 * - A QP in ERR sends nothing but outstanding responses, and completes requests only by flushing
 *   them. A QP in SQD begins no request.
 * - A QP that waits for its peer has a timer. Every packet in flight is acknowledged, or fails,
 *   within its retry budget.
 * - A CNP follows an ECN mark, but not sooner after the previous CNP than configured. No mark is
 *   ignored. A QP with a limited rate does not exceed the rate, except for the allowed burst
 *   (paced.c).
 * - At the end nothing is pending, and both ends agree (oracle_end).
 */

#include <stdbool.h>
#include <stdint.h>

#include "qp.h"

struct frame;

/**
 * What the oracle knows of a frame that a QP receives. Valid from oracle_before_recv() to
 * oracle_after_recv(), or from oracle_note_recv() to oracle_after_run().
 */
struct oracle_view {
	struct qp *flow;     /* the QP whose requests the packet belongs to */
	struct request *req; /* the request of the packet; NULL: the request is unknown */
	uint32_t idx;        /* number of the packet in the flow */
	/*
	 * where the payload of the packet will be written; NULL: the packet has no payload, or its
	 * place is unknown
	 */
	uint8_t *land;
	uint32_t land_at; /* offset of `land` in the QP's memory */
	uint32_t land_len;
	bool is_past;   /* the packet is a duplicate: it was executed, or acknowledged, before */
	uint64_t saved; /* atomic: the word in memory before the QP received the frame */
	/*
	 * the first and the last byte at `land` when the QP received the frame; changed by the
	 * oracle for a duplicate
	 */
	uint8_t flipped_first;
	uint8_t flipped_last;
};

/**
 * Check a frame that is delivered alone: to be called before and after the QP receives the frame.
 */
void oracle_before_recv(struct qp *qp, const struct uroce_pkt *pkt, struct oracle_view *view);
void oracle_after_recv(struct qp *qp, const struct uroce_pkt *pkt, const struct oracle_view *view,
		       enum uroce_verdict verdict);

/**
 * Check a burst of frames: to be called before each frame of the burst, and after the QP has
 * received the burst.
 *
 * Memory is not recorded before the burst, because earlier frames of the burst may change it. The
 * place of a frame is compared when the frame counts as executed. If an out-of-order frame may have
 * been placed there, memory is compared only at the end.
 */
void oracle_note_recv(struct qp *qp, const struct uroce_pkt *pkt, struct oracle_view *view);
void oracle_after_run(struct qp *qp, const struct uroce_pkt *pkts, const struct oracle_view *views,
		      const uint8_t *verdicts, unsigned nb);

/**
 * Whether a packet may have been placed out of order: the packet has arrived, and is neither the
 * first nor the last one of a WRITE to plain memory.
 */
bool oracle_is_early(const struct qp *flow, const struct request *req, uint32_t idx);

/** Check a frame that a QP sends: to be called for each frame. */
void oracle_sent(struct qp *qp, const struct frame *frame);

/** Check a QP that has nothing to send: to be called when uroce_qpc_has_work() returns false. */
void oracle_idle(struct qp *qp);

/** To be called after any other call on a QP: checks its state and its completion queues. */
void oracle_check(struct qp *qp);

/** To be called just before a request is posted, when the number of its packets is known. */
void oracle_posted(struct qp *qp, const struct request *req);

/** To be called when a request was cancelled: its packets must not be sent any more. */
void oracle_cancelled(struct qp *qp, uint32_t nth);

/** To be called after uroce_qpc_modify() has moved a QP to state `to`. */
void oracle_modified(struct qp *qp, enum ibv_qp_state to);

/**
 * To be called when both ends of a connection are in RESET: checks the memory that the connection
 * leaves behind.
 */
void oracle_buried(struct qp *a, struct qp *b);

/**
 * To be called when an end connects again with other PSNs: discards the state of its earlier
 * connection.
 */
void oracle_reborn(struct qp *qp);

/** To be called when a QP is destroyed, or its host has crashed. */
void oracle_gone(struct qp *qp);

/** To be called at the end of a run, when no events are left. */
void oracle_end(struct world *world);

#endif /* TEST_SIM_ORACLE_H */
