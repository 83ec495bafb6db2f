/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * QPs that move. Whom a QP's frames reach is decided by the port and by the peer; a frame that arrives on
 * another worker's queue hops to the owner, which costs both. So a QP all of whose frames hop, for long
 * enough, goes to the worker that receives them. It takes one question and one answer, in the rings that
 * the frames themselves take:
 *
 *	owner   names the other worker as the QP's heir
 *	heir    sees that with the next frame of the QP: it parks that and all later ones, and puts a
 *		question into the owner's ring, behind the frames that hopped before
 *	owner   reaches the question when it has acted on all of those: it takes the QP out of its lists and
 *		makes the heir the owner (M1), as the last thing that it does with the QP
 *	heir    acts on what it has parked, in its next round, before what it receives then
 *
 * So frames stay in order, and nobody touches a QP but the worker that `worker` names. Whoever still rings
 * or calls the one before is passed on. A frame that arrives on the owner's own queue ends it: the heir is
 * no longer one, a question is not answered, and what was parked hops. So does a QP that waits for what
 * was lost, for what is here ahead of that is its worker's.
 *
 * Two that are connected may go after one another, or change places. Therefore a QP is twice as patient
 * after each move, and some more by its number.
 *
 * Where the application drives workers from its threads, each by its CQs, QPs stay: who polls a CQ expects
 * that to move its QPs on.
 */

#include <rte_ring.h>

#include "datapath/clock.h"
#include "datapath/qpn.h"
#include "datapath/round.h"

/* Frames in a row that hop before a QP moves for the first time: more than a window's worth may be chance. */
#define MIGRATE_AFTER       1024u
#define MIGRATE_BACKOFF_MAX 5u /* moves that double it */

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

/* --- the heir ---------------------------------------------------------------------------------- */

static bool
is_target_worker(const struct uroce_worker *worker, const struct uroce_worker_qp *wqp)
{
	return atomic_load_explicit(&wqp->target_worker, memory_order_relaxed) == worker->idx + 1;
}

/* Whether one of the first `nb` that are parked is of this QP. */
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
 * One that is parked: kept, acted on, or passed on. What lies before one that is kept, and is of the same QP,
 * was kept as well, though the QP may have come meanwhile.
 * @return whether it is to be acted on now
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
		return true; /* or there is no such QP any more */
	if (!is_kept && !is_target_worker(worker, wqp)) {
		forward_frame(worker, owner, mbuf);
		return false;
	}
	migrating->qpn[*nb_kept] = qpn;
	migrating->mbuf[(*nb_kept)++] = mbuf;
	return false;
}

void
uroce_migrate_dequeue(struct uroce_worker *worker)
{
	struct uroce_migrating *migrating = &worker->migrating;
	struct rte_mbuf *ready[UROCE_MIGRATING_MAX];
	unsigned nb_ready = 0, nb_kept = 0;

	for (unsigned i = 0; i < migrating->nb; i++) {
		if (dispatch_waiting(worker, migrating->qpn[i], migrating->mbuf[i], &nb_kept))
			ready[nb_ready++] = migrating->mbuf[i];
	}
	migrating->nb = nb_kept;
	for (unsigned i = 0; i < nb_ready; i += UROCE_BURST)
		uroce_rx_migrated(worker, ready + i, RTE_MIN(nb_ready - i, UROCE_BURST));
}

void
uroce_migrate_drop(struct uroce_worker *worker)
{
	rte_pktmbuf_free_bulk(worker->migrating.mbuf, worker->migrating.nb);
	worker->migrating.nb = 0;
}

/* Time goes on for the QP: the round may have begun before the one that it comes from. */
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
	/* its CQs may be freed after a call to its new worker, and must be on no list of this one then */
	uroce_publish_now(worker);
	uroce_qpc_migrate(&wqp->qpc, target->rd_pool, target->reorder_buffer,
			  &target->stats.counters, &target->publishing.list);
	wqp->nb_migrations = (uint8_t)RTE_MIN(wqp->nb_migrations + 1, UINT8_MAX);
	wqp->is_migrated = true;
	atomic_store_explicit(&wqp->worker, target, memory_order_release); /* M1 */
	/* for what was posted, what is to be answered, and its timer */
	uroce_worker_ring_doorbell(target, wqp);
}

void
uroce_migrate_grant(struct uroce_worker *worker, const void *request)
{
	const uint32_t qpn = (uint32_t)((uintptr_t)request >> 9);
	struct uroce_worker *asker = worker->dev->worker[(uintptr_t)request >> 1 & 0xff];
	struct uroce_worker_qp *wqp = uroce_qpn_lookup(worker->dev->qpns, qpn);

	if (!wqp || uroce_worker_qp_worker(wqp) != worker || !is_target_worker(asker, wqp))
		return;
	uroce_migrate_stay(wqp);
	if (uroce_qpc_is_migratable(&wqp->qpc))
		hand_over_qp(worker, wqp, asker);
}
