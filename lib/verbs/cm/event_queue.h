/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_CM_EVENT_QUEUE_H
#define UROCE_VERBS_CM_EVENT_QUEUE_H

/**
 * @file
 * The queue of a channel's events that the program has not taken, and the count of events that the
 * program took and has not acknowledged.
 *
 * The caller holds uroce_vcm_lock, except where a comment says otherwise.
 */

#include "verbs/cm/id.h"
#include "verbs/uroce_cm_dv.h"

struct uroce_vcm_event {
	struct rdma_cm_event cm; /* the part of this struct that the program gets */
	struct uroce_vcm_event *next;
	/* id whose channel has the event: the listener for CONNECT_REQUEST, otherwise `cm.id` */
	struct uroce_vcm_id *owner;
	/* group of a MULTICAST_JOIN or MULTICAST_ERROR; NULL: another event */
	struct uroce_vcm_group *group;
	/* memory for the private data of the event, to which `cm` points */
	uint8_t private_data[UROCE_CM_EVENT_PRIVATE_LEN];
};

struct uroce_vcm_channel {
	/*
	 * the part of the channel that the program sees; `fd` is an eventfd, readable while `first`
	 * is not NULL
	 */
	struct rdma_event_channel cm;
	struct uroce_vcm_event *first, **end;
	unsigned nb_ids; /* number of ids that use this channel */
	/*
	 * functions that watch the channel (uroce_cm_dv.h), and their argument; NULL: no functions
	 * watch it
	 */
	const struct uroce_cm_dv_watch *watch;
	void *watch_arg;
};

static inline struct uroce_vcm_channel *
uroce_vcm_channel(struct rdma_event_channel *cm)
{
	return (struct uroce_vcm_channel *)cm;
}

/**
 * Create a channel. The caller need not hold uroce_vcm_lock.
 * @return the channel, or NULL with errno
 */
struct uroce_vcm_channel *uroce_vcm_channel_new(void);

/** Free a channel and the events in it. */
void uroce_vcm_channel_free(struct uroce_vcm_channel *channel);

/**
 * Append an event to the channel of the id that owns the event. If the functions that watch the
 * channel (uroce_cm_dv.h) do not accept the event, it is freed.
 */
void uroce_vcm_event_push(struct uroce_vcm_event *event);

/**
 * Take the oldest event of a channel, and count the event as not acknowledged.
 * @return the event; NULL: the channel has no event
 */
struct uroce_vcm_event *uroce_vcm_event_pop(struct uroce_vcm_channel *channel);

/**
 * The program acknowledges an event: subtract one from the count of unacknowledged events of the id
 * that owns the event. The caller frees the event.
 */
void uroce_vcm_event_ack(struct uroce_vcm_event *event);

/** Make another id the owner of an event that the program took and has not acknowledged. */
void uroce_vcm_event_rehome(struct uroce_vcm_event *event, struct uroce_vcm_id *owner);

/**
 * Remove the pending events of an id from its channel. If `group` is not NULL, remove only the
 * events of this group.
 * @return the list of the removed events, linked by `next`
 */
struct uroce_vcm_event *uroce_vcm_event_purge(struct uroce_vcm_id *id,
					      const struct uroce_vcm_group *group);

/** Move an id and its pending events to another channel. */
void uroce_vcm_event_migrate(struct uroce_vcm_id *id, struct uroce_vcm_channel *to);

/**
 * Wait until `*nb_unacked`, a number of unacknowledged events, is 0. uroce_vcm_lock is released
 * while the call waits.
 */
void uroce_vcm_event_await_acks(const unsigned *nb_unacked);

#endif /* UROCE_VERBS_CM_EVENT_QUEUE_H */
