/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The fault guard, which catches faults of bursts whose shared memory was removed. The test
 * replaces the burst functions of the driver by a function that writes to a page without access
 * rights.
 */

#include "rig.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <rte_ethdev.h>

#include "datapath/port/fault_guard.h"
#include "datapath/port/port.h"
#include "datapath/worker/round.h"

static uint16_t port;
static char *gone; /* a page without access rights */
static struct uroce_dev *dev;
static const struct uroce_port_policy *policy;

static uint16_t
touch(void *queue, struct rte_mbuf **frames, uint16_t nb)
{
	(void)queue, (void)frames;
	*gone = 1;
	return nb;
}

static int
setup(void **state)
{
	(void)state;
	rig_wire("a", "b", 1, 0);
	dev = rig_dev("net_ring_a,addr=192.0.2.1/24,drive=none");
	policy = dev->port->policy;
	gone = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (gone == MAP_FAILED || rte_eth_dev_get_port_by_name("net_ring_a", &port) != 0)
		return -1;
	rte_eth_fp_ops[port].rx_pkt_burst = touch;
	rte_eth_fp_ops[port].tx_pkt_burst = touch;
	return 0;
}

static void
expect_survival(void)
{
	struct rte_mbuf *frame = NULL;

	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(uroce_fault_guard_rx(port, 0, &frame, 1), 0);
		assert_int_equal(uroce_fault_guard_tx(port, 0, &frame, 1), UINT16_MAX);
		assert_false(uroce_fault_guard_swap((_Atomic uint16_t *)gone, 1, NULL));
		assert_false(uroce_fault_guard_is((const uint32_t *)gone, 0));
	}
}

static void *
fault_in_thread(void *arg)
{
	expect_survival();
	return arg;
}

/* A fault in a burst of a worker drops the frame, and the worker continues. */
static void
expect_worker_survives(struct uroce_worker *worker)
{
	struct rte_mbuf *frame = rte_pktmbuf_alloc(worker->pool);

	assert_non_null(frame);
	uroce_tx_push(worker, frame);
	assert_int_equal(uroce_worker_poll(worker), 1);
	assert_int_equal(worker->tx.nb_pending, 0);
	assert_int_equal(uroce_worker_counted(worker, UROCE_COUNTER_TX_FRAMES), 1);
	rte_pktmbuf_free(frame);
}

/*
 * The faults happen first in this thread, and then in a thread that blocks all signals. The service
 * thread blocks all signals, and so do most threads of a program that handles signals in one
 * thread. cmocka replaces the fault handlers for each test, so one test has all steps.
 */
static void
fault_guard__a_fault_ends_the_burst_and_not_the_process(void **state)
{
	sigset_t all, before;
	pthread_t thread;

	(void)state;
	assert_int_equal(uroce_fault_guard_install(), 0);
	expect_survival();
	dev->port->policy = uroce_port_policy_of("net_memif");
	expect_worker_survives(dev->worker[0]);
	dev->port->policy = policy;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	assert_int_equal(pthread_create(&thread, NULL, fault_in_thread, NULL), 0);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fault_guard__a_fault_ends_the_burst_and_not_the_process),
	};

	if (!rig_init())
		return 1;
	return cmocka_run_group_tests(tests, setup, NULL);
}
