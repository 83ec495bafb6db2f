/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The multicast groups of the port `udp`. The groups are few, so they are in an array without
 * order.
 */

#include "groups.h"

#include <string.h>
#include <unistd.h>

#include "datapath/net/address_text.h"
#include "datapath/net/netif.h"
#include "datapath/port/port.h"
#include "log_line.h"

/*
 * Number of log lines about refused reports that may be written at once, and the time in
 * nanoseconds after which one more may be written.
 */
#define LINES_BURST 5u
#define LINE_NS     UINT64_C(1000000000)

void
groups_init(struct groups *groups, const struct uroce_port *port, struct client *const *client)
{
	*groups = (struct groups){ .port = port, .client = client };
}

/* --- limits -------------------------------------------------------------------------------------- */

/*
 * The number of groups of which a user is a member, and the number of groups of which only other
 * users are members.
 */
struct usage {
	unsigned nb_own;
	unsigned nb_others;
};

static struct slot_set
find_slots_of_user(const struct groups *groups, uid_t uid)
{
	struct slot_set slots = { { 0 } };

	for (unsigned i = 0; i < CLIENTS_MAX; i++) {
		if (groups->client[i] && groups->client[i]->uid == uid)
			slots.bits[i / 64] |= UINT64_C(1) << i % 64;
	}
	return slots;
}

static bool
has_member_of(const struct group *group, const struct slot_set *slots)
{
	uint64_t common = 0;

	for (unsigned i = 0; i < CLIENTS_MAX / 64; i++)
		common |= group->members.bits[i] & slots->bits[i];
	return common != 0;
}

/*
 * Count the multicast groups, without the group that the user wants to join.
 * @param slots  the clients of the user
 */
static struct usage
count_groups(const struct groups *groups, const struct group *wanted, const struct slot_set *slots)
{
	struct usage usage = { 0, 0 };

	for (unsigned i = 0; i < groups->nb; i++) {
		if (&groups->group[i] == wanted)
			continue;
		if (has_member_of(&groups->group[i], slots))
			usage.nb_own++;
		else
			usage.nb_others++;
	}
	return usage;
}

/*
 * Check whether a user may join a multicast group.
 * @param wanted  the group; NULL if it has no members yet
 * @param[out] usage  the number of the user's other groups and of other users' groups, for the log
 */
static bool
may_join(const struct groups *groups, const struct group *wanted, uid_t uid, struct usage *usage)
{
	const struct slot_set slots = find_slots_of_user(groups, uid);

	*usage = count_groups(groups, wanted, &slots);
	return (wanted && has_member_of(wanted, &slots)) ||
	       usage->nb_own < (GROUPS_MAX - usage->nb_others) / 2;
}

static void
log_limit(struct groups *groups, const uint8_t gid[16], uid_t uid, const struct usage *usage,
	  uint64_t now_ns)
{
	char text[INET6_ADDRSTRLEN];

	if (uroce_token_bucket_take(&groups->lines, LINES_BURST, LINE_NS, now_ns))
		log_line("user %u does not join multicast group %s: the user is in %u groups, and "
			 "other users in %u more: allowed is half of the %u groups that others "
			 "leave",
			 (unsigned)uid, uroce_address_text(gid, text), usage->nb_own,
			 usage->nb_others, GROUPS_MAX - usage->nb_others);
}

/* --- groups and members -------------------------------------------------------------------------- */

static bool
is_member(const struct group *group, uint16_t slot)
{
	return group->members.bits[slot / 64] >> slot % 64 & 1;
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

/*
 * Make the kernel join a multicast group.
 * @return NULL, and a line in the log, if the kernel refuses
 */
static struct group *
add_group(struct groups *groups, const uint8_t gid[16], uid_t uid, uint64_t now_ns)
{
	struct group *group = &groups->group[groups->nb];
	const bool has_socket = uroce_udp_port_has_group_sockets(groups->port);
	const int ret = has_socket ? uroce_udp_port_join(groups->port, gid)
				   : uroce_netif_join(&groups->port->netif, gid);
	char text[INET6_ADDRSTRLEN];

	if (ret < 0) {
		if (uroce_token_bucket_take(&groups->lines, LINES_BURST, LINE_NS, now_ns))
			log_line("user %u does not join multicast group %s: the kernel says: %s",
				 (unsigned)uid, uroce_address_text(gid, text), strerror(-ret));
		return NULL;
	}
	*group = (struct group){ .fd = has_socket ? -1 : ret };
	memcpy(group->gid, gid, sizeof(group->gid));
	groups->nb++;
	return group;
}

static void
remove_group(struct groups *groups, struct group *group)
{
	if (group->fd >= 0)
		(void)close(group->fd);
	else
		uroce_udp_port_leave(groups->port, group->gid);
	*group = groups->group[--groups->nb];
}

/*
 * End a client's membership in a multicast group.
 * @return whether the group has lost its last member, and was removed
 */
static bool
leave_group(struct groups *groups, struct group *group, uint16_t slot)
{
	if (!is_member(group, slot))
		return false;
	group->members.bits[slot / 64] &= ~(UINT64_C(1) << slot % 64);
	if (--group->nb_members > 0)
		return false;
	remove_group(groups, group);
	return true;
}

/* Handle a client's report of a multicast group of which the client is not a member yet. */
static enum frame_drop
join_group(struct groups *groups, struct group *group, const uint8_t gid[16], uint16_t slot,
	   uint64_t now_ns)
{
	const uid_t uid = groups->client[slot]->uid;
	struct usage usage;

	if (!may_join(groups, group, uid, &usage)) {
		log_limit(groups, gid, uid, &usage, now_ns);
		return FRAME_DROP_GROUP_LIMIT;
	}
	if (!group)
		group = add_group(groups, gid, uid, now_ns);
	if (!group)
		return FRAME_DROP_GROUP;
	group->members.bits[slot / 64] |= UINT64_C(1) << slot % 64;
	group->nb_members++;
	return FRAME_PASSES;
}

enum frame_drop
groups_report(struct groups *groups, uint16_t slot, const struct frame *frame, uint64_t now_ns)
{
	uint8_t gid[16] = { [10] = 0xff, 0xff };
	struct group *group;

	if (!frame->group)
		return FRAME_DROP_KIND;
	memcpy(frame->is_ipv6 ? gid : gid + 12, frame->group, frame->is_ipv6 ? 16 : 4);
	group = find_group(groups, gid);
	if (frame->is_leave) {
		if (group)
			(void)leave_group(groups, group, slot);
		return FRAME_PASSES;
	}
	if (group && is_member(group, slot))
		return FRAME_PASSES;
	return join_group(groups, group, gid, slot, now_ns);
}

void
groups_forget(struct groups *groups, uint16_t slot)
{
	unsigned i = 0;

	while (i < groups->nb)
		i += !leave_group(groups, &groups->group[i], slot);
}
