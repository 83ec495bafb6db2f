/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Asynchronous events.
 *
 * The data path (lib/datapath) has one event queue for each device, but several contexts may have
 * the device open. So each context has a list of events. A call that wants an event first
 * distributes the events in the device's queue. An event of a QP, CQ or SRQ goes to the list of its
 * context, an event of the port to the lists of all contexts.
 *
 * The async_fd of a context is an epoll descriptor over the device's queue and the context's list.
 * It polls readable while one of the two has an event. So it may wake a program for an event that
 * belongs to another context.
 *
 * A device that is only announced has no worker that checks its link. So the distribution of events
 * checks the link, and the epoll descriptor includes the descriptor that signals changes of the
 * link.
 *
 * The device's lock guards the lists and the distribution.
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "verbs/event.h"
#include "verbs/object.h"
#include "verbs/uroce.h"

/* The kind of object to which an event refers. */
enum subject { SUBJECT_PORT, SUBJECT_CQ, SUBJECT_QP, SUBJECT_SRQ };

static enum subject
subject_of(enum ibv_event_type type)
{
	switch ((unsigned)type) {
	case IBV_EVENT_CQ_ERR:
		return SUBJECT_CQ;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		return SUBJECT_QP;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		return SUBJECT_SRQ;
	default:
		return SUBJECT_PORT;
	}
}

/*
 * Append an event to the list of a context. If there is no memory, the event is lost, as in a NIC
 * whose event queue overflows. A context of the library itself has no list.
 */
static void
append_event(struct uroce_vcontext *context, const struct ibv_async_event *ibv)
{
	struct uroce_vevent *const event = context->event_fd < 0 ? NULL : malloc(sizeof(*event));

	if (event == NULL)
		return;
	*event = (struct uroce_vevent){ .ibv = *ibv };
	if (context->events == NULL)
		(void)eventfd_write(context->event_fd, 1);
	*context->events_end = event;
	context->events_end = &event->next;
}

/* Remove the event at `*link` from the list of a context, and free it. */
static void
unlink_event(struct uroce_vcontext *context, struct uroce_vevent **link)
{
	struct uroce_vevent *const event = *link;
	eventfd_t count;

	*link = event->next;
	if (event->next == NULL)
		context->events_end = link;
	if (context->events == NULL)
		(void)eventfd_read(context->event_fd, &count);
	free(event);
}

/* Get the CQ that contains `queue`. Events of the data path (lib/datapath) refer to the queue. */
static struct uroce_vcq *
cq_of_queue(void *queue)
{
	return (struct uroce_vcq *)((uint8_t *)queue - offsetof(struct uroce_vcq, queue));
}

/*
 * Append an event of a QP to the list of its context. An event of an XRC target goes to the
 * contexts of all handles that programs have of it.
 */
static void
append_of_qp(struct uroce_vqp *qp, struct ibv_async_event *event)
{
	event->element.qp = &qp->ibv;
	if (qp->ibv.qp_type != IBV_QPT_XRC_RECV)
		append_event(uroce_vcontext(qp->ibv.context), event);
	for (struct uroce_vqp *at = qp->handles; at != NULL; at = at->next) {
		event->element.qp = &at->ibv;
		if (!at->is_silent)
			append_event(uroce_vcontext(at->ibv.context), event);
	}
}

/* Distribute the events in the device's queue to the lists of the contexts. */
static void
distribute_events(struct uroce_vdevice *device)
{
	struct uroce_dev_event from;
	struct ibv_async_event event;

	uroce_dev_check_link(device->dev);
	while (uroce_dev_event_pop(device->dev, &from)) {
		event = (struct ibv_async_event){ .event_type = from.type };
		switch (subject_of(from.type)) {
		case SUBJECT_CQ:
			event.element.cq = &cq_of_queue(from.cookie)->ibv;
			append_event(uroce_vcontext(event.element.cq->context), &event);
			break;
		case SUBJECT_QP:
			append_of_qp(from.cookie, &event);
			break;
		case SUBJECT_SRQ:
			event.element.srq = from.cookie;
			append_event(uroce_vcontext(event.element.srq->context), &event);
			break;
		case SUBJECT_PORT:
			event.element.port_num = 1;
			for (struct uroce_vcontext *at = device->contexts; at; at = at->next)
				append_event(at, &event);
			break;
		}
	}
}

static int
watch_event_fd(int epoll_fd, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : -errno;
}

/*
 * Add a context to its device. Earlier events are distributed first, so that the new context does
 * not get them.
 */
static void
join_device(struct uroce_vcontext *context, struct uroce_vdevice *device)
{
	pthread_mutex_lock(&device->lock);
	distribute_events(device);
	context->next = device->contexts;
	device->contexts = context;
	pthread_mutex_unlock(&device->lock);
}

static void
leave_device(struct uroce_vcontext *context, struct uroce_vdevice *device)
{
	struct uroce_vcontext **link = &device->contexts;

	pthread_mutex_lock(&device->lock);
	while (*link != context)
		link = &(*link)->next;
	*link = context->next;
	pthread_mutex_unlock(&device->lock);
}

/*
 * Open an epoll descriptor that polls readable when the context may have an event.
 * @return the descriptor, or -errno
 */
static int
open_async_fd(const struct uroce_vcontext *context)
{
	const int fds[] = {
		context->event_fd,
		uroce_dev_event_fd(context->device->dev),
		uroce_dev_link_fd(context->device->dev),
	};
	const int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	int ret = epoll_fd < 0 ? -errno : 0;

	for (unsigned i = 0; i < sizeof(fds) / sizeof(fds[0]) && ret == 0; i++)
		if (fds[i] >= 0)
			ret = watch_event_fd(epoll_fd, fds[i]);
	if (ret == 0)
		return epoll_fd;
	if (epoll_fd >= 0)
		close(epoll_fd);
	return ret;
}

int
uroce_vevent_open(struct uroce_vcontext *context)
{
	int ret;

	context->events = NULL;
	context->events_end = &context->events;
	context->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (context->event_fd < 0)
		return -errno;
	ret = open_async_fd(context);
	if (ret < 0) {
		close(context->event_fd);
		return ret;
	}
	context->verbs.context.async_fd = ret;
	join_device(context, context->device);
	return 0;
}

/*
 * Replace the open file of descriptor `fd` by that of descriptor `by`, and close `by`. The number
 * and the status flags of `fd` stay.
 */
static void
replace_fd(int fd, int by)
{
	const int flags = fcntl(fd, F_GETFL);

	if (by < 0)
		return;
	(void)dup3(by, fd, O_CLOEXEC);
	(void)fcntl(fd, F_SETFL, flags);
	close(by);
}

void
uroce_vevent_renew(struct uroce_vdevice *device)
{
	pthread_mutex_init(&device->lock, NULL);
	uroce_dev_renew(device->dev);
	for (struct uroce_vcontext *at = device->contexts; at != NULL; at = at->next) {
		replace_fd(at->event_fd, eventfd(at->events != NULL, EFD_CLOEXEC | EFD_NONBLOCK));
		replace_fd(at->verbs.context.async_fd, open_async_fd(at));
	}
}

void
uroce_vevent_close(struct uroce_vcontext *context)
{
	leave_device(context, context->device);
	while (context->events != NULL)
		unlink_event(context, &context->events);
	close(context->verbs.context.async_fd);
	close(context->event_fd);
}

/*
 * Count an event that the program takes, in the event's CQ, QP or SRQ. A call that destroys this
 * object waits until all counted events are acknowledged.
 */
static void
count_taken(const struct ibv_async_event *event)
{
	switch (subject_of(event->event_type)) {
	case SUBJECT_CQ:
		pthread_mutex_lock(&event->element.cq->mutex);
		uroce_vcq(event->element.cq)->nb_async++;
		pthread_mutex_unlock(&event->element.cq->mutex);
		break;
	case SUBJECT_QP:
		pthread_mutex_lock(&event->element.qp->mutex);
		uroce_vqp(event->element.qp)->nb_async++;
		pthread_mutex_unlock(&event->element.qp->mutex);
		break;
	case SUBJECT_SRQ:
		pthread_mutex_lock(&event->element.srq->mutex);
		uroce_vsrq(event->element.srq)->nb_async++;
		pthread_mutex_unlock(&event->element.srq->mutex);
		break;
	case SUBJECT_PORT:
		break;
	}
}

static bool
take_async_event(struct uroce_vcontext *context, struct ibv_async_event *event)
{
	pthread_mutex_lock(&context->device->lock);
	distribute_events(context->device);
	const bool has_event = context->events != NULL;

	if (has_event) {
		*event = context->events->ibv;
		count_taken(event);
		unlink_event(context, &context->events);
	}
	pthread_mutex_unlock(&context->device->lock);
	return has_event;
}

int
uroce_get_async_event(struct ibv_context *ibv, struct ibv_async_event *event)
{
	struct pollfd pollfd = { .fd = ibv->async_fd, .events = POLLIN };

	while (!take_async_event(uroce_vcontext(ibv), event)) {
		const int flags = fcntl(ibv->async_fd, F_GETFL);

		if (flags < 0)
			return -1;
		if (flags & O_NONBLOCK) {
			errno = EAGAIN;
			return -1;
		}
		if (poll(&pollfd, 1, -1) < 0)
			return -1;
	}
	return 0;
}

void
uroce_ack_async_event(struct ibv_async_event *event)
{
	switch (subject_of(event->event_type)) {
	case SUBJECT_CQ:
		pthread_mutex_lock(&event->element.cq->mutex);
		event->element.cq->async_events_completed++;
		pthread_cond_broadcast(&event->element.cq->cond);
		pthread_mutex_unlock(&event->element.cq->mutex);
		break;
	case SUBJECT_QP:
		pthread_mutex_lock(&event->element.qp->mutex);
		event->element.qp->events_completed++;
		pthread_cond_broadcast(&event->element.qp->cond);
		pthread_mutex_unlock(&event->element.qp->mutex);
		break;
	case SUBJECT_SRQ:
		pthread_mutex_lock(&event->element.srq->mutex);
		event->element.srq->events_completed++;
		pthread_cond_broadcast(&event->element.srq->cond);
		pthread_mutex_unlock(&event->element.srq->mutex);
		break;
	case SUBJECT_PORT:
		break;
	}
}

static bool
points_at(const struct ibv_async_event *event, const void *object)
{
	switch (subject_of(event->event_type)) {
	case SUBJECT_CQ:
		return event->element.cq == object;
	case SUBJECT_QP:
		return event->element.qp == object;
	case SUBJECT_SRQ:
		return event->element.srq == object;
	case SUBJECT_PORT:
		break;
	}
	return false;
}

/* Remove from the list of a context those events of an object that the program has not taken. */
static void
forget_events(struct uroce_vcontext *context, const void *object)
{
	struct uroce_vevent **link = &context->events;

	pthread_mutex_lock(&context->device->lock);
	distribute_events(context->device);
	while (*link != NULL)
		if (points_at(&(*link)->ibv, object))
			unlink_event(context, link);
		else
			link = &(*link)->next;
	pthread_mutex_unlock(&context->device->lock);
}

void
uroce_vevent_forget_cq(struct uroce_vcq *cq)
{
	forget_events(uroce_vcontext(cq->ibv.context), &cq->ibv);
	pthread_mutex_lock(&cq->ibv.mutex);
	while (cq->ibv.async_events_completed != cq->nb_async ||
	       cq->ibv.comp_events_completed != cq->nb_comp)
		pthread_cond_wait(&cq->ibv.cond, &cq->ibv.mutex);
	pthread_mutex_unlock(&cq->ibv.mutex);
}

void
uroce_vevent_forget_qp(struct uroce_vqp *qp)
{
	forget_events(uroce_vcontext(qp->ibv.context), &qp->ibv);
	pthread_mutex_lock(&qp->ibv.mutex);
	while (qp->ibv.events_completed != qp->nb_async)
		pthread_cond_wait(&qp->ibv.cond, &qp->ibv.mutex);
	pthread_mutex_unlock(&qp->ibv.mutex);
}

void
uroce_vevent_forget_srq(struct uroce_vsrq *srq)
{
	forget_events(uroce_vcontext(srq->ibv.context), &srq->ibv);
	pthread_mutex_lock(&srq->ibv.mutex);
	while (srq->ibv.events_completed != srq->nb_async)
		pthread_cond_wait(&srq->ibv.cond, &srq->ibv.mutex);
	pthread_mutex_unlock(&srq->ibv.mutex);
}
