/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Endpoints: synchronous ids that one call creates and prepares [rdma_create_ep(3)]. The steps of
 * this call are public calls, so if a step fails, errno has the error of this step.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/cm/cm_take.h"
#include "verbs/cm/id_life.h"
#include "verbs/uroce_cm.h"

#define RESOLVE_TIMEOUT_MS 2000

/* Store the attributes of the QPs that new connections of a listener get. */
static int
keep_qp_init(struct uroce_vcm_id *id, struct ibv_pd *pd, const struct ibv_qp_init_attr *init)
{
	if (init == NULL)
		return 0;
	id->qp_init = malloc(sizeof(*init));
	if (id->qp_init == NULL)
		return -ENOMEM;
	*id->qp_init = *init;
	id->qp_init->qp_type = id->cm.qp_type;
	id->qp_init_pd = pd;
	return 0;
}

static int
prepare_passive(struct uroce_vcm_id *id, const struct rdma_addrinfo *res, struct ibv_pd *pd,
		const struct ibv_qp_init_attr *init)
{
	if (uroce_cm_bind_addr(&id->cm, res->ai_src_addr) != 0)
		return -errno;
	return keep_qp_init(id, pd, init);
}

/*
 * Set the route of an id to the route in the address info, or resolve the route if the address info
 * has none.
 */
static int
resolve_route_of(struct uroce_vcm_id *id, const struct rdma_addrinfo *res)
{
	int ret;

	if (res->ai_route_len == 0)
		return uroce_cm_resolve_route(&id->cm, RESOLVE_TIMEOUT_MS) == 0 ? 0 : -errno;
	ret = uroce_cm_set_option(&id->cm, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, res->ai_route,
				  res->ai_route_len);
	return ret == 0 ? uroce_vcm_take_end(id) : -errno;
}

static int
prepare_active(struct uroce_vcm_id *id, const struct rdma_addrinfo *res, struct ibv_pd *pd,
	       struct ibv_qp_init_attr *init)
{
	int ret;

	if (uroce_cm_resolve_addr(&id->cm, res->ai_src_addr, res->ai_dst_addr,
				  RESOLVE_TIMEOUT_MS) != 0)
		return -errno;
	ret = resolve_route_of(id, res);
	if (ret != 0 || init == NULL)
		return ret;
	init->qp_type = id->cm.qp_type;
	return uroce_cm_create_qp(&id->cm, pd, init) == 0 ? 0 : -errno;
}

int
uroce_cm_create_ep(struct rdma_cm_id **cm, struct rdma_addrinfo *res, struct ibv_pd *pd,
		   struct ibv_qp_init_attr *qp_init_attr)
{
	const bool is_passive = res != NULL && res->ai_flags & RAI_PASSIVE;
	struct uroce_vcm_id *id;
	int ret;

	if (cm == NULL || res == NULL || (is_passive ? res->ai_src_addr : res->ai_dst_addr) == NULL)
		return uroce_vcm_ret(-EINVAL);
	ret = uroce_vcm_id_create(NULL, NULL, (enum rdma_port_space)res->ai_port_space,
				  (enum ibv_qp_type)res->ai_qp_type, &id);
	if (ret != 0)
		return uroce_vcm_ret(ret);
	ret = is_passive ? prepare_passive(id, res, pd, qp_init_attr)
			 : prepare_active(id, res, pd, qp_init_attr);
	if (ret != 0) {
		uroce_cm_destroy_ep(&id->cm);
		return uroce_vcm_ret(ret);
	}
	*cm = &id->cm;
	return 0;
}

void
uroce_cm_destroy_ep(struct rdma_cm_id *id)
{
	if (id == NULL)
		return;
	uroce_cm_destroy_qp(id);
	uroce_cm_destroy_srq(id);
	(void)uroce_cm_destroy_id(id);
}

/*
 * Make the new id of a CONNECT_REQUEST synchronous, create its QP if the listener has QP
 * attributes, and make the new id the owner of the event.
 */
static int
adopt_request(struct uroce_vcm_id *listener, struct uroce_vcm_event *event)
{
	struct rdma_cm_id *const cm = event->cm.id;

	if (uroce_cm_migrate_id(cm, NULL) != 0)
		return -errno;
	if (listener->qp_init != NULL) {
		struct ibv_qp_init_attr init = *listener->qp_init;

		if (uroce_cm_create_qp(cm, listener->qp_init_pd, &init) != 0)
			return -errno;
	}
	pthread_mutex_lock(&uroce_vcm_lock);
	uroce_vcm_event_rehome(event, uroce_vcm_id(cm));
	cm->event = &event->cm;
	pthread_mutex_unlock(&uroce_vcm_lock);
	return 0;
}

int
uroce_cm_get_request(struct rdma_cm_id *listen, struct rdma_cm_id **id)
{
	struct uroce_vcm_id *const listener = uroce_vcm_id(listen);
	struct uroce_vcm_event *event;
	struct rdma_cm_id *cm;
	int ret;

	if (listen == NULL || id == NULL || !listener->is_sync)
		return uroce_vcm_ret(-EINVAL);
	uroce_vcm_take_forget(listener);
	ret = uroce_vcm_take_wait(uroce_vcm_channel(listen->channel), &event);
	if (ret != 0)
		return uroce_vcm_ret(ret);
	cm = event->cm.id;
	if (event->cm.event != RDMA_CM_EVENT_CONNECT_REQUEST) {
		uroce_vcm_take_ack(event);
		return uroce_vcm_ret(-ENODEV);
	}
	ret = adopt_request(listener, event);
	if (ret == 0) {
		*id = cm;
		return 0;
	}
	uroce_vcm_take_ack(event);
	uroce_cm_destroy_ep(cm);
	return uroce_vcm_ret(ret);
}
