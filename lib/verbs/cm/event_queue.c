/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queues of events. Each new event writes to the descriptor of its channel, so that a program with
 * an edge-triggered epoll notices each event.
 */

#include "verbs/cm/event_queue.h"

#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

pthread_mutex_t uroce_vcm_lock = PTHREAD_MUTEX_INITIALIZER;

/* Condition variable that is signalled when the program acknowledges an event. */
static pthread_cond_t acknowledged = PTHREAD_COND_INITIALIZER;

struct uroce_vcm_channel *
uroce_vcm_channel_new(void)
{
	struct uroce_vcm_channel *const channel = calloc(1, sizeof(*channel));

	if (channel == NULL)
		return NULL;
	channel->end = &channel->first;
	channel->cm.fd = eventfd(0, EFD_CLOEXEC);
	if (channel->cm.fd >= 0)
		return channel;
	free(channel);
	return NULL;
}

void
uroce_vcm_channel_free(struct uroce_vcm_channel *channel)
{
	while (channel->first != NULL) {
		struct uroce_vcm_event *const event = channel->first;

		channel->first = event->next;
		free(event);
	}
	close(channel->cm.fd);
	free(channel);
}

static void
append_cm_event(struct uroce_vcm_channel *channel, struct uroce_vcm_event *event)
{
	event->next = NULL;
	*channel->end = event;
	channel->end = &event->next;
	(void)eventfd_write(channel->cm.fd, 1);
}

/* Remove the event at `*link` from the queue of a channel. */
static struct uroce_vcm_event *
remove_cm_event(struct uroce_vcm_channel *channel, struct uroce_vcm_event **link)
{
	struct uroce_vcm_event *const event = *link;
	eventfd_t count;

	*link = event->next;
	if (event->next == NULL)
		channel->end = link;
	/*
	 * The queue had this event before, so the descriptor is readable, and eventfd_read() does
	 * not block.
	 */
	if (channel->first == NULL)
		(void)eventfd_read(channel->cm.fd, &count);
	event->next = NULL;
	if (event->cm.event == RDMA_CM_EVENT_CONNECT_REQUEST)
		event->owner->nb_waiting--;
	return event;
}

/*
 * Whether the functions that watch a channel (struct uroce_cm_dv_watch) accept a new event for it.
 */
static bool
is_event_wanted(const struct uroce_vcm_channel *channel, const struct uroce_vcm_event *event)
{
	const struct uroce_cm_dv_watch *const watch = channel->watch;

	return watch == NULL || watch->is_wanted == NULL ||
	       watch->is_wanted(channel->watch_arg, &event->cm);
}

void
uroce_vcm_event_push(struct uroce_vcm_event *event)
{
	struct uroce_vcm_channel *const channel = uroce_vcm_channel(event->owner->cm.channel);

	if (!is_event_wanted(channel, event)) {
		free(event);
		return;
	}
	if (event->cm.event == RDMA_CM_EVENT_CONNECT_REQUEST)
		event->owner->nb_waiting++;
	append_cm_event(channel, event);
	if (channel->watch != NULL && channel->watch->notify != NULL)
		channel->watch->notify(channel->watch_arg);
}

struct uroce_vcm_event *
uroce_vcm_event_pop(struct uroce_vcm_channel *channel)
{
	struct uroce_vcm_event *event;

	if (channel->first == NULL)
		return NULL;
	event = remove_cm_event(channel, &channel->first);
	event->owner->nb_unacked++;
	if (event->group != NULL)
		event->group->nb_unacked++;
	return event;
}

void
uroce_vcm_event_ack(struct uroce_vcm_event *event)
{
	event->owner->nb_unacked--;
	if (event->group != NULL)
		event->group->nb_unacked--;
	pthread_cond_broadcast(&acknowledged);
}

void
uroce_vcm_event_rehome(struct uroce_vcm_event *event, struct uroce_vcm_id *owner)
{
	event->owner->nb_unacked--;
	event->owner = owner;
	event->owner->nb_unacked++;
	pthread_cond_broadcast(&acknowledged);
}

struct uroce_vcm_event *
uroce_vcm_event_purge(struct uroce_vcm_id *id, const struct uroce_vcm_group *group)
{
	struct uroce_vcm_channel *const channel = uroce_vcm_channel(id->cm.channel);
	struct uroce_vcm_event *purged = NULL, **end = &purged;
	struct uroce_vcm_event **link = &channel->first;

	while (*link != NULL) {
		if ((*link)->owner != id || (group != NULL && (*link)->group != group)) {
			link = &(*link)->next;
			continue;
		}
		*end = remove_cm_event(channel, link);
		end = &(*end)->next;
	}
	return purged;
}

void
uroce_vcm_event_migrate(struct uroce_vcm_id *id, struct uroce_vcm_channel *to)
{
	struct uroce_vcm_event *event = uroce_vcm_event_purge(id, NULL);

	uroce_vcm_channel(id->cm.channel)->nb_ids--;
	to->nb_ids++;
	id->cm.channel = &to->cm;
	while (event != NULL) {
		struct uroce_vcm_event *const next = event->next;
		struct uroce_vcm_id *const child = uroce_vcm_id(event->cm.id);

		/*
		 * `child`, the new id of a pending CONNECT_REQUEST, moves to the new channel
		 * together with its listener
		 */
		if (child != id) {
			uroce_vcm_event_migrate(child, to);
		}
		uroce_vcm_event_push(event);
		event = next;
	}
}

void
uroce_vcm_event_await_acks(const unsigned *nb_unacked)
{
	while (*nb_unacked > 0)
		pthread_cond_wait(&acknowledged, &uroce_vcm_lock);
}
