/* SPDX-License-Identifier: BSD-3-Clause */
/* Public calls that create, destroy and migrate the ids of connection management. */

#include <errno.h>
#include <stdlib.h>

#include "verbs/cm/cm_channel.h"
#include "verbs/cm/cm_device.h"
#include "verbs/cm/cm_group.h"
#include "verbs/cm/cm_resolve.h"
#include "verbs/cm/cm_take.h"
#include "verbs/cm/id_life.h"
#include "verbs/cm/id_new.h"
#include "verbs/uroce_cm.h"

/*
 * Get the QP type of the ids of a port space. In RDMA_PS_IB an id may also have another QP type.
 * @return -1: unknown port space
 */
static int
type_of_space(enum rdma_port_space ps)
{
	switch (ps) {
	case RDMA_PS_TCP:
	case RDMA_PS_IB:
		return IBV_QPT_RC;
	case RDMA_PS_UDP:
	case RDMA_PS_IPOIB:
		return IBV_QPT_UD;
	}
	return -1;
}

/* Whether QPs of a type may be used in a port space. */
static bool
is_type_of_space(enum ibv_qp_type qp_type, enum rdma_port_space ps)
{
	const int type = type_of_space(ps);

	if (ps != RDMA_PS_IB)
		return type >= 0 && type == (int)qp_type;
	return qp_type == IBV_QPT_RC || qp_type == IBV_QPT_UC || qp_type == IBV_QPT_UD ||
	       qp_type == IBV_QPT_XRC_SEND || qp_type == IBV_QPT_XRC_RECV;
}

int
uroce_vcm_id_create(struct rdma_event_channel *cm, void *context, enum rdma_port_space ps,
		    enum ibv_qp_type qp_type, struct uroce_vcm_id **out)
{
	struct uroce_vcm_channel *channel = uroce_vcm_channel(cm);
	struct uroce_vcm_id *id;

	if (!is_type_of_space(qp_type, ps))
		return -EINVAL;
	if (cm == NULL)
		channel = uroce_vcm_channel_create();
	if (channel == NULL)
		return -errno;
	pthread_mutex_lock(&uroce_vcm_lock);
	id = uroce_vcm_id_new(channel, context, ps, qp_type);
	if (id != NULL)
		id->is_sync = cm == NULL;
	pthread_mutex_unlock(&uroce_vcm_lock);
	if (id != NULL) {
		*out = id;
		return 0;
	}
	if (cm == NULL)
		uroce_vcm_channel_destroy(channel);
	return -ENOMEM;
}

int
uroce_cm_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **cm, void *context,
		   enum rdma_port_space ps)
{
	struct uroce_vcm_id *id = NULL;
	int ret = -EINVAL;

	if (cm != NULL)
		ret = uroce_vcm_id_create(channel, context, ps, (enum ibv_qp_type)type_of_space(ps),
					  &id);
	if (ret == 0)
		*cm = &id->cm;
	return uroce_vcm_ret(ret);
}

/*
 * Destroy the ends of an id (its ids at connection managers), remove its pending events, and wait
 * until the program has acknowledged the events that it took. Afterwards no event of the id is
 * raised.
 * @return the removed events. If the id is a listener, they may include CONNECT_REQUESTs, whose new
 *         ids the program has not received.
 */
static struct uroce_vcm_event *
end_id(struct uroce_vcm_id *id)
{
	struct uroce_vcm_event *purged;

	pthread_mutex_lock(&uroce_vcm_lock);
	uroce_vcm_resolve_cancel(id);
	uroce_vcm_end_close_all(id, NULL);
	purged = uroce_vcm_event_purge(id, NULL);
	uroce_vcm_event_await_acks(&id->nb_unacked);
	pthread_mutex_unlock(&uroce_vcm_lock);
	return purged;
}

static void
free_id(struct uroce_vcm_id *id)
{
	struct uroce_vcm_channel *const channel = uroce_vcm_channel(id->cm.channel);
	const bool is_sync = id->is_sync;

	uroce_vcm_group_leave_all(id);
	pthread_mutex_lock(&uroce_vcm_lock);
	uroce_vcm_id_free(id);
	pthread_mutex_unlock(&uroce_vcm_lock);
	if (is_sync)
		uroce_vcm_channel_destroy(channel);
}

int
uroce_cm_destroy_id(struct rdma_cm_id *cm)
{
	struct uroce_vcm_id *const id = uroce_vcm_id(cm);
	struct uroce_vcm_event *event, *next;

	if (cm == NULL)
		return uroce_vcm_ret(-EINVAL);
	uroce_vcm_take_forget(id);
	event = end_id(id);
	for (; event != NULL; event = next) {
		next = event->next;
		if (event->cm.event == RDMA_CM_EVENT_CONNECT_REQUEST)
			(void)uroce_cm_destroy_id(event->cm.id);
		free(event);
	}
	free_id(id);
	return 0;
}

int
uroce_cm_migrate_id(struct rdma_cm_id *cm, struct rdma_event_channel *to)
{
	struct uroce_vcm_id *const id = uroce_vcm_id(cm);
	struct uroce_vcm_channel *channel = uroce_vcm_channel(to), *from;
	bool was_sync;

	if (cm == NULL)
		return uroce_vcm_ret(-EINVAL);
	if (to == NULL)
		channel = uroce_vcm_channel_create();
	if (channel == NULL)
		return -1;
	uroce_vcm_take_forget(id);
	pthread_mutex_lock(&uroce_vcm_lock);
	uroce_vcm_event_await_acks(&id->nb_unacked);
	from = uroce_vcm_channel(cm->channel);
	was_sync = id->is_sync;
	uroce_vcm_event_migrate(id, channel);
	id->is_sync = to == NULL;
	pthread_mutex_unlock(&uroce_vcm_lock);
	if (was_sync)
		uroce_vcm_channel_destroy(from);
	return 0;
}
