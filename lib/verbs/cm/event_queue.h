/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_CM_EVENT_QUEUE_H
#define UROCE_VERBS_CM_EVENT_QUEUE_H

/**
 * @file
 * The queue of a channel's events that the program has not taken, and the count of those that it
 * took and has not acknowledged.
 *
 * The caller holds uroce_vcm_lock, except where a comment says otherwise.
 */

#include "verbs/cm/id.h"
#include "verbs/uroce_cm_dv.h"

struct uroce_vcm_event {
	struct rdma_cm_event cm; /* what the program gets */
	struct uroce_vcm_event *next;
	/* the id whose queue entry this is: of CONNECT_REQUEST the listener, else `cm.id` */
	struct uroce_vcm_id *owner;
	/* group of MULTICAST_JOIN and MULTICAST_ERROR; NULL: another event */
	struct uroce_vcm_group *group;
	/* memory for the private data of the event */
	uint8_t private_data[UROCE_CM_EVENT_PRIVATE_LEN];
};

struct uroce_vcm_channel {
	struct rdma_event_channel cm; /* `fd`: eventfd, readable while `first` is not NULL */
	struct uroce_vcm_event *first, **end;
	unsigned nb_ids; /* ids whose channel this is */
	/* functions that watch the channel, and their argument; NULL: none */
	const struct uroce_cm_dv_watch *watch;
	void *watch_arg;
};

static inline struct uroce_vcm_channel *
uroce_vcm_channel(struct rdma_event_channel *cm)
{
	return (struct uroce_vcm_channel *)cm;
}

/** Create a channel. The lock need not be held. @return NULL with errno */
struct uroce_vcm_channel *uroce_vcm_channel_new(void);

/** Free a channel and the events in it. */
void uroce_vcm_channel_free(struct uroce_vcm_channel *channel);

/**
 * Append an event to the channel of its owner. An event that the functions which watch the channel
 * do not want is freed.
 */
void uroce_vcm_event_push(struct uroce_vcm_event *event);

/**
 * Take the oldest event, which is then counted as not acknowledged.
 * @return NULL: there is none
 */
struct uroce_vcm_event *uroce_vcm_event_pop(struct uroce_vcm_channel *channel);

/** Take back an acknowledged event from the count of its owner. The caller frees the event. */
void uroce_vcm_event_ack(struct uroce_vcm_event *event);

/** Count an event that was taken, and not acknowledged, for another id from now on. */
void uroce_vcm_event_rehome(struct uroce_vcm_event *event, struct uroce_vcm_id *owner);

/**
 * Remove the events of an id from its channel; with a group, only the events of this group.
 * @return the list of them, linked by `next`
 */
struct uroce_vcm_event *uroce_vcm_event_purge(struct uroce_vcm_id *id,
					      const struct uroce_vcm_group *group);

/** Move the events of an id to another channel, and make it the channel of the id. */
void uroce_vcm_event_migrate(struct uroce_vcm_id *id, struct uroce_vcm_channel *to);

/** Wait until `*nb_unacked` is 0. The lock is released while the call waits. */
void uroce_vcm_event_await_acks(const unsigned *nb_unacked);

#endif /* UROCE_VERBS_CM_EVENT_QUEUE_H */
