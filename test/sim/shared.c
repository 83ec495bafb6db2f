/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Buffers of a shared receive queue.
 */

#include "shared.h"

#include <assert.h>
#include <string.h>

#include "host.h"

struct shared *
shared_create(struct world *world, struct host *host, uint32_t nb_bufs, uint32_t buf_len,
	      bool is_xrc)
{
	struct shared *shared = world_alloc(world, sizeof(*shared));
	const uint32_t mem_len = nb_bufs * (buf_len + 16);
	struct uroce_srq_conf conf = { .max_wr = nb_bufs, .max_sge = 1, .pdn = host->pdn };

	assert(nb_bufs <= SHARED_MAX);
	*shared = (struct shared){
		.world = world,
		.mem = world_alloc(world, mem_len),
		.shadow = world_alloc(world, mem_len),
		.iova = world->next_iova,
		.mem_len = mem_len,
		.buf_len = buf_len,
		.nb_bufs = nb_bufs,
		.is_xrc = is_xrc,
	};
	if (is_xrc) {
		uroce_cq_init(&shared->cq, world_alloc(world, uroce_cq_memsize(2 * nb_bufs)),
			      2 * nb_bufs);
		conf.cq = &shared->cq;
		conf.xrcd = HOST_XRCD;
	}
	world->next_iova += (mem_len + 0xffffu) & ~UINT64_C(0xffff);
	uroce_srq_init(&shared->srq, world_alloc(world, uroce_srq_memsize(nb_bufs, 1)), &conf);
	const struct uroce_mr_conf mr = {
		.addr = shared->mem,
		.iova = shared->iova,
		.len = mem_len,
		.pdn = host->pdn,
		.access = IBV_ACCESS_LOCAL_WRITE,
	};
	int ret = uroce_mr_add(host->mrs, &mr, &shared->key);

	if (is_xrc)
		ret |= uroce_srq_table_add(host->srqs, &shared->srq);

	assert(ret == 0 && world->nb_shared < SHAREDS_MAX);
	(void)ret;
	world->shared[world->nb_shared++] = shared;
	return shared;
}

/* The number of posted buffers that no QP has taken for a message. */
static uint32_t
nb_posted(const struct shared *shared)
{
	uint32_t nb = 0;

	for (uint32_t i = 0; i < shared->nb_bufs; i++)
		nb += shared->is_out[i];
	for (uint32_t i = 0; i < shared->world->nb_qps; i++) {
		const struct qp *qp = shared->world->qps[i];

		nb -= !qp->is_gone && qp->qpc.srq == &shared->srq && qp->qpc.resp.recv;
	}
	return nb;
}

void
shared_check_limit(struct shared *shared, bool is_event)
{
	struct world *world = shared->world;

	if (!shared->limit && !is_event)
		return;
	const uint32_t nb = nb_posted(shared);

	if (nb != shared->srq.nb_posted)
		world_complain(world, "a shared queue has %u requests, and says %u", nb,
			       shared->srq.nb_posted);
	/*
	 * an event with more than `limit` buffers is an error; with `limit` buffers it is none,
	 * because a taken buffer may have been posted again since the event
	 */
	if (is_event && nb > shared->limit)
		world_complain(world, "a shared queue is at its limit of %u with %u requests",
			       shared->limit, nb);
	if (!is_event && nb < shared->limit)
		world_complain(world,
			       "a shared queue fell to %u, below its limit of %u, in silence", nb,
			       shared->limit);
	if (is_event)
		shared->limit = 0;
	world->tally.limits += is_event;
}

static void
arm(struct shared *shared)
{
	const uint32_t limit = rng_between(&shared->world->rng, 1, shared->nb_bufs);

	if (shared->limit || !rng_one_in(&shared->world->rng, 4))
		return;
	/*
	 * uroce_srq_arm() returns whether the queue is below the limit, so that the event occurs at
	 * once
	 */
	if (uroce_srq_arm(&shared->srq, limit) != (nb_posted(shared) < limit))
		world_complain(shared->world, "a shared queue is armed the wrong way");
	shared->limit = uroce_srq_limit(&shared->srq);
}

bool
shared_post_one(struct shared *shared)
{
	uint32_t nth = 0;

	while (nth < shared->nb_bufs && shared->is_out[nth])
		nth++;
	if (nth == shared->nb_bufs)
		return false;
	struct ibv_sge sge = {
		.addr = shared->iova + shared_at(shared, nth),
		.length = shared->buf_len,
		.lkey = shared->key,
	};
	const struct ibv_recv_wr wr = { .wr_id = nth, .sg_list = &sge, .num_sge = 1 };

	uroce_lock_take(&shared->srq.lock);
	const int ret = uroce_srq_post(&shared->srq, &wr);

	uroce_lock_release(&shared->srq.lock);
	if (ret)
		world_complain(shared->world, "a shared queue has lost a slot");
	shared->is_out[nth] = true;
	return true;
}

void
shared_post(struct shared *shared)
{
	while (shared_post_one(shared))
		;
	arm(shared);
}

void
shared_end(struct shared *shared)
{
	/* a posted buffer may contain the beginning of a message whose end never arrived */
	for (uint32_t i = 0; i < shared->nb_bufs && shared->is_loose; i++) {
		if (shared->is_out[i])
			memcpy(shared->shadow + shared_at(shared, i),
			       shared->mem + shared_at(shared, i), shared->buf_len);
	}
	if (memcmp(shared->mem, shared->shadow, shared->mem_len))
		world_complain(shared->world, "the memory of a shared queue is not as it must be");
}
