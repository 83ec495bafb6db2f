/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Multicast groups whose members are on several workers: each member gets a copy of the data of a
 * datagram. The workers copy from one mbuf, which is released after the last copy.
 */

#include "rig.h"

#include <errno.h>
#include <string.h>
#include <rte_mbuf.h>

#include "datapath/clock.h"
#include "datapath/net/mcast_group.h"
#include "datapath/net/igmp_mld.h"
#include "datapath/net/neigh.h"
#include "datapath/worker/round.h"
#include "datapath/device/stats.h"

#define QKEY 0x1234u
#define GRH  40
#define LEN  200
#define SRC  40000 /* offset in the buffer of the data to send, behind the receive buffers */

static const uint8_t group[16] = { [10] = 0xff, 0xff, 239, 1, 2, 3 };
static const uint8_t group6[16] = { 0xff, 0x15, [15] = 7 };

static struct rig_qp *a;

static uint64_t
count(unsigned worker, enum uroce_verdict verdict)
{
	return uroce_worker_stats(dev_b->worker[worker])->verdict[verdict];
}

/*
 * Get the number of multicast packets that a device sent or received. Check that unicast and
 * multicast packets add up to all packets.
 */
static uint64_t
nb_multicast(const struct uroce_dev *dev, bool is_out)
{
	struct uroce_counters now;

	uroce_stats_read(dev, &now);
	assert_int_equal(now.nb[UROCE_COUNTER_UNICAST_XMIT_PACKETS] +
				 now.nb[UROCE_COUNTER_MULTICAST_XMIT_PACKETS],
			 now.nb[UROCE_COUNTER_PORT_XMIT_PACKETS]);
	assert_int_equal(now.nb[UROCE_COUNTER_UNICAST_RCV_PACKETS] +
				 now.nb[UROCE_COUNTER_MULTICAST_RCV_PACKETS],
			 now.nb[UROCE_COUNTER_PORT_RCV_PACKETS]);
	return now.nb[is_out ? UROCE_COUNTER_MULTICAST_XMIT_PACKETS
			     : UROCE_COUNTER_MULTICAST_RCV_PACKETS];
}

static struct rig_qp *
datagram_qp(struct uroce_dev *dev, unsigned worker)
{
	struct rig_qp *qp = rig_qp(dev, worker, IBV_QPT_UD);
	const struct ibv_qp_attr init = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY };
	const struct ibv_qp_attr rtr = { .qp_state = IBV_QPS_RTR };
	const struct ibv_qp_attr rts = { .qp_state = IBV_QPS_RTS };

	assert_int_equal(
		rig_modify(qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY),
		0);
	assert_int_equal(rig_modify(qp, &rtr, IBV_QP_STATE), 0);
	assert_int_equal(rig_modify(qp, &rts, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
	for (unsigned i = 0; i < RIG_WR; i++)
		rig_post_recv(qp, i, i * 512, GRH + LEN);
	return qp;
}

/*
 * Drive both devices, so that dev_b sends its group reports to routers and switches, and dev_a
 * receives the reports.
 */
static void
settle(void)
{
	rig_drive(dev_b);
	rig_drive(dev_a);
}

static struct rig_qp *
member(unsigned worker, const uint8_t gid[16])
{
	struct rig_qp *qp = datagram_qp(dev_b, worker);

	assert_int_equal(uroce_dev_attach_mcast(dev_b, &qp->wqp, gid), 0);
	settle();
	return qp;
}

static void
free_member(struct rig_qp *qp, const uint8_t gid[16])
{
	assert_int_equal(uroce_dev_detach_mcast(dev_b, &qp->wqp, gid), 0);
	assert_false(uroce_dev_is_attached(dev_b, &qp->wqp));
	rig_qp_free(qp);
	settle();
}

static void
post(const uint8_t gid[16])
{
	struct ibv_ah_attr av = { .is_global = 1, .port_num = 1 };
	struct ibv_sge sge = { .addr = (uintptr_t)a->buf + SRC, .length = LEN, .lkey = a->key };
	const struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.wr.ud = { .remote_qpn = UROCE_MCAST_QPN, .remote_qkey = QKEY },
	};
	struct uroce_path path;

	/*
	 * Use the address of the sender that has the IP version of the group. The MAC follows from
	 * the group, so no peer need respond.
	 */
	av.grh.sgid_index = uroce_ip_is_v4(gid) ? 1 : 0;
	memcpy(av.grh.dgid.raw, gid, 16);
	assert_int_equal(uroce_dev_resolve(dev_a, &av, 0xc000, &path), 0);
	uroce_lock_take(&a->sq.lock);
	assert_int_equal(uroce_sq_fill(&a->sq, 0, &wr, &path, false), 0);
	uroce_ring_push(&a->sq.ring, 1);
	uroce_lock_release(&a->sq.lock);
	uroce_worker_ring_doorbell(a->wqp.worker, &a->wqp);
	/* The datagram is sent. dev_a may also receive a group report that dev_b repeats. */
	assert_in_range(uroce_worker_poll(dev_a->worker[0]), 1, 2);
}

static int
nb_received(struct rig_qp *qp)
{
	struct ibv_wc wc[RIG_WR];
	const int nb = uroce_cq_poll(&qp->rcq, RIG_WR, wc);

	for (int i = 0; i < nb; i++) {
		assert_int_equal(wc[i].status, IBV_WC_SUCCESS);
		assert_int_equal(wc[i].byte_len, GRH + LEN);
		rig_check(qp, (uint32_t)wc[i].wr_id * 512 + GRH, a, SRC, LEN);
	}
	return nb;
}

static void
mcast_group__every_member_gets_one_copy(void **state)
{
	struct rig_qp *qp[] = { member(0, group), member(0, group), member(1, group) };
	struct rig_qp *other = member(2, group6), *none = datagram_qp(dev_b, 0);
	const uint64_t nb_forwarded = count(0, UROCE_VERDICT_FORWARDED);
	const uint64_t nb_out = nb_multicast(dev_a, true), nb_in = nb_multicast(dev_b, false);

	(void)state;
	rig_fill(a, 9);
	post(group);
	(void)uroce_worker_poll(dev_b->worker[0]);
	assert_int_equal(nb_multicast(dev_a, true) - nb_out, 1);
	assert_int_equal(nb_received(qp[0]), 1);
	assert_int_equal(nb_received(qp[1]), 1);
	assert_int_equal(nb_received(qp[2]), 0);
	assert_int_equal(count(0, UROCE_VERDICT_FORWARDED) - nb_forwarded, 1);
	/* worker 1 of dev_b still has the mbuf of the datagram */
	assert_int_equal(rig_nb_away(dev_a), 1);
	rig_drive(dev_b);
	assert_int_equal(nb_multicast(dev_b, false) - nb_in, 1);
	assert_int_equal(nb_received(qp[2]), 1);
	assert_int_equal(rig_nb_away(dev_a), 0);
	assert_int_equal(nb_received(other), 0);
	assert_int_equal(nb_received(none), 0);
	rig_qp_free(none);
	free_member(other, group6);
	for (unsigned i = 0; i < 3; i++)
		free_member(qp[i], group);
}

static void
mcast_group__members_on_other_workers_alone(void **state)
{
	struct rig_qp *qp[] = { member(1, group6), member(2, group6) };
	const uint64_t nb_forwarded = count(0, UROCE_VERDICT_FORWARDED);

	(void)state;
	post(group6);
	rig_drive(dev_b);
	assert_int_equal(nb_received(qp[0]), 1);
	assert_int_equal(nb_received(qp[1]), 1);
	assert_int_equal(count(0, UROCE_VERDICT_FORWARDED) - nb_forwarded, 2);
	assert_int_equal(rig_nb_away(dev_a), 0);
	free_member(qp[0], group6);
	free_member(qp[1], group6);
}

static void
mcast_group__without_members_the_frame_is_a_strangers(void **state)
{
	const uint64_t nb_strange = count(0, UROCE_VERDICT_WRONG_PEER);

	(void)state;
	post(group);
	rig_drive(dev_b);
	assert_int_equal(count(0, UROCE_VERDICT_WRONG_PEER) - nb_strange, 1);
	assert_int_equal(rig_nb_away(dev_a), 0);
}

static void
mcast_group__who_left_meanwhile_gets_nothing(void **state)
{
	struct rig_qp *qp = member(1, group);
	const uint64_t nb_before = count(1, UROCE_VERDICT_WRONG_PEER);

	(void)state;
	post(group);
	(void)uroce_worker_poll(dev_b->worker[0]); /* worker 0 forwards the datagram to worker 1 */
	free_member(qp, group);
	rig_drive(dev_b);
	assert_int_equal(count(1, UROCE_VERDICT_WRONG_PEER) - nb_before, 1);
	assert_int_equal(rig_nb_away(dev_a), 0);
}

static void
mcast_group__a_worker_that_is_away_overruns_alone(void **state)
{
	struct rig_qp *qp[] = { member(0, group), member(1, group) };
	const uint64_t nb_before = count(0, UROCE_VERDICT_OVERRUN);

	(void)state;
	for (unsigned i = 0; i < UROCE_FORWARD_RING_LEN + 10; i++) {
		post(group);
		(void)uroce_worker_poll(dev_b->worker[0]);
		rig_post_recv(qp[0], i % RIG_WR, i % RIG_WR * 512, GRH + LEN);
		assert_int_equal(nb_received(qp[0]), 1);
		(void)uroce_cq_poll(&a->scq, 1, &(struct ibv_wc){ 0 });
	}
	assert_true(count(0, UROCE_VERDICT_OVERRUN) - nb_before >= 10);
	for (unsigned i = 0; i < UROCE_FORWARD_RING_LEN / UROCE_BURST + 1; i++)
		rig_drive(dev_b);
	/* qp[1] gets as many datagrams as it has receive requests */
	assert_int_equal(nb_received(qp[1]), RIG_WR);
	assert_int_equal(rig_nb_away(dev_a), 0);
	free_member(qp[0], group);
	free_member(qp[1], group);
}

/*
 * A datagram to a group also reaches the members on the device that sends it, on any worker. If the
 * sending QP is a member, it receives the datagram, too.
 */
static void
mcast_group__members_at_home_get_theirs(void **state)
{
	struct rig_qp *other = datagram_qp(dev_a, 2);
	struct rig_qp *far = member(0, group);

	(void)state;
	assert_int_equal(uroce_dev_attach_mcast(dev_a, &a->wqp, group), 0);
	assert_int_equal(uroce_dev_attach_mcast(dev_a, &other->wqp, group), 0);
	post(group);
	assert_int_equal(nb_received(a), 1);
	rig_drive(dev_a);
	rig_drive(dev_b);
	assert_int_equal(nb_received(other), 1);
	assert_int_equal(nb_received(far), 1);
	/* the group group6 has no members on the device */
	post(group6);
	rig_drive(dev_a);
	assert_int_equal(nb_received(a), 0);
	assert_int_equal(uroce_dev_detach_mcast(dev_a, &a->wqp, group), 0);
	assert_int_equal(uroce_dev_detach_mcast(dev_a, &other->wqp, group), 0);
	rig_qp_free(other);
	free_member(far, group);
	rig_drive(dev_b);
	assert_int_equal(rig_nb_away(dev_a), 0);
}

/*
 * Get the number of frames that dev_a has received and that are not RoCE. In these tests such
 * frames are the group reports of dev_b.
 */
static uint64_t
nb_reports(void)
{
	return uroce_worker_stats(dev_a->worker[0])->verdict[UROCE_VERDICT_NOT_ROCE];
}

/*
 * The query of a router for all IPv6 groups, which a host must answer at once. The frame was made
 * by scapy.
 */
static const uint8_t mld_query[] = {
	0x33, 0x33, 0x00, 0x00, 0x00, 0x01, 0x02, 0x00, 0x00, 0x00, 0x00, 0x99, 0x86, 0xdd, 0x60,
	0x00, 0x00, 0x00, 0x00, 0x20, 0x00, 0x01, 0xfe, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0xff, 0xfe, 0x00, 0x00, 0x99, 0xff, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x3a, 0x00, 0x05, 0x02, 0x00, 0x00,
	0x01, 0x00, 0x82, 0x00, 0x80, 0x8f, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
};

static void
mcast_group__is_reported_to_the_network(void **state)
{
	const uint64_t begin = nb_reports();
	struct rig_qp *first = member(0, group), *second = member(1, group);
	struct rig_qp *other = member(2, group6);
	uint8_t frame[sizeof(mld_query)];
	uint32_t len = sizeof(frame);

	(void)state;
	/* Two reports are sent for the two groups: one for each group, not one for each member. */
	assert_int_equal(nb_reports() - begin, 2);
	memcpy(frame, mld_query, sizeof(frame));
	assert_int_equal(uroce_neigh_input(dev_b->neigh, frame, &len, len, uroce_clock_ns()),
			 UROCE_NEIGH_LEARNT);
	rig_drive(dev_b); /* drive the device, so that time passes until the report is due */
	uroce_mcast_group_report(dev_b->worker[0]);
	settle();
	assert_int_equal(nb_reports() - begin, 4);
	free_member(first, group);
	assert_int_equal(nb_reports() - begin, 4);
	free_member(second, group);
	assert_int_equal(nb_reports() - begin, 5);
	free_member(other, group6);
	assert_int_equal(nb_reports() - begin, 6);
}

/* The response to a query needs more reports than the port can transmit at once. */
static void
mcast_group__many_are_reported_to_the_network(void **state)
{
	enum { NB = 300 };
	struct rig_qp *qp = datagram_qp(dev_b, 0);
	uint8_t gid[16], frame[sizeof(mld_query)];
	uint32_t len = sizeof(frame);

	(void)state;
	memcpy(gid, group6, sizeof(gid));
	for (unsigned i = 0; i < NB; i++) {
		gid[13] = (uint8_t)(i >> 8);
		gid[14] = (uint8_t)i;
		assert_int_equal(uroce_dev_attach_mcast(dev_b, &qp->wqp, gid), 0);
		settle();
	}
	const uint64_t begin = nb_reports();

	memcpy(frame, mld_query, sizeof(frame));
	assert_int_equal(uroce_neigh_input(dev_b->neigh, frame, &len, len, uroce_clock_ns()),
			 UROCE_NEIGH_LEARNT);
	for (unsigned i = 0; i < 10; i++) {
		rig_drive(dev_b);
		uroce_mcast_group_report(dev_b->worker[0]);
		for (unsigned k = 0; k < 8; k++)
			settle();
	}
	/* New groups are reported twice, so the count may also include the second reports. */
	assert_true(nb_reports() - begin >= NB);
	assert_int_equal((nb_reports() - begin) % NB, 0);
	for (unsigned i = 0; i < NB; i++) {
		gid[13] = (uint8_t)(i >> 8);
		gid[14] = (uint8_t)i;
		assert_int_equal(uroce_dev_detach_mcast(dev_b, &qp->wqp, gid), 0);
		settle();
	}
	rig_qp_free(qp);
}

/*
 * A port that filters multicast MACs has a list of 64 MACs. Frames to a 65th MAC would not arrive,
 * so the attach call must fail.
 */
static void
mcast_group__a_port_that_filters_has_room_for_some(void **state)
{
	struct rig_qp *qp = datagram_qp(dev_b, 0);
	uint8_t gid[16];

	(void)state;
	dev_b->port->has_all_multicast = false;
	memcpy(gid, group6, sizeof(gid));
	for (unsigned i = 0; i <= 64; i++) {
		gid[12] = (uint8_t)i;
		assert_int_equal(uroce_dev_attach_mcast(dev_b, &qp->wqp, gid),
				 i < 64 ? 0 : -ENOMEM);
		settle();
	}
	/*
	 * The list of the port already has the MAC of the group with gid[12] == 0, so this group
	 * needs no new entry.
	 */
	gid[12] = 0;
	assert_int_equal(uroce_dev_attach_mcast(dev_b, &qp->wqp, gid), 0);
	for (unsigned i = 0; i < 64; i++) {
		gid[12] = (uint8_t)i;
		assert_int_equal(uroce_dev_detach_mcast(dev_b, &qp->wqp, gid), 0);
		settle();
	}
	dev_b->port->has_all_multicast = true;
	rig_qp_free(qp);
}

static void
mcast_group_mac__follows_from_the_gid(void **state)
{
	static const struct {
		uint8_t gid[16], mac[6];
	} rows[] = {
		{ { [10] = 0xff, 0xff, 239, 1, 2, 3 }, { 0x01, 0x00, 0x5e, 1, 2, 3 } },
		{ { [10] = 0xff, 0xff, 239, 129, 2, 3 }, { 0x01, 0x00, 0x5e, 1, 2, 3 } },
		{ { 0xff, 0x02, [11] = 1, 0xff, 5, 6, 7 }, { 0x33, 0x33, 0xff, 5, 6, 7 } },
	};

	(void)state;
	for (unsigned i = 0; i < RTE_DIM(rows); i++) {
		uint8_t mac[6];

		uroce_mcast_group_mac(rows[i].gid, mac);
		assert_memory_equal(mac, rows[i].mac, 6);
	}
}

static int
group_setup(void **state)
{
	(void)state;
	rig_pair(3, 0);
	a = datagram_qp(dev_a, 0);
	return 0;
}

static int
group_teardown(void **state)
{
	rig_qp_free(a);
	return rig_teardown(state);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mcast_group__is_reported_to_the_network),
		cmocka_unit_test(mcast_group__many_are_reported_to_the_network),
		cmocka_unit_test(mcast_group__every_member_gets_one_copy),
		cmocka_unit_test(mcast_group__members_on_other_workers_alone),
		cmocka_unit_test(mcast_group__without_members_the_frame_is_a_strangers),
		cmocka_unit_test(mcast_group__who_left_meanwhile_gets_nothing),
		cmocka_unit_test(mcast_group__a_worker_that_is_away_overruns_alone),
		cmocka_unit_test(mcast_group__members_at_home_get_theirs),
		cmocka_unit_test(mcast_group__a_port_that_filters_has_room_for_some),
		cmocka_unit_test(mcast_group_mac__follows_from_the_gid),
	};

	if (!rig_init())
		return 1;
	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
