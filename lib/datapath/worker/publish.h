/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_PUBLISH_H
#define UROCE_DATAPATH_PUBLISH_H

/**
 * @file
 * Publication of completions: they become visible after the ACKs of the completed messages have
 * left.
 *
 * A program that has seen a receive completion may inform its peer by other means, TCP for example.
 * The peer may then end the connection at once. If the ACK has not arrived by then, the peer's SEND
 * is flushed. So a round receives, transmits, and then publishes completions.
 *
 * An ACK has left when the port has taken its frame. If the daemon uroced carries the frames, a
 * frame to another host has left when uroced has forwarded it. For an embedder, a frame has left
 * when uroce_worker_output() has returned it.
 *
 * An ACK may also wait in the worker, because the port is full or other QPs have their turns first.
 * Its completions are published when it has left, but after UROCE_PUBLISH_MAX_NS at the latest.
 * Without this limit, a uroced that has ended or a port that takes no frames would delay these
 * completions for ever. Requests that complete meanwhile wait for the ACKs that are pending by
 * then.
 *
 * Some asynchronous events report that all requests have completed (IBV_EVENT_SQ_DRAINED,
 * IBV_EVENT_QP_LAST_WQE_REACHED). Before such an event, and before a control call returns, all
 * completions are published without waiting for ACKs.
 *
 * The caller holds the worker's lock.
 */

#include <stdbool.h>
#include <stdint.h>

#include "queue/cq.h"

/** Maximum time for which completions wait until their ACKs have left. */
#define UROCE_PUBLISH_MAX_NS UINT64_C(20000000)

struct uroce_worker;

/**
 * The stages through which ACKs pass. Each stage has a counter of entries that passed it, and
 * preserves their order. So the ACKs have passed a stage when its counter reaches the mark
 * (uroce_publishing.mark).
 */
enum uroce_ack_stage {
	/*
	 * The QPs that must send the ACKs are in the list of active QPs. The mark is compared with
	 * the count of QPs that were removed from this list.
	 */
	UROCE_ACK_SCHEDULED,
	/*
	 * The frames of the ACKs wait for the port. The mark is compared with the count of frames
	 * that the port took.
	 */
	UROCE_ACK_BUILT,
	/*
	 * The frames of the ACKs wait for the daemon uroced. The mark is an index in the ring from
	 * this process to uroced, which uroced must pass.
	 */
	UROCE_ACK_IN_RING,
	UROCE_ACK_LEFT,
};

struct uroce_publishing {
	struct uroce_cq_list list; /* list of the CQs that have unpublished completions */
	/* value of `nb_scheduled` (struct uroce_tx) when frames were received last */
	uint32_t scheduled;
	bool is_waiting; /* some completions wait until the ACKs that belong to them have left */
	bool is_far;     /* some ACKs go to another host, and must also be forwarded by uroced */
	enum uroce_ack_stage stage;
	/*
	 * Value that the counter of the stage `stage` must reach before all ACKs have passed the
	 * stage.
	 */
	uint32_t mark;
	uint64_t since_ns; /* time at which completions began to wait for ACKs */
};

/** Whether the worker has completions that are not published yet. */
bool uroce_publish_is_pending(const struct uroce_worker *worker);

/**
 * Record that frames have been received, and that the QPs that must acknowledge them have been
 * scheduled.
 */
void uroce_publish_await_ack(struct uroce_worker *worker);

/**
 * Record that a pending frame is dropped. It may have been ahead of ACKs that completions wait for.
 * @param idx  index of the frame in the pending frames, not counting frames dropped before
 */
void uroce_publish_drop(struct uroce_worker *worker, unsigned idx);

/** Publish completions whose ACKs have left, and notify their consumers. */
void uroce_publish(struct uroce_worker *worker);

/** Publish all completions now, without waiting for ACKs, and notify their consumers. */
void uroce_publish_now(struct uroce_worker *worker);

#endif /* UROCE_DATAPATH_PUBLISH_H */
