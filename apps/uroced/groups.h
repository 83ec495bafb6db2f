/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_GROUPS_H
#define UROCED_GROUPS_H

/**
 * @file
 * Multicast groups of the port `udp`. Clients report their groups by IGMP and MLD. On other ports
 * uroced forwards the reports to the network. On the port `udp` uroced does not forward them: it
 * makes the kernel join the groups, as a switch with IGMP snooping would open its ports. The kernel
 * reports the groups to the network.
 *
 * Of GROUPS_MAX groups, those with members of other users only are subtracted. A user may be a
 * member of at most half of the rest, so that few users together cannot take all groups. A group
 * with members of several users counts for each of them. Otherwise a user could leave groups to
 * another user, and take further ones.
 *
 * Only the data path uses the groups.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/token_bucket.h"
#include "client.h"
#include "datapath/udp/udp_port.h"
#include "frame.h"

#define GROUPS_MAX UROCE_UDP_GROUPS_MAX

struct uroce_port;

/** A set of clients: one bit for each client. The index of the bit is client.slot. */
struct slot_set {
	uint64_t bits[CLIENTS_MAX / 64];
};

struct group {
	uint8_t gid[16];
	/*
	 * socket by which the kernel is a member of the group; -1 if a socket of the port is the
	 * member
	 */
	int fd;
	unsigned nb_members;
	struct slot_set members;
};

struct groups {
	const struct uroce_port *port;
	struct client *const *client;    /* the attached clients, indexed by client.slot */
	struct uroce_token_bucket lines; /* limits the log lines about refused joins */
	unsigned nb;
	struct group group[GROUPS_MAX];
};

/**
 * Make a table without multicast groups.
 * @param client  the attached clients, indexed by client.slot; later calls read the table again
 */
void groups_init(struct groups *groups, const struct uroce_port *port,
		 struct client *const *client);

/**
 * Handle a multicast report (IGMP, MLD) of a client.
 * @return FRAME_PASSES; FRAME_DROP_GROUP_LIMIT: the user of the client may not join the group;
 *         FRAME_DROP_GROUP: the kernel does not join the group; FRAME_DROP_KIND: the frame is no
 *         report of a single group
 */
enum frame_drop groups_report(struct groups *groups, uint16_t slot, const struct frame *frame,
			      uint64_t now_ns);

/** End the memberships of a client in all multicast groups. */
void groups_forget(struct groups *groups, uint16_t slot);

#endif /* UROCED_GROUPS_H */
