/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_GROUPS_H
#define UROCED_GROUPS_H

/**
 * @file
 * Multicast groups of the port `udp`. Clients report their groups by IGMP and MLD. On other ports
 * uroced forwards the reports to the network. On the port `udp` uroced does not forward them: it
 * makes the kernel join the groups, as a snooping switch would open its ports. The kernel reports
 * the groups to the network.
 *
 * The data path alone uses the groups.
 */

#include <stdbool.h>
#include <stdint.h>

#include "client.h"
#include "datapath/udp/udp_port.h"
#include "frame.h"

#define GROUPS_MAX UROCE_UDP_GROUPS_MAX

struct uroce_port;

struct group {
	uint8_t gid[16];
	int fd; /* keeps the membership of the kernel; -1 if a socket of the port keeps it */
	/*
	 * The group counts towards the limit of this user, who is the user of one of the members.
	 */
	uid_t uid;
	unsigned nb_members;
	uint64_t members[CLIENTS_MAX / 64]; /* a bit for the slot of each client */
};

struct groups {
	unsigned nb;
	struct group group[GROUPS_MAX];
};

/**
 * Handle a report of a client. A user has at most half of the groups that other users leave.
 * @param client  all clients by slot, among them the sender
 * @return FRAME_PASSES, or why the frame is dropped
 */
enum frame_drop groups_report(struct groups *groups, struct client *const *client,
			      const struct uroce_port *port, uint16_t slot,
			      const struct frame *frame);

/** End all memberships of a client, while the client is still among `client`. */
void groups_forget(struct groups *groups, struct client *const *client,
		   const struct uroce_port *port, uint16_t slot);

#endif /* UROCED_GROUPS_H */
