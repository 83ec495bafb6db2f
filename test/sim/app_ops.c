/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Operations of applications on a QP other than posts, and the checks of their results. app_ops.h
 * lists the rules that are checked.
 */

#include "app_ops.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "host.h"
#include "completion_check.h"
#include "mem/mw.h"
#include "oracle.h"

/* --- calls that update the state of the oracle --- */

void
oracle_posted(struct qp *qp, const struct request *req)
{
	struct tally *tally = &qp->world->tally;
	const uint32_t nb_words = (qp->nb_psn + req->nb_psn + 63) / 64;

	if (nb_words > qp->arrived_len) {
		uint64_t *arrived = world_alloc(qp->world, 2 * nb_words * sizeof(*arrived));

		if (qp->arrived_len)
			memcpy(arrived, qp->arrived, qp->arrived_len * sizeof(*arrived));
		qp->arrived = arrived;
		qp->arrived_len = 2 * nb_words;
	}
	if (qp->sent == qp->acked)
		qp->progress_ns = qp->world->now_ns;
	qp->nb_psn += req->nb_psn;
	qp->nb_posted++;
	tally->requests++;
	tally->bytes += req->len;
	tally->ops[req->opcode & 15]++;
	tally->bads[req->bad]++;
	tally->sizes[req->len ? 32 - __builtin_clz(req->len) : 0]++;
}

void
oracle_modified(struct qp *qp, enum ibv_qp_state to)
{
	/* in SQD the QP may continue the requests before this index, which it has begun */
	const uint32_t begun = qp->qpc.req.begun_idx;

	ledger_collect(qp, NULL);
	if (to != IBV_QPS_SQD)
		qp->is_stopped = false;
	qp->sqd_limit = UINT32_MAX;
	qp->has_drained = false;
	qp->is_drained = to == IBV_QPS_SQD && qp->is_drained;
	if (to == IBV_QPS_SQD && qp->qpc.state == IBV_QPS_SQD && !qp->is_lenient)
		qp->sqd_limit = begun < qp->nb_posted ? qp->reqs[begun].first : qp->nb_psn;
	qp->progress_ns = qp->world->now_ns;
	if (to == IBV_QPS_RTS) {
		/*
		 * requests that were flushed unsent use no PSNs: after SQE the packet numbers
		 * continue behind the last packet that was sent
		 */
		for (uint32_t i = qp->done; qp->has_failed && i > 0; i--) {
			struct request *req = &qp->reqs[i - 1];

			if (req->first < qp->sent)
				break;
			req->first = qp->sent;
			req->nb_psn = 0;
			qp->nb_psn = qp->sent;
		}
		qp->has_failed = false;
		qp->deaths &= ~(uint32_t)DEATH_FAULT;
	}
	if (to == IBV_QPS_ERR || to == IBV_QPS_RTS)
		oracle_check(qp);
}

void
oracle_gone(struct qp *qp)
{
	qp->is_gone = true;
}

/* --- cancelling requests --- */

/* Whether no later request depends on this request, so that it may be cancelled. */
static bool
is_dispensable(const struct request *req)
{
	return !req->is_needed && req->opcode != IBV_WR_SEND_WITH_INV &&
	       !(req->opcode == IBV_WR_BIND_MW || req->opcode == IBV_WR_LOCAL_INV);
}

/* The packets of a cancelled request are never sent, so later requests get lower packet numbers. */
void
oracle_cancelled(struct qp *qp, uint32_t nth)
{
	struct request *req = &qp->reqs[nth];
	const uint32_t nb_psn = req->nb_psn;

	req->is_cancelled = true;
	req->nb_psn = 0;
	for (uint32_t i = nth + 1; i < qp->nb_posted; i++)
		qp->reqs[i].first -= nb_psn;
	qp->nb_psn -= nb_psn;
}

/*
 * Check the number of requests that the QP counts as begun. At most one of them may have packets
 * and have sent none of its packets.
 */
static void
check_begun(struct qp *qp, uint32_t begun)
{
	uint32_t nb = 0;

	for (uint32_t i = qp->done; i < begun && i < qp->nb_posted; i++)
		nb += qp->reqs[i].nb_psn && qp->reqs[i].first >= qp->sent;
	if (nb > 1)
		world_complain(qp->world, "qp 0x%x has begun %u requests and sent nothing of them",
			       qp->qpn, nb);
}

bool
conduct_cancel(struct qp *qp)
{
	struct rng *rng = &qp->world->rng;
	const uint32_t begun = qp->qpc.req.begun_idx;
	const bool is_sqd = qp->qpc.state == IBV_QPS_SQD;
	uint32_t nth;

	if (!qp->qpc.sq && is_sqd && uroce_qpc_cancel(&qp->qpc, 0))
		world_complain(qp->world, "qp 0x%x has no requests, and cancels some", qp->qpn);
	if (!qp->nb_posted || !qp->qpc.sq)
		return false;
	nth = rng_below(rng, qp->nb_posted);
	if (is_sqd && begun < qp->nb_posted && !rng_one_in(rng, 8))
		nth = begun + rng_below(rng, qp->nb_posted - begun);
	struct request *req = &qp->reqs[nth];
	const bool is_waiting = nth >= qp->done && nth >= begun && !req->is_cancelled;
	const int expected = is_sqd ? is_waiting : -EINVAL;

	if (is_sqd && is_waiting && !is_dispensable(req))
		return false;
	const int ret = uroce_qpc_cancel(&qp->qpc, nth);

	if (ret != expected)
		world_complain(qp->world, "qp 0x%x: cancelling request %u gives %d and not %d",
			       qp->qpn, nth, ret, expected);
	if (is_sqd)
		check_begun(qp, begun);
	if (ret != 1)
		return false;
	if (req->nb_psn && req->first < qp->sent)
		world_complain(qp->world,
			       "qp 0x%x cancels request %u, of which it has sent packets", qp->qpn,
			       nth);
	oracle_cancelled(qp, nth);
	return true;
}

/* --- modifying other attributes than the state in SQD --- */

/*
 * @return the mask of the attributes that have an effect on a QP of this type and may be modified
 * in SQD
 */
static int
tunable(const struct qp *qp)
{
	switch ((int)qp->conf.type) {
	case IBV_QPT_RC:
		return IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MIN_RNR_TIMER |
		       IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_AV;
	case IBV_QPT_XRC_SEND:
		return IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
		       IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_AV;
	case IBV_QPT_XRC_RECV:
		return IBV_QP_TIMEOUT | IBV_QP_MIN_RNR_TIMER | IBV_QP_AV;
	case IBV_QPT_UC:
		return IBV_QP_AV;
	}
	return IBV_QP_PKEY_INDEX;
}

bool
conduct_tune(struct qp *qp)
{
	struct rng *rng = &qp->world->rng;
	struct qp_conf conf = qp->conf;

	conf.timeout = (uint8_t)rng_between(rng, conf.timeout, 15);
	conf.retry_cnt = (uint8_t)rng_below(rng, 8);
	conf.rnr_retry = (uint8_t)rng_below(rng, 8);
	conf.min_rnr_timer = (uint8_t)rng_between(rng, 1, 14);
	conf.max_rd_atomic = (uint8_t)rng_between(rng, 1, conf.max_rd_atomic);
	const struct ibv_qp_attr attr = {
		.ah_attr = { .is_global = 1, .port_num = 1 },
		.timeout = conf.timeout,
		.retry_cnt = conf.retry_cnt,
		.rnr_retry = conf.rnr_retry,
		.min_rnr_timer = conf.min_rnr_timer,
		.max_rd_atomic = conf.max_rd_atomic,
	};
	const int mask = tunable(qp);
	const int ret = uroce_qpc_modify(&qp->qpc, &attr, mask, mask & IBV_QP_AV ? &qp->path : NULL,
					 qp->world->now_ns);

	if (ret && qp->is_drained)
		world_complain(qp->world, "qp 0x%x has drained, and refuses attributes", qp->qpn);
	if (!ret && qp_is_reliable(qp) && qp->sent != qp->acked)
		world_complain(qp->world, "qp 0x%x takes attributes with packets on the wire",
			       qp->qpn);
	if (ret)
		return false;
	/*
	 * `conf` also has new values of attributes that the type of the QP does not have; they have
	 * no effect
	 */
	qp->conf = conf;
	qp->retries_seen = qp->retries_now;
	qp->rnr_seen = qp->rnr_now;
	return true;
}

/* --- keys that are withdrawn while requests use them --- */

static const uint32_t withdrawn_access =
	IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

/* Register one more region over the memory of the QP. */
static uint32_t
add_region(struct qp *qp)
{
	const struct uroce_mr_conf conf = {
		.addr = qp->mem,
		.iova = qp->iova,
		.len = qp->conf.mem_len,
		.pdn = qp->host->pdn,
		.access = withdrawn_access,
	};
	uint32_t key = 0;
	const int ret = uroce_mr_add(qp->host->mrs, &conf, &key);

	assert(ret == 0);
	(void)ret;
	return key;
}

static int
bind(struct qp *qp, uint32_t key, uint64_t len)
{
	const struct uroce_mw_bind bind = {
		.rkey = key,
		.mr_key = qp->key,
		.addr = qp->iova,
		.len = len,
		.access = (withdrawn_access & ~(uint32_t)IBV_ACCESS_LOCAL_WRITE) |
			  (qp->mortal.is_zero_based ? IBV_ACCESS_ZERO_BASED : 0),
		.pdn = qp->host->pdn,
		.qpn = qp->qpn,
	};

	return uroce_mw_bind(qp->host->mrs, &bind);
}

void
conduct_make_mortal(struct qp *qp, uint8_t kind, bool is_zero_based)
{
	uint32_t key;

	qp->mortal.kind = kind;
	qp->mortal.is_zero_based = kind && is_zero_based;
	if (!kind) {
		qp->mortal.key = add_region(qp);
		return;
	}
	int ret = uroce_mw_add(qp->host->mrs, (enum uroce_mw_kind)kind, qp->host->pdn, &key);

	ret |= bind(qp, key ^ 1, qp->conf.mem_len);
	assert(ret == 0);
	(void)ret;
	qp->mortal.key = key ^ 1;
}

/*
 * Withdraw the key `qp->mortal.key`, which was created for the peer.
 * @return 0, or an error of the transport
 */
static int
withdraw(struct qp *qp)
{
	struct uroce_mr_table *mrs = qp->host->mrs;
	const uint32_t key = qp->mortal.key;
	uint32_t last_key = key;
	int ret;

	if (!qp->mortal.kind) {
		ret = uroce_mr_invalidate(mrs, key);
	} else if (qp->mortal.kind == UROCE_MW_1 && rng_one_in(&qp->world->rng, 2)) {
		/*
		 * bind the window again with another key: with length 0, which only withdraws the
		 * old key, or with the length of the memory
		 */
		const uint64_t len = rng_one_in(&qp->world->rng, 2) ? qp->conf.mem_len : 0;

		return bind(qp, key ^ 2, len);
	} else if (qp->mortal.kind != UROCE_MW_1 && rng_one_in(&qp->world->rng, 2)) {
		return uroce_mw_invalidate(mrs, key, qp->host->pdn, qp->qpn);
	} else {
		/* a region cannot be removed while it has windows */
		if (uroce_mr_invalidate(mrs, qp->key) != -EBUSY)
			world_complain(qp->world, "qp 0x%x: a region with windows can end",
				       qp->qpn);
		ret = uroce_mw_remove(mrs, key, &last_key);
	}
	if (!ret)
		uroce_mr_free(mrs, last_key);
	return ret;
}

bool
conduct_withdraw(struct qp *qp)
{
	struct qp *flow = qp->peer;

	if (!qp->mortal.key || qp->mortal.is_dead)
		return false;
	const int ret = withdraw(qp);

	if (ret)
		world_complain(qp->world, "qp 0x%x: key 0x%x cannot be withdrawn: %d", qp->qpn,
			       qp->mortal.key, ret);
	/* the table entry of the region may be reused at once, but with another key */
	if (!qp->mortal.kind && add_region(qp) == qp->mortal.key)
		world_complain(qp->world, "qp 0x%x: key 0x%x is back", qp->qpn, qp->mortal.key);
	qp->mortal.is_dead = true;
	/*
	 * After the withdrawal nothing may be written through the key. Copy the present content of
	 * the destinations: it must not change any more.
	 */
	for (uint32_t i = 0; i < flow->nb_planned; i++) {
		struct request *req = &flow->reqs[i];

		if (!req->is_mortal || !request_is_write(req))
			continue;
		req->last = world_alloc(qp->world, req->len);
		memcpy(req->last, qp->mem + req->land, req->len);
	}
	/*
	 * a packet that waits in the reorder buffer may now be refused: the QP may enter ERR
	 * although no further frame of that request arrives
	 */
	qp->deaths |= DEATH_PEER;
	return true;
}
