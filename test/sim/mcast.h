/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_SIM_MCAST_H
#define TEST_SIM_MCAST_H

/**
 * @file
 * A multicast group: one QP sends datagrams to it, and QPs on several hosts are members. The switch
 * copies a frame to each host that has a member. The host finds the members in the transport's
 * table and delivers the frame to each of them.
 *
 * Two rules are checked. Each member gets one copy of every frame that reaches its host, and no
 * other QP gets one. A member with a posted receive request receives the datagram into that
 * request.
 */

#include <stdbool.h>
#include <stdint.h>

#include "qp.h"

struct frame;

/** The GID of the world's only multicast group, in IPv4 or IPv6 form. */
void group_gid(bool is_ipv6, uint8_t gid[16]);

/**
 * Let a QP join the group, or leave the group.
 * @return whether the membership changed
 */
bool group_join(struct qp *qp);
bool group_leave(struct qp *qp);

/**
 * Handle a frame to the group at the switch: send one copy to each host with a member. Takes
 * ownership of the frame.
 */
void group_forward(struct world *world, struct frame *frame);

/**
 * Deliver a datagram of the group to the members on a host.
 * @return the verdict of the last member
 */
enum uroce_verdict group_deliver(struct world *world, struct host *host, struct uroce_pkt *pkt);

#endif /* TEST_SIM_MCAST_H */
