/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The QPs and the XRC shared receive queues of a device.
 *
 * To withdraw a QP takes these steps. The QP is stopped and removed from the table of QPNs. A
 * migration of the QP to another worker ends. The QP's worker removes it from all lists. Then all
 * other workers leave the rounds in which they may have found the QP.
 */

#include "datapath/device/dev.h"

#include <errno.h>
#include <sched.h>

#include "datapath/uroced/mux_client.h"
#include "datapath/port/port.h"
#include "datapath/device/qpn.h"
#include "datapath/clock.h"
#include "datapath/worker/round.h"

/*
 * Maximum time in ns for which the posted requests of a QP of an unreliable service are sent before
 * the QP is destroyed.
 */
#define SEND_POSTED_MAX_NS UINT64_C(50000000)

/* --- QPs --------------------------------------------------------------------------------------- */

int
uroce_dev_alloc_qpn(struct uroce_dev *dev, uint32_t *qpn)
{
	int ret;

	if (dev->port->mux_client)
		return uroce_mux_client_alloc_qpn(dev, qpn);
	pthread_mutex_lock(&dev->lock);
	ret = uroce_qpn_alloc(dev->qpns, qpn);
	pthread_mutex_unlock(&dev->lock);
	return ret;
}

int
uroce_dev_alloc_gsi(struct uroce_dev *dev)
{
	int ret;

	if (dev->port->mux_client && !uroce_mux_client_is_inherited(dev->conf.socket))
		return -ECONNREFUSED;
	pthread_mutex_lock(&dev->lock);
	ret = uroce_qpn_alloc_gsi(dev->qpns);
	pthread_mutex_unlock(&dev->lock);
	return ret;
}

void
uroce_dev_free_qpn(struct uroce_dev *dev, uint32_t qpn)
{
	pthread_mutex_lock(&dev->lock);
	uroce_qpn_free(dev->qpns, qpn);
	pthread_mutex_unlock(&dev->lock);
}

int
uroce_dev_add_qp(struct uroce_dev *dev, struct uroce_worker_qp *wqp, struct uroce_worker *worker)
{
	int ret = 0;

	atomic_init(&wqp->worker, worker);
	atomic_init(&wqp->doorbell_next, NULL);
	atomic_init(&wqp->is_rung, false);
	atomic_init(&wqp->is_rung_again, false);
	wqp->active_next = NULL;
	wqp->is_active = false;
	wqp->is_migrated = false;
	wqp->nb_migrations = 0;
	wqp->nb_forwarded = 0;
	atomic_init(&wqp->target_worker, 0);
	wqp->nb_groups = 0;
	uroce_wheel_init_qp(wqp);
	pthread_mutex_lock(&dev->lock);
	/*
	 * This process, as a client of uroced, may have lost the lease of the QPN since the QPN was
	 * allocated. If it loses the lease after the QP has been published, the QP fails.
	 */
	if (dev->port->mux_client && !uroce_mux_client_holds(dev->port->mux_client, wqp->qpc.qpn))
		ret = -ENOTCONN;
	else
		uroce_qpn_publish(dev->qpns, wqp);
	pthread_mutex_unlock(&dev->lock);
	return ret;
}

void
uroce_worker_qp_bind(const struct uroce_worker_qp *wqp)
{
	struct uroce_mux_client *client = uroce_worker_qp_worker(wqp)->dev->port->mux_client;

	if (client)
		uroce_mux_client_bind(client, &wqp->qpc);
}

static int
forward_doorbells(void *arg)
{
	uroce_doorbell_take(arg);
	return 0;
}

/*
 * Wait until a withdrawn QP can no longer migrate to another worker, and no other worker has the QP
 * in its list of doorbells.
 */
static void
wait_for_migration(struct uroce_dev *dev, const struct uroce_worker_qp *wqp)
{
	if (dev->nb_workers == 1)
		return;
	uroce_dev_grace(dev);
	for (unsigned i = 0; i < dev->nb_workers && atomic_load(&wqp->is_rung); i++)
		(void)uroce_worker_call(dev->worker[i], NULL, forward_doorbells, dev->worker[i]);
}

static int
forget_qp(void *arg)
{
	struct uroce_worker_qp *wqp = arg;

	uroce_worker_forget(wqp->worker, wqp);
	return 0;
}

static int
settle_last_frames(void *arg)
{
	(void)arg;
	return 0;
}

/* Whether the QP is in a state in which it receives packets: not RESET, INIT or ERR. */
static bool
can_receive(const struct uroce_worker_qp *wqp)
{
	const enum ibv_qp_state state = uroce_qpc_state_seen(&wqp->qpc);

	return state != IBV_QPS_RESET && state != IBV_QPS_INIT && state != IBV_QPS_ERR;
}

/*
 * Send a burst of the requests that were posted to a QP.
 * @return whether frames are left to send
 */
static int
send_burst(void *arg)
{
	struct uroce_worker_qp *wqp = arg;
	struct uroce_worker *worker = uroce_worker_qp_worker(wqp);

	(void)uroce_doorbell_take(worker);
	if (uroce_worker_may_transmit(worker))
		(void)uroce_tx_run(worker);
	return uroce_qpc_has_work(&wqp->qpc) || worker->tx.nb_pending > 0;
}

/*
 * Send what was posted to a QP of an unreliable service. A program that does not ask for
 * completions may destroy the QP right after it has posted. An RDMA NIC would have sent most of the
 * datagrams by then, and nothing retransmits those that were not sent. If the device has the key
 * drive=none, nothing is sent, because only the DPDK application may use the port's queues.
 */
static void
send_posted(const struct uroce_dev *dev, struct uroce_worker_qp *wqp)
{
	const uint64_t end_ns = uroce_clock_ns() + SEND_POSTED_MAX_NS;

	if (dev->conf.drive == UROCE_DRIVE_NONE || uroce_qpc_is_reliable(&wqp->qpc) ||
	    uroce_qpc_state_seen(&wqp->qpc) != IBV_QPS_RTS)
		return;
	while (uroce_worker_call(wqp->worker, wqp, send_burst, wqp) != 0 &&
	       uroce_clock_ns() < end_ns)
		sched_yield();
}

void
uroce_dev_remove_qp(struct uroce_dev *dev, struct uroce_worker_qp *wqp)
{
	send_posted(dev, wqp);
	if (can_receive(wqp))
		(void)uroce_worker_qp_quiesce(wqp, settle_last_frames, NULL);
	pthread_mutex_lock(&dev->lock);
	uroce_qpn_withdraw(dev->qpns, wqp->qpc.qpn);
	if (dev->port->mux_client)
		uroce_mux_client_unbind(dev->port->mux_client, wqp->qpc.qpn);
	wait_for_migration(dev, wqp);
	/*
	 * forget_qp() runs under the device's lock, so that a thread that removes a shared receive
	 * queue at the same time finds no QP that has receive requests of that queue.
	 */
	(void)uroce_worker_call(wqp->worker, NULL, forget_qp, wqp);
	pthread_mutex_unlock(&dev->lock);
	uroce_dev_grace(dev);
	uroce_dev_reclaim_qp(dev, wqp);
	uroce_event_purge(dev->events, wqp->event_cookie);
}

/* --- XRC shared receive queues ----------------------------------------------------------------- */

int
uroce_dev_add_srq(struct uroce_dev *dev, struct uroce_worker_srq *wsrq)
{
	int ret;

	pthread_mutex_lock(&dev->lock);
	ret = uroce_srq_table_add(dev->srqs, &wsrq->srq);
	pthread_mutex_unlock(&dev->lock);
	return ret;
}

/*
 * The arguments of forget_srq(), which makes the QPs of a worker forget an XRC shared receive
 * queue.
 */
struct forget_srq_args {
	struct uroce_worker *worker;
	const struct uroce_srq *srq;
};

static int
forget_srq(void *arg)
{
	const struct forget_srq_args *forget_srq_args = arg;
	const struct uroce_qpn_table *qpns = forget_srq_args->worker->dev->qpns;

	for (uint32_t i = 0; i <= qpns->mask; i++) {
		struct uroce_worker_qp *wqp =
			atomic_load_explicit(&qpns->slot[i], memory_order_relaxed);

		if (wqp && wqp->worker == forget_srq_args->worker &&
		    wqp->qpc.type == IBV_QPT_XRC_RECV)
			uroce_qpc_forget_srq(&wqp->qpc, forget_srq_args->srq);
	}
	return 0;
}

void
uroce_dev_remove_srq(struct uroce_dev *dev, struct uroce_worker_srq *wsrq)
{
	pthread_mutex_lock(&dev->lock);
	uroce_srq_table_remove(dev->srqs, &wsrq->srq);
	for (unsigned i = 0; i < dev->nb_workers; i++) {
		struct forget_srq_args forget_srq_args = { .worker = dev->worker[i],
							   .srq = &wsrq->srq };

		(void)uroce_worker_call(dev->worker[i], NULL, forget_srq, &forget_srq_args);
	}
	pthread_mutex_unlock(&dev->lock);
	uroce_dev_grace(dev);
	/*
	 * A worker that completed a receive may not have found the shared receive queue in the
	 * device's table any more, and then has not raised its events. So this function raises the
	 * pending events of the queue.
	 */
	uroce_worker_raise_srq_event(dev, wsrq, uroce_srq_take_events(&wsrq->srq));
	uroce_event_purge(dev->events, wsrq->srq.cookie);
}
