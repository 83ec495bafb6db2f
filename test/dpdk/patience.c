/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * For how long the service thread leaves a worker to an application: for less when frames come before polls do, as
 * with a program that watches memory, and for as long as ever when it polls on again.
 */

#include "rig.h"

#include <sched.h>
#include <time.h>

#include "datapath/service.h"

#define PATIENCE_S 20 /* who waits longer has failed */

static struct rig_qp *qp_a, *qp_b;

static int
make_pair(void **state)
{
	(void)state;
	if (!rig_init())
		return -1;
	rig_wire("a", "b", 1, 0);
	dev_a = rig_dev("net_ring_a,addr=192.0.2.1/24,drive=app");
	dev_b = rig_dev("net_ring_b,addr=192.0.2.2/24,drive=app");
	qp_a = rig_qp(dev_a, 0, IBV_QPT_RC);
	qp_b = rig_qp(dev_b, 0, IBV_QPT_RC);
	rig_connect(qp_a, qp_b, 1);
	rig_connect(qp_b, qp_a, 1);
	return 0;
}

static int
end_pair(void **state)
{
	rig_qp_free(qp_a);
	rig_qp_free(qp_b);
	return rig_teardown(state);
}

static unsigned
nb_hasty(void)
{
	return atomic_load(&uroce_service_stats(dev_b->service)->hasty);
}

/* b's application polls once, and then does not; a's waits for the ACK. */
static void
write_unseen(void)
{
	rig_drive(dev_b);
	rig_post_send(qp_a, IBV_WR_RDMA_WRITE, 1, 0, 8, qp_b, 0);
	assert_int_equal(rig_await(&qp_a->scq, dev_a, dev_a).status, IBV_WC_SUCCESS);
}

static void
patience__is_short_for_who_watches_memory(void **state)
{
	const time_t end = time(NULL) + PATIENCE_S;

	(void)state;
	while (nb_hasty() == 0) {
		assert_true(time(NULL) < end);
		write_unseen();
	}
}

static void
patience__is_long_again_for_who_polls_on(void **state)
{
	const time_t end = time(NULL) + PATIENCE_S;

	(void)state;
	while (nb_hasty() == 0)
		write_unseen();
	while (nb_hasty() > 0) {
		assert_true(time(NULL) < end);
		for (unsigned i = 0; i < 1000; i++)
			rig_drive(dev_b);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(patience__is_short_for_who_watches_memory),
		cmocka_unit_test(patience__is_long_again_for_who_polls_on),
	};

	return cmocka_run_group_tests(tests, make_pair, end_pair);
}
