/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that uses DPDK and verbs. Its EAL and the EAL of the verbs library are separate, and
 * neither EAL has the other's ports. Run under uroce-run.
 */

#include <stdio.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "pair.h"

/* Check that the program's EAL has one port, and transmit on it. The port drops all frames. */
static void
use_own_port(void)
{
	static const struct rte_eth_conf conf;
	struct rte_mempool *const pool = rte_pktmbuf_pool_create(
		"own", 1023, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	struct rte_mbuf *mbuf;
	uint16_t id = 0;

	check(pool != NULL, "rte_pktmbuf_pool_create");
	check(rte_eth_dev_count_avail() == 1 &&
		      rte_eth_dev_get_port_by_name("net_null_own", &id) == 0,
	      "the program sees other ports than its own");
	check(rte_eth_dev_configure(id, 1, 1, &conf) == 0 &&
		      rte_eth_rx_queue_setup(id, 0, 64, SOCKET_ID_ANY, NULL, pool) == 0 &&
		      rte_eth_tx_queue_setup(id, 0, 64, SOCKET_ID_ANY, NULL) == 0 &&
		      rte_eth_dev_start(id) == 0,
	      "the program's port");
	mbuf = rte_pktmbuf_alloc(pool);
	check(mbuf != NULL && rte_pktmbuf_append(mbuf, 64) != NULL, "rte_pktmbuf_alloc");
	check(rte_eth_tx_burst(id, 0, &mbuf, 1) == 1, "rte_eth_tx_burst");
	check(rte_eth_dev_stop(id) == 0, "rte_eth_dev_stop");
}

int
main(int argc, char **argv)
{
	static char *own[] = { "own",      "--no-huge", "--no-shconf", "--no-telemetry",
			       "--no-pci", "-m",        "64",          "--vdev=net_null_own" };
	struct pair pair;

	(void)argc;
	(void)argv;
	check(rte_eal_init(sizeof(own) / sizeof(own[0]), own) >= 0, "rte_eal_init");
	pair_open(&pair);
	pair_exchange(&pair, 1);
	use_own_port();
	pair_exchange(&pair, 2);
	pair_close(&pair);
	check(rte_eal_cleanup() == 0, "rte_eal_cleanup");
	puts("two EALs in one process");
	return 0;
}
