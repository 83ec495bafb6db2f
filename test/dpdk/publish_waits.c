/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Completions whose ACKs wait in the worker, because the port is full, because other QPs are
 * scheduled before the QP of the ACK, or because an embedder has not taken the frames.
 */

#include "rig.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <rte_ethdev.h>

#include "datapath/clock.h"
#include "datapath/worker/round.h"
#include "wire/hdr.h"

static struct rig_qp *qp_a, *qp_b;
static struct uroce_cq_notify notify_b;

static int
setup_devices(void **state)
{
	(void)state;
	rig_pair(1, 0);
	rig_own_clock();
	return 0;
}

static bool is_full;   /* whether the port of host b accepts no frames */
static bool has_acked; /* whether an ACK to qp_a was transmitted */
/* results of two polls of the CQ after the event of its overrun */
static int overrun_polled[2];
static void (*on_transmit)(void); /* function that is called when host b transmits, or NULL */

static bool
is_ack_to_a(const struct rte_mbuf *frame)
{
	const size_t at =
		sizeof(struct uroce_eth) + sizeof(struct uroce_ipv4) + sizeof(struct uroce_udp);
	const struct uroce_bth *bth = rte_pktmbuf_mtod_offset(frame, const struct uroce_bth *, at);

	return bth->opcode == UROCE_OP_ACK && be24_get(bth->dest_qpn) == qp_a->wqp.qpc.qpn;
}

static uint16_t
carry(uint16_t port, uint16_t queue, struct rte_mbuf **frames, uint16_t nb, void *arg)
{
	(void)port;
	(void)queue;
	(void)arg;
	if (is_full)
		return 0;
	if (on_transmit)
		on_transmit();
	for (unsigned i = 0; i < nb; i++)
		has_acked |= is_ack_to_a(frames[i]);
	return nb;
}

static const struct rte_eth_rxtx_callback *carrying;

static int
setup(void **state)
{
	(void)state;
	qp_a = rig_qp(dev_a, 0, IBV_QPT_RC);
	qp_b = rig_qp(dev_b, 0, IBV_QPT_RC);
	rig_connect(qp_a, qp_b, 1);
	rig_connect(qp_b, qp_a, 1);
	notify_b.event_fd = eventfd(0, EFD_NONBLOCK);
	atomic_store(&notify_b.nb_events, 0);
	qp_b->rcq.cookie = &notify_b;
	is_full = has_acked = false;
	on_transmit = NULL;
	carrying = rte_eth_add_tx_callback(dev_b->port->id, 0, carry, NULL);
	assert_non_null(carrying);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	(void)rte_eth_remove_tx_callback(dev_b->port->id, 0, carrying);
	close(notify_b.event_fd);
	rig_qp_free(qp_a);
	rig_qp_free(qp_b);
	return 0;
}

/* Post a SEND from host a to host b, and transmit it. Host b does not receive it yet. */
static void
send_one(uint64_t wr_id)
{
	rig_post_recv(qp_b, wr_id, 0, 64);
	rig_post_send(qp_a, IBV_WR_SEND, wr_id, 0, 64, NULL, 0);
	rig_drive(dev_a);
}

static bool
has_event(void)
{
	struct pollfd fd = { notify_b.event_fd, POLLIN, 0 };

	return poll(&fd, 1, 0) == 1;
}

static bool
is_visible(void)
{
	return !uroce_cq_is_empty(&qp_b->rcq) || has_event();
}

static void
publish__waits_while_the_port_is_full(void **state)
{
	(void)state;
	uroce_cq_arm(&qp_b->rcq, false);
	is_full = true;
	send_one(1);
	for (unsigned i = 0; i < 10; i++) {
		rig_drive(dev_b);
		assert_false(is_visible());
	}
	is_full = false;
	rig_drive(dev_b);
	assert_true(has_acked);
	assert_true(has_event());
	assert_int_equal(rig_wait(&qp_b->rcq).status, IBV_WC_SUCCESS);
	assert_int_equal(rig_await(&qp_a->scq, dev_a, dev_b).status, IBV_WC_SUCCESS);
}

/*
 * If the port accepts no frames for UROCE_PUBLISH_MAX_NS, the completion becomes visible without
 * its ACK.
 */
static void
publish__does_not_wait_for_ever(void **state)
{
	const uint64_t end_ns = uroce_clock_ns() + 2 * UROCE_PUBLISH_MAX_NS;

	(void)state;
	is_full = true;
	send_one(1);
	while (!is_visible()) {
		assert_true(uroce_clock_ns() < end_ns);
		rig_drive(dev_b);
	}
	assert_false(has_acked);
	is_full = false;
}

/* At host b, QPs that send continuously are scheduled before the QP that has to send the ACK. */
static void
publish__waits_while_others_are_before_the_ack(void **state)
{
	/*
	 * With so many QPs, host b has more frames to send than one burst, even if each QP sends
	 * only a few.
	 */
	enum { NB = 16 };
	struct rig_qp *to[NB], *from[NB];
	unsigned nb_rounds = 0;

	(void)state;
	for (unsigned i = 0; i < NB; i++) {
		to[i] = rig_qp(dev_a, 0, IBV_QPT_RC);
		from[i] = rig_qp(dev_b, 0, IBV_QPT_RC);
		rig_connect(to[i], from[i], 1);
		rig_connect(from[i], to[i], 1);
	}
	for (unsigned i = 0; i < NB; i++)
		rig_post_send(from[i], IBV_WR_RDMA_WRITE, i, 0, 60000, to[i], 0);
	rig_drive(dev_b);
	send_one(1);
	for (; !is_visible(); nb_rounds++) {
		assert_true(nb_rounds < 100);
		rig_drive(dev_b);
		assert_true(has_acked || !is_visible());
	}
	assert_true(nb_rounds > 1);
	assert_int_equal(rig_wait(&qp_b->rcq).status, IBV_WC_SUCCESS);
	for (unsigned i = 0; i < NB; i++) {
		assert_int_equal(rig_await(&from[i]->scq, dev_a, dev_b).status, IBV_WC_SUCCESS);
		rig_qp_free(to[i]);
		rig_qp_free(from[i]);
	}
}

static void
publish__waits_until_an_embedder_has_the_ack(void **state)
{
	struct rte_mbuf *frames[UROCE_BURST], *rest[UROCE_BURST];
	uint16_t nb;

	(void)state;
	send_one(1);
	nb = rte_eth_rx_burst(dev_b->port->id, 0, frames, UROCE_BURST);
	assert_int_equal(nb, 1);
	assert_int_equal(uroce_worker_input(dev_b->worker[0], frames, nb, rest), 0);
	assert_false(is_visible());
	assert_int_equal(uroce_worker_output(dev_b->worker[0], frames, UROCE_BURST), 1);
	assert_true(is_ack_to_a(frames[0]));
	assert_int_equal(rig_wait(&qp_b->rcq).status, IBV_WC_SUCCESS);
	assert_int_equal(rte_eth_tx_burst(dev_b->port->id, 0, frames, 1), 1);
	assert_int_equal(rig_await(&qp_a->scq, dev_a, dev_b).status, IBV_WC_SUCCESS);
}

/*
 * If an event reports an overrun of the CQ of qp_b, poll this CQ twice. The function is called when
 * host b transmits.
 */
static void
poll_overrun(void)
{
	struct uroce_dev_event event;
	struct ibv_wc wc;

	if (!uroce_event_pop(dev_b->events, &event) || event.type != IBV_EVENT_CQ_ERR)
		return;
	for (unsigned i = 0; i < RTE_DIM(overrun_polled); i++)
		overrun_polled[i] = uroce_cq_poll(&qp_b->rcq, 1, &wc);
}

static void
overrun__is_found_by_a_program_that_saw_its_event(void **state)
{
	static _Alignas(64) struct uroce_cqe mem[1];
	struct rig_qp *to = rig_qp(dev_a, 0, IBV_QPT_RC), *from = rig_qp(dev_b, 0, IBV_QPT_RC);

	(void)state;
	assert_true(uroce_cq_memsize(1) <= sizeof(mem));
	uroce_cq_init(&qp_b->rcq, mem, 1);
	rig_connect(to, from, 1);
	rig_connect(from, to, 1);
	on_transmit = poll_overrun;
	send_one(1);
	send_one(2);
	/* another QP of host b sends a WRITE, so that poll_overrun() is called */
	rig_post_send(from, IBV_WR_RDMA_WRITE, 3, 0, 64, to, 0);
	rig_drive(dev_b);
	assert_int_equal(overrun_polled[0], 1);
	assert_int_equal(overrun_polled[1], -EOVERFLOW);
	on_transmit = NULL;
	assert_int_equal(rig_await(&from->scq, dev_a, dev_b).status, IBV_WC_SUCCESS);
	rig_qp_free(to);
	rig_qp_free(from);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(publish__waits_while_the_port_is_full, setup,
						teardown),
		cmocka_unit_test_setup_teardown(publish__does_not_wait_for_ever, setup, teardown),
		cmocka_unit_test_setup_teardown(publish__waits_while_others_are_before_the_ack,
						setup, teardown),
		cmocka_unit_test_setup_teardown(publish__waits_until_an_embedder_has_the_ack, setup,
						teardown),
		cmocka_unit_test_setup_teardown(overrun__is_found_by_a_program_that_saw_its_event,
						setup, teardown),
	};

	return rig_init() ? cmocka_run_group_tests(tests, setup_devices, rig_teardown) : 77;
}
