/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A port with several queues: how frames are distributed over the queues, and which thread drives a
 * worker that no thread of the application polls.
 */

#include "rig.h"

#include <rte_bus_vdev.h>
#include <rte_ethdev.h>

#include "datapath/worker/round.h"

/*
 * Create a device on a port.
 * @return the hash fields of the RSS configuration of the port
 */
static uint64_t
spread_by(const char *port, const char *spec)
{
	struct rte_eth_rss_conf conf = { .rss_hf = 0 };
	struct uroce_dev *dev;

	assert_int_equal(rte_vdev_init(port, NULL), 0);
	dev = rig_dev(spec);
	assert_int_equal(rte_eth_dev_rss_hash_conf_get(dev->port->id, &conf), 0);
	assert_int_equal(uroce_dev_destroy(dev), 0);
	(void)rte_vdev_uninit(port);
	return conf.rss_hf;
}

static void
queues__a_port_spreads_frames_over_its_queues(void **state)
{
	const uint64_t both = RTE_ETH_RSS_NONFRAG_IPV4_UDP | RTE_ETH_RSS_NONFRAG_IPV6_UDP;

	(void)state;
	assert_int_equal(
		spread_by("net_null1", "net_null1,drive=none,workers=2,addr=192.0.2.1/24") & both,
		both);
}

/*
 * A thread that polls only worker 0 must also drive worker 1, which no thread polls. Otherwise
 * frames on the queue of worker 1 would wait for long.
 */
static void
queues__who_polls_drives_the_worker_that_nobody_polls(void **state)
{
	struct uroce_worker *worker;
	uint64_t nb_rounds;

	(void)state;
	rig_wire("a", "b", 2, 1);
	dev_a = rig_dev("net_ring_a,workers=2,addr=192.0.2.1/24");
	dev_b = rig_dev("net_ring_b,workers=2,addr=192.0.2.2/24");
	worker = dev_a->worker[1];
	/* after this poll, the library assumes that a thread of the application polls worker 1 */
	(void)uroce_worker_poll(worker);
	assert_false(atomic_load(&worker->is_abandoned));
	while (!atomic_load(&worker->is_abandoned))
		(void)uroce_worker_poll(dev_a->worker[0]);
	nb_rounds = uroce_worker_counted(worker, UROCE_COUNTER_ROUNDS);
	for (unsigned i = 0; i < 100; i++)
		(void)uroce_worker_poll(dev_a->worker[0]);
	assert_true(uroce_worker_counted(worker, UROCE_COUNTER_ROUNDS) >= nb_rounds + 40);
	(void)uroce_worker_poll(worker);
	assert_false(atomic_load(&worker->is_abandoned));
	(void)rig_teardown(NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(queues__a_port_spreads_frames_over_its_queues),
		cmocka_unit_test(queues__who_polls_drives_the_worker_that_nobody_polls),
	};

	if (!rig_init())
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
