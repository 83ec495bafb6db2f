/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completion queues, and the completion channels on which programs wait.
 *
 * A channel is an eventfd that counts the events of all its CQs. Each CQ counts its own events,
 * too. A worker increments the count of the CQ first, then that of the channel. A thread that takes
 * an event decrements the count of the channel by a read, which may block, and then searches for a
 * CQ that has an event. That CQ moves to the end of the channel's list, so that one busy CQ does
 * not starve the other CQs.
 */

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include "datapath/device/hugemem.h"
#include "datapath/log.h"
#include "verbs/errno_ret.h"
#include "verbs/event.h"
#include "verbs/handle.h"
#include "verbs/object.h"
#include "verbs/uroce.h"

struct ibv_comp_channel *
uroce_create_comp_channel(struct ibv_context *context)
{
	struct uroce_vchannel *channel;

	if (context == NULL) {
		errno = EINVAL;
		return NULL;
	}
	channel = calloc(1, sizeof(*channel));
	if (channel == NULL)
		return NULL;
	channel->ibv.context = context;
	channel->ibv.fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
	if (channel->ibv.fd < 0) {
		free(channel); /* free() does not change errno */
		return NULL;
	}
	pthread_mutex_init(&channel->lock, NULL);
	uroce_users_add(context, &uroce_vcontext(context)->nb_users);
	return &channel->ibv;
}

int
uroce_destroy_comp_channel(struct ibv_comp_channel *ibv)
{
	struct uroce_vchannel *const channel = uroce_vchannel(ibv);

	if (ibv == NULL)
		return uroce_fail(EINVAL);
	pthread_mutex_lock(&channel->lock);
	const bool is_used = ibv->refcnt > 0;

	pthread_mutex_unlock(&channel->lock);
	if (is_used)
		return uroce_fail(EBUSY);
	uroce_users_drop(ibv->context, &uroce_vcontext(ibv->context)->nb_users);
	close(ibv->fd);
	pthread_mutex_destroy(&channel->lock);
	free(channel);
	return 0;
}

/*
 * Append a CQ to the channel's list. The caller of append_cq(), unlink_cq() and take_event() holds
 * the channel's lock.
 */
static void
append_cq(struct uroce_vchannel *channel, struct uroce_vcq *cq)
{
	cq->next = NULL;
	if (channel->first == NULL)
		channel->first = cq;
	else
		channel->last->next = cq;
	channel->last = cq;
}

static void
unlink_cq(struct uroce_vchannel *channel, struct uroce_vcq *cq)
{
	struct uroce_vcq **link = &channel->first;
	struct uroce_vcq *before = NULL;

	while (*link != cq) {
		before = *link;
		link = &before->next;
	}
	*link = cq->next;
	if (channel->last == cq)
		channel->last = before;
}

/*
 * Take an event from the first CQ of the channel that has an event.
 * @return the CQ; NULL: no CQ of the channel has an event
 */
static struct uroce_vcq *
take_event(struct uroce_vchannel *channel)
{
	for (struct uroce_vcq *cq = channel->first; cq != NULL; cq = cq->next) {
		if (atomic_load_explicit(&cq->notify.nb_events, memory_order_acquire) == 0)
			continue;
		atomic_fetch_sub_explicit(&cq->notify.nb_events, 1, memory_order_relaxed);
		pthread_mutex_lock(&cq->ibv.mutex);
		cq->nb_comp++;
		pthread_mutex_unlock(&cq->ibv.mutex);
		unlink_cq(channel, cq);
		append_cq(channel, cq);
		return cq;
	}
	return NULL;
}

static void
leave_workers(struct uroce_vchannel *channel)
{
	pthread_mutex_lock(&channel->lock);
	for (struct uroce_vcq *cq = channel->first; cq != NULL; cq = cq->next)
		uroce_vcq_leave(cq);
	pthread_mutex_unlock(&channel->lock);
}

int
uroce_get_cq_event(struct ibv_comp_channel *ibv, struct ibv_cq **out, void **cq_context)
{
	struct uroce_vchannel *const channel = uroce_vchannel(ibv);
	struct uroce_vcq *cq = NULL;
	eventfd_t one;

	if (ibv == NULL) {
		errno = EINVAL;
		return -1;
	}
	leave_workers(channel);
	/*
	 * The channel's count may include an event of a CQ that was destroyed. Then no CQ has an
	 * event, and the channel is read again.
	 */
	while (cq == NULL) {
		if (eventfd_read(ibv->fd, &one) != 0)
			return -1;
		pthread_mutex_lock(&channel->lock);
		cq = take_event(channel);
		pthread_mutex_unlock(&channel->lock);
	}
	*out = &cq->ibv;
	*cq_context = cq->ibv.cq_context;
	return 0;
}

void
uroce_ack_cq_events(struct ibv_cq *cq, unsigned int nevents)
{
	pthread_mutex_lock(&cq->mutex);
	cq->comp_events_completed += nevents;
	pthread_cond_broadcast(&cq->cond);
	pthread_mutex_unlock(&cq->mutex);
}

static void
join_channel(struct uroce_vcq *cq, struct uroce_vchannel *channel)
{
	cq->notify.event_fd = -1;
	if (channel == NULL)
		return;
	cq->notify.event_fd = channel->ibv.fd;
	pthread_mutex_lock(&channel->lock);
	append_cq(channel, cq);
	channel->ibv.refcnt++;
	pthread_mutex_unlock(&channel->lock);
}

/*
 * Remove a CQ from its channel. Its events that no program has taken are removed from the
 * channel's count, so that the channel does not poll readable without an event. The read must not
 * block (RWF_NOWAIT), because the program may read the count at the same time.
 */
static void
leave_channel(struct uroce_vcq *cq, struct uroce_vchannel *channel)
{
	eventfd_t one;
	const struct iovec iov = { .iov_base = &one, .iov_len = sizeof(one) };

	if (channel == NULL)
		return;
	pthread_mutex_lock(&channel->lock);
	unlink_cq(channel, cq);
	channel->ibv.refcnt--;
	for (uint32_t i = atomic_load(&cq->notify.nb_events); i > 0; i--)
		if (preadv2(channel->ibv.fd, &iov, 1, -1, RWF_NOWAIT) < 0)
			break;
	pthread_mutex_unlock(&channel->lock);
}

static void *
alloc_entries(const struct uroce_dev *dev, int cqe)
{
	return uroce_hugemem_alloc_beyond(uroce_cq_memsize((uint32_t)cqe),
					  uroce_dev_socket_id(dev));
}

static struct uroce_vcq *
alloc_cq(struct uroce_vdevice *device, uint32_t nb_cqe)
{
	struct uroce_vcq *cq;

	if (uroce_vdevice_count(device, &device->nb_cqs, UROCE_MAX_CQS) != 0)
		return NULL;
	cq = uroce_hugemem_alloc(sizeof(*cq), uroce_dev_socket_id(device->dev));
	if (cq != NULL)
		cq->mem = alloc_entries(device->dev, (int)nb_cqe);
	if (cq != NULL && cq->mem != NULL)
		return cq;
	uroce_hugemem_free(cq);
	uroce_vdevice_uncount(device, &device->nb_cqs);
	return NULL;
}

static void
free_cq(struct uroce_vdevice *device, struct uroce_vcq *cq)
{
	uroce_hugemem_free(cq->mem);
	uroce_hugemem_free(cq);
	uroce_vdevice_uncount(device, &device->nb_cqs);
}

static bool
is_cq_legal(const struct ibv_context *context, const struct ibv_cq_init_attr_ex *init)
{
	if (context == NULL)
		return false;
	if (init->cqe < 1 || init->cqe > UROCE_MAX_CQE)
		UROCE_LOG_LIMITED(WARNING, qp, "create_cq: cqe is %d: allowed are 1 to %u",
				  (int)init->cqe, UROCE_MAX_CQE);
	else if (init->comp_vector >= (uint32_t)context->num_comp_vectors)
		UROCE_LOG_LIMITED(
			WARNING, qp,
			"create_cq: comp_vector is %d: allowed are 0 to %d, the workers of "
			"the device",
			(int)init->comp_vector, context->num_comp_vectors - 1);
	else if (init->channel != NULL && init->channel->context != context)
		UROCE_LOG_LIMITED(WARNING, qp,
				  "create_cq: the completion channel belongs to another context: "
				  "allowed is one of the same context");
	else
		return true;
	return false;
}

struct uroce_vcq *
uroce_vcq_create(struct ibv_context *context, const struct ibv_cq_init_attr_ex *init)
{
	const int ret = is_cq_legal(context, init) ? uroce_vcontext_start(context) : -EINVAL;
	struct uroce_vcq *cq;
	struct uroce_dev *dev;

	if (ret != 0) {
		errno = -ret;
		return NULL;
	}
	dev = uroce_vcontext_dev(context);
	cq = alloc_cq(uroce_vcontext(context)->device, init->cqe);
	if (cq == NULL) {
		errno = ENOMEM;
		return NULL;
	}
	uroce_cq_init(&cq->queue, cq->mem, init->cqe);
	cq->queue.cookie = &cq->notify;
	cq->worker = dev->worker[init->comp_vector];
	cq->is_app_driven = dev->conf.drive == UROCE_DRIVE_APP;
	cq->ibv.context = context;
	cq->ibv.channel = init->channel;
	cq->ibv.cq_context = init->cq_context;
	cq->ibv.cqe = (int)init->cqe;
	pthread_mutex_init(&cq->ibv.mutex, NULL);
	pthread_cond_init(&cq->ibv.cond, NULL);
	uroce_vcq_begin(cq);
	join_channel(cq, uroce_vchannel(init->channel));
	uroce_users_add(context, &uroce_vcontext(context)->nb_users);
	return cq;
}

struct ibv_cq *
uroce_create_cq(struct ibv_context *context, int cqe, void *cq_context,
		struct ibv_comp_channel *channel, int comp_vector)
{
	/*
	 * as an unsigned number, a negative `cqe` or `comp_vector` is large, so is_cq_legal()
	 * refuses it
	 */
	const struct ibv_cq_init_attr_ex init = {
		.cqe = (uint32_t)cqe,
		.cq_context = cq_context,
		.channel = channel,
		.comp_vector = (uint32_t)comp_vector,
	};
	struct uroce_vcq *const cq = uroce_vcq_create(context, &init);

	return cq != NULL ? &cq->ibv : NULL;
}

/*
 * On a device with the key drive=app, wait until the CQ's worker has run one whole round (receive,
 * doorbells, transmit, timers), driven by this thread or by another one. By then posted requests
 * that can complete at once have their entries in the CQ, and a resize takes these entries into
 * account. The function waits for the end of two rounds, because the worker may be in the middle of
 * the first one.
 */
static void
complete_posted(struct uroce_vcq *cq)
{
	for (unsigned i = 0; i < 2 && cq->is_app_driven; i++) {
		(void)uroce_worker_poll(cq->worker);
		uroce_dev_grace(uroce_vcontext_dev(cq->ibv.context));
	}
}

int
uroce_resize_cq(struct ibv_cq *ibv, int cqe)
{
	struct uroce_vcq *const cq = uroce_vcq(ibv);
	void *mem;
	int ret = uroce_vcq_check(ibv);

	if (ret != 0)
		return uroce_errno_ret(ret);
	if (cqe < 1 || cqe > UROCE_MAX_CQE)
		return uroce_fail(EINVAL);
	mem = alloc_entries(uroce_vcontext_dev(ibv->context), cqe);
	if (mem == NULL)
		return uroce_fail(ENOMEM);
	complete_posted(cq);
	/*
	 * Two threads may resize the CQ at the same time. Each thread exchanges the memory of the
	 * CQ under the CQ's mutex, and frees the memory that it has replaced.
	 */
	pthread_mutex_lock(&ibv->mutex);
	ret = uroce_cq_resize(&cq->queue, mem, (uint32_t)cqe);
	if (ret == 0) {
		void *const old = cq->mem;

		cq->mem = mem;
		mem = old;
		ibv->cqe = cqe;
	}
	pthread_mutex_unlock(&ibv->mutex);
	uroce_hugemem_free(mem);
	return uroce_errno_ret(ret);
}

int
uroce_destroy_cq(struct ibv_cq *ibv)
{
	struct uroce_vcq *const cq = uroce_vcq(ibv);
	const int ret = uroce_vcq_check(ibv);

	if (ret != 0)
		return uroce_errno_ret(ret);
	if (uroce_users_any(ibv->context, &cq->nb_users))
		return uroce_fail(EBUSY);
	leave_channel(cq, uroce_vchannel(ibv->channel));
	uroce_vevent_forget_cq(cq);
	if (cq->parent != NULL)
		uroce_users_drop(ibv->context, &uroce_vpd(cq->parent)->nb_users);
	uroce_users_drop(ibv->context, &uroce_vcontext(ibv->context)->nb_users);
	pthread_mutex_destroy(&ibv->mutex);
	pthread_cond_destroy(&ibv->cond);
	uroce_vcq_end(cq);
	free_cq(uroce_vcontext(ibv->context)->device, cq);
	return 0;
}

int
uroce_req_notify_cq(struct ibv_cq *ibv, int solicited_only)
{
	struct uroce_vcq *const cq = uroce_vcq(ibv);

	uroce_cq_arm(&cq->queue, solicited_only != 0);
	atomic_store_explicit(&cq->must_notify, cq->is_app_driven, memory_order_relaxed);
	return 0;
}
