/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The event queue: an array under a lock. Events are rare, so a linear search for a pending event
 * of the same kind is fast enough. Many events are pending only if many QPs have failed.
 */

#include "datapath/device/event.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "datapath/log.h"
#include "base/lock.h"

/*
 * Number of events of the port for which a queue has room, in addition to the events of QPs and
 * SRQs.
 */
#define PORT_EVENTS 64

struct uroce_event_queue {
	struct uroce_lock lock;
	int fd;
	uint32_t room;
	uint32_t head; /* index in `event` of the oldest pending event */
	uint32_t nb;
	struct uroce_dev_event event[];
};

struct uroce_event_queue *
uroce_event_queue_create(uint32_t max_objects)
{
	const uint32_t room = 2 * max_objects + PORT_EVENTS;
	struct uroce_event_queue *queue =
		calloc(1, sizeof(*queue) + room * sizeof(queue->event[0]));

	if (!queue) {
		UROCE_LOG(ERR, mem, "no memory for %u events", room);
		return NULL;
	}
	queue->room = room;
	queue->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (queue->fd < 0) {
		UROCE_LOG(ERR, dev, "no eventfd: %s", strerror(errno));
		free(queue);
		return NULL;
	}
	return queue;
}

void
uroce_event_queue_destroy(struct uroce_event_queue *queue)
{
	if (!queue)
		return;
	close(queue->fd);
	free(queue);
}

void
uroce_event_queue_renew(struct uroce_event_queue *queue)
{
	const int fd = eventfd(queue->nb > 0, EFD_CLOEXEC | EFD_NONBLOCK);

	if (fd < 0)
		return;
	(void)dup3(fd, queue->fd, O_CLOEXEC);
	close(fd);
}

static struct uroce_dev_event *
get_event(struct uroce_event_queue *queue, uint32_t nth)
{
	return &queue->event[(queue->head + nth) % queue->room];
}

static bool
is_event_queued(struct uroce_event_queue *queue, enum ibv_event_type type, const void *cookie)
{
	for (uint32_t i = 0; i < queue->nb; i++) {
		if (get_event(queue, i)->type == type && get_event(queue, i)->cookie == cookie)
			return true;
	}
	return false;
}

void
uroce_event_push(struct uroce_event_queue *queue, enum ibv_event_type type, void *cookie)
{
	uroce_lock_take(&queue->lock);
	if (queue->nb < queue->room && !is_event_queued(queue, type, cookie)) {
		*get_event(queue, queue->nb) =
			(struct uroce_dev_event){ .type = type, .cookie = cookie };
		if (queue->nb++ == 0)
			(void)eventfd_write(queue->fd, 1);
	}
	uroce_lock_release(&queue->lock);
}

static void
clear_event_fd(struct uroce_event_queue *queue)
{
	eventfd_t count;

	if (queue->nb == 0)
		(void)eventfd_read(queue->fd, &count);
}

bool
uroce_event_pop(struct uroce_event_queue *queue, struct uroce_dev_event *event)
{
	bool has_one;

	uroce_lock_take(&queue->lock);
	has_one = queue->nb > 0;
	if (has_one) {
		*event = *get_event(queue, 0);
		queue->head = (queue->head + 1) % queue->room;
		queue->nb--;
		clear_event_fd(queue);
	}
	uroce_lock_release(&queue->lock);
	return has_one;
}

void
uroce_event_purge(struct uroce_event_queue *queue, const void *cookie)
{
	uint32_t kept = 0;

	uroce_lock_take(&queue->lock);
	for (uint32_t i = 0; i < queue->nb; i++) {
		if (get_event(queue, i)->cookie != cookie)
			*get_event(queue, kept++) = *get_event(queue, i);
	}
	if (kept < queue->nb) {
		queue->nb = kept;
		clear_event_fd(queue);
	}
	uroce_lock_release(&queue->lock);
}

int
uroce_event_fd(const struct uroce_event_queue *queue)
{
	return queue->fd;
}
