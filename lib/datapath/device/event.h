/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_EVENT_H
#define UROCE_DATAPATH_EVENT_H

/**
 * @file
 * The asynchronous events of a device: a bounded queue, and an eventfd that polls readable while an
 * event is pending.
 *
 * Workers, EAL's interrupt thread and control threads push events; the application pops them. An
 * event that is pending already is not queued again. The queue has room for two events of each QP
 * and SRQ, and for 64 more. If the queue is full, new events are dropped.
 */

#include <stdbool.h>
#include <stdint.h>
#include <infiniband/verbs.h>

/** An event of a device or of one of its objects. */
struct uroce_dev_event {
	enum ibv_event_type type;
	/*
	 * Object to which the event applies: the event_cookie of a QP, the cookie of an SRQ, or the
	 * struct uroce_cq of a CQ; NULL: the port.
	 */
	void *cookie;
};

struct uroce_event_queue;

/**
 * Create an event queue.
 * @param max_objects  maximum number of QPs and SRQs
 * @return the queue; NULL after one logged line: no memory, or no file descriptor
 */
struct uroce_event_queue *uroce_event_queue_create(uint32_t max_objects);
void uroce_event_queue_destroy(struct uroce_event_queue *queue);

/** Queue an event, unless the event is pending already. Any thread may call this function. */
void uroce_event_push(struct uroce_event_queue *queue, enum ibv_event_type type, void *cookie);

/**
 * Take the oldest pending event.
 * @return whether an event was pending
 */
bool uroce_event_pop(struct uroce_event_queue *queue, struct uroce_dev_event *event);

/** Remove the pending events of an object that will be destroyed. */
void uroce_event_purge(struct uroce_event_queue *queue, const void *cookie);

/**
 * Renew the queue in a child of fork(): the inherited eventfd, which the parent uses, is replaced
 * by a new one under the same number.
 */
void uroce_event_queue_renew(struct uroce_event_queue *queue);

/** Get the file descriptor of the queue, which polls readable while an event is pending. */
int uroce_event_fd(const struct uroce_event_queue *queue);

#endif /* UROCE_DATAPATH_EVENT_H */
