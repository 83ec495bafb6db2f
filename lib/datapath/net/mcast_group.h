/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_MCAST_GROUP_H
#define UROCE_DATAPATH_MCAST_GROUP_H

/**
 * @file
 * The multicast groups of a device: which groups the port must accept, and which QPs receive the
 * datagrams of a group.
 *
 * On an ethdev port that this library configures, the MAC filter accepts all multicast from the
 * start, which neighbour discovery requires. If the port cannot accept all multicast, its filter
 * gets the MACs of the groups. This library reports the groups to routers and snooping switches by
 * IGMP and MLD. A new group is reported at once, and again within ten seconds. All groups are
 * reported after each query, and when the link has come up again. Reports of many groups are spread
 * over several calls.
 *
 * If the kernel owns the interface, the kernel joins the groups, sets the filter and sends the
 * reports. The filter of a port that the DPDK application has handed over belongs to the
 * application.
 */

#include <stdint.h>
#include <rte_mbuf.h>

#include "transport/mcast.h"
#include "wire/verdict.h"

struct uroce_dev;
struct uroce_worker_qp;
struct uroce_worker;

/** A multicast group of a device. It exists while the group has members. */
struct uroce_mcast_group {
	uint8_t gid[16];
	/* Socket by which the kernel is a member of the group; -1: the kernel is no member. */
	int fd;
	bool is_due; /* a report of the group to routers and switches is due */
	struct uroce_mcast_group *next;
};

/** Whether a packet is a datagram to a multicast group that has members on the device. */
bool uroce_mcast_group_has(const struct uroce_dev *dev, const struct uroce_pkt *pkt);

/**
 * Deliver a datagram to those member QPs of its multicast group that this worker owns. If
 * `is_first`, no other worker has the frame yet, and this worker also forwards the frame to the
 * workers that own the other member QPs.
 * @return UROCE_VERDICT_FORWARDED: the frame belongs to other workers now. Any other verdict: the
 *   caller still owns the frame. The verdict is that of a member that accepted the datagram, or
 *   else that of the last member
 */
enum uroce_verdict uroce_mcast_group_deliver(struct uroce_worker *worker,
					     const struct uroce_pkt *pkt, struct rte_mbuf *mbuf,
					     bool is_first);

/**
 * Deliver copies of multicast datagrams, which the worker is about to send, to the member QPs on
 * this device. A member receives a copy as it would receive a datagram from the network.
 */
void uroce_mcast_group_loop_back(struct uroce_worker *worker, struct rte_mbuf **frames,
				 unsigned nb);

/**
 * Send the IGMP and MLD reports that are due, until half of the worker's room for pending frames is
 * used. The first worker of a device calls the function several times in a second.
 */
void uroce_mcast_group_report(struct uroce_worker *worker);

#endif /* UROCE_DATAPATH_MCAST_GROUP_H */
