/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The QP numbers of a device that is attached to uroced: how the device gets leases of QP numbers,
 * and what happens when a lease is lost.
 */

#include "mux_rig.h"

#include <errno.h>
#include <pthread.h>

static void
mux_client__numbers_are_of_leased_blocks(void **state)
{
	static bool is_drawn[3 * UROCE_MUX_BLOCK];
	uint32_t qpn = 0;
	int ret = 0;
	unsigned nb;

	(void)state;
	attached_switch = switch_start(&(struct switch_conf){ .path = SOCKET, .nb_blocks = 2 });
	dev_a = rig_dev(SPEC ",drive=none");
	for (nb = 0; (ret = uroce_dev_alloc_qpn(dev_a, &qpn)) == 0; nb++) {
		assert_in_range(qpn, UROCE_MUX_BLOCK, 3 * UROCE_MUX_BLOCK - 1);
		assert_false(is_drawn[qpn]);
		is_drawn[qpn] = true;
	}
	assert_int_equal(ret, -ENOMEM);
	assert_int_equal(nb, 2 * UROCE_MUX_BLOCK);
	/*
	 * All leased numbers are in use, so a number that is released is the next one to be
	 * allocated.
	 */
	uroce_dev_free_qpn(dev_a, 300);
	assert_int_equal(uroce_dev_alloc_qpn(dev_a, &qpn), 0);
	assert_int_equal(qpn, 300);
	/*
	 * While uroced is stopped, the device can allocate a number that is already leased, but
	 * cannot lease a further block.
	 */
	uroce_dev_free_qpn(dev_a, 301);
	switch_stop(attached_switch);
	assert_int_equal(uroce_dev_alloc_qpn(dev_a, &qpn), 0);
	assert_int_equal(uroce_dev_alloc_qpn(dev_a, &qpn), -ENOTCONN);
	for (qpn = UROCE_MUX_BLOCK; qpn < 3 * UROCE_MUX_BLOCK; qpn++)
		uroce_dev_free_qpn(dev_a, qpn);
	assert_int_equal(uroce_dev_destroy(dev_a), 0);
}

static void
mux_client__who_does_not_answer_is_not_waited_for(void **state)
{
	uint32_t qpn;

	(void)state;
	attached_switch = switch_start(&(struct switch_conf){ .path = SOCKET, .is_silent = true });
	dev_a = rig_dev(SPEC ",drive=none");
	assert_int_equal(uroce_dev_alloc_qpn(dev_a, &qpn), -EAGAIN);
	switch_stop(attached_switch);
	attached_start();
	assert_int_equal(uroce_dev_alloc_qpn(dev_a, &qpn), 0);
	uroce_dev_free_qpn(dev_a, qpn);
	assert_int_equal(uroce_dev_destroy(dev_a), 0);
	switch_stop(attached_switch);
}

static void *
draw_many(void *arg)
{
	uint32_t *qpn = arg;

	for (unsigned i = 0; i < 2000; i++) {
		if (uroce_dev_alloc_qpn(dev_a, &qpn[i]) != 0)
			return arg;
	}
	return NULL;
}

static void
mux_client__many_threads_draw(void **state)
{
	static uint32_t qpn[4][2000];
	pthread_t thread[4];
	void *failed;

	(void)state;
	attached_start();
	dev_a = rig_dev(SPEC ",drive=none");
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, draw_many, qpn[i]), 0);
	for (unsigned i = 0; i < 4; i++) {
		pthread_join(thread[i], &failed);
		assert_null(failed);
	}
	/* each allocated number must belong to a lease, and is released once */
	for (unsigned i = 0; i < 4; i++) {
		for (unsigned j = 0; j < 2000; j++) {
			assert_true(uroce_mux_client_holds(dev_a->port->mux_client, qpn[i][j]));
			uroce_dev_free_qpn(dev_a, qpn[i][j]);
		}
	}
	/*
	 * Each lease request asks for only a quarter of the present leases, so that one client does
	 * not take all numbers.
	 */
	assert_in_range(dev_a->port->mux_client->nb_leases, 32, 80);
	assert_int_equal(uroce_dev_destroy(dev_a), 0);
	switch_stop(attached_switch);
}

static struct uroce_dev_event event;

static bool
has_failed(void)
{
	return uroce_dev_event_pop(dev_b, &event) && event.type == IBV_EVENT_QP_FATAL;
}

/*
 * A QP must fail if uroced has leased its number to another client while the device was not
 * connected.
 */
static void
mux_client__QPs_without_a_number_fail(void **state)
{
	(void)state;
	attached_begin("drive=none");
	rig_post_recv(attached_qp[0], 4, 0, 64);
	switch_stop(attached_switch);
	rig_post_send(attached_qp[0], IBV_WR_RDMA_WRITE, 1, 0, 5000, attached_qp[1], 0);
	attached_switch =
		switch_start(&(struct switch_conf){ .path = SOCKET, .is_forgetful = true });
	attached_wait(has_failed, attached_drive);
	assert_ptr_equal(event.cookie, attached_qp[1]);
	assert_int_equal(rig_await(&attached_qp[0]->scq, dev_a, dev_b).status, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(rig_await(&attached_qp[0]->rcq, dev_a, dev_b).status, IBV_WC_WR_FLUSH_ERR);
	event.type = IBV_EVENT_PORT_ERR;
	while (event.type != IBV_EVENT_QP_FATAL)
		assert_true(uroce_dev_event_pop(dev_a, &event));
	assert_ptr_equal(event.cookie, attached_qp[0]);
	assert_int_equal(attached_qp[0]->wqp.qpc.state, IBV_QPS_ERR);
	for (unsigned i = 0; i < 2; i++)
		rig_qp_free(attached_qp[i]);
	attached_connect(0);
	attached_write(5000);
	attached_end();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mux_client__numbers_are_of_leased_blocks),
		cmocka_unit_test(mux_client__who_does_not_answer_is_not_waited_for),
		cmocka_unit_test(mux_client__many_threads_draw),
		cmocka_unit_test(mux_client__QPs_without_a_number_fail),
	};

	if (!rig_init())
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
