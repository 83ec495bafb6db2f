/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Before a region or a QP is freed, the port must release the memory that zero-copy frames refer
 * to.
 *
 * Three steps are taken. Pending frames are dropped, like frames lost on the network. Then the port
 * is requested to free transmitted frames (tx_done_cleanup). If this does not help, the TX queue is
 * stopped and started again.
 */

#include "datapath/worker/zero_copy.h"

#include <rte_cycles.h>
#include <rte_ethdev.h>

#include "datapath/device/dev.h"
#include "datapath/log.h"
#include "datapath/port/port.h"
#include "datapath/worker/round.h"

#define WAIT_US 100
#define STOP_AT 1000  /* number of waits of WAIT_US after which the TX queue is stopped */
#define LOG_AT  10000 /* number of waits of WAIT_US after which a line is logged */

/* The arguments of a command that makes a worker reclaim memory from the port. */
struct reclaim_worker {
	struct uroce_worker *worker;
	bool is_stopping;
};

static int
reclaim_worker(void *arg)
{
	const struct reclaim_worker *reclaim_worker = arg;
	struct uroce_worker *worker = reclaim_worker->worker;
	const struct uroce_port *port = worker->dev->port;

	uroce_zero_copy_reclaim(worker);
	if (!uroce_port_is_ready(port) || !uroce_port_is_ethdev(port))
		return 0;
	(void)rte_eth_tx_done_cleanup(port->id, worker->queue, 0);
	if (reclaim_worker->is_stopping && rte_eth_dev_tx_queue_stop(port->id, worker->queue) == 0)
		(void)rte_eth_dev_tx_queue_start(port->id, worker->queue);
	return 0;
}

static void
reclaim_all(struct uroce_dev *dev, unsigned nb_waits)
{
	for (unsigned i = 0; i < dev->nb_workers; i++) {
		struct reclaim_worker call = { dev->worker[i], nb_waits == STOP_AT };

		(void)uroce_worker_call(dev->worker[i], NULL, reclaim_worker, &call);
	}
	if (nb_waits == LOG_AT)
		UROCE_LOG(WARNING, port,
			  "%s: the port does not free frames that it has accepted; "
			  "calls that release their memory wait",
			  dev->conf.port);
	if (nb_waits > 0)
		rte_delay_us_sleep(WAIT_US);
}

void
uroce_dev_reclaim_mr(struct uroce_dev *dev, uint32_t key)
{
	for (unsigned i = 0; uroce_mr_nb_tx_refs(dev->mrs, key) > 0; i++)
		reclaim_all(dev, i);
}

void
uroce_dev_reclaim_qp(struct uroce_dev *dev, const struct uroce_worker_qp *wqp)
{
	for (unsigned i = 0; uroce_qpc_has_tx_refs(&wqp->qpc); i++)
		reclaim_all(dev, i);
}
