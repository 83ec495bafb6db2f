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
#define PATIENCE       1024u
#define PATIENCE_MOVES 5u /* moves that double it */

static uint32_t
patience(const struct uroce_qpr *qpr)
{
	const uint32_t base = PATIENCE << RTE_MIN(qpr->nb_moves, PATIENCE_MOVES);
	const uint32_t mix = (qpr->qpc.qpn + qpr->nb_moves) * 0x9e3779b1u;

	return base + mix % (base / 2);
}

static bool
may_move(const struct uroce_worker *worker, const struct uroce_qpr *qpr)
{
	if (worker->dev->conf.drive == UROCE_DRIVE_APP)
		return false;
	return qpr->qpc.type == IBV_QPT_RC || qpr->qpc.type == IBV_QPT_UC ||
	       qpr->qpc.type == IBV_QPT_XRC_SEND;
}

void
uroce_move_count(struct uroce_qpr *qpr, struct uroce_worker *worker, unsigned from, unsigned nb)
{
	if (from != qpr->hop_from)
		uroce_move_stay(qpr);
	qpr->hop_from = (uint8_t)from;
	qpr->nb_hops = RTE_MIN(qpr->nb_hops + nb, (uint32_t)UINT16_MAX);
	if (unlikely(qpr->nb_hops >= patience(qpr)) && from != worker->idx && may_move(worker, qpr))
		atomic_store_explicit(&qpr->heir, (uint8_t)(from + 1), memory_order_relaxed);
}

/* --- the heir ---------------------------------------------------------------------------------- */

static bool
is_heir(const struct uroce_worker *worker, const struct uroce_qpr *qpr)
{
	return atomic_load_explicit(&qpr->heir, memory_order_relaxed) == worker->idx + 1;
}

/* Whether one of the first `nb` that are parked is of this QP. */
static bool
has_parked(const struct uroce_parked *parked, unsigned nb, uint32_t qpn)
{
	while (nb > 0 && parked->qpn[nb - 1] != qpn)
		nb--;
	return nb > 0;
}

bool
uroce_move_is_expected(const struct uroce_worker *worker, const struct uroce_qpr *qpr, uint32_t qpn)
{
	return has_parked(&worker->parked, worker->parked.nb, qpn) || is_heir(worker, qpr);
}

static void *
question_of(const struct uroce_worker *worker, uint32_t qpn)
{
	return (void *)(((uintptr_t)qpn << 8 | worker->idx) << 1 | 1);
}

bool
uroce_move_park(struct uroce_worker *worker, struct uroce_qpr *qpr, uint32_t qpn,
		struct rte_mbuf *mbuf)
{
	struct uroce_parked *parked = &worker->parked;

	if (parked->nb == UROCE_PARKED)
		return false;
	if (!has_parked(parked, parked->nb, qpn) &&
	    rte_ring_enqueue(uroce_qpr_worker(qpr)->hops, question_of(worker, qpn)) < 0)
		return false;
	parked->qpn[parked->nb] = qpn;
	parked->mbuf[parked->nb++] = mbuf;
	return true;
}

static void
hop(struct uroce_worker *worker, struct uroce_worker *owner, struct rte_mbuf *mbuf)
{
	mbuf->hash.usr = worker->idx;
	if (rte_ring_enqueue(owner->hops, mbuf) == 0) {
		uroce_count(&worker->stats.verdict[UROCE_VERDICT_HOPPED], 1);
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
sort_out(struct uroce_worker *worker, uint32_t qpn, struct rte_mbuf *mbuf, unsigned *nb_kept)
{
	struct uroce_parked *parked = &worker->parked;
	struct uroce_qpr *qpr = uroce_qpn_lookup(worker->dev->qpns, qpn);
	struct uroce_worker *owner = qpr ? uroce_qpr_worker(qpr) : worker;
	const bool is_kept = has_parked(parked, *nb_kept, qpn);

	if (!is_kept && owner == worker)
		return true; /* or there is no such QP any more */
	if (!is_kept && !is_heir(worker, qpr)) {
		hop(worker, owner, mbuf);
		return false;
	}
	parked->qpn[*nb_kept] = qpn;
	parked->mbuf[(*nb_kept)++] = mbuf;
	return false;
}

void
uroce_move_unpark(struct uroce_worker *worker)
{
	struct uroce_parked *parked = &worker->parked;
	struct rte_mbuf *ready[UROCE_PARKED];
	unsigned nb_ready = 0, nb_kept = 0;

	for (unsigned i = 0; i < parked->nb; i++) {
		if (sort_out(worker, parked->qpn[i], parked->mbuf[i], &nb_kept))
			ready[nb_ready++] = parked->mbuf[i];
	}
	parked->nb = nb_kept;
	for (unsigned i = 0; i < nb_ready; i += UROCE_BURST)
		uroce_rx_parked(worker, ready + i, RTE_MIN(nb_ready - i, UROCE_BURST));
}

void
uroce_move_drop(struct uroce_worker *worker)
{
	rte_pktmbuf_free_bulk(worker->parked.mbuf, worker->parked.nb);
	worker->parked.nb = 0;
}

/* Time goes on for the QP: the round may have begun before the one that it comes from. */
void
uroce_move_land(struct uroce_worker *worker, struct uroce_qpr *qpr)
{
	qpr->is_new = false;
	worker->now_ns = uroce_clock_ns();
	uroce_worker_count(worker, UROCE_COUNTER_MOVED_QPS, 1);
}

/* --- the owner --------------------------------------------------------------------------------- */

static void
hand_over(struct uroce_worker *worker, struct uroce_qpr *qpr, struct uroce_worker *heir)
{
	uroce_tx_unschedule(worker, qpr);
	uroce_wheel_remove(&worker->wheel, qpr);
	/* its CQs may be freed after a call to its new worker, and must be on no list of this one then */
	uroce_publish_now(worker);
	uroce_qpc_move(&qpr->qpc, heir->rd_pool, heir->hold, &heir->stats.counters,
		       &heir->publishing.list);
	qpr->nb_moves = (uint8_t)RTE_MIN(qpr->nb_moves + 1, UINT8_MAX);
	qpr->is_new = true;
	atomic_store_explicit(&qpr->worker, heir, memory_order_release); /* M1 */
	/* for what was posted, what is to be answered, and its timer */
	uroce_worker_ring(heir, qpr);
}

void
uroce_move_answer(struct uroce_worker *worker, const void *question)
{
	const uint32_t qpn = (uint32_t)((uintptr_t)question >> 9);
	struct uroce_worker *asker = worker->dev->worker[(uintptr_t)question >> 1 & 0xff];
	struct uroce_qpr *qpr = uroce_qpn_lookup(worker->dev->qpns, qpn);

	if (!qpr || uroce_qpr_worker(qpr) != worker || !is_heir(asker, qpr))
		return;
	uroce_move_stay(qpr);
	if (uroce_qpc_is_movable(&qpr->qpc))
		hand_over(worker, qpr, asker);
}
