/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Migration of QPs to the worker that receives their frames.
 *
 * The port and the peer determine the worker that receives a QP's frames. A frame that arrives on
 * the queue of another worker is forwarded to the QP's owner, which costs both workers time. If all
 * frames of a QP are forwarded for long enough, the QP migrates to the worker that receives them.
 * The migration takes one request and one reply, in the rings that also carry forwarded frames:
 *
 *	owner   sets the worker that forwards the frames as the QP's target worker
 *	target  sees this with the next frame of the QP. It queues this frame and all later ones,
 *	        and puts a request into the owner's ring, behind the frames that it has forwarded
 *	owner   reaches the request after it has processed all those frames. It removes the QP
 *	        from its lists and makes the target the owner, as its last access to the QP
 *	target  processes the queued frames in its next round, before new frames
 *
 * So frames stay in order, and only the owner touches the QP. Doorbells and commands for the
 * previous owner are passed on to the new one.
 *
 * A migration is cancelled if a frame of the QP arrives on another queue than the target worker's,
 * or if the QP has a PSN gap, because the frames behind the gap are in the owner's reorder buffer.
 * After a cancellation there is no target worker, the request is ignored, and queued frames are
 * forwarded to the owner.
 *
 * Two connected QPs may follow one another or swap their workers. Therefore the threshold of a QP
 * doubles with each migration, and has an additional part that depends on the QPN.
 *
 * With drive=app QPs do not migrate. A thread that polls a CQ expects that this drives the QPs of
 * the CQ.
 */

#include <rte_ring.h>

#include "datapath/clock.h"
#include "datapath/device/qpn.h"
#include "datapath/worker/round.h"

/*
 * Number of consecutive forwarded frames after which a QP migrates for the first time. The number
 * is large, because a window of frames may arrive on another worker by chance.
 */
#define MIGRATE_AFTER 1024u
/*
 * Each of the first MIGRATE_BACKOFF_MAX migrations of a QP doubles the number of forwarded frames
 * that cause the next migration of the QP.
 */
#define MIGRATE_BACKOFF_MAX 5u

static uint32_t
get_migrate_threshold(const struct uroce_worker_qp *wqp)
{
	const uint32_t base = MIGRATE_AFTER << RTE_MIN(wqp->nb_migrations, MIGRATE_BACKOFF_MAX);
	const uint32_t mix = (wqp->qpc.qpn + wqp->nb_migrations) * 0x9e3779b1u;

	return base + mix % (base / 2);
}

static bool
may_migrate(const struct uroce_worker *worker, const struct uroce_worker_qp *wqp)
{
	if (worker->dev->conf.drive == UROCE_DRIVE_APP)
		return false;
	return wqp->qpc.type == IBV_QPT_RC || wqp->qpc.type == IBV_QPT_UC ||
	       wqp->qpc.type == IBV_QPT_XRC_SEND;
}

void
uroce_migrate_count(struct uroce_worker_qp *wqp, struct uroce_worker *worker, unsigned from,
		    unsigned nb)
{
	if (from != wqp->forwarded_from)
		uroce_migrate_stay(wqp);
	wqp->forwarded_from = (uint8_t)from;
	wqp->nb_forwarded = RTE_MIN(wqp->nb_forwarded + nb, (uint32_t)UINT16_MAX);
	if (unlikely(wqp->nb_forwarded >= get_migrate_threshold(wqp)) && from != worker->idx &&
	    may_migrate(worker, wqp))
		atomic_store_explicit(&wqp->target_worker, (uint8_t)(from + 1),
				      memory_order_relaxed);
}

/* --- the target worker ------------------------------------------------------------------------- */

static bool
is_target_worker(const struct uroce_worker *worker, const struct uroce_worker_qp *wqp)
{
	return atomic_load_explicit(&wqp->target_worker, memory_order_relaxed) == worker->idx + 1;
}

/*
 * Whether a frame of the QP `qpn` is among the first `nb` frames that wait for QPs to migrate to
 * this worker.
 */
static bool
has_waiting(const struct uroce_migrating *migrating, unsigned nb, uint32_t qpn)
{
	while (nb > 0 && migrating->qpn[nb - 1] != qpn)
		nb--;
	return nb > 0;
}

bool
uroce_migrate_is_expected(const struct uroce_worker *worker, const struct uroce_worker_qp *wqp,
			  uint32_t qpn)
{
	return has_waiting(&worker->migrating, worker->migrating.nb, qpn) ||
	       is_target_worker(worker, wqp);
}

static void *
make_request_entry(const struct uroce_worker *worker, uint32_t qpn)
{
	return (void *)(((uintptr_t)qpn << 8 | worker->idx) << 1 | 1);
}

bool
uroce_migrate_queue(struct uroce_worker *worker, struct uroce_worker_qp *wqp, uint32_t qpn,
		    struct rte_mbuf *mbuf)
{
	struct uroce_migrating *migrating = &worker->migrating;

	if (migrating->nb == UROCE_MIGRATING_MAX)
		return false;
	if (!has_waiting(migrating, migrating->nb, qpn) &&
	    rte_ring_enqueue(uroce_worker_qp_worker(wqp)->forwarded,
			     make_request_entry(worker, qpn)) < 0)
		return false;
	migrating->qpn[migrating->nb] = qpn;
	migrating->mbuf[migrating->nb++] = mbuf;
	return true;
}

static void
forward_frame(struct uroce_worker *worker, struct uroce_worker *owner, struct rte_mbuf *mbuf)
{
	mbuf->hash.usr = worker->idx;
	if (rte_ring_enqueue(owner->forwarded, mbuf) == 0) {
		uroce_count(&worker->stats.verdict[UROCE_VERDICT_FORWARDED], 1);
		return;
	}
	uroce_count(&worker->stats.verdict[UROCE_VERDICT_OVERRUN], 1);
	rte_pktmbuf_free(mbuf);
}

/*
 * Handle a frame that waits for its QP to migrate: keep it, process it, or forward it. If an
 * earlier frame of the QP was kept in this pass over the waiting frames, this frame is also kept,
 * even if the QP has arrived meanwhile. So the frames of the QP stay in order.
 * @return true: the caller must process the frame now
 */
static bool
dispatch_waiting(struct uroce_worker *worker, uint32_t qpn, struct rte_mbuf *mbuf,
		 unsigned *nb_kept)
{
	struct uroce_migrating *migrating = &worker->migrating;
	struct uroce_worker_qp *wqp = uroce_qpn_lookup(worker->dev->qpns, qpn);
	struct uroce_worker *owner = wqp ? uroce_worker_qp_worker(wqp) : worker;
	const bool is_kept = has_waiting(migrating, *nb_kept, qpn);

	if (!is_kept && owner == worker)
		return true; /* the QP has arrived at this worker, or does not exist any more */
	if (!is_kept && !is_target_worker(worker, wqp)) {
		forward_frame(worker, owner, mbuf);
		return false;
	}
	migrating->qpn[*nb_kept] = qpn;
	migrating->mbuf[(*nb_kept)++] = mbuf;
	return false;
}

unsigned
uroce_migrate_dequeue(struct uroce_worker *worker, struct rte_mbuf *ready[UROCE_MIGRATING_MAX])
{
	struct uroce_migrating *migrating = &worker->migrating;
	unsigned nb_ready = 0, nb_kept = 0;

	for (unsigned i = 0; i < migrating->nb; i++) {
		if (dispatch_waiting(worker, migrating->qpn[i], migrating->mbuf[i], &nb_kept))
			ready[nb_ready++] = migrating->mbuf[i];
	}
	migrating->nb = nb_kept;
	return nb_ready;
}

void
uroce_migrate_drop(struct uroce_worker *worker)
{
	rte_pktmbuf_free_bulk(worker->migrating.mbuf, worker->migrating.nb);
	worker->migrating.nb = 0;
}

/*
 * Complete the migration of a QP to this worker: read the clock again. The present round of this
 * worker may have begun before the round in which the previous worker last used the QP, and time
 * must not go backwards for the QP.
 */
void
uroce_migrate_complete(struct uroce_worker *worker, struct uroce_worker_qp *wqp)
{
	wqp->is_migrated = false;
	worker->now_ns = uroce_clock_ns();
	uroce_worker_count(worker, UROCE_COUNTER_MIGRATED_QPS, 1);
}

/* --- the owner --------------------------------------------------------------------------------- */

static void
hand_over_qp(struct uroce_worker *worker, struct uroce_worker_qp *wqp, struct uroce_worker *target)
{
	uroce_tx_unschedule(worker, wqp);
	uroce_wheel_remove(&worker->wheel, wqp);
	/*
	 * Publish the pending completions now, which takes the QP's CQs off this worker's list of
	 * CQs with pending completions. As soon as the new worker owns the QP, a program may
	 * destroy the QP and then its CQs, and this list must not refer to freed CQs.
	 */
	uroce_publish_now(worker);
	uroce_qpc_migrate(&wqp->qpc, target->rd_pool, target->reorder_buffer,
			  &target->stats.counters, &target->publishing.list);
	wqp->nb_migrations = (uint8_t)RTE_MIN(wqp->nb_migrations + 1, UINT8_MAX);
	wqp->is_migrated = true;
	/*
	 * Release M1 pairs with acquire M1 in uroce_worker_qp_worker(): the new worker sees
	 * everything that this worker wrote to the QP.
	 */
	atomic_store_explicit(&wqp->worker, target, memory_order_release);
	/* The doorbell makes the new worker check for posts, responses and timers of the QP. */
	uroce_worker_ring_doorbell(target, wqp);
}

void
uroce_migrate_grant(struct uroce_worker *worker, const void *request)
{
	const uint32_t qpn = (uint32_t)((uintptr_t)request >> 9);
	struct uroce_worker *target = worker->dev->worker[(uintptr_t)request >> 1 & 0xff];
	struct uroce_worker_qp *wqp = uroce_qpn_lookup(worker->dev->qpns, qpn);

	if (!wqp || uroce_worker_qp_worker(wqp) != worker || !is_target_worker(target, wqp))
		return;
	uroce_migrate_stay(wqp);
	if (uroce_qpc_is_migratable(&wqp->qpc))
		hand_over_qp(worker, wqp, target);
}
