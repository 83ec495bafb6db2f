/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_PUBLISH_H
#define UROCE_DATAPATH_PUBLISH_H

/**
 * @file
 * When completions become visible: after the acknowledgements of what completed have left.
 *
 * A program that has seen a receive completion may tell its peer by other means, TCP for example, and the peer may end
 * the connection at once. Its SEND is flushed then, if the acknowledgement is not there. So a round receives, transmits,
 * and publishes after that.
 *
 * A frame has left when the port has taken it. Of a port whose frames uroced carries, one to another host has left when uroced
 * has passed it on. An acknowledgement may also wait in the worker, since the port is full or QPs are before its QP in line.
 * Until it has left, completions that it is owed for are not published, but for no longer than UROCE_PUBLISH_MAX_NS: uroced
 * may have ended, and a port may take nothing any more. What completes meanwhile waits until the acknowledgements that are
 * owed by then have left.
 *
 * An embedder's acknowledgement has left when uroce_worker_output() has handed it out.
 *
 * An asynchronous event that says that all was completed (IBV_EVENT_SQ_DRAINED, IBV_EVENT_QP_LAST_WQE_REACHED) follows
 * the completions: they are published before it at once. So they are before a control call returns.
 *
 * By the thread that holds the worker's lock.
 */

#include <stdbool.h>
#include <stdint.h>

#include "queue/cq.h"

/** The longest time that completions wait for acknowledgements. */
#define UROCE_PUBLISH_MAX_NS UINT64_C(20000000)

struct uroce_worker;

/** Where acknowledgements are; each stage keeps their order, so that a mark tells when all have left it. */
enum uroce_ack_stage {
	UROCE_ACK_LINED,   /* their QPs are in line; mark: QPs taken out of it */
	UROCE_ACK_BUILT,   /* they wait for the port; mark: frames that it took */
	UROCE_ACK_IN_LANE, /* and for uroced; mark: index of the lane up */
	UROCE_ACK_LEFT,
};

struct uroce_publishing {
	struct uroce_cq_list list; /* CQs with completions that are not published */
	uint32_t lined;            /* QPs put in line when frames were received last */
	bool is_waiting; /* some completions are due when their acknowledgements have left */
	bool is_far;     /* which is when uroced has passed them on */
	enum uroce_ack_stage stage;
	uint32_t mark;     /* of this stage */
	uint64_t since_ns; /* when the wait began */
};

/** Whether completions are not published yet. */
bool uroce_publish_is_pending(const struct uroce_worker *worker);

/** Frames have been received: the QPs that owe for them are in line. */
void uroce_publish_await_ack(struct uroce_worker *worker);

/** Publish what completed, if what is owed for it has left, and tell consumers. */
void uroce_publish(struct uroce_worker *worker);

/** Publish all that completed. */
void uroce_publish_now(struct uroce_worker *worker);

#endif /* UROCE_DATAPATH_PUBLISH_H */
