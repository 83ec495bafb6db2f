/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Multicast groups of ids. RoCE has no subnet manager that must accept a member, so a join ends at
 * once, with an event. When the program takes this event, the QP of the id is attached to the
 * group. Then the device reports the membership to routers and switches.
 */

#include "verbs/cm/cm_group.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/cm/cm_device.h"
#include "verbs/cm/cm_event.h"
#include "verbs/cm/cm_path.h"
#include "verbs/cm/cm_take.h"
#include "verbs/cm/sockaddr.h"
#include "verbs/uroce.h"
#include "verbs/uroce_cm.h"

/* QP number of multicast: datagrams to it go to the members of the group [IBA 10.5] */
#define GROUP_QPN 0xffffffu

static void
detach_group(struct uroce_vcm_id *id, struct uroce_vcm_group *group)
{
	if (group->is_attached && id->cm.qp != NULL)
		(void)uroce_detach_mcast(id->cm.qp, &group->gid, 0);
	group->is_attached = false;
}

void
uroce_vcm_group_detach_all(struct uroce_vcm_id *id)
{
	for (struct uroce_vcm_group *group = id->groups; group != NULL; group = group->next)
		detach_group(id, group);
}

void
uroce_vcm_group_leave_all(struct uroce_vcm_id *id)
{
	uroce_vcm_group_detach_all(id);
	while (id->groups != NULL) {
		struct uroce_vcm_group *const group = id->groups;

		id->groups = group->next;
		free(group);
	}
}

/*
 * Find the group with the GID `gid` in the list of the id's groups.
 * @return address of the pointer to the group; if the id has no such group, address of the NULL
 *         pointer at the end of the list
 */
static struct uroce_vcm_group **
place_of_group(struct uroce_vcm_id *id, const union ibv_gid *gid)
{
	struct uroce_vcm_group **link = &id->groups;

	while (*link != NULL && memcmp((*link)->gid.raw, gid->raw, 16) != 0)
		link = &(*link)->next;
	return link;
}

static struct uroce_vcm_event *
new_join_event(struct uroce_vcm_id *id, struct uroce_vcm_group *group)
{
	struct uroce_vcm_event *const event =
		uroce_vcm_event_new(id, RDMA_CM_EVENT_MULTICAST_JOIN, 0);
	struct rdma_ud_param *const ud = event != NULL ? &event->cm.param.ud : NULL;
	struct uroce_cm_av av = {
		.traffic_class = id->tos,
		.hop_limit = UROCE_VCM_HOP_LIMIT,
	};

	if (event == NULL)
		return NULL;
	event->group = group;
	memcpy(av.local_gid, id->cm.route.addr.addr.ibaddr.sgid.raw, 16);
	memcpy(av.remote_gid, group->gid.raw, 16);
	event->cm.status = uroce_vcm_path_to_ah(id, &av, &ud->ah_attr);
	if (event->cm.status != 0)
		event->cm.event = RDMA_CM_EVENT_MULTICAST_ERROR;
	ud->private_data = group->context;
	ud->qp_num = GROUP_QPN;
	ud->qkey = RDMA_UDP_QKEY;
	return event;
}

/* Add a group to an id, and raise the event that ends the join. */
static int
add_group(struct uroce_vcm_id *id, const struct uroce_vcm_group *from)
{
	struct uroce_vcm_group **const link = place_of_group(id, &from->gid);
	struct uroce_vcm_group *group;
	struct uroce_vcm_event *event;

	if (id->device == NULL || !uroce_vcm_is_datagram(id) || *link != NULL)
		return -EINVAL;
	group = malloc(sizeof(*group));
	if (group == NULL)
		return -ENOMEM;
	*group = *from;
	event = new_join_event(id, group);
	if (event == NULL) {
		free(group);
		return -ENOMEM;
	}
	*link = group;
	uroce_vcm_event_add(event);
	return 0;
}

static int
join_group_of(struct rdma_cm_id *cm, const struct sockaddr *sa, bool is_send_only, void *context)
{
	struct uroce_vcm_group group = { .context = context, .is_send_only = is_send_only };
	struct uroce_cm_addr addr;
	uint32_t scope;
	int ret;

	if (cm == NULL || sa == NULL || uroce_vcm_sockaddr_parse(sa, &addr, &scope) != 0 ||
	    !uroce_vcm_addr_is_group(&addr))
		return -EINVAL;
	uroce_vcm_addr_to_gid(&addr, &group.gid);
	pthread_mutex_lock(&uroce_vcm_lock);
	ret = add_group(uroce_vcm_id(cm), &group);
	pthread_mutex_unlock(&uroce_vcm_lock);
	return ret != 0 ? ret : uroce_vcm_take_end(uroce_vcm_id(cm));
}

int
uroce_cm_join_multicast(struct rdma_cm_id *id, struct sockaddr *addr, void *context)
{
	return uroce_vcm_ret(join_group_of(id, addr, false, context));
}

int
uroce_cm_join_multicast_ex(struct rdma_cm_id *id, struct rdma_cm_join_mc_attr_ex *attr,
			   void *context)
{
	const uint32_t mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;

	if (attr == NULL || attr->comp_mask != mask ||
	    attr->join_flags >= RDMA_MC_JOIN_FLAG_RESERVED)
		return uroce_vcm_ret(-EINVAL);
	return uroce_vcm_ret(
		join_group_of(id, attr->addr,
			      attr->join_flags == RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER, context));
}

/*
 * Remove a group from the list of its id, drop the group's pending events, and wait until the
 * program has acknowledged those events of the group that it has taken.
 */
static struct uroce_vcm_group *
remove_group(struct uroce_vcm_id *id, const union ibv_gid *gid)
{
	struct uroce_vcm_group **const link = place_of_group(id, gid);
	struct uroce_vcm_group *const group = *link;
	struct uroce_vcm_event *event, *next;

	if (group == NULL)
		return NULL;
	*link = group->next;
	for (event = uroce_vcm_event_purge(id, group); event != NULL; event = next) {
		next = event->next;
		free(event);
	}
	uroce_vcm_event_await_acks(&group->nb_unacked);
	return group;
}

int
uroce_cm_leave_multicast(struct rdma_cm_id *cm, struct sockaddr *sa)
{
	struct uroce_vcm_id *const id = uroce_vcm_id(cm);
	struct uroce_vcm_group *group;
	struct uroce_cm_addr addr;
	union ibv_gid gid;
	uint32_t scope;

	if (cm == NULL || sa == NULL)
		return uroce_vcm_ret(-EINVAL);
	if (uroce_vcm_sockaddr_parse(sa, &addr, &scope) != 0)
		return uroce_vcm_ret(-EADDRNOTAVAIL);
	uroce_vcm_addr_to_gid(&addr, &gid);
	uroce_vcm_take_forget(id);
	pthread_mutex_lock(&uroce_vcm_lock);
	group = remove_group(id, &gid);
	pthread_mutex_unlock(&uroce_vcm_lock);
	if (group == NULL)
		return uroce_vcm_ret(-EADDRNOTAVAIL);
	detach_group(id, group);
	free(group);
	return 0;
}
