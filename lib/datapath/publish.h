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
 * has passed it on. Until then completions that such an acknowledgement is owed for are not published, but for no longer than UROCE_PUBLISH_MAX_NS: uroced
 * may have ended. What completes meanwhile is published when uroced has passed on what it has in hand by then.
 *
 * An asynchronous event that says that all was completed (IBV_EVENT_SQ_DRAINED, IBV_EVENT_QP_LAST_WQE_REACHED) follows
 * the completions: they are published before it at once.
 *
 * Not covered: an acknowledgement that waits in the worker, because the port is full or because frames of other
 * QPs are before it. And that of an embedder, who receives by one call and transmits by another one: completions are published
 * when the call returns.
 *
 * By the thread that holds the worker's lock.
 */

#include <stdbool.h>
#include <stdint.h>

#include "queue/cq.h"

/** The longest time that completions wait for uroced. */
#define UROCE_PUBLISH_MAX_NS UINT64_C(20000000)

struct uroce_worker;

struct uroce_publishing {
	struct uroce_cq_list list; /* CQs with completions that are not published */
	bool is_waiting; /* some of them are due when uroced has passed on the frames until `mark` */
	uint32_t mark;   /* index of the lane up */
	uint64_t since_ns; /* when it was set */
};

/** Whether completions are not published yet. */
bool uroce_publish_is_pending(const struct uroce_worker *worker);

/** Publish what completed, if what is owed for it has left, and tell consumers. */
void uroce_publish(struct uroce_worker *worker);

/** Publish all that completed. */
void uroce_publish_now(struct uroce_worker *worker);

#endif /* UROCE_DATAPATH_PUBLISH_H */
