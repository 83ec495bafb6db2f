/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A completion queue and a send queue, compared with arrays that model them. Entries must come out
 * of the queues unchanged and in order, whatever operations the input mixes: pushes, polls, purges
 * and resizes.
 */

#include "bytes.h"

#include <errno.h>

#include "queue/cq.h"
#include "queue/wq.h"
#include "base/newer_verbs.h"

#define STEPS_MAX  300
#define CQE_MAX    64
#define WR_MAX     32
#define SGE_MAX    4
#define INLINE_MAX 100

static char cookies[3];

/* --- completion queue --------------------------------------------------------------------------- */

struct model {
	struct {
		uint64_t wr_id;
		const void *qp;
	} entries[CQE_MAX];
	unsigned nb, limit;
	bool is_overrun;
};

static struct uroce_cq cq;
static void *cq_mem;
static struct model model;
static uint64_t next_id;

static void *
make_cq_mem(unsigned limit)
{
	void *mem = aligned_alloc(64, (uroce_cq_memsize(limit) + 63) / 64 * 64);

	expect(mem);
	return mem;
}

static void
push(struct bytes *in)
{
	uroce_cq_begin(&cq);
	for (unsigned i = bytes_u8(in) % 8; i > 0; i--) {
		const void *qp = &cookies[bytes_u8(in) % 3];
		struct uroce_cqe *cqe = uroce_cq_put(&cq);

		expect((cqe != NULL) == (model.nb < model.limit));
		if (!cqe) {
			model.is_overrun = true;
			continue;
		}
		cqe->wr_id = next_id;
		cqe->qp = (void *)qp;
		model.entries[model.nb].wr_id = next_id++;
		model.entries[model.nb++].qp = qp;
	}
	(void)uroce_cq_end(&cq);
}

static void
forget(unsigned at, unsigned nb)
{
	model.nb -= nb;
	memmove(&model.entries[at], &model.entries[at + nb],
		(model.nb - at) * sizeof(model.entries[0]));
}

static void
poll(struct bytes *in)
{
	struct ibv_wc wc[8];
	const int wanted = bytes_u8(in) % 9;
	const int nb = uroce_cq_poll(&cq, wanted, wc);

	if (nb < 0) {
		expect(model.is_overrun && model.nb == 0);
		return;
	}
	expect(nb == (model.nb < (unsigned)wanted ? (int)model.nb : wanted));
	for (int i = 0; i < nb; i++)
		expect(wc[i].wr_id == model.entries[i].wr_id);
	forget(0, (unsigned)nb);
}

static void
purge(struct bytes *in)
{
	const void *qp = &cookies[bytes_u8(in) % 3];

	uroce_cq_purge(&cq, qp);
	for (unsigned i = 0; i < model.nb;) {
		if (model.entries[i].qp == qp)
			forget(i, 1);
		else
			i++;
	}
}

static void
resize(struct bytes *in)
{
	const unsigned limit = 1 + bytes_u8(in) % CQE_MAX;
	void *mem = make_cq_mem(limit);
	const int ret = uroce_cq_resize(&cq, mem, limit);

	expect((ret == 0) == (model.nb <= limit));
	if (ret == 0) {
		void *old = cq_mem;

		cq_mem = mem;
		mem = old;
		model.limit = limit;
	}
	free(mem);
}

static void
arm(struct bytes *in)
{
	uroce_cq_arm(&cq, bytes_u8(in) & 1);
}

/* --- send queue --------------------------------------------------------------------------------- */

struct request {
	uint64_t wr_id;
	uint32_t len;
	uint8_t first; /* first byte of the request's inline data */
	bool is_inline;
};

static struct uroce_wq sq;
static void *sq_mem;
static struct request requests[WR_MAX];
static unsigned nb_requests;

/*
 * Whether a request with this opcode uses its scatter/gather list. A request with another opcode
 * ignores its list, which may have any content.
 */
static bool
has_list(enum ibv_wr_opcode opcode)
{
	return opcode != IBV_WR_LOCAL_INV && opcode != IBV_WR_BIND_MW &&
	       (int)opcode != UROCE_WR_FLUSH;
}

/*
 * Post a random request.
 * @return whether the send queue accepted the request
 */
static bool
fill(struct bytes *in, unsigned nth)
{
	static uint8_t data[4][256];
	struct ibv_sge sge[SGE_MAX + 2];
	struct ibv_send_wr wr = {
		.wr_id = next_id++,
		.opcode = (enum ibv_wr_opcode)(bytes_u8(in) % 16),
		.send_flags = bytes_u8(in) & 0x1f,
		.num_sge = bytes_u8(in) % (SGE_MAX + 3) - 1,
		.sg_list = sge,
	};
	const bool is_listed = has_list(wr.opcode);
	uint32_t len = 0;

	for (int i = 0; i < SGE_MAX + 2; i++) {
		data[i % 4][0] = bytes_u8(in);
		sge[i] = (struct ibv_sge){ (uintptr_t)data[i % 4], bytes_u8(in) % 65, 1 };
		len += is_listed && i < wr.num_sge ? sge[i].length : 0;
	}
	const int ret = uroce_sq_fill(&sq, nth, &wr, NULL, false);

	expect(ret == 0 || ret == -EINVAL || (ret == -ENOMEM && nb_requests == WR_MAX));
	if (ret != 0)
		return false;
	expect(!is_listed || (wr.num_sge >= 0 && wr.num_sge <= SGE_MAX));
	requests[nb_requests++] = (struct request){
		.wr_id = wr.wr_id,
		.len = len,
		.first = wr.num_sge && sge[0].length ? data[0][0] : 0,
		.is_inline = wr.send_flags & IBV_SEND_INLINE && len && sge[0].length,
	};
	return true;
}

static void
post(struct bytes *in)
{
	unsigned nb = 0;

	for (unsigned i = bytes_u8(in) % 4; i > 0; i--)
		nb += fill(in, nb);
	uroce_ring_push(&sq.ring, nb);
}

static void
take(struct bytes *in)
{
	(void)in;
	expect(uroce_wq_is_empty(&sq) == (nb_requests == 0));
	if (nb_requests == 0)
		return;
	struct uroce_send_wqe *wqe = uroce_ring_at(&sq.ring, uroce_ring_tail(&sq.ring));

	expect(wqe->wr_id == requests[0].wr_id && wqe->len == requests[0].len);
	if (requests[0].is_inline)
		expect(*(uint8_t *)uroce_send_wqe_data(wqe) == requests[0].first);
	uroce_ring_pop(&sq.ring, 1);
	memmove(requests, requests + 1, --nb_requests * sizeof(requests[0]));
}

/* ------------------------------------------------------------------------------------------------ */

static void (*const deeds[])(struct bytes *in) = { push, poll, purge, resize, arm, post, take };

static void
make(struct bytes *in)
{
	const uint32_t stride = uroce_send_wqe_stride(SGE_MAX, INLINE_MAX, false);

	model = (struct model){ .limit = 1 + bytes_u8(in) % CQE_MAX };
	cq_mem = make_cq_mem(model.limit);
	uroce_cq_init(&cq, cq_mem, model.limit);
	sq_mem = aligned_alloc(64, uroce_ring_memsize(WR_MAX, stride));
	expect(sq_mem);
	uroce_sq_init(&sq, sq_mem, WR_MAX, SGE_MAX, INLINE_MAX, false);
	nb_requests = 0;
	next_id = 1;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct bytes in = { data, len };

	make(&in);
	for (unsigned i = 0; i < STEPS_MAX && in.left > 0; i++)
		deeds[bytes_u8(&in) % (sizeof(deeds) / sizeof(deeds[0]))](&in);
	free(cq_mem);
	free(sq_mem);
	return 0;
}
