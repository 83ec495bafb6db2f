/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_EVENT_H
#define UROCE_DATAPATH_EVENT_H

/**
 * @file
 * The asynchronous events of a device: a bounded queue, and an eventfd that polls readable while
 * one waits.
 *
 * Workers, EAL's interrupt thread and control threads push; the application pops. An event that
 * waits already is not queued again, so the bound (two for each QP and SRQ, and some) is enough for what
 * can be outstanding at a time; should it be reached, the newest events are dropped.
 */

#include <stdbool.h>
#include <stdint.h>
#include <infiniband/verbs.h>

/** What happened to a device or one of its objects. */
struct uroce_dev_event {
	enum ibv_event_type type;
	void *cookie; /* a QP's event_cookie; a CQ's struct uroce_cq; NULL: the port */
};

struct uroce_event_queue;

/** @param max_objects  QPs and SRQs. @return the queue, or NULL after one logged line: no memory, no file descriptor */
struct uroce_event_queue *uroce_event_queue_create(uint32_t max_objects);
void uroce_event_queue_destroy(struct uroce_event_queue *queue);

/** Any thread. */
void uroce_event_push(struct uroce_event_queue *queue, enum ibv_event_type type, void *cookie);

/** Take the oldest. @return whether there was one */
bool uroce_event_pop(struct uroce_event_queue *queue, struct uroce_dev_event *event);

/** Forget what waits for an object that is going away. */
void uroce_event_purge(struct uroce_event_queue *queue, const void *cookie);

/** In a child of fork(): what was inherited under this number is the parent's, so put a descriptor of our own there. */
void uroce_event_queue_renew(struct uroce_event_queue *queue);

/** Polls readable while an event waits. */
int uroce_event_fd(const struct uroce_event_queue *queue);

#endif /* UROCE_DATAPATH_EVENT_H */
