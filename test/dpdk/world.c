/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Two devices in one process, wired by rings: QPs connect, ARP and neighbour discovery find the way,
 * data arrives. What the worker adds to the transport, rather than the transport, is under test.
 */

#include "rig.h"

#include <string.h>

static struct uroce_dev *dev_a, *dev_b;

static void
fill(uint8_t *buf, uint32_t len, uint8_t seed)
{
	for (uint32_t i = 0; i < len; i++)
		buf[i] = (uint8_t)(seed + i * 7 + (i >> 8));
}

static void
transfer(struct rig_qp *a, struct rig_qp *b, enum ibv_wr_opcode opcode)
{
	const uint32_t len = 20000;
	struct ibv_wc wc;

	fill(a->buf, len, 1);
	memset(b->buf, 0, RIG_BUF_LEN);
	if (opcode == IBV_WR_SEND)
		rig_post_recv(b, 9, 100, len);
	rig_post_send(a, opcode, 5, 0, len, b, 100);
	wc = rig_await(&a->scq, dev_a, dev_b);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.wr_id, 5);
	if (opcode == IBV_WR_SEND) {
		wc = rig_await(&b->rcq, dev_a, dev_b);
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
		assert_int_equal(wc.wr_id, 9);
		assert_int_equal(wc.byte_len, len);
	}
	assert_memory_equal(a->buf, b->buf + 100, len);
	assert_int_equal(b->buf[99], 0);
	assert_int_equal(b->buf[100 + len], 0);
}

static void
world__rc_transfers_over_ipv4(void **state)
{
	struct rig_qp *a = rig_qp(dev_a, 0, IBV_QPT_RC);
	struct rig_qp *b = rig_qp(dev_b, 0, IBV_QPT_RC);

	(void)state;
	rig_connect(a, b, 1);
	rig_connect(b, a, 1);
	transfer(a, b, IBV_WR_SEND);
	transfer(a, b, IBV_WR_RDMA_WRITE);
	transfer(b, a, IBV_WR_SEND);
	rig_qp_free(a);
	rig_qp_free(b);
}

static int
group_setup(void **state)
{
	(void)state;
	rig_wire("a", "b", 1);
	dev_a = rig_dev("net_ring_a,addr=192.0.2.1/24");
	dev_b = rig_dev("net_ring_b,addr=192.0.2.2/24");
	return 0;
}

static int
group_teardown(void **state)
{
	(void)state;
	assert_int_equal(uroce_dev_destroy(dev_a), 0);
	assert_int_equal(uroce_dev_destroy(dev_b), 0);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(world__rc_transfers_over_ipv4),
	};

	if (!rig_init())
		return 1;
	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
