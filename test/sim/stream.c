/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Bulk streams: WRITEs of one length to one address, or READs from one address. As many are posted
 * at a time as the send queue has room for.
 */

#include "measure.h"

#include <assert.h>

#include "host.h"

#define SQ_LEN 64

struct qp *
stream_open(struct world *world, struct host *from, struct host *to, const struct stream *stream)
{
	struct qp_conf conf = {
		.type = IBV_QPT_RC,
		.mtu = IBV_MTU_4096,
		.all_signaled = true,
		.tclass = stream->tclass,
		.sq_len = SQ_LEN,
		.rq_len = 1,
		.max_sge = 1,
		.max_requests = stream->nb_writes,
		.mem_len = stream->rd_atomic ? stream->len : 4096,
		.timeout = stream->timeout,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.min_rnr_timer = 1,
		.max_rd_atomic = stream->rd_atomic ? stream->rd_atomic : 1,
		.max_dest_rd_atomic = stream->rd_atomic ? stream->rd_atomic : 1,
		.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
		.window_psns = (uint16_t)stream->window_psns,
		.is_req_gbn = stream->is_req_gbn,
		.is_resp_gbn = stream->is_resp_gbn,
		.cc = stream->cc,
	};
	struct qp *a = qp_create(world, from, &conf);

	conf.mem_len = stream->len;
	conf.max_requests = 1;
	struct qp *b = qp_create(world, to, &conf);

	qp_connect(a, b);
	for (uint32_t i = 0; i < stream->nb_writes; i++) {
		struct request *req = qp_plan(a);

		assert(req);
		req->opcode = IBV_WR_RDMA_WRITE;
		req->len = stream->len;
		req->src = i % 64 * 64;
		req->remote = b->iova;
		req->rkey = b->key;
		if (!stream->rd_atomic)
			continue;
		/*
		 * all READs get the same bytes: they share one destination, and a response of the
		 * next READ may be placed there early
		 */
		req->opcode = IBV_WR_RDMA_READ;
		req->src = 0;
		req->remote = NOISE_IOVA;
		req->rkey = to->noise_key;
	}
	host_wake(world, from, world->now_ns);
	return a;
}
