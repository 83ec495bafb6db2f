/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_EVENT_H
#define UROCE_DATAPATH_EVENT_H

/**
 * @file
 * The asynchronous events of a device: a bounded queue, and an eventfd that polls readable while an
 * event is pending.
 *
 * Workers, EAL's interrupt thread and control threads push events; the application pops them. An
 * event that is pending already is not queued again. So the bound of two events for each QP and
 * SRQ, and some more, suffices. If it is reached nevertheless, the newest events are dropped.
 */

#include <stdbool.h>
#include <stdint.h>
#include <infiniband/verbs.h>

/** An event of a device or of one of its objects. */
struct uroce_dev_event {
	enum ibv_event_type type;
	void *cookie; /* a QP's event_cookie; a CQ's struct uroce_cq; NULL: the port */
};

struct uroce_event_queue;

/**
 * Create an event queue.
 * @param max_objects  maximum of QPs and SRQs
 * @return the queue; NULL after one logged line: no memory, no file descriptor
 */
struct uroce_event_queue *uroce_event_queue_create(uint32_t max_objects);
void uroce_event_queue_destroy(struct uroce_event_queue *queue);

/** Queue an event, unless it is pending already. Any thread. */
void uroce_event_push(struct uroce_event_queue *queue, enum ibv_event_type type, void *cookie);

/**
 * Take the oldest event.
 * @return whether there was one
 */
bool uroce_event_pop(struct uroce_event_queue *queue, struct uroce_dev_event *event);

/** Remove the pending events of an object that will be destroyed. */
void uroce_event_purge(struct uroce_event_queue *queue, const void *cookie);

/**
 * In a child of fork(): replace the inherited eventfd, which the parent uses, by a new one under
 * the same number.
 */
void uroce_event_queue_renew(struct uroce_event_queue *queue);

/** The file descriptor of the queue. It polls readable while an event is pending. */
int uroce_event_fd(const struct uroce_event_queue *queue);

#endif /* UROCE_DATAPATH_EVENT_H */
