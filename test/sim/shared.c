/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Buffers of a shared receive queue.
 */

#include "shared.h"

#include <assert.h>
#include <string.h>

#include "host.h"

struct shared *
shared_create(struct world *world, struct host *host, uint32_t nb_bufs, uint32_t buf_len)
{
	struct shared *shared = world_alloc(world, sizeof(*shared));
	const uint32_t mem_len = nb_bufs * (buf_len + 16);
	const struct uroce_srq_conf conf = { .max_wr = nb_bufs, .max_sge = 1, .pdn = host->pdn };

	assert(nb_bufs <= SHARED_MAX);
	*shared = (struct shared){
		.world = world,
		.mem = world_alloc(world, mem_len),
		.shadow = world_alloc(world, mem_len),
		.iova = world->next_iova,
		.mem_len = mem_len,
		.buf_len = buf_len,
		.nb_bufs = nb_bufs,
	};
	world->next_iova += (mem_len + 0xffffu) & ~UINT64_C(0xffff);
	uroce_srq_init(&shared->srq, world_alloc(world, uroce_srq_memsize(nb_bufs, 1)), &conf);
	const struct uroce_mr_conf mr = {
		.addr = shared->mem,
		.iova = shared->iova,
		.len = mem_len,
		.pdn = host->pdn,
		.access = IBV_ACCESS_LOCAL_WRITE,
	};
	const int ret = uroce_mr_add(host->mrs, &mr, &shared->key);

	assert(ret == 0 && world->nb_shared < SHAREDS_MAX);
	(void)ret;
	world->shared[world->nb_shared++] = shared;
	return shared;
}

void
shared_post(struct shared *shared)
{
	for (uint32_t i = 0; i < shared->nb_bufs; i++) {
		struct ibv_sge sge = {
			.addr = shared->iova + shared_at(shared, i),
			.length = shared->buf_len,
			.lkey = shared->key,
		};
		const struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 };

		if (shared->is_out[i])
			continue;
		uroce_lock_take(&shared->srq.lock);
		const int ret = uroce_srq_post(&shared->srq, &wr);

		uroce_lock_release(&shared->srq.lock);
		if (ret)
			world_complain(shared->world, "a shared queue has lost a slot");
		shared->is_out[i] = true;
	}
}

void
shared_end(struct shared *shared)
{
	/* what is posted may hold the beginning of a message that was cut off */
	for (uint32_t i = 0; i < shared->nb_bufs && shared->is_loose; i++) {
		if (shared->is_out[i])
			memcpy(shared->shadow + shared_at(shared, i),
			       shared->mem + shared_at(shared, i), shared->buf_len);
	}
	if (memcmp(shared->mem, shared->shadow, shared->mem_len))
		world_complain(shared->world, "the memory of a shared queue is not as it must be");
}
