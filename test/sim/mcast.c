/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Multicast groups. The membership of a QP is recorded twice: in the host's table, which the
 * transport uses, and in the flag `is_member`, which the oracle uses.
 */

#include "mcast.h"

#include <assert.h>
#include <string.h>

#include "host.h"
#include "transport/mcast.h"

static const uint8_t groups[2][16] = {
	{ 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 1, 2, 3 },
	{ 0xff, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3 },
};

void
group_gid(bool is_ipv6, uint8_t gid[16])
{
	memcpy(gid, groups[is_ipv6], 16);
}

bool
group_join(struct qp *qp)
{
	if (qp->is_member || qp->is_gone || qp->qpc.type != IBV_QPT_UD)
		return false;
	const int ret = uroce_mcast_attach(qp->host->mcast, groups[qp->conf.is_ipv6], qp);

	assert(ret == 0);
	(void)ret;
	qp->is_member = true;
	return true;
}

bool
group_leave(struct qp *qp)
{
	uint32_t idx;

	if (!qp->is_member)
		return false;
	if (uroce_mcast_detach(qp->host->mcast, groups[qp->conf.is_ipv6], qp, &idx))
		world_complain(qp->world, "qp 0x%x cannot leave its group", qp->qpn);
	else
		uroce_mcast_free(qp->host->mcast, idx);
	qp->is_member = false;
	return true;
}

static uint32_t
count_members(const struct host *host, bool is_ipv6)
{
	uint32_t nb = 0;

	for (uint32_t i = 0; i < host->nb_qps; i++)
		nb += host->qps[i] && host->qps[i]->is_member &&
		      host->qps[i]->conf.is_ipv6 == is_ipv6;
	return nb;
}

static bool
is_ipv6_frame(const struct frame *frame)
{
	return frame->bytes[sizeof(struct uroce_eth)] >> 4 == 6;
}

void
group_forward(struct world *world, struct frame *frame)
{
	for (uint32_t i = 0; i < world->nb_hosts; i++) {
		struct host *host = &world->hosts[i];

		if (host->is_dead || !count_members(host, is_ipv6_frame(frame)))
			continue;
		struct frame *copy = frame_take(&world->frames);

		copy->len = frame->len;
		copy->from = frame->from;
		copy->to = host->idx;
		copy->is_to_group = false;
		copy->is_spoilt = frame->is_spoilt;
		copy->spoilt_at = frame->spoilt_at;
		memcpy(copy->bytes, frame->bytes, frame->len);
		link_forward(world, copy);
	}
	frame_give(&world->frames, frame);
}

enum uroce_verdict
group_deliver(struct world *world, struct host *host, struct uroce_pkt *pkt)
{
	enum uroce_verdict verdict = UROCE_VERDICT_NO_QP;
	struct uroce_mcast_walk walk;
	uint8_t gid[16];
	uint32_t nb = 0;
	struct qp *qp;

	uroce_pkt_dgid(pkt, gid);
	world->nb_passes++;
	uroce_mcast_walk_begin(&walk, host->mcast, gid);
	while ((qp = uroce_mcast_walk_next(&walk))) {
		const bool has_room = qp->nb_recv_posted != qp->nb_recv_done &&
				      qp->qpc.state >= IBV_QPS_RTR && qp->qpc.state <= IBV_QPS_SQE;

		if (!qp->is_member || qp->host != host || qp->pass == world->nb_passes)
			world_complain(world, "qp 0x%x gets a copy that is not for it", qp->qpn);
		qp->pass = world->nb_passes;
		nb++;
		verdict = host_hand_over(world, qp, pkt);
		if (has_room && verdict != UROCE_VERDICT_DATAGRAM)
			world_complain(world, "qp 0x%x, a member, does not take a datagram: %s",
				       qp->qpn, uroce_verdict_name(verdict));
	}
	if (nb != count_members(host, pkt->is_ipv6))
		world_complain(world, "of a group's members %u get a copy, and not %u", nb,
			       count_members(host, pkt->is_ipv6));
	world->tally.copies += nb;
	return verdict;
}
