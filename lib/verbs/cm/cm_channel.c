/* SPDX-License-Identifier: BSD-3-Clause */
/* Public calls for event channels of connection management. */

#include <errno.h>
#include <fcntl.h>

#include "verbs/cm/cm_channel.h"
#include "verbs/cm/cm_service.h"
#include "verbs/cm/cm_take.h"
#include "verbs/uroce_cm.h"
#include "verbs/uroce_cm_dv.h"

struct uroce_vcm_channel *
uroce_vcm_channel_create(void)
{
	struct uroce_vcm_channel *const channel = uroce_vcm_channel_new();
	int ret;

	if (channel == NULL)
		return NULL;
	ret = uroce_vcm_service_get();
	if (ret == 0)
		return channel;
	uroce_vcm_channel_free(channel);
	errno = -ret;
	return NULL;
}

void
uroce_vcm_channel_destroy(struct uroce_vcm_channel *channel)
{
	uroce_vcm_channel_free(channel);
	uroce_vcm_service_put();
}

struct rdma_event_channel *
uroce_cm_create_event_channel(void)
{
	struct uroce_vcm_channel *const channel = uroce_vcm_channel_create();

	return channel != NULL ? &channel->cm : NULL;
}

void
uroce_cm_destroy_event_channel(struct rdma_event_channel *cm)
{
	struct uroce_vcm_channel *const channel = uroce_vcm_channel(cm);

	if (cm == NULL)
		return;
	pthread_mutex_lock(&uroce_vcm_lock);
	const bool is_used = channel->nb_ids > 0;

	pthread_mutex_unlock(&uroce_vcm_lock);
	if (!is_used)
		uroce_vcm_channel_destroy(channel);
}

int
uroce_cm_get_cm_event(struct rdma_event_channel *cm, struct rdma_cm_event **out)
{
	struct uroce_vcm_channel *const channel = uroce_vcm_channel(cm);
	struct uroce_vcm_event *event;
	int ret = 0;

	if (cm == NULL || out == NULL)
		return uroce_vcm_ret(-EINVAL);
	event = uroce_vcm_take(channel);
	if (event == NULL) {
		const int flags = fcntl(cm->fd, F_GETFL);

		if (flags < 0)
			return -1;
		ret = flags & O_NONBLOCK ? -EAGAIN : uroce_vcm_take_wait(channel, &event);
	}
	if (ret == 0)
		*out = &event->cm;
	return uroce_vcm_ret(ret);
}

int
uroce_cm_ack_cm_event(struct rdma_cm_event *cm)
{
	if (cm == NULL)
		return uroce_vcm_ret(-EINVAL);
	uroce_vcm_take_ack((struct uroce_vcm_event *)cm);
	return 0;
}

int
uroce_cm_dv_watch_channel(struct rdma_event_channel *cm, const struct uroce_cm_dv_watch *watch,
			  void *arg)
{
	if (cm == NULL)
		return uroce_vcm_ret(-EINVAL);
	pthread_mutex_lock(&uroce_vcm_lock);
	uroce_vcm_channel(cm)->watch = watch;
	uroce_vcm_channel(cm)->watch_arg = arg;
	pthread_mutex_unlock(&uroce_vcm_lock);
	return 0;
}
