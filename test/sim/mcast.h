/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_SIM_MCAST_H
#define TEST_SIM_MCAST_H

/**
 * @file
 * A multicast group: one end sends datagrams to it, ends on several hosts are members. The switch copies
 * a frame to each host that has a member; the host hands it to each of them, by the transport's table.
 *
 * Checked is that each member gets one copy of what reaches its host, and nobody else does; and that a
 * member with a receive request posted takes it.
 */

#include <stdbool.h>
#include <stdint.h>

#include "qp.h"

struct frame;

/** The address of the world's group, of a family. */
void group_gid(bool is_ipv6, uint8_t gid[16]);

/** Become a member, or cease to be one. @return whether that was a change */
bool group_join(struct qp *qp);
bool group_leave(struct qp *qp);

/** A frame to the group is at the switch: one copy to each host with a member. Takes the frame. */
void group_forward(struct world *world, struct frame *frame);

/** A datagram to a group is at a host. @return the verdict of the last member */
enum uroce_verdict group_deliver(struct world *world, struct host *host, struct uroce_pkt *pkt);

#endif /* TEST_SIM_MCAST_H */
