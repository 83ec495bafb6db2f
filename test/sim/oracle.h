/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_SIM_ORACLE_H
#define TEST_SIM_ORACLE_H

/**
 * @file
 * Who knows what is right. The oracle sees every call that is made on a QP and every frame, keeps
 * for each QP a shadow of its memory as it must be, and complains (world_complain) as soon as
 * something is not:
 *
 *	- a byte lands once, in order, where the request said, from a frame that arrived intact:
 *	  what the responder counts as executed must have arrived, and memory must then be as the
 *	  shadow; a duplicate, or what is too far ahead, must leave memory alone (it is changed
 *	  before the call, and must still be so after it); what nobody asked to be written is
 *	  compared at the end
 *	- an atomic is executed once, its result is what the word held
 *	- what is acknowledged was executed; what a READ response carries is what it should
 *	- each request completes once, in order, with a status that there is a reason for
 *	- the window and the number of READs and atomics on the wire keep their bounds, a fence holds
 *	- nothing but flushes, and what the responder owes, leaves ERR; nothing new leaves SQD
 *	- who waits for the peer has a timer, and what is on the wire ends within its retry budget
 *	- a CNP answers a mark, and not sooner after the last than agreed; no mark is forgotten; a
 *	  limited sender keeps to its rate, but for the burst that it may catch up with (paced.c)
 *	- at the end nothing is left undone, and both ends agree (oracle_end)
 */

#include <stdbool.h>
#include <stdint.h>

#include "qp.h"

struct frame;

/** A frame about to be handed to a QP: what it means. Between before_recv and after_recv. */
struct oracle_view {
	struct qp *flow;     /* whose requests it belongs to */
	struct request *req; /* NULL: unknown */
	uint32_t idx;        /* packet of the flow */
	uint8_t *land;       /* where its payload goes; NULL: it has none, or nobody knows */
	uint32_t land_at;    /* the same as an offset */
	uint32_t land_len;
	bool is_past;          /* it was executed before */
	uint64_t saved;        /* atomic: the word before the call */
	uint8_t flipped_first; /* a duplicate: what was put there before the call */
	uint8_t flipped_last;
};

/** Before and after a frame that is handed over alone. */
void oracle_before_recv(struct qp *qp, const struct uroce_pkt *pkt, struct oracle_view *view);
void oracle_after_recv(struct qp *qp, const struct uroce_pkt *pkt, const struct oracle_view *view,
		       enum uroce_verdict verdict);

/**
 * Before each frame, and after all, of a run. Where a frame lands is not looked at before the call, for
 * what comes before it in the run may change what is right: memory is compared when it counts as
 * executed, or, where a frame ahead of a hole may have been placed over it, at the end.
 */
void oracle_note_recv(struct qp *qp, const struct uroce_pkt *pkt, struct oracle_view *view);
void oracle_after_run(struct qp *qp, const struct uroce_pkt *pkts, const struct oracle_view *views,
		      const uint8_t *verdicts, unsigned nb);

/** Whether this packet may have landed before its turn: it has arrived, and is inside its WRITE. */
bool oracle_is_early(const struct qp *flow, const struct request *req, uint32_t idx);

/** A frame leaves a QP. */
void oracle_sent(struct qp *qp, const struct frame *frame);

/** A QP said that it has nothing to do. */
void oracle_idle(struct qp *qp);

/** After any other call: where the QP stands now, and what its completion queues say. */
void oracle_check(struct qp *qp);

/** A request is about to be posted; its packets are known. */
void oracle_posted(struct qp *qp, const struct request *req);

/** A request was cancelled: its packets are not sent any more. */
void oracle_cancelled(struct qp *qp, uint32_t nth);

/** After a modify. */
void oracle_modified(struct qp *qp, enum ibv_qp_state to);

/** Both ends are in RESET: what their connection left behind is as it must be. */
void oracle_buried(struct qp *a, struct qp *b);

/** An end of theirs begins anew, with other PSNs; nothing is known of it. */
void oracle_reborn(struct qp *qp);

/** A QP is destroyed, or its host died. */
void oracle_gone(struct qp *qp);

/** Nothing happens any more. */
void oracle_end(struct world *world);

#endif /* TEST_SIM_ORACLE_H */
