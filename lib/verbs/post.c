/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Posting work requests, and polling completions: the calls of the data path. For a chain of
 * requests the queue is locked once, the requests are published together, and one doorbell is rung,
 * or the caller transmits them (inline transmit).
 *
 * Requests may complete as soon as they are published. A program that sees the completions may then
 * destroy the QP. So the queue is unlocked last, after the doorbell, and destroying a QP takes the
 * queue's lock once (qp_init.c).
 */

#include <errno.h>
#include <stdatomic.h>

#include "datapath/stage.h"
#include "verbs/errno_ret.h"
#include "verbs/object.h"
#include "verbs/post.h"
#include "verbs/uroce.h"
#include "verbs/uroce_dv.h"

/*
 * Read the state of a QP, which its worker may be changing. Posting is not allowed before RTS (send
 * queue) or in RESET (receive queue). A QP leaves and enters these states under the locks of its
 * queues (transport/attr.c), so a thread that holds such a lock sees the change. Other changes of
 * the state do not matter to a post.
 */
static enum ibv_qp_state
state_now(const struct uroce_vqp *qp)
{
	return uroce_qpc_state_seen(&qp->wqp.qpc);
}

/*
 * Get the path of a request's address handle, for a UD QP.
 * @return the path; NULL: the request has no handle, or one of another protection domain
 */
static const struct uroce_path *
path_of(const struct uroce_vqp *qp, const struct ibv_send_wr *wr)
{
	const struct ibv_ah *const ah = wr->wr.ud.ah;

	if (ah == NULL)
		return NULL;
	if (ah->pd != qp->ibv.pd && uroce_vpd(ah->pd)->pdn != uroce_vpd(qp->ibv.pd)->pdn)
		return NULL;
	return &uroce_vah(wr->wr.ud.ah)->path;
}

/*
 * Maximum number of slots of the send queue that one call prefetches, because a CPU fetches no more
 * cache lines at the same time.
 */
#define FETCH_MAX 16u

/*
 * Prefetch those cache lines of the QP that a post needs. Each locked instruction of a post waits
 * until all earlier loads are done. Without prefetching, the cache lines of a QP that was not used
 * for long are fetched one after the other, which takes as long as sending.
 */
static inline void
fetch_post(const struct uroce_vqp *qp)
{
	__builtin_prefetch(&qp->sq.lock, 1);
	__builtin_prefetch(&qp->sq.ring, 1);
	__builtin_prefetch(&qp->wqp, 1);
	__builtin_prefetch(&qp->wqp.qpc.state, 1);
}

void
uroce_prefetch_qp(const struct ibv_qp *ibv, unsigned nb)
{
	const struct uroce_vqp *const qp = (const struct uroce_vqp *)ibv;

	if (nb == 0) {
		__builtin_prefetch(ibv, 0);
		fetch_post(qp);
	}
	for (unsigned i = 0; i < nb && i < FETCH_MAX; i++)
		__builtin_prefetch(uroce_ring_free_slot(&qp->sq.ring, i), 1);
}

int
uroce_vqp_check_send(const struct uroce_vqp *qp)
{
	return state_now(qp) < IBV_QPS_RTS ? -EINVAL : 0;
}

int
uroce_vqp_fill_send(struct uroce_vqp *qp, uint32_t nth, const struct ibv_send_wr *wr)
{
	const struct uroce_path *path = NULL;

	if ((unsigned)wr->opcode >= 32 || !(qp->sq.opcodes & 1u << wr->opcode))
		return -EINVAL;
	if (qp->sq.has_path) {
		path = path_of(qp, wr);
		if (path == NULL)
			return -EINVAL;
	}
	return uroce_sq_fill(&qp->sq, nth, wr, path, qp->sq.is_all_signaled);
}

void
uroce_vqp_end_send(struct uroce_vqp *qp, uint32_t nb)
{
	if (nb > 0) {
		uroce_ring_push(&qp->sq.ring, nb);
		uroce_stage_lap(UROCE_STAGE_POST_SEND, nb);
		if (!uroce_worker_send(qp->wqp.worker, &qp->wqp))
			uroce_worker_ring_doorbell(qp->wqp.worker, &qp->wqp);
	}
	uroce_wq_end(&qp->sq);
	uroce_stage_lap(UROCE_STAGE_POST_SEND, 0);
}

int
uroce_post_send(struct ibv_qp *ibv, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	struct uroce_vqp *const qp = uroce_vqp(ibv);
	uint32_t nb = 0;
	int ret;

	uroce_stage_lap(UROCE_STAGE_APP, 0);
	fetch_post(qp);
	uroce_wq_begin(&qp->sq);
	ret = uroce_vqp_check_send(qp);
	while (wr != NULL && ret == 0) {
		ret = uroce_vqp_fill_send(qp, nb, wr);
		if (ret == 0) {
			wr = wr->next;
			nb++;
		}
	}
	uroce_vqp_end_send(qp, nb);
	if (ret == 0)
		return 0;
	*bad_wr = wr;
	return uroce_errno_ret(ret);
}

/*
 * Publish `nb` receive requests of a QP, and unlock the receive queue. The requests wait for
 * packets, so the worker needs no doorbell. But in state ERR the worker must flush the requests.
 * The fence makes sure that the worker sees the requests when the QP enters ERR, or that this
 * thread sees ERR and rings the doorbell.
 */
static void
end_recv(struct uroce_vqp *qp, uint32_t nb)
{
	if (nb > 0) {
		uroce_ring_push(&qp->rq.ring, nb);
		atomic_thread_fence(memory_order_seq_cst);
		if (state_now(qp) == IBV_QPS_ERR)
			uroce_worker_ring_doorbell(qp->wqp.worker, &qp->wqp);
	}
	uroce_wq_end(&qp->rq);
	uroce_stage_lap(UROCE_STAGE_POST_RECV, nb);
}

int
uroce_post_recv(struct ibv_qp *ibv, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct uroce_vqp *const qp = uroce_vqp(ibv);
	uint32_t nb = 0;
	int ret = 0;

	uroce_stage_lap(UROCE_STAGE_APP, 0);
	uroce_wq_begin(&qp->rq);
	/* a QP without a receive queue has a ring with the limit 0 */
	if (state_now(qp) == IBV_QPS_RESET || qp->rq.ring.limit == 0)
		ret = -EINVAL;
	while (wr != NULL && ret == 0) {
		ret = uroce_rq_fill(&qp->rq, nb, wr);
		if (ret == 0) {
			wr = wr->next;
			nb++;
		}
	}
	end_recv(qp, nb);
	if (ret == 0)
		return 0;
	*bad_wr = wr;
	return uroce_errno_ret(ret);
}

int
uroce_post_srq_recv(struct ibv_srq *ibv, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct uroce_srq *srq;
	uint32_t nb = 0;
	int ret = 0;

	if (ibv == NULL) {
		*bad_wr = wr;
		return uroce_fail(EINVAL);
	}
	srq = &uroce_vsrq(ibv)->wsrq.srq;
	uroce_stage_lap(UROCE_STAGE_APP, 0);
	uroce_lock_take(&srq->lock);
	for (; wr != NULL; wr = wr->next, nb++) {
		ret = uroce_srq_post(srq, wr);
		if (ret != 0)
			break;
	}
	uroce_lock_release(&srq->lock);
	uroce_stage_lap(UROCE_STAGE_POST_RECV, nb);
	if (ret == 0)
		return 0;
	*bad_wr = wr;
	return uroce_errno_ret(ret);
}

int
uroce_poll_cq(struct ibv_cq *ibv, int num_entries, struct ibv_wc *wc)
{
	struct uroce_vcq *const cq = uroce_vcq(ibv);
	int nb;

	if (num_entries <= 0 || ibv == NULL)
		return num_entries == 0 && ibv != NULL ? 0 : -uroce_fail(EINVAL);
	uroce_stage_lap(UROCE_STAGE_APP, 0);
	nb = uroce_cq_poll(&cq->queue, num_entries, wc);
	uroce_stage_lap(UROCE_STAGE_POLL_CQ, nb);
	if (nb == 0 && cq->is_app_driven) {
		(void)uroce_worker_poll(cq->worker);
		nb = uroce_cq_poll(&cq->queue, num_entries, wc);
		if (nb == 0)
			uroce_vcq_leave(cq);
		uroce_stage_lap(UROCE_STAGE_POLL_CQ, nb);
	}
	return nb;
}
