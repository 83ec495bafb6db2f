/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_MCAST_GROUP_H
#define UROCE_DATAPATH_MCAST_GROUP_H

/**
 * @file
 * Multicast groups of a device: what the port has to let in, and who gets it.
 *
 * On a port of ours the filter lets all multicast in from the start (neighbour discovery needs that);
 * one that cannot do so is told the groups' MACs. Routers and switches that snoop are told by us (IGMP,
 * MLD), at once, once more within ten seconds, whenever one of them asks, and when the link has come
 * back; many groups in several goes. Where the kernel owns the
 * interface it joins the group for us, and does all that. The filter of a port that was handed over is
 * the embedder's.
 */

#include <stdint.h>
#include <rte_mbuf.h>

#include "transport/mcast.h"
#include "wire/verdict.h"

struct uroce_dev;
struct uroce_worker_qp;
struct uroce_worker;

/** A group that a device listens to: there is one of these while it has members. */
struct uroce_mcast_group {
	uint8_t gid[16];
	int fd;      /* the kernel's membership lives as long as this; -1: it has none */
	bool is_due; /* to be reported */
	struct uroce_mcast_group *next;
};

/** Whether a frame is a datagram to a group that has members on the device. */
bool uroce_mcast_group_has(const struct uroce_dev *dev, const struct uroce_pkt *pkt);

/**
 * Hand a datagram to those members that live on the worker; with `is_first`, which means that the
 * worker received it from the port, pass it on to the workers of the others.
 * @return HOPPED: the frame is theirs; else the caller's, with the verdict of the member that took it,
 *	or of the last one
 */
enum uroce_verdict uroce_mcast_group_deliver(struct uroce_worker *worker,
					     const struct uroce_pkt *pkt, struct rte_mbuf *mbuf,
					     bool is_first);

/**
 * The worker is about to send these frames of a datagram QP: members on the device get a copy of those
 * that are for their group, as they would from the network.
 */
void uroce_mcast_group_loop_back(struct uroce_worker *worker, struct rte_mbuf **frames,
				 unsigned nb);

/** Tell of the groups for which that is due, as many as there is room for. The first worker asks, some times a second. */
void uroce_mcast_group_report(struct uroce_worker *worker);

#endif /* UROCE_DATAPATH_MCAST_GROUP_H */
