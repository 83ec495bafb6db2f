/* SPDX-License-Identifier: BSD-3-Clause */

/* The groups are few, so they are in an array without order. */

#include "groups.h"

#include <string.h>
#include <unistd.h>
#include <rte_common.h>

#include "datapath/net/netif.h"
#include "datapath/port/port.h"

static bool
is_member(const struct group *group, uint16_t slot)
{
	return group->members[slot / 64] >> slot % 64 & 1;
}

static struct group *
find_group(struct groups *groups, const uint8_t gid[16])
{
	for (unsigned i = 0; i < groups->nb; i++) {
		if (memcmp(groups->group[i].gid, gid, 16) == 0)
			return &groups->group[i];
	}
	return NULL;
}

/* Whether a user may have one more group. */
static bool
is_below_limit(const struct groups *groups, uid_t uid)
{
	unsigned nb_own = 0;

	for (unsigned i = 0; i < groups->nb; i++)
		nb_own += groups->group[i].uid == uid;
	return nb_own < (GROUPS_MAX - (groups->nb - nb_own)) / 2;
}

/* Make the kernel join a group. @return NULL if the limit is reached, or the kernel refuses */
static struct group *
add_group(struct groups *groups, const struct uroce_port *port, const uint8_t gid[16], uid_t uid)
{
	struct group *group = &groups->group[groups->nb];
	const bool has_socket = uroce_udp_port_has_group_sockets(port);
	int ret;

	if (!is_below_limit(groups, uid))
		return NULL;
	ret = has_socket ? uroce_udp_port_join(port, gid) : uroce_netif_join(&port->netif, gid);
	if (ret < 0)
		return NULL;
	*group = (struct group){ .fd = has_socket ? -1 : ret, .uid = uid };
	memcpy(group->gid, gid, sizeof(group->gid));
	groups->nb++;
	return group;
}

static void
remove_group(struct groups *groups, const struct uroce_port *port, struct group *group)
{
	if (group->fd >= 0)
		(void)close(group->fd);
	else
		uroce_udp_port_leave(port, group->gid);
	*group = groups->group[--groups->nb];
}

/* Find the client with the lowest slot among the members of a group that has members. */
static uint16_t
first_member(const struct group *group)
{
	unsigned i = 0;

	while (group->members[i] == 0)
		i++;
	return (uint16_t)(i * 64 + (unsigned)__builtin_ctzll(group->members[i]));
}

/* End a membership. @return whether the group has lost its last member, and was removed */
static bool
leave_group(struct groups *groups, struct client *const *client, const struct uroce_port *port,
	    struct group *group, uint16_t slot)
{
	if (!is_member(group, slot))
		return false;
	group->members[slot / 64] &= ~(UINT64_C(1) << slot % 64);
	if (--group->nb_members == 0) {
		remove_group(groups, port, group);
		return true;
	}
	group->uid = client[first_member(group)]->uid;
	return false;
}

enum frame_drop
groups_report(struct groups *groups, struct client *const *client, const struct uroce_port *port,
	      uint16_t slot, const struct frame *frame)
{
	uint8_t gid[16] = { [10] = 0xff, 0xff };
	struct group *group;

	if (!frame->group)
		return FRAME_DROP_KIND;
	memcpy(frame->is_ipv6 ? gid : gid + 12, frame->group, frame->is_ipv6 ? 16 : 4);
	group = find_group(groups, gid);
	if (frame->is_leave) {
		if (group)
			(void)leave_group(groups, client, port, group, slot);
		return FRAME_PASSES;
	}
	if (!group)
		group = add_group(groups, port, gid, client[slot]->uid);
	if (!group)
		return FRAME_DROP_GROUP;
	if (!is_member(group, slot)) {
		group->members[slot / 64] |= UINT64_C(1) << slot % 64;
		group->nb_members++;
	}
	return FRAME_PASSES;
}

void
groups_forget(struct groups *groups, struct client *const *client, const struct uroce_port *port,
	      uint16_t slot)
{
	unsigned i = 0;

	while (i < groups->nb)
		i += !leave_group(groups, client, port, &groups->group[i], slot);
}
